/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzcell stop, start, skip, workers: a user's requests to an active run. */
#include "runner/command/command.h"

#include "base/escape.h"
#include "runner/command/common/answer.h"
#include "runner/command/control/places.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct control_args {
	struct places places;
	bool now, json;
};

static bool control_take(void *arg, const char *name, const char *value)
{
	struct control_args *a = arg;

	return places_take(&a->places, name, value);
}

/* Prints the result of a request. */
static void control_print_result(const struct control_request *q, const json_t *answer)
{
	const char *state = json_string_value(json_object_get(answer, "state"));
	const char *note = json_string_value(json_object_get(answer, "note"));
	char target[ESCAPE_MAX], shown[ESCAPE_MAX], more[ESCAPE_MAX];

	if (*q->target)
		printf("%s: %s%s%s%s\n", escape(q->target, target),
		       escape(state ? state : "?", shown), note ? " (" : "",
		       escape(note ? note : "", more), note ? ")" : "");
	else if (q->cmd == CONTROL_WORKERS)
		printf("at most %u cells at once\n", q->workers);
	else
		printf("the run is stopping (fuzzcell status)\n");
}

static int ask(const struct control_args *a, const struct control_request *q)
{
	_autojson_ json_t *answer = NULL;
	const struct place *p = &a->places.v[0];
	char shown[ESCAPE_MAX], why[ESCAPE_MAX];
	struct err e;
	int r = place_ask(p, q, &answer, &e);

	if (r == -ENOENT && !a->json)
		place_print_silent(p);
	if (r < 0)
		return fail(place_failed(r), "%s: %s", escape(p->state->path, shown),
			    escape(e.msg, why));
	if (a->json)
		return answer_print_line(answer);
	control_print_result(q, answer);
	return EXIT_DONE;
}

static int control_take_target(struct control_request *q, const char *name)
{
	char shown[ESCAPE_MAX];

	if (strlen(name) > CONTROL_TARGET_MAX || !*name)
		return fail(EXIT_USAGE, "'%s' is no target's name", escape(name, shown));
	(void)snprintf(q->target, sizeof(q->target), "%s", name);
	return EXIT_DONE;
}

static int control_take_workers(struct control_request *q, const char *text)
{
	struct slice in = slice_of(text);
	char shown[ESCAPE_MAX];
	uint64_t n;

	if (!scan_u64(&in, 10, CONTROL_CELLS_MAX, &n) || in.n > 0 || n == 0)
		return fail(EXIT_USAGE, "workers: '%s' is not in 1 to %d", escape(text, shown),
			    CONTROL_CELLS_MAX);
	q->workers = (unsigned)n;
	return EXIT_DONE;
}

/* The command takes one operand; for stop it is optional. */
static int control(int argc, char **argv, const char *usage, struct control_request q)
{
	static const struct option_spec specs[] = {
	    STATE_OPTIONS_TAKE,
	    {"json", NULL, "print JSON", OPTION_AT(struct control_args, json)},
	    {"now", NULL, "stop: at once; all findings are saved",
	     OPTION_AT(struct control_args, now)},
	};
	size_t n_specs = sizeof(specs) / sizeof(specs[0]) - (q.cmd != CONTROL_END);
	struct control_args a = {0};
	int at = options_parse(argc, argv, usage, specs, n_specs, control_take, &a), r = EXIT_DONE;

	if (at < 0)
		return -1 - at;
	if (argc > at + 1)
		return fail(EXIT_USAGE, "%s: unexpected '%s'", argv[0], argv[at + 1]);
	if (at == argc && q.cmd != CONTROL_END)
		return fail(EXIT_USAGE, "%s: missing operand (usage: fuzzcell %s)", argv[0], usage);
	if (at < argc && q.cmd == CONTROL_END)
		q.cmd = CONTROL_STOP;
	if (at < argc)
		r = q.cmd == CONTROL_WORKERS ? control_take_workers(&q, argv[at])
					     : control_take_target(&q, argv[at]);
	q.now = a.now;
	if (r == EXIT_DONE)
		r = places_open_one(&a.places, argv[0]);
	if (r == EXIT_DONE)
		r = ask(&a, &q);
	places_close(&a.places);
	return r;
}

int command_stop(int argc, char **argv)
{
	return control(argc, argv, "stop [OPTION]... [TARGET]",
		       (struct control_request){.cmd = CONTROL_END});
}

int command_start(int argc, char **argv)
{
	return control(argc, argv, "start [OPTION]... TARGET",
		       (struct control_request){.cmd = CONTROL_START});
}

int command_skip(int argc, char **argv)
{
	return control(argc, argv, "skip [OPTION]... TARGET",
		       (struct control_request){.cmd = CONTROL_SKIP});
}

int command_workers(int argc, char **argv)
{
	return control(argc, argv, "workers [OPTION]... N",
		       (struct control_request){.cmd = CONTROL_WORKERS});
}
