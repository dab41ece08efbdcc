/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/pace.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/run/merge/all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct minimize {
	struct session session;
	struct corpus_merge merge;
	const char *workers, *time;
	bool json;
};

#define AT(member) OPTION_AT(struct minimize, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct minimize, session.common),
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"time", "TIME", "give each target this long (default: merge_time)", AT(time)},
    {"commit", "SHA", "the commit that is measured, for the history", AT(merge.commit)},
    {"force", NULL, "also when the build fails on much of it, or reaches far less than before",
     AT(merge.force)},
    {"dry-run", NULL, "measure, and print what would stay; change nothing", AT(merge.dry_run)},
    {"json", NULL, "print JSON", AT(json)},
};

static void print_sizes(const struct merge_result *r)
{
	char before[UNITS_MAX], after[UNITS_MAX];

	printf("%llu -> %llu files, %s -> %s", (unsigned long long)r->before.files,
	       (unsigned long long)r->after.files, units_size(r->before.bytes, before),
	       units_size(r->after.bytes, after));
	if (r->after.features)
		printf(", %llu edges, %llu features", (unsigned long long)r->after.edges,
		       (unsigned long long)r->after.features);
}

static void print_end(const struct plan_entry *p, const struct merge_result *r)
{
	char took[UNITS_MAX], bytes[UNITS_MAX];

	printf("%s: %s: ", p->target->name, merge_verdict_name(r->verdict));
	if (r->verdict == MERGE_KEPT && r->cells == 0 && *r->why) { /* nothing was measured */
		printf("%s\n", r->why);
		return;
	}
	print_sizes(r);
	if (r->new_inputs)
		printf(", %llu of them new", (unsigned long long)r->new_inputs);
	if (r->cover.files)
		printf(", cover: %llu files, %s", (unsigned long long)r->cover.files,
		       units_size(r->cover.bytes, bytes));
	if (r->bad > r->restored)
		printf(", %llu bad ones quarantined", (unsigned long long)(r->bad - r->restored));
	printf(" (%llu cells, %s)%s%s\n", (unsigned long long)r->cells,
	       units_time(r->wall_us, took), *r->why ? ": " : "", r->why);
}

static void corpus_minimize_record(struct corpus_merge *m, const struct plan_entry *p,
				   const struct merge_result *r)
{
	_autojson_ json_t *line = NULL;
	struct merge_line l = {
	    .target = p->target->name, .commit = m->commit, .real_us = clock_real_us()};
	struct err e;

	if (merge_history_line(&l, r, &line, &e) < 0 ||
	    (!m->dry_run &&
	     state_append_history(m->session->state, NULL, "corpus_history.jsonl", line, &e) < 0)) {
		(void)fail(EXIT_INTERNAL, "%s: %s", p->target->name, e.msg);
		m->unrecorded = true;
	}
	(void)json_array_append(m->targets, line);
}

static void corpus_minimize_on_ended(void *arg, const struct plan_entry *p,
				     const struct merge_result *r)
{
	struct corpus_merge *m = arg;

	print_end(p, r);
	m->ended++;
	m->failed = m->failed || r->verdict == MERGE_FAILED;
	corpus_minimize_record(m, p, r);
}

static void corpus_minimize_progress(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct corpus_merge *m = arg;

	*ret_done = m->ended;
	*ret_of = m->session->plan.n;
}

static int corpus_minimize_all(struct corpus_merge *m, int quarantine, int triage)
{
	const struct config *c = m->session->common.config;
	const struct run_config *rc = config_run(c);
	const struct machine *machine = &m->session->machine;
	struct merge_all_opts o = {
	    .env = {.exec = {.loop = machine->loop,
			     .host = machine->host,
			     .rootfs = config_rootfs(c),
			     .run = "minimize"},
		    .state = m->session->state,
		    .quarantine = quarantine,
		    .triage = triage,
		    .keep = rc->generations,
		    .disk_reserve = rc->disk_reserve},
	    .plan = &m->session->plan,
	    .machine_memory = machine->memory,
	    .what = m->dry_run ? MERGE_MEASURE : MERGE_REPLACE,
	    .force = m->force,
	    .ended = corpus_minimize_on_ended,
	    .arg = m,
	};
	struct err e;
	int r = machine_workers(rc->workers, &o.workers);

	if (r != EXIT_DONE)
		return r;
	m->pace = (struct pace){.look = corpus_minimize_progress,
				.arg = m,
				.what = "corpus minimize",
				.unit = "targets"};
	if (pace_begin(&m->pace, machine->loop, &e) < 0 || merge_all(&o, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	pace_end(&m->pace);
	if (r != EXIT_DONE)
		return r;
	if (m->unrecorded)
		return EXIT_INTERNAL;
	return m->failed ? EXIT_NOT_FUZZED : EXIT_DONE;
}

int corpus_merge_all(struct corpus_merge *m)
{
	int quarantine = -1, triage = -1, r;
	struct err e;

	if (fs_open_dir(m->session->state->dirfd, "quarantine", &quarantine, &e) < 0 ||
	    fs_open_dir(m->session->state->dirfd, "triage", &triage, &e) < 0)
		r = fail(EXIT_MACHINE, "%s", e.msg);
	else
		r = corpus_minimize_all(m, quarantine, triage);
	if (quarantine >= 0)
		close(quarantine);
	if (triage >= 0)
		close(triage);
	return r;
}

static int corpus_minimize_load(struct minimize *a)
{
	struct session *s = &a->session;
	int r = session_load(s);

	if (r == EXIT_DONE)
		r = session_set(s, "run.workers", a->workers, "--workers");
	if (r == EXIT_DONE)
		r = session_set(s, "defaults.merge_time", a->time, "--time");
	if (r == EXIT_DONE)
		r = session_recall(s);
	return r == EXIT_DONE ? session_plan(s) : r;
}

int corpus_minimize(int argc, char **argv)
{
	struct minimize a = {0};
	int at = options_parse(argc, argv, "corpus minimize [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "corpus minimize: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.merge.session = &a.session;
	a.merge.targets = json_array();
	r = corpus_minimize_load(&a);
	if (r == EXIT_DONE)
		r = session_open(&a.session);
	if (r == EXIT_DONE)
		r = corpus_merge_all(&a.merge);
	session_close(&a.session);
	if (r == EXIT_DONE || json_array_size(a.merge.targets) > 0)
		j = json_pack("{s:O}", "targets", a.merge.targets);
	json_decref(a.merge.targets);
	return answer_end(begun, j, r);
}
