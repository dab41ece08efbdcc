/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_CRUN_H
#define CELLS_CRUN_H

#include "base/err.h"
#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <sys/types.h>

/* Runs crun; no other module knows crun's command line and files.  crun runs detached: it makes the
 * container, executes process 1 (images/init.h) and exits.  Process 1 then becomes our child (we
 * are its subreaper).  crun does not manage cgroups: it starts inside the cell's group. */

/* The oldest crun version that was tested. */
#define CRUN_MIN_VERSION "1.8.1"

/* Opens a mount namespace in which crun starts, once for all cells; close() *ret_fd.  crun's mounts
 * stay inside it, and on the hybrid layout it hides the v2 tree from crun.  Later mounts outside
 * appear in it, too.  *ret_fd is -1 for an ordinary user, who can make no such namespace.  None is
 * needed then, because crun mounts nothing outside the cell's own namespaces. */
MUST_CHECK int crun_open_mounts(enum cgroup_layout layout, int *ret_fd, struct err *e);

/* Runs "program --version" in that namespace.  -ENOENT: no such program; -EPROTONOSUPPORT: too
 * old. */
MUST_CHECK int crun_check(const char *program, int mounts, struct err *e);

/* Makes a sealed copy of crun in memory, from which all cells start; close() it.  Without it crun
 * copies itself at each start, so that its container cannot write to it, and executes the copy.
 * -1: we are not root, or there is no such ELF program; then crun is started by its name. */
int crun_open_copy(const char *program);

struct crun_job {
	const char *program;
	int copy;		/* from crun_open_copy() */
	const char *state_dir;	/* crun's own, absolute */
	const char *bundle_dir; /* absolute; holds config.json, gets pid and log */
	const char *id;
	const struct cgroup *group;
	int mounts;    /* from crun_open_mounts(); -1: our own namespace */
	int output_fd; /* becomes the job's stdout and stderr */
	int init;      /* the program of process 1 */
	int socket;    /* process 1's end of the socket (images/init.h) */
	bool fixed_addresses;
};

/* Standard input for a job: a pipe at end of file.  close() *ret_fd. */
MUST_CHECK int crun_open_input(int *ret_fd, struct err *e);

/* Starts crun; *ret is its process number, and the caller reaps it.  After exit status 0,
 * crun_read_pid() returns the number of process 1. */
MUST_CHECK int crun_start(const struct crun_job *job, pid_t *ret, struct err *e);
MUST_CHECK int crun_read_pid(int bundle_fd, pid_t *ret, struct err *e);

/* Writes crun's log to out, in one line.  Without a log, describes status (from waitpid(2)). */
void crun_why(int bundle_fd, int status, char *out, size_t n);

#endif
