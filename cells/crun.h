/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_CRUN_H
#define CELLS_CRUN_H

#include "base/err.h"
#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <sys/types.h>

/* Driving crun: this is the only module that knows its command line and its files.
 * We start it detached: it makes the container, executes process 1 (images/init.h)
 * and exits; that process is then ours (we are its subreaper).  crun is told to
 * leave cgroups alone: it starts inside the cell's group. */

/* The oldest crun whose behaviour was read and tested. */
#define CRUN_MIN_VERSION "1.8.1"

/* A mount namespace in which crun starts, made once for all cells: what crun mounts
 * stays there, and it sees what it can stand of the layout.  What is mounted outside
 * later shows in it too.  close() *ret_fd.  An ordinary user can make none and needs
 * none, since its crun mounts nothing outside of a cell's own namespaces: -1. */
MUST_CHECK int crun_open_mounts(enum cgroup_layout layout, int *ret_fd, struct err *e);

/* Runs program --version there.  -ENOENT: there is none; -EPROTONOSUPPORT: too old. */
MUST_CHECK int crun_check(const char *program, int mounts, struct err *e);

/* A sealed copy of the program in memory, from which all cells start.  Without it crun makes a copy
 * of itself at each start, which its container cannot write to, and executes itself once more.
 * -1: we are not root, or there is no such ELF program; then it is started by its name.  close()
 * it. */
int crun_open_copy(const char *program);

struct crun_job {
	const char *program;
	int copy;		/* from crun_open_copy() */
	const char *state_dir;	/* crun's own, absolute */
	const char *bundle_dir; /* absolute; holds config.json, gets pid and log */
	const char *id;
	const struct cgroup *group;
	int mounts;    /* from crun_open_mounts(); -1: ours will do */
	int output_fd; /* becomes the job's stdout and stderr */
	int init;      /* the program of process 1 */
	int words;     /* its end of the socket (images/init.h) */
	bool fixed_addresses;
};

/* Standard input for a job: a pipe at its end.  close() *ret_fd. */
MUST_CHECK int crun_open_input(int *ret_fd, struct err *e);

/* crun's process id; reap it.  Exit status 0: crun_read_pid() tells process 1's. */
MUST_CHECK int crun_start(const struct crun_job *job, pid_t *ret, struct err *e);
MUST_CHECK int crun_read_pid(int bundle_fd, pid_t *ret, struct err *e);

/* What crun logged, in one line; status (of waitpid(2)) in words when it logged
 * nothing. */
void crun_why(int bundle_fd, int status, char *out, size_t n);

#endif
