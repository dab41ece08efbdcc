/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/fs.h"
#include "runner/corpus/generation/retry.h"
#include "tests/unit/corpus/files.h"

static struct scratch dir = SCRATCH_INIT;
static int quarantine = -1, stage = -1;

static int setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	quarantine = make_dir_at(dir.fd, "quarantine/t");
	stage = make_dir_at(dir.fd, "stage");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fault_arm(0, FAULT_FAIL);
	close(quarantine);
	close(stage);
	scratch_remove(&dir);
	return 0;
}

static void put(const char *content)
{
	scratch_write(quarantine, name_of(content), content);
}

static bool is_in(const char *room, const char *content)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/t/%s", room, name_of(content));
	return holds(dir.fd, path, content);
}

static void nothing_there(void **state)
{
	_autocandidates_ struct candidates ran = {0};
	char names[1][STORE_NAME];
	struct err e = {0};

	(void)state;
	memcpy(names[0], name_of("x"), STORE_NAME);
	assert_int_equal(retry_turn(dir.fd, "other", &e), 0);
	assert_false(scratch_has(dir.fd, "retry"));
	assert_int_equal(retry_stage(dir.fd, "other", 10, stage, &e), 0);
	assert_int_equal(retry_failed(dir.fd, "other", names[0], &e), 0);
	assert_int_equal(retry_passed(dir.fd, "other", &ran, &e), 0);
	assert_int_equal(retry_restore(dir.fd, "t", names, 1, &e), 0);
	assert_int_equal(entries(dir.fd, "corpus/t"), 0);
}

/* Only a file named by its content is an input. */
static void turns_and_stages(void **state)
{
	struct err e = {0};

	(void)state;
	put("a");
	put("b");
	put("c");
	scratch_write(quarantine, "a user's", "note");
	assert_int_equal(retry_turn(dir.fd, "t", &e), 0);
	assert_true(is_in("retry", "a") && is_in("retry", "b") && is_in("retry", "c"));
	assert_int_equal(entries(dir.fd, "quarantine/t"), 1);
	assert_int_equal(retry_stage(dir.fd, "t", 2, stage, &e), 0);
	assert_int_equal(entries(dir.fd, "stage"), 2);
	assert_int_equal(retry_stage(dir.fd, "t", 3, stage, &e), 0);
	assert_int_equal(entries(dir.fd, "stage"), 3);
	assert_int_equal(entries(dir.fd, "retry/t"), 3);
}

/* A kill may have left it in both places, as two names of one file or as two files. */
static void in_both(void **state)
{
	_autoclose_ int retry = make_dir_at(dir.fd, "retry/t");
	struct err e = {0};

	(void)state;
	put("a");
	assert_int_equal(linkat(quarantine, name_of("a"), retry, name_of("a"), 0), 0);
	put("b");
	scratch_write(retry, name_of("b"), "b");
	assert_int_equal(retry_turn(dir.fd, "t", &e), 0);
	assert_true(is_in("retry", "a") && is_in("retry", "b"));
	assert_int_equal(entries(dir.fd, "quarantine/t"), 0);
}

static void passed_and_failed(void **state)
{
	_autocandidates_ struct candidates ran = {0};
	struct err e = {0};

	(void)state;
	put("good");
	put("bad");
	put("not tried");
	assert_int_equal(retry_turn(dir.fd, "t", &e), 0);
	assert_int_equal(candidates_add(&ran, name_of("good"), 4, &e), 0);
	assert_int_equal(candidates_add(&ran, name_of("not tried"), 4, &e), 0); /* another size */
	candidates_sort(&ran);
	assert_int_equal(retry_passed(dir.fd, "t", &ran, &e), 0);
	assert_int_equal(retry_failed(dir.fd, "t", name_of("bad"), &e), 0);
	assert_int_equal(entries(dir.fd, "retry/t"), 1);
	assert_true(is_in("retry", "not tried"));
}

static void restores(void **state)
{
	char names[2][STORE_NAME];
	struct err e = {0};

	(void)state;
	put("a");
	put("b");
	memcpy(names[0], name_of("a"), STORE_NAME);
	memcpy(names[1], name_of("gone"), STORE_NAME);
	assert_int_equal(retry_restore(dir.fd, "t", names, 2, &e), 0);
	assert_true(is_in("corpus", "a") && is_in("quarantine", "b"));
	assert_int_equal(entries(dir.fd, "corpus/t"), 1);
	assert_int_equal(entries(dir.fd, "quarantine/t"), 1);
}

static int all_of_it(struct err *e)
{
	char names[1][STORE_NAME];
	int r = retry_turn(dir.fd, "t", e);

	memcpy(names[0], name_of("back"), STORE_NAME);
	if (r == 0)
		r = retry_stage(dir.fd, "t", 10, stage, e);
	if (r == 0) {
		put("back");
		r = retry_restore(dir.fd, "t", names, 1, e);
	}
	return r;
}

/* Whichever call fails, each input exists somewhere, and the next call completes the work. */
static void faults(void **state)
{
	unsigned at = 1;
	int r = -1;

	for (; r < 0; at++) {
		struct err e = {0};

		put("a");
		put("b");
		fault_arm(at, FAULT_FAIL);
		r = all_of_it(&e);
		fault_arm(0, FAULT_FAIL);
		assert_true(r == 0 || *e.msg);
		assert_true(is_in("quarantine", "a") || is_in("retry", "a"));
		assert_true(is_in("quarantine", "b") || is_in("retry", "b"));
		assert_int_equal(all_of_it(&e), 0);
		assert_true(is_in("corpus", "back") && is_in("retry", "a") && is_in("retry", "b"));
		teardown(state);
		setup(state);
	}
	assert_true(at > 15);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(nothing_there),     CASE(turns_and_stages), CASE(in_both),
    CASE(passed_and_failed), CASE(restores),	     CASE(faults),
};

UNIT_MAIN(tests)
