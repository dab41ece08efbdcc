/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILDER_SIGHTS_H
#define RUNNER_COMMAND_BUILDER_SIGHTS_H

#include "images/cell.h"
#include "runner/command/builder_cell.h"

/* What the cell sees beside the host's root, and where. */
struct sights {
	struct cell_mount v[CELL_MOUNTS_MAX];
	char *path[2 * CELL_MOUNTS_MAX];
	size_t n, n_paths;
};

/* dir: where the build starts.  -EPERM: what the build would write is read by programs that run
 * outside of the cell (the owner's home directory, the repository).  sights_done() frees, also
 * after a failure. */
MUST_CHECK int sights_fill(const struct builder_cell *b, const struct tool *t, const char *dir,
			   struct sights *ret, struct err *e);
void sights_done(struct sights *s);

#endif
