/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/corpus/corpus.h"

#include <stdio.h>
#include <string.h>

static const struct command subcommands[] = {
    {"stats", "[OPTION]...", "show each target's corpus and its history", corpus_stats},
    {"minimize", "[OPTION]...", "make the corpora smaller without losing coverage",
     corpus_minimize},
    {"update-intree", "[OPTION]...", "put the corpora into the repository's directories",
     corpus_intree},
    {"import", "[OPTION]... PATH...", "add files, directories or archives to corpora",
     corpus_import},
    {"export", "[OPTION]... -o PATH", "write the corpora into an archive or a directory",
     corpus_export},
    {"verify", "[OPTION]...", "check every input against its name, and find leftovers",
     corpus_verify},
};
enum { N = sizeof(subcommands) / sizeof(subcommands[0]) };

static int corpus_help(void)
{
	printf("usage: fuzzcell corpus SUBCOMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < N; i++)
		printf("  %-13s %s\n", subcommands[i].name, subcommands[i].help);
	printf("\nfuzzcell corpus SUBCOMMAND --help has the options\n");
	return EXIT_DONE;
}

int command_corpus(int argc, char **argv)
{
	return command_pick(argc, argv, subcommands, N, corpus_help);
}
