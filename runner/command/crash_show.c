/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/command/crash.h"
#include "runner/command/crash_json.h"
#include "runner/crash/ledger_fix.h"
#include "runner/crash/ledger_input.h"
#include "runner/crash/odds.h"
#include "runner/crash/report_json.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RUNS_SHOWN = 5, ARTIFACTS_SHOWN = 5 };

struct show_args {
	struct session session;
	bool json;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS,
    {"json", NULL, "print JSON"},
};

static bool take(void *arg, const char *name, const char *value)
{
	struct show_args *a = arg;

	if (strcmp(name, "json") != 0)
		return common_take(&a->session.common, name, value);
	a->json = true;
	return true;
}

/* --- what the ledger knows ------------------------------------------------ */

static void field(const char *name, const char *text)
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
		field(i ? "" : name, l->v[i]);
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

/* What cannot be run is named as that: it may be anybody's file. */
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

/* How often a part of the crash has passed so far, in each target that is asked. */
static void print_passes(const struct known_crash *c, const struct known_crash *part)
{
	const char *commit = part->reproduction.clean_commit, *target;
	char name[CRASH_LINE];

	for (size_t at = 0; (target = ledger_next_asked(c, part, &at));) {
		printf("  %-13s so far %llu", "",
		       (unsigned long long)ledger_passes(part, target, commit, false));
		if (*part->minimized)
			printf(" and %llu",
			       (unsigned long long)ledger_passes(part, target, commit, true));
		printf(" in %s\n", crash_line(target, name));
	}
}

/* The first line has the field's name; others are of what is merged into it. */
static void print_part(const struct known_crash *c, const struct known_crash *part, bool first)
{
	unsigned need = odds_passes(part->reproduction.tries, part->reproduction.hits);
	char of[CRASH_LINE], whose[CRASH_LINE + 40] = "";

	if (part != c)
		snprintf(whose, sizeof(whose), " of %s, merged into it,",
			 crash_line(part->signature, of));
	if (need == 0) {
		printf("  %-13s no number of passes%s tells: when a person says so\n",
		       first ? "fixed when" : "", whose);
		return;
	}
	printf("  %-13s each %sinput%s passes %u times on a new build\n",
	       first ? "fixed when" : "and", part == c ? "of its " : "", part == c ? "s" : whose,
	       need);
	print_passes(c, part);
}

static void print_rate(const struct known_crash *c)
{
	uint64_t tries = c->reproduction.tries, hits = c->reproduction.hits;

	if (tries)
		printf("  %-13s %llu of %llu tries: %s\n", "reproduces", (unsigned long long)hits,
		       (unsigned long long)tries, odds_verdict_name(odds_reproduce(tries, hits)));
}

static void print_fix(const struct ledger *l, const struct known_crash *c)
{
	const struct known_crash *part;
	bool first = true;

	if (!ledger_state_open(c->state) || *c->merged_into)
		return;
	for (size_t at = 0; (part = ledger_next_part(l, c, &at)); first = false)
		print_part(c, part, first);
}

static void print_counts(const struct known_crash *c)
{
	size_t from = c->n_runs > RUNS_SHOWN ? c->n_runs - RUNS_SHOWN : 0;
	char run[CRASH_LINE];

	printf("  %-13s %llu times", "seen", (unsigned long long)c->count);
	for (size_t i = from; i < c->n_runs; i++)
		printf("%s%llu in %s", i == from ? "; lately " : ", ",
		       (unsigned long long)c->runs[i].count, crash_line(c->runs[i].run, run));
	putchar('\n');
}

