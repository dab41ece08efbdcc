/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzcell status --watch. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/loop.h"
#include "base/sys.h"
#include "base/term.h"
#include "runner/command/common/answer.h"
#include "runner/command/control/status.h"
#include "runner/status/table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCREEN_MAX = 1 << 20 };

struct watcher {
	struct status_args *a;
	struct loop *loop;
	struct source *tick, *signals[3];
	bool terminal;
	unsigned drawn; /* number of lines on the screen that the next drawing replaces */
	int status;
};

/* Draws the part of one place. False: no run is active there. */
static bool draw_place(struct watcher *w, const struct place *p, unsigned columns, unsigned lines,
		       struct buf *out)
{
	_autojson_ json_t *o = NULL;
	_autobuf_ struct buf table = BUF_INIT(SCREEN_MAX);
	char shown[ESCAPE_MAX], path[ESCAPE_MAX];
	struct err e;
	unsigned n = 0;
	int r = place_ask(p, &w->a->request, &o, &e);

	if (r == 0 && w->a->json) {
		(void)json_object_set_new(o, "state_dir", answer_text(p->state->path));
		w->status = answer_print_line(o);
		return true;
	}
	if (r == 0)
		r = status_draw(o, columns, lines, &table, &n, &e);
	if (r == 0) {
		buf_put(out, buf_slice(&table));
		w->drawn += n;
		return true;
	}
	if (w->a->json)
		return r != -ENOENT;
	/* The run may answer at the next tick. */
	buf_printf(out, "%.*s: %.*s\n", (int)columns / 2, escape(p->state->path, path),
		   (int)columns / 3, escape(e.msg, shown));
	w->drawn++;
	return r != -ENOENT;
}

static bool control_status_watch_draw(struct watcher *w)
{
	size_t n = w->a->places.n, live = 0;
	_autobuf_ struct buf b = BUF_INIT((n + 1) * SCREEN_MAX); /* enough for all tables */
	unsigned columns, lines;
	struct err e;

	table_screen(STDOUT_FILENO, &columns, &lines);
	if (!w->terminal)
		lines = SCREEN_MAX;
	if (w->terminal && w->drawn)
		buf_printf(&b, "\x1b[%uF\x1b[J", w->drawn);
	w->drawn = 0;
	for (size_t i = 0; i < n; i++)
		live += draw_place(w, &w->a->places.v[i], columns, lines / (unsigned)n, &b);
	if (buf_check(&b, &e) < 0) {
		w->status = fail(EXIT_INTERNAL, "%s", e.msg);
		return false;
	}
	if (sys_write_all(STDOUT_FILENO, buf_str(&b), b.n) < 0 || term_lost() != 0)
		return false; /* the reader is gone */
	return live > 0;
}

static void control_status_watch_on_tick(void *arg)
{
	struct watcher *w = arg;
	struct err e;

	if (!control_status_watch_draw(w))
		loop_stop(w->loop);
	else if (loop_set_timer(w->tick, clock_mono_us() + USEC_PER_SEC, &e) < 0) {
		w->status = fail(EXIT_INTERNAL, "%s", e.msg);
		loop_stop(w->loop);
	}
}

static void control_status_watch_on_signal(void *arg, int signo)
{
	struct watcher *w = arg;

	(void)signo;
	loop_stop(w->loop);
}

static int control_status_watch_watch(struct watcher *w, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	int r = loop_new(&w->loop, e);

	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		r = loop_add_signal(w->loop, ends[i], control_status_watch_on_signal, w,
				    &w->signals[i], e);
	if (r == 0)
		r = loop_add_timer(w->loop, clock_mono_us(), control_status_watch_on_tick, w,
				   &w->tick, e);
	return r == 0 ? loop_run(w->loop, e) : r;
}

/* Reports whether the terminal can replace lines. */
static bool is_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

int status_watch(struct status_args *a)
{
	struct watcher w = {.a = a, .terminal = !a->json && is_screen()};
	struct err e;

	if (control_status_watch_watch(&w, &e) < 0)
		w.status = fail(EXIT_INTERNAL, "%s", e.msg);
	for (size_t i = 0; i < sizeof(w.signals) / sizeof(w.signals[0]); i++)
		source_remove(w.signals[i]);
	source_remove(w.tick);
	loop_free(w.loop);
	return w.status;
}
