/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_JOB_H
#define RUNNER_RUN_JOB_JOB_H

#include "base/buf.h"
#include "base/file_id.h"
#include "cells/cell.h"
#include "runner/config/config.h"
#include "runner/corpus/workdir.h"
#include "runner/dictionary/words.h"
#include "runner/policy/fleet.h"
#include "runner/run/check/check.h"
#include "runner/run/coverage/coverage.h"
#include "runner/run/disk.h"
#include "runner/run/job/phase.h"
#include "runner/run/job/reason.h"
#include "runner/run/job/seat.h"
#include "runner/run/job/suppress.h"
#include "runner/run/merge/merge.h"
#include "runner/run/triage/triage.h"
#include "runner/state/joblog.h"
#include "runner/state/progress.h"
#include "runner/state/series.h"
#include "runner/state/state.h"
#include "runner/status/row.h"
#include "runner/targets/discover.h"

/* One target's fuzz job in a run.  The job starts one cell after the other until there is a reason
 * to end the job.  The table in phase.c drives it.  Everything that blocks runs in a child process
 * (base/task.h).
 *
 * A job waits in the queue, gets a worker for a turn or for several turns in a row, and waits
 * again.  A turn has one or more cells, with triage between them.  After the last turn come the
 * steps after fuzzing: merging the corpus, triage, and minimising reproducers. */
struct job;

enum job_news {
	JOB_STARTED,   /* a turn began */
	JOB_RESTARTED, /* the next cell of the turn started; not after a known crash */
	JOB_FAILED,    /* a cell ended with job->last_failure, which is not a known crash */
	JOB_DROPPED,   /* the build reaches much less than the build before */
	JOB_FORGES,    /* the engine's numbers are impossible */
	JOB_REQUEUED,  /* the job waits in the queue again */
	JOB_ENDED,     /* the job ended with job->reason */
};

/* The environment that all jobs of a run share.  It outlives the jobs. */
struct job_env {
	struct loop *loop;
	struct cell_host *host;
	struct state *state;
	const struct run_dirs *dirs;
	int quarantine, triage; /* descriptors of these two directories of the state */
	const char *rootfs;	/* root file system of the cells; NULL: the host's */
	uint64_t log_limit;	/* bytes of a job's log */
	uint64_t fuzz_until_us; /* end of the run's fuzzing, clock_mono_us(); 0: it has no end */
	uint64_t began_us;	/* start of the run, clock_mono_us() */
	/* End of the run with triage and merging, clock_mono_us(); 0: it has no end. */
	uint64_t end_us;
	uint64_t started_real_us; /* start of the run, clock_real_us() */
	struct triage_env triage_env;
	struct merge_env merge_env;
	/* Lends a job idle workers, `want` at most, and returns their number.  give_back() returns
	 * the workers to the run. */
	unsigned (*borrow)(void *arg, const struct job *j, unsigned want);
	void (*give_back)(void *arg, const struct job *j, unsigned lent);
	size_t merge_index; /* exec_spec.index of the first merging cell of the run */
	/* The CPU time that is left of the share of other builds (run.check_share); 0: none.
	 * check_begin() reserves a part of it for one check, at most so much; check_ended() counts
	 * what that check used. */
	uint64_t (*check_left)(void *arg);
	uint64_t (*check_begin)(void *arg, uint64_t most_us);
	void (*check_ended)(void *arg, uint64_t budget_us, uint64_t used_us);
	/* Source coverage, in a continuous run: at most this old (0: none is made), of the source
	 * tree (NULL: unknown). */
	uint64_t coverage_us;
	const char *sources;
	struct coverage_env coverage_env;
	/* The job saved so many new inputs: its main build is to read them, if it has one. */
	void (*gave)(void *arg, const struct job *j, uint64_t inputs);
	void (*news)(void *arg, struct job *j, enum job_news n);
	void *arg; /* for the functions above */
};

enum {
	JOB_REFUSED_MAX = 16, /* places in job->refused */
	JOB_MERGE_CELLS = 64, /* cells of one merge at once */
};

/* One cell of a job, from launch to its end. */
struct fuzzing;

/* The state of a target's binary. */
struct job_binary {
	struct file_id file; /* size 0: there was no binary */
	int error;	     /* errno of access(R_OK | X_OK); 0: permitted */
};

/* Facts from the target's program file; all 0: nothing is known. */
struct job_program {
	uint64_t edges;	  /* edges that the file can count, without the libraries that it loads */
	bool has_library; /* more than the fuzzing harness is instrumented */
};

