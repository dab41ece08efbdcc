/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that a job borrows from other builds of its target. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/run/job/internal.h"
#include "tests/unit/corpus/files.h"

#define HOUR (3600 * USEC_PER_SEC)

static struct {
	struct scratch dir;
	struct state state;
	struct run_dirs dirs;
	struct job_env env;
	struct target target, builds[3];
	struct job job;
	char names[4][16];
	int own, lent, seeds;
} w;

/* The target "t" has three other builds.  Those that fuzz are "t@a" and "t@c". */
static int begin(void **state)
{
	static const enum target_role roles[] = {ROLE_FUZZ, ROLE_CHECK, ROLE_FUZZ};

	(void)state;
	memset(&w, 0, sizeof(w));
	w.dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&w.dir);
	strcpy(w.names[3], "t");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(w.names[i], sizeof(w.names[i]), "t@%c", 'a' + (int)i);
		w.builds[i] = (struct target){.name = w.names[i], .role = roles[i]};
	}
	w.state = (struct state){.path = w.dir.path, .dirfd = w.dir.fd, .lock_fd = -1};
	w.own = make_dir_at(w.dir.fd, "corpus/t");
	w.lent = make_dir_at(w.dir.fd, "corpus/t@a");
	w.seeds = make_dir_at(w.dir.fd, "work/t/seeds");
	w.dirs = (struct run_dirs){.work = make_dir_at(w.dir.fd, "work")};
	w.env = (struct job_env){.state = &w.state, .dirs = &w.dirs};
	w.target = (struct target){.name = w.names[3], .variants = w.builds, .n_variants = 3};
	w.job = (struct job){.env = &w.env, .target = &w.target};
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(w.own);
	close(w.lent);
	close(w.seeds);
	close(w.dirs.work);
	scratch_remove(&w.dir);
	return 0;
}

static void put(int at, const char *content)
{
	scratch_write(at, name_of(content), content);
}

static void who_lends(void **state)
{
	struct target partner = {.name = w.names[0], .of = w.names[3]};

	(void)state;
	assert_string_equal(job_lender(&w.job, 0), "t@a");
	assert_string_equal(job_lender(&w.job, 1), "t@c");
	assert_null(job_lender(&w.job, 2));
	w.job.target = &partner;
	assert_string_equal(job_lender(&w.job, 0), "t");
	assert_null(job_lender(&w.job, 1));
}

static void let_fail(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		job_borrowed_failed(&w.job);
}

/* Many failures, and much time: one of the two does not end the reading. */
static void when_too_many_fail(void **state)
{
	(void)state;
	w.job.turn_us = HOUR;
	job_partners_begin(&w.job);
	w.job.began_us = clock_mono_us();
	let_fail(1000);
	assert_false(w.job.puts_off);
	job_partners_begin(&w.job);
	w.job.turn_us = 0;
	w.job.began_us = clock_mono_us() - USEC_PER_SEC;
	let_fail(15);
	assert_false(w.job.puts_off);
	let_fail(1);
	assert_true(w.job.puts_off);
	job_partners_begin(&w.job); /* the next turn reads on */
	assert_false(w.job.puts_off);
	assert_int_equal(w.job.borrowed_failed, 0);
}

static void the_rest_is_left_out(void **state)
{
	struct err e;

	(void)state;
	put(w.own, "mine");
	put(w.lent, "mine");
	put(w.lent, "theirs");
	put(w.seeds, "mine");
	put(w.seeds, "theirs");
	put(w.seeds, "in the tree");
	assert_int_equal(job_partners_put_off(&w.job, w.own, &e), 0);
	assert_int_equal(entries(w.seeds, "."), 3);
	w.job.puts_off = true; /* "t@c" has no corpus yet */
	assert_int_equal(job_partners_put_off(&w.job, w.own, &e), 0);
	assert_int_equal(entries(w.seeds, "."), 2);
	assert_true(holds(w.seeds, name_of("mine"), "mine"));
	assert_int_equal(entries(w.lent, "."), 2);
}

static void what_is_unread(void **state)
{
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	(void)state;
	put(w.own, "old");
	put(w.own, "new");
	scratch_write(w.own, ".half.new", "half");
	assert_int_equal(utimensat(w.own, name_of("old"), old, 0), 0);
	assert_int_equal(job_inputs_since(&w.job, 0), 2);
	assert_int_equal(job_inputs_since(&w.job, 1001 * USEC_PER_SEC), 1);
	assert_int_equal(job_inputs_since(&w.job, clock_real_us() + HOUR), 0);
	job_partners_begin(&w.job);
	job_has_read_partners(&w.job);
	assert_in_range(w.job.partners_read_us, clock_real_us() - HOUR, clock_real_us());
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(who_lends, begin, end),
    cmocka_unit_test_setup_teardown(when_too_many_fail, begin, end),
    cmocka_unit_test_setup_teardown(the_rest_is_left_out, begin, end),
    cmocka_unit_test_setup_teardown(what_is_unread, begin, end),
};

UNIT_MAIN(tests)
