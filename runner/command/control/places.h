/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONTROL_PLACES_H
#define RUNNER_COMMAND_CONTROL_PLACES_H

#include "base/json.h"
#include "runner/command/command.h"
#include "runner/control/client.h"

/* The state directories of the runs that a command contacts (docs/control.md). A directory named on
 * the command line is opened without the configuration, so that a run can be stopped even if the
 * configuration is wrong. */
enum { PLACES_MAX = 64 };

struct place {
	struct common common;
	struct state *state; /* opened without its lock */
};

struct places {
	const char *configs[PLACES_MAX], *states[PLACES_MAX];
	size_t n_configs, n_states;
	struct place *v;
	size_t n;
};

/* True if name was one of STATE_OPTIONS. An option may be repeated, for several places. */
bool places_take(struct places *p, const char *name, const char *value);
/* These print errors and return an exit status. Of several places, those that cannot be opened have
 * no state; the others are open. Call places_close() after both. */
int places_open(struct places *p);
/* Opens the one place of a command that changes something. */
int places_open_one(struct places *p, const char *command);
void places_close(struct places *p);

/* Sends a request to the place's run; e is that of control_ask(). */
MUST_CHECK int place_ask(const struct place *p, const struct control_request *q, json_t **ret,
			 struct err *e);
/* Returns the exit status for a result of control_ask(). */
int place_failed(int r);
/* Prints why no run answers: there is none, or it is starting or ending. Also prints the last
 * run. */
void place_print_silent(const struct place *p);
/* The same as JSON: {"state_dir": ..., "run": null, "last_run": {...}}. */
json_t *place_silent_json(const struct place *p);

#endif
