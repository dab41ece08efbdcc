/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SPEC_H
#define IMAGES_SPEC_H

#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a cell is made of: its program, its root file system, its mounts and its limits. */

/* The kind of all jobs of a host.  A build may run servers of its own and may not trace.  It has a
 * /tmp from which programs can be started.  With the network it is in the machine's network
 * namespace. */
enum cell_profile { CELL_ENGINE, CELL_BUILD, CELL_BUILD_NETWORK };

struct cell_mount {
	const char *source; /* host path, absolute */
	const char *target; /* absolute; parents are made */
	bool writable;
	bool exec; /* else noexec */
};

enum { CELL_MOUNTS_MAX = 64 };

struct cell_spec {
	const char *id; /* unique among living cells: [a-z0-9-], at most 63 bytes */
	const char *const *argv;
	const char *const *env; /* all of it: nothing is inherited (crun adds HOME) */
	const char *cwd;
	const char *rootfs; /* NULL: the host's /usr, read-only, and a minimal /etc and /dev */
	const struct cell_mount *mounts;
	size_t n_mounts;
	uint64_t tmp_bytes;  /* size of /tmp, memory counted in the cell */
	uint64_t file_bytes; /* largest file (RLIMIT_FSIZE); 0: no limit */
	/* CPU time in seconds after which the kernel kills each process (RLIMIT_CPU).  It is a
	 * second safeguard beside cell_deadline().  0: no limit. */
	uint64_t cpu_s;
	uint32_t files_max; /* open files (RLIMIT_NOFILE), at most our own limit; 0: our own */
	/* The job is root inside and this unprivileged user outside.  One of its own
	 * for each living cell, so that cells cannot touch each other.  Of a host that is
	 * an ordinary user these can only be its own: then namespaces alone part them. */
	uid_t uid;
	gid_t gid;
	/* When its program has ended the cell stays, for cell_again(): see cell_ops.exited. */
	bool stays;
	/* No address space randomisation: two cells of one program and the same argv
	 * see the same addresses. */
	bool fixed_addresses;
	struct cgroup_limits limits;
};

#endif
