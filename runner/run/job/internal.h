/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_INTERNAL_H
#define RUNNER_RUN_JOB_INTERNAL_H

#include "base/clock.h"
#include "runner/run/job/job.h"

/* Shared by the files of this directory that make up a job. */

extern const struct cell_ops job_cell_ops;

void job_step(struct job *j, enum phase_event ev);
/* The turn or other work is over: the job waits, for the policy's reason. */
void job_wait(struct job *j);
void job_set_note(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* intent.c: nothing is asked of the job any more; pending stays. */
void intent_none(struct job *j);
/* The same, and the job goes on: a turn begins, or it starts again after its end. */
void intent_forget(struct job *j);
/* The job is to wait again. */
void intent_pause(struct job *j, bool now);
/* The same, at once, for a job between two cells or after the last: why its last cell was asked to
 * end does not matter any more. */
void intent_pause_work(struct job *j);
/* A waiting job gets other work, after which it waits again. */
void intent_maintain(struct job *j);
/* The job is to end for this reason, or for an earlier one. */
void intent_end(struct job *j, enum reason r);
/* The job ends by itself for this reason, or for an earlier one. */
void intent_set_reason(struct job *j, enum reason r);
/* The same.  Its cell was killed at its deadline: that is an end that we asked for. */
void intent_overdue(struct job *j, enum reason r);
void intent_blind(struct job *j);
/* The same.  The results of a cell could not be saved: after a pause this reason comes before an
 * earlier one. */
void intent_unsaved(struct job *j, enum reason r);
/* The cell ends because of the input in work. */
void intent_save_input(struct job *j, enum ask why);
/* Another cell, or the steps after fuzzing, come next. */
void intent_next_cell(struct job *j);

/* A cell is launched: these reset what their files know of the present cell. */
void job_cell_begin(struct job *j);
void job_disk_begin(struct job *j);
void job_build_launched(struct job *j);
void job_after_launch(struct job *j);
/* cell.c: another build came. */
void job_cell_other_build(struct job *j);
/* cell.c: the failures before fuzzing, or all failures until now, do not count any more. */
void job_starts_anew(struct job *j);
void job_forgive(struct job *j);
void job_count_failures(struct job *j, enum failure what, uint64_t n);
/* A failure after which the engine went on: it does not count towards giving the target up. */
void job_count_survived(struct job *j, enum failure what);
/* cell.c: an input that failed was removed from the seeds. */
void job_count_taken(struct job *j);
/* files.c: the inputs of other targets reached new edges. */
void job_others_help(struct job *j);
/* files.c: the files saved until now do not count any more. */
void job_disk_forgive(struct job *j);
/* build.c: the build's open crashes are checked before its next cell. */
void job_build_check_again(struct job *j);
/* claims.c: an earlier run ignored the numbers of this build. */
void job_claims_recall(struct job *j, const char *text);
/* job.c: the fuzzing cell is gone; the frozen cell is gone; the seat is closed; other work than
 * a turn begins. */
void job_forget_fuzzing(struct job *j);
void job_cell_thawed(struct job *j);
void job_end_wait(struct job *j);
void job_work_begins(struct job *j);
/* after.c: a new day; a job in work after job_maintain() waits again; artifacts came into the
 * queue, among them suspects; job->seen is made again at the job's end. */
void job_after_new_day(struct job *j);
void job_maintained(struct job *j);
void job_queued_artifacts(struct job *j, uint64_t suspects);
void job_forget_crashes(struct job *j);
/* after.c: a cell with this time limit is in the job's seat. */
void job_took_seat(struct job *j, uint64_t time_s);
/* Looks in the ledger for reproducers that earlier runs, or days, had no time to minimise. */
void job_find_unminimised(struct job *j);

/* The forced dump writes one file: only a hanging target needs more time. */
#define JOB_DUMP_GRACE_US USEC_PER_SEC
/* The wall time that a forced dump may take: one second, up to ten for a starved target.  starved:
 * the share of its time that the target waits for CPUs or memory. */
uint64_t job_dump_grace(double starved);

/* Whether the run's fuzzing ends before the job's own time does. */
bool job_ends_with_run(const struct job *j);

/* job.c: there is no cell because this process, its user or the machine is short of a resource. The
 * job goes back to the queue. */
void job_meet_shortage(struct job *j, const char *why);
/* Whether the end of a text reports a shortage of descriptors, processes, memory or groups. */
bool job_text_is_shortage(const char *text);

/* Moves the deadline by this time. */
void job_put_off(struct job *j, uint64_t us);

/* files.c: job_prepare() lays the working directory out, then calls job_after_prepare().
 * job_collect() saves the results of a cell, then calls job_after_collect(). */
MUST_CHECK int job_prepare(struct job *j, struct err *e);
void job_collect(struct job *j);
/* after.c: ends the cell in the job's seat, then calls job_after_collect(). */
void job_leave_seat(struct job *j);
/* job.c: calls job_collect() or job_leave_seat() once more, in a second. */
void job_collect_later(struct job *j);

/* build.c: notes the present state of the binary, for job_other_binary(). */
void job_look_at_binary(struct job *j);
/* Takes the identity of the target's present binary. */
void job_take_build(struct job *j, const struct file_id *file, const char *id);
/* The rest of the configured "runs", which count per build; 0: no limit. */
uint64_t job_runs_left(const struct job *j);
/* Saves the progress of the build to disk.  It blocks: call it in a child process. */
MUST_CHECK int job_save_progress(const struct job *j, struct err *e);
/* Counts the end of a cell. */
void job_count_health(struct job *j, enum failure what);
/* Whether the binary changed since the run began: then its commit is not known. */
bool job_is_rebuilt(const struct job *j);
/* Whether the build has had enough time, and reaches much less than the build before. */
bool job_coverage_dropped(const struct job *j);
/* Reports a drop of coverage, once. */
void job_watch_coverage(struct job *j);

/* claims.c: takes the number of edges that the build's program can have; 0: not known. */
void job_claims_build(struct job *j, uint64_t edges);
void job_claims_other_build(struct job *j);
/* A new cell of the job started: its engine's state is new. */
void job_claims_launched(struct job *j);
/* Takes a line of the engine into its state, unless its numbers are impossible. */
void job_claims_line(struct job *j, struct slice line);
/* Take the CPU time of the cell: once a second, and when the cell has ended. */
void job_claims_tick(struct job *j, uint64_t usage_us);
void job_claims_ended(struct job *j, uint64_t usage_us);
/* Executions of the present cell: the engine's claim, but no more than its CPU time allows. */
uint64_t job_execs(const struct job *j);
/* The peak memory of its process in bytes: the engine's claim, but no more than the kernel
 * counted. */
uint64_t job_claimed_rss(const struct job *j);

/* words.c: the dictionary from the configuration or beside the target; NULL: none. */
const char *job_given_dictionary(const struct job *j);
/* Takes the dictionary words from a line of the engine. */
void job_words_line(struct job *j, struct slice line);
/* Chooses words of the program, and writes JOB_DICTIONARY into the working directory: the given
 * entries, then these words.  ret->own 0: there is no such file.  It blocks: call it in a child
 * process. */
#define JOB_DICTIONARY "dictionary"
MUST_CHECK int job_words_prepare(const struct job *j, struct job_dictionary *ret, struct err *e);
void job_words_prepared(struct job *j, const struct job_dictionary *d, const char *failed);
/* Saves how useful the words were in the cell that ended.  It blocks, too. */
MUST_CHECK int job_words_collect(const struct job *j, struct err *e);
void job_words_collected(struct job *j);

/* strategy.c: the fuzzing strategy of the job's next cell (runner/policy/strategy.h). */
void job_strategy_apply(const struct job *j, struct engine_fuzz *io);
bool job_strategy_has_others(const struct job *j);
/* Lays out other seeds, after workdir_prepare(); keeps inputs of other targets that helped.  Both
 * block: call them in a child process. */
MUST_CHECK int job_strategy_prepare(const struct job *j, struct err *e);
MUST_CHECK int job_strategy_collect(const struct job *j, int corpus, struct err *e);

/* partners.c: the name of the i-th other build that lends the job its inputs; NULL: no more.
 */
const char *job_lender(const struct job *j, size_t i);
/* The working directory is laid out; one of these inputs failed while a cell read it (job.puts_off:
 * too many did); all were read; the progress of an earlier run. */
void job_partners_begin(struct job *j);
void job_borrowed_failed(struct job *j);
void job_has_read_partners(struct job *j);
void job_partners_recall(struct job *j, uint64_t read_us);
/* If too many failed, removes the rest from the working directory's seeds.  It blocks: call it in a
 * child process. */
MUST_CHECK int job_partners_put_off(const struct job *j, int corpus, struct err *e);

/* row.c: adds a point to the job's curves, if it is time for one.  rss: memory of its cell; end:
 * the cell has just ended.  job_end_series() ends the curves with the job. */
void job_sample(struct job *j, uint64_t now_us, uint64_t rss, bool end);
void job_end_series(struct job *j);

/* after.c: the next step after a cell was collected, or before the first cell. */
void job_after_prepare(struct job *j);
void job_after_collect(struct job *j);
/* The next step when fuzzing is over. */
enum phase_event job_after_last(const struct job *j);
/* Whether there are reproducers to minimise, and time for it. */
bool job_may_minimise(const struct job *j);
void job_triage(struct job *j);
void job_merge(struct job *j);
void job_check(struct job *j);
void job_list_crashes(struct job *j);
void job_after_next_step(struct job *j);
/* cover.c: source coverage.  Whether a report is due; makes it.  job_cover_gained(): a merge added
 * inputs to the corpus. */
bool job_cover_due(struct job *j);
void job_cover(struct job *j);
void job_cover_gained(struct job *j);
void job_cover_done(struct job *j); /* frees */
/* failure.c: keeps the report of an artifact beside the artifact's place in the queue.  The report
 * is the output of the cell that just ended, and is kept before the artifact is collected.  It
 * blocks: call it in a child process. */
MUST_CHECK int job_keep_report(const struct job *j, struct err *e);
/* Notes for job_keep_lost() how the cell failed; FAILURE_NONE: it did not. */
void job_note_lost(struct job *j, const struct cell_facts *f, enum failure what);
/* Parses the last cell's report, also for job_keep_report().  Returns the target's own open crash
 * with an input that the report names; NULL: the report names no such crash.  *ret_new: the report
 * names a crash, and it is none of these. */
const struct known_crash *job_known_failure(struct job *j, bool *ret_new);
/* Gives a failure of the cell without an artifact a place in the queue.  It blocks, too. */
MUST_CHECK int job_keep_lost(const struct job *j, bool *ret_kept, struct err *e);

/* The share of the job's recent time in which it waited for a CPU.  The period is at least as long
 * as an input may take. */
double job_waited_lately(const struct job *j);

/* Counts n timeouts that were found only after their cells had been stopped. */
void job_count_overrun(struct job *j, uint64_t n);

/* Why the job's cell was stopped.  It is ASK_MEMORY also when the cell came to the memory mark
 * after it was asked to stop for another reason. */
enum ask job_asked(const struct job *j);

/* The cell is gone: counts its failure, and decides what to do after collecting. */
void job_judge(struct job *j, const struct cell_end *end);

#endif
