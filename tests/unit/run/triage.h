/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_TRIAGE_H
#define TESTS_RUN_TRIAGE_H

/* Triage with simulated replays and a simulated symbolizer.  Include unit.h first. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/crash/vault.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/triage/kept.h"
#include "runner/run/triage/triage.h"
#include "tests/unit/scratch.h"

#include <stdio.h>

#define ARTIFACT "crash-0123456789012345678901234567890123456789"

/* --- the simulation ------------------------------------------------------- */

static struct play {
	struct scratch dir;
	struct state state;
	struct loop *loop;
	struct books *books;
	const char *run, *commit, *gone; /* gone: a target that is missing in the run */
	const char *fails;		 /* the target in which every input fails; NULL: none */
	const char *failing; /* the inputs that fail in all targets: part of their path */
	unsigned replays;
	bool rebuilt;		 /* the target's binary came during the run, */
	bool anew;		 /* and it is not the first build */
	bool starved;		 /* each replay got more time; */
	bool busy;		 /* but not enough: there is no result */
	uint64_t takes_us;	 /* wall time of a replay */
	uint64_t budget_us;	 /* of the triage; 0: enough */
	bool hangs;		 /* failing replays end at the deadline, without a report */
	bool fails_once;	 /* only the first replay fails */
	const char *needs;	 /* inputs that contain it fail in all targets */
	char first[32];		 /* content of the input that was replayed first */
	uint64_t minimize_us;	 /* of the configuration */
	bool minimise_old;	 /* triage_spec.minimise_old */
	const char *answers;	 /* of the symbolizer; NULL: no symbolizer */
	unsigned asked, refused; /* its cells, and the number of starts without memory */
	bool stop;		 /* during the replay */
	struct triage *triage;
	struct triage_sum sum;
} play;

struct replay_seat {
	bool busy;
};

int replay_seat_new(const char *work, size_t index, struct replay_seat **ret, struct err *e)
{
	(void)index;
	(void)e;
	assert_int_equal(access(work, W_OK), 0);
	*ret = calloc(1, sizeof(**ret));
	assert_non_null(*ret);
	return 0;
}

void replay_seat_clear(struct replay_seat *s)
{
	assert_false(s->busy);
}

void replay_seat_close(struct replay_seat *s, void (*closed)(void *arg), void *arg)
{
	assert_false(s->busy);
	free(s);
	closed(arg);
}

struct replay {
	struct replay_spec spec;
	struct source *timer;
};

static const char report[] =
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x1 bp 0x2 "
    "sp 0x3\nWRITE of size 1 at 0x602000000011 thread T0\n"
    "    #0 0x55f05ce92  (/target/t+0x5ce92)\n    #1 0x55f05ce93  (/target/t+0x5ce93)\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow (/target/t+0x5ce92)\n";

/* The replayed input is read each time: it changes between replays. */
static inline bool needed(const char *path)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	if (!play.needs)
		return false;
	assert_int_equal(fs_read(AT_FDCWD, path, 4096, &text, &n, &e), 0);
	if (play.replays == 1)
		snprintf(play.first, sizeof(play.first), "%.*s", (int)n, text);
	return memmem(text, n, play.needs, strlen(play.needs)) != NULL;
}

static inline void on_replayed(void *arg)
{
	struct replay *t = arg;
	struct replay_end end = {.unusable = play.busy ? "too busy" : "",
				 .starved = play.starved || play.busy,
				 .output = slice_of(report)};
	struct crash_options o = {.target = t->spec.target->name};
	struct crash_report r = {0};

	end.failed =
	    !play.busy && ((play.fails && strcmp(t->spec.target->name, play.fails) == 0) ||
			   (play.failing && strstr(t->spec.input, play.failing)) ||
			   (play.fails_once && play.replays == 1) || needed(t->spec.input));
	end.report = end.failed ? &r : NULL;
	if (play.hangs)
		crash_report_own(CRASH_OWN_TIME, NULL, t->spec.target->name, &r);
	else
		crash_parse(slice_of(report), &o, &r);
	if (t->spec.seat)
		t->spec.seat->busy = false;
	t->spec.done(t->spec.arg, &end);
	crash_report_done(&r);
	source_remove(t->timer);
	free(t);
}

int replay_start(const struct replay_env *env, const struct replay_spec *spec, struct replay **ret,
		 struct err *e)
{
	struct replay *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	assert_int_equal(access(spec->input, R_OK), 0);
	*t = (struct replay){.spec = *spec};
	assert_true(!spec->seat || !(spec->symbolize || spec->seat->busy));
	if (spec->seat)
		spec->seat->busy = true;
	play.replays++;
	*ret = t;
	return loop_add_timer(env->exec.loop, clock_mono_us() + play.takes_us, on_replayed, t,
			      &t->timer, e);
}

void replay_stop(struct replay *t)
{
	(void)t;
}

/* The symbolizer's cell. */
struct exec {
	struct exec_spec spec;
	struct source *timer;
	bool stopped;
};

