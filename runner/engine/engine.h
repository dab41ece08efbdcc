/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_ENGINE_H
#define RUNNER_ENGINE_ENGINE_H

#include "base/err.h"
#include "base/scan.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/* Fuzzing engines behind one table each.  Adapters are pure: they build argument
 * vectors and read text; they start nothing, open nothing, log nothing.  All
 * text from a target is hostile: any bytes, any length, also forged. */

/* A fuzzing job as an engine needs it.  Paths are those inside the cell. */
struct engine_fuzz {
	const char *binary;
	const char *corpus_dir;	      /* writable, new inputs appear here */
	const char *const *seed_dirs; /* read-only, NULL-terminated */
	const char *artifact_dir;     /* writable, without a slash at the end */
	const char *dict;	      /* NULL: none */
	uint64_t max_time_s;	      /* a second belt: our own deadline comes first */
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	uint64_t max_len; /* bytes; 0: the engine's choice */
	uint64_t seed;	  /* 0: the engine's choice */
	uint64_t runs;	  /* 0: no limit */
	/* Files of suppressions, for LSan and UBSan, or NULL: known crashes do not end it. */
	const char *known_leaks, *known_undefined;
	const char *symbolizer; /* for the names in them; reports name functions then, too */
	/* From the configuration and the target's .options; a flag given here wins
	 * over the adapter's own, except those that the cell depends on (refused by
	 * engine_ops.flag_ok). */
	const char *const *flags; /* "-name=value", NULL-terminated */
	const char *const *env;	  /* "NAME=value", NULL-terminated; *_OPTIONS are merged */
};

/* Running given inputs once each, in their order; it ends at the first failure. */
struct engine_replay {
	const char *binary;
	const char *const *inputs; /* files, NULL-terminated */
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	const char *symbolizer; /* path of one: reports name functions; NULL: they do not */
	/* Undefined behaviour does not end a program that was built with recovery: a failure behind
	 * it is wanted. */
	bool ub_goes_on;
	const char *const
	    *flags; /* as of the fuzzing; those that only fuzzing knows are left out */
	const char *const *env;
};

/* Running the inputs that a control file lists and writing what each reaches into
 * it (runner/corpus/measure/control.h).  Undefined behaviour does not end a program that was built
 * with recovery: fuzzing goes on past what is known, so inputs of the corpus meet it. */
struct engine_measure {
	const char *binary;
	const char *control; /* writable file */
	const char *artifact_dir;
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	uint64_t max_len; /* longer inputs are cut: at least the longest */
	/* Of each input only what none before it in that process had: half the work.
	 * (Engines that do not know the difference do this always.) */
	bool only_new;
	const char *const *flags;
	const char *const *env;
};

/* The engine changes a failing input, to find a shorter failing input. */
struct engine_shorten {
	const char *binary;
	const char *input;
	const char *output; /* writable file: the shorter input goes there */
	uint64_t runs;	    /* it gives up after so many, or after this time */
	uint64_t max_time_s;
	uint64_t input_timeout_s;
	uint64_t rss_limit_mib;
	bool ub_goes_on; /* as of a replay */
	const char *const *flags;
	const char *const *env;
};

struct engine_cmd {
	struct strv argv;
	struct strv env;
	uint64_t max_len; /* of one that fuzzes: what argv asks for; 0: the engine's choice */
};
void engine_cmd_done(struct engine_cmd *c);

/* What an engine has said so far.  Numbers are the last seen; a number that was
 * never seen is 0. */
struct engine_state {
	uint64_t execs, cov, ft, corpus_units, corpus_bytes, lim, exec_per_s, rss_mib;
	uint64_t edges_total;	 /* instrumented edges: the denominator of cov */
	uint64_t seed_files;	 /* inputs found at start */
	uint64_t max_len;	 /* as the engine chose it, and said; or 0 */
	uint64_t status_lines;	 /* lines with statistics that were read */
	uint64_t last_new_execs; /* execs at the last new coverage */
	uint64_t dict_entries;	 /* of the dictionary that it was given */
	/* Inputs that it kept and said how it had made; of those, with that dictionary, and with
	 * what comparisons showed. */
	uint64_t kept, kept_by_dict, kept_by_cmp;
	bool running;	       /* fuzzing began (past the initial corpus) */
	bool replaying;	       /* a given input was started */
	uint64_t inputs;       /* how many were */
	char input[128];       /* the last of them, its path as given; cut */
	bool done;	       /* it said that it ended by itself, or that the given input did */
	bool not_instrumented; /* it found no coverage instrumentation */
	bool interrupted;      /* it ended because it was signalled */
	/* The engine started once more in one cell: the target executed itself.  The others are
	 * the evidence so far: the initial corpus was executed, a seed was printed, and how often
	 * the modules were, behind a seed. */
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
	bool own_thread;      /* the engine's own first thread (the watchdog) reports it */
	char fault_text[160]; /* "AddressSanitizer: heap-buffer-overflow", printable, "" if none */
	char artifact[256];   /* base name of the last artifact that it named, "" if none */
	/* The content of that artifact, if the engine printed it and its SHA-1 is in the name. */
	struct {
		char bytes[256];
		size_t n;
		bool known; /* an input can be empty */
	} input_printed;
	struct {
		bool seen;
		uint64_t execs, exec_per_s, new_units, slowest_s, peak_rss_mib;
	} final; /* the engine's closing statistics */
	/* Set by the caller: how many instrumented edges the process can have; 0: any number. */
	uint64_t edges_most;
	/* Set by the caller: how many executions the process has had time for; 0: any number. */
	uint64_t execs_most;
	/* Number of lines with impossible numbers, which are not kept. */
	uint64_t refused;
	uint64_t refused_edges; /* in the last such line: edges above edges_most, else 0 */
	char refused_text[160]; /* its reason: "343172 edges reached, ...", printable */
};

