/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_FUZZING_H
#define RUNNER_RUN_JOB_FUZZING_H

#include "base/file_id.h"
#include "base/lines.h"
#include "runner/run/job/job.h"
#include "runner/run/triage/kept.h"

/* The state of one fuzzing cell, or of one engine process in a cell that stays. */
struct fuzzing {
	struct cell *cell;
	/* The cell's counters at the launch: not 0 in a cell that stayed. */
	struct cgroup_counters from;
	struct lines lines;
	struct kept_output kept;
	/* What the parser read in `kept` when the cell had failed; `parsed`: it was read. */
	struct crash_report report;
	bool parsed;
	struct engine_state engine;
	struct file_id binary;		/* size 0: not known */
	bool asked;			/* to stop, politely */
	bool forced;			/* the stop ladder went beyond the polite stop */
	enum engine_fault fault_before; /* what the engine reported before the forced stop */
	bool dump_sent;	       /* our dump signal was sent, and causes later crash artifacts */
	int64_t forced_ns;     /* time of the forced stop, comparable with ctimes */
	uint64_t dump_cpu_us;  /* the cell's CPU time at that moment */
	uint64_t stats_at_us;  /* when the engine last printed statistics; 0: never */
	uint64_t stats_cpu_us; /* the cell's CPU time at the first reading after that */
	struct file_id stats;  /* the engine's file of statistics at the last reading */
	bool ignored_dump;     /* the cell used CPU time after the signal, and no dump began */
	bool restarted;	       /* the engine started twice before any forced stop */
	bool ran;	       /* the engine has read the corpus, and fuzzes */
	bool at_mark;	       /* halted at the memory mark after it was asked to stop */
	uint64_t launched_us;
	uint64_t execs;	    /* the engine's claim; known when the cell has ended */
	uint64_t until_us;  /* when the keeper kills the cell; 0: it has no deadline */
	uint64_t absent_us; /* how long this process had not run before the cell's end */
	uint64_t waited_us; /* waited_us of the target's clock at the launch */
	uint64_t borrowed;  /* bytes of memory for a symbolizer; suppressions need names */
	bool has_leaks, has_undefined; /* suppressions of known crashes */
	bool has_others;	       /* inputs of other targets */
	uint64_t may_take_us;	       /* the engine's limit of an input's time */
	uint64_t max_len;	       /* the engine's -max_len; 0: the engine chooses */
	char refused[32];	       /* the refused system call of the input that ended it */
	/* How the cell failed, for a failure without an artifact.  own CRASH_OWN_NONE: it did not
	 * fail. */
	struct {
		enum crash_own own;
		char detail[32];
		bool by_text;
	} lost;
	char head[600]; /* the first bytes of output, for a failed start */
	size_t n_head;
	/* claims.c: lines that claim more edges than are known, kept until the process's files can
	 * be read.  Also how often they were read, and when last. */
	char held[4096];
	size_t n_held;
	unsigned looks;
	uint64_t looked_us;
};

/* Builds and starts a job's cell, with its mounts, limits and command.  Or starts the engine again
 * in the cell that stayed in j->seat. */
MUST_CHECK int fuzzing_launch(struct job *j, const struct cell_ops *ops, struct fuzzing **ret,
			      struct err *e);

/* Reduces the cell's counters to this process alone: in a cell that stayed they go on. */
void fuzzing_share(const struct fuzzing *a, struct cgroup_counters *io);
/* cell_read() and fuzzing_share(). */
MUST_CHECK int fuzzing_read(const struct fuzzing *a, struct cgroup_counters *ret, struct err *e);

/* Call it when the cell is gone or parked; NULL is fine. */
void fuzzing_free(const struct job *j, struct fuzzing *a);

/* The engine's limit of an input's time.  The engine measures wall time, so a target that waits for
 * CPUs gets more, up to four times as much.  Triage judges the timeouts that the engine still
 * reports.  starved: as in struct effective. */
uint64_t fuzzing_input_timeout(uint64_t may_take_us, double starved);

/* The host user of a job's cells. */
uid_t fuzzing_uid(const struct job *j);

#endif
