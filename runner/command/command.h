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
#include <stddef.h>

/* Subcommands parse argv, call the modules below and print. They contain no logic. Each returns the
 * exit status of the process. */
struct command {
	const char *name;
	const char *args; /* for the usage line */
	const char *help;
	int (*run)(int argc, char **argv);
};
extern const struct command commands[];
extern const size_t n_commands;
/* Writes "; did you mean 'list'?", chosen from n commands, or "" if no name is similar. Returns
 * out. */
const char *command_hint(const char *word, const struct command *v, size_t n, char out[64]);
/* Runs the subcommand argv[1] of the command argv[0]. */
int command_pick(int argc, char **argv, const struct command *v, size_t n, int (*help)(void));
/* Reports whether the command with these first words only prints. next may be NULL. */
bool command_prints(const char *name, const char *next);

int command_run(int argc, char **argv);
int command_build(int argc, char **argv);
int command_list(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_collect(int argc, char **argv);
int command_slurm(int argc, char **argv);
int command_config(int argc, char **argv);
int command_ci(int argc, char **argv);
int command_coverage(int argc, char **argv);
int command_crash(int argc, char **argv);
int command_regress(int argc, char **argv);
int command_corpus(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_history(int argc, char **argv);
int command_report(int argc, char **argv);
int command_outbox(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_trigger(int argc, char **argv);
int command_status(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_start(int argc, char **argv);
int command_skip(int argc, char **argv);
int command_workers(int argc, char **argv);
int command_version(int argc, char **argv);
int command_help(int argc, char **argv);

/* An option of a subcommand.  One table serves the parser, --help and the check that the man page
 * has it.  The parser stores most values itself: "at" is an offset in the subcommand's arguments.
 */
enum option_kind {
	OPTION_TAKEN, /* take() gets the value */
	OPTION_FLAG,  /* sets a bool */
	OPTION_TEXT,  /* a const char * */
	OPTION_TIME,  /* a uint64_t: microseconds, above 0 */
	OPTION_COLOR, /* when words are coloured */
};
struct option_spec {
	const char *name; /* without the dashes; "o,output" also accepts -o */
	const char *arg;  /* NULL: a flag */
	const char *help;
	enum option_kind kind;
	size_t at;
};
#define OPTION_AT(type, member) \
	_Generic(((type *)NULL)->member, bool         \
		 : OPTION_FLAG, const char *          \
		 : OPTION_TEXT, uint64_t              \
		 : OPTION_TIME), offsetof(type, member)
#define OPTION_TAKE OPTION_TAKEN, 0

/* Stores the values of the options in argv in args, or calls take for them (NULL: no option needs
 * it), in order.  Prints usage errors and --help itself.  Returns the index of the first operand,
 * or -1 - exit status if the command is finished. */
int options_parse(int argc, char **argv, const char *usage, const struct option_spec *specs,
		  size_t n, bool (*take)(void *args, const char *name, const char *value),
		  void *args);

/* Prints "fuzzcell: text" to stderr, always as one line, and returns code. With a console log
 * (base/log.h), writes a log event instead.  (cmocka has a macro of this
 * name, so the declaration has parentheses.) */
int(fail)(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, as "warning: text" on stdout. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The options that most subcommands share: --config, --state-dir, --targets and the overrides.
 * Loads the configuration and finds the targets. */
struct common {
	const char *config_path, *state_dir, *targets_dir, *filter;
	struct config *config;
	struct target_list targets;
	/* The result of the last build of each source, in the order of the sources. Borrowed; may
	 * be NULL. */
	const struct discover_built *built;
	size_t n_built;
	bool before_build; /* files that a later build makes may be missing */
	/* NULL until common_group() or common_git() opens it. */
	struct builder *builder;
};
#define STATE_OPTIONS_TAKE                                                                       \
	{"config", "FILE", "configuration (default: config.json of the state directory)",        \
	 OPTION_TAKE},                                                                           \
	{                                                                                        \
		"state-dir", "DIR",                                                              \
		    "state directory (default: $FUZZCELL_STATE_DIR or ~/.fuzzcell)", OPTION_TAKE \
	}
/* NOLINTBEGIN(bugprone-macro-parentheses): type is a type, and common a member */
/* common: the struct common in the subcommand's arguments, which are a type. */
#define STATE_OPTIONS(type, common)                                                       \
	{"config", "FILE", "configuration (default: config.json of the state directory)", \
	 OPTION_AT(type, common.config_path)},                                            \
	{                                                                                 \
		"state-dir", "DIR",                                                       \
		    "state directory (default: $FUZZCELL_STATE_DIR or ~/.fuzzcell)",      \
		    OPTION_AT(type, common.state_dir)                                     \
	}
#define TARGETS_OPTION(type, common)                                                       \
	{                                                                                  \
		"targets", "DIR", "fuzz the targets in this output directory or manifest", \
		    OPTION_AT(type, common.targets_dir)                                    \
	}
#define COMMON_OPTIONS(type, common)                                                 \
	STATE_OPTIONS(type, common), TARGETS_OPTION(type, common),                   \
	{                                                                            \
		"filter", "GLOB", "only targets with a matching name; several: A,B", \
		    OPTION_AT(type, common.filter)                                   \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* For commands that print coloured words. */
#define COLOR_OPTION                                                                   \
	{                                                                              \
		"color", "WHEN", "auto (on a terminal; the default), always or never", \
		    OPTION_COLOR, 0                                                    \
	}

/* Returns EXIT_DONE, or another exit status with the error printed. */
int common_load_config(struct common *c);
/* All processes that it starts have ended when it returns. */
int common_find_targets(struct common *c);
/* Finds the targets of one source. built: the result of its last build; NULL: not known. Does not
 * join variants. The processes that it starts end with the next use of the builder. */
int common_add_source(struct common *c, const struct config_source *src,
		      const struct discover_built *built, struct target_list *io);
/* The control group for a source's build, or for its Bazel. *ret NULL: the processes run without
 * limits. */
struct tool_group;
int common_group(struct common *c, const struct config_source *s, const struct tool_group **ret);
/* Implements struct git_limits' open(); arg is a struct common. */
int common_git(void *arg, const char *top, const char *objects, const struct tool_group **ret,
	       struct err *e);
/* Returns the path for state_open(): --state-dir, else $FUZZCELL_STATE_DIR, else the configuration.
 * NULL stands for the default of state_open(). An empty variable counts as unset. */
const char *common_state_dir(const struct common *c);
/* The build with this name (variants_find()); NULL: there is none. */
const struct target *common_target(const struct target_list *l, const char *name);
/* The names of all builds, for config_unused_glob() and names_near(). free() the result. */
const char **common_target_names(const struct target_list *l, size_t *ret_n);
void common_done(struct common *c);

/* The paths that another command needs as options to work on the same state as this process. They
 * are absolute; NULL: the option is not needed. Paths longer than 512 bytes are left out: no user
 * would type them. */
struct common_paths {
	char *config, *state; /* --config, --state-dir */
};
/* c: the options of this process (NULL: unknown). state_path: the path of the open state. */
void common_paths_find(const struct common *c, const char *state_path, struct common_paths *ret);
void common_paths_done(struct common_paths *p);

#endif
