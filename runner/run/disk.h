/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISK_H
#define RUNNER_RUN_DISK_H

#include "base/fs.h"
#include "cells/cell.h"

/* The kernel has no limit for a directory.  So we watch how fast the file system fills, in bytes
 * and in files (inodes), and look at the cells more often when it fills fast. */
struct disk_watch {
	int work; /* the run's work directory; borrowed */
	struct fs_room reserve, step;
	struct fs_room now, most; /* free: now, and at most since the last look at the cells */
	uint64_t walked_us;
	bool low;
};

/* How many inodes must stay free together with `reserve` bytes: at most a part of all. */
uint64_t disk_files_reserve(uint64_t reserve, uint64_t files_total);

/* reserve: free bytes that shall stay; smallest: the smallest limit of a target. */
void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest);

enum disk_state {
	DISK_FINE,
	DISK_WALK, /* it is time to look at each target */
	DISK_LOW,  /* less than reserve is free, or hardly more since */
};
/* Whether too few bytes or inodes are free. was: the last result. */
bool disk_is_low(bool was, uint64_t avail, uint64_t reserve);
/* Reads the free space.  Cheap: it asks the file system, and walks no directory. */
enum disk_state disk_look(struct disk_watch *d, uint64_t now);
/* The cells are looked at now: the file system's loss is counted from here. */
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
/* Counts the named files of the cell that has the target's work directory; stops early beyond a
 * limit.  Seeds are not counted.  It may take seconds: call it in a child process. */
MUST_CHECK int disk_walk(int work, const char *target, const struct fs_usage *limit,
			 struct disk_usage *io, struct err *e);

#endif
