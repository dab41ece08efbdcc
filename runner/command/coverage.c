/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what the corpora reach in the source text, line by line. */
#include "runner/run/coverage/coverage.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/pace.h"
#include "runner/coverage/print.h"
#include "runner/coverage/report.h"
#include "runner/coverage/shelf.h"
#include "runner/targets/variants.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKERS_SHOWN = 10, MODE_DIR = 0755, MODE_FILE = 0644 };

/* A target that is measured. */
struct measured {
	const char *name; /* of the report */
	const struct plan_entry *entry;
	const struct target *build; /* NULL: it has no coverage build */
	const struct target_config *cfg;
	json_t *report; /* NULL: none */
	char why[300];	/* why there is none */
};

struct coverage_args {
	struct session session;
	const char *workers, *commit, *sources, *html, *lcov, *since;
	bool all, show, json, no_html;
	char **names; /* operands */
	int n_names;
	struct strv shown; /* --show */

	struct cells cells;
	struct coverage_env env;
	struct measured *v;
	size_t n, at;
	struct measured together; /* --all */
	char sources_room[PATH_MAX];
	struct coverage *work;
	struct pace pace;
	unsigned joined;	/* merged profiles that are kept for all together */
	struct collect_sum sum; /* of all */
};

#define AT(member) OPTION_AT(struct coverage_args, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct coverage_args, session.common),
    {"all", NULL, "every target, and all of them together", AT(all)},
    {"show", NULL, "print the reports that there are; run nothing", AT(show)},
    {"since", "WHEN", "also what changed since then: an age (7d), a date (2026-01-31), a commit",
     AT(since)},
    {"html", "DIR", "write the pages of the reports to this directory", AT(html)},
    {"no-html", NULL, "make no pages", AT(no_html)},
    {"lcov", "FILE", "write the lines, functions and branches to this file, in lcov's format",
     AT(lcov)},
    {"sources", "DIR", "the source tree (default: source_dir, or the work tree of the builds)",
     AT(sources)},
    {"commit", "SHA", "the commit that the targets were built from", AT(commit)},
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- which targets -------------------------------------------------------------------------- */

static void coverage_take_build(struct measured *m)
{
	const struct target *t = m->entry->target;

	for (size_t i = 0; i < t->n_variants && !m->build; i++)
		if (t->variants[i].role == ROLE_COVERAGE) {
			m->build = &t->variants[i];
			m->cfg = &m->entry->variants[i];
		}
	if (!m->build)
		snprintf(m->why, sizeof(m->why),
			 "it has no coverage build (docs/coverage.md says how to make one)");
	else if (m->build->unbuilt)
		snprintf(m->why, sizeof(m->why), "%.299s", m->build->unbuilt);
	else if (!m->cfg->enabled)
		snprintf(m->why, sizeof(m->why), "its coverage build is switched off (enabled)");
}

static void coverage_add(struct coverage_args *a, const struct plan_entry *entry)
{
	struct measured *m = &a->v[a->n++];

	*m = (struct measured){.name = entry->target->name, .entry = entry};
	coverage_take_build(m);
}

static const struct plan_entry *coverage_planned(const struct coverage_args *a, const char *name)
{
	const struct plan *p = &a->session.plan;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].target->name, name) == 0)
			return &p->v[i];
	return NULL;
}

static int coverage_choose(struct coverage_args *a)
{
	const struct plan *p = &a->session.plan;

	a->v = xcalloc(p->n + (size_t)a->n_names + 1, sizeof(*a->v));
	for (size_t i = 0; a->all && i < p->n; i++)
		coverage_add(a, &p->v[i]);
	for (int i = 0; !a->all && i < a->n_names; i++) {
		const struct plan_entry *entry = coverage_planned(a, a->names[i]);
		char shown[ESCAPE_MAX];

		if (!entry)
			return fail(EXIT_USAGE,
				    "there is no target '%s' (fuzzcell list shows them)",
				    escape(a->names[i], shown));
		coverage_add(a, entry);
	}
	return EXIT_DONE;
}

/* --- the source tree ------------------------------------------------------------- */

