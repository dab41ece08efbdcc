/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_ROW_H
#define RUNNER_STATUS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What there is to see of one target in a run, as plain values: filled by the
 * scheduler, shown by the table, the summary and the histories.  Strings are
 * borrowed.  Times in microseconds, sizes in bytes. */
enum { ROW_FAILURES = 16 };

/* A crash that the run has seen of a target; the most frequent first. */
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
	const char *state;  /* "queued", "fuzzing", ..., when done the end reason */
	const char *reason; /* the end reason, or "running" */
	bool done;
	bool fuzzed;	  /* fuzzing began at least once */
	bool unfuzzed;	  /* done, and it cannot be said that it was fuzzed */
	bool given_up;	  /* done and fuzzed, but given up because of its failures */
	bool rebuilt;	  /* its binary came during the run: the run's commit is not its */
	const char *note; /* why, for a person; "" when there is nothing to say */
	/* The impossible number that its engine printed: all its numbers count for nothing; "":
	 * none. */
	const char *forged;
	uint64_t wall_us, cpu_us, effective_us;
	uint64_t cells_us; /* of the wall time: in cells */
	uint64_t start_us; /* from launching the first cell to its first output */
	double starved;	   /* share of the time that it waited for a CPU */
	double pressure_cpu, pressure_memory, pressure_io; /* stalled share, last interval */
	const char *pressure_state;			   /* "ok", "starved", "thrashing" */
	/* What more of it is expected to find (runner/policy/rule.h), of this build. */
	struct {
		bool known;	    /* it has been fuzzed */
		uint64_t cpu_us;    /* effective time of the build, over runs */
		double rate, price; /* new edges a CPU-second; price 0: another rule */
		double hour;	    /* new edges in another CPU-hour */
		double discovery;   /* probability that the next input finds one */
		/* Since a gate opened last, or the build began: how long, and the edges after
		 * a tenth of that. */
		uint64_t burst_us, early;
	} outlook;
	/* The build before this one reached so many of so many edges, and this one far less;
	 * 0: it does not. */
	uint64_t cov_before, edges_before;
	uint64_t execs, exec_per_s; /* per second of CPU time */
	bool found;		    /* it reached something new in this run */
	uint64_t silent_us;	    /* since it did so last */
	uint64_t cov, edges_total, ft, corpus_units, corpus_bytes;
	bool has_library; /* more than its harness is instrumented */
	uint64_t input_timeout_us;
	uint64_t dict_entries; /* of the dictionary that it was given; 0: none */
	uint64_t dict_own;     /* words of the program beside them */
	/* Inputs that the engine kept and said how it had made; of those, with the dictionary,
	 * and with what comparisons showed. */
	uint64_t kept, kept_by_dict, kept_by_cmp;
	uint64_t memory_now, memory_peak, memory_limit; /* of its cells, the page cache with it */
	uint64_t rss_peak;				/* as its engine tells it; 0: it did not */
	uint64_t failures[ROW_FAILURES];		/* by kind, indexed as failure_names */
	const char *const *failure_names;
	size_t n_failure_names;
	uint64_t failures_total, restarts;
	uint64_t new_inputs, new_bytes, seeds, collect_skipped;
	uint64_t pids_refused, oom_kills;
	const char *refused; /* system calls: "socket (3), bpf (1)", or "" */
	uint64_t log_dropped, line_dropped;
	struct {
		const char *verdict; /* "replaced", ...; NULL: it did not come to that */
		const char *why;     /* "" when there is nothing to say */
		uint64_t files_before, files, bytes_before, bytes, edges, features, bad;
	} corpus;
	const struct row_crash *crashes;
	size_t n_crashes;
	uint64_t crashes_new, crashes_regressed, crashes_fixed;
	uint64_t crashes_unchecked; /* earlier ones: no time to look whether they are fixed */
	uint64_t dismissed;	    /* timeouts that did not hold: the machine was busy */
	uint64_t undecided; /* timeouts of which a machine less busy must say whether they hold */
	uint64_t untriaged; /* other artifacts that wait for triage */
	const char *artifacts; /* names, one a line, below crashes/<target>/ */
};

struct run_view {
	const char *id, *version, *layout, *commit;
	uint64_t started_real_us, ended_real_us; /* 0: not yet */
	uint64_t elapsed_us, total_us;		 /* total 0: no cap */
	unsigned workers, running;
	unsigned workers_most; /* at once, in this run */
	bool paused, interrupted, continuous;
	bool build_failed;  /* a build before the run failed, or made only some of its targets */
	char shortage[200]; /* why the run ended without a single cell; "" */
	int pid;
	uint64_t own_cpu_us, own_peak_rss;
	const struct target_row *rows;
	size_t n_rows;
};

#endif
