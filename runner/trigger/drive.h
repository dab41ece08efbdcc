/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_DRIVE_H
#define RUNNER_TRIGGER_DRIVE_H

#include "base/git.h"
#include "base/loop.h"
#include "runner/config/config.h"
#include "runner/trigger/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The triggers of several repositories in one process, on a loop: they look, update,
 * start runs and wait for them, each as watch.h says, and share the machine. */
struct drive_repo {
	const struct trigger_config *config; /* repository is set */
	const char *state_path;
	int state_fd;			 /* with the trigger's lock, unless it is a dry run */
	uint32_t workers;		 /* run.workers */
	const struct git_limits *limits; /* of its git; NULL: none */
};

struct drive_opts {
	struct loop *loop;
	uint64_t tick_us, retry_us;
	uint32_t cpus;
	bool forever; /* else until nothing is to be done before the next tick */
	bool force;   /* one start each, whatever was done and when */
	bool dry;     /* say what would be done; nothing is written */
	void *arg;
	/* Starts the run of a commit with so many workers (0: its configuration's), and what
	 * it reads about their number later (runner/run/control.h; the caller's to
	 * close), as the leader of its own process group, not to die with us. */
	int (*start)(void *arg, size_t repo, const char *commit, uint32_t workers, int workers_fd,
		     pid_t *ret_pid, struct err *e);
	/* What a wait status means, in words too. */
	enum watch_end (*ended)(void *arg, size_t repo, int status, char why[RECORD_WHY]);
	uint64_t (*own_cpu_us)(void *arg); /* that our cells have used */
	void (*say)(void *arg, size_t repo, bool bad, const char *text);
	/* dry: the same decision for a program; commit: of the branch.  NULL: none wants it. */
	void (*decided)(void *arg, size_t repo, enum due_what what, const char *commit,
			const char *why);
	/* SIGHUP: read the configurations again, into the same repos. */
	void (*reload)(void *arg);
};

struct drive_result {
	bool blocked;	/* a person has to do something about a repository */
	bool unreached; /* a remote did not answer */
	bool held;	/* a start was asked for, but another run goes on */
	bool unsaved;	/* what came of it could not be written down: a full disk */
};
/* Until it is over, or SIGTERM or SIGINT (then the runs are asked to end, and waited
 * for).  repos belong to the caller and stay where they are. */
MUST_CHECK int drive_run(const struct drive_opts *o, struct drive_repo *repos, size_t n,
			 struct drive_result *ret, struct err *e);

#endif