/* Its plain absolute path: cells see it there. */
static int coverage_given_sources(struct coverage_args *a)
{
	/* allow: a user's path, not a target's */
	if (!realpath(a->sources, a->sources_room) || !variants_is_dir(a->sources_room))
		return fail(EXIT_USAGE, "--sources: '%s' is not a directory", a->sources);
	return EXIT_DONE;
}

/* The tree that cells see at its own path, as the compiler noted it; NULL: not configured. */
static const char *coverage_sources_of(const struct coverage_args *a)
{
	const struct config *c = a->session.common.config;

	if (a->sources)
		return a->sources_room;
	return config_source_dir(c) ? config_source_dir(c) : config_trigger(c)->repository;
}

/* --- writing pages and tracefiles ------------------------------------------------ */

static int coverage_export_lcov(const struct coverage_args *a, int report)
{
	_autoclose_ int to = -1;
	struct err e;

	if (fs_open_file(AT_FDCWD, a->lcov, O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &to, &e) < 0 ||
	    shelf_copy_lcov(report, to, &e) < 0)
		return fail(EXIT_INTERNAL, "--lcov: %s", e.msg);
	return EXIT_DONE;
}

/* A single report has the directory for itself. */
static int coverage_export_pages(const struct coverage_args *a, const struct measured *m,
				 int report)
{
	const char *name = strcmp(m->name, SHELF_ALL) == 0 ? "all" : m->name;
	_autofree_ char *dir =
	    a->n == 1 && !a->all ? xstrdup(a->html) : xasprintf("%s/%s", a->html, name);
	_autoclose_ int to = -1;
	struct err e;
	int r;

	if (fs_make_dir(AT_FDCWD, dir, MODE_DIR, &to, &e) < 0)
		return fail(EXIT_INTERNAL, "--html: %s", e.msg);
	r = shelf_copy_pages(report, to, &e);
	return r < 0 ? fail(r == -ENOENT ? EXIT_NOT_FUZZED : EXIT_INTERNAL, "--html: %s: %s",
			    m->name, e.msg)
		     : EXIT_DONE;
}