/* Bounds for the numbers that the job's engine prints, and the numbers that violated them. */
struct job_claims {
	uint64_t edges; /* maximum number of edges of the program; 0: not known */
	/* Executions of this cell: the engine's last claim that was possible. */
	uint64_t execs;
	uint64_t lines;	  /* lines with statistics that earlier cells printed */
	uint64_t refused; /* lines and readings with impossible numbers */
	bool forged;	  /* `refused` is so high that all numbers of the engine are ignored */
	char text[160];	  /* the first impossible number: "343172 edges reached, ..." */
};

/* The job's dictionary, and words for later dictionaries. */
struct job_words {
	/* The dictionary of the present cell. */
	struct job_dictionary {
		/* Entries of the given dictionary (by the configuration, or beside the target). */
		uint64_t given;
		/* Words of the program.  0: the cell gets the given dictionary unchanged. */
		uint64_t own;
	} has;
	struct words printed; /* words in the engine's output since the last collecting */
};

/* A system call that cells refused to the target. */
struct job_refused {
	char name[32]; /* of the call */
	uint64_t n;    /* refusals */
	bool saved;    /* an input that made the call was saved as a finding */
};

/* Each member has one writer: the file that the heading above it names.  Other files call a
 * function of that file (internal.h).  fleet belongs to the policy. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members stand by their writers */
struct job {
	/* Set by job_init(). */
	const struct job_env *env;
	const struct target *target;
	const struct target_config *cfg;      /* borrowed */
	const struct target_config *variants; /* of each of target->variants; borrowed */
	size_t index;		    /* in the run: determines its user and its cells' names */
	struct fleet_target *fleet; /* the run's: clock, coverage, when to stop */

	/* --- Written by job.c.  phase: by job_step() alone, with the table in phase.c. */
	enum phase phase;
	enum reason reason;	 /* why the job ended; REASON_NONE: it has not ended */
	char note[200];		 /* for the user: the last problem; "": there was none */
	struct fuzzing *fuzzing; /* the present cell; NULL between cells */
	/* The job's only timer, for grace_at and deadline_at. */
	struct source *timer;
	uint64_t grace_at;    /* when the present step ends or is tried again; 0: no limit */
	uint64_t deadline_at; /* when the time for fuzzing is over; 0: outside of a turn */
	uint64_t used_us;     /* wall time of earlier turns */
	/* Start of this turn, or of job_wrap_up() or job_maintain(); 0: the job waits in the queue.
	 */
	uint64_t began_us;
	uint64_t put_off_us; /* wall time of triage between cells: it does not count as fuzzing */
	uint32_t restarts;   /* cells that started after another cell of the same turn */
	uint32_t cells;	     /* number of cells launched, and part of the next one's name */
	/* The cell is frozen, because the disk is nearly full.  The job still fuzzes: PHASE_HELD is
	 * something else, a kind of waiting. */
	bool frozen;
	/* A resource for a cell is short; the run has not handled it yet. */
	bool is_short;
	bool was_short; /* the note describes a shortage */
	bool log_open;
	struct joblog log;

	/* --- Written by intent.c: what the job was asked to do, and why it ends. */
	/* INTENT_NONE: it was asked nothing; it ends its turn by itself, or waits. */
	enum intent intent;
	/* Beside INTENT_PAUSE: it pauses without triage and merging, which wait until the job has a
	 * worker again. */
	bool hurries;
	/* Why the job will end, also if it was not asked to: it becomes `reason` when the steps
	 * after fuzzing are done.  REASON_NONE: the job will go on. */
	enum reason pending;
	enum ask ask; /* why the present or last cell was asked to end; ASK_NOTHING: it was not */

	/* --- Written by dispatch/dispatch.c. */
	/* Wall time of a turn (policy/fleet.h).  Triage gets half of it at most, unless the job
	 * is ending.  0: no bound. */
	uint64_t turn_us;
	bool active; /* the job holds a worker */

	/* --- Written by dispatch/user.c: what users asked for. */
	/* job_fuzzed_us() when a user last started the target: max_time counts from there. */
	uint64_t granted_us;
	bool off;    /* a user stopped the target: only a user starts it again */
	bool wanted; /* a user started the target again while the job was ending */

