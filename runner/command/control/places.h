/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONTROL_PLACES_H
#define RUNNER_COMMAND_CONTROL_PLACES_H

#include "base/json.h"
#include "runner/command/command.h"
#include "runner/control/client.h"

/* The state directories that a command is about whose runs it asks (docs/control.md).  A
 * directory that was named is found without the configuration: what is wrong there keeps nobody
 * from ending a run. */
enum { PLACES_MAX = 64 };

struct place {
	struct common common;
	struct state *state; /* without its lock */
};

struct places {
	const char *configs[PLACES_MAX], *states[PLACES_MAX];
	size_t n_configs, n_states;
	struct place *v;
	size_t n;
};

/* True when name was one of STATE_OPTIONS; several are several places. */
bool places_take(struct places *p, const char *name, const char *value);
/* These print what is wrong, and return an exit status; of several places those that cannot be
 * opened have no state, the others are open.  places_close() is right after both. */
int places_open(struct places *p);
/* One place, where a command changes something. */
int places_open_one(struct places *p, const char *command);
void places_close(struct places *p);

/* Asks its run; e is as of control_ask(). */
MUST_CHECK int place_ask(const struct place *p, const struct control_request *q, json_t **ret,
			 struct err *e);
/* The exit status of what control_ask() returned. */
int place_failed(int r);
/* Why no run answers there: none lives, or it has not begun, and what the last one was. */
void place_say_silent(const struct place *p);
/* {"state_dir": ..., "run": null, "last_run": {...}} of that. */
MUST_CHECK int place_silent_json(const struct place *p, json_t **ret, struct err *e);

#endif
