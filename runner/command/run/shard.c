/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/run/shard.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/units.h"
#include "runner/rounds/base.h"
#include "runner/rounds/give.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A node that dies loses what it found in this time. */
#define INTERVAL_US (300 * USEC_PER_SEC)
#define WAIT_US	    (600 * USEC_PER_SEC)

/* --- the beginning ------------------------------------------------------------------ */

static int find_number(struct run_shard *s)
{
	unsigned of = 0;
	struct err e;

	if (!s->shard) {
		if (round_shard_of_engine(s->plan.shards, &s->number, &e) < 0)
			return fail(EXIT_USAGE, "run: %s", e.msg);
		return EXIT_DONE;
	}
	if (!round_shard_parse(s->shard, &s->number, &of) || of != s->plan.shards)
		return fail(EXIT_USAGE, "run: --shard: '%s' is not a shard i/%u of the plan",
			    s->shard, s->plan.shards);
	return EXIT_DONE;
}

static int read_plan(struct run_shard *s)
{
	char shown[ESCAPE_MAX];
	struct err e;

	if (round_plan_load(s->plan_path, &s->plan, &e) < 0)
		return fail(EXIT_USAGE, "run: --plan %s: %s", escape(s->plan_path, shown), e.msg);
	return find_number(s);
}

int run_shard_read(struct run_shard *s, struct session *session)
{
	struct common *c = &session->common;
	int r;

	s->session = session;
	if (!s->plan_path && (s->shard || s->base || s->deltas || s->interval_us))
		return fail(EXIT_USAGE, "run: --shard, --base, --deltas and --delta-interval need "
					"--plan (fuzzcell plan)");
	if (!s->plan_path)
		return EXIT_DONE;
	if (!s->base)
		return fail(EXIT_USAGE, "run: a shard needs the state that it begins with: give "
					"--base STATE");
	r = read_plan(s);
	if (r != EXIT_DONE)
		return r;
	s->interval_us = s->interval_us ? s->interval_us : INTERVAL_US;
	s->config = xasprintf("%s/config.json", s->base);
	if (!c->config_path && access(s->config, F_OK) == 0)
		c->config_path = s->config;
	return EXIT_DONE;
}

const char *run_shard_time(const struct run_shard *s, char out[32])
{
	*out = '\0';
	if (s->number > 0)
		snprintf(out, 32, "%llus", (unsigned long long)(s->plan.time_us / USEC_PER_SEC));
	return out;
}

const char *run_shard_workers(const struct run_shard *s, char out[32])
{
	*out = '\0';
	if (s->number > 0)
		snprintf(out, 32, "%u", s->plan.workers);
	return out;
}

/* --- the targets --------------------------------------------------------------------- */

static const struct round_piece *piece_of(const struct run_shard *s, const struct target *t)
{
	const struct round_share *share = &s->plan.v[s->number - 1];
	const char *name = t->of ? t->of : t->name;

	for (size_t i = 0; i < share->n; i++)
		if (strcmp(share->v[i].target, name) == 0)
			return &share->v[i];
	return NULL;
}

/* Other shards fuzz the target, too: this one gives it no more than its part. */
static void limit_to(const struct round_piece *p, struct target_config *cfg)
{
	if (!p || p->parts < 2)
		return;
	if (!cfg->plateau.cap_us || cfg->plateau.cap_us > p->us)
		cfg->plateau.cap_us = p->us ? p->us : 1;
	cfg->part = p->part;
}

static bool is_in_share(void *arg, const struct target *t)
{
	return piece_of(arg, t);
}

static bool is_here(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].target->name, name) == 0)
			return true;
	return false;
}

int run_shard_select(struct run_shard *s)
{
	struct plan *p = &s->session->plan;

	if (s->number == 0)
		return EXIT_DONE;
	for (size_t i = 0; i < s->plan.v[s->number - 1].n; i++) {
		const char *name = s->plan.v[s->number - 1].v[i].target;

		if (is_here(p, name))
			continue;
		warn("target '%s' of the plan is not here: it is not fuzzed", name);
		s->missing = true;
	}
	plan_keep(p, is_in_share, s);
	for (size_t i = 0; i < p->n; i++)
		limit_to(piece_of(s, p->v[i].target), &p->v[i].cfg);
	if (p->n == 0)
		return fail(EXIT_NOT_FUZZED, "shard %u of %u has no target here", s->number,
			    s->plan.shards);
	return EXIT_DONE;
}