	/* --- Written by cell.c: the present cell, and sums over all cells. */
	uint64_t start_us; /* from the launch of the first cell to its first output */
	uint64_t cells_us; /* wall time in cells that ended */
	double starved;	   /* share of the last cell's time in which it waited for a CPU */
	/* Copies of two totals of fleet->clock, for job_waited_lately().  When an input timeout has
	 * passed since marks[0], marks[0] becomes marks[1], and the present totals become marks[0].
	 * So marks[1] is one to two input timeouts old.  Only time in cells counts. */
	struct {
		uint64_t wall_us, waited_us;
	} marks[2];
	uint64_t cov, ft;     /* maximum edges and features that this build reached in this run */
	uint64_t found_at_us; /* clock_mono_us() when fuzzing last raised cov or ft; 0: never */
	uint64_t rss_mib;     /* maximum memory that the engine reported */
	/* The values that the engine of this build last reported; 0: none. */
	struct {
		uint64_t edges_total, corpus_units, corpus_bytes, dict_entries;
	} reported;
	uint64_t execs_before; /* executions in earlier cells */
	/* Sums of engine_state.kept, kept_by_dict and kept_by_cmp of earlier cells. */
	struct {
		uint64_t total, by_dict, by_cmp;
	} kept_before;
	struct cgroup_counters now;    /* counters of this cell */
	struct cgroup_counters before; /* sums and maxima over earlier cells */
	/* Shares of the last interval between two readings in which the cell was stalled: on CPU,
	 * memory, I/O. */
	double pressure[3];
	/* clock_mono_us() when the cell's memory reached the mark below its limit; 0: it is below
	 * the mark. */
	uint64_t over_mark_since;
	unsigned shortages; /* launches in a row in which crun reported a shortage */
	bool fuzzed;	    /* fuzzing began in this run, with the build that was last launched */
	enum failure last_failure; /* of the last cell; FAILURE_NONE: it did not fail */
	bool starts_quickly;	   /* the last cell of this build read its corpus within a second */
	bool knew;		   /* the last failure is a known crash that is not fixed */
	bool named_is_new;	   /* the last report names a crash that is not known */
	struct suppress_not unsuppressed; /* crashes that end the program although suppressed */
	uint64_t failures[FAILURE_COUNT]; /* failures of this run, by kind */
	uint32_t failures_total;	  /* the sum of failures[] */
	uint32_t stillborn; /* failures in a row, each before fuzzing began in its cell */
	/* The part of `stillborn` after which an input was removed from the seeds, because it
	 * failed: the next cell may get further. */
	uint32_t taken;
	/* Refused system calls with JOB_REFUSED_MAX names; the last place counts all further names.
	 * NULL: no call was refused yet. */
	struct job_refused *refused;
	size_t n_refused;
	uint32_t
	    forgiven; /* failures of earlier days or builds: they do not count for max_crashes */
	uint64_t line_dropped; /* bytes of overlong output lines that were not parsed */

	/* --- Written by build.c: the target's build. */
	struct job_binary binary; /* the binary when this turn began */
	struct file_id at_start;  /* the binary when the run began */
	struct progress_build build;
	/* Progress of earlier runs, owned.  NULL: it is known whether the build is the same, or
	 * there was no progress. */
	struct progress *kept;
	uint64_t runs_from; /* execs_before when this build came: "runs" counts from there */
	bool launched;	    /* a cell of this build was launched */
	bool unproven;	    /* the build came in this run, and no cell of it was launched yet */
	bool rebuilt;	    /* the binary came during the run: the run's commit is not its commit */
	bool dropped;	    /* this build reaches much less than the build before; reported once */

	/* --- Written by files.c: the working directory, and its disk space. */
	struct job_program program;
	unsigned collects; /* failed attempts in a row to save results, for want of a resource */
	bool others_help;  /* the cell reached new edges with inputs of other targets */
	bool uncollected;  /* the working directory still has results that could not be saved */
	struct workdir_seeds seeds;
	struct workdir_found found; /* sums over all cells; some members stay 0 */
	/* Disk space of the present cell, and of files saved from earlier cells.  A walk counts the
	 * files in the cells' directories. */
	struct {
		struct disk_usage now;	   /* at the last measurement */
		struct disk_usage at_walk; /* at the last walk */
		struct disk_usage before;  /* at the walk before the last */
		/* Bytes that the file system lost and that no cell is known to hold.  They count
		 * only against a cell that can hide files. */
		uint64_t unexplained;
		/* Number of the last walk that measured this job's cell: a walk may run out of time
		 * before it comes to all cells. */
		uint64_t walked;
		struct fs_usage saved; /* files saved since the run, or the day, began */
		struct workdir_kept kept;
	} disk;
	struct buf artifacts; /* names of saved artifacts, one a line */

