/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_TRIGGER_TRIGGER_H
#define RUNNER_COMMAND_TRIGGER_TRIGGER_H

#include "base/json.h"
#include "runner/command/command.h"
#include "runner/trigger/drive.h"

int command_trigger(int argc, char **argv);

/* The repositories of one trigger, as the command line names them. */
enum { TRIGGERS_MAX = 64 };

struct trigger_repo {
	struct common common;
	struct state *state;
	int lock_fd, log_fd;   /* valid while the lock is held: above 0 */
	struct drive_repo *to; /* parameters for drive_run(), filled by trigger_given() */
	int status;	       /* exit status of the last run */
	char commit[65];       /* commit of the run started last */
	bool runs, told; /* a run is active; a run ended by itself and sent its notifications */
	struct notifier *notifier;
	struct builder *builder; /* in a child that runs git: enforces its limits */
	struct git_limits limits;
};

struct triggers {
	struct trigger_repo v[TRIGGERS_MAX]; /* begins as all zeroes */
	size_t n;
	const char *state_dir;
	uint64_t loop_us;
	bool forever, force, dry, json;
	json_t *repositories; /* for the JSON answer: the decision for each */
	struct loop *loop;
};

/* Reads the configuration and opens its state directory. Prints errors; returns an exit status.
 * several: the configuration must name the directory. */
int trigger_open(struct trigger_repo *r, bool several);
/* Also opens the log, trigger.log. */
int trigger_take_lock(struct trigger_repo *r);
void trigger_given(struct trigger_repo *r);
void trigger_close(struct trigger_repo *r);

/* Sends the entries of the outboxes while no run of the repository is active, until
 * trigger_notify_end(). trigger_notify_again(): the configuration was replaced.
 * trigger_notify_died(): a signal killed the run. */
int trigger_notify_begin(struct triggers *t, struct err *e);
void trigger_notify_again(struct triggers *t, struct trigger_repo *r);
void trigger_notify_died(const struct trigger_repo *r, const char *why);
void trigger_notify_end(struct triggers *t);

/* CPU time of the cells of a state directory; 0 if unknown. */
uint64_t trigger_cpu_us(const struct config *c, const char *instance);

#endif
