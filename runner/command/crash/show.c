/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/odds.h"
#include "runner/crash/report/json.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RUNS_SHOWN = 5, ARTIFACTS_SHOWN = 5 };

struct show_args {
	struct session session;
	bool json;
	const char *target;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct show_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct show_args, json)},
    {"target", "NAME", "the report of this build (default: the first open one, and other builds)",
     OPTION_AT(struct show_args, target)},
};

/* --- what the ledger knows ------------------------------------------------ */

static void crash_show_field(const char *name, const char *text)
{
	char line[CRASH_LINE];

	if (*text)
		printf("  %-13s %s\n", name, crash_line(text, line));
}

static void list_field(const char *name, const struct ledger_list *l, size_t last)
{
	size_t from = l->n > last ? l->n - last : 0;

	if (from)
		printf("  %-13s %zu earlier ones, and\n", name, from);
	for (size_t i = from; i < l->n; i++)
		crash_show_field(i ? "" : name, l->v[i]);
}

static void seen_field(const char *name, const struct ledger_seen *s)
{
	char time[32], commit[CRASH_LINE], run[CRASH_LINE];

	if (!s->time && !*s->commit && !*s->run)
		return;
	printf("  %-13s %s%s%s%s%s\n", name, crash_time(s->time, time),
	       *s->commit ? " commit " : "", crash_line(s->commit, commit), *s->run ? " run " : "",
	       crash_line(s->run, run));
}

/* Marks an input that cannot be run: another user may have replaced its file. */
static void input_field(const struct state *s, const struct known_crash *c, enum ledger_input which)
{
	const char *name = which == LEDGER_INPUT ? "input" : "minimized";
	const char *path = ledger_input_path(c, which);
	char line[CRASH_LINE];
	struct err e;

	if (!*path && which == LEDGER_INPUT)
		printf("  %-13s none was kept\n", name);
	if (!*path)
		return;
	if (ledger_input_check(s->dirfd, c, which, &e) < 0)
		printf("  %-13s NOT USABLE: %s\n", name, crash_line(e.msg, line));
	else
		printf("  %-13s %s (%llu bytes)\n", name, crash_line(path, line),
		       (unsigned long long)(which == LEDGER_INPUT ? c->input_bytes
								  : c->minimized_bytes));
}

static void minimize_field(const struct known_crash *record, const struct known_crash *entry)
{
	if (ledger_minimize_waits(record, entry->fuzzer))
		crash_show_field("", "not as small as it gets yet ('fuzzcell crash minimize')");
}

/* Prints how often the inputs for a target must still pass before the crash counts as fixed. */
static void print_asked(const struct known_crash *c, const struct ledger_asked *a)
{
	const struct known_crash *in = a->input, *count = a->count;
	const char *commit = count->reproduction.clean_commit;
	unsigned need = odds_passes(in->reproduction.tries, in->reproduction.hits);
	char of[CRASH_LINE], owner[CRASH_LINE + 40] = "";

	if (strcmp(in->signature, c->signature) != 0)
		snprintf(owner, sizeof(owner), " of %s, merged into it,",
			 crash_line(in->signature, of));
	else if (in != count)
		snprintf(owner, sizeof(owner), " of %s", crash_line(in->fuzzer, of));
	if (need == 0) {
		printf("  %-13s no number of passes%s proves it: a user decides\n", "fixed when",
		       owner);
		return;
	}
	printf("  %-13s each %sinput%s passes %u times on a new build\n", "fixed when",
	       *owner ? "" : "of its ", *owner ? owner : "s", need);
	printf("  %-13s so far %llu", "", (unsigned long long)ledger_passes(count, commit, false));
	if (*in->minimized)
		printf(" and %llu", (unsigned long long)ledger_passes(count, commit, true));
	printf(" in %s\n", crash_line(count->fuzzer, of));
}

static void print_rate(const struct known_crash *c)
{
	uint64_t tries = c->reproduction.tries, hits = c->reproduction.hits;

	if (tries)
		printf("  %-13s %llu of %llu replays: %s\n", "reproduces", (unsigned long long)hits,
		       (unsigned long long)tries, odds_verdict_name(odds_reproduce(tries, hits)));
}