static int coverage_export(const struct coverage_args *a, const struct measured *m)
{
	bool wants_lcov = a->lcov && (m == &a->together || !a->all);
	_autoclose_ int report = -1;
	int r = EXIT_DONE;
	struct err e;

	if (!a->html && !wants_lcov)
		return EXIT_DONE;
	if (shelf_open(a->session.state, m->name, &report, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (report < 0)
		return fail(EXIT_NOT_FUZZED, "%s: there is no report", m->name);
	if (wants_lcov)
		r = coverage_export_lcov(a, report);
	return r == EXIT_DONE && a->html ? coverage_export_pages(a, m, report) : r;
}

/* --- measuring: one target after the other --------------------------------------- */

static void coverage_next(struct coverage_args *a);

static void coverage_print(struct coverage_args *a, const struct measured *m)
{
	char text[ESCAPE_MAX];
	const json_t *change = json_object_get(m->report, "change");

	if (!m->report) {
		printf("%s: no report: %s\n", m->name, escape(m->why, text));
		return;
	}
	print_coverage(m->report, a->all && m != &a->together ? 0 : BLOCKERS_SHOWN, stdout);
	if (json_get_u64(change, "no_longer_reached") > 0 && !a->show)
		warn("%s: fuzzing no longer reaches %llu functions that it reached before", m->name,
		     (unsigned long long)json_get_u64(change, "no_longer_reached"));
}

/* Keeps the merged profile, for the report of all together. */
static void coverage_keep_profile(struct coverage_args *a)
{
	char name[64];
	struct err e;

	snprintf(name, sizeof(name), "join/raw/%u", a->joined++);
	if (fs_mkdirs(a->cells.dirfd, "join/raw", MODE_DIR, &e) < 0 ||
	    sys_renameat(a->cells.dirfd, "out/profdata", name) < 0)
		warn("%s: its profile is not in the report of all targets", a->v[a->at].name);
}

static void coverage_take_end(struct measured *m, const struct coverage_end *end)
{
	if (end->why)
		snprintf(m->why, sizeof(m->why), "%.299s", end->why);
	else
		m->report = json_deep_copy(end->report);
}

/* The inputs of a target without a report are left out of the report of all. */
static void coverage_sum(struct coverage_args *a, const struct measured *m,
			 const struct collect_sum *s)
{
	uint64_t all = s->ran + s->failed + s->left_out;

	a->sum.ran += m->report ? s->ran : 0;
	a->sum.failed += m->report ? s->failed : 0;
	a->sum.left_out += m->report ? s->left_out : all;
	if (!*a->sum.why && (*s->why || !m->report))
		snprintf(a->sum.why, sizeof(a->sum.why), "%.100s: %.190s", m->name,
			 m->report ? s->why : m->why);
}

static void coverage_on_done(void *arg, const struct coverage_end *end)
{
	struct coverage_args *a = arg;
	struct measured *m = &a->v[a->at];

	a->work = NULL;
	pace_end(&a->pace);
	coverage_take_end(m, end);
	coverage_print(a, m);
	coverage_sum(a, m, &end->sum);
	if (m->report && a->all)
		coverage_keep_profile(a);
	a->at++;
	coverage_next(a);
}

static void coverage_on_joined(void *arg, const struct coverage_end *end)
{
	struct coverage_args *a = arg;

	a->work = NULL;
	coverage_take_end(&a->together, end);
	coverage_print(a, &a->together);
	loop_stop(a->cells.replay.exec.loop);
}

static void coverage_progress(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct coverage_args *a = arg;

	*ret_done = *ret_of = 0;
	if (a->work)
		coverage_look(a->work, ret_done, ret_of);
}

static int coverage_measure(struct coverage_args *a, struct measured *m, struct err *e)
{
	struct coverage_spec s = {
	    .target = m->name,
	    .build = m->build,
	    .cfg = m->cfg,
	    .workers = a->cells.workers,
	    .commit = a->commit,
	    .sources = coverage_sources_of(a),
	    .html = !a->no_html,
	    .work = a->cells.path,
	    .done = coverage_on_done,
	    .arg = a,
	};
	int r = coverage_start(&a->env, &s, &a->work, e);

	if (r < 0)
		return r;
	a->pace =
	    (struct pace){.look = coverage_progress, .arg = a, .what = m->name, .unit = "inputs"};
	if (pace_begin(&a->pace, a->cells.replay.exec.loop, e) < 0)
		warn("%s", e->msg);
	return 0;
}

/* The newest tools read the profiles of all. */
static const struct measured *coverage_newest(const struct coverage_args *a)
{
	const struct measured *newest = NULL;

	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].report && (!newest || json_get_u64(a->v[i].report, "llvm") >
						      json_get_u64(newest->report, "llvm")))
			newest = &a->v[i];
	return newest;
}

static int coverage_join_all(struct coverage_args *a, const struct measured *first, struct err *e)
{
	const struct target *builds[TOOLS_BUILDS_MAX];
	_autofree_ char *work = xasprintf("%s/join", a->cells.path);
	struct coverage_spec s = {
	    .target = SHELF_ALL,
	    .build = first->build,
	    .cfg = first->cfg,
	    .workers = a->cells.workers,
	    .commit = a->commit,
	    .sources = coverage_sources_of(a),
	    .html = !a->no_html,
	    .work = work,
	    .done = coverage_on_joined,
	    .arg = a,
	};
	struct coverage_joined of = {.builds = builds, .sum = a->sum};

	builds[of.n_builds++] = first->build;
	for (size_t i = 0; i < a->n; i++) {
		if (!a->v[i].report || &a->v[i] == first)
			continue;
		if (of.n_builds == TOOLS_BUILDS_MAX)
			return err_set(e, E2BIG, "there are more than %d targets",
				       TOOLS_BUILDS_MAX);
		builds[of.n_builds++] = a->v[i].build;
	}
	return coverage_join(&a->env, &s, &of, &a->work, e);
}

