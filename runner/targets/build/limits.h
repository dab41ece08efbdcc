/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_LIMITS_H
#define RUNNER_TARGETS_BUILD_LIMITS_H

#include "runner/config/config.h"

/* Limits of a build, and of git, that control groups do not have: space and inodes of the file
 * systems that it can write to, and memory for everything else on the machine. */

/* The program and the keys of its limits, for errors. */
struct limit_names {
	const char *program, *memory, *pids, *disk;
};
extern const struct limit_names limits_of_builds, limits_of_git;

enum { LIMITS_FS_MAX = 12 };

struct limits_fs {
	int fd; /* a directory in it */
	dev_t dev;
	char path[120];
	uint64_t free_bytes, free_files;   /* at the start */
	uint64_t floor_bytes, floor_files; /* the build ends when less is free */
};

struct limits {
	const struct limit_names *names;
	uint64_t disk; /* 0: auto */
	size_t n;
	struct limits_fs v[LIMITS_FS_MAX];
	int meminfo;
};

/* Watches the file systems where a source's build writes: build_dir, path and build_writable, the
 * home directory of the work tree's owner, Bazel's output, /tmp, /var/tmp.  Missing directories are
 * left out. */
MUST_CHECK int limits_open(struct limits *w, const struct config_source *s, uint64_t disk_reserve,
			   struct err *e);
/* The same for git, without file systems: add them with limits_add(). */
MUST_CHECK int limits_open_git(struct limits *w, uint64_t disk, struct err *e);
void limits_close(struct limits *w);
/* Adds the file system of path, unless it was added before. */
void limits_add(struct limits *w, const char *path, uint64_t disk_reserve);

/* -EDQUOT: the build exceeds a limit; *e has the details.  memory: its current use in bytes. */
MUST_CHECK int limits_check(const struct limits *w, uint64_t memory, struct err *e);

/* Whether a build with this memory use must end so that other processes can continue.  meminfo: the
 * text of /proc/meminfo.  A sixteenth of the memory stays free for the machine (run.overcommit). */
bool limits_starves(struct slice meminfo, uint64_t memory, uint64_t *ret_left);

#endif