static void print_fix(const struct ledger *l, const struct known_crash *c,
		      const struct known_crash *entry)
{
	struct ledger_asked a;

	if (!ledger_state_open(entry->state) || *c->merged_into)
		return;
	for (size_t at = 0; ledger_next_asked(l, c, entry->fuzzer, &at, &a);)
		print_asked(c, &a);
}

static void print_counts(const struct known_crash *c)
{
	size_t from = c->n_runs > RUNS_SHOWN ? c->n_runs - RUNS_SHOWN : 0;
	char run[CRASH_LINE], text[UNITS_OF_MAX];

	printf("  %-13s %s", "seen", units_of(c->count, "time", "times", text));
	for (size_t i = from; i < c->n_runs; i++)
		printf("%s%llu in %s", i == from ? "; lately " : ", ",
		       (unsigned long long)c->runs[i].count, crash_line(c->runs[i].run, run));
	putchar('\n');
}

/* Returns the target's origin in its Bazel workspace, as kept in the vault. */
static json_t *origin_of(const struct state *s, const struct known_crash *entry)
{
	_autofree_ char *text = NULL;
	json_t *meta = NULL;
	struct err e;
	size_t n;

	if (vault_read(s->dirfd, slice_of(entry->signature), entry->fuzzer, VAULT_META, &text, &n,
		       &e) == 0)
		(void)!json_parse((struct slice){text, n}, &meta, &e);
	return meta;
}

static void crash_show_print_origin(const struct state *s, const struct known_crash *entry)
{
	_autojson_ json_t *meta = origin_of(s, entry);

	crash_show_field("label", json_get_text(meta, "label"));
	crash_show_field("corpus", json_get_text(meta, "corpus"));
	crash_show_field("build", json_get_text(meta, "build"));
}

/* "began        with 4f2a... subject (author)", and what is certain. */
static void edge_field(const char *name, const struct ledger_edge *e)
{
	char commit[CRASH_LINE], subject[CRASH_LINE], author[CRASH_LINE], text[CRASH_LINE];

	if (!*e->kind)
		return;
	if (*e->commit)
		printf("  %-13s %s%s %s (%s)\n", name,
		       strcmp(e->kind, "range") == 0 ? "by "
		       : strcmp(e->kind, "all") == 0 ? "at or before "
						     : "with ",
		       crash_line(e->commit, commit), crash_line(e->subject, subject),
		       crash_line(e->author, author));
	printf("  %-13s %s\n", *e->commit ? "" : name, crash_line(e->text, text));
}

/* Prints the entry of each target. */
static void print_own(const struct state *s, const struct ledger *l, const struct known_crash *c,
		      const struct known_crash *entry)
{
	print_rate(entry);
	print_fix(l, c, entry);
	edge_field("began", &entry->culprit);
	edge_field("ended", &entry->fix);
	crash_show_print_origin(s, entry);
	for (enum ledger_input i = 0; i < LEDGER_INPUT_COUNT; i++)
		input_field(s, entry, i);
	minimize_field(c, entry);
	list_field("artifacts", &entry->artifacts, ARTIFACTS_SHOWN);
}

static void print_entry(const struct state *s, const struct ledger *l, const struct known_crash *c,
			const struct known_crash *entry)
{
	char target[CRASH_LINE];

	printf("in %s\n", crash_line(entry->fuzzer, target));
	crash_show_field("what", entry->crash_type);
	crash_show_field("state", ledger_state_name(entry->state));
	crash_show_field("severity", entry->severity);
	seen_field("first seen", &entry->first_seen);
	seen_field("last seen", &entry->last_seen);
	seen_field("fixed", &entry->fixed);
	print_counts(entry);
	print_own(s, l, c, entry);
}