static void print_facts(const struct state *s, const struct ledger *l, const struct known_crash *c)
{
	const struct known_crash *is = ledger_find(l, c->signature);
	char sig[CRASH_LINE], target[CRASH_LINE], severity[64];

	printf("crash %s of %s\n", crash_line(c->signature, sig), crash_line(c->fuzzer, target));
	if (c->unsymbolized)
		field("named", "by offsets, as its report has no names: for that build only");
	if (is && is != c)
		field("merged into", is->signature);
	field("what", c->crash_type);
	list_field("where", &c->crash_state, LEDGER_STATE_LINES);
	printf("  %-13s %s%s\n", "state", ledger_state_name(c->state),
	       ledger_state_open(c->state) ? " (open)" : "");
	snprintf(severity, sizeof(severity), "%.30s%s", *c->severity ? c->severity : "unknown",
		 c->security ? ", security-relevant" : "");
	field("severity", severity);
	field("signal", c->signal);
	seen_field("first seen", &c->first_seen);
	seen_field("last seen", &c->last_seen);
	seen_field("fixed", &c->fixed);
	print_counts(c);
	print_rate(c);
	print_fix(l, c);
	for (enum ledger_input i = 0; i < LEDGER_INPUT_; i++)
		input_field(s, c, i);
	list_field("also found by", &c->targets, LEDGER_TARGETS);
	list_field("aliases", &c->aliases, ARTIFACTS_SHOWN);
	field("likely same as", c->similar);
	field("issue", c->issue_url);
	field("note", c->note);
	list_field("artifacts", &c->artifacts, ARTIFACTS_SHOWN);
}

/* --- its report ----------------------------------------------------------- */

/* A crash of an older ledger, or one that was merged, may have none: "". */
static int read_report(const struct state *s, const struct known_crash *c, char **ret,
		       size_t *ret_n)
{
	struct err e;
	int r = vault_read(s->dirfd, slice_of(c->signature), VAULT_REPORT, ret, ret_n, &e);

	if (r == -ENOENT) {
		*ret = NULL;
		*ret_n = 0;
		return EXIT_DONE;
	}
	return r < 0 ? fail(EXIT_MACHINE, "%s", e.msg) : EXIT_DONE;
}

static int print_text(const struct show_args *a, const struct ledger *l,
		      const struct known_crash *c)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r;

	print_facts(a->session.state, l, c);
	r = read_report(a->session.state, c, &text, &n);
	if (r != EXIT_DONE || n == 0)
		return r;
	printf("\nreport ('>': frames of the application)\n");
	return crash_print_marked((struct slice){text, n}, c->fuzzer);
}

static int report_json(const char *text, size_t n, const char *target, json_t **ret, struct err *e)
{
	struct crash_options o = {.target = target};
	struct crash_report report;
	int r = crash_parse((struct slice){text, n}, &o, &report, e);

	if (r == 0) {
		r = crash_report_json(&report, ret, e);
		crash_report_done(&report);
	}
	return r;
}

/* Why each input that cannot be run cannot. */
static json_t *unusable_json(const struct state *s, const struct known_crash *c)
{
	json_t *all = json_array();
	char line[CRASH_LINE]; /* a cut text need not be UTF-8 */
	struct err e;

	for (enum ledger_input i = 0; all && i < LEDGER_INPUT_; i++)
		if (*ledger_input_path(c, i) && ledger_input_check(s->dirfd, c, i, &e) < 0 &&
		    json_array_append_new(all, json_string(crash_line(e.msg, line))) < 0) {
			json_decref(all);
			return NULL;
		}
	return all;
}

static int print_json(const struct show_args *a, const struct ledger *l,
		      const struct known_crash *c)
{
	_autojson_ json_t *all = NULL, *one = NULL, *report = json_null();
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;
	int r = read_report(a->session.state, c, &text, &n);

	if (r != EXIT_DONE)
		return r;
	r = crash_json_all(l, &all, &e);
	if (r == 0)
		r = crash_json_one(all, c->signature, &one, &e);
	if (r == 0 && n > 0)
		r = report_json(text, n, c->fuzzer, &report, &e);
	if (r == 0 &&
	    (json_object_set(one, "report", report) < 0 ||
	     json_object_set_new(one, "unusable", unusable_json(a->session.state, c)) < 0))
		r = err_set(&e, ENOMEM, "build JSON");
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : crash_json_print(one);
}

static int show(struct show_args *a, const char *name)
{
	const struct known_crash *c = NULL;
	struct ledger *l = NULL;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_read(&a->session);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &l);
	if (r == EXIT_DONE)
		r = crash_find(l, name, &c);
	if (r == EXIT_DONE)
		r = a->json ? print_json(a, l, c) : print_text(a, l, c);
	ledger_free(l);
	return r;
}

int command_crash_show(int argc, char **argv)
{
	struct show_args a = {0};
	int at = options_parse(argc, argv, "crash show [OPTION]... CRASH", specs,
			       sizeof(specs) / sizeof(specs[0]), take, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash show: give one crash (fuzzcell crash list)");
	r = show(&a, argv[at]);
	session_close(&a.session);
	return r;
}