	/* --- Written by after.c: the seat, triage, merging, and maintenance. */
	/* Keeps the job's cell after a known failure, so that the engine starts again in that cell.
	 * NULL: no failure of this turn was known yet, or the cells may not be kept. */
	struct seat *seat;
	bool leaves_seat;     /* the seat is being closed */
	uint64_t seat_time_s; /* the engine's time limit in the seat */
	/* Triage: after a failure, and for artifacts of earlier runs.  NULL: none is in work. */
	struct triage *triage;
	/* Totals of struct triage_sum over all triages: found, regressed, fixed, dismissed.  left
	 * and undecided are the present numbers. */
	struct {
		uint64_t found, regressed, fixed, dismissed, left, undecided;
	} crashes;
	/* At the job's end: new and regressed crashes of killed runs.  No exit status has counted
	 * them yet (runner/crash/ledger/ledger.h). */
	uint64_t uncounted_new, uncounted_regressed;
	uint64_t crashes_unchecked; /* at the job's end: open crashes that were not checked */
	uint64_t check_cut;	    /* open crashes for which the last check had no time */
	uint64_t triage_us;	    /* triage time used in this run; continuous: today */
	uint64_t left_judged;	    /* crashes.left at the end of the last triage */
	uint64_t triage_began_us;   /* start of the last triage, clock_mono_us() */
	/* Inputs of this run in the queue that were dumped from cells that did not stop.  Each may
	 * be a timeout. */
	uint64_t suspects;
	bool untriaged;	  /* the queue has artifacts that the next triage should work on */
	bool unchecked;	  /* the known crashes have yet to be checked for fixes */
	bool unminimised; /* reproducers of the target's crashes wait to be minimised */
	bool minimises;	  /* the triage in work may minimise */
	bool maintains;	  /* job_maintain() is in work, and its triage has not begun */
	char checked[DIGEST_SHA1_HEX]; /* the build that was last checked for fixed crashes */
	struct row_crash *seen;	       /* crashes of this run; made at the job's end */
	size_t n_seen;
	/* Merging the corpus after the last cell.  NULL: no merge is in work. */
	struct merge *merge;
	struct merge_result *merged; /* result of the last merge, owned; NULL: there was none */
	bool has_merged;	     /* a merge began since the last cell was launched */
	uint64_t merges;	     /* merges in this run */
	uint64_t merged_inputs;	     /* found.inputs when the last merge began */
	/* clock_mono_us() when the last merge or job_maintain() began; 0: never. */
	uint64_t maintained_at_us;
	unsigned lent; /* workers that the job borrows while it merges */
	/* Running new inputs in the target's other builds.  NULL: no check is in work. */
	struct check *check;
	uint64_t check_budget_us; /* of the check in work */
	uint64_t check_began_us;  /* clock_mono_us() */
	bool check_waits;	  /* the last check left inputs, or variants, out */
	/* The programs of target->variants when the last check began, owned; NULL: none did. */
	struct file_id *check_files;
	bool check_idle; /* the last check ran nothing, or one input for too long: none is tried
			  * before another cell */
	uint64_t checked_inputs; /* found.inputs when the last check began */
	/* Sums of struct check_sum over all checks; left and since: of the last one. */
	struct {
		uint64_t ran, failed, cpu_us, left, since;
	} checks;

	/* --- Written by cover.c: the coverage report in work (NULL: none). */
	struct coverage *coverage;
	struct target_config *coverage_cfg; /* of its build, with a low weight; owned */
	uint64_t coverage_began_us;	    /* clock_mono_us() */
	bool coverage_known;		    /* coverage_s is known */
	uint64_t coverage_s;	  /* when the last report was tried, Unix seconds; 0: never */
	uint64_t coverage_lent;	  /* memory that the run lent for it */
	uint64_t coverage_merges; /* merges that gained inputs since then */

	/* --- Written by partners.c: inputs of the target's other builds. */
	unsigned borrowed_failed; /* they ended a cell of this turn while it read them */
	bool puts_off;		  /* the turn leaves the rest of them out */
	uint64_t prepared_us;	  /* clock_real_us() when the working directory was last laid out */
	/* A main build: it has read what its other builds had until then. */
	uint64_t partners_read_us;

	/* --- Each written by one file more: claims.c, words.c, row.c. */
	struct job_claims claims;
	struct job_words words;
	char *refused_text; /* the refused calls as text, owned */
	struct series series;
};

/* cfg is borrowed until job_done(), and so is variants: the configuration of each of t->variants.
 * fleet: the job's entry in the run's fleet. */
void job_init(struct job *j, const struct job_env *env, const struct target *t,
	      const struct target_config *cfg, const struct target_config *variants, size_t index,
	      struct fleet_target *fleet);
void job_done(struct job *j); /* call it only when the job waits or is done */

/* The strategies that may be tried on a target: a bit each (struct strategies).  alone: the run has
 * no other target. */
