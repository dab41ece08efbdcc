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

/* One target's fuzz job in a run: cells one after the other until there is a reason to end it.
 * The table of phase.h drives it.  Everything that blocks runs in a child process (base/task.h). */
struct job;

enum job_news {
	JOB_STARTED,
	JOB_RESTARTED,
	JOB_FAILED,   /* a cell ended with job->last_failure */
	JOB_DROPPED,  /* the build reaches much less than the build before */
	JOB_FORGES,   /* the engine's numbers are impossible */
	JOB_REQUEUED, /* the job was paused */
	JOB_ENDED,
};

/* Shared by all jobs of a run; it outlives them. */
struct job_env {
	struct loop *loop;
	struct cell_host *host;
	struct state *state;
	const struct run_dirs *dirs;
	int quarantine, triage; /* directories of the state */
	const char *rootfs;	/* NULL: the host's */
	uint64_t log_limit;
	/* clock_mono_us(); 0: none */
	uint64_t fuzz_until_us;	  /* end of the run's fuzzing */
	uint64_t began_us;	  /* start of the run */
	uint64_t end_us;	  /* end of the run, triage and merging included */
	uint64_t started_real_us; /* start of the run; clock_real_us() */
	struct triage_env triage_env;
	struct merge_env merge_env;
	/* Lends a job up to `want` idle workers; give_back() takes them back. */
	unsigned (*borrow)(void *arg, const struct job *j, unsigned want);
	void (*give_back)(void *arg, const struct job *j, unsigned lent);
	size_t merge_index; /* exec_spec.index of the first merging cell of the run */
	void (*news)(void *arg, struct job *j, enum job_news n);
	void *arg;
};

enum { JOB_REFUSED_MAX = 16, JOB_MERGE_CELLS = 64 };

/* One cell of a job, from launch to its end. */
struct attempt;

/* A target's binary at the last check. */
struct job_binary {
	struct kept_file file; /* size 0: it was not there */
	int error;	       /* errno of access(R_OK | X_OK); 0: permitted */
};

/* Facts from a program's file; all 0: nothing is known. */
struct job_program {
	uint64_t edges;	  /* edges that it can count, without the libraries that it loads */
	bool has_library; /* more than its harness is instrumented */
};

/* Bounds for the numbers that the job's engine prints, and violations. */
struct job_claims {
	uint64_t edges;	  /* edges that its program can have; 0: not known */
	uint64_t execs;	  /* last possible number of executions of the present cell */
	uint64_t lines;	  /* lines with statistics of earlier cells */
	uint64_t refused; /* lines and readings with impossible numbers */
	bool forged;	  /* there were so many that all its numbers are ignored */
	char text[160];	  /* the first of these numbers: "343172 edges reached, ..." */
};

/* Words of the program in the job's dictionary. */
struct job_words {
	struct job_dictionary {
		uint64_t given; /* entries of the given dictionary */
		uint64_t own;	/* words of the program; 0: the given dictionary is used as it is */
	} has;
	struct words told; /* words in the engine's output since the last collecting */
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
	size_t index;			 /* in the run: determines its user and its cells' names */
	enum phase phase;
	enum reason reason;
	enum reason pending; /* why the job is ending */
	enum ask ask;
	char note[200];

	struct attempt *attempt; /* NULL between cells */
	/* Where the job's cell stays after a known failure.  NULL: there was none in this turn, or
	 * the cells may not stay. */
	struct seat *seat;
	bool leaves_seat;     /* the seat is being closed */
	uint64_t seat_time_s; /* time limit of the engine in the seat */
	struct source *timer;
	uint64_t grace_at, deadline_at; /* clock_mono_us(), 0: none */
	uint64_t used_us;		/* wall time in earlier turns */
	uint64_t granted_us; /* job_fuzzed_us() when a user started it again: max_time restarts */
	uint64_t began_us;   /* start of this turn; 0: not in a turn */
	uint64_t turn_us;    /* length of this turn, it bounds triage; 0: no bound */
	uint64_t put_off_us; /* wall time in turns that does not count as fuzzing */

