/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the failure of a fuzzing cell into the queue for triage: a report beside its artifact, or
 * a place without an artifact. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/crash/report/json.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The cell's limits come before the target's report: they may have caused it. */
static enum crash_own job_failure_cause_of(const struct job *j)
{
	if (j->last_failure == FAILURE_PIDS)
		return CRASH_OWN_PIDS;
	if (j->last_failure == FAILURE_SYSCALL)
		return CRASH_OWN_SECCOMP;
	if (j->last_failure == FAILURE_OOM && job_asked(j) == ASK_MEMORY)
		return CRASH_OWN_MEMORY;
	return CRASH_OWN_NONE;
}

static bool has_report(const struct job *j)
{
	enum engine_artifact a;

	if (!j->fuzzing)
		return false;
	a = j->target->engine->artifact(slice_of(j->fuzzing->engine.artifact));
	return (j->ask == ASK_NOTHING || job_failure_cause_of(j) != CRASH_OWN_NONE ||
		!j->fuzzing->forced) &&
	       a != ENGINE_ARTIFACT_NONE && a != ENGINE_ARTIFACT_SLOW;
}

/* The name of the collected artifact: "<kind>-<sha1>". */
static const char *saved_name(const struct job *j, char out[KEPT_NAME])
{
	const char *kind = engine_artifact_name(failure_artifact(j->last_failure));
	const char *sha1 = strrchr(j->fuzzing->engine.artifact, '-');

	if (job_failure_cause_of(j) == CRASH_OWN_NONE || !kind || !sha1)
		return j->fuzzing->engine.artifact;
	snprintf(out, KEPT_NAME, "%s%s", kind, sha1);
	return out;
}

/* All fields but the text. */
static struct kept kept_of(const struct job *j)
{
	return (struct kept){
	    .run = j->env->dirs->id,
	    .commit = j->rebuilt ? NULL : j->env->triage_env.commit,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .binary = j->fuzzing->binary,
	    .starved = fmax(fmax(j->fleet->clock.starved, j->starved), job_waited_lately(j)),
	};
}

static int open_queue(const struct job *j, int *ret, struct err *e)
{
	return fs_make_dir(j->env->triage, j->target->name, 0755, ret, e);
}

int job_keep_report(const struct job *j, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(KEPT_TEXT_MAX + 1);
	_autojson_ json_t *report = NULL;
	_autoclose_ int queue = -1;
	enum crash_own cause = job_failure_cause_of(j);
	char name[KEPT_NAME];
	struct kept k;
	int r;

	if (!has_report(j))
		return 0;
	k = kept_of(j);
	k.own = crash_own_name(cause);
	k.detail = cause == CRASH_OWN_SECCOMP ? j->fuzzing->refused : "";
	if (cause == CRASH_OWN_NONE && j->fuzzing->parsed)
		report = crash_report_json(&j->fuzzing->report);
	k.report = report;
	r = open_queue(j, &queue, e);
	/* After a forced dump the cell's output describes only our signal. */
	if (r == 0)
		r = (cause == CRASH_OWN_NONE ? kept_text : kept_text_before)(&j->fuzzing->kept,
									     &text, e);
	k.text = buf_slice(&text);
	return r == 0 ? kept_write(queue, saved_name(j, name), &k, e) : r;
}

/* Parses the text, which the present cell printed. */
static void job_failure_parse(const struct job *j, struct slice text, struct crash_report *ret)
{
	char build[FILE_ID_TEXT];
	struct crash_options o = {.target = j->target->name,
				  .build = file_id_text(&j->fuzzing->binary, build)};

	crash_parse(text, &o, ret);
}

