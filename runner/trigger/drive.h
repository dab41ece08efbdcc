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

/* The triggers of several repositories in one process, on a loop.  Each trigger checks its remote,
 * updates its work tree, starts runs and waits for them, as watch.h decides.  The triggers share
 * the machine. */
struct drive_repo {
	const struct trigger_config *config; /* repository is set */
	const char *state_path;
	int state_fd;	  /* the state directory; holds the trigger's lock, except in a dry run */
	uint32_t workers; /* run.workers */
	const struct git_limits *limits; /* of the repository's git; NULL: none */
};

struct drive_opts {
	struct loop *loop;
	uint64_t tick_us, retry_us;
	uint32_t cpus;
	bool forever; /* false: ends when nothing is left to do before the next tick */
	bool force;   /* start one run per repository, whatever was fuzzed before */
	bool dry;     /* report the decisions; write nothing */
	void *arg;
	/* Starts the run of a commit as the leader of its own process group, so that it outlives
	 * the trigger.  workers 0: the number in its configuration.  The run reads later changes
	 * of the number from workers_fd (runner/run/control.h), which the caller closes. */
	int (*start)(void *arg, size_t repo, const char *commit, uint32_t workers, int workers_fd,
		     pid_t *ret_pid, struct err *e);
	/* Interprets a wait status; why: the reason as text. */
	enum watch_end (*ended)(void *arg, size_t repo, int status, char why[RECORD_WHY]);
	uint64_t (*own_cpu_us)(void *arg); /* CPU time of our cells */
	void (*report)(void *arg, size_t repo, bool bad, const char *text);
	/* Receives the decision of a dry run.  commit: the branch's head.  May be NULL. */
	void (*decided)(void *arg, size_t repo, enum due_what what, const char *commit,
			const char *why);
	/* SIGHUP: reads the configurations again, into the same repos. */
	void (*reload)(void *arg);
};

struct drive_result {
	bool blocked;	/* a user must act on a repository */
	bool unreached; /* a remote did not answer */
	bool locked;	/* a forced start is waiting for another run */
	bool unsaved;	/* a record could not be saved (a full disk) */
};
/* Returns when nothing is left to do, or on SIGTERM or SIGINT, after it stopped the runs and waited
 * for them.  The caller owns repos and must not move them. */
MUST_CHECK int drive_run(const struct drive_opts *o, struct drive_repo *repos, size_t n,
			 struct drive_result *ret, struct err *e);

/* Shares the machine's workers among the repositories with active runs.
 *
 * The number of workers is the sum of the configured numbers, or the number of CPUs if one
 * repository does not set it.  Each run gets an equal part, up to its configured number.  The parts
 * change when runs begin and end.  If there are more runs than workers, the longest waiting
 * repositories start first. */
struct share {
	uint32_t wanted;    /* run.workers; 0: as many as CPUs */
	uint64_t waited_us; /* for SHARE_WANTS */
	enum {
		SHARE_IDLE,
		SHARE_RUNS,
		SHARE_WANTS,
	} is;
	uint32_t given; /* out: workers; with SHARE_WANTS, 0: do not start now */
};
void share_workers(struct share *v, size_t n, uint32_t cpus);

#endif