static void coverage_end_all(struct coverage_args *a)
{
	const struct measured *first = coverage_newest(a);
	struct err e;

	if (!a->all || !first || a->joined == 0 || cells_stopped(&a->cells)) {
		loop_stop(a->cells.replay.exec.loop);
	} else if (coverage_join_all(a, first, &e) < 0) {
		snprintf(a->together.why, sizeof(a->together.why), "%.299s", e.msg);
		coverage_print(a, &a->together);
		loop_stop(a->cells.replay.exec.loop);
	}
}

static void coverage_next(struct coverage_args *a)
{
	struct err e;

	for (; a->at < a->n; a->at++) {
		struct measured *m = &a->v[a->at];

		if (!*m->why && cells_stopped(&a->cells))
			snprintf(m->why, sizeof(m->why), "stopped");
		if (!*m->why && coverage_measure(a, m, &e) == 0)
			return;
		if (!*m->why)
			snprintf(m->why, sizeof(m->why), "%.299s", e.msg);
		coverage_print(a, m);
	}
	coverage_end_all(a);
}

static void coverage_on_begin(void *arg)
{
	coverage_next(arg);
}

static void coverage_on_stop(void *arg)
{
	struct coverage_args *a = arg;

	if (a->work)
		coverage_stop(a->work);
}

