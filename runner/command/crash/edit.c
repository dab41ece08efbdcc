/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of a user: ignore, unignore, merge, split. */
#include "base/cleanup.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"
#include "runner/publish/notify.h"

#include <stdio.h>
#include <string.h>

struct edit_args {
	struct session session;
	const char *note, *target;
	const char *name[2]; /* as typed */
	bool json;
	const struct known_crash *crash[2];
};

#define AT(member) OPTION_AT(struct edit_args, member)
static const struct option_spec plain_specs[] = {STATE_OPTIONS(struct edit_args, session.common),
						 {"json", NULL, "print JSON", AT(json)}};
static const struct option_spec note_specs[] = {
    STATE_OPTIONS(struct edit_args, session.common),
    {"note", "TEXT", "why; kept with the crash", AT(note)},
    {"target", "NAME", "only in this target (default: in all that found it so far)", AT(target)},
    {"json", NULL, "print JSON", AT(json)},
};

/* One of the four commands. */
struct edit {
	const char *name, *usage;
	const struct option_spec *specs;
	size_t n_specs;
	int n_crashes;
	int (*change)(struct ledger *l, const struct edit_args *a, struct err *e);
	bool over_labels; /* overrides the labels seen on the issue so far */
};

static int find_all(const struct edit *what, struct edit_args *a, const struct ledger *l)
{
	int r = EXIT_DONE;

	for (int i = 0; r == EXIT_DONE && i < what->n_crashes; i++)
		r = crash_find(l, a->name[i], &a->crash[i]);
	return r;
}

/* Prints the new state of the crash. */
static void crash_edit_print(const struct ledger *l, const struct known_crash *c)
{
	const struct known_crash *is = ledger_find(l, c->signature);
	char line[CRASH_LINE], into[CRASH_LINE];

	if (!is || is == c)
		printf("crash %s: %s\n", crash_line(c->signature, line),
		       ledger_state_name(c->state));
	else
		printf("crash %s: merged into %s (%s)\n", crash_line(c->signature, line),
		       crash_line(is->signature, into), ledger_state_name(is->state));
	for (size_t i = 0; is && is->n_by > 1 && i < is->n_by; i++)
		printf("  %s in %s\n", ledger_state_name(is->by[i]->state),
		       crash_line(is->by[i]->fuzzer, line));
}

static int crash_edit_record(const struct ledger *l, const struct known_crash *c, json_t **ret)
{
	_autojson_ json_t *all = NULL;
	struct err e;

	if (crash_json_all(l, &all, &e) < 0 || crash_json_one(all, c->signature, ret, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	return EXIT_DONE;
}

static int change(const struct edit *what, struct edit_args *a, json_t **ret)
{
	struct ledger *l = NULL;
	struct err e;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_lock(&a->session);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &l);
	if (r == EXIT_DONE)
		r = find_all(what, a, l);
	if (r == EXIT_DONE && what->change(l, a, &e) < 0)
		r = fail(EXIT_USAGE, "crash %s: %s", what->name, e.msg);
	if (r == EXIT_DONE && what->over_labels &&
	    notify_unignored(a->session.state, l, a->crash[0]->signature, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	if (r == EXIT_DONE && ledger_save(l, a->session.state->dirfd, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	if (r == EXIT_DONE)
		crash_edit_print(l, a->crash[0]);
	if (r == EXIT_DONE && a->json)
		r = crash_edit_record(l, a->crash[0], ret);
	ledger_free(l);
	return r;
}

static int edit(const struct edit *what, int argc, char **argv)
{
	struct edit_args a = {0};
	int at = options_parse(argc, argv, what->usage, what->specs, what->n_specs, NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (argc - at != what->n_crashes)
		return fail(EXIT_USAGE, "usage: fuzzcell %s", what->usage);
	for (int i = 0; i < what->n_crashes; i++)
		a.name[i] = argv[at + i];
	begun = answer_begin(a.json);
	r = change(what, &a, &j);
	session_close(&a.session);
	return answer_end(begun, j, r);
}

static int ignore(struct ledger *l, const struct edit_args *a, struct err *e)
{
	return ledger_ignore(l, a->crash[0]->signature, a->target, SIZE_MAX, a->note, e);
}

static int unignore(struct ledger *l, const struct edit_args *a, struct err *e)
{
	return ledger_unignore(l, a->crash[0]->signature, a->target, a->note, e);
}

static int crash_edit_merge(struct ledger *l, const struct edit_args *a, struct err *e)
{
	return ledger_merge(l, a->crash[0]->signature, a->crash[1]->signature, e);
}

static int crash_edit_split(struct ledger *l, const struct edit_args *a, struct err *e)
{
	return ledger_split(l, a->crash[0]->signature, e);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int command_crash_ignore(int argc, char **argv)
{
	static const struct edit what = {
	    "ignore", "crash ignore [OPTION]... CRASH", note_specs, COUNT(note_specs), 1, ignore,
	    false};

	return edit(&what, argc, argv);
}

int command_crash_unignore(int argc, char **argv)
{
	static const struct edit what = {"unignore", "crash unignore [OPTION]... CRASH",
					 note_specs, COUNT(note_specs),
					 1,	     unignore,
					 true};

	return edit(&what, argc, argv);
}

int command_crash_merge(int argc, char **argv)
{
	static const struct edit what = {"merge",     "crash merge [OPTION]... CRASH INTO",
					 plain_specs, COUNT(plain_specs),
					 2,	      crash_edit_merge,
					 false};

	return edit(&what, argc, argv);
}

int command_crash_split(int argc, char **argv)
{
	static const struct edit what = {"split",     "crash split [OPTION]... CRASH",
					 plain_specs, COUNT(plain_specs),
					 1,	      crash_edit_split,
					 false};

	return edit(&what, argc, argv);
}
