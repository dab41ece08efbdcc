/* SPDX-License-Identifier: Apache-2.0 */
/* Triage with trials that are played: what becomes of open crashes and of artifacts. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/crash/vault.h"
#include "runner/schedule/kept.h"
#include "runner/schedule/triage.h"
#include "tests/unit/scratch.h"

#include <stdio.h>

#define ARTIFACT "crash-0123456789012345678901234567890123456789"

/* --- the play ------------------------------------------------------------- */

static struct play {
	struct scratch dir;
	struct state state;
	struct loop *loop;
	struct books *books;
	const char *run, *commit, *gone; /* gone: a target that is not in the run */
	const char *fails;	   /* the target in which every input fails; NULL: none */
	unsigned trials;
	struct triage_sum sum;
} play;

struct trial {
	struct trial_spec spec;
	struct source *timer;
};

static const char report[] =
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x1 bp 0x2 "
    "sp 0x3\nWRITE of size 1 at 0x602000000011 thread T0\n"
    "    #0 0x55f05ce92  (/target/t+0x5ce92)\n    #1 0x55f05ce93  (/target/t+0x5ce93)\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow (/target/t+0x5ce92)\n";

static void on_trial(void *arg)
{
	struct trial *t = arg;
	struct trial_end end = {.unusable = "", .output = slice_of(report)};
	struct crash_options o = {.target = t->spec.target->name};
	struct crash_report r = {0};
	struct err e;

	end.failed = play.fails && strcmp(t->spec.target->name, play.fails) == 0;
	end.report = end.failed ? &r : NULL;
	assert_int_equal(crash_parse(slice_of(report), &o, &r, &e), 0);
	t->spec.done(t->spec.arg, &end);
	crash_report_done(&r);
	source_remove(t->timer);
	free(t);
}

int trial_start(const struct trial_env *env, const struct trial_spec *spec, struct trial **ret,
		struct err *e)
{
	struct trial *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	assert_int_equal(access(spec->input, R_OK), 0);
	*t = (struct trial){.spec = *spec};
	play.trials++;
	*ret = t;
	return loop_add_timer(env->exec.loop, clock_mono_us(), on_trial, t, &t->timer, e);
}

void trial_stop(struct trial *t)
{
	(void)t;
}

static bool has_target(void *arg, const char *name)
{
	(void)arg;
	return !play.gone || strcmp(play.gone, name) != 0;
}

static void on_done(void *arg, const struct triage_sum *sum)
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

/* One target's triage, in a run of its own. */
static void triage(const char *name, unsigned stages)
{
	struct target target = {.binary = (char[]){"/out/t"}, .engine = &engine_libfuzzer};
	struct target_config cfg = {.memory = 1 << 28};
	struct triage_env env = {.state = &play.state,
				 .run = play.run,
				 .commit = play.commit,
				 .has_target = has_target};
	struct triage_spec s = {.target = &target,
				.cfg = &cfg,
				.stages = stages,
				.budget_us = 100 * USEC_PER_SEC,
				.work = play.dir.path,
				.done = on_done};
	_autofree_ char *copy = strdup(name);
	char warning[300];
	struct triage *t;

	target.name = copy;
	play.trials = 0;
	OK(loop_new(&play.loop, e));
	OK(books_open(play.loop, &play.state, NULL, &play.books, warning, e));
	assert_string_equal(warning, "");
	env.books = play.books;
	env.trial.exec = (struct exec_env){.loop = play.loop, .run = "r"};
	OK(triage_start(&env, &s, &t, e));
	OK(loop_run(play.loop, e));
	books_close(play.books);
	loop_free(play.loop);
}

static int each_setup(void **state)
{
	(void)state;
	play = (struct play){.dir = SCRATCH_INIT, .run = "20240501-103000", .commit = "c2"};
	scratch_make(&play.dir);
	play.state = (struct state){.path = play.dir.path, .dirfd = play.dir.fd, .lock_fd = -1};
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	scratch_remove(&play.dir);
	return 0;
}

/* --- the state directory ---------------------------------------------------- */

static void put(const char *directory, const char *name, const char *text)
{
	char path[200];

	OK(fs_mkdirs(play.dir.fd, directory, 0755, e));
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	scratch_write(play.dir.fd, path, text);
	assert_int_equal(fchmodat(play.dir.fd, path, 0644, 0), 0);
}