/* Six digits of the source: shards begin in the same second, on machines that do not know of each
 * other. */
static unsigned tag_of(const struct shard_id *id)
{
	struct slice source = {id->source, 8};
	uint64_t n = 0;

	(void)scan_u64(&source, 16, UINT32_MAX, &n);
	return 100000 + (unsigned)(n % 900000);
}

int run_shard_begin(struct run_shard *s)
{
	struct session *session = s->session;
	struct base_sum got;
	struct shard_id id;
	char bytes[UNITS_MAX], n[2][UNITS_OF_MAX];
	struct err e;
	int r;

	if (s->number == 0)
		return EXIT_DONE;
	if (s->deltas && fs_mkdirs(AT_FDCWD, s->deltas, 0755, &e) < 0)
		return fail(EXIT_USAGE, "run: --deltas: %s", e.msg);
	r = base_copy(session->state, s->base, &s->plan, s->number, &got, &e);
	if (r < 0)
		return fail(r == -EEXIST || r == -ENOENT ? EXIT_USAGE : EXIT_MACHINE, "run: %s",
			    e.msg);
	if (got.again)
		printf("shard %u of %u, round %llu: it continues\n", s->number, s->plan.shards,
		       (unsigned long long)s->plan.round);
	else
		printf("shard %u of %u, round %llu: %s (%s) and %s from the base\n", s->number,
		       s->plan.shards, (unsigned long long)s->plan.round,
		       units_of(got.inputs, "input", "inputs", n[0]), units_size(got.bytes, bytes),
		       units_of(got.crashes, "crash", "crashes", n[1]));
	if (shard_load(session->state->dirfd, &id, &e) < 0)
		return fail(EXIT_MACHINE, "run: %s", e.msg);
	session->state->run_tag = tag_of(&id);
	s->given_us = clock_mono_us();
	return EXIT_DONE;
}

/* --- deltas -------------------------------------------------------------------------- */

static int give(struct run_shard *s, bool last, struct given *ret, struct err *e)
{
	struct give g = {.state = s->session->state, .last = last, .now_us = clock_real_us()};
	uint64_t n;
	int r = give_delta(&g, ret, e);

	if (r < 0)
		return err_wrap(e, "no delta could be made");
	if (!s->deltas)
		return 0;
	r = give_deliver(s->session->state, s->deltas, &n, e);
	return r < 0 ? err_wrap(e, "no delta could be delivered, they are in '%s/deltas'",
				s->session->state->path)
		     : 0;
}

/* As many as are needed. */
static int give_rest(struct run_shard *s, struct given *ret, struct err *e)
{
	int r = give(s, true, ret, e);

	while (r == 0 && ret->more) {
		r = give(s, false, ret, e);
		if (r == 0 && !ret->more)
			r = give(s, true, ret, e);
	}
	return r;
}

static int give_in_child(void *arg, struct buf *out, struct err *e)
{
	struct given got;

	(void)out;
	return give(arg, false, &got, e);
}

static void on_given(void *arg, struct slice result, const char *failed)
{
	struct run_shard *s = arg;

	(void)result;
	s->task = NULL;
	if (failed && !s->failing)
		warn("%s (fuzzcell tries again)", failed);
	s->failing = failed;
}

void run_shard_second(struct run_shard *s)
{
	struct loop *loop = s->session->machine.loop;
	uint64_t now = clock_mono_us();
	struct err e;

	if (s->number == 0 || s->task || now < s->given_us + s->interval_us)
		return;
	s->given_us = now;
	if (task_start(loop, give_in_child, s, on_given, s, &s->task, &e) < 0)
		on_given(s, SLICE(""), e.msg);
}

int run_shard_end(struct run_shard *s)
{
	char n[2][UNITS_OF_MAX];
	struct given got;
	struct err e;

	if (s->number == 0)
		return EXIT_DONE;
	if (s->task)
		task_finish(s->task, clock_mono_us() + WAIT_US);
	if (give_rest(s, &got, &e) < 0)
		return fail(EXIT_INTERNAL, "the end of the shard: %s", e.msg);
	printf("last delta of shard %u: %s, %s; in %s%s\n", s->number,
	       units_of(got.inputs, "input", "inputs", n[0]),
	       units_of(got.crashes, "crash", "crashes", n[1]),
	       s->deltas ? s->deltas : s->session->state->path, s->deltas ? "" : "/deltas");
	return EXIT_DONE;
}

void run_shard_done(struct run_shard *s)
{
	round_plan_done(&s->plan);
	free(s->config);
}
