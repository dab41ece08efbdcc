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
	int lock_fd, log_fd;   /* with the lock: above 0 */
	struct drive_repo *to; /* what the room is given; filled by trigger_given() */
	int status;	       /* of the last run */
	char commit[65];       /* that was started last */
	bool runs, told;       /* a run of it lives; one has come to its own end, and told all */
	struct notifier *notifier;
	struct builder *builder; /* in a child that runs git: what keeps its limits */
	struct git_limits limits;
};

struct triggers {
	struct trigger_repo v[TRIGGERS_MAX]; /* begins as all zeroes */
	size_t n;
	const char *state_dir;
	uint64_t loop_us;
	bool forever, force, dry, json;
	json_t *repositories; /* the answer's: what was decided for each */
	struct loop *loop;
};

/* Reads the configuration, opens its state directory; each prints what is wrong and
 * returns an exit status.  several: the configuration has to name the directory. */
int trigger_open(struct trigger_repo *r, bool several);
/* Its log, trigger.log, comes with it. */
int trigger_take_lock(struct trigger_repo *r);
void trigger_given(struct trigger_repo *r);
void trigger_close(struct trigger_repo *r);

/* Sends what waits in the outboxes while no run of theirs lives, until the end.  again: the
 * configuration was replaced. */
int trigger_notify_begin(struct triggers *t, struct err *e);
void trigger_notify_again(struct triggers *t, struct trigger_repo *r);
void trigger_notify_died(const struct trigger_repo *r, const char *why);
void trigger_notify_end(struct triggers *t);

/* CPU time that the cells of a state directory have used, 0 when that cannot be seen. */
uint64_t trigger_cpu_us(const struct config *c, const char *instance);

#endif
