/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands. */
#include "runner/command/command.h"
#include "runner/command/common/answer.h"
#include "runner/targets/names.h"

#include <stdio.h>
#include <string.h>

const struct command commands[] = {
    {"run", "[OPTION]...", "fuzz every target, each in its own cell", command_run},
    {"build", "[OPTION]...", "build the targets, as a run does first", command_build},
    {"list", "[OPTION]...", "list the targets, with warnings", command_list},
    {"plan", "--shards N [OPTION]...", "divide the targets among machines", command_plan},
    {"collect", "[OPTION]... DELTA...", "bring together what shards found", command_collect},
    {"slurm", "submit | status | cancel", "rounds of shards as jobs of Slurm", command_slurm},
    {"config", "check | show TARGET | state",
     "check the configuration, show a target's values, or where state is", command_config},
    {"corpus", "SUBCOMMAND [OPTION]...", "show, merge, import and export corpora", command_corpus},
    {"coverage", "[OPTION]... TARGET... | --all", "show line by line what the corpora reach",
     command_coverage},
    {"crash", "SUBCOMMAND [OPTION]...", "show, reproduce and manage crashes", command_crash},
    {"regress", "[OPTION]...", "run known inputs without fuzzing", command_regress},
    {"ci", "[OPTION]...", "judge a change: what it breaks, what it fixes", command_ci},
    {"status", "[TARGET]", "show the active run and its targets", command_status},
    {"stop", "[TARGET]", "stop the active run, or one of its targets", command_stop},
    {"start", "TARGET", "fuzz a stopped target again, next", command_start},
    {"skip", "TARGET", "end a target's turn", command_skip},
    {"workers", "N", "set the number of cells at once", command_workers},
    {"history", "[TARGET] [OPTION]...", "show past runs, or those of a target", command_history},
    {"report", "RUN [OPTION]...", "report on a run (\"last\": the newest), as Markdown",
     command_report},
    {"trigger", "[OPTION]...", "start runs for pushed commits", command_trigger},
    {"outbox", "list | retry | drop", "list, retry or drop queued notifications", command_outbox},
    {"serve", "[OPTION]...", "serve the dashboard, its data and metrics over HTTP", command_serve},
    {"doctor", "[OPTION]... [TARGET]...", "report problems of machine, service, targets",
     command_doctor},
    {"version", "[OPTION]...", "print the version", command_version},
    {"help", "[COMMAND]", "this text, or the options of a command", command_help},
};
const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

const char *command_hint(const char *word, const struct command *v, size_t n, char out[64])
{
	const char *names[32], *near = NULL;

	for (size_t i = 0; i < n && i < 32; i++)
		names[i] = v[i].name;
	if (word[0] && word[1])
		near = names_near(slice_of(word), names, n < 32 ? n : 32);
	*out = '\0';
	if (near)
		snprintf(out, 64, "; did you mean '%.40s'?", near);
	return out;
}

int command_pick(int argc, char **argv, const struct command *v, size_t n, int (*help)(void))
{
	char hint[64];

	if (argc < 2)
		return fail(EXIT_USAGE, "%s: no subcommand (try: fuzzcell %s --help)", argv[0],
			    argv[0]);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help();
	for (size_t i = 0; i < n; i++)
		if (strcmp(argv[1], v[i].name) == 0)
			return v[i].run(argc - 1, argv + 1);
	return fail(EXIT_USAGE, "%s: unknown subcommand '%s'%s (try: fuzzcell %s --help)", argv[0],
		    argv[1], command_hint(argv[1], v, n, hint), argv[0]);
}

bool command_prints(const char *name, const char *next)
{
	static const char *const those[][2] = {
	    {"list"},		{"config"},	    {"status"},		 {"history"},
	    {"report"},		{"doctor"},	    {"version"},	 {"help"},
	    {"--version"},	{"--help"},	    {"crash", "list"},	 {"crash", "show"},
	    {"crash", "parse"}, {"crash", "issue"}, {"corpus", "stats"}, {"outbox", "list"}};

	if (next && (strcmp(next, "--help") == 0 || strcmp(next, "-h") == 0))
		return true;
	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (strcmp(name, those[i][0]) == 0 &&
		    (!those[i][1] || (next && strcmp(next, those[i][1]) == 0)))
			return true;
	return false;
}

int command_version(int argc, char **argv)
{
	static const struct option_spec specs[] = {{"json", NULL, "print JSON", OPTION_FLAG, 0}};
	_autojson_ json_t *j = NULL;
	bool json = false;
	int at = options_parse(argc, argv, "version [OPTION]...", specs, 1, NULL, &json);

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "version: unexpected '%s'", argv[at]);
	if (!json) {
		printf("fuzzcell %s\n", FUZZCELL_VERSION);
		return EXIT_DONE;
	}
	j = json_pack("{s:s, s:s}", "name", "fuzzcell", "version", FUZZCELL_VERSION);
	return answer_print(j);
}

int command_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("usage: fuzzcell COMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < n_commands; i++)
		printf("  %-8s %-22s %s\n", commands[i].name, commands[i].args, commands[i].help);
	return EXIT_DONE;
}
