/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SPEC_H
#define IMAGES_SPEC_H

#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The description of a cell: its program, its root file system, its mounts and its limits. */

/* The profile of all jobs of a host.  A build may run its own servers, and may not trace.  Programs
 * can be started from its /tmp.  With CELL_BUILD_NETWORK it is in the machine's network
 * namespace. */
enum cell_profile { CELL_ENGINE, CELL_BUILD, CELL_BUILD_NETWORK };

struct cell_mount {
	const char *source; /* host path, absolute */
	const char *target; /* absolute; missing parents are made */
	bool writable;
	bool exec; /* else noexec */
};

enum { CELL_MOUNTS_MAX = 64 };

struct cell_spec {
	const char *id; /* unique among living cells: [a-z0-9-], at most 63 bytes */
	const char *const *argv;
	const char *const *env; /* the whole environment: nothing is inherited (crun adds HOME) */
	const char *cwd;
	const char *rootfs; /* NULL: the host's /usr, read-only, and a minimal /etc and /dev */
	const struct cell_mount *mounts;
	size_t n_mounts;
	uint64_t tmp_bytes;  /* size of /tmp; its memory counts as the cell's */
	uint64_t file_bytes; /* largest file (RLIMIT_FSIZE); 0: no limit */
	/* CPU time in seconds after which the kernel kills a process (RLIMIT_CPU), as a second
	 * safeguard beside cell_deadline().  0: no limit. */
	uint64_t cpu_s;
	uint32_t files_max; /* open files (RLIMIT_NOFILE), at most our own limit; 0: our own */
	/* The job is root inside and this unprivileged user outside.  Each living cell has its own
	 * user, so that cells cannot affect each other.  When we are an ordinary user, it is our
	 * own user for all cells; then only namespaces separate them. */
	uid_t uid;
	gid_t gid;
	/* The cell stays after the end of its program, for cell_again(): see cell_ops.exited. */
	bool stays;
	/* No address space randomisation: cells with the same program and argv have the same
	 * addresses. */
	bool fixed_addresses;
	struct cgroup_limits limits;
};

#endif
