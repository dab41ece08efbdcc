/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_ENGINE_H
#define RUNNER_ENGINE_ENGINE_H

#include "base/err.h"
#include "base/scan.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/* Fuzzing engines, each behind a table of functions.  Adapters are pure: they build argument
 * vectors and parse text.  They start nothing, open nothing and log nothing.  All text from a
 * target is hostile: any bytes, any length, also forged. */

/* The parameters of fuzzing.  All paths are paths inside the cell. */
struct engine_fuzz {
	const char *binary;
	const char *test;	      /* which of its tests (engine_ops.tests); else NULL */
	bool sanitized;		      /* the program may have a sanitizer that reserves terabytes */
	const char *corpus_dir;	      /* writable; receives new inputs */
	const char *const *seed_dirs; /* read-only, NULL-terminated */
	const char *artifact_dir;     /* writable, without a slash at the end */
	const char *dict;	      /* NULL: none */
	const char *companion;	      /* a second build (engine_ops.companion); NULL: none */
	uint64_t max_time_s;	      /* a second safeguard: our own deadline comes first */
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	uint64_t max_len; /* bytes; 0: the engine's choice */
	uint64_t seed;	  /* 0: the engine's choice */
	uint64_t runs;	  /* 0: no limit */
	/* One mutation an input; inputs of the corpus are chosen evenly; inputs of any length from
	 * the beginning; inputs that bring operands of a comparison closer are kept, too. */
	bool few_mutations, even_choice, any_length, value_profile;
	/* Suppression files for LSan and UBSan, or NULL.  Suppressed crashes do not end fuzzing. */
	const char *known_leaks, *known_undefined;
	const char *symbolizer; /* required by suppressions; reports then contain function names */
	/* From the configuration and the target's .options.  A flag given here overrides the
	 * adapter's own flag.  engine_ops.flag_ok refuses flags that the cell depends on. */
	const char *const *flags; /* "-name=value", NULL-terminated */
	const char *const *env;	  /* "NAME=value", NULL-terminated; *_OPTIONS are merged */
};

/* A replay: runs the given inputs once each, in order, and ends at the first failure. */
struct engine_replay {
	const char *binary;
	const char *test; /* as in struct engine_fuzz, as the next one */
	bool sanitized;
	const char *const *inputs; /* files, NULL-terminated */
	/* A directory for what engine_cmd.nest makes; NULL: one below the cell's /tmp. */
	const char *scratch;
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	const char *symbolizer; /* path; NULL: reports have no function names */
	/* A program built with recovery continues after undefined behaviour, to reach a failure
	 * behind it. */
	bool ub_goes_on;
	const char *const *flags; /* the fuzzing flags; flags that only steer fuzzing are dropped */
	const char *const *env;
};

/* A measurement: runs the inputs that a control file lists and writes the coverage of each into
 * the file (runner/corpus/measure/control.h).  A program built with recovery continues after
 * undefined behaviour: corpus inputs may reach known undefined behaviour, because fuzzing
 * continues past it. */
struct engine_measure {
	const char *binary;
	const char *test;    /* as in struct engine_fuzz */
	const char *control; /* writable file */
	const char *artifact_dir;
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	uint64_t max_len; /* at least the longest input's length; longer inputs are cut */
	/* Write only the coverage that no earlier input of the process had.  Halves the work.
	 * Engines without this choice always do so. */
	bool only_new;
	const char *const *flags;
	const char *const *env;
};

/* Minimising: the engine changes a failing input, to find a shorter failing input. */
struct engine_shorten {
	const char *binary;
	const char *test; /* as in struct engine_fuzz, as the next one */
	bool sanitized;
	const char *input;
	const char *output; /* writable file: the shorter input goes there */
	uint64_t runs;	    /* the engine gives up after this many executions, or max_time_s */
	uint64_t max_time_s;
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	bool ub_goes_on; /* as in struct engine_replay */
	const char *const *flags;
	const char *const *env;
};

struct engine_cmd {
	/* The program, its arguments, and (replays with engine_ops.one_input) the inputs. */
	struct strv argv;
	struct strv env;
	size_t n_inputs; /* at the end of argv */
	/* Where the program finds the input of a replay, as its working directory sees it; NULL: it
	 * is its last argument and its standard input. */
	char *input_at;
	/* What process 1 of the cell makes before (images/init/nest.h): three words a step. */
	struct strv nest;
	uint64_t max_len; /* fuzzing only: the limit in argv; 0: the engine's choice */
};
void engine_cmd_done(struct engine_cmd *c);

/* The state of an engine process, parsed from its output so far.  Numbers are the latest values;
 * 0: not printed yet. */
