/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/triage/replay.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/run/triage/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_INPUT  "/seeds"
#define NAME_INPUT "input"
#define FILE_INPUT DIR_INPUT "/" NAME_INPUT

/* Time for the start, symbolizing and writing a report, beside the time of the input. */
#define AROUND_US (60 * USEC_PER_SEC)
/* An engine checks an input's time at least once every half of its limit plus 1 s.  An input that
 * runs for twice its limit plus this time does not receive the engine's alarm. */
#define NO_ALARM_US (2 * USEC_PER_SEC)

/* A timeout that CPU pressure may have caused is tried again with more time: the maximum factor. */
enum { LONGER_MAX = 16 };
#define STARVED 0.2 /* share of the wall time */

/* --- a cell that stays ----------------------------------------------------- */

struct replay_seat {
	struct seat *seat;
	char *dir, *path; /* the input's directory and path */
	void (*closed)(void *arg);
	void *arg;
};

static void replay_seat_free(struct replay_seat *s)
{
	if (!s)
		return;
	free(s->dir);
	free(s->path);
	free(s);
}

DEFINE_CLEANUP(struct replay_seat *, replay_seat_free)

int replay_seat_new(const char *work, size_t index, struct replay_seat **ret, struct err *e)
{
	CLEANUP(replay_seat_free_p) struct replay_seat *s = xcalloc(1, sizeof(*s));

	s->dir = xasprintf("%s/.replay-%zu", work, index);
	s->path = xasprintf("%s/.replay-%zu/" NAME_INPUT, work, index);
	if (sys_mkdirat(AT_FDCWD, s->dir, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", s->dir);
	if (chmod(s->dir, 0755) < 0) /* independent of the umask */
		return err_sys(e, "set the mode of '%s'", s->dir);
	s->seat = seat_new();
	*ret = take_ptr(&s);
	return 0;
}

static void replay_on_closed(void *arg)
{
	struct replay_seat *s = arg;
	void (*closed)(void *arg) = s->closed;
	void *closed_arg = s->arg;

	(void)unlink(s->path); /* allow: a further name of the input */
	(void)!sys_unlinkat(AT_FDCWD, s->dir, AT_REMOVEDIR);
	replay_seat_free(s);
	closed(closed_arg);
}

void replay_seat_clear(struct replay_seat *s)
{
	seat_clear(s->seat);
}

void replay_seat_close(struct replay_seat *s, void (*closed)(void *arg), void *arg)
{
	s->closed = closed;
	s->arg = arg;
	seat_close(s->seat, replay_on_closed, s);
}

/* --- one replay ------------------------------------------------------------ */

struct replay {
	const struct replay_env *env;
	struct replay_spec spec;
	char *input;	 /* spec.input */
	unsigned longer; /* factor for the time that an input may take */
	struct exec *exec;
	struct crash_parser *parser;
	char build[FILE_ID_TEXT]; /* for the parser */
	struct crash_report report;
};

static void replay_on_output(void *arg, struct slice bytes)
{
	struct replay *t = arg;

	crash_parser_feed(t->parser, bytes);
}

/* Whether the engine reported a fault.  A harness may run each input in a child and go on, so that
 * its exit status does not show the fault.  (An engine names no artifact when it replays.) */
static bool replay_has_reported(const struct engine_state *s)
{
	return s->fault != ENGINE_FAULT_NONE && s->fault != ENGINE_FAULT_ENGINE;
}

static bool replay_has_failed(const struct exec_end *end)
{
	return replay_has_reported(end->engine) || end->code != 0 || end->signo != 0 || end->late ||
	       *end->refused || end->failure != FAILURE_NONE;
}

/* Why the input was not run; "": it was run. */
static const char *replay_unusable(const struct exec_end *end)
{
	if (end->stopped)
		return "stopped";
	if (!end->started)
		return end->why;
	if (!end->engine->replaying && end->engine->fault != ENGINE_FAULT_CRASH && !end->late &&
	    end->failure == FAILURE_NONE)
		return "the target ended before it ran the input";
	return "";
}

static void replay_free(struct replay *t)
{
	crash_parser_free(t->parser);
	crash_report_done(&t->report);
	free(t->input);
	free(t);
}

static void replay_on_end(void *arg, const struct exec_end *end);

static bool replay_took_too_long(const struct exec_end *end)
{
	return end->late || end->failure == FAILURE_TIMEOUT;
}

bool replay_starved(const struct exec_end *end)
{
	return (double)end->waited_us > STARVED * (double)end->wall_us;
}

static bool replay_was_starved(const struct replay *t, const struct exec_end *end)
{
	return replay_took_too_long(end) && end->input_cpu_us < t->spec.cfg->input_timeout_us &&
	       replay_starved(end);
}

/* Whether the cell used nearly all the CPU time that its own limit allows. */
static bool replay_used_its_quota(const struct replay *t, const struct exec_end *end)
{
	double most = t->spec.cfg->cpu_milli / 1000.0 * (double)end->wall_us;

	return most > 0 && (double)end->cpu_us >= (1 - STARVED) * most;
}

static uint64_t replay_may_take(const struct replay *t)
{
	return t->longer * t->spec.cfg->input_timeout_us;
}

static int replay_command(struct setup *s, const struct replay *t, struct err *e)
{
	const struct replay_spec *spec = &t->spec;
	static const char *const inputs[] = {FILE_INPUT, NULL};
	struct engine_replay r = {
	    .binary = s->binary,
	    .inputs = inputs,
	    .input_timeout_s = (replay_may_take(t) + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = spec->cfg->rss_limit >> 20,
	    .symbolizer = spec->symbolize ? t->env->symbolizer : NULL,
	    .ub_goes_on = spec->ub_goes_on,
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return setup_replay(s, &r, e);
}

/* Links the input into the seat's directory under a fixed name, where a cell that stays sees it.
 * False: it is on another file system, or a link. */
static bool replay_link_input(const struct replay *t)
{
	const struct replay_seat *seat = t->spec.seat;
	struct stat st;

	if (!seat || lstat(t->input, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	(void)unlink(seat->path); /* allow: the input before */
	return link(t->input, seat->path) == 0;
}

/* The seat of the cell; NULL: the cell is for this input only. */
static struct seat *replay_mount_input(struct setup *s, const struct replay *t)
{
	if (replay_link_input(t)) {
		setup_mount(s, DIR_INPUT, false, "%s", t->spec.seat->dir);
		return t->spec.seat->seat;
	}
	setup_mount(s, FILE_INPUT, false, "%s", t->input);
	return NULL;
}

static int replay_launch(struct replay *t, struct err *e)
{
	const struct replay_spec *spec = &t->spec;
	struct seat *seat;
	struct crash_options o = {.target = spec->target->name,
				  .build = file_id_now(spec->target->binary, t->build)};
	struct setup s;
	int r;

	crash_parser_free(t->parser);
	t->parser = crash_parser_new(&o);
	setup_init(&s, spec->target, spec->cfg);
	seat = replay_mount_input(&s, t);
	r = replay_command(&s, t, e);
	if (r == 0) {
		struct exec_spec x = {
		    .setup = &s,
		    .seat = seat,
		    .index = spec->index,
		    .extra_memory = spec->symbolize ? spec->cfg->symbolizer_memory : 0,
		    .deadline_us = 2 * replay_may_take(t) + AROUND_US,
		    .input_us = 2 * replay_may_take(t) + NO_ALARM_US,
		    .forks_end_it = true,
		    .output = replay_on_output,
		    .done = replay_on_end,
		    .arg = t,
		};
		r = exec_start(&t->env->exec, &x, &t->exec, e);
	}
	setup_done(&s);
	return r;
}

static bool replay_has_room(const struct replay *t, unsigned longer)
{
	uint64_t until = t->spec.until_us, need = longer * t->spec.cfg->input_timeout_us;

	return longer <= LONGER_MAX && (until == 0 || clock_mono_us() + need <= until);
}

/* The next factor for the input's time.  At the present share of the CPU it must give the CPU time
 * of an input and a quarter more.  It is at least twice the last factor.  0: there is no time left.
 */
static unsigned replay_longer(const struct replay *t, const struct exec_end *end)
{
	unsigned least = 2 * t->longer, n = least;

	while (replay_has_room(t, 2 * n) &&
	       n * end->input_cpu_us < t->longer * t->spec.cfg->input_timeout_us * 5 / 4)
		n *= 2;
	return replay_has_room(t, n) ? n : 0;
}

static void replay_on_end(void *arg, const struct exec_end *end)
{
	struct replay *t = arg;
	struct replay_end te = {.unusable = replay_unusable(end),
				.output = end->output,
				.cpu_us = end->cpu_us,
				.wall_us = end->wall_us};
	bool starved = !*te.unusable && replay_was_starved(t, end);
	unsigned longer = starved ? replay_longer(t, end) : 0;
	struct err e;

	t->exec = NULL;
	/* If its own quota throttled it, lower CPU pressure would not give it more CPU time. */
	starved = starved && (longer || !replay_used_its_quota(t, end));
	if (longer) {
		t->longer = longer;
		if (replay_launch(t, &e) == 0)
			return;
		te.unusable = e.msg;
	} else if (starved) {
		te.unusable = "the machine is too busy: it never had the CPU time of an input";
	}
	te.starved = starved || t->longer > 1;
	if (!*te.unusable)
		crash_parser_finish(t->parser, &t->report);
	if (!*te.unusable && replay_has_failed(end)) {
		te.failed = true;
		te.cause = failure_own_report(end, t->spec.target->name, &t->report);
		te.report = &t->report;
	}
	t->spec.done(t->spec.arg, &te);
	replay_free(t);
}

/* A file that the cell's user cannot read would look like a failing target. */
static int replay_check_input(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, "look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	if (!(st.st_mode & S_IROTH))
		return err_set(e, EACCES, "'%s' is not readable for all users", path);
	return 0;
}

int replay_start(const struct replay_env *env, const struct replay_spec *spec, struct replay **ret,
		 struct err *e)
{
	struct replay *t = xcalloc(1, sizeof(*t));
	int r;

	t->env = env;
	t->spec = *spec;
	t->longer = 1;
	t->input = xstrdup(spec->input);
	t->spec.input = t->input;
	r = replay_check_input(t->input, e);
	if (r == 0)
		r = replay_launch(t, e);
	if (r < 0) {
		replay_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void replay_stop(struct replay *t)
{
	if (t->exec)
		exec_stop(t->exec);
}
