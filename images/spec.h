/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SPEC_H
#define IMAGES_SPEC_H

#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The description of a cell: its program, its root file system, its mounts and its limits. */

/* The profile of all cells of a host. */
enum cell_profile {
	CELL_ENGINE, /* a fuzz target: may trace processes of its cell; /tmp is noexec */
	/* As CELL_ENGINE, with cell_spec.separate: not for a host. */
	CELL_ENGINE_SEPARATE,
	/* A build: may run servers on sockets inside its cell, may execute programs in /tmp, and
	 * must not trace. */
	CELL_BUILD,
	CELL_BUILD_NETWORK, /* a build in the machine's network namespace */
};

struct cell_mount {
	const char *source; /* path on the host, absolute */
	/* Path in the cell, absolute.  A missing mount point is made with its parents, except
	 * inside a part of the root (images/root.h): there the mount point must exist. */
	const char *target;
	bool writable; /* false: read-only */
	bool exec;     /* false: no program in the mount can be executed (noexec) */
};

enum { CELL_MOUNTS_MAX = 64 };

struct cell_spec {
	const char *id;		 /* unique among living cells: [a-z0-9-], at most 63 bytes */
	const char *const *argv; /* the job's program and its arguments; NULL at the end */
	/* The whole environment of the program, NULL at the end.  The program inherits nothing from
	 * our environment (crun adds HOME). */
	const char *const *env;
	const char *cwd; /* working directory of the program, absolute */
	/* Directory on the host with the files of the root.  NULL: the host's /usr, read-only, and
	 * a minimal /etc and /dev. */
	const char *rootfs;
	/* Mounted in this order: a later mount may be inside or over an earlier mount. */
	const struct cell_mount *mounts;
	size_t n_mounts;     /* at most CELL_MOUNTS_MAX */
	uint64_t tmp_bytes;  /* size of /tmp, a tmpfs: its files count as memory of the cell */
	uint64_t file_bytes; /* size of the largest file (RLIMIT_FSIZE); 0: no limit */
	/* CPU time in seconds after which the kernel kills a process (RLIMIT_CPU), as a second
	 * safeguard beside cell_deadline().  0: no limit. */
	uint64_t cpu_s;
	/* Number of open files of a process (RLIMIT_NOFILE).  Our own hard limit is the maximum.
	 * 0: our own limit. */
	uint32_t files_max;
	/* The job is root inside the cell and the user uid outside; uid must not be root.  When we
	 * are root, give each living cell a different uid, so that cells cannot affect each other.
	 * When we are not root, uid must be our own user; then only namespaces separate the
	 * cells. */
	uid_t uid;
	/* The job's group outside the cell; must not be root's.  When we are not root, it must be
	 * our own group. */
	gid_t gid;
	/* The cell stays after the end of its program, for cell_again(): see cell_ops.exited. */
	bool stays;
	/* No address space randomisation: all cells with the same program and argv use the same
	 * addresses. */
	bool fixed_addresses;
	/* The job is an engine that is a program of its own, and may make the calls of
	 * images/syscalls_separate.inc.  Only with the profile CELL_ENGINE. */
	bool separate;
	/* Processes of the job wait for each other at each step, as an engine and its target do.
	 * They all get one CPU: the one of which the host gave the fewest cells.  It is for the
	 * speed, and no limit: the job may leave it. */
	bool one_cpu;
	struct cgroup_limits limits; /* process 1 does not count as one of pids_max */
};

#endif