static int coverage_measure_all(struct coverage_args *a)
{
	struct loop *l;
	struct source *begin;
	struct err e;
	int r = session_open(&a->session);

	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "coverage");
	if (r != EXIT_DONE)
		return r;
	l = a->cells.replay.exec.loop;
	a->env = (struct coverage_env){.exec = a->cells.replay.exec, .state = a->session.state};
	if (loop_add_timer(l, clock_mono_us(), coverage_on_begin, a, &begin, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	r = cells_run(&a->cells, coverage_on_stop, a);
	source_remove(begin);
	return r;
}

/* --- reports that there are ------------------------------------------------------ */

static void coverage_load(struct coverage_args *a, struct measured *m)
{
	_autoclose_ int dir = -1;
	struct err e;
	int r = shelf_open(a->session.state, m->name, &dir, &e);

	if (r == 0 && dir < 0)
		snprintf(m->why, sizeof(m->why), "it was not measured yet");
	else if (r < 0 || json_load(dir, "report.json", REPORT_JSON_MAX, &m->report, &e) < 0)
		snprintf(m->why, sizeof(m->why), "%.299s", e.msg);
	coverage_print(a, m);
}

/* Of the targets that are named, or of all that have a report. */
static int coverage_show(struct coverage_args *a)
{
	struct err e;
	int r = session_read(&a->session);

	if (r != EXIT_DONE)
		return r;
	for (int i = 0; i < a->n_names; i++) {
		if (!fs_name_ok(slice_of(a->names[i])))
			return fail(EXIT_USAGE, "coverage: this is no target's name");
		strv_push(&a->shown, a->names[i]);
	}
	if (a->all && shelf_names(a->session.state, &a->shown, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	a->v = xcalloc(a->shown.n + 1, sizeof(*a->v));
	for (; a->n < a->shown.n; a->n++) {
		a->v[a->n].name = a->shown.v[a->n];
		coverage_load(a, &a->v[a->n]);
	}
	if (a->all)
		coverage_load(a, &a->together);
	return EXIT_DONE;
}

/* --- what changed ---------------------------------------------------------------- */

/* An age, a date, or the first digits of a commit. */
static bool coverage_since(const char *text, uint64_t *ret_time, const char **ret_commit)
{
	size_t n = strlen(text);
	uint64_t age;
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);

	*ret_commit = NULL;
	if (end && !*end) {
		*ret_time = (uint64_t)timegm(&tm);
		return true;
	}
	if (n > 0 && isalpha((unsigned char)text[n - 1]) &&
	    units_parse_time(slice_of(text), &age)) {
		*ret_time = (clock_real_us() - age) / USEC_PER_SEC;
		return true;
	}
	*ret_commit = text;
	return n >= 7 && text[strspn(text, "0123456789abcdef")] == '\0';
}

static int coverage_print_change(struct coverage_args *a, const struct measured *m, json_t *to)
{
	uint64_t time = 0;
	const char *commit;
	json_t *changes;
	struct err e;

	(void)coverage_since(a->since, &time, &commit);
	if (shelf_changes(a->session.state, m->name, time, commit, &changes, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (changes)
		print_coverage_changes(m->name, changes, stdout);
	else
		printf("%s: there is no report of %s to compare with\n", m->name, a->since);
	(void)json_object_set_new(to, "since", changes ? changes : json_null());
	return EXIT_DONE;
}

/* --- all of it
 * -----------------------------------------------------------------------------------------------
 */

static int coverage_conclude_one(struct coverage_args *a, const struct measured *m, json_t *list)
{
	json_t *o = json_object();
	int r = EXIT_DONE;

	(void)json_array_append_new(list, o);
	(void)json_object_set_new(o, "target", answer_text(m->name));
	(void)json_object_set(o, "report", m->report); /* without one there is no member */
	(void)json_object_set_new(o, "why", answer_text(m->why));
	if (m->report)
		r = coverage_export(a, m);
	if (r == EXIT_DONE && a->since)
		r = coverage_print_change(a, m, o);
	return r;
}

static int coverage_conclude(struct coverage_args *a, json_t *list)
{
	bool missing = false;
	int r = EXIT_DONE;

	for (size_t i = 0; r == EXIT_DONE && i < a->n; i++) {
		r = coverage_conclude_one(a, &a->v[i], list);
		missing |= !a->v[i].report;
	}
	if (r == EXIT_DONE && a->all)
		r = coverage_conclude_one(a, &a->together, list);
	return r == EXIT_DONE && missing ? EXIT_NOT_FUZZED : r;
}

static int coverage_plan(struct coverage_args *a)
{
	int r = a->sources ? coverage_given_sources(a) : EXIT_DONE;

	if (r == EXIT_DONE)
		r = session_set(&a->session, "run.workers", a->workers, "--workers");
	if (r == EXIT_DONE)
		r = session_recall(&a->session);
	if (r == EXIT_DONE)
		r = session_plan(&a->session);
	return r == EXIT_DONE ? coverage_choose(a) : r;
}

static int coverage_work(struct coverage_args *a, json_t *list)
{
	int r = session_load(&a->session);

	if (r == EXIT_DONE && a->show)
		r = coverage_show(a);
	if (r == EXIT_DONE && !a->show)
		r = coverage_plan(a);
	if (r == EXIT_DONE && !a->show)
		r = coverage_measure_all(a);
	return r == EXIT_DONE ? coverage_conclude(a, list) : r;
}

static const char *coverage_usage_error(const struct coverage_args *a)
{
	uint64_t time;
	const char *commit;

	if (a->all == (a->n_names > 0))
		return a->all ? "--all and names of targets exclude each other"
			      : "name targets, or say --all";
	if (a->lcov && !a->all && a->n_names > 1)
		return "--lcov: one file needs one target, or --all";
	if (a->html && a->no_html)
		return "--html and --no-html exclude each other";
	if (a->since && !coverage_since(a->since, &time, &commit))
		return "--since: not an age (7d), a date (2026-01-31) or a commit (7 digits or "
		       "more)";
	return NULL;
}

int command_coverage(int argc, char **argv)
{
	struct coverage_args a = {.together = {.name = SHELF_ALL}};
	int at = options_parse(argc, argv, "coverage [OPTION]... TARGET... | --all", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *list = NULL;
	const char *wrong;
	int begun, r;

	if (at < 0)
		return -1 - at;
	a.names = argv + at;
	a.n_names = argc - at;
	wrong = coverage_usage_error(&a);
	if (wrong)
		return fail(EXIT_USAGE, "coverage: %s", wrong);
	begun = answer_begin(a.json);
	list = json_array();
	r = coverage_work(&a, list);
	for (size_t i = 0; i < a.n; i++)
		json_decref(a.v[i].report);
	json_decref(a.together.report);
	free(a.v);
	strv_done(&a.shown);
	cells_close(&a.cells);
	session_close(&a.session);
	return answer_end(begun, json_pack("{s:o}", "targets", list), r);
}