struct engine_state {
	uint64_t execs, cov, ft, corpus_units, corpus_bytes, lim, exec_per_s, rss_mib;
	uint64_t edges_total;	 /* instrumented edges: the denominator of cov */
	uint64_t seed_files;	 /* inputs found at start */
	uint64_t max_len;	 /* the engine's own choice, if printed; else 0 */
	uint64_t status_lines;	 /* number of parsed lines with statistics */
	uint64_t last_new_execs; /* execs at the last new coverage */
	uint64_t dict_entries;	 /* entries of the given dictionary */
	/* Number of kept inputs with printed mutations.  Of these, the number made with the given
	 * dictionary, and with operands of comparisons. */
	uint64_t kept, kept_by_dict, kept_by_cmp;
	bool running;	       /* fuzzing began (past the initial corpus) */
	bool replaying;	       /* a given input was started */
	uint64_t inputs;       /* number of started inputs */
	char input[128];       /* path of the last started input, as given; may be cut */
	bool done;	       /* the engine reported its own end, or the end of the given input */
	bool not_instrumented; /* the engine found no coverage instrumentation */
	bool interrupted;      /* a signal ended it */
	/* restarted: the engine started again in the same cell, because the target executed itself.
	 * The evidence for this: inited (the initial corpus was executed), has_seed (a seed was
	 * printed), and starts (how often the modules were printed after a seed). */
	bool restarted, inited, has_seed;
	unsigned starts;
	enum engine_fault {
		ENGINE_FAULT_NONE,
		ENGINE_FAULT_CRASH,   /* sanitizer report, deadly signal, exit() in the target */
		ENGINE_FAULT_TIMEOUT, /* one input took longer than the limit */
		ENGINE_FAULT_OOM,     /* the engine's own memory limit, or one huge malloc */
		ENGINE_FAULT_LEAK,
		ENGINE_FAULT_ENGINE, /* the engine itself failed: bad flag, dictionary, directory */
		ENGINE_FAULT_COUNT,
	} fault;
	bool own_thread;      /* the engine's first thread (the watchdog) reports the fault */
	char fault_text[160]; /* "AddressSanitizer: heap-buffer-overflow", printable, "" if none */
	char artifact[256];   /* base name of the last reported artifact, "" if none */
	/* The artifact's content, if the engine printed it and its SHA-1 matches the name. */
	struct {
		char bytes[256];
		size_t n;
		bool known; /* an input can be empty */
	} input_printed;
	struct {
		bool seen;
		uint64_t execs, exec_per_s, new_units, slowest_s, peak_rss_mib;
	} final; /* the engine's closing statistics */
	/* Set by the caller: maximum number of instrumented edges of the process; 0: no limit. */
	uint64_t edges_most;
	/* Set by the caller: maximum number of executions in the process's time; 0: no limit. */
	uint64_t execs_most;
	/* Number of lines with impossible numbers, which are ignored. */
	uint64_t refused;
	uint64_t refused_edges; /* in the last such line: edges above edges_most, else 0 */
	char refused_text[160]; /* its reason: "343172 edges reached, ...", printable */
};

const char *engine_fault_name(enum engine_fault f); /* "none", "crash", ... */

/* How a fuzz process ended, by the engine's rules. */
enum engine_end {
	ENGINE_FINISHED,       /* clean: by itself, or because we stopped it */
	ENGINE_FAULTED,	       /* state.fault is the reason */
	ENGINE_STARTUP_FAILED, /* before fuzzing began, without a report about the target */
	ENGINE_NOT_INSTRUMENTED,
	ENGINE_INTERRUPTED, /* by a signal that the engine handles, or so the target claims */
	ENGINE_KILLED,	    /* by a signal that the engine does not handle */
	ENGINE_UNKNOWN,	    /* an exit status that the engine does not use: the target called exit()
			       unnoticed */
	ENGINE_END_COUNT,
};

enum engine_artifact {
	ENGINE_ARTIFACT_NONE, /* not an artifact's name */
	ENGINE_ARTIFACT_CRASH,
	ENGINE_ARTIFACT_TIMEOUT,
	ENGINE_ARTIFACT_OOM,
	ENGINE_ARTIFACT_LEAK,
	ENGINE_ARTIFACT_SLOW, /* not a failure */
	/* Not from an engine: the cell's end determines these kinds, not the artifact's name. */
	ENGINE_ARTIFACT_PIDS,
	ENGINE_ARTIFACT_SYSCALL,
	ENGINE_ARTIFACT_COUNT,
};
/* "crash", "slow-unit", ...: the first part of a saved artifact's name; NULL for
 * ENGINE_ARTIFACT_NONE. */
const char *engine_artifact_name(enum engine_artifact a);

/* The source of a word that the engine put into an input. */
enum engine_word {
	ENGINE_WORD_GIVEN,    /* the given dictionary */
	ENGINE_WORD_KEPT,     /* the engine's own list of earlier useful words, given or compared */
	ENGINE_WORD_COMPARED, /* a comparison of the target */
	ENGINE_WORD_RECOMMENDED, /* the engine recommends the word for a dictionary */
};
typedef void engine_word_fn(void *arg, struct slice word, enum engine_word from);

