/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/corpus/pick.h"
#include "tests/unit/corpus/files.h"

static struct scratch dir;
static int seeds, corpora, others;

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	seeds = make_dir_at(dir.fd, "seeds");
	corpora = make_dir_at(dir.fd, "corpus");
	others = make_dir_at(dir.fd, "others");
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	close(seeds);
	close(corpora);
	close(others);
	scratch_remove(&dir);
	return 0;
}

static void put(int at, const char *content)
{
	scratch_write(at, name_of(content), content);
}

static void put_many(int at, const char *what, unsigned n)
{
	char content[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(content, sizeof(content), "%s %u", what, i);
		put(at, content);
	}
}

static void a_part_is_left(void **state)
{
	unsigned left;
	struct err e;

	(void)state;
	put_many(seeds, "s", 800);
	assert_int_equal(pick_part(seeds, 1, &e), 0);
	left = entries(dir.fd, "seeds");
	assert_in_range(left, 60, 150); /* an eighth */
	assert_int_equal(pick_part(seeds, 1, &e), 0);
	assert_in_range(entries(dir.fd, "seeds"), left - 1,
			left); /* the same part, but for the first file */
	assert_int_equal(pick_part(seeds, 2, &e), 0);
	assert_in_range(entries(dir.fd, "seeds"), 1, left / 2);
}

static void one_input_stays(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(pick_part(seeds, 1, &e), 0);
	for (unsigned i = 0; i < 40; i++) {
		put(seeds, "alone");
		assert_int_equal(pick_part(seeds, i, &e), 0);
		assert_true(holds(seeds, name_of("alone"), "alone"));
	}
}

static void as_many_of_each_other_target(void **state)
{
	int a = make_dir_at(corpora, "a"), b = make_dir_at(corpora, "b"),
	    mine = make_dir_at(corpora, "mine");
	struct err e;

	(void)state;
	put_many(a, "a", 1500);
	put_many(b, "b", 10);
	put_many(mine, "mine", 10);
	scratch_write(corpora, "stray", "no corpus");
	put(a, "a 0");
	assert_int_equal(pick_others(corpora, "mine", others, &e), 0);
	assert_int_equal(entries(dir.fd, "others"), PICK_OTHERS_MOST / 2 + 10);
	assert_true(holds(others, name_of("b 7"), "b 7"));
	assert_false(scratch_has(others, name_of("mine 1")));
	close(a);
	close(b);
	close(mine);
}

static void strange_files_are_left_out(void **state)
{
	int a = make_dir_at(corpora, "a");
	char *large = calloc(1, PICK_BYTES_MOST + 2);
	struct err e;

	(void)state;
	memset(large, 'x', PICK_BYTES_MOST + 1);
	scratch_write(a, "large", large);
	large[PICK_BYTES_MOST] = '\0';
	scratch_write(a, "fits", large);
	assert_int_equal(symlinkat("/etc/passwd", a, "link"), 0);
	assert_int_equal(mkfifoat(a, "fifo", 0600), 0);
	assert_int_equal(mkdirat(a, "dir", 0700), 0);
	assert_int_equal(symlinkat("a", corpora, "b"), 0);
	assert_int_equal(pick_others(corpora, "mine", others, &e), 0);
	assert_int_equal(entries(dir.fd, "others"), 1);
	assert_true(scratch_has(others, name_of(large)));
	free(large);
	close(a);
}

static void alone_there_are_none(void **state)
{
	int mine = make_dir_at(corpora, "mine");
	struct err e;

	(void)state;
	put_many(mine, "mine", 10);
	assert_int_equal(pick_others(corpora, "mine", others, &e), 0);
	assert_int_equal(entries(dir.fd, "others"), 0);
	close(mine);
}

static void what_helped_is_kept(void **state)
{
	int mine = make_dir_at(corpora, "mine");
	struct err e;

	(void)state;
	put_many(others, "o", 10);
	put(mine, "o 3");
	assert_int_equal(pick_keep(others, mine, &e), 0);
	assert_int_equal(entries(mine, "."), 10);
	assert_true(holds(mine, name_of("o 9"), "o 9"));
	close(mine);
}

/* The corpus of another build is no other target's, and what is not the target's own can go. */
static void of_another_build(void **state)
{
	int mine = make_dir_at(corpora, "mine"), theirs = make_dir_at(corpora, "mine@memory");
	struct err e;

	(void)state;
	put_many(theirs, "m", 10);
	assert_int_equal(pick_others(corpora, "mine", others, &e), 0);
	assert_int_equal(entries(dir.fd, "others"), 0);
	put_many(seeds, "m", 8);
	put(seeds, "in the work tree");
	put(mine, "m 3");
	assert_int_equal(pick_leave_out(seeds, theirs, mine, &e), 0);
	assert_int_equal(entries(seeds, "."), 2);
	assert_true(holds(seeds, name_of("m 3"), "m 3"));
	assert_int_equal(entries(theirs, "."), 10);
	close(mine);
	close(theirs);
}

static void errors_are_told(void **state)
{
	struct err e;
	int closed = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(pick_part(closed, 1, &e) < 0);
	assert_true(pick_others(closed, "mine", others, &e) < 0);
	assert_true(pick_keep(closed, others, &e) < 0);
	assert_true(pick_leave_out(others, closed, others, &e) < 0);
	close(closed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_part_is_left, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(one_input_stays, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(as_many_of_each_other_target, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(strange_files_are_left_out, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(alone_there_are_none, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(what_helped_is_kept, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(of_another_build, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(errors_are_told, each_setup, each_teardown),
};

UNIT_MAIN(tests)
