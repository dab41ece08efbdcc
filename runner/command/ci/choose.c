/* SPDX-License-Identifier: Apache-2.0 */
/* Which targets a change affects: they are fuzzed. */
#include "runner/command/ci/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/coverage/report.h"
#include "runner/coverage/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 3 }; /* targets that are fuzzed if the change affects none */
#define SAMPLE_US (UINT64_C(20) * USEC_PER_SEC)

static int sides_parse(struct slice before, struct slice after, struct ci_sides *ret)
{
	struct err e;

	if (diff_parse(before, &ret->before, &e) < 0 || diff_parse(after, &ret->after, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	ret->before_known = xcalloc(ret->before.n + 1, sizeof(*ret->before_known));
	ret->after_known = xcalloc(ret->after.n + 1, sizeof(*ret->after_known));
	return EXIT_DONE;
}

static void sides_done(struct ci_sides *s)
{
	diff_done(&s->before);
	diff_done(&s->after);
	free(s->before_known);
	free(s->after_known);
}

void ci_choose_by(struct ci_target *t, const struct diff *d, const struct affected_coverage *c,
		  bool *io_known)
{
	t->lines = affected_lines(d, c, io_known);
	t->affected = t->lines > 0;
	for (size_t i = 0; i < c->lcov->n; i++)
		t->touched = t->touched || affected_file(d, c->root, c->lcov->v[i].path);
	snprintf(t->why, sizeof(t->why), "%s",
		 t->lines ? "its corpus reaches changed lines" : "not affected");
}

/* --- coverage reports ------------------------------------------------------------- */

/* Reads the target's coverage report.  False: there is none. */
static bool choose_load_report(const struct ci *a, const char *target, struct lcov *ret,
			       bool *ret_exact)
{
	_autoclose_ int dir = -1;
	_autofree_ char *text = NULL;
	_autojson_ json_t *summary = NULL;
	struct err ignored;
	size_t n;

	if (shelf_open(a->session.state, target, &dir, &ignored) < 0 || dir < 0 ||
	    fs_read(dir, "lcov.info", REPORT_TEXT_MAX, &text, &n, &ignored) < 0 ||
	    lcov_parse((struct slice){text, n}, ret, &ignored) < 0)
		return false;
	*ret_exact = shelf_summary(a->session.state, target, &summary, &ignored) == 0 &&
		     strcmp(json_get_text(summary, "commit"), a->base) == 0;
	return true;
}

/* exact: by reports of the base; else by those of another commit. */
static void choose_by_reports(struct ci *a, struct ci_sides *s, bool exact)
{
	for (size_t i = 0; i < a->n_targets; i++) {
		_autolcov_ struct lcov coverage = {0};
		struct ci_target *t = &a->targets[i];
		bool is_exact;

		if (ci_is_chosen(t) || !choose_load_report(a, t->name, &coverage, &is_exact) ||
		    is_exact != exact)
			continue;
		ci_choose_by(
		    t, &s->before,
		    &(struct affected_coverage){.lcov = &coverage,
						.by = exact ? AFFECTED_REPORT : AFFECTED_OLD_REPORT,
						.root = a->root},
		    s->before_known);
	}
}

/* --- what is not known ------------------------------------------------------------ */

static void choose_unmeasured(struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++) {
		struct ci_target *t = &a->targets[i];

		if (ci_is_chosen(t))
			continue;
		t->affected = t->touched = true;
		snprintf(t->why, sizeof(t->why), "no coverage of it is known%s%.200s",
			 *t->unmeasured ? ": " : "", t->unmeasured);
	}
}

/* A file that no coverage names may be in every target. */
static void choose_unnamed(struct ci *a, struct ci_sides *s)
{
	const char *path;
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < s->before.n; i++) {
		const struct diff_file *f = diff_find(&s->after, s->before.v[i].path);

		if (f && s->after_known[f - s->after.v])
			s->before_known[i] = true;
	}
	path = affected_unknown(&s->before, s->before_known);
	if (!path)
		return;
	printf("no target's coverage names %s: it may be in every target\n", escape(path, shown));
	for (size_t i = 0; i < a->n_targets; i++)
		if (!a->targets[i].affected) {
			a->targets[i].affected = a->targets[i].touched = true;
			snprintf(a->targets[i].why, sizeof(a->targets[i].why),
				 "no target's coverage names a changed file");
		}
}

/* --- none is affected -------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
	const struct ci_target *a = *(struct ci_target *const *)x,
			       *b = *(struct ci_target *const *)y;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The cheapest few: the smallest programs. */
static void choose_sample(struct ci *a)
{
	struct ci_target **v = xcalloc(a->n_targets + 1, sizeof(struct ci_target *));
	size_t n = 0;

	for (size_t i = 0; i < a->n_targets; i++)
		if (!a->targets[i].unbuilt)
			v[n++] = &a->targets[i];
	if (n > 0)
		qsort(v, n, sizeof(struct ci_target *), by_size);
	for (size_t i = 0; i < n && i < SAMPLE; i++) {
		v[i]->fuzz = true;
		snprintf(v[i]->why, sizeof(v[i]->why), "one of the smallest; none is affected");
	}
	free(v);
	if (a->time_us > SAMPLE_US)
		a->time_us = SAMPLE_US;
}

static bool any_fuzzed(const struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++)
		if (a->targets[i].fuzz && !a->targets[i].unbuilt)
			return true;
	return false;
}

/* --- all --------------------------------------------------------------------------- */

static bool is_planned(const struct ci *a, const struct ci_target *t)
{
	const struct plan *p = &a->session.plan;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].target->name, t->name) == 0)
			return true;
	return false;
}

/* Forgets the targets that the configuration switches off: they are built, and no more. */
static int choose_enabled(struct ci *a)
{
	int r = session_find(&a->session);
	size_t n = 0;

	for (size_t i = 0; r == EXIT_DONE && i < a->n_targets; i++)
		if (a->targets[i].unbuilt || is_planned(a, &a->targets[i]))
			a->targets[n++] = a->targets[i];
		else
			ci_target_done(&a->targets[i]);
	if (r != EXIT_DONE)
		return r;
	a->n_targets = n;
	return n ? r : fail(EXIT_NOT_FUZZED, "the configuration switches all targets off");
}

static int choose(struct ci *a, struct ci_sides *s)
{
	int r = choose_enabled(a);

	if (r != EXIT_DONE)
		return r;
	choose_by_reports(a, s, true);
	r = ci_measure(a, s);
	if (r != EXIT_DONE)
		return r;
	choose_by_reports(a, s, false);
	choose_unmeasured(a);
	choose_unnamed(a, s);
	for (size_t i = 0; i < a->n_targets; i++)
		a->targets[i].fuzz = a->targets[i].affected;
	if (!any_fuzzed(a))
		choose_sample(a);
	for (size_t i = 0; i < a->n_targets; i++)
		if (a->targets[i].fuzz)
			printf("  %-30s %s\n", a->targets[i].name, a->targets[i].why);
	return EXIT_DONE;
}

int ci_choose(struct ci *a, struct slice before, struct slice after)
{
	CLEANUP(sides_done) struct ci_sides s = {0};
	char n[UNITS_OF_MAX];
	int r = sides_parse(before, after, &s);

	if (r != EXIT_DONE)
		return r;
	printf("\nthe change touches %s\n", units_of(s.before.n, "file", "files", n));
	fflush(stdout);
	return choose(a, &s);
}