static bool has(const char *path)
{
	return scratch_has(play.dir.fd, path);
}

/* As a reader sees it; ledger_free() it. */
static struct ledger *ledger(void)
{
	struct ledger *l;

	OK(ledger_load(play.dir.fd, &l, e));
	return l;
}

static void expect_state(const char *signature, enum ledger_state want)
{
	struct ledger *l = ledger();
	const struct known_crash *c = ledger_find(l, signature);

	assert_non_null(c);
	assert_string_equal(ledger_state_name(c->state), ledger_state_name(want));
	ledger_free(l);
}

/* A crash of the targets a and b, that failed in 10 of 10 tries: it must pass 4 times. */
static void put_crash(void)
{
	struct crash_sighting s = {.signature = "0123456789abcdef",
				   .target = "a",
				   .run = "r1",
				   .commit = "c1",
				   .time = 5,
				   .crash_type = "T",
				   .crash_file = "crashes/0123456789abcdef/input",
				   .input_bytes = 3,
				   .tries = 10,
				   .hits = 10};
	struct ledger *l = ledger();
	struct ledger_noted n;

	put("crashes/0123456789abcdef", "input", "abc");
	put("crashes/0123456789abcdef", "minimized", "ab");
	OK(ledger_note(l, &s, &n, e));
	s = (struct crash_sighting){
	    .signature = s.signature, .target = "b", .run = "r1", .commit = "c1", .time = 6};
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_minimized(l, s.signature, "crashes/0123456789abcdef/minimized", 2, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
}

#define SIG "0123456789abcdef"

/* --- is it fixed? ------------------------------------------------------------ */

static void test_fixed_in_all(void **state)
{
	(void)state;
	put_crash();
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.trials, 8); /* both inputs */
	assert_int_equal(play.sum.fixed, 0);
	assert_string_equal(play.sum.note, "");
	expect_state(SIG, LEDGER_NEW);
	triage("a", TRIAGE_CHECK); /* has said so already */
	assert_int_equal(play.trials, 0);
	triage("c", TRIAGE_CHECK); /* never found it */
	assert_int_equal(play.trials, 0);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.trials, 8);
	assert_int_equal(play.sum.fixed, 1);
	expect_state(SIG, LEDGER_FIXED);
	assert_true(has("regressions/a/a9993e364706816aba3e25717850c26c9cd0d89d"));
	assert_true(has("regressions/b/a9993e364706816aba3e25717850c26c9cd0d89d"));
	assert_true(has("regressions/b/da23614e02469a0d7c7bd1bdab5c9c474b1904dc"));
}

/* Passes on another commit say nothing, nor do those of another run when none is known. */
static void test_other_commits(void **state)
{
	(void)state;
	put_crash();
	triage("a", TRIAGE_CHECK);
	play.commit = "c3";
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.trials, 8);
	expect_state(SIG, LEDGER_FIXED);
}

static void test_no_commit(void **state)
{
	(void)state;
	put_crash();
	play.commit = NULL;
	triage("b", TRIAGE_CHECK);
	play.run = "20240502-103000";
	triage("a", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.trials, 8);
	expect_state(SIG, LEDGER_FIXED);
}

static void test_one_still_fails(void **state)
{
	(void)state;
	put_crash();
	play.fails = "b";
	triage("a", TRIAGE_CHECK);
	triage("b", TRIAGE_CHECK); /* it does, in a way of its own */
	expect_state(SIG, LEDGER_NEW);
	triage("b", TRIAGE_CHECK);
	triage("a", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	assert_false(has("regressions"));
}

/* One that is not there is named; it neither stops the others nor makes it green. */
static void test_missing_target(void **state)
{
	(void)state;
	put_crash();
	play.gone = "b";
	for (int i = 0; i < 2; i++) {
		triage("a", TRIAGE_CHECK);
		assert_int_equal(play.trials, i == 0 ? 8 : 0);
		assert_string_equal(
		    play.sum.note, "crash " SIG " passes here, but stays open: 'b', which found it "
				   "too, was not asked: it is not in this run");
		expect_state(SIG, LEDGER_NEW);
	}
	play.gone = NULL; /* it is back */
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_FIXED);
}