	uint64_t start_us; /* from the launch of the first cell to its first output */
	uint64_t cells_us; /* wall time in cells that ended */
	double starved;	   /* share of the last cell's time in which it waited for a CPU */
	struct {
		uint64_t wall_us, waited_us;
	} marks[2]; /* its clock at up to one and up to two input timeouts ago */

	struct fleet_target *fleet; /* the run's: clock, coverage, when to stop */
	struct job_binary binary;   /* when the turn began */
	struct kept_file at_start;  /* the binary when the run began */
	struct progress_build build;
	/* Progress of earlier runs, until it is known whether the build is the same; owned. */
	struct progress *kept;
	uint64_t cov, ft;     /* maxima of this build in this run */
	uint64_t found_at_us; /* clock_mono_us() when one of them last grew; 0: never */
	uint64_t rss_mib;     /* maximum that the engine reported */
	struct job_program program;
	/* The engine's last reported values. */
	struct {
		uint64_t edges_total, corpus_units, corpus_bytes, dict_entries;
	} said;
	struct job_claims claims;
	struct job_words words;
	uint64_t execs_before; /* executions in earlier cells */
	uint64_t runs_from;    /* execs_before when the build came */
	struct {
		uint64_t total, by_dict, by_cmp;
	} kept_before;			    /* engine_state's counts, of earlier cells */
	struct cgroup_counters now, before; /* this cell; sums and maxima of earlier cells */
	double pressure[3]; /* cpu, memory, io: stalled share of the last interval */
	uint64_t over_mark_since;

	unsigned shortages; /* shortages in a row that crun reported */
	unsigned collects;  /* failed attempts in a row to save results, for want of a resource */
	bool is_short;	    /* a resource for a cell is short; the run has not handled it yet */
	bool was_short;	    /* the note describes a shortage */

	bool active; /* holds a worker: the run sets and clears it */
	bool off;    /* a user stopped it: only a user starts it again */
	bool wanted; /* a user started it again while it was ending */
	bool fuzzed;
	bool uncollected; /* the working directory still has results that could not be saved */
	enum failure last_failure;
	bool starts_quickly; /* the last cell of this build read its corpus within a second */
	bool knew;	     /* the last failure was one of the target's known, open crashes */
	bool named_is_new;   /* the last report names a crash that is not known */
	struct suppress_not unsuppressed; /* crashes that end the program although suppressed */
	uint64_t failures[FAILURE_COUNT];
	uint32_t failures_total, restarts;
	uint32_t stillborn, taken; /* as in struct loop_guard */
	uint32_t cells;		   /* number of cells launched, and part of the next one's name */
	/* Refused system calls with JOB_REFUSED_MAX names; the last place counts all further names.
	 * NULL: there was none yet. */
	struct job_refused *refused;
	size_t n_refused;
	char *refused_text;

	/* Triage: after each failure, and for artifacts of earlier runs. */
	struct triage *triage;
	/* Sums of all triages, as in struct triage_sum. */
	struct {
		uint64_t found, regressed, fixed, dismissed, left, undecided;
	} crashes;
	/* Crashes of killed runs that no exit status has counted (runner/crash/ledger/ledger.h). */
	uint64_t uncounted_new, uncounted_regressed;
	uint64_t crashes_unchecked; /* at the job's end: open crashes that were not checked */
	uint64_t check_cut;	    /* open crashes that the last check, cut short, did not reach */
	uint64_t triage_us;	    /* triage time used so far */
	uint64_t left_judged;	    /* crashes.left at the end of the last triage */
	uint64_t triage_began_us;
	uint64_t suspects; /* queued inputs of this run that may be timeouts */
	bool untriaged;	   /* artifacts were collected since the last triage */
	bool unchecked;	   /* the known crashes have yet to be checked for fixes */
	bool in_a_hurry;   /* it pauses: triage waits, too */
	bool at_once;	   /* it ends: the rest of the work is left to another run */
	uint32_t forgiven; /* failures in failures_total that do not count for max_crashes */
	bool unshrunk;	   /* reproducers of its crashes wait to be minimised */
	bool shrinks;	   /* the triage in work minimises */
	bool tidies;	   /* a tidy-up is in work, and has not begun to minimise */
	bool launched;	   /* there was a cell of this build */
	bool unproven;	   /* the build came in this run, and no cell of it was launched yet */
	bool rebuilt;	   /* the binary came during the run: the run's commit is not its commit */
	bool dropped;	   /* it was reported that this build reaches much less than the last */
	bool held;	   /* the cell is frozen until the disk has space again */
	bool log_open;
	char checked[DIGEST_SHA1_HEX]; /* the build that was last checked for fixed crashes */
	struct row_crash *seen;	       /* crashes of this run; made at the job's end */
	size_t n_seen;

