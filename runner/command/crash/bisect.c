/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the commit with which a crash began, or ended. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/notify.h"
#include "runner/command/common/probe.h"
#include "runner/command/common/revisions.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/bisect/journal.h"
#include "runner/crash/bisect/words.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/odds.h"
#include "runner/run/triage/triage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORT = 12 };
#define SEND_US (30 * USEC_PER_SEC)

struct bisect {
	struct session session;
	const char *target, *good, *bad;
	uint64_t time_us;
	bool fix, again, pending, json;
	/* One of several searches by itself: when the first one began, and what was used before. */
	uint64_t began_us, used_us;

	struct crash_subject subject;
	struct cells cells;
	struct revisions revisions;
	char input[JOURNAL_INPUTS][PATH_MAX];
	bool has[JOURNAL_INPUTS];
	struct revision_row row; /* commit 0 is the one where the crash is known */
	int place;		 /* the directory of the reproducer */
	struct journal journal;
	struct bisect_commit *v; /* of the row */
	struct bisect_answer answer;
	bool any; /* the second search: any failure of the inputs counts */
	struct bisect_answer first_answer;

	/* The commit in work. */
	size_t at;
	struct shelf_item item;
	struct plan plan;
	struct probe *probe;
	struct source *soon;
	uint64_t until_us;
	unsigned tests;
	char why[300]; /* why the search stopped early */
	bool stopped;  /* by a signal */
	bool stepped;  /* a test began */
	int status;
	json_t *result;
};

