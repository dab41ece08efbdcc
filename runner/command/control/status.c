/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzcell status: the active runs. */
#include "runner/command/control/status.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/control/control.h"
#include "runner/status/color.h"
#include "runner/status/status.h"
#include "runner/status/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES_ALL = 1 << 20, TEXT_MAX = 16 << 20 };

static const struct option_spec specs[] = {
    STATE_OPTIONS_TAKE,
    {"watch", NULL, "repeat every second until the run ends", OPTION_AT(struct status_args, watch)},
    {"json", NULL, "print JSON", OPTION_AT(struct status_args, json)},
    COLOR_OPTION,
};

static bool control_status_take(void *arg, const char *name, const char *value)
{
	struct status_args *a = arg;

	return places_take(&a->places, name, value);
}

/* --- a run's answer, fit for a terminal -------------------------------------------------- */

/* Escapes a target's strings: they may contain anything. */
static void clean(json_t *target)
{
	static const char *const keys[] = {"name", "state", "reason", "note", "pressure_state"};
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *s = json_string_value(json_object_get(target, keys[i]));

		if (s && strcmp(s, escape(s, shown)) != 0)
			(void)json_object_set_new(target, keys[i], json_string(shown));
	}
}

static void clean_all(json_t *o)
{
	json_t *targets = json_object_get(o, "targets"), *run = json_object_get(o, "run");
	const char *id = json_string_value(json_object_get(run, "run"));
	char shown[ESCAPE_MAX];

	if (id)
		(void)json_object_set_new(run, "run", json_string(escape(id, shown)));
	for (size_t i = 0; i < json_array_size(targets); i++)
		clean(json_array_get(targets, i));
}

int status_draw(json_t *o, unsigned columns, unsigned lines, struct buf *out, unsigned *ret_lines,
		struct err *e)
{
	_autofree_ struct target_row *rows = NULL;
	struct run_view v;
	int r;

	clean_all(o);
	r = status_view(o, &v, &rows, e);
	return r == 0
		   ? table_draw(&v, columns, lines, color_wanted(STDOUT_FILENO), out, ret_lines, e)
		   : r;
}

/* --- one place --------------------------------------------------------------------------- */

static int say_silent(const struct status_args *a, const struct place *p)
{
	_autojson_ json_t *o = NULL;

	if (!a->json) {
		place_say_silent(p);
		return EXIT_DONE;
	}
	o = place_silent_json(p);
	return answer_print_line(o);
}

static void add_health(const json_t *o, struct buf *text)
{
	const json_t *targets = json_object_get(o, "targets");

	for (size_t i = 0; i < json_array_size(targets); i++)
		status_health(json_array_get(targets, i), false, text);
}

static int control_status_print_table(const struct place *p, json_t *o)
{
	_autobuf_ struct buf text = BUF_INIT(TEXT_MAX);
	char shown[ESCAPE_MAX];
	unsigned columns = 0, lines;
	struct err e;

	if (isatty(STDOUT_FILENO))
		table_screen(STDOUT_FILENO, &columns, &lines);
	if (status_draw(o, columns, LINES_ALL, &text, &lines, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	add_health(o, &text);
	if (buf_check(&text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	printf("%s\n", escape(p->state->path, shown));
	fflush(stdout);
	/* Written without stdio's escaping, because the text contains colours. */
	if (sys_write_all(STDOUT_FILENO, buf_str(&text), text.n) < 0 && errno != EPIPE)
		return fail(EXIT_INTERNAL, "standard output: %s", strerror(errno));
	return EXIT_DONE;
}

static int control_status_print_target(json_t *target)
{
	_autobuf_ struct buf text = BUF_INIT(TEXT_MAX);
	struct err e;

	status_page(target, &text);
	if (buf_check(&text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	printf("%s", buf_str(&text));
	return EXIT_DONE;
}

static int print_one(const struct status_args *a, const struct place *p)
{
	_autojson_ json_t *o = NULL;
	char shown[ESCAPE_MAX], why[ESCAPE_MAX];
	struct err e;
	int r = place_ask(p, &a->request, &o, &e);

	if (r == -ENOENT)
		return say_silent(a, p);
	if (r < 0)
		return fail(place_failed(r), "%s: %s", escape(p->state->path, shown),
			    escape(e.msg, why));
	if (a->json) {
		(void)json_object_set_new(o, "state_dir", answer_text(p->state->path));
		return answer_print_line(o);
	}
	if (a->request.cmd != CONTROL_TARGET)
		return control_status_print_table(p, o);
	return control_status_print_target(json_object_get(o, "target"));
}

/* Prints the places that could be opened. */
static int control_status_print_all(const struct status_args *a, int r)
{
	for (size_t i = 0; i < a->places.n; i++) {
		int one = a->places.v[i].state ? print_one(a, &a->places.v[i]) : EXIT_DONE;

		if (r == EXIT_DONE)
			r = one;
	}
	return r;
}

int command_status(int argc, char **argv)
{
	struct status_args a = {.request = {.cmd = CONTROL_STATUS}};
	int at = options_parse(argc, argv, "status [OPTION]... [TARGET]", specs,
			       sizeof(specs) / sizeof(specs[0]), control_status_take, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc > at + 1)
		return fail(EXIT_USAGE, "status: unexpected '%s'", argv[at + 1]);
	if (at < argc && (!*argv[at] || strlen(argv[at]) > CONTROL_TARGET_MAX))
		return fail(EXIT_USAGE, "status: invalid target name");
	if (at < argc && a.watch)
		return fail(EXIT_USAGE, "status: --watch shows all targets");
	if (at < argc) {
		a.request.cmd = CONTROL_TARGET;
		(void)snprintf(a.request.target, sizeof(a.request.target), "%s", argv[at]);
	}
	r = places_open(&a.places);
	if (!a.watch)
		r = control_status_print_all(&a, r);
	else if (r == EXIT_DONE)
		r = status_watch(&a);
	places_close(&a.places);
	return r;
}
