/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_HOST_H
#define TESTS_BENCH_HOST_H

#include "base/loop.h"
#include "cells/cell.h"

/* What a bench needs to start cells.  The directory and the control group have fixed names:
 * one at a time.  After a SIGKILL the keeper ends the cells, and the next start removes the
 * rest. */

enum { BENCH_SIGNALS = 4 };

struct bench_host {
	struct loop *loop;
	struct cgroup_tree *tree;
	struct cell_host *cells;
	struct source *signals[BENCH_SIGNALS];
	const char *dir;
	int dir_fd; /* locked */
};

/* dir: absolute, made here, borrowed; the cells' runtime directory is its host/.  on_signal is
 * told of those that end a program.  bench_host_clear() also when it fails. */
MUST_CHECK int bench_host_make(struct bench_host *h, const char *dir, const char *instance,
			       signal_fn *on_signal, void *arg, struct err *e);
/* Ends what lives, and removes dir.  The loop goes: its other sources must be gone. */
MUST_CHECK int bench_host_clear(struct bench_host *h, struct err *e);

#endif
