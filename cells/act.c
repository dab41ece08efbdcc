/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on a living cell. */
#include "base/proc.h"
#include "cells/internal.h"

#include <errno.h>
#include <signal.h>

int cell_signal(struct cell *c, int signo, struct err *e)
{
	if (c->state < ENDING && !c->job.pid && !c->job.ended) {
		c->job.pending |= UINT64_C(1) << (signo - 1);
		return 0;
	}
	if (!c->job.pid)
		return err_set(e, ESRCH, "cell '%s' runs no job any more", c->id);
	/* In a halted cell any thread might take the signal after the thaw, but only the first
	 * thread runs then. */
	return c->mark.halted || c->mark.alone ? proc_kill_first(c->job.pid, signo, e)
					       : proc_kill(c->job.fd, signo, e);
}

int cell_kill(struct cell *c, struct err *e)
{
	if (!c->group)
		return 0;
	if (c->state == STARTING && !c->cut)
		c->cut = "killed while it was starting";
	return cgroup_kill(c->group, e);
}

pid_t cell_pid(const struct cell *c)
{
	return c->job.pid;
}

int cell_gone(const struct cell *c, struct err *e)
{
	return err_set(e, ESRCH, "cell '%s' is gone", c->id);
}

int cell_freeze(struct cell *c, bool frozen, struct err *e)
{
	if (c->state < RUNNING) { /* crun would be frozen, too, and miss its deadline */
		c->freeze = frozen;
		return 0;
	}
	return c->group ? cgroup_freeze(c->group, frozen, e) : cell_gone(c, e);
}

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	return c->group ? cgroup_deadline(c->group, until_us, e) : cell_gone(c, e);
}

int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e)
{
	return c->group ? cgroup_read(c->group, ret, e) : cell_gone(c, e);
}