const struct known_crash *job_known_failure(struct job *j, bool *ret_new)
{
	const struct ledger *l = books_ledger(j->env->triage_env.books);
	_autobuf_ struct buf text = BUF_INIT(KEPT_TEXT_MAX + 1);
	const struct known_crash *c = NULL, *own;
	const struct crash_report *report;
	struct err ignored;

	*ret_new = false;
	if (!has_report(j) || job_failure_cause_of(j) != CRASH_OWN_NONE ||
	    kept_text(&j->fuzzing->kept, &text, &ignored) < 0)
		return NULL;
	crash_report_done(&j->fuzzing->report);
	job_failure_parse(j, buf_slice(&text), &j->fuzzing->report);
	j->fuzzing->parsed = true;
	report = &j->fuzzing->report;
	if (report->found && *report->raw_key)
		c = ledger_find_raw(l, j->target->name, report->raw_key);
	if (report->found && !c && !report->unsymbolized)
		c = ledger_find(l, report->signature);
	own = c ? ledger_entry(c, j->target->name) : NULL;
	own = own && *own->crash_file && own->state != LEDGER_FIXED ? own : NULL;
	*ret_new = report->found && (*report->raw_key || !report->unsymbolized) && !own;
	return own;
}

/* --- without an artifact ---------------------------------------------------- */

/* Whether the failure is the engine's own report: nothing stopped the cell, or the report came
 * before our stop. */
static bool says_it_itself(const struct job *j, enum failure what)
{
	return (j->ask == ASK_NOTHING || j->ask == ASK_FINISH || j->ask == ASK_PAUSE) &&
	       (what == FAILURE_CRASH || what == FAILURE_TIMEOUT || what == FAILURE_OOM ||
		what == FAILURE_LEAK);
}

/* The target ignored the stop and the dump signal, and its engine has printed no statistics for
 * longer than one input may take. */
static bool ignored_signals(const struct job *j)
{
	const struct fuzzing *a = j->fuzzing;

	return a->asked && a->ignored_dump && a->stats_at_us &&
	       clock_mono_us() > a->stats_at_us + a->may_take_us;
}

void job_note_lost(struct job *j, const struct cell_facts *f, enum failure what)
{
	struct exec_end end = {
	    .failure = what,
	    .late = what == FAILURE_STUCK,
	    .code = f->code,
	    .signo = f->signo,
	    .engine = &j->fuzzing->engine,
	    .refused = f->ask == ASK_SYSCALL ? j->fuzzing->refused : "",
	};
	struct fuzzing *a = j->fuzzing;

	a->lost.own = CRASH_OWN_NONE;
	/* A target that never began to fuzz is "not fuzzed": that is no finding. */
	if (!j->fuzzed)
		return;
	if (what == FAILURE_NONE) {
		a->lost.own = ignored_signals(j) ? CRASH_OWN_TIME : CRASH_OWN_NONE;
		return;
	}
	a->lost.own = failure_own(&end, false, a->lost.detail);
	a->lost.by_text = says_it_itself(j, what);
}

int job_keep_lost(const struct job *j, bool *ret_kept, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(KEPT_TEXT_MAX + 1);
	const struct fuzzing *a = j->fuzzing;
	_autojson_ json_t *json = NULL;
	_autoclose_ int queue = -1;
	struct crash_report report;
	char cell[400];
	struct kept k;
	int r;

	*ret_kept = false;
	if (!a || a->lost.own == CRASH_OWN_NONE)
		return 0;
	k = kept_of(j);
	k.own = crash_own_name(a->lost.own);
	k.detail = a->lost.detail;
	k.by_text = a->lost.by_text;
	if (ignored_signals(j)) /* it used the CPU time that an input may take */
		k.starved = 0;
	r = open_queue(j, &queue, e);
	if (r == 0)
		r = kept_text(&a->kept, &text, e);
	k.text = buf_slice(&text);
	job_failure_parse(j, k.text, &report);
	json = crash_report_json(&report);
	k.report = json;
	crash_report_done(&report);
	snprintf(cell, sizeof(cell), "%s/%s/%u", k.run, j->target->name, j->cells);
	if (r == 0)
		r = kept_write_lost(queue, cell, &k, e);
	*ret_kept = r == 0;
	return r;
}
