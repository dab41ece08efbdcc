/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/coverage/collect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/lines.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROFILE_AT SETUP_DIR_WORK "/profile"
/* Time for the start and for writing the profile, beside the time of an input. */
#define AROUND_US (60 * USEC_PER_SEC)

enum { PATH = sizeof(((struct engine_state *)0)->input), MODE_PROFILE = 0644 };

/* A worker: one process at a time. */
struct collect_slot {
	struct collect *c;
	size_t index;	/* exec_spec.index */
	size_t at, end; /* its inputs; `at` is next */
	size_t size;	/* the inputs of the next process; 0: as many as there are */
	struct exec *exec;
	uint64_t number; /* of the process's profile */
	size_t n;	 /* the process's inputs */
	size_t started;	 /* of these, those that were seen to begin */
	struct lines lines;
	struct engine_state seen;
	struct source *watch; /* limits the time of an input */
};

struct collect {
	const struct exec_env *env;
	struct collect_spec spec;
	struct collect_sum sum;
	struct collect_slot *slots;
	struct source *idle; /* the next step, from the loop */
	size_t next;	     /* the first input that no slot has */
	uint64_t serial;     /* of profiles */
	int raw;	     /* spec.raw */
	uint64_t bytes;	     /* of the profiles */
	bool over;
};

static void collect_give_up(struct collect *c, const char *why)
{
	if (why && !*c->sum.why)
		snprintf(c->sum.why, sizeof(c->sum.why), "%.299s", why);
	c->over = true;
}

/* Takes the next step, from the loop. */
static void collect_step(struct collect *c)
{
	struct err e;

	if (loop_set_timer(c->idle, clock_mono_us(), &e) < 0)
		collect_give_up(c, e.msg);
}

/* --- the profile of a process --------------------------------------------------------- */

static void collect_profile_name(uint64_t number, char out[32])
{
	snprintf(out, 32, "%llu.profraw", (unsigned long long)number);
}

/* The only file that the process may write. */
static int collect_make_profile(struct collect_slot *s, struct err *e)
{
	uid_t uid = setup_uid(s->index);
	_autoclose_ int fd = -1;
	char name[32];
	int r;

	s->number = s->c->serial++;
	collect_profile_name(s->number, name);
	r = fs_open_file(s->c->raw, name, O_WRONLY | O_CREAT | O_TRUNC, MODE_PROFILE, &fd, e);
	if (r < 0)
		return r;
	if (fchmod(fd, MODE_PROFILE) < 0 || fchown(fd, uid, setup_gid(uid)) < 0)
		return err_sys(e, "prepare '%s/%s'", s->c->spec.raw, name);
	return 0;
}

