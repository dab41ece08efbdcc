/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMAND_H
#define RUNNER_COMMAND_COMMAND_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/config/config.h"
#include "runner/exit_code.h"
#include "runner/state/state.h"
#include "runner/targets/discover.h"

#include <getopt.h>
#include <stdbool.h>

/* Subcommands: read argv, call the rooms below, print.  No logic.  Each returns
 * the process's exit status. */
struct command {
	const char *name;
	const char *args; /* for the usage line */
	const char *help;
	int (*run)(int argc, char **argv);
};
extern const struct command commands[];
extern const size_t n_commands;
/* "; did you mean 'list'?" of n commands; "": none is near. */
const char *command_hint(const char *word, const struct command *v, size_t n, char out[64]);
/* Runs the subcommand argv[1] of the command argv[0]. */
int command_pick(int argc, char **argv, const struct command *v, size_t n, int (*help)(void));
/* Whether a command that begins with these words does nothing but print; next may be NULL. */
bool command_prints(const char *name, const char *next);

int command_run(int argc, char **argv);
int command_build(int argc, char **argv);
int command_list(int argc, char **argv);
int command_config(int argc, char **argv);
int command_crash(int argc, char **argv);
int command_regress(int argc, char **argv);
int command_corpus(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_history(int argc, char **argv);
int command_report(int argc, char **argv);
int command_outbox(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_version(int argc, char **argv);
int command_help(int argc, char **argv);

/* An option of a subcommand: one table serves the parser, --help and the check
 * that the man page knows it. */
struct option_spec {
	const char *name; /* without the dashes; "o,output": -o says the same */
	const char *arg;  /* NULL: a flag */
	const char *help;
};

/* Calls take for each option in argv, in order; prints usage errors and --help
 * itself.  Returns the index of the first operand, or -1 - exit status when the
 * command is over. */
int options_parse(int argc, char **argv, const char *usage, const struct option_spec *specs,
		  size_t n, bool (*take)(void *arg, const char *name, const char *value),
		  void *arg);

/* "fuzzcell: text" on stderr, one line whatever the text is; returns code.  With a console log
 * (base/log.h) an event there, instead. */
int fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, as "warning: text" on stdout. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What most subcommands start with: --config, --state-dir, --targets and the
 * overrides; loads the configuration and finds the targets. */
struct common {
	const char *config_path, *state_dir, *targets_dir, *filter;
	struct config *config;
	struct target_list targets;
	/* What the last build of each source did, in their order; borrowed, may be NULL. */
	const struct discover_built *built;
	size_t n_built;
	bool before_build; /* missing files of a later build are no error */
	/* common_group() and common_git() open it; NULL: not needed so far. */
	struct builder *builder;
};
#define STATE_OPTIONS                                                                      \
	{"config", "FILE", "configuration (default: config.json of the state directory)"}, \
	{                                                                                  \
		"state-dir", "DIR",                                                        \
		    "state directory (default: $FUZZCELL_STATE_DIR or ~/.fuzzcell)"        \
	}
#define TARGETS_OPTION                                                              \
	{                                                                           \
		"targets", "DIR", "fuzz what this output directory or manifest has" \
	}
#define COMMON_OPTIONS                                              \
	STATE_OPTIONS, TARGETS_OPTION,                              \
	{                                                           \
		"filter", "GLOB", "only targets whose name matches" \
	}

/* Of commands that print words in colour. */
#define COLOR_OPTION                                                                  \
	{                                                                             \
		"color", "WHEN", "auto (on a terminal; the default), always or never" \
	}
/* False: it is none of them, and that is said. */
bool color_take(const char *command, const char *value);

/* True when name was one of COMMON_OPTIONS. */
bool common_take(struct common *c, const char *name, const char *value);
/* 0, or the exit status, with the error printed. */
int common_load_config(struct common *c);
/* No process that it started is alive when it returns. */
int common_find_targets(struct common *c);
/* The group of a source's build, or of its Bazel; *ret NULL: without limits. */
struct tool_group;
int common_group(struct common *c, const struct config_source *s, const struct tool_group **ret);
/* struct git_limits' open(), with a struct common. */
int common_git(void *arg, const char *top, const char *objects, const struct tool_group **ret,
	       struct err *e);
/* Of --state-dir, $FUZZCELL_STATE_DIR and the configuration, in this order, for
 * state_open(): NULL is its default.  An empty variable is none. */
const char *common_state_dir(const struct common *c);
void common_done(struct common *c);

#endif
