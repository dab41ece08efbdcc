/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_JOB_H
#define RUNNER_RUN_JOB_JOB_H

#include "base/buf.h"
#include "cells/cell.h"
#include "runner/config/config.h"
#include "runner/corpus/workdir.h"
#include "runner/dictionary/words.h"
#include "runner/policy/fleet.h"
#include "runner/run/disk.h"
#include "runner/run/job/phase.h"
#include "runner/run/job/progress.h"
#include "runner/run/job/reason.h"
#include "runner/run/job/seat.h"
#include "runner/run/job/suppress.h"
#include "runner/run/merge/merge.h"
#include "runner/run/triage/triage.h"
#include "runner/state/joblog.h"
#include "runner/state/series.h"
#include "runner/state/state.h"
#include "runner/status/row.h"
#include "runner/targets/discover.h"

/* One target's fuzz job in a run: cells one after the other until a reason to
 * end it.  Driven by phase.h's table; everything that blocks is a task. */
struct job;

enum job_news {
	JOB_STARTED,
	JOB_RESTARTED,
	JOB_FAILED,   /* a cell ended with a failure; job->last_failure */
	JOB_DROPPED,  /* it reaches much less than the build before */
	JOB_FORGES,   /* its engine's numbers are impossible */
	JOB_REQUEUED, /* paused */
	JOB_ENDED,
};

/* What all jobs of a run share; outlives them. */
struct job_env {
	struct loop *loop;
	struct cell_host *host;
	struct state *state;
	const struct run_dirs *dirs;
	int quarantine, triage; /* directories of the state */
	const char *rootfs;	/* NULL: the host's */
	uint64_t log_limit;
	uint64_t fuzz_until_us; /* end of the run's fuzzing; clock_mono_us(), 0: none */
	uint64_t began_us;	/* start of the run; clock_mono_us(), as end_us */
	uint64_t end_us; /* end of the run, triage and merging included; clock_mono_us(), 0: none */
	uint64_t started_real_us; /* its beginning, for people */
	struct triage_env triage_env;
	struct merge_env merge_env;
	/* Lends a job up to want more workers, as many as stand idle; give_back() takes
	 * them. */
	unsigned (*borrow)(void *arg, const struct job *j, unsigned want);
	void (*give_back)(void *arg, const struct job *j, unsigned lent);
	size_t merge_index; /* exec_spec.index of the first merging cell of the run */
	void (*news)(void *arg, struct job *j, enum job_news n);
	void *arg;
};

enum { JOB_REFUSED_MAX = 16, JOB_MERGE_CELLS = 64 };

/* One cell of a job, from launch to its end. */
struct attempt;

/* A target's binary as it was last looked at. */
struct job_binary {
	struct kept_file file; /* size 0: it was not there */
	int error;	       /* errno: it may not be read and run; 0: it may */
};

/* What is known of a program by its file; all 0: nothing. */
struct job_program {
	uint64_t edges;	  /* that it can count, without the libraries that it loads */
	bool has_library; /* more than its harness is instrumented */
};

/* What bounds the numbers that the job's engine prints. */
struct job_claims {
	uint64_t edges;	  /* edges that its program can have; 0: not known */
	uint64_t execs;	  /* last possible number of executions of the present cell */
	uint64_t lines;	  /* lines with statistics of earlier cells */
	uint64_t refused; /* lines and readings with impossible numbers */
	bool forged;	  /* there were so many that its numbers count for nothing */
	char text[160];	  /* the first of these numbers: "343172 edges reached, ..." */
};

/* Words of the program in the job's dictionary. */
struct job_words {
	struct job_dictionary {
		uint64_t given, own; /* entries of the given one; own 0: it is not joined */
	} has;
	struct words told; /* what the engine said of words since the last collecting */
};

struct job_refused {
	char name[32];
	uint64_t n;
	bool saved; /* an input that made the call is a finding */
};

struct job {
	const struct job_env *env;
	const struct target *target;
	const struct target_config *cfg; /* borrowed */
	size_t index;			 /* in the run: makes its user and its cells' names */
	enum phase phase;
	enum reason reason;
	enum reason pending; /* why it is being ended */
	enum ask ask;
	char note[200];

