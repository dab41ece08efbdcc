/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/crash/crash.h"

#include "base/escape.h"
#include "runner/command/crash/pick.h"

#include <stdio.h>
#include <string.h>

static const struct command subcommands[] = {
    {"parse", "FILE", "print the crash in a report (-: standard input)", command_crash_parse},
    {"list", "", "list the known crashes", command_crash_list},
    {"show", "CRASH", "show all facts about a crash, and its report", command_crash_show},
    {"reproduce", "CRASH|FILE", "run its input in a cell, or print the command",
     command_crash_reproduce},
    {"minimize", "CRASH", "minimise its input", command_crash_minimize},
    {"triage", "", "triage the artifacts that wait", command_crash_triage},
    {"ignore", "CRASH", "stop counting it", command_crash_ignore},
    {"unignore", "CRASH", "count it again", command_crash_unignore},
    {"merge", "CRASH INTO", "merge one crash into another", command_crash_merge},
    {"split", "CRASH", "undo the merge of a crash", command_crash_split},
    {"export", "CRASH", "write an archive that reproduces it anywhere", command_crash_export},
    {"issue", "CRASH", "print the text of its issue, without filing it", command_crash_issue},
};
enum { N = sizeof(subcommands) / sizeof(subcommands[0]) };

static int crash_help(void)
{
	printf("usage: fuzzcell crash SUBCOMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < N; i++)
		printf("  %-10s %-11s %s\n", subcommands[i].name, subcommands[i].args,
		       subcommands[i].help);
	printf("\nA CRASH is a signature, or a prefix that no other signature has.\n"
	       "fuzzcell crash SUBCOMMAND --help has the options; docs/crashes.md has examples\n");
	return EXIT_DONE;
}

int command_crash(int argc, char **argv)
{
	return command_pick(argc, argv, subcommands, N, crash_help);
}

int crash_ledger(const struct state *s, struct ledger **ret)
{
	char shown[ESCAPE_MAX];
	struct err e;

	if (ledger_load(s->dirfd, ret, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (*ledger_warning(*ret))
		fprintf(stderr, "warning: %s\n", escape(ledger_warning(*ret), shown));
	return EXIT_DONE;
}

int crash_find(const struct ledger *l, const char *text, const struct known_crash **ret)
{
	struct err e;

	return crash_pick(l, text, ret, &e) < 0 ? fail(EXIT_USAGE, "%s", e.msg) : EXIT_DONE;
}
