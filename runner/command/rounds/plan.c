/* SPDX-License-Identifier: Apache-2.0 */
/* `fuzzcell plan`: divides the targets among shards. */
#include "runner/rounds/plan.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_id.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/command/rounds/rounds.h"
#include "runner/rounds/past.h"
#include "runner/run/dispatch/dispatch.h"
#include "runner/state/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A target with less time would hardly get beyond its seeds. */
#define LEAST_S 30.0

struct plan_args {
	struct session session;
	struct plan_wish wish;
	const char *output;
	bool json;
};

#define AT(member) OPTION_AT(struct plan_args, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct plan_args, session.common),
    {"shards", "N", "divide the targets among N shards", AT(wish.shards)},
    {"time", "TIME", "wall time of each shard (default: run.total_time, else one hour)",
     OPTION_TIME, offsetof(struct plan_args, wish.time_us)},
    {"workers", "N", "cells at once in each shard (default: run.workers, else one per CPU here)",
     AT(wish.workers)},
    {"o,output", "FILE", "write the plan that shards read", AT(output)},
    {"json", NULL, "print it", AT(json)},
};

/* --- what is known of a target ---------------------------------------------------- */

/* Whether the progress is that of the present binary.  Reading all binaries takes too long: the
 * size tells most builds apart, and a shard identifies its targets by their content. */
static bool is_of_binary(const struct progress *p, const struct target *t)
{
	struct file_id file;

	return t->binary && file_id_look(t->binary, &file) && file.size == p->build.binary.size;
}

static struct shards_target outlook(const struct session *s, const struct plan_entry *entry)
{
	const struct target_config *cfg = &entry->cfg;
	struct rule rule = dispatch_rule(cfg);
	struct progress p = {0};
	char warning[200] = "";
	struct rule_terms t;

	if (s->state)
		progress_load(s->state->dirfd, entry->target->name, &p, warning);
	if (*warning)
		warn("%s", warning);
	if (!is_of_binary(&p, entry->target) || cfg->plateau.forget)
		p.curve = (struct curve){0};
	t = rule_terms(&rule, &p.curve, p.edges_total);
	return (struct shards_target){
	    .name = entry->target->name,
	    .found = t.found,
	    .age_s = t.age_s,
	    .gate = t.gate,
	    .build_age_s = t.build_age_s,
	    .had_s = (double)p.curve.build_us / (double)USEC_PER_SEC,
	    .weight = share_weight(&p.health, cfg->priority),
	};
}

/* --- the plan --------------------------------------------------------------------- */

static int plan_number(const char *command, const char *option, const char *text, uint64_t most,
		       unsigned *ret)
{
	struct slice in = slice_of(text);
	uint64_t n;

	if (!scan_u64(&in, 10, most, &n) || in.n > 0 || n == 0)
		return fail(EXIT_USAGE, "%s: %s: '%s' is not a number from 1 to %llu", command,
			    option, text, (unsigned long long)most);
	*ret = (unsigned)n;
	return EXIT_DONE;
}

static int plan_size(const struct session *s, const struct plan_wish *w, struct shards_spec *spec,
		     uint64_t *ret_time_us)
{
	const struct run_config *rc = config_run(s->common.config);
	int r;

	if (!w->shards)
		return fail(EXIT_USAGE, "%s: among how many shards? give --shards N", w->command);
	r = plan_number(w->command, "--shards", w->shards, SHARDS_MAX_COUNT, &spec->shards);
	if (r == EXIT_DONE && w->workers)
		r = plan_number(w->command, "--workers", w->workers, ROUND_WORKERS_MAX,
				&spec->workers);
	else if (r == EXIT_DONE)
		r = machine_workers(rc->workers, &spec->workers);
	*ret_time_us = w->time_us	       ? w->time_us
		       : rc->total_time_us > 0 ? rc->total_time_us
					       : 3600 * USEC_PER_SEC;
	if (r == EXIT_DONE &&
	    (*ret_time_us < ROUND_TIME_MIN_US || *ret_time_us > ROUND_TIME_MAX_US))
		return fail(EXIT_USAGE, "%s: --time: a shard takes from one second to 365 days",
			    w->command);
	spec->seconds = (double)(*ret_time_us - plan_reserve(*ret_time_us)) / (double)USEC_PER_SEC;
	spec->least = LEAST_S;
	return r;
}

