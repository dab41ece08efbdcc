/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_CRASH_H
#define RUNNER_COMMAND_CRASH_CRASH_H

#include "base/json.h"
#include "runner/command/common/session.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/report/report.h"

/* The subcommands of `fuzzcell crash`; argv[0] is the subcommand's name. Besides the common exit
 * statuses, parse and reproduce return CRASH_NOT_THERE if there is no crash. */
int command_crash_parse(int argc, char **argv);
int command_crash_list(int argc, char **argv);
int command_crash_show(int argc, char **argv);
int command_crash_reproduce(int argc, char **argv);
int command_crash_bisect(int argc, char **argv);
int command_crash_minimize(int argc, char **argv);
int command_crash_triage(int argc, char **argv);
int command_crash_ignore(int argc, char **argv);
int command_crash_unignore(int argc, char **argv);
int command_crash_merge(int argc, char **argv);
int command_crash_split(int argc, char **argv);
int command_crash_export(int argc, char **argv);
int command_crash_issue(int argc, char **argv);

enum { CRASH_NOT_THERE = 1 };

/* Bisects the crashes that were not searched yet, one after the other, as after a run.  c: the
 * paths that a user gave; borrowed.  time_us 0: what bisect.daily leaves today.  Prints the
 * answers, and returns an exit status. */
int crash_bisect_pending(const struct common *c, uint64_t time_us);

/* Shared by the subcommands. Functions that return an exit status have printed the error. */

/* Loads the state's ledger. Problems of its file are printed on stderr. */
int crash_ledger(const struct state *s, struct ledger **ret);
/* Finds the crash that a user names: by its signature, an alias, or a unique prefix of a signature.
 * A crash that was merged into another is found as its own record; ledger_find() returns the other
 * one. -ENOENT: there is none. -ENOTUNIQ: several match; the error text names them. */
MUST_CHECK int crash_pick(const struct ledger *l, const char *text, const struct known_crash **ret,
			  struct err *e);
/* Like crash_pick(), but prints the error. */
int crash_find(const struct ledger *l, const char *text, const struct known_crash **ret);

/* An input to run, and the known facts about it. Starts as {0}. */
struct crash_subject {
	struct ledger *ledger;
	const struct known_crash *crash; /* NULL: the input is only a file */
	const struct known_crash *entry; /* the entry that gives the inputs and the report */
	char *path;			 /* of the input, absolute */
	const char *target;		 /* its name */
};
/* text: a crash's name, or the path of a file. target NULL: the target of the crash, else that of
 * the file's directory, else the only target. Loads the configuration and makes the plan of this
 * one target. Opens the state for reading, and closes it. */
int crash_subject(struct session *s, const char *text, const char *target, bool original,
		  struct crash_subject *ret);
/* The same for a crash, without finding the target: it may be there no more. ret->path and the plan
 * are not set. */
int crash_subject_known(struct session *s, const char *text, const char *target,
			struct crash_subject *ret);
void crash_subject_done(struct crash_subject *c);

/* --- json --- */
/* Crashes as in known_crashes.json, including unknown keys, and with their name as "signature". */

/* The whole ledger: signature -> crash. */
MUST_CHECK int crash_json_all(const struct ledger *l, json_t **ret, struct err *e);
/* *ret is a new object. -ENOENT: all has no such crash. */
MUST_CHECK int crash_json_one(const json_t *all, const char *signature, json_t **ret,
			      struct err *e);

/* --- text --- */
/* Replaces newlines by blanks, and escapes terminal control characters. */
enum { CRASH_LINE = 1024 };
const char *crash_line(const char *text, char out[CRASH_LINE]);
/* Formats like "2026-11-21 19:43:07 UTC"; "" for 0. */
const char *crash_time(uint64_t seconds, char out[32]);
/* Prints the kind and type ("asan: Heap-use-after-free READ 4 ..."), the state and the frames. */
void crash_print_report(const struct crash_report *r);
/* Finds the lines of a report that are frames of the application. Pass the lines in order; each
 * frame of r is found once, in its order. Starts as {r}. */
struct crash_mark {
	const struct crash_report *r;
	size_t next; /* the first frame not found so far */
};
bool crash_mark_line(struct crash_mark *m, struct slice line);
/* Prints the text of a report, with '>' before the frames of r, the application's. */
void crash_print_marked(struct slice text, const struct crash_report *r);

#endif