/* Whether the process wrote a profile.  If it is not wanted, it is removed. */
static bool collect_keep_profile(const struct collect_slot *s, bool wanted)
{
	struct collect *c = s->c;
	struct stat st;
	char name[32];
	struct err e;

	collect_profile_name(s->number, name);
	if (wanted && fstatat(c->raw, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0) {
		c->bytes += (uint64_t)st.st_size;
		return true;
	}
	(void)!fs_remove_tree(c->raw, name, &e); /* an empty profile does no harm */
	return false;
}

/* --- while a process runs ------------------------------------------------------------------- */

static void collect_input_path(const struct collect *c, size_t input, char out[PATH])
{
	snprintf(out, PATH, SETUP_DIR_INPUTS "/%s", c->spec.inputs->v[input].name);
}

static void collect_watch(struct collect_slot *s)
{
	uint64_t most = 2 * s->c->spec.cfg->input_timeout_us + AROUND_US;
	struct err e;

	if (loop_set_timer(s->watch, clock_mono_us() + most, &e) < 0)
		collect_give_up(s->c, e.msg);
}

/* The timer of collect_slot.watch: an input hangs, and the engine did not notice. */
static void collect_on_stuck(void *arg)
{
	const struct collect_slot *s = arg;

	if (s->exec)
		exec_stop(s->exec);
}

static void collect_on_line(void *arg, struct slice line)
{
	struct collect_slot *s = arg;
	uint64_t before = s->seen.inputs;
	char path[PATH];

	s->c->spec.build->engine->line(line, &s->seen);
	if (s->seen.inputs == before || s->started == s->n)
		return;
	collect_input_path(s->c, s->at + s->started, path);
	if (strcmp(s->seen.input, path) == 0) {
		s->started++;
		collect_watch(s);
	}
}

static void collect_on_output(void *arg, struct slice bytes)
{
	struct collect_slot *s = arg;

	lines_feed(&s->lines, bytes, collect_on_line, s);
}

/* --- the end of a process --------------------------------------------------------------------- */

size_t collect_next_size(size_t n, size_t started, bool ended)
{
	if (ended)
		return n * 2 < COLLECT_INPUTS_MAX ? n * 2 : COLLECT_INPUTS_MAX;
	if (started <= 1)
		return COLLECT_INPUTS_AFTER;
	/* All ran, and the process failed at its end: one of them is to blame. */
	return started == n ? n / 2 : started - 1;
}

static bool collect_ended_well(const struct collect_slot *s, const struct exec_end *end)
{
	return end->code == 0 && end->signo == 0 && !end->late && !end->stopped &&
	       end->failure == FAILURE_NONE && end->engine->done && s->started == s->n;
}

/* The first input of the process failed, without any before it. */
static void collect_leave_out(struct collect_slot *s)
{
	struct collect *c = s->c;

	c->sum.failed++;
	s->at++;
	if (c->sum.failed >= COLLECT_FAILURES_MAX)
		collect_give_up(c, "too many inputs fail in the coverage build");
}

static void collect_take(struct collect_slot *s, bool well)
{
	struct collect *c = s->c;

	if (!well) {
		(void)collect_keep_profile(s, false);
		if (s->started <= 1)
			collect_leave_out(s);
	} else if (collect_keep_profile(s, true)) {
		c->sum.profiles++;
		c->sum.ran += s->n;
		s->at += s->n;
	} else {
		collect_give_up(c, "the program wrote no profile: build it with "
				   "-fprofile-instr-generate -fcoverage-mapping");
	}
	if (c->bytes > COLLECT_BYTES_MAX)
		collect_give_up(c, "its profiles are too large");
	s->size = collect_next_size(s->n, s->started, well);
}

/* With the last line that it printed, which may name the cause. */
static void collect_say_end(const struct exec_end *end, char out[300])
{
	struct slice text = end->output, line, found = SLICE("");
	char last[ESCAPE_ASCII_MAX];

	while (scan_line(&text, &line))
		if (line.n > 0)
			found = line;
	if (found.n > 150)
		found.n = 150;
	snprintf(out, 300, "it ended before it was seen to run an input (%s %d)%s%.160s",
		 end->signo ? "signal" : "status", end->signo ? end->signo : end->code,
		 found.n ? ": " : "", escape_ascii(found, last));
}

static void collect_on_end(void *arg, const struct exec_end *end)
{
	struct collect_slot *s = arg;
	struct collect *c = s->c;
	char why[300];

	lines_end(&s->lines, collect_on_line, s);
	s->exec = NULL;
	c->sum.cpu_us += end->cpu_us;
	if (!end->started) {
		collect_give_up(c, end->why);
	} else if (!collect_ended_well(s, end) && s->started == 0) {
		collect_say_end(end, why);
		collect_give_up(c, c->over ? NULL : why);
	} else if (!c->over || collect_ended_well(s, end)) {
		collect_take(s, collect_ended_well(s, end));
	}
	collect_step(c);
}

/* --- the start of a process ------------------------------------------------------ */

static int collect_command(const struct collect_slot *s, struct setup *setup, struct err *e)
{
	const struct collect_spec *spec = &s->c->spec;
	CLEANUP(strv_done) struct strv inputs = {0};
	struct engine_replay job = {
	    .binary = setup->binary,
	    .input_timeout_s = (spec->cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = spec->cfg->rss_limit >> 20,
	    .flags = (const char *const *)setup->flags.v,
	};
	char path[PATH];

	strv_push(&setup->env, "LLVM_PROFILE_FILE=" PROFILE_AT);
	job.env = (const char *const *)setup->env.v;
	for (size_t i = 0; i < s->n; i++) {
		collect_input_path(s->c, s->at + i, path);
		strv_push(&inputs, path);
	}
	job.inputs = (const char *const *)inputs.v;
	return setup_replay(setup, &job, e);
}

static int collect_launch(struct collect_slot *s, struct err *e)
{
	const struct collect_spec *spec = &s->c->spec;
	struct target_config cfg = *spec->cfg; /* it borrows the texts */
	struct setup setup;
	char name[32];
	int r = collect_make_profile(s, e);

	if (r < 0)
		return r;
	if (cfg.disk > COLLECT_PROFILE_MAX)
		cfg.disk = COLLECT_PROFILE_MAX;
	setup_init(&setup, spec->build, &cfg);
	setup_mount(&setup, SETUP_DIR_INPUTS, false, "%s", spec->dir);
	collect_profile_name(s->number, name);
	setup_mount(&setup, PROFILE_AT, true, "%s/%s", spec->raw, name);
	r = collect_command(s, &setup, e);
	if (r == 0) {
		struct exec_spec x = {
		    .setup = &setup,
		    .index = s->index,
		    .deadline_us = s->n * 2 * spec->cfg->input_timeout_us + AROUND_US,
		    .forks_end_it = true,
		    .output = collect_on_output,
		    .done = collect_on_end,
		    .arg = s,
		};
		r = exec_start(s->c->env, &x, &s->exec, e);
	}
	setup_done(&setup);
	return r;
}

/* Gives the slot inputs, and starts a process with them.  False: there is nothing to do. */
static bool collect_feed(struct collect_slot *s)
{
	struct collect *c = s->c;
	size_t left = c->spec.inputs->n - c->next;
	struct err e;

	if (c->over)
		return false;
	if (s->at == s->end && left > 0) {
		size_t share = (left + c->spec.workers - 1) / c->spec.workers;

		s->at = c->next;
		s->end = c->next + (share < COLLECT_INPUTS_MAX ? share : COLLECT_INPUTS_MAX);
		s->size = 0;
		c->next = s->end;
	}
	if (s->at == s->end)
		return false;
	s->n = s->end - s->at;
	if (s->size > 0 && s->size < s->n)
		s->n = s->size;
	s->started = 0;
	s->lines = (struct lines){0};
	s->seen = (struct engine_state){0};
	if (collect_launch(s, &e) < 0) {
		collect_give_up(c, e.msg);
		return false;
	}
	collect_watch(s);
	return true;
}

/* --- all inputs ------------------------------------------------------------------ */

static void collect_free(struct collect *c)
{
	for (unsigned i = 0; c->slots && i < c->spec.workers; i++)
		source_remove(c->slots[i].watch);
	source_remove(c->idle);
	if (c->raw >= 0)
		close(c->raw);
	free(c->slots);
	free(c);
}

static void collect_on_idle(void *arg)
{
	struct collect *c = arg;
	bool busy = false;

	for (unsigned i = 0; i < c->spec.workers; i++)
		busy = c->slots[i].exec || collect_feed(&c->slots[i]) || busy;
	if (busy)
		return;
	c->sum.left_out = c->spec.inputs->n - c->sum.ran - c->sum.failed;
	c->spec.done(c->spec.arg, &c->sum);
	collect_free(c);
}

static int collect_make_slots(struct collect *c, struct err *e)
{
	int r = 0;

	c->slots = xcalloc(c->spec.workers, sizeof(*c->slots));
	for (unsigned i = 0; r == 0 && i < c->spec.workers; i++) {
		struct collect_slot *s = &c->slots[i];

		s->c = c;
		s->index = c->spec.index + i;
		r = loop_add_timer(c->env->loop, clock_mono_us(), collect_on_stuck, s, &s->watch,
				   e); /* without effect until a process runs */
	}
	return r;
}

int collect_start(const struct exec_env *env, const struct collect_spec *spec, struct collect **ret,
		  struct err *e)
{
	struct collect *c = xcalloc(1, sizeof(*c));
	int r;

	*c = (struct collect){.env = env, .spec = *spec, .raw = -1};
	r = fs_open_dir(AT_FDCWD, spec->raw, &c->raw, e);
	if (r == 0)
		r = collect_make_slots(c, e);
	if (r == 0)
		r = loop_add_timer(env->loop, clock_mono_us(), collect_on_idle, c, &c->idle, e);
	if (r < 0) {
		collect_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

uint64_t collect_finished(const struct collect *c)
{
	uint64_t n = c->sum.ran + c->sum.failed;

	for (unsigned i = 0; i < c->spec.workers; i++)
		n += c->slots[i].exec ? c->slots[i].started : 0;
	return n;
}

void collect_stop(struct collect *c)
{
	c->sum.stopped = true;
	collect_give_up(c, "stopped");
	for (unsigned i = 0; i < c->spec.workers; i++)
		if (c->slots[i].exec)
			exec_stop(c->slots[i].exec);
}
