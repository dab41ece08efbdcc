/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_HOST_H
#define TESTS_BENCH_HOST_H

#include "base/loop.h"
#include "cells/cell.h"

/* Starts cells for a benchmark.  The directory and the control group have fixed names, so only one
 * benchmark runs at a time.  After a SIGKILL the keeper ends the cells, and the next start removes
 * the rest. */

enum { BENCH_SIGNALS = 4 };

struct bench_host {
	struct loop *loop;
	struct cgroup_tree *tree;
	struct cell_host *cells;
	struct source *signals[BENCH_SIGNALS];
	const char *dir;
	int dir_fd; /* locked */
};

/* dir is absolute; this makes it, and keeps the pointer.  The cells' runtime directory is dir/host.
 * on_signal is called for signals that end a program.  Call bench_host_clear() also after a
 * failure. */
MUST_CHECK int bench_host_make(struct bench_host *h, const char *dir, const char *instance,
			       signal_fn *on_signal, void *arg, struct err *e);
/* Ends all cells, and removes dir.  Frees the loop, so its other sources must be removed before. */
MUST_CHECK int bench_host_clear(struct bench_host *h, struct err *e);

#endif