	struct attempt *attempt; /* NULL between cells */
	/* Where its cell stays after a known failure.  NULL: it had none in this turn, or its cells
	 * may not stay. */
	struct seat *seat;
	bool leaves_seat;     /* its cell is being ended */
	uint64_t seat_time_s; /* what the engine in it was given */
	struct source *timer;
	uint64_t grace_at, deadline_at; /* clock_mono_us(), 0: none */
	uint64_t used_us;		/* wall time in earlier turns in the queue */
	uint64_t granted_us;		/* of what it fuzzed: before a person started it again */
	uint64_t began_us;		/* of this turn, 0 when not in a turn */
	uint64_t turn_us;		/* it may take so long; 0: nobody waits for its worker */
	uint64_t put_off_us;		/* of both, time in which it did not fuzz */

	uint64_t start_us; /* from the launch of the first cell to its first output */
	uint64_t cells_us; /* wall time in cells that ended */
	double starved;	   /* share of its time that the last of them waited for a CPU */
	struct {
		uint64_t wall_us, waited_us;
	} marks[2]; /* of its clock: an input's time ago at most, and twice that */

	struct fleet_target *fleet; /* the run's: clock, coverage, when to stop */
	struct job_binary binary;   /* when its turn began, */
	struct kept_file at_start;  /* and when the run did */
	struct progress_build build;
	/* From earlier runs, as long as it is not known whether its build is the same; owned. */
	struct progress *kept;
	uint64_t cov, ft;     /* the most of this build in this run */
	uint64_t found_at_us; /* clock_mono_us() when they grew last; 0: never */
	uint64_t rss_mib;     /* the most that its engine told of */
	struct job_program program;
	/* What its engine said last. */
	struct {
		uint64_t edges_total, corpus_units, corpus_bytes, dict_entries;
	} said;
	struct job_claims claims;
	struct job_words words;
	uint64_t execs_before; /* in earlier cells, */
	uint64_t runs_from;    /* and when its build came */
	struct {
		uint64_t total, by_dict, by_cmp;
	} kept_before;			    /* of engine_state */
	struct cgroup_counters now, before; /* this cell; sums and maxima of earlier ones */
	double pressure[3]; /* cpu, memory, io: stalled share of the last interval */
	uint64_t over_mark_since;

	unsigned shortages; /* in a row, reported by crun */
	unsigned collects;  /* attempts to save in a row that failed for want of a resource */
	bool is_short;	    /* no cell for want of a resource, not yet noted by the run */
	bool was_short;	    /* its note says that a resource was short */

	bool active; /* holds a worker: the run sets and clears it */
	bool off;    /* a person stopped it: only a person starts it again */
	bool wanted; /* and has, while it came to its end */
	bool fuzzed;
	bool uncollected; /* its working directory still has what could not be saved */
	enum failure last_failure;
	bool starts_quickly; /* the last cell of this build read its corpus in a moment */
	bool knew;	     /* it was one of the target's known, open crashes */
	bool named_is_new;   /* by its report: the engine's artifact is of no crash that is known */
	struct suppress_not unsuppressed; /* its program ends at these all the same */
	uint64_t failures[FAILURE_COUNT];
	uint32_t failures_total, restarts;
	uint32_t stillborn, taken; /* as in struct loop_guard */
	uint32_t cells;		   /* launched so far: names the next one */
	/* Refused system calls, of JOB_REFUSED_MAX names; the last one is for all further names.
	 * NULL: there was none yet. */
	struct job_refused *refused;
	size_t n_refused;
	char *refused_text;

