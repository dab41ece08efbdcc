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
	const char *workers, *time, *commit;
	bool dry_run, force, json;
	json_t *targets; /* lines of the history */
	struct pace pace;
	uint64_t ended;		 /* targets */
	bool failed, unrecorded; /* of any target */
};

#define AT(member) OPTION_AT(struct minimize, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct minimize, session.common),
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"time", "TIME", "give each target this long (default: merge_time)", AT(time)},
    {"commit", "SHA", "the commit that is measured, for the history", AT(commit)},
    {"force", NULL, "also when the build fails on much of it, or reaches far less than before",
     AT(force)},
    {"dry-run", NULL, "measure, and print what would stay; change nothing", AT(dry_run)},
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

static void corpus_minimize_record(struct minimize *a, const struct plan_entry *p,
				   const struct merge_result *r)
{
	_autojson_ json_t *line = NULL;
	struct merge_line l = {
	    .target = p->target->name, .commit = a->commit, .real_us = clock_real_us()};
	struct err e;

	if (merge_history_line(&l, r, &line, &e) < 0 ||
	    (!a->dry_run &&
	     state_append_history(a->session.state, NULL, "corpus_history.jsonl", line, &e) < 0)) {
		(void)fail(EXIT_INTERNAL, "%s: %s", p->target->name, e.msg);
		a->unrecorded = true;
	}
	(void)json_array_append(a->targets, line);
}

static void corpus_minimize_on_ended(void *arg, const struct plan_entry *p,
				     const struct merge_result *r)
{
	struct minimize *a = arg;

	print_end(p, r);
	a->ended++;
	a->failed = a->failed || r->verdict == MERGE_FAILED;
	corpus_minimize_record(a, p, r);
}

static void corpus_minimize_progress(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct minimize *a = arg;

	*ret_done = a->ended;
	*ret_of = a->session.plan.n;
}

static int corpus_minimize_all(struct minimize *a, int quarantine, int triage)
{
	const struct config *c = a->session.common.config;
	const struct run_config *rc = config_run(c);
	const struct machine *m = &a->session.machine;
	struct merge_all_opts o = {
	    .env = {.exec = {.loop = m->loop,
			     .host = m->host,
			     .rootfs = config_rootfs(c),
			     .run = "minimize"},
		    .state = a->session.state,
		    .quarantine = quarantine,
		    .triage = triage,
		    .keep = rc->generations,
		    .disk_reserve = rc->disk_reserve},
	    .plan = &a->session.plan,
	    .machine_memory = m->memory,
	    .what = a->dry_run ? MERGE_MEASURE : MERGE_REPLACE,
	    .force = a->force,
	    .ended = corpus_minimize_on_ended,
	    .arg = a,
	};
	struct err e;
	int r = machine_workers(rc->workers, &o.workers);

	if (r != EXIT_DONE)
		return r;
	a->pace = (struct pace){.look = corpus_minimize_progress,
				.arg = a,
				.what = "corpus minimize",
				.unit = "targets"};
	if (pace_begin(&a->pace, m->loop, &e) < 0 || merge_all(&o, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	pace_end(&a->pace);
	if (r != EXIT_DONE)
		return r;
	if (a->unrecorded)
		return EXIT_INTERNAL;
	return a->failed ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int with_dirs(struct minimize *a)
{
	int quarantine = -1, triage = -1, r;
	struct err e;

	if (fs_open_dir(a->session.state->dirfd, "quarantine", &quarantine, &e) < 0 ||
	    fs_open_dir(a->session.state->dirfd, "triage", &triage, &e) < 0)
		r = fail(EXIT_MACHINE, "%s", e.msg);
	else
		r = corpus_minimize_all(a, quarantine, triage);
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
	a.targets = json_array();
	r = corpus_minimize_load(&a);
	if (r == EXIT_DONE)
		r = session_open(&a.session);
	if (r == EXIT_DONE)
		r = with_dirs(&a);
	session_close(&a.session);
	if (r == EXIT_DONE || json_array_size(a.targets) > 0)
		j = json_pack("{s:O}", "targets", a.targets);
	json_decref(a.targets);
	return answer_end(begun, j, r);
}