	/* The corpus, after the last cell. */
	struct merge *merge;
	struct merge_result *merged;	/* owned; NULL: there was none */
	bool has_merged;		/* since the last cell */
	uint64_t merges, merged_inputs; /* number of merges; found.inputs at the last merge */
	uint64_t tidied_at_us;
	unsigned lent; /* workers that it borrows while it merges */

	struct workdir_seeds seeds;
	struct workdir_found found;

	/* Disk space of its cell, and of files saved from earlier cells. */
	struct {
		struct disk_usage now;
		struct disk_usage at_walk, before; /* at the last walk, and at the walk before */
		uint64_t unexplained;  /* bytes that the disk lost and no cell is known to hold */
		uint64_t walked;       /* number of the last walk that reached it */
		struct fs_usage saved; /* since the run, or the day, began */
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
void job_done(struct job *j); /* only in PHASE_QUEUED or PHASE_DONE */

/* Starts a turn of budget_us wall time; at its end the job ends with REASON_TIME_LIMIT. */
void job_start(struct job *j, uint64_t budget_us);
/* Starts the steps after fuzzing, for a job that was asked to end while it waited. */
void job_wrap_up(struct job *j);
bool job_wraps_up(const struct job *j); /* whether the job waits for job_wrap_up() */
/* Ends the job with this reason: politely, or (now) with the forced dump first.  A job in the queue
 * that has work left after fuzzing waits for job_wrap_up(). */
void job_stop(struct job *j, enum reason r, bool now);
/* Ends the cell politely; the job waits in the queue with the rest of its time.  now: triage of its
 * finds waits, too. */
void job_pause(struct job *j, bool now);
/* Merges the corpus of a waiting job and minimises the inputs of its new crashes.  Then the job
 * waits again.  Only if job_untidy(). */
void job_tidy(struct job *j);
/* Looks for crashes that earlier runs, or days, had no time to minimise. */
void job_find_unshrunk(struct job *j);
/* Whether a waiting job has something new to merge or to minimise. */
bool job_untidy(const struct job *j);
/* Puts a job that ended into the queue again. */
void job_revive(struct job *j);
/* Loads the progress of earlier runs; call it before the job starts. */
void job_load_progress(struct job *j);
/* Whether the binary is there and has changed since the last turn began. */
bool job_other_binary(const struct job *j);
/* Adds a line of fuzzcell to the job's log. */
void job_log(struct job *j, const char *text);
/* Whether its cell, with the files that this run saved from earlier cells, has reached a limit. */
bool job_over_disk(const struct job *j);
/* Freezes or thaws the job's cell.  Only a fuzzing cell is frozen: a stopping cell must run. */
void job_hold(struct job *j, bool held);
/* Kills the job's cell at once, and ends the job. */
void job_kill(struct job *j, enum reason r);
/* Once a second: reads the counters and checks the memory mark. */
void job_tick(struct job *j, uint64_t now_us);

/* Takes the coverage that the engine has reached. */
void job_reached(struct job *j, const struct engine_state *s);
uint64_t job_wall_us(const struct job *j, uint64_t now_us);
/* The part of job_wall_us() that counts against max_time: without triage between cells. */
uint64_t job_fuzzed_us(const struct job *j, uint64_t now_us);
void job_row(struct job *j, uint64_t now_us, struct target_row *ret);

#endif
