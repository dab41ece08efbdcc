/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_NAMELESS_H
#define CELLS_NAMELESS_H

#include "cells/cell.h"

/* Finds the files for cell_nameless(), process by process. */
struct nameless_file {
	uint64_t dev, ino, bytes;
};

enum { NAMELESS_SEEN = 64 };

struct nameless {
	struct nameless_file *v; /* a file that is open twice is here twice */
	size_t n, room;
	uint64_t checked;  /* number of descriptors and mappings checked so far */
	uint64_t until_us; /* clock_mono_us() after which no check starts */
	bool unsure;
	/* Mapped files already checked, by a hash of the file: a process may map one file 65,000
	 * times. */
	struct nameless_file seen[NAMELESS_SEEN];
};

/* A process that has ended holds no files: no error. */
void nameless_check_process(struct nameless *l, uint64_t pid);
/* Adds up the files, each file once, and frees the list. */
void nameless_sum(struct nameless *l, struct cell_nameless *ret);

#endif