	/* Triage: after each failure, and of what earlier runs left. */
	struct triage *triage;
	/* Of all triages, as in struct triage_sum. */
	struct {
		uint64_t found, regressed, fixed, dismissed, left, undecided;
	} crashes;
	/* Of runs that were killed: no exit status has counted them (runner/crash/ledger/ledger.h).
	 */
	uint64_t uncounted_new, uncounted_regressed;
	uint64_t crashes_unchecked; /* no time to look whether these are fixed; at the job's end */
	uint64_t check_cut;   /* of these, when the last look at them began, but was cut short */
	uint64_t triage_us;   /* used so far */
	uint64_t left_judged; /* crashes.left, when the last triage had ended */
	uint64_t triage_began_us;
	uint64_t suspects; /* queued inputs of this run that may be timeouts */
	bool untriaged;	   /* artifacts were collected since the last triage */
	bool unchecked;	   /* whether known crashes are fixed was not looked at yet */
	bool in_a_hurry;   /* to pause */
	bool at_once;	   /* to end: what is left to do is for another run */
	uint32_t forgiven; /* failures of an older binary, of failures_total */
	bool unshrunk;	   /* inputs of its crashes are to be made smaller */
	bool shrinks;	   /* the triage in work does that */
	bool tidies;	   /* what is in work is a tidy-up that has not come to it */
	bool launched;	   /* there was a cell of this build */
	bool unproven;	   /* the build came in this run, and no cell of it was launched yet */
	bool rebuilt;	   /* its binary came during the run: the run's commit is not its */
	bool dropped;	   /* that was told: it reaches much less than the build before */
	bool held;	   /* its cell is frozen until the disk has room again */
	bool log_open;
	char checked[DIGEST_SHA1_HEX]; /* the build whose open crashes were tried last */
	struct row_crash *seen;	       /* crashes of this run; made at the job's end */
	size_t n_seen;

	/* The corpus, after the last cell. */
	struct merge *merge;
	struct merge_result *merged;	/* owned; NULL: there was none */
	bool has_merged;		/* since the last cell */
	uint64_t merges, merged_inputs; /* found.inputs at the last one */
	uint64_t tidied_at_us;
	unsigned lent; /* workers, while it merges */

	struct workdir_seeds seeds;
	struct workdir_found found;

	/* The space that its cell holds on the disk, and that of files saved from earlier cells. */
	struct {
		struct disk_usage now;
		struct disk_usage at_walk, before; /* at the last walk, and at the one before */
		uint64_t unexplained;  /* bytes that the disk lost and no cell is known to hold */
		uint64_t walked;       /* number of the last walk that reached it */
		struct fs_usage saved; /* since its run, or its day, began */
		struct workdir_kept kept;
	} disk;
	struct buf artifacts;
	struct series series;
	struct joblog log;
	uint64_t line_dropped;
};

/* cfg is borrowed until job_done(). */
void job_init(struct job *j, const struct job_env *env, const struct target *t,
	      const struct target_config *cfg, size_t index, struct fleet_target *fleet);
void job_done(struct job *j); /* only in queued or done */

/* A turn of budget_us wall time; at its end the job ends with REASON_TIME_LIMIT. */
void job_start(struct job *j, uint64_t budget_us);
/* One that waits, and was asked to end: what comes after fuzzing. */
void job_wrap_up(struct job *j);
bool job_wraps_up(const struct job *j); /* it waits for that */
/* End it with this reason: politely, or (now) with the forced dump first.  One that waits
 * in the queue, and has fuzzed, waits for job_wrap_up(). */
void job_stop(struct job *j, enum reason r, bool now);
/* End the cell politely and wait in the queue with what is left; now: what was found waits
 * for its triage, too. */
void job_pause(struct job *j, bool now);
/* One that waits: its corpus, and the inputs of its new crashes, are made smaller, then it waits
 * again.  Only when there is something new. */
void job_tidy(struct job *j);
/* Looks for crashes that earlier runs, or days, had no time to minimise. */
void job_find_unshrunk(struct job *j);
bool job_untidy(const struct job *j);
/* One that ended: its binary is another one now, it waits again. */
void job_revive(struct job *j);
/* What earlier runs know of it; before it starts. */
void job_load_progress(struct job *j);
/* Whether its binary is there, and another one than when its last turn began. */
bool job_other_binary(const struct job *j);
/* A line of ours in its log. */
void job_log(struct job *j, const char *text);
/* Whether its cell, with the files that this run saved of earlier ones, has reached a limit. */
bool job_over_disk(const struct job *j);
/* Freezes its cell, and lets it go on.  Only while it fuzzes: a cell that is being stopped runs. */
void job_hold(struct job *j, bool held);
/* Kill at once. */
void job_kill(struct job *j, enum reason r);
/* Once a second: counters, memory mark. */
void job_tick(struct job *j, uint64_t now_us);

/* Notes what its engine has reached by now. */
void job_reached(struct job *j, const struct engine_state *s);
uint64_t job_wall_us(const struct job *j, uint64_t now_us);
/* Of it, what counts against max_time: not the triage between its cells. */
uint64_t job_fuzzed_us(const struct job *j, uint64_t now_us);
void job_row(struct job *j, uint64_t now_us, struct target_row *ret);

#endif