static inline void on_answer(void *arg)
{
	struct exec *x = arg;
	struct exec_end end = {.started = true, .output = slice_of(play.answers)};

	if (play.stop)
		triage_stop(play.triage);
	end.stopped = x->stopped;
	x->spec.done(x->spec.arg, &end);
	source_remove(x->timer);
	free(x);
}

int exec_start(const struct exec_env *env, const struct exec_spec *spec, struct exec **ret,
	       struct err *e)
{
	static const char *const want[] = {
	    "/usr/bin/symbolizer", "-a", "-f", "-i", "-C", "-e", "/target/t", "0x5ce92", "0x5ce93"};
	const struct strv *argv = &spec->setup->cmd.argv;
	struct exec *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	assert_int_equal(argv->n, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < argv->n; i++)
		assert_string_equal(argv->v[i], want[i]);
	assert_int_equal(spec->extra_memory, 99);
	*x = (struct exec){.spec = *spec};
	play.asked++;
	*ret = x;
	return loop_add_timer(env->loop, clock_mono_us(), on_answer, x, &x->timer, e);
}

void exec_stop(struct exec *x)
{
	x->stopped = true;
}

static unsigned borrowed;

static inline bool borrow(void *arg, uint64_t bytes)
{
	(void)arg;
	assert_int_equal(bytes, 99);
	if (play.refused > 0 && play.refused--)
		return false;
	borrowed++;
	return true;
}

static inline void give_back(void *arg, uint64_t bytes)
{
	(void)arg;
	assert_int_equal(bytes, 99);
	borrowed--;
}

static inline bool has_target(void *arg, const char *name)
{
	(void)arg;
	return !play.gone || strcmp(play.gone, name) != 0;
}

static inline void on_done(void *arg, const struct triage_sum *sum)
{
	(void)arg;
	play.sum = *sum;
	loop_stop(play.loop);
}

#define OK(call)                                           \
	do {                                               \
		struct err e_ = {0};                       \
		struct err *e = &e_;                       \
		if ((call) < 0)                            \
			fail_msg("%s: %s", #call, e_.msg); \
	} while (0)

/* Runs one target's triage, in its own run. */
static inline void triage(const char *name, unsigned stages)
{
	char binary[64];
	struct target target = {.binary = binary, .engine = &engine_libfuzzer};
	struct target_config cfg = {
	    .memory = 1 << 28, .symbolizer_memory = 99, .minimize_us = play.minimize_us};
	struct triage_env env = {.state = &play.state,
				 .run = play.run,
				 .commit = play.commit,
				 .borrow_memory = borrow,
				 .return_memory = give_back,
				 .has_target = has_target};
	struct triage_spec s = {.target = &target,
				.cfg = &cfg,
				.rebuilt = play.rebuilt,
				.anew = play.anew,
				.stages = stages,
				.minimise_old = play.minimise_old,
				.budget_us = play.budget_us ? play.budget_us : 100 * USEC_PER_SEC,
				.work = play.dir.path,
				.done = on_done};
	_autofree_ char *copy = strdup(name);
	char warning[300];

	snprintf(binary, sizeof(binary), "%s/t", play.dir.path);
	target.name = copy;
	play.replays = play.asked = 0;
	env.replay.symbolizer = play.answers ? "/usr/bin/symbolizer" : NULL;
	OK(loop_new(&play.loop, e));
	OK(books_open(play.loop, &play.state, NULL, &play.books, warning, e));
	assert_string_equal(warning, "");
	env.books = play.books;
	env.replay.exec = (struct exec_env){.loop = play.loop, .run = "r"};
	OK(triage_start(&env, &s, &play.triage, e));
	OK(loop_run(play.loop, e));
	books_close(play.books);
	loop_free(play.loop);
	assert_int_equal(borrowed, 0);
}

static inline int each_setup(void **state)
{
	(void)state;
	play = (struct play){.dir = SCRATCH_INIT, .run = "20240501-103000", .commit = "c2"};
	scratch_make(&play.dir);
	play.state = (struct state){.path = play.dir.path, .dirfd = play.dir.fd, .lock_fd = -1};
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	scratch_remove(&play.dir);
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

/* --- the state directory ---------------------------------------------------- */

static inline void put(const char *directory, const char *name, const char *text)
{
	char path[200];

	OK(fs_mkdirs(play.dir.fd, directory, 0755, e));
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	scratch_write(play.dir.fd, path, text);
	assert_int_equal(fchmodat(play.dir.fd, path, 0644, 0), 0);
}

static inline bool has(const char *path)
{
	return scratch_has(play.dir.fd, path);
}

/* Opens the ledger as a reader; ledger_free() it. */
static inline struct ledger *ledger(void)
{
	struct ledger *l;

	OK(ledger_load(play.dir.fd, &l, e));
	return l;
}

static inline void expect_state(const char *signature, enum ledger_state want)
{
	struct ledger *l = ledger();
	const struct known_crash *c = ledger_find(l, signature);

	assert_non_null(c);
	assert_string_equal(ledger_state_name(c->state), ledger_state_name(want));
	ledger_free(l);
}

#endif
