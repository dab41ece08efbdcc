/* SPDX-License-Identifier: Apache-2.0 */
/* A merge in which one call fails, or kills the process: an error, no input of the old corpus is
 * lost, and the next merge succeeds. */
#include "tests/unit/unit.h"

#include "tests/unit/run/merge.h"

/* All calls up to this number fail in turn; after it only every n-th. */
enum { DENSE = 20, STRIDE = 13 };

static struct world w;
/* Without seeds, and without inputs to retry, cells read the corpus itself. */
static bool in_place;

static const char *const inputs[] = {"a", "ab", "abc", "xyz", "zyxxx", "!", "!bad one"};
enum { INPUTS = sizeof(inputs) / sizeof(inputs[0]) };

static void fill(void)
{
	_autoclose_ int quarantine = -1;

	world_make(&w);
	for (size_t i = 0; i < INPUTS; i++)
		put_input(&w, inputs[i]);
	if (in_place)
		return;
	world_has_seeds(&w);
	quarantine = make_dir_at(w.state->dirfd, "quarantine/t");
	scratch_write(quarantine, name_of("q"), "q"); /* a bug of an older build */
	scratch_write(w.dir.fd, "seeds/one", "c");
}

static void check_nothing_lost(unsigned at)
{
	for (size_t i = 0; i < INPUTS; i++)
		if (!in_corpus(&w, inputs[i]) && !in_quarantine(&w, inputs[i]) &&
		    !in_generations(&w, inputs[i]))
			fail_msg("call %u: '%s' is lost", at, inputs[i]);
	if (!in_place && !in_corpus(&w, "q") && !in_quarantine(&w, "q") && !in_retry(&w, "q"))
		fail_msg("call %u: the quarantined input is lost", at);
}

static void check_whole(unsigned at)
{
	struct generation_sum sum;
	struct merge_decided d;
	struct err e = {0};

	must(generation_recover_all(w.state->dirfd, 2, &sum, &e), &e);
	check_nothing_lost(at);
	must(merge_whole(&w, &d, &e), &e);
	check_nothing_lost(at);
	assert_true(in_corpus(&w, "a"));
	assert_true(in_corpus(&w, "ab"));
	assert_true(in_place || in_corpus(&w, "c"));
	assert_true(in_corpus(&w, "xyz"));
	assert_true(in_place || in_corpus(&w, "q"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), in_place ? 4 : 5);
	assert_int_equal(entries(w.state->dirfd, "retry/t"), 0);
	assert_true(in_quarantine(&w, "!") && in_quarantine(&w, "!bad one"));
	assert_true(in_triage(&w, "crash", "!") && in_triage(&w, "crash", "!bad one"));
}

static int teardown(void **state)
{
	(void)state;
	fault_arm(0, FAULT_FAIL);
	world_remove(&w);
	return 0;
}

static unsigned next(unsigned at)
{
	return at < DENSE ? at + 1 : at + STRIDE;
}

static bool one_failure(unsigned at)
{
	struct merge_decided d;
	struct err e = {0};
	bool over;
	int r;

	fill();
	fault_arm(at, FAULT_FAIL);
	r = merge_whole(&w, &d, &e);
	over = fault_hit("nothing", 0);
	for (unsigned i = 0; !over && i < at; i++)
		over = fault_hit("nothing", 0);
	fault_arm(0, FAULT_FAIL);
	if (r < 0)
		assert_string_not_equal(e.msg, "");
	check_whole(at);
	world_remove(&w);
	return over;
}

static void every_call_may_fail(void **state)
{
	unsigned at = 1, tried = 0;

	(void)state;
	needs_root();
	for (; !one_failure(at); at = next(at))
		tried++;
	assert_true(tried > 40);
	print_message("# %u of about %u calls failed\n", tried, at);
}

static bool one_death(unsigned at)
{
	int status;
	pid_t pid;

	fill();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct merge_decided d;
		struct err e;

		fault_arm(at, FAULT_DIE);
		_exit(merge_whole(&w, &d, &e) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	check_whole(at);
	world_remove(&w);
	return WEXITSTATUS(status) == 0;
}

static void death_at_every_call(void **state)
{
	unsigned at = 1, tried = 0;

	(void)state;
	needs_root();
	for (; !one_death(at); at = next(at))
		tried++;
	assert_true(tried > 40);
}

static void every_call_may_fail_in_place(void **state)
{
	in_place = true;
	every_call_may_fail(state);
	in_place = false;
}

static void death_at_every_call_in_place(void **state)
{
	in_place = true;
	death_at_every_call(state);
	in_place = false;
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

static const struct CMUnitTest tests[] = {
    CASE(every_call_may_fail),
    CASE(death_at_every_call),
    CASE(every_call_may_fail_in_place),
    CASE(death_at_every_call_in_place),
};

UNIT_MAIN(tests)