unsigned job_strategies(const struct target *t, const struct target_config *cfg, bool alone);

/* Starts a turn.  After budget_us of fuzzing (wall time) the job ends with REASON_TIME_LIMIT. */
void job_start(struct job *j, uint64_t budget_us);
/* Starts the steps after fuzzing, for a job that will end (job->pending) and waits in the queue. */
void job_wrap_up(struct job *j);
bool job_wraps_up(const struct job *j); /* whether the job waits for job_wrap_up() */
/* Ends the job with this reason.  An earlier reason stays.  By phase (phase.c has the table):
 *
 *   queued     The job ends.  If it has steps after fuzzing left, it first waits for
 *              job_wrap_up().
 *   preparing  The job ends when the child process has prepared the working directory.
 *   a cell     The cell gets the engine's stop signal.  If it does not end within the grace
 *              period, it is forced to dump its current input, then killed.  now: the forced dump
 *              comes at once.  Then the steps after fuzzing follow.
 *   triaging,  They go on, and the job ends after the steps after fuzzing.  `now` changes nothing.
 *   merging
 *
 * REASON_STOPPED, REASON_DISK_LIMIT and REASON_LOST also skip the steps after fuzzing: a job in the
 * queue ends at once, and triage and merging are stopped. */
void job_stop(struct job *j, enum reason r, bool now);
/* Ends the cell politely.  The job then waits in the queue with the rest of its time.  Triage and
 * merging in work come to their end first.  now: they are stopped, and no triage or merging is
 * begun before the job waits. */
void job_pause(struct job *j, bool now);
/* Merges the corpus of a waiting job and minimises the reproducers of its crashes.  Then the job
 * waits again.  Call it only if job_needs_maintenance(). */
void job_maintain(struct job *j);
/* Whether the job waits in the queue, and has new inputs to merge or reproducers to minimise. */
bool job_needs_maintenance(const struct job *j);
/* Takes the policy's reason to wait (fleet_waits_for()), if the job waits. */
void job_settle(struct job *j);
/* Puts a job that ended into the queue again, with new limits of failures and disk space. */
void job_revive(struct job *j);
/* Loads the progress of earlier runs.  Call it before job_start(). */
void job_load_progress(struct job *j);
/* The inputs in the corpus of a job that are newer than that time (clock_real_us()).  It reads a
 * directory. */
uint64_t job_inputs_since(const struct job *j, uint64_t real_us);
/* Whether the binary exists and has changed since the job last looked at it: when the last turn
 * began or, before the first turn, when the run began. */
bool job_other_binary(const struct job *j);
/* Adds a line of fuzzcell to the job's log. */
void job_log(struct job *j, const char *text);
/* The same, and the line becomes the job's note. */
void job_note(struct job *j, const char *text);
/* A new day of a continuous run: the limits of triage, failures and disk space begin anew. */
void job_new_day(struct job *j);
/* Whether a resource for a cell was short since the last call. */
bool job_take_shortage(struct job *j);
/* Take a measurement of the present cell's disk space: of all files by walk number `walk` (frozen:
 * the cell was then), of files without a name, and of the file system's unexplained loss. */
void job_disk_walked(struct job *j, const struct disk_usage *u, bool frozen, uint64_t walk);
void job_disk_nameless(struct job *j, const struct cell_nameless *n);
void job_disk_unexplained(struct job *j, uint64_t bytes);
/* Whether the files of the present cell, and those in job->disk.saved, reach together the target's
 * disk limit or WORKDIR_FILES_MAX. */
bool job_over_disk(const struct job *j);
/* Freezes (true) or thaws the job's cell.  Only a fuzzing cell is frozen: a stopping cell must
 * run. */
void job_freeze(struct job *j, bool frozen);
/* Kills the job's cell, or stops its triage or merge, at once.  The job ends with this reason, or
 * with an earlier one.  A job in the queue ends without the steps after fuzzing. */
void job_kill(struct job *j, enum reason r);
/* Call it once a second.  Reads the counters of a fuzzing cell.  At the memory mark, after a
 * refused fork, or when the target is stuck, saves the current input as a finding. */
void job_tick(struct job *j, uint64_t now_us);

/* Takes the coverage that the engine has reached. */
void job_reached(struct job *j, const struct engine_state *s);
/* Wall time of all turns until now. */
uint64_t job_wall_us(const struct job *j, uint64_t now_us);
/* The part of job_wall_us() that counts against max_time: without triage between cells. */
uint64_t job_fuzzed_us(const struct job *j, uint64_t now_us);
/* Fills the job's row of the run's status. */
void job_row(struct job *j, uint64_t now_us, struct target_row *ret);

#endif