int plan_divide(const struct session *s, const struct plan_wish *wish, struct round_plan *ret)
{
	const struct plan *p = &s->plan;
	_autofree_ struct shards_target *targets = xcalloc(p->n + 1, sizeof(*targets));
	_autofree_ uint64_t *memory = xcalloc(p->n + 1, sizeof(*memory));
	struct shards_spec spec = {.targets = targets, .n = p->n};
	uint64_t time_us = 0, round = wish->round ? wish->round : 1;
	struct shards divided;
	struct err e;
	int r = plan_size(s, wish, &spec, &time_us);

	if (r == EXIT_DONE && p->n > SHARDS_TARGETS_MAX)
		r = fail(EXIT_USAGE, "%s: more than %d targets", wish->command, SHARDS_TARGETS_MAX);
	if (r == EXIT_DONE && s->state && !wish->round && past_next_round(s->state, &round, &e) < 0)
		r = fail(EXIT_MACHINE, "%s", e.msg);
	if (r != EXIT_DONE)
		return r;
	for (size_t i = 0; i < p->n; i++) {
		targets[i] = outlook(s, &p->v[i]);
		memory[i] = p->v[i].cfg.memory;
	}
	shards_divide(&spec, &divided);
	round_plan_make(&divided, &spec, memory, round, time_us, ret);
	shards_done(&divided);
	return EXIT_DONE;
}

/* --- printing --------------------------------------------------------------------- */

static void plan_print_share(const struct round_share *s, unsigned number)
{
	char time[UNITS_MAX], memory[UNITS_MAX];
	size_t shared = 0;

	for (size_t i = 0; i < s->n; i++)
		shared += s->v[i].parts > 1;
	printf("%5u  %7zu  %6zu  %9s  %8s  %8.0f\n", number, s->n, shared, units_time(s->us, time),
	       units_size(s->memory, memory), s->edges);
}

void plan_print(const struct round_plan *p, size_t targets)
{
	char time[UNITS_MAX], n[3][UNITS_OF_MAX];

	printf("round %llu, plan %s: %s, %s of %s with %s at once\n\n",
	       (unsigned long long)p->round, p->id, units_of(targets, "target", "targets", n[0]),
	       units_of(p->shards, "shard", "shards", n[1]), units_time(p->time_us, time),
	       units_of(p->workers, "cell", "cells", n[2]));
	printf("%5s  %7s  %6s  %9s  %8s  %8s\n", "shard", "targets", "shared", "CPU time", "memory",
	       "edges");
	for (unsigned i = 0; i < p->shards; i++)
		plan_print_share(&p->v[i], i + 1);
	printf("\nshared: targets that other shards fuzz, too; edges: expected new ones\n");
}

static void plan_print_how(const struct round_plan *p)
{
	printf("A shard runs: fuzzcell run --shard i/%u --plan FILE --base STATE, with FILE from "
	       "--output.\n"
	       "Without --shard it asks FUZZCELL_SHARD=i/%u, SLURM_ARRAY_TASK_ID (--array=1-%u), "
	       "JOB_COMPLETION_INDEX (from 0).\n",
	       p->shards, p->shards, p->shards);
}

/* The file appears complete: shards may begin at any time.  Something else than a file is not
 * replaced. */
static int plan_write(const char *path, const json_t *j)
{
	const char *slash = strrchr(path, '/');
	_autofree_ char *parent =
	    slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
	_autoclose_ int dir = sys_openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0);
	_autofree_ char *text = NULL;
	struct stat st;
	struct err e;

	if (dir < 0)
		return fail(EXIT_USAGE, "plan: --output %s: %s", path, strerror(errno));
	if (fstatat(dir, slash ? slash + 1 : path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(st.st_mode))
		return fail(EXIT_USAGE,
			    "plan: --output %s is there, and no file: name another, or use --json",
			    path);
	if (json_print(j, 1, &text, &e) < 0 ||
	    fs_replace(dir, slash ? slash + 1 : path, slice_of(text), &e) < 0)
		return fail(EXIT_MACHINE, "plan: --output: %s", e.msg);
	return EXIT_DONE;
}

int plan_targets(struct session *s)
{
	int r = session_load(s);

	if (r == EXIT_DONE)
		r = session_read_any(s);
	if (r == EXIT_DONE)
		r = session_recall(s);
	return r == EXIT_DONE ? session_plan(s) : r;
}

int command_plan(int argc, char **argv)
{
	struct plan_args a = {.wish.command = "plan"};
	int at = options_parse(argc, argv, "plan --shards N [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	struct round_plan p = {0};
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "plan: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	r = plan_targets(&a.session);
	if (r == EXIT_DONE)
		r = plan_divide(&a.session, &a.wish, &p);
	if (r == EXIT_DONE) {
		plan_print(&p, a.session.plan.n);
		plan_print_how(&p);
		j = round_plan_json(&p);
		r = a.output ? plan_write(a.output, j) : EXIT_DONE;
	}
	if (r == EXIT_DONE && a.session.common.targets.partial)
		r = EXIT_NOT_FUZZED;
	round_plan_done(&p);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
