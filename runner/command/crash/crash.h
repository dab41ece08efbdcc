/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_CRASH_H
#define RUNNER_COMMAND_CRASH_CRASH_H

#include "base/json.h"
#include "runner/command/common/session.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/report/report.h"

/* The subcommands of `fuzzcell crash`, command/crash_*.c; argv[0] is the subcommand's
 * name.  Beyond the common exit statuses: parse and reproduce end with
 * CRASH_NOT_THERE when there is no crash. */
int command_crash_parse(int argc, char **argv);
int command_crash_list(int argc, char **argv);
int command_crash_show(int argc, char **argv);
int command_crash_reproduce(int argc, char **argv);
int command_crash_minimize(int argc, char **argv);
int command_crash_triage(int argc, char **argv);
int command_crash_ignore(int argc, char **argv);
int command_crash_unignore(int argc, char **argv);
int command_crash_merge(int argc, char **argv);
int command_crash_split(int argc, char **argv);
int command_crash_export(int argc, char **argv);
int command_crash_issue(int argc, char **argv);

enum { CRASH_NOT_THERE = 1 };

/* Shared by them.  Functions that return an exit status have printed what is wrong. */

/* The state's ledger; what is wrong with its file is said on stderr. */
int crash_ledger(const struct state *s, struct ledger **ret);
/* crash_pick() */
int crash_find(const struct ledger *l, const char *text, const struct known_crash **ret);

/* An input to run, and what is known of it.  Starts as {0}. */
struct crash_subject {
	struct ledger *ledger;
	const struct known_crash *crash; /* NULL: just a file */
	const struct known_crash *entry; /* the entry that gives the inputs and the report */
	char *path;			 /* of the input, absolute */
	const char *target;		 /* its name */
};
/* text: a crash's name, or the path of a file; target NULL: that of the crash, or the one
 * whose directory the file is in, or the only one there is.  Loads the configuration and makes
 * the plan of this one target.  The state is only read, and closed again. */
int crash_subject(struct session *s, const char *text, const char *target, bool original,
		  struct crash_subject *ret);
void crash_subject_done(struct crash_subject *c);

/* --- text --- */
/* Newlines become blanks, what a terminal would act upon becomes visible. */
enum { CRASH_LINE = 1024 };
const char *crash_line(const char *text, char out[CRASH_LINE]);
/* "2026-11-21 19:43:07 UTC"; "" for 0 */
const char *crash_time(uint64_t seconds, char out[32]);
/* "asan: Heap-use-after-free READ 4 ...", state, frames */
void crash_print_report(const struct crash_report *r);
/* The text of a report, the application's frames marked with '>'. */
int crash_print_marked(struct slice text, const char *target);

#endif
