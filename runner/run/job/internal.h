/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_INTERNAL_H
#define RUNNER_RUN_JOB_INTERNAL_H

#include "runner/run/job/job.h"

/* Between job.c (phases), cell.c (what a cell tells) and row.c. */

extern const struct cell_ops job_cell_ops;

void job_step(struct job *j, enum phase_event ev);
void job_set_note(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The forced dump writes one file; more time would only serve a hanging target.  This is wall
 * time: it is longer where CPUs are short. */
#define JOB_DUMP_GRACE_US UINT64_C(1000000)
/* How long a forced dump may take, for a target that waits for CPUs or, at its memory mark, for
 * memory, such a share of its time: a second, up to ten of them. */
uint64_t job_dump_grace(double starved);

/* limits.c: gives the keeper the cell's deadline, for the case that we are stopped. */
void job_tell_keeper(struct job *j);
/* Whether the run's fuzzing ends before the job's own time does. */
bool job_ends_with_run(const struct job *j);

/* limits.c: there is no cell because this process, its user or the machine is short of a
 * resource.  The job goes back to the queue. */
void job_is_short(struct job *j, const char *why);
/* Whether an errno, or the end of a text, reports a shortage of descriptors, processes, memory
 * or groups. */
bool job_is_shortage(int code);
bool job_tells_shortage(const char *text);

/* The deadline comes so much later. */
void job_put_off(struct job *j, uint64_t us);

/* disk.c: lays the working directory out; job_after_prepare() is told.  Collects what a
 * cell left; job_after_collect() is told. */
MUST_CHECK int job_prepare(struct job *j, struct err *e);
void job_collect(struct job *j);
/* after.c: ends the cell in its seat, then job_after_collect() goes on. */
void job_leave_seat(struct job *j);
/* job.c: calls job_collect() or job_leave_seat() once more, in a second. */
void job_collect_later(struct job *j);

/* build.c: looks at the binary, for job_other_binary(). */
void job_look_at_binary(struct job *j);
/* The target's binary is this one. */
void job_take_build(struct job *j, const struct kept_file *file, const char *id);
/* Of "runs", which each build has; 0: no limit. */
uint64_t job_runs_left(const struct job *j);
/* What is known of its build, on disk.  Blocks: in a child process. */
MUST_CHECK int job_save_progress(const struct job *j, struct err *e);
/* A cell ended so. */
void job_count_health(struct job *j, enum failure what);
/* Its binary is not the one that the run began with: nobody said which commit it is of. */
bool job_is_rebuilt(const struct job *j);
/* The seeds are read, and it reaches much less than the build before. */
bool job_coverage_dropped(const struct job *j);
/* Says so, once. */
void job_watch_coverage(struct job *j);

/* claims.c: how many edges the build's program can have; 0: not known. */
void job_claims_build(struct job *j, uint64_t edges);
void job_claims_other_build(struct job *j);
/* A new cell of the job started: its engine's state is new. */
void job_claims_launched(struct job *j);
/* Takes a line of the engine into its state, unless its numbers are impossible. */
void job_claims_line(struct job *j, struct slice line);
/* The CPU time of its cell: once a second, and when the cell has ended. */
void job_claims_tick(struct job *j, uint64_t usage_us);
void job_claims_ended(struct job *j, uint64_t usage_us);
/* Executions of the present cell: the engine's claim, but no more than its CPU time allows. */
uint64_t job_execs(const struct job *j);
/* The peak memory of its process in bytes: the engine's claim, but no more than the kernel
 * counted. */
uint64_t job_claimed_rss(const struct job *j);

/* words.c: the dictionary that the target was given; NULL: none. */
const char *job_given_dictionary(const struct job *j);
/* Takes what a line of the engine says of words. */
void job_words_line(struct job *j, struct slice line);
/* Chooses words of the program and writes JOB_DICTIONARY, which has them behind the given ones,
 * into the working directory.  ret->own 0: there is no such file.  Blocks: for a child.
 */
#define JOB_DICTIONARY "dictionary"
MUST_CHECK int job_words_prepare(const struct job *j, struct job_dictionary *ret, struct err *e);
void job_words_prepared(struct job *j, const struct job_dictionary *d, const char *failed);
/* Notes what the words of the cell that ended brought.  Blocks, too. */
MUST_CHECK int job_words_collect(const struct job *j, struct err *e);
void job_words_collected(struct job *j);

/* series.c: a point of its curves, if it is time for one; rss: of its cell, end: that has just
 * ended.  The job ended: no more. */
void job_sample(struct job *j, uint64_t now_us, uint64_t rss, bool end);
void job_end_series(struct job *j);

/* after.c: what happens when a cell's work was collected (or before the first). */
void job_after_prepare(struct job *j);
void job_after_collect(struct job *j);
/* Fuzzing is over: what is there still to do? */
enum phase_event job_after_last(const struct job *j);
/* There are inputs to be made smaller, and is time for it. */
bool job_may_shrink(const struct job *j);
void job_triage(struct job *j);
void job_merge(struct job *j);
void job_tell_crashes(struct job *j);
/* failure.c: keeps the report of an artifact beside the artifact's place in the queue.  It is
 * the output of the cell that just ended, and is kept before the artifact is collected.  Blocks:
 * for a child process. */
MUST_CHECK int job_keep_report(const struct job *j, struct err *e);
/* Notes for job_keep_lost() how the cell failed; FAILURE_NONE: it did not. */
void job_note_lost(struct job *j, const struct cell_facts *f, enum failure what);
/* The target's own crash that the last cell's report is of, if that is open and has an input;
 * NULL: the report is of no such crash.  *ret_new: the
 * report says which crash it is, and that is none of these. */
const struct known_crash *job_known_failure(const struct job *j, bool *ret_new);
/* Gives a failure of the cell without an artifact a place in the queue.  Blocks, too. */
MUST_CHECK int job_keep_lost(const struct job *j, bool *ret_kept, struct err *e);

/* Of its last time, as long as an input may take at least, the share that it waited for a CPU. */
double job_waited_lately(const struct job *j);

/* Counts n timeouts that were found only after their cells had been stopped. */
void job_count_overrun(struct job *j, uint64_t n);

/* Why its cell was stopped: ASK_MEMORY also when it came to the memory mark after it was asked
 * to stop for another reason. */
enum ask job_asked(const struct job *j);

/* The cell is gone: counts what it left and decides what to do after collecting. */
void job_judge(struct job *j, const struct cell_end *end);

#endif
