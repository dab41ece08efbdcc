/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the requests of users to a run's control socket. */
#include "runner/run/internal.h"
#include "runner/status/status.h"

#include <errno.h>
#include <string.h>

static int run_ask_find(const struct run *r, const char *name, struct job **ret, struct err *e)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->jobs[i].target->name, name) == 0) {
			*ret = &r->jobs[i];
			return 0;
		}
	return err_set(e, ENOENT, "this run has no target '%s'", name);
}

/* Logs the user's request, so that the log shows which targets did not end by themselves. */
static void run_ask_log(struct run *r, const struct job *j, const char *what)
{
	r->o.event(r->o.arg, run_look_at(r, j->index), j->index, what);
}

_Static_assert((int)CONTROL_CELLS_MAX == (int)CONTROL_WORKERS_MAX, "one limit for both ways");

/* ret_note: set if the target is already in the wanted state; otherwise unchanged. */
static int run_ask_start(struct run *r, struct job *j, const char **ret_note, struct err *e)
{
	if (r->dispatch.closed)
		return err_set(e, ESHUTDOWN, "the run is coming to its end");
	if (dispatch_has_turn(j))
		*ret_note = "it has its turn already";
	else
		run_ask_log(r, j, "started by a user");
	dispatch_start(&r->dispatch, j);
	return 0;
}

static void run_ask_stop(struct run *r, struct job *j, bool now)
{
	run_ask_log(r, j, "stopped by a user");
	dispatch_stop(&r->dispatch, j, now);
}

static int run_ask_skip(struct run *r, struct job *j, const char **ret_note, struct err *e)
{
	bool turn = dispatch_has_turn(j);
	int rc = dispatch_skip(&r->dispatch, j, e);

	if (rc < 0)
		return rc;
	if (turn)
		run_ask_log(r, j, "skipped by a user");
	else
		*ret_note = "it had no turn; others come first";
	dispatch_next(&r->dispatch);
	return 0;
}

static int answer_state(struct run *r, const struct job *j, const char *note, json_t **ret,
			struct err *e)
{
	json_t *o = json_pack("{s:s, s:s*}", "state",
			      run_look_at(r, j->index)->rows[j->index].state, "note", note);

	if (!o)
		return err_set(e, ENOMEM, "build JSON");
	*ret = o;
	return 0;
}

static int run_ask_of_target(struct run *r, const struct control_request *q, json_t **ret,
			     struct err *e)
{
	const char *note = NULL;
	struct job *j = NULL;
	int rc = run_ask_find(r, q->target, &j, e);

	if (rc < 0)
		return rc;
	if (q->cmd == CONTROL_TARGET) {
		*ret = json_pack("{s:o}", "target",
				 status_target_json(&run_look_at(r, j->index)->rows[j->index]));
		return 0;
	}
	if (q->cmd == CONTROL_START)
		rc = run_ask_start(r, j, &note, e);
	else if (q->cmd == CONTROL_STOP)
		run_ask_stop(r, j, q->now);
	else
		rc = run_ask_skip(r, j, &note, e);
	return rc < 0 ? rc : answer_state(r, j, note, ret, e);
}

int run_ask(void *arg, const struct control_request *q, json_t **ret, struct err *e)
{
	struct run *r = arg;

	switch (q->cmd) {
	case CONTROL_STATUS:
		*ret = status_json(run_look(r));
		return 0;
	case CONTROL_TARGET:
	case CONTROL_STOP:
	case CONTROL_START:
	case CONTROL_SKIP:
		return run_ask_of_target(r, q, ret, e);
	case CONTROL_WORKERS:
		run_set_workers(r, q->workers);
		*ret = json_pack("{s:i}", "workers", (int)r->o.workers);
		return 0;
	case CONTROL_END:
		run_end(r, q->now);
		return 0;
	case CONTROL_CMD_COUNT:
		break;
	}
	return err_set(e, EINVAL, "unknown command");
}
