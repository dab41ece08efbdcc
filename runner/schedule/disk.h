/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_DISK_H
#define RUNNER_SCHEDULE_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel has no limit for a directory: how fast the file system fills is watched, and
 * closer when it does. */
struct disk_watch {
	int work; /* the run's work directory; borrowed */
	uint64_t reserve, step, free, walked_us;
	bool low;
};

/* reserve: free bytes that shall stay; smallest: the smallest limit of a target. */
void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest);

enum disk_state {
	DISK_FINE,
	DISK_WALK, /* it is time to look at each target */
	DISK_LOW,  /* less than reserve is free, or hardly more since */
};
/* Whether avail bytes are too few; was: the last time they were. */
bool disk_is_low(bool was, uint64_t avail, uint64_t reserve);
enum disk_state disk_look(struct disk_watch *d, uint64_t now);

/* Whether what stands in the target's work directory has reached a limit. */
bool disk_over(const struct disk_watch *d, const char *target, uint64_t bytes, uint64_t files);

#endif
