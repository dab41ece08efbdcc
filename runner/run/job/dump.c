/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/dump.h"

#include <signal.h>

static int dump_signal(struct cell *c, int signo, struct err *e)
{
	struct err ignored;
	int r = cell_signal(c, signo, e);

	(void)!cell_signal(c, SIGCONT, &ignored); /* the target may have stopped itself */
	return r;
}

int dump_by_watchdog(struct cell *c, struct err *e)
{
	return cell_memory_open(c, CELL_SECOND_THREAD, DUMP_MARK_GRACE_US / 2, e);
}

int dump_input(struct cell *c, const struct engine_ops *engine, const struct engine_state *s,
	       bool at_mark, struct err *e)
{
	enum cell_thread which = CELL_EVERY_THREAD;
	struct err unsent;
	int r, sent;

	/* The engine's watchdog already writes a report.  For that it may stop all threads with
	 * SIGSTOP.  A SIGCONT would end the stop, and then the report never ends. */
	if (at_mark && s->own_thread &&
	    cell_memory_open(c, CELL_REPORTING_THREAD, DUMP_MARK_GRACE_US / 2, e) == 0)
		return 0;
	if (at_mark)
		which = cell_watchdog_works(c) ? CELL_REPORTING_THREAD : CELL_FIRST_THREAD;
	sent = dump_signal(c, engine->dump_signal, &unsent);
	/* Opened only after the signal is pending: a halted task runs its handler first. */
	r = cell_memory_open(c, which, DUMP_MARK_GRACE_US / 2, e);
	if (sent < 0)
		*e = unsent;
	return sent < 0 ? sent : r < 0;
}