/* A ledger may name anything as a target. */
static void test_hostile_target(void **state)
{
	struct ledger *l;
	struct ledger_noted n;
	struct crash_sighting s = {.signature = SIG, .target = "../../evil", .time = 7};

	(void)state;
	put_crash();
	l = ledger();
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
	triage("a", TRIAGE_CHECK);
	triage("../../evil", TRIAGE_CHECK);
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_FIXED);
	assert_int_equal(access("/evil", F_OK), -1);
	assert_true(has("regressions/a") && !has("../evil"));
}

/* --- a failure that never comes back ----------------------------------------- */

static void keep(const char *target, const char *text)
{
	struct kept k = {
	    .run = "20240401-000000", .commit = "c0", .time = 1711929600, .text = slice_of(text)};
	_autoclose_ int queue = -1;
	char path[100];

	snprintf(path, sizeof(path), "triage/%s", target);
	put(path, ARTIFACT, "S");
	OK(fs_open_dir(play.dir.fd, path, &queue, e));
	OK(kept_write(queue, ARTIFACT, &k, e));
}

static void test_told(void **state)
{
	struct ledger *l;
	const struct known_crash *c;
	char path[VAULT_PATH], text[2000];

	(void)state;
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	assert_true(play.trials >= 3);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.flaky, 1);
	assert_false(has("triage/a/" ARTIFACT) || has("triage/a/.report-" ARTIFACT));
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	c = ledger_at(l, 0);
	assert_string_equal(c->crash_type, "Heap-buffer-overflow\nWRITE 1");
	assert_string_equal(ledger_state_name(c->state), "flaky");
	assert_string_equal(c->severity, "high");
	assert_true(c->security && c->unsymbolized);
	assert_string_equal(c->top_frame, "t+0x5ce92");
	assert_int_equal(c->frames.n, 2);
	assert_string_equal(c->first_seen.commit, "c0");
	assert_string_equal(c->first_seen.run, "20240401-000000");
	assert_int_equal(c->first_seen.time, 1711929600);
	assert_int_equal(c->reproduction.hits, 0);
	OK(vault_path(slice_of(c->signature), VAULT_REPORT, path, e));
	assert_string_equal(scratch_text(play.dir.fd, path, text, sizeof(text)), report);
	ledger_free(l);

	keep("a", report); /* it is known: nothing is run */
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.trials, 0);
	assert_int_equal(play.sum.artifacts, 1);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_int_equal(ledger_at(l, 0)->count, 2);
	ledger_free(l);
	assert_false(has("triage/a/.report-" ARTIFACT));
}

/* Told before the fix, triaged after it: that does not bring it back. */
static void test_told_before_the_fix(void **state)
{
	struct ledger *l;
	char signature[CRASH_KEY_HEX];

	(void)state;
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	snprintf(signature, sizeof(signature), "%s", ledger_at(l, 0)->signature);
	OK(ledger_fixed(l, signature, 1711929601, "c1", "r", e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	expect_state(signature, LEDGER_FIXED);
}

/* What was run and failed says more than what was printed then. */
static void test_told_and_seen(void **state)
{
	struct ledger *l;

	(void)state;
	keep("a",
	     "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n    #0 0x5  (/t+0x5)\n");
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_string_equal(ledger_at(l, 0)->crash_type, "Heap-buffer-overflow\nWRITE 1");
	assert_string_equal(ledger_at(l, 0)->first_seen.commit, "c2");
	ledger_free(l);
}

/* What is kept may be anything: then it is as if nothing were. */
static void test_told_nothing(void **state)
{
	static const char *const texts[] = {"", "not a crash\n"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct ledger *l;

		keep("a", i < 2 ? texts[i] : "");
		if (i == 2)
			put("triage/a", ".report-" ARTIFACT, "{\"v\": 1");
		triage("a", TRIAGE_QUEUE);
		assert_string_equal(play.sum.note, "");
		assert_false(has("triage/a/" ARTIFACT) || has("triage/a/.report-" ARTIFACT));
		l = ledger();
		assert_int_equal(ledger_count(l), 1);
		assert_string_equal(ledger_at(l, 0)->crash_type, "Unexpected-exit");
		assert_string_equal(ledger_at(l, 0)->first_seen.commit, "c2");
		ledger_free(l);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_fixed_in_all),   CASE(test_other_commits),
    CASE(test_no_commit),      CASE(test_one_still_fails),
    CASE(test_missing_target), CASE(test_hostile_target),
    CASE(test_told),	       CASE(test_told_before_the_fix),
    CASE(test_told_and_seen),  CASE(test_told_nothing),
};

UNIT_MAIN(tests)
