/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_NAMELESS_H
#define IMAGES_NAMELESS_H

#include "images/cell.h"

/* Counts what cell_nameless() tells, process by process. */
struct nameless_file {
	uint64_t dev, ino, bytes;
};

struct nameless {
	struct nameless_file *v; /* as found: a file that is open twice stands here twice */
	size_t n, room;
	uint64_t looked; /* descriptors and mappings */
	bool unsure;
};

/* A process that has ended holds nothing. */
void nameless_look(struct nameless *l, uint64_t pid);
/* Each file once.  Frees what the list holds. */
void nameless_sum(struct nameless *l, struct cell_nameless *ret);

#endif
