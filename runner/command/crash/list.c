/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"
#include "runner/status/color.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list_args {
	struct session session;
	const char *state;
	bool json;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct list_args, session.common),
    {"state", "STATE", "only this state: new, known, fixed, regressed, flaky, ignored, or open",
     OPTION_TAKE},
    {"filter", "GLOB", "only crashes of targets with a matching name",
     OPTION_AT(struct list_args, session.common.filter)},
    {"json", NULL, "print JSON", OPTION_AT(struct list_args, json)},
    COLOR_OPTION,
};

static bool is_state(const char *name)
{
	for (enum ledger_state s = 0; s < LEDGER_STATE_COUNT; s++)
		if (strcmp(name, ledger_state_name(s)) == 0)
			return true;
	return strcmp(name, "open") == 0;
}

static bool crash_list_take(void *arg, const char *name, const char *value)
{
	struct list_args *a = arg;

	(void)name; /* --state */
	a->state = value;
	if (is_state(value))
		return true;
	(void)fail(EXIT_USAGE, "crash list: no state is called '%s' (try --help)", value);
	return false;
}

static bool of_state(const struct known_crash *c, const char *state)
{
	if (!state)
		return true;
	if (strcmp(state, "open") == 0)
		return ledger_state_open(c->state);
	return strcmp(state, ledger_state_name(c->state)) == 0;
}

static bool crash_list_of_target(const struct known_crash *c, const char *glob)
{
	bool yes = !glob || fnmatch(glob, c->fuzzer, 0) == 0;

	for (size_t i = 0; !yes && i < c->targets.n; i++)
		yes = fnmatch(glob, c->targets.v[i], 0) == 0;
	return yes;
}

/* Crashes that need action come first. */
static int crash_list_rank(enum ledger_state s)
{
	static const int ranks[] = {
	    [LEDGER_REGRESSED] = 0, [LEDGER_NEW] = 1,	[LEDGER_KNOWN] = 2,
	    [LEDGER_FLAKY] = 3,	    [LEDGER_FIXED] = 4, [LEDGER_IGNORED] = 5,
	};

	_Static_assert(sizeof(ranks) / sizeof(ranks[0]) == LEDGER_STATE_COUNT, "rank every state");
	return s < LEDGER_STATE_COUNT ? ranks[s] : LEDGER_STATE_COUNT;
}

static int crash_list_by_need(const void *a, const void *b)
{
	const struct known_crash *x = *(const struct known_crash *const *)a;
	const struct known_crash *y = *(const struct known_crash *const *)b;

	if (crash_list_rank(x->state) != crash_list_rank(y->state))
		return crash_list_rank(x->state) - crash_list_rank(y->state);
	if (x->last_seen.time != y->last_seen.time)
		return x->last_seen.time > y->last_seen.time ? -1 : 1;
	return strcmp(x->signature, y->signature);
}

/* The width that the target's name leaves of 24 columns. */
static int left_of(const char *target)
{
	size_t n = strlen(target);

	return n < 24 ? (int)(24 - n) : 0;
}

static void crash_list_print_text(const struct known_crash *const *v, size_t n)
{
	if (n == 0) {
		printf("no crash\n");
		return;
	}
	printf("%-16s  %-9s  %-8s  %8s  %-7s  %-23s  %-24s  %s\n", "crash", "state", "severity",
	       "count", "rate", "last seen", "target", "what");
	for (size_t i = 0; i < n; i++) {
		const struct known_crash *c = v[i];
		char sig[CRASH_LINE], name[CRASH_LINE], what[CRASH_LINE], where[CRASH_LINE];
		const char *state = ledger_state_name(c->state);
		const char *target = crash_line(c->fuzzer, name);
		char seen[32], rate[48] = "-", severity[32], more[32] = "", variants[40] = "";

		if (c->aliases.n > 0)
			snprintf(variants, sizeof(variants), " (%zu variants)", c->aliases.n + 1);
		if (c->n_by > 1)
			snprintf(more, sizeof(more), " +%zu", c->n_by - 1);
		if (c->reproduction.tries)
			snprintf(rate, sizeof(rate), "%llu/%llu",
				 (unsigned long long)c->reproduction.hits,
				 (unsigned long long)c->reproduction.tries);
		snprintf(severity, sizeof(severity), "%.20s%s", *c->severity ? c->severity : "-",
			 c->security ? "!" : "");
		printf("%-16s  ", crash_line(c->signature, sig));
		color_print(color_of_crash(state), state);
		printf("%*s  %-8s  %8llu  %-7s  %-23s  %s%-*s  %s%s%s%s\n",
		       (int)(9 - strlen(state)), "", severity, (unsigned long long)c->count, rate,
		       crash_time(c->last_seen.time, seen), target, left_of(target), more,
		       crash_line(c->crash_type, what), *c->top_frame ? " in " : "",
		       crash_line(c->top_frame, where), variants);
	}
}

/* Prints the number of artifacts that wait for triage. */
static void print_waiting(const struct list_args *a)
{
	const char *glob = a->session.common.filter;
	CLEANUP(closedir_p) DIR *d = sys_opendirat(a->session.state->dirfd, "triage");
	const struct dirent *ent;
	char name[CRASH_LINE], text[UNITS_OF_MAX];

	while (d && (ent = sys_readdir(d))) {
		uint64_t n = state_waiting(a->session.state, ent->d_name);

		if (n > 0 && (!glob || fnmatch(glob, ent->d_name, 0) == 0))
			printf("%s: %s for triage: fuzzcell crash triage\n",
			       crash_line(ent->d_name, name),
			       units_of(n, "artifact waits", "artifacts wait", text));
	}
}

static int crash_list_print_json(const struct ledger *l, const struct known_crash *const *v,
				 size_t n)
{
	_autojson_ json_t *all = json_array(), *records = NULL;
	struct err e;
	int r = crash_json_all(l, &records, &e);

	for (size_t i = 0; r == 0 && i < n; i++) {
		json_t *one = NULL;

		r = crash_json_one(records, v[i]->signature, &one, &e);
		if (r == 0)
			(void)json_array_append_new(all, one);
	}
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : answer_print(all);
}

static int crash_list_list(const struct list_args *a, const struct ledger *l)
{
	size_t n = 0, all = ledger_count(l);
	_autofree_ const struct known_crash **v = xcalloc(all + 1, sizeof(struct known_crash *));

	for (size_t i = 0; i < all; i++) {
		const struct known_crash *c = ledger_at(l, i);

		if (!*c->merged_into && of_state(c, a->state) &&
		    crash_list_of_target(c, a->session.common.filter))
			v[n++] = c;
	}
	if (n)
		qsort(v, n, sizeof(struct known_crash *), crash_list_by_need);
	if (a->json)
		return crash_list_print_json(l, v, n);
	crash_list_print_text(v, n);
	if (!a->state)
		print_waiting(a);
	return EXIT_DONE;
}

int command_crash_list(int argc, char **argv)
{
	struct list_args a = {0};
	struct ledger *l = NULL;
	int at = options_parse(argc, argv, "crash list [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), crash_list_take, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "crash list: unexpected '%s'", argv[at]);
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = crash_ledger(a.session.state, &l);
	if (r == EXIT_DONE)
		r = crash_list_list(&a, l);
	ledger_free(l);
	session_close(&a.session);
	return r;
}
