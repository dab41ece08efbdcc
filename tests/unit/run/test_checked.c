/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/check/checked.h"
#include "tests/unit/scratch.h"

#include <errno.h>

static struct scratch dir = SCRATCH_INIT;
static char program[200];

static const char one[] = "0123456789012345678901234567890123456789";
static const char two[] = "9876543210987654321098765432109876543210";

static int checked_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	snprintf(program, sizeof(program), "%s/program", dir.path);
	scratch_write(dir.fd, "program", "first");
	return 0;
}

static int checked_teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static struct checked load(void)
{
	struct checked c = {0};
	struct err e;

	if (checked_load(dir.fd, "t@memory", program, &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

/* Notes that the present build ran an input, and how many wait. */
static void ran(const char *name, uint64_t left)
{
	struct checked c = load();
	struct err e;

	assert_int_equal(candidates_add(&c.ran, name, 3, &e), 0);
	candidates_sort(&c.ran);
	c.left = left;
	c.behind_since = left ? 1700000000 : 0;
	assert_int_equal(checked_save(dir.fd, "t@memory", &c, &e), 0);
	checked_done(&c);
}

static void test_inputs_stay_known(void **state)
{
	struct checked c;

	(void)state;
	ran(one, 7);
	ran(two, 6);
	c = load();
	assert_int_equal(c.ran.n, 2);
	assert_non_null(candidates_find(&c.ran, one, 3));
	assert_null(candidates_find(&c.ran, one, 4));
	assert_int_equal(c.left, 6);
	assert_int_equal(c.behind_since, 1700000000);
	checked_done(&c);
}

static void test_another_build_runs_all_again(void **state)
{
	struct checked c;

	(void)state;
	ran(one, 0);
	scratch_write(dir.fd, "program", "second");
	c = load();
	assert_int_equal(c.ran.n, 0);
	checked_done(&c);
	/* The first build again: what it ran is forgotten, too. */
	scratch_write(dir.fd, "program", "first");
	c = load();
	assert_int_equal(c.ran.n, 0);
	checked_done(&c);
}

/* The same content: a file that was only touched, or built again, is the same build. */
static void test_same_content_is_the_same_build(void **state)
{
	struct checked c;

	(void)state;
	ran(one, 0);
	assert_int_equal(unlinkat(dir.fd, "program", 0), 0);
	scratch_write(dir.fd, "program", "first");
	c = load();
	assert_int_equal(c.ran.n, 1);
	checked_done(&c);
}

static void test_damaged_files(void **state)
{
	static const char *const bad[] = {"", "{", "[]", "{\"build\": 7, \"left\": -1}"};
	struct checked c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ran(one, 0);
		scratch_write(dir.fd, "stats/checked/t@memory.json", bad[i]);
		c = load();
		assert_int_equal(c.ran.n, 0);
		checked_done(&c);
	}
	ran(one, 0);
	scratch_write(dir.fd, "stats/checked/t@memory.ran", "no list");
	c = load();
	assert_int_equal(c.ran.n, 0);
	checked_done(&c);
}

static void test_no_program(void **state)
{
	struct checked c;
	struct err e;

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "program", 0), 0);
	assert_int_equal(checked_load(dir.fd, "t@memory", program, &c, &e), -ENOENT);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, checked_setup, checked_teardown)

static const struct CMUnitTest tests[] = {
    TEST(test_inputs_stay_known),
    TEST(test_another_build_runs_all_again),
    TEST(test_same_content_is_the_same_build),
    TEST(test_damaged_files),
    TEST(test_no_program),
};

UNIT_MAIN(tests)
