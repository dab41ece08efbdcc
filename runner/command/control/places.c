/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/control/places.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "runner/command/common/answer.h"
#include "runner/state/history.h"
#include "runner/state/lock.h"
#include "runner/status/survey/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than a run ever blocks. */
#define PATIENCE_US (10 * USEC_PER_SEC)

bool places_take(struct places *p, const char *name, const char *value)
{
	bool config = strcmp(name, "config") == 0;

	if (!config && strcmp(name, "state-dir") != 0)
		return false;
	if (p->n_configs == PLACES_MAX || p->n_states == PLACES_MAX) {
		(void)fail(EXIT_USAGE, "--%s: %d of them at most", name, PLACES_MAX);
		return false;
	}
	if (config)
		p->configs[p->n_configs++] = value;
	else
		p->states[p->n_states++] = value;
	return true;
}

static int control_places_open_path(struct place *p, const char *path)
{
	struct err e;
	int r = state_open(path, STATE_READ, &p->state, &e);

	if (r < 0)
		return fail(r == -ENOENT ? EXIT_USAGE : EXIT_MACHINE, "%s", e.msg);
	return EXIT_DONE;
}

/* Finds the place like any other command. */
static int open_usual(struct place *p)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");
	int r;

	if (p->common.state_dir || (env && *env))
		return control_places_open_path(p, p->common.state_dir ? p->common.state_dir : env);
	r = common_load_config(&p->common);
	return r == EXIT_DONE ? control_places_open_path(p, config_state_dir(p->common.config)) : r;
}

static int open_config(struct place *p)
{
	int r = common_load_config(&p->common);

	if (r == EXIT_DONE && !config_state_dir(p->common.config))
		return fail(EXIT_USAGE, "%s has no \"state_dir\": several runs need one each",
			    p->common.config_path);
	return r == EXIT_DONE ? control_places_open_path(p, config_state_dir(p->common.config)) : r;
}

static int control_places_first(int before, int now)
{
	return before == EXIT_DONE ? now : before;
}

int places_open(struct places *p)
{
	bool several = p->n_configs > 1 || p->n_states > 1;
	size_t n = several ? p->n_configs + p->n_states : 1;
	int r = EXIT_DONE;

	p->v = xcalloc(n, sizeof(*p->v));
	if (!several) {
		p->n = 1;
		p->v[0].common.config_path = p->configs[0];
		p->v[0].common.state_dir = p->states[0];
		return open_usual(&p->v[0]);
	}
	for (size_t i = 0; i < p->n_configs; i++) {
		p->v[p->n].common.config_path = p->configs[i];
		r = control_places_first(r, open_config(&p->v[p->n++]));
	}
	for (size_t i = 0; i < p->n_states; i++)
		r = control_places_first(r, control_places_open_path(&p->v[p->n++], p->states[i]));
	return r;
}

int places_open_one(struct places *p, const char *command)
{
	if (p->n_configs > 1 || p->n_states > 1)
		return fail(EXIT_USAGE, "%s: one run at a time", command);
	return places_open(p);
}

void places_close(struct places *p)
{
	for (size_t i = 0; i < p->n; i++) {
		state_close(p->v[i].state);
		common_done(&p->v[i].common);
	}
	free(p->v);
	*p = (struct places){0};
}

int place_ask(const struct place *p, const struct control_request *q, json_t **ret, struct err *e)
{
	return control_ask(p->state->dirfd, q, PATIENCE_US, ret, e);
}

int place_failed(int r)
{
	if (r == -ENOENT || r == -EREMOTEIO)
		return EXIT_USAGE;
	return r == -EPROTO ? EXIT_INTERNAL : EXIT_MACHINE;
}

/* --- places without an answer --------------------------------------------------------------- */

/* Returns the last line of the run history; NULL: there is none. */
static json_t *last_run(const struct place *p)
{
	json_t *lines = NULL, *last;
	uint64_t damaged;
	struct err e;

	if (history_last(p->state, "run_history.jsonl", 1, &lines, &damaged, &e) < 0)
		return NULL;
	last = json_incref(json_array_get(lines, 0));
	json_decref(lines);
	return last;
}

static pid_t holder(const struct place *p, bool *ret_held)
{
	struct err e;
	pid_t pid;

	if (lock_run_holder(p->state->dirfd, ret_held, &pid, &e) < 0)
		*ret_held = false;
	return *ret_held ? pid : 0;
}

static const char *control_places_word(const json_t *o, const char *key, char shown[ESCAPE_MAX])
{
	const char *s = json_string_value(json_object_get(o, key));

	return escape(s ? s : "?", shown);
}

static bool control_places_is_lost(const json_t *last)
{
	const char *status = json_string_value(json_object_get(last, "status"));

	return status && strcmp(status, "lost") == 0;
}

static void print_last(const json_t *last, bool lost)
{
	char run[ESCAPE_MAX], status[ESCAPE_MAX], ended[ESCAPE_MAX];

	printf("the last run%s was %s: %s, ended %s, %lld targets, %lld new crashes\n",
	       lost ? " that ended" : "", control_places_word(last, "run", run),
	       control_places_word(last, "status", status),
	       control_places_word(last, "ended", ended),
	       (long long)json_integer_value(json_object_get(last, "targets")),
	       (long long)json_integer_value(json_object_get(last, "new_crashes")));
}

void place_print_silent(const struct place *p)
{
	_autojson_ json_t *last = last_run(p);
	char shown[ESCAPE_MAX], killed[SURVEY_RUN_MAX];
	bool held, left, lost = survey_lost_run(p->state, killed, &left);
	pid_t pid = holder(p, &held);

	escape(p->state->path, shown);
	if (held)
		printf("%s: process %d holds the lock, but it is not fuzzing now\n", shown,
		       (int)pid);
	else if (lost)
		printf("%s: no run; %s was killed, %s\n", shown, killed,
		       left ? "the next start saves its results" : "its results were saved");
	else
		printf("%s: no run\n", shown);
	if (last && !control_places_is_lost(last))
		print_last(last, lost && !held);
}

json_t *place_silent_json(const struct place *p)
{
	_autojson_ json_t *last = last_run(p);
	char killed[SURVEY_RUN_MAX];
	bool held, left, lost = survey_lost_run(p->state, killed, &left);
	pid_t pid = holder(p, &held);
	json_t *o = json_pack("{s:o, s:n, s:O?}", "state_dir", answer_text(p->state->path), "run",
			      "last_run", last);

	if (held)
		(void)json_object_set_new(o, "busy_pid", json_integer(pid));
	if (lost)
		(void)json_object_set_new(o, "killed_run", json_string(killed));
	return o;
}
