/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_ROW_H
#define RUNNER_STATUS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The figures of one target in a run, as plain values.  The scheduler fills them; the table, the
 * summary and the histories show them.  Strings are borrowed.  Times are in microseconds, sizes
 * in bytes. */
enum { ROW_FAILURES = 16, ROW_STRATEGIES = 16 };

/* What a fuzzing strategy (runner/policy/strategy.h) found on the target's build, over runs. */
struct row_strategy {
	const char *name;
	uint64_t cpu_us, edges;
	bool is_build; /* not a strategy: another build of the target, which fuzzes, too */
};

/* A crash of a target in this run; the most frequent first. */
struct row_crash {
	char signature[64];   /* printable, cut */
	char what[200];	      /* "Heap-buffer-overflow READ 4 in parse_header", printable */
	char state[16];	      /* "new", "known", "regressed", ... */
	uint64_t count;	      /* in this run */
	uint64_t hits, tries; /* how reliably its reproducer fails */
	bool security;
};

struct target_row {
	const char *name;
	const char *state;  /* "queued", "fuzzing", ...; when done: the end reason */
	const char *reason; /* the end reason, or "running" */
	bool done;
	bool fuzzed;	  /* fuzzing began at least once */
	bool unfuzzed;	  /* done, but does not count as fuzzed */
	bool given_up;	  /* done and fuzzed, but given up for its failures */
	bool rebuilt;	  /* its binary came during the run, so the run's commit does not apply */
	const char *note; /* an explanation for users; "": none */
	/* The impossible number that its engine printed, which voids all its numbers; "": none. */
	const char *forged;
	uint64_t wall_us, cpu_us, effective_us;
	uint64_t cells_us; /* the part of the wall time in cells */
	uint64_t start_us; /* from launching the first cell to its first output */
	double starved;	   /* share of the time in which it waited for a CPU */
	double pressure_cpu, pressure_memory, pressure_io; /* stalled share, last interval */
	const char *pressure_state;			   /* "ok", "starved", "thrashing" */
	/* The expected further gain of this build (runner/policy/rule.h). */
	struct {
		bool known;	    /* it has been fuzzed */
		uint64_t cpu_us;    /* effective time of the build, over runs */
		double rate, price; /* new edges a CPU-second; price 0: another rule */
		double hour;	    /* new edges in another CPU-hour */
		double discovery;   /* probability that the next input finds one */
		/* Effective time since the last burst of new coverage, or since the build began;
		 * edges after a tenth of that time. */
		uint64_t burst_us, early;
	} outlook;
	const char *strategy; /* of the present or last cell */
	/* Those that were tried on this build, "plain" among them, and other builds. */
	struct row_strategy strategies[ROW_STRATEGIES];
	size_t n_strategies;
	/* Edges that the previous build reached, and its total, if this build reaches far fewer;
	 * else 0. */
	uint64_t cov_before, edges_before;
	uint64_t execs, exec_per_s; /* per second of CPU time */
	bool found;		    /* it found new coverage in this run */
	uint64_t silent_us;	    /* since the last new coverage */
	uint64_t cov, edges_total, ft, corpus_units, corpus_bytes;
	bool has_library; /* code beyond its harness is instrumented */
	uint64_t input_timeout_us;
	uint64_t dict_entries; /* entries of its given dictionary; 0: none */
	uint64_t dict_own;     /* additional words from the program */
	/* Kept inputs with a known origin; those made with the dictionary, and with comparisons'
	 * operands. */
	uint64_t kept, kept_by_dict, kept_by_cmp;
	uint64_t memory_now, memory_peak, memory_limit; /* of its cells, including the page cache */
	uint64_t rss_peak;				/* from the engine; 0: unknown */
	uint64_t failures[ROW_FAILURES];		/* by kind, same index as failure_names */
	const char *const *failure_names;
	size_t n_failure_names;
	uint64_t failures_total, restarts;
	uint64_t new_inputs, new_bytes, seeds, collect_skipped;
	uint64_t pids_refused, oom_kills;
	const char *refused; /* system calls: "socket (3), bpf (1)", or "" */
	uint64_t log_dropped, line_dropped;
	struct {
		const char *verdict; /* "replaced", ...; NULL: there was no merge */
		const char *why;     /* "": no explanation */
		uint64_t files_before, files, bytes_before, bytes, edges, features, bad;
	} corpus;
	const struct row_crash *crashes;
	size_t n_crashes;
	uint64_t crashes_new, crashes_regressed, crashes_fixed;
	uint64_t crashes_unchecked; /* earlier crashes that there was no time to check for a fix */
	uint64_t dismissed;	    /* did not reproduce: caused by oversubscribed CPUs */
	uint64_t undecided;	    /* timeouts to replay later under less CPU pressure */
	uint64_t untriaged;	    /* other artifacts awaiting triage */
	/* Inputs that the target's check variants have yet to run, and since when there are such
	 * inputs, Unix seconds; 0: none. */
	uint64_t checks_left, checks_since;
	uint64_t checks_cpu_us; /* of the cells in which its check variants ran inputs */
	const char *artifacts;	/* names below crashes/<target>/, one per line */
};

struct run_view {
	const char *id, *version, *layout, *commit;
	uint64_t started_real_us, ended_real_us; /* 0: not yet */
	uint64_t elapsed_us, total_us;		 /* total 0: no cap */
	unsigned workers, running;
	unsigned workers_most; /* the highest number at once in this run */
	bool paused, interrupted, continuous;
	bool build_failed;  /* a build before the run failed, or built only some of its targets */
	char shortage[200]; /* why the run ended without any cell; "" */
	int pid;
	uint64_t own_cpu_us, own_peak_rss;
	const struct target_row *rows;
	size_t n_rows;
};

#endif
