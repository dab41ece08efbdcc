/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzzing cell that failed leaves in the queue for triage beside its artifact, or
 * without one. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "runner/schedule/attempt.h"
#include "runner/schedule/internal.h"

#include <math.h>
#include <stdio.h>

/* A cell that we forced to dump only tells of our signal. */
static bool has_report(const struct job *j)
{
	enum engine_artifact a = j->target->engine->artifact(slice_of(j->engine.artifact));

	return j->attempt && j->ask == ASK_NOTHING && a != ENGINE_ARTIFACT_NONE &&
	       a != ENGINE_ARTIFACT_SLOW;
}

/* All but the text. */
static struct kept kept_of(const struct job *j)
{
	return (struct kept){
	    .run = j->env->dirs->id,
	    .commit = j->rebuilt ? NULL : j->env->triage_env.commit,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .binary = j->attempt->binary,
	    .starved = fmax(fmax(j->fleet->clock.starved, j->starved), job_waited_lately(j)),
	};
}

static int open_queue(const struct job *j, int *ret, struct err *e)
{
	int r = fs_mkdirs(j->env->triage, j->target->name, 0755, e);

	return r == 0 ? fs_open_dir(j->env->triage, j->target->name, ret, e) : r;
}

int job_keep_report(const struct job *j, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(KEPT_TEXT_MAX + 1);
	_autoclose_ int queue = -1;
	struct kept k;
	int r;

	if (!has_report(j))
		return 0;
	k = kept_of(j);
	r = open_queue(j, &queue, e);
	if (r == 0)
		r = kept_text(&j->attempt->kept, &text, e);
	k.text = buf_slice(&text);
	return r == 0 ? kept_write(queue, j->engine.artifact, &k, e) : r;
}

/* --- without an artifact ---------------------------------------------------- */

/* The engine's own report, when nothing but the target ended the cell. */
static bool says_it_itself(const struct job *j, enum failure what)
{
	return j->ask == ASK_NOTHING && (what == FAILURE_CRASH || what == FAILURE_TIMEOUT ||
					 what == FAILURE_OOM || what == FAILURE_LEAK);
}

void job_note_lost(struct job *j, const struct cell_facts *f, enum failure what)
{
	struct exec_end end = {
	    .failure = what,
	    .late = what == FAILURE_STUCK,
	    .code = f->code,
	    .signo = f->signo,
	    .engine = &j->engine,
	    .refused =
		f->ask == ASK_SYSCALL && j->n_refused > 0 ? j->refused[j->n_refused - 1].name : "",
	};
	struct attempt *a = j->attempt;

	a->lost.own = CRASH_OWN_;
	/* A target that never began to fuzz is "not fuzzed": that is no finding. */
	if (what == FAILURE_NONE || !j->fuzzed)
		return;
	a->lost.own = trial_own(&end, false, a->lost.detail);
	a->lost.by_text = says_it_itself(j, what);
}

int job_keep_lost(const struct job *j, bool *ret_kept, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(KEPT_TEXT_MAX + 1);
	const struct attempt *a = j->attempt;
	_autoclose_ int queue = -1;
	char cell[400];
	struct kept k;
	int r;

	*ret_kept = false;
	if (!a || a->lost.own == CRASH_OWN_)
		return 0;
	k = kept_of(j);
	k.own = crash_own_name(a->lost.own);
	k.detail = a->lost.detail;
	k.by_text = a->lost.by_text;
	r = open_queue(j, &queue, e);
	if (r == 0)
		r = kept_text(&a->kept, &text, e);
	k.text = buf_slice(&text);
	snprintf(cell, sizeof(cell), "%s/%s/%u", k.run, j->target->name, j->cells);
	if (r == 0)
		r = kept_write_lost(queue, cell, &k, e);
	*ret_kept = r == 0;
	return r;
}
