/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/dump.h"

#include <signal.h>

static int dump_signal(struct cell *c, int signo, struct err *e)
{
	struct err ignored;
	int r = cell_signal(c, signo, e);

	(void)!cell_signal(c, SIGCONT, &ignored); /* it may have stopped itself */
	return r;
}

int dump_input(struct cell *c, const struct engine_ops *engine, const struct engine_state *s,
	       bool at_mark, struct err *e)
{
	/* The engine's watchdog reports already.  Its report may stop all threads with SIGSTOP,
	 * which a SIGCONT would take away: then the report never ends. */
	bool reported = at_mark && s->own_thread;
	struct err ignored;
	int r = reported ? 0 : dump_signal(c, engine->dump_signal, e);

	/* Only now that the signal waits: a halted task runs its handler first. */
	(void)!cell_memory_open(c,
				!at_mark   ? CELL_EVERY_THREAD
				: reported ? CELL_SECOND_THREAD
					   : CELL_FIRST_THREAD,
				DUMP_MARK_GRACE_US / 2, &ignored);
	return r;
}
