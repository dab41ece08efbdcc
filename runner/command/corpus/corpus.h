/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_CORPUS_H
#define RUNNER_COMMAND_CORPUS_CORPUS_H

#include "runner/command/command.h"

/* The subcommands of `fuzzcell corpus`, one file each. argv[0] is the subcommand's name. */
int corpus_stats(int argc, char **argv);
int corpus_minimize(int argc, char **argv);
int corpus_intree(int argc, char **argv);
int corpus_import(int argc, char **argv);
int corpus_export(int argc, char **argv);
int corpus_verify(int argc, char **argv);

#endif