static void print_facts(const struct state *s, const struct ledger *l, const struct known_crash *c)
{
	const struct known_crash *is = ledger_find(l, c->signature);
	char sig[CRASH_LINE], target[CRASH_LINE], severity[64];

	printf("crash %s of %s\n", crash_line(c->signature, sig), crash_line(c->fuzzer, target));
	if (c->unsymbolized)
		crash_show_field("named",
				 "by offsets, as its report has no names: for that build only");
	if (is && is != c)
		crash_show_field("merged into", is->signature);
	crash_show_field("what", c->crash_type);
	list_field("where", &c->crash_state, LEDGER_STATE_LINES);
	printf("  %-13s %s%s\n", "state", ledger_state_name(c->state),
	       ledger_state_open(c->state) ? " (open)" : "");
	snprintf(severity, sizeof(severity), "%.30s%s", *c->severity ? c->severity : "unknown",
		 c->security ? ", security-relevant" : "");
	crash_show_field("severity", severity);
	crash_show_field("signal", c->signal);
	seen_field("first seen", &c->first_seen);
	seen_field("last seen", &c->last_seen);
	seen_field("fixed", &c->fixed);
	print_counts(c);
	if (c->n_by == 1)
		print_own(s, l, c, c->by[0]);
	list_field("also found by", &c->targets, LEDGER_TARGETS);
	list_field("aliases", &c->aliases, ARTIFACTS_SHOWN);
	crash_show_field("likely same as", c->similar);
	crash_show_field("issue", c->issue_url);
	crash_show_field("note", c->note);
	for (size_t i = 0; c->n_by > 1 && i < c->n_by; i++)
		print_entry(s, l, c, c->by[i]);
}

/* --- its report ----------------------------------------------------------- */

/* A merged crash may have no report: "". */
static int crash_show_read_report(const struct state *s, const struct known_crash *c, char **ret,
				  size_t *ret_n)
{
	struct err e;
	int r =
	    vault_read(s->dirfd, slice_of(c->signature), c->fuzzer, VAULT_REPORT, ret, ret_n, &e);

	if (r == -ENOENT) {
		*ret = NULL;
		*ret_n = 0;
		return EXIT_DONE;
	}
	return r < 0 ? fail(EXIT_MACHINE, "%s", e.msg) : EXIT_DONE;
}

/* build: named in the heading; "": the crash has one entry. */
static void crash_show_print_report(const struct show_args *a, const struct known_crash *of,
				    const char *build, struct slice text)
{
	struct crash_report report;
	char line[CRASH_LINE];

	parsed_read(a->session.state->dirfd, of->signature, of->fuzzer, text, &report);
	printf("\nreport%s%s ('>': frames of the application)\n", *build ? " of " : "",
	       crash_line(build, line));
	crash_print_marked(text, &report);
	crash_report_done(&report);
}

/* The entry with the report of another build of the target of `of`: the *io-th entry of the crash
 * or a later one.  A build with a signature of its own has its report in the merged record.  NULL:
 * there is no other. */
static const struct known_crash *crash_show_next_build(const struct ledger *l,
						       const struct known_crash *c,
						       const struct known_crash *of, size_t *io)
{
	while (*io < c->n_by) {
		const struct known_crash *t = c->by[(*io)++];

		if (strcmp(t->fuzzer, of->fuzzer) == 0 || !ledger_same_target(t, of))
			continue;
		for (size_t k = 0; !*t->crash_file && k < c->aliases.n; k++) {
			const struct known_crash *own =
			    ledger_entry(ledger_record(l, c->aliases.v[k]), t->fuzzer);

			t = own ? own : t;
		}
		return t;
	}
	return NULL;
}

static int crash_show_print_builds(const struct show_args *a, const struct ledger *l,
				   const struct known_crash *c, const struct known_crash *of)
{
	const struct known_crash *t;
	size_t at = 0;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && (t = crash_show_next_build(l, c, of, &at))) {
		_autofree_ char *text = NULL;
		size_t n;

		r = crash_show_read_report(a->session.state, t, &text, &n);
		if (r == EXIT_DONE && n > 0)
			crash_show_print_report(a, t, t->fuzzer, (struct slice){text, n});
	}
	return r;
}

static int crash_show_print_text(const struct show_args *a, const struct ledger *l,
				 const struct known_crash *c, const struct known_crash *of)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r;

	print_facts(a->session.state, l, c);
	r = crash_show_read_report(a->session.state, of, &text, &n);
	if (r == EXIT_DONE && n > 0)
		crash_show_print_report(a, of, c->n_by > 1 ? of->fuzzer : "",
					(struct slice){text, n});
	return r == EXIT_DONE && !a->target ? crash_show_print_builds(a, l, c, of) : r;
}

