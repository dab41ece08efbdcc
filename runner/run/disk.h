/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISK_H
#define RUNNER_RUN_DISK_H

#include "base/fs.h"
#include "cells/cell.h"

/* The kernel has no size limit for a directory.  So fuzzcell watches how fast the file system
 * fills, in bytes and in files (inodes), and measures the cells more often when it fills fast. */
struct disk_watch {
	int work; /* the run's work directory; borrowed */
	struct fs_room reserve, step;
	struct fs_room now, most; /* free space: now, and the maximum since the last walk */
	uint64_t walked_us;
	bool low;
};

/* The number of inodes that must stay free together with `reserve` bytes: at most a part of all
 * inodes. */
uint64_t disk_files_reserve(uint64_t reserve, uint64_t files_total);

/* reserve: bytes that must stay free; smallest: the smallest disk limit of a target. */
void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest);

enum disk_state {
	DISK_FINE,
	DISK_WALK, /* it is time to measure each target's files */
	DISK_LOW,  /* less than reserve is free, or hardly more since then */
};
/* Whether too few bytes or inodes are free. was: the last result. */
bool disk_is_low(bool was, uint64_t avail, uint64_t reserve);
/* Reads the free space.  It is cheap: it asks the file system, and walks no directory. */
enum disk_state disk_look(struct disk_watch *d, uint64_t now);
/* A walk over the cells' files begins: the file system's loss is counted from now. */
void disk_walks(struct disk_watch *d, uint64_t now);

/* The disk space that a cell holds. */
struct disk_usage {
	struct fs_usage named; /* files below its output directories */
	struct cell_nameless nameless;
	/* A directory of the cell cannot be opened (without root), or was moved meanwhile. */
	bool closed;
};
uint64_t disk_bytes(const struct disk_usage *u);
uint64_t disk_files(const struct disk_usage *u);
/* Counts the named files of the target's cell; stops early beyond a limit.  Seeds are not counted.
 * It may take seconds: call it in a child process. */
MUST_CHECK int disk_walk(int work, const char *target, const struct fs_usage *limit,
			 struct disk_usage *io, struct err *e);

#endif