/* A directory of a job's working directory in which an engine leaves files, beside corpus/ and
 * artifacts/. */
struct engine_dir {
	const char *path; /* below artifacts/: "default/queue"; NULL after the last */
	bool fails;	  /* it has artifacts; else inputs */
};

struct engine_ops {
	const char *name;
	/* A binary that contains one of these strings uses this engine.  NULL-terminated. */
	const char *const *marks;
	/* But only if it contains `also`, and does not contain `unless`.  NULL: any binary. */
	const char *also, *unless;
	/* A program has several tests, each of which is a target: they are in a table at this
	 * symbol, or ("") in a file beside the program (runner/targets/tests.h).  NULL: a program
	 * is one target. */
	const char *tests;
	MUST_CHECK int (*fuzz)(const struct engine_fuzz *job, struct engine_cmd *ret,
			       struct err *e);
	MUST_CHECK int (*replay)(const struct engine_replay *job, struct engine_cmd *ret,
				 struct err *e);
	/* NULL: the engine does not measure inputs, and its corpus is not merged. */
	MUST_CHECK int (*measure)(const struct engine_measure *job, struct engine_cmd *ret,
				  struct err *e);
	/* NULL: the engine cannot minimise. */
	MUST_CHECK int (*shorten)(const struct engine_shorten *job, struct engine_cmd *ret,
				  struct err *e);
	/* The names of all its flags, NULL-terminated; also of those that flag_ok refuses, to tell
	 * a typo from a refusal. */
	const char *const *flags;
	/* Whether a user may set this flag; false with the reason in why. */
	bool (*flag_ok)(struct slice flag, char why[160]);
	/* Parses one line of output, without its newline, into io. */
	void (*line)(struct slice line, struct engine_state *io);
	/* Calls fn for each word that helped to make a kept input, and for each recommended word
	 * of the line.  NULL: the engine does not print words. */
	void (*words)(struct slice line, engine_word_fn *fn, void *arg);
	/* signo 0: the process exited with code. */
	enum engine_end (*classify)(const struct engine_state *s, int code, int signo);
	enum engine_artifact (*artifact)(struct slice name);
	/* Files of its own directories (NULL: it has none) are inputs if `input` accepts their
	 * names, and artifacts if `artifact` knows their names.  `input` NULL: it has inputs in
	 * corpus_dir alone. */
	const struct engine_dir *dirs;
	bool (*input)(struct slice name);
	/* A file below artifacts/ with statistics: `line` gets its lines, too.  NULL: there are
	 * none but in the output. */
	const char *stats_file;
	/* After a failure of the target it saves the input and goes on.  Its processes share the
	 * target's cell, so a target that the kernel kills for its memory does not end it. */
	bool goes_on;
	/* A replay's command runs each input in a process of its own: fuzzcell starts them one
	 * after the other (engine_cmd.n_inputs). */
	bool one_input;
	bool needs_seed; /* it does not start without an input */
	/* It is a program of its own, beside the target's: its cell may make more system calls
	 * (cell_spec.separate). */
	bool separate;
	/* The engine and the target are processes that wait for each other at each input, or at
	 * short intervals: on one CPU they are faster (cell_spec.one_cpu). */
	bool takes_turns;
	/* The time that an input may take, if it cannot be chosen; else 0. */
	uint64_t input_timeout_s;
	/* Bytes of the largest file in memory (memfd_create(2)) that it makes by itself; 0: the
	 * limit of a cell's files is enough. */
	uint64_t file_bytes;
	bool strategies; /* `fuzz` heeds the strategies of struct engine_fuzz */
	/* What is appended to a program's name for a second build of it that the engine uses, too;
	 * NULL: it uses none. */
	const char *companion;
	/* On this signal, the engine ends between two inputs and prints its closing statistics.
	 * (A stop file would cost a system call per input.) */
	int stop_signal;
	/* On this signal, the engine writes the current input as an artifact and ends.  If it
	 * cannot, this is another signal that ends it soon, and the input is lost. */
	int dump_signal;
};

/* All engines; NULL after the last.  A program with marks of several engines is of the last one: a
 * driver for other engines may have the entry point of the first. */
const struct engine_ops *engine_at(size_t i);

/* The kind of a saved artifact, <kind>-<sha1>, whichever engine found it. */
enum engine_artifact engine_saved(struct slice name);

const struct engine_ops *engine_find(const char *name); /* NULL: unknown */
/* Whether some engine's user may set this flag, for a target that is not known yet; false with the
 * first engine's reason in why. */
bool engine_any_flag_ok(struct slice flag, char why[160]);

#endif
