/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that the target did not cause: a resource for a cell is short, or fuzzcell was suspended
 * while a cell ran. */
#include "base/clock.h"
#include "base/task.h"
#include "runner/run/job/attempt.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/setup.h"

#include <errno.h>
#include <string.h>

/* --- shortage of our resources ------------------------------------------------ */

bool job_is_shortage(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN ||
	       code == ENOSPC || code == EUSERS;
}

bool job_tells_shortage(const char *text)
{
	/* ENOSPC is missing: a full disk has rules of its own. */
	static const int codes[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, EUSERS};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strstr(text, strerrordesc_np(codes[i])))
			return true;
	/* The machine's OOM killer, or a user, killed our own process.  Or crun cannot give a cell
	 * more than our own hard limits allow (ulimit -Hf, -Ht). */
	return strstr(text, TASK_DIED) || strstr(text, "crun was ended by signal") ||
	       strstr(text, "setrlimit `");
}

void job_is_short(struct job *j, const char *why)
{
	job_set_note(j, "%s", why);
	j->is_short = j->was_short = true;
	intent_pause(j, true); /* triage needs cells, too: it waits */
}

bool job_take_shortage(struct job *j)
{
	bool is = j->is_short;

	j->is_short = false;
	return is;
}

void job_short_is_over(struct job *j)
{
	if (j->was_short)
		job_set_note(j, "%s", "");
	j->was_short = false;
}

/* --- while fuzzcell is suspended ------------------------------------------------ */

static uint64_t run_ends_us(const struct job *j)
{
	/* The end of the run's fuzzing is checked once a second. */
	return j->env->fuzz_until_us ? j->env->fuzz_until_us + USEC_PER_SEC : UINT64_MAX;
}

bool job_ends_with_run(const struct job *j)
{
	return !j->deadline_at || run_ends_us(j) < j->deadline_at;
}

/* The latest time at which fuzzcell itself ends the cell, as things stand. */
static uint64_t cell_ends_us(const struct job *j)
{
	uint64_t at = job_ends_with_run(j) ? run_ends_us(j) : j->deadline_at;

	if (j->phase == PHASE_RUNNING)
		return at < UINT64_MAX / 2 ? at + j->cfg->grace_us + JOB_DUMP_GRACE_US : 0;
	return j->phase == PHASE_POLITE ? j->grace_at + JOB_DUMP_GRACE_US : j->grace_at;
}

void job_tell_keeper(struct job *j)
{
	struct attempt *a = j->attempt;
	uint64_t at = a && a->cell ? cell_ends_us(j) : 0;
	struct err e;

	if (!at || at + SETUP_KEEPER_SLACK_US == a->until_us)
		return;
	a->until_us = at + SETUP_KEEPER_SLACK_US;
	if (cell_deadline(a->cell, a->until_us, &e) < 0)
		joblog_note(
		    &j->log,
		    "the keeper has no deadline for the case that fuzzcell is suspended: %s",
		    e.msg);
}
