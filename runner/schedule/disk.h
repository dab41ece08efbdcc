/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_DISK_H
#define RUNNER_SCHEDULE_DISK_H

#include "base/fs.h"
#include "images/cell.h"

/* The kernel has no limit for a directory: how fast the file system fills is watched, in bytes
 * and in files (inodes), and closer when it does. */
struct disk_watch {
	int work; /* the run's work directory; borrowed */
	struct fs_room reserve, step;
	struct fs_room now, most; /* free: now, and at most since the cells were looked at */
	uint64_t walked_us;
	bool low;
};

/* How many files shall stay free with so many bytes: no more than a part of all. */
uint64_t disk_files_reserve(uint64_t reserve, uint64_t files_total);

/* reserve: free bytes that shall stay; smallest: the smallest limit of a target. */
void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest);

enum disk_state {
	DISK_FINE,
	DISK_WALK, /* it is time to look at each target */
	DISK_LOW,  /* less than reserve is free, or hardly more since */
};
/* Whether avail bytes or files are too few; was: the last time they were. */
bool disk_is_low(bool was, uint64_t avail, uint64_t reserve);
/* What is free now.  Cheap: it asks the file system, and walks nothing. */
enum disk_state disk_look(struct disk_watch *d, uint64_t now);
/* The cells are looked at now: what is lost of the file system is counted from here. */
void disk_walks(struct disk_watch *d, uint64_t now);

/* What a cell holds on the disk. */
struct disk_usage {
	struct fs_usage named; /* below its output directories */
	struct cell_nameless nameless;
	bool closed; /* without root: a directory of the cell's cannot be opened */
};
uint64_t disk_bytes(const struct disk_usage *u);
uint64_t disk_files(const struct disk_usage *u);
/* The named part, for the cell that has the target's work directory; stops early beyond a limit.
 * The seeds are not its work.  It may take seconds: call it in a child process. */
MUST_CHECK int disk_walk(int work, const char *target, const struct fs_usage *limit,
			 struct disk_usage *io, struct err *e);

#endif