const char *engine_fault_name(enum engine_fault f); /* "none", "crash", ... */

/* How a fuzz process ended, in the engine's terms. */
enum engine_end {
	ENGINE_FINISHED,       /* by itself or on our stop: clean */
	ENGINE_FAULTED,	       /* state.fault says why */
	ENGINE_STARTUP_FAILED, /* before fuzzing began, without a report of the target's own */
	ENGINE_NOT_INSTRUMENTED,
	ENGINE_INTERRUPTED, /* by a signal that it handles, or the target claims so */
	ENGINE_KILLED,	    /* by a signal that it does not */
	ENGINE_UNKNOWN, /* an exit status that it does not use: the target called exit() unseen */
	ENGINE_END_COUNT,
};

enum engine_artifact {
	ENGINE_ARTIFACT_NONE, /* not an artifact's name */
	ENGINE_ARTIFACT_CRASH,
	ENGINE_ARTIFACT_TIMEOUT,
	ENGINE_ARTIFACT_OOM,
	ENGINE_ARTIFACT_LEAK,
	ENGINE_ARTIFACT_SLOW, /* not a failure */
	/* Not from an engine: kinds that the cell's end gives, whatever name the engine chose. */
	ENGINE_ARTIFACT_PIDS,
	ENGINE_ARTIFACT_SYSCALL,
};
/* "crash", "slow-unit", ...: the first part of a saved artifact's name; NULL for none. */
const char *engine_artifact_name(enum engine_artifact a);

/* Where a word comes from that the engine put into an input. */
enum engine_word {
	ENGINE_WORD_GIVEN,	 /* the dictionary that it was given */
	ENGINE_WORD_KEPT,	 /* what it noted by itself earlier, from any of the two others */
	ENGINE_WORD_COMPARED,	 /* a comparison of the target */
	ENGINE_WORD_RECOMMENDED, /* it recommends the word for a dictionary */
};
typedef void engine_word_fn(void *arg, struct slice word, enum engine_word from);

struct engine_ops {
	const char *name;
	/* A binary that holds one of these strings is this engine's (NULL-terminated). */
	const char *const *marks;
	MUST_CHECK int (*fuzz)(const struct engine_fuzz *job, struct engine_cmd *ret,
			       struct err *e);
	MUST_CHECK int (*replay)(const struct engine_replay *job, struct engine_cmd *ret,
				 struct err *e);
	MUST_CHECK int (*measure)(const struct engine_measure *job, struct engine_cmd *ret,
				  struct err *e);
	/* NULL: it cannot. */
	MUST_CHECK int (*shorten)(const struct engine_shorten *job, struct engine_cmd *ret,
				  struct err *e);
	/* May a person set this flag?  False with the reason in why. */
	bool (*flag_ok)(struct slice flag, char why[160]);
	/* One line of output, without its newline; io carries what was seen so far. */
	void (*line)(struct slice line, struct engine_state *io);
	/* The words of an input that the line says was kept for something new, and words that the
	 * line recommends.  NULL: the engine does not say. */
	void (*words)(struct slice line, engine_word_fn *fn, void *arg);
	/* signo 0: it exited with code. */
	enum engine_end (*classify)(const struct engine_state *s, int code, int signo);
	enum engine_artifact (*artifact)(struct slice name);
	/* The signal on which it ends by itself between two inputs, with its closing
	 * statistics (a stop file would cost every input a system call). */
	int stop_signal;
	/* The signal that makes it write the current input as an artifact and end. */
	int dump_signal;
};

extern const struct engine_ops engine_libfuzzer;

/* The kind of a saved artifact, <kind>-<sha1>: the engine's kinds, and ours. */
enum engine_artifact engine_saved(const struct engine_ops *engine, struct slice name);

const struct engine_ops *engine_find(const char *name); /* NULL: unknown */

#endif
