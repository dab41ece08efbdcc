/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_BUILD_WATCH_H
#define RUNNER_BUILD_WATCH_H

#include "runner/config/config.h"

/* What a build may take of the machine and no control group keeps: space and names of the file
 * systems that it can write to, and the memory that all else needs. */

enum { WATCH_MAX = 12 };

struct watch_fs {
	int fd; /* a directory of it */
	dev_t dev;
	char path[120];
	uint64_t free_bytes, free_files;   /* at the start */
	uint64_t floor_bytes, floor_files; /* below which there is too little */
};

struct watch {
	uint64_t disk; /* discovery[].build_disk; 0: auto */
	size_t n;
	struct watch_fs v[WATCH_MAX];
	int meminfo;
};

/* Where a source's build writes: build_dir and path, the home directory of the work tree's
 * owner, Bazel's output, /tmp, /var/tmp.  Those that are not there are left out. */
MUST_CHECK int watch_open(struct watch *w, const struct config_source *s, uint64_t disk_reserve,
			  struct err *e);
void watch_close(struct watch *w);
/* Adds the file system of path, if it is none of those that are watched. */
void watch_add(struct watch *w, const char *path, uint64_t disk_reserve);

/* -EDQUOT: it took too much, *e says what.  memory: what it uses now. */
MUST_CHECK int watch_check(const struct watch *w, uint64_t memory, struct err *e);

/* Whether a build that uses so much is to end so that all else goes on, by the text of
 * /proc/meminfo: a sixteenth of the memory is what nobody may plan with (run.overcommit). */
bool watch_starves(struct slice meminfo, uint64_t memory, uint64_t *ret_left);

#endif