#define AT(member) OPTION_AT(struct bisect, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct bisect, session.common),
    {"target", "NAME", "the target, if several found the crash", AT(target)},
    {"bad", "COMMIT", "a commit with the crash (default: where it was last seen)", AT(bad)},
    {"good", "COMMIT", "a commit without it (default: all of the history; with --fix HEAD)",
     AT(good)},
    {"fix", NULL, "search for the commit with which it ended", AT(fix)},
    {"time", "TIME", "time limit; a later call goes on (default: none)", AT(time_us)},
    {"pending", NULL, "all crashes that wait for it, as after a run", AT(pending)},
    {"again", NULL, "forget earlier tests, and build again what failed", AT(again)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- names ------------------------------------------------------------------------ */

static const char *short_of(const char *commit, char out[SHORT + 1])
{
	snprintf(out, SHORT + 1, "%.12s", commit);
	return out;
}

static const struct journal_test *tested(const struct bisect *a, size_t i)
{
	return journal_find(&a->journal, a->row.v[i]);
}

/* --- the tests until now ------------------------------------------------------------ */

/* The replays at the commit where the crash is known, with those of triage. */
static void bisect_rates(const struct bisect *a, struct journal_tries ret[JOURNAL_INPUTS])
{
	const struct known_crash *c = a->subject.entry;
	const struct journal_test *t = tested(a, 0);

	memset(ret, 0, JOURNAL_INPUTS * sizeof(*ret));
	ret[0] = (struct journal_tries){c->reproduction.tries, c->reproduction.hits};
	for (size_t i = 0; t && t->outcome == BISECT_FAILS && i < JOURNAL_INPUTS; i++) {
		ret[i].tries += t->input[i].tries;
		ret[i].hits += t->input[i].hits;
	}
}

/* any: every failure of the inputs counts. */
static struct bisect_answer bisect_think(struct bisect *a, bool any)
{
	struct journal_tries known[JOURNAL_INPUTS];

	bisect_rates(a, known);
	for (size_t i = 0; i < a->row.n; i++) {
		const struct journal_test *t = tested(a, i);

		a->v[i] = (struct bisect_commit){.outcome = BISECT_UNTESTED};
		if (!t)
			continue;
		a->v[i].outcome = any && t->outcome == BISECT_OTHER ? BISECT_FAILS : t->outcome;
		a->v[i].miss = journal_miss(t, known);
	}
	return bisect_next(a->v, a->row.n);
}

/* --- a test -------------------------------------------------------------------------- */

static void bisect_step(void *arg);

static void bisect_finish(struct bisect *a, int status)
{
	a->status = status;
	loop_stop(a->cells.replay.exec.loop);
}

/* Not from within the end of a probe. */
static void bisect_soon(struct bisect *a)
{
	struct err e;

	source_remove(a->soon);
	a->soon = NULL;
	if (loop_add_timer(a->cells.replay.exec.loop, clock_mono_us(), bisect_step, a, &a->soon,
			   &e) < 0)
		bisect_finish(a, fail(EXIT_INTERNAL, "%s", e.msg));
}

static void print_test(const struct bisect *a, const struct journal_test *t)
{
	struct revision_info info = {.time = 0};
	char commit[SHORT + 1];
	struct err ignored;

	(void)!revision_describe(a->revisions.tree, t->commit, &info, &ignored);
	printf("%s  %-22s %s\n", short_of(t->commit, commit), bisect_outcome_name(t->outcome),
	       info.subject);
	if (*t->why)
		printf("%*s  %s\n", SHORT, "", t->why);
	fflush(stdout);
}

static void bisect_note(struct bisect *a, struct journal_test *t)
{
	struct err e;

	snprintf(t->commit, sizeof(t->commit), "%s", a->row.v[a->at]);
	print_test(a, t);
	a->tests += !journal_find(&a->journal, t->commit);
	journal_add(&a->journal, t);
	if (journal_save(a->place, &a->journal, &e) < 0)
		bisect_finish(a, fail(EXIT_MACHINE, "%s", e.msg));
	else
		bisect_soon(a);
}

static void bisect_done_with(struct bisect *a)
{
	plan_done(&a->plan);
	shelf_item_done(&a->item);
}

static bool bisect_is_crash(void *arg, const struct crash_report *r)
{
	const struct bisect *a = arg;
	const struct ledger *l = a->subject.ledger;
	const struct known_crash *want = ledger_find(l, a->subject.crash->signature);

	return want && ledger_find(l, r->signature) == want;
}

static void bisect_on_probed(void *arg, const struct journal_test *t)
{
	struct bisect *a = arg;
	struct journal_test own = *t;

	a->probe = NULL;
	bisect_done_with(a);
	if (t->outcome != BISECT_UNTESTED) {
		bisect_note(a, &own);
		return;
	}
	snprintf(a->why, sizeof(a->why), "%s", t->why);
	bisect_finish(a, EXIT_NOT_FUZZED);
}

static int bisect_probe(struct bisect *a, struct err *e)
{
	const struct journal_test *before = tested(a, a->at);
	struct probe_spec s = {
	    .cells = &a->cells,
	    .target = &a->item.target,
	    .ub_goes_on = triage_ub_goes_on(a->subject.entry),
	    .measure = a->at == 0 && !before,
	    .miss = BISECT_WRONG,
	    .is_crash = bisect_is_crash,
	    .done = bisect_on_probed,
	    .arg = a,
	};
	int r = plan_make_one(a->session.common.config, &a->item.target, &a->plan, e);

	if (r == 0 && a->plan.n == 0)
		r = err_set(e, EINVAL, "the target is not enabled");
	if (r < 0)
		return r;
	cells_fit(&a->cells, &a->plan.v[0].cfg);
	s.cfg = &a->plan.v[0].cfg;
	bisect_rates(a, s.known);
	for (size_t i = 0; i < JOURNAL_INPUTS; i++) {
		s.input[i] = a->has[i] ? a->input[i] : NULL;
		if (before && a->answer.again)
			s.had[i] = before->input[i];
	}
	if (before && a->answer.again)
		s.miss = a->v[a->at].miss * BISECT_WRONG;
	return probe_start(&s, &a->probe, e);
}

/* Whether the search must stop; then it is finished.  However little time it has, it tests one
 * commit: so a search ends, in one call or in many. */
static bool bisect_is_over(struct bisect *a)
{
	if (cells_stopped(&a->cells))
		snprintf(a->why, sizeof(a->why), "stopped");
	else if (a->stepped && a->until_us && clock_mono_us() >= a->until_us)
		snprintf(a->why, sizeof(a->why), "the time is over (--time)");
	if (*a->why)
		bisect_finish(a, EXIT_NOT_FUZZED);
	return *a->why;
}

/* Fetches the target at the commit, and tests it. */
static void bisect_test(struct bisect *a)
{
	struct journal_test t = {.outcome = BISECT_SKIPPED};
	struct err e;
	int r = revisions_target(&a->revisions, a->row.v[a->at], a->subject.entry->fuzzer, &a->item,
				 &e);

	if (r == -EINTR || (r < 0 && a->item.kind != SHELF_UNBUILT)) {
		snprintf(a->why, sizeof(a->why), "%.299s", e.msg);
		bisect_finish(a, r == -EINTR ? EXIT_NOT_FUZZED : EXIT_MACHINE);
		return;
	}
	if (a->item.kind == SHELF_TARGET) {
		r = bisect_probe(a, &e);
		if (r == 0)
			return;
		snprintf(t.why, sizeof(t.why), "%.299s", e.msg);
	} else {
		t.outcome = a->item.kind == SHELF_ABSENT ? BISECT_ABSENT : BISECT_SKIPPED;
		snprintf(t.why, sizeof(t.why), "%.299s", a->item.why);
	}
	bisect_done_with(a);
	bisect_note(a, &t);
}

/* A failure in another way may be the same bug under another name, or hide it.  Where did the
 * inputs begin to fail at all? */
static bool bisect_goes_on(struct bisect *a)
{
	if (a->any || (a->answer.kind != BISECT_RANGE && a->answer.kind != BISECT_ALL) ||
	    a->answer.other == 0)
		return false;
	a->any = true;
	return true;
}

/* Whether more passes make a miss less likely: not if no replay ever failed, and not without end.
 */
static bool bisect_more_helps(const struct bisect *a)
{
	const struct journal_test *t = tested(a, a->answer.next);

	return t && a->v[a->answer.next].miss < 1 && t->input[0].tries < PROBE_TRIES_MAX &&
	       t->input[1].tries < PROBE_TRIES_MAX;
}

static void bisect_step(void *arg)
{
	struct bisect *a = arg;

	source_remove(a->soon);
	a->soon = NULL;
	a->answer = bisect_think(a, a->any);
	if (!a->answer.open && bisect_goes_on(a))
		a->answer = bisect_think(a, true);
	if (a->answer.open && a->answer.again && !bisect_more_helps(a))
		a->answer.open = false;
	if (!a->answer.open) {
		bisect_finish(a, EXIT_DONE);
		return;
	}
	if (bisect_is_over(a))
		return;
	a->stepped = true;
	a->at = a->answer.next;
	bisect_test(a);
}

static void bisect_on_stop(void *arg)
{
	struct bisect *a = arg;

	if (a->probe)
		probe_stop(a->probe);
}

/* --- the answer ------------------------------------------------------------------------ */

static bool found(const struct bisect_answer *a)
{
	return a->kind != BISECT_NONE && a->kind != BISECT_UNKNOWN;
}

/* The commit that made the difference, and the one before it in time; NULL: there is none. */
static const char *edge_commit(const struct bisect *a, const struct bisect_answer *w)
{
	return a->row.v[a->fix && w->first < a->row.n ? w->first : w->last];
}

static const char *edge_before(const struct bisect *a, const struct bisect_answer *w)
{
	if (a->fix)
		return a->row.v[w->last];
	return w->first < a->row.n ? a->row.v[w->first] : NULL;
}

static void bisect_describe_one(const struct bisect *a, const struct bisect_answer *answer,
				char out[BISECT_SENTENCE])
{
	const struct journal_test *t = tested(a, 0);
	char last[SHORT + 1], first[SHORT + 1], why[JOURNAL_WHY + 40] = "it was not tested";
	struct bisect_words w = {.last = short_of(a->row.v[answer->last], last),
				 .fix = a->fix,
				 .bounded = a->fix || a->good,
				 .any = a->any && answer == &a->answer,
				 .why = why};

	if (answer->first < a->row.n)
		w.first = short_of(a->row.v[answer->first], first);
	if (t)
		snprintf(why, sizeof(why), "%s%s%s", bisect_outcome_name(t->outcome),
			 *t->why ? ": " : "", t->why);
	bisect_describe(answer, &w, out);
}

/* The answer for the crash itself, and for any failure of its inputs if that is another commit. */
static void bisect_describe_all(const struct bisect *a, char out[BISECT_SENTENCE])
{
	char more[BISECT_SENTENCE] = "";
	size_t n;

	*out = '\0';
	bisect_describe_one(a, a->any ? &a->first_answer : &a->answer, out);
	if (!a->any || a->answer.last == a->first_answer.last)
		return;
	bisect_describe_one(a, &a->answer, more);
	n = strlen(out);
	snprintf(out + n, BISECT_SENTENCE - n, "; %s", more);
}

static void fill_edge(const struct bisect *a, const struct revision_info *info, const char *text,
		      struct crash_edge *ret)
{
	const struct bisect_answer *w = a->any ? &a->first_answer : &a->answer;
	bool range = w->kind == BISECT_RANGE;

	*ret = (struct crash_edge){.kind = bisect_kind_name(w->kind),
				   .commit = edge_commit(a, w),
				   .before = edge_before(a, w),
				   .author = info->author,
				   .subject = info->subject,
				   .time = info->time,
				   .text = text,
				   .from = a->row.v[0],
				   .commits = !found(w) ? 0
					      : range	? w->first - w->last
							: 1};
}

/* Notes the answer, and notifies of it.  Without an edge, later searches by themselves leave the
 * crash alone. */
static int bisect_store(struct bisect *a, const struct crash_edge *edge)
{
	const struct known_crash *c = a->subject.entry;
	const struct crash_edge none = {.kind = edge->kind, .text = edge->text, .from = edge->from};
	struct notify t = common_notify(&a->session.common, a->session.state);
	struct err e;

	if (ledger_edge(a->subject.ledger, c->signature, c->fuzzer, a->fix,
			*edge->kind && edge->commits ? edge : &none, &e) < 0 ||
	    ledger_save(a->subject.ledger, a->session.state->dirfd, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	t.send_us = SEND_US;
	common_notify_last(&t, a->subject.ledger);
	return EXIT_DONE;
}

static json_t *bisect_json(const struct bisect *a, const struct crash_edge *edge, const char *text)
{
	const struct bisect_answer *w = a->any ? &a->first_answer : &a->answer;
	json_t *tests = json_array();

	for (size_t i = 0; i < a->row.n; i++) {
		const struct journal_test *t = tested(a, i);

		if (t)
			(void)json_array_append_new(
			    tests,
			    json_pack("{s:s, s:s, s:I, s:I, s:o}", "commit", t->commit, "outcome",
				      bisect_outcome_name(t->outcome), "tries",
				      (json_int_t)t->input[0].tries + (json_int_t)t->input[1].tries,
				      "hits",
				      (json_int_t)t->input[0].hits + (json_int_t)t->input[1].hits,
				      "why", answer_text(t->why)));
	}
	return json_pack(
	    "{s:o, s:o, s:b, s:b, s:s, s:s?, s:s?, s:o, s:o, s:o, s:f, s:o, s:I, s:I, s:o}",
	    "crash", answer_text(a->subject.entry->signature), "target",
	    answer_text(a->subject.entry->fuzzer), "fix", a->fix, "complete", *a->why == '\0',
	    "kind", bisect_kind_name(w->kind), "commit", edge ? edge->commit : NULL, "before",
	    edge ? edge->before : NULL, "author", edge ? answer_text(edge->author) : json_null(),
	    "subject", edge ? answer_text(edge->subject) : json_null(), "text", answer_text(text),
	    "wrong", w->wrong, "problem", *a->why ? answer_text(a->why) : json_null(), "commits",
	    (json_int_t)a->row.n, "builds", (json_int_t)a->revisions.builds, "tests", tests);
}

static void print_edge(const struct bisect *a, const struct crash_edge *edge,
		       const struct revision_info *info)
{
	time_t seconds = (time_t)info->time;
	struct tm tm;
	char day[32] = "";

	if (gmtime_r(&seconds, &tm))
		(void)strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	printf("\n%s %s%s\n  %s\n  %s, %s\n", a->fix ? "ended" : "began",
	       strcmp(edge->kind, "range") == 0 ? "with one of several commits, the newest: "
	       : strcmp(edge->kind, "all") == 0 ? "at or before "
						: "with ",
	       edge->commit, info->subject, info->author, day);
	if (info->parents > 1)
		printf("  a merge: look into its branch with --bad %.12s^2\n", edge->commit);
}

/* The exit status of a search that is complete, or found nothing. */
static int bisect_status(const struct bisect *a, const struct bisect_answer *w)
{
	if (*a->why)
		return fail(a->status, "not finished: %s; the same command goes on", a->why);
	if (a->status != EXIT_DONE)
		return a->status;
	if (w->kind == BISECT_NONE || (w->kind == BISECT_ALL && (a->fix || a->good)))
		return CRASH_NOT_THERE;
	return w->kind == BISECT_UNKNOWN ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int bisect_conclude(struct bisect *a)
{
	const struct bisect_answer *w;
	struct revision_info info = {.time = 0};
	struct crash_edge edge;
	char text[BISECT_SENTENCE], n[UNITS_OF_MAX];
	struct err e;
	int r, stored;

	/* The second search may have told more about the crash itself. */
	a->first_answer = bisect_think(a, false);
	w = a->any ? &a->first_answer : &a->answer;
	bisect_describe_all(a, text);
	printf("\n%s\n", text);
	if (found(w) && revision_describe(a->revisions.tree, edge_commit(a, w), &info, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	fill_edge(a, &info, text, &edge);
	a->result = bisect_json(a, found(w) ? &edge : NULL, text);
	r = bisect_status(a, w);
	if (r == EXIT_DONE)
		print_edge(a, &edge, &info);
	printf("tested now: %s (%u built)\n", units_of(a->tests, "commit", "commits", n),
	       a->revisions.builds);
	if (*a->why || a->status != EXIT_DONE || (r != EXIT_DONE && a->good))
		return r;
	stored = bisect_store(a, &edge);
	return stored == EXIT_DONE ? r : stored;
}

/* --- what is searched -------------------------------------------------------------------- */

/* Copies the inputs that were kept to where cells can read them. */
static int bisect_take_inputs(struct bisect *a)
{
	const struct known_crash *c = a->subject.entry;
	struct err e;
	int r = EXIT_DONE;

	_Static_assert((int)LEDGER_INPUT_COUNT == (int)JOURNAL_INPUTS, "a slot for each input");
	for (enum ledger_input i = 0; r == EXIT_DONE && i < LEDGER_INPUT_COUNT; i++) {
		_autofree_ char *path = NULL;
		const char *file = ledger_input_path(c, i);

		if (!*file)
			continue;
		if (ledger_input_check(a->session.state->dirfd, c, i, &e) < 0)
			return fail(EXIT_USAGE, "%s", e.msg);
		path = xasprintf("%s/%s", a->session.state->path, file);
		r = cells_copy(&a->cells, path, a->input[i]);
		a->has[i] = r == EXIT_DONE;
	}
	return r;
}

/* The commit where the crash is known: the user's, or where it was last seen, or HEAD. */
static int bisect_known_commit(const struct bisect *a, char ret[COMMIT_MAX], struct err *e)
{
	const struct revision_tree *t = a->revisions.tree;
	const char *seen = a->subject.entry->last_seen.commit;
	struct err ignored;
	int r;

	if (a->bad)
		return revision_find(t, a->bad, ret, e);
	if (*seen && revision_find(t, seen, ret, &ignored) == 0)
		return 0;
	r = revision_dirty(t, e);
	if (r > 0)
		return err_set(
		    e, EINVAL,
		    "it is not known on which commit the crash was seen, and '%.200s' has "
		    "changes: commit them, or give --bad COMMIT",
		    revision_top(t));
	return r < 0 ? r : revision_find(t, "HEAD", ret, e);
}

/* From the commit where the crash is known: back, or with --fix forward. */
static int bisect_list(struct bisect *a, struct err *e)
{
	const struct revision_tree *t = a->revisions.tree;
	char bad[COMMIT_MAX], good[COMMIT_MAX];
	bool end = a->fix || a->good;
	int r = bisect_known_commit(a, bad, e);

	if (r == 0 && end)
		r = revision_find(t, a->good ? a->good : "HEAD", good, e);
	if (r < 0)
		return r;
	if (!a->fix)
		return revision_list(t, bad, end ? good : NULL, &a->row, e);
	r = revision_list(t, good, bad, &a->row, e);
	for (size_t i = 0; r == 0 && i < a->row.n / 2; i++) {
		char name[COMMIT_MAX];

		memcpy(name, a->row.v[i], COMMIT_MAX);
		memcpy(a->row.v[i], a->row.v[a->row.n - 1 - i], COMMIT_MAX);
		memcpy(a->row.v[a->row.n - 1 - i], name, COMMIT_MAX);
	}
	return r;
}

static int bisect_load(struct bisect *a, struct err *e)
{
	const struct known_crash *c = a->subject.entry;
	_autofree_ char *of =
	    xasprintf("%s %s %s", c->input_sha1, c->minimized_sha1, a->revisions.how);
	const char *slash = strrchr(c->crash_file, '/');
	_autofree_ char *dir = xstrndup(c->crash_file, slash ? (size_t)(slash - c->crash_file) : 0);
	int r = fs_open_dir(a->session.state->dirfd, dir, &a->place, e);

	if (r == 0)
		r = journal_load(a->place, of, &a->journal, e);
	if (r < 0 || !a->again)
		return r;
	for (size_t i = 0; r == 0 && i < a->journal.n; i++)
		r = revisions_forget(&a->revisions, a->journal.v[i].commit, c->fuzzer, e);
	a->journal.n = 0;
	return r;
}

static int bisect_begin(struct bisect *a)
{
	struct err e;
	char n[UNITS_OF_MAX], commit[SHORT + 1];
	int shallow;

	if (bisect_list(a, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (bisect_load(a, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	shallow = revision_shallow(a->revisions.tree, &e);
	if (shallow < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	a->v = xcalloc(a->row.n, sizeof(*a->v));
	printf("%s, %s %s%s%s\n", units_of(a->row.n, "commit", "commits", n),
	       a->fix ? "from" : "back from", short_of(a->row.v[0], commit),
	       a->row.cut ? "; older ones are left out" : "",
	       shallow ? "; the history is shallow (git fetch --unshallow)" : "");
	fflush(stdout);
	return EXIT_DONE;
}

/* How much of today's time is used: {"day": days since 1970, "used_s": 120}. */
#define BUDGET "bisect_today.json"
enum { BUDGET_MAX = 4096, PENDING_MAX = 100 };

static uint64_t today(void)
{
	return clock_real_us() / USEC_PER_SEC / 86400;
}

/* Notes the time that the search took, while the state is still open. */
static void bisect_note_time(struct bisect *a)
{
	_autojson_ json_t *j =
	    json_pack("{s:I, s:f}", "day", (json_int_t)today(), "used_s",
		      (double)(a->used_us + clock_mono_us() - a->began_us) / USEC_PER_SEC);
	_autofree_ char *text = NULL;
	struct err e;

	if (json_print(j, 0, &text, &e) < 0 ||
	    fs_replace(a->session.state->dirfd, BUDGET, slice_of(text), &e) < 0)
		warn("%s", e.msg);
}

/* No number of passes tells a commit without the crash from one with it, if no replay ever failed.
 */
static int bisect_check_rate(const struct bisect *a)
{
	const struct known_crash *c = a->subject.entry;
	char sig[CRASH_LINE];

	if (c->reproduction.tries == 0 || c->reproduction.hits > 0)
		return EXIT_DONE;
	return fail(EXIT_NOT_FUZZED,
		    "crash %s: none of %llu replays failed, so no commit can be told to be without "
		    "it",
		    crash_line(c->signature, sig), (unsigned long long)c->reproduction.tries);
}

static int bisect_run(struct bisect *a)
{
	int r = bisect_check_rate(a);

	if (r == EXIT_DONE)
		r = session_open(&a->session);
	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "bisect");
	if (r == EXIT_DONE)
		r = bisect_take_inputs(a);
	if (r == EXIT_DONE)
		r = revisions_open(&a->revisions, &a->session, a->subject.entry->fuzzer);
	if (r == EXIT_DONE)
		r = bisect_begin(a);
	if (r != EXIT_DONE)
		return r;
	if (a->time_us)
		a->until_us = clock_mono_us() + a->time_us;
	bisect_soon(a);
	r = cells_run(&a->cells, bisect_on_stop, a);
	if (a->began_us)
		bisect_note_time(a);
	a->stopped = cells_stopped(&a->cells);
	return r == EXIT_DONE ? bisect_conclude(a) : r;
}

static int bisect(struct bisect *a, const char *name)
{
	int r = crash_subject_known(&a->session, name, a->target, &a->subject);

	if (r == EXIT_DONE)
		r = bisect_run(a);
	source_remove(a->soon);
	bisect_done_with(a);
	revisions_close(&a->revisions);
	cells_close(&a->cells);
	journal_done(&a->journal);
	close_p(&a->place);
	revision_row_done(&a->row);
	free(a->v);
	crash_subject_done(&a->subject);
	session_close(&a->session);
	return r;
}

/* --- by itself ------------------------------------------------------------------------------ */

struct pending {
	char *signature[PENDING_MAX], *target[PENDING_MAX];
	bool fix[PENDING_MAX];
	size_t n;
	uint64_t used_us, left_us;
};

static void pending_done(struct pending *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->signature[i]);
		free(p->target[i]);
	}
}

static void pending_budget(struct pending *p, const struct state *s, const struct config *c,
			   uint64_t wanted_us)
{
	_autojson_ json_t *j = NULL;
	uint64_t daily = config_bisect(c)->daily_us;
	struct err ignored;

	if (json_load(s->dirfd, BUDGET, BUDGET_MAX, &j, &ignored) == 0 &&
	    json_get_u64(j, "day") == today())
		p->used_us = json_get_us(j, "used_s");
	p->left_us = wanted_us ? wanted_us : daily > p->used_us ? daily - p->used_us : 0;
}

/* The entry of a reliable or fixed crash that was not searched yet. */
static bool is_pending(const struct known_crash *e, bool *ret_fix)
{
	uint64_t tries = e->reproduction.tries, hits = e->reproduction.hits;

	*ret_fix = e->state == LEDGER_FIXED;
	if (!*e->crash_file || odds_reproduce(tries, hits) != ODDS_REPRODUCES)
		return false;
	return *ret_fix ? !*e->fix.kind : ledger_state_open(e->state) && !*e->culprit.kind;
}

static void pending_add(struct pending *p, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by && p->n < PENDING_MAX; i++)
		if (is_pending(c->by[i], &p->fix[p->n])) {
			p->signature[p->n] = xstrdup(c->signature);
			p->target[p->n++] = xstrdup(c->by[i]->fuzzer);
			return; /* one target is enough */
		}
}

static int pending_list(struct pending *p, const struct common *c, uint64_t wanted_us)
{
	struct session s = {.common = *c};
	struct ledger *l = NULL;
	int r = session_load(&s);

	if (r == EXIT_DONE)
		r = session_read(&s);
	if (r == EXIT_DONE)
		r = crash_ledger(s.state, &l);
	if (r == EXIT_DONE)
		pending_budget(p, s.state, s.common.config, wanted_us);
	for (size_t i = ledger_count(l); r == EXIT_DONE && i-- > 0;)
		if (ledger_find(l, ledger_at(l, i)->signature) == ledger_at(l, i))
			pending_add(p, ledger_at(l, i));
	ledger_free(l);
	session_close(&s);
	return r;
}

int crash_bisect_pending(const struct common *c, uint64_t time_us)
{
	CLEANUP(pending_done) struct pending p = {.n = 0};
	uint64_t began = clock_mono_us();
	int r = pending_list(&p, c, time_us);

	for (size_t i = 0; r == EXIT_DONE && i < p.n; i++) {
		uint64_t spent = clock_mono_us() - began;
		struct bisect a = {.session = {.common = *c},
				   .cells = {.dirfd = -1},
				   .place = -1,
				   .target = p.target[i],
				   .fix = p.fix[i],
				   .began_us = began,
				   .used_us = p.used_us};

		if (spent >= p.left_us) {
			printf("%zu crashes wait for another day (bisect.daily)\n", p.n - i);
			break;
		}
		a.time_us = p.left_us - spent;
		printf("\ncrash %s of %s: which commit %s?\n", p.signature[i], p.target[i],
		       a.fix ? "ended it" : "began it");
		r = bisect(&a, p.signature[i]);
		json_decref(a.result);
		/* One crash without an answer is no reason to leave out the next. */
		if (r == CRASH_NOT_THERE || (r == EXIT_NOT_FUZZED && !a.stopped))
			r = EXIT_DONE;
	}
	return r;
}

int command_crash_bisect(int argc, char **argv)
{
	struct bisect a = {.cells = {.dirfd = -1}, .place = -1};
	int at = options_parse(argc, argv, "crash bisect [OPTION]... [CRASH]", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (a.pending && (argc != at || a.json || a.bad || a.good || a.fix || a.target))
		return fail(EXIT_USAGE, "crash bisect: --pending takes --time alone");
	if (a.pending)
		return crash_bisect_pending(&a.session.common, a.time_us);
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash bisect: give one crash (fuzzcell crash list)");
	begun = answer_begin(a.json);
	r = bisect(&a, argv[at]);
	return answer_end(begun, a.result, r);
}