static json_t *crash_show_report_json(const struct state *s, const struct known_crash *of,
				      struct slice text)
{
	struct crash_report report;
	json_t *j;

	parsed_read(s->dirfd, of->signature, of->fuzzer, text, &report);
	j = crash_report_json(&report);
	crash_report_done(&report);
	return j;
}

/* The reports of the other builds: [{"target", "report"}]. */
static json_t *crash_show_builds_json(const struct show_args *a, const struct ledger *l,
				      const struct known_crash *c, const struct known_crash *of)
{
	json_t *all = json_array();
	const struct known_crash *t;

	for (size_t at = 0; !a->target && (t = crash_show_next_build(l, c, of, &at));) {
		_autofree_ char *text = NULL;
		size_t n;

		if (crash_show_read_report(a->session.state, t, &text, &n) == EXIT_DONE && n > 0)
			(void)json_array_append_new(
			    all, json_pack("{s:s, s:o}", "target", t->fuzzer, "report",
					   crash_show_report_json(a->session.state, t,
								  (struct slice){text, n})));
	}
	return all;
}

/* Lists the reason for each input that cannot be run. */
static json_t *unusable_json(const struct state *s, const struct known_crash *c)
{
	json_t *all = json_array();
	char line[CRASH_LINE]; /* a truncated text may be invalid UTF-8 */
	struct err e;

	for (size_t k = 0; k < c->n_by * LEDGER_INPUT_COUNT; k++) {
		const struct known_crash *t = c->by[k / LEDGER_INPUT_COUNT];
		enum ledger_input i = k % LEDGER_INPUT_COUNT;

		if (*ledger_input_path(t, i) && ledger_input_check(s->dirfd, t, i, &e) < 0)
			(void)json_array_append_new(all, json_string(crash_line(e.msg, line)));
	}
	return all;
}

static void set_origin(json_t *one, const json_t *meta)
{
	static const char *const keys[] = {"label", "corpus", "build"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_is_string(json_object_get(meta, keys[i])))
			(void)json_object_set(one, keys[i], json_object_get(meta, keys[i]));
}

static int crash_show_print_json(const struct show_args *a, const struct ledger *l,
				 const struct known_crash *c, const struct known_crash *of)
{
	_autojson_ json_t *all = NULL, *one = NULL, *report = json_null();
	_autojson_ json_t *meta = origin_of(a->session.state, of);
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;
	int r = crash_show_read_report(a->session.state, of, &text, &n);

	if (r != EXIT_DONE)
		return r;
	r = crash_json_all(l, &all, &e);
	if (r == 0)
		r = crash_json_one(all, c->signature, &one, &e);
	if (r == 0 && n > 0)
		report = crash_show_report_json(a->session.state, of, (struct slice){text, n});
	if (r < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	(void)json_object_set(one, "report", report);
	(void)json_object_set_new(one, "builds", crash_show_builds_json(a, l, c, of));
	set_origin(one, meta);
	(void)json_object_set_new(one, "unusable", unusable_json(a->session.state, c));
	return answer_print(one);
}

static int crash_show_show(struct show_args *a, const char *name)
{
	const struct known_crash *c = NULL, *of = NULL;
	struct ledger *l = NULL;
	char line[CRASH_LINE];
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_read(&a->session);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &l);
	if (r == EXIT_DONE)
		r = crash_find(l, name, &c);
	if (r == EXIT_DONE)
		of = a->target ? ledger_entry(c, a->target) : c->by[c->lead];
	if (r == EXIT_DONE && !of)
		r = fail(EXIT_USAGE, "crash %s: target '%s' did not find it",
			 crash_line(c->signature, line), a->target);
	if (r == EXIT_DONE && of)
		r = a->json ? crash_show_print_json(a, l, c, of)
			    : crash_show_print_text(a, l, c, of);
	ledger_free(l);
	return r;
}

int command_crash_show(int argc, char **argv)
{
	struct show_args a = {0};
	int at = options_parse(argc, argv, "crash show [OPTION]... CRASH", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash show: give one crash (fuzzcell crash list)");
	r = crash_show_show(&a, argv[at]);
	session_close(&a.session);
	return r;
}
