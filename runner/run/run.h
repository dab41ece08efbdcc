/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_RUN_H
#define RUNNER_RUN_RUN_H

#include "base/loop.h"
#include "cells/cell.h"
#include "runner/run/plan.h"
#include "runner/run/triage/books.h"
#include "runner/state/state.h"
#include "runner/status/row.h"

/* Runs the planned targets: at most `workers` cells at once, each target until there is a reason to
 * end it, all until the run's deadline.
 *
 * Signals: SIGINT, SIGTERM and SIGHUP end the run politely; a second signal ends it at once.
 * SIGTSTP ends the cells, frees their resources and stops this process.  After SIGCONT the run goes
 * on with the time that was left. */
struct run_opts {
	struct loop *loop;
	struct cell_host *host;
	struct state *state;
	const struct run_dirs *dirs;
	const char *rootfs;
	const struct run_config *cfg; /* borrowed until run_all() returns */
	const char *pressure;	      /* directory of the machine's PSI files */
	bool build_failed;	      /* run_view.build_failed */
	bool continuous; /* runs until a user ends it, and fuzzes new builds as they come */
	unsigned workers;
	unsigned places;   /* maximum of workers: our limit of open files */
	uint64_t total_us; /* 0: no cap */
	uint64_t log_limit, disk_reserve;
	uint64_t machine_memory; /* upper limit for the sum of the cells' memory limits */
	const char *layout, *commit;
	const char *sources;  /* the source tree, for coverage reports; NULL: unknown */
	unsigned generations; /* earlier corpora to keep */
	struct books *books;
	int control;		/* runner/run/control.h; -1: none */
	bool listen;		/* opens the state directory's control socket (docs/control.md) */
	const char *symbolizer; /* its path in a cell, or NULL */
	/* event() is called whenever there is news, and second() once a second.  With a row, only
	 * that row is new, and the others are up to a second old.  Of the old rows use no list, and
	 * no text but name, state, reason and note. */
	void (*event)(void *arg, const struct run_view *v, size_t row, const char *what);
	void (*second)(void *arg, const struct run_view *v);
	void *arg;
};

/* Takes the plan's values.  Fills *ret with the final view: its rows and strings
 * live until run_free(). */
struct run;
MUST_CHECK int run_all(const struct run_opts *o, struct plan *plan, struct run **ret,
		       struct err *e);
const struct run_view *run_result(struct run *r);
/* Whether results could not be saved and are still in the run's work directory. */
bool run_uncollected(const struct run *r);
void run_free(struct run *r); /* NULL is fine */

#endif
