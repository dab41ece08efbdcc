/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/workdir.h"

static const struct {
	const char *kind, *content;
} saved[] = {
    {"crash", "bad"},
    {"timeout", "worse"},
    {"slow-unit", "slow"},
    {"leak", "leak"},
};

/* One file of each kind, for the tests with faults. */
static void fill(void)
{
	char path[64];

	scratch_write(corpus, name_of("old"), "old");
	scratch_write(corpus, name_of("bad"), "bad");
	prepare();
	scratch_write(work, "t/corpus/new", "new");
	close(make_dir_at(work, "t/corpus/d"));
	scratch_write(work, "t/corpus/d/newer", "newer");
	snprintf(path, sizeof(path), "t/corpus/%s", name_of("worse"));
	scratch_write(work, path, "worse");
	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		leave(saved[i].kind, saved[i].content);
	scratch_write(work, "t/artifacts/other", "other");
}

/* Every file is complete in at least one place. */
static void check_nothing_lost(void)
{
	char path[80];

	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++) {
		snprintf(path, sizeof(path), "t/%s", artifact_of(saved[i].kind, saved[i].content));
		assert_true(holds(crashes, path, saved[i].content) ||
			    holds(work, fresh(saved[i].kind, saved[i].content), saved[i].content));
		assert_true(strcmp(saved[i].kind, "slow-unit") == 0 ||
			    holds(queued, path, saved[i].content) ||
			    holds(work, fresh(saved[i].kind, saved[i].content), saved[i].content));
	}
	assert_true(holds(corpus, name_of("old"), "old"));
	snprintf(path, sizeof(path), "t/%s", name_of("bad"));
	assert_true(holds(corpus, name_of("bad"), "bad") || holds(quarantined, path, "bad"));
	assert_true(holds(corpus, name_of("new"), "new") || holds(work, "t/corpus/new", "new"));
	assert_true(holds(corpus, name_of("newer"), "newer") ||
		    holds(work, "t/corpus/d/newer", "newer"));
}

static void check_all_saved(bool bad_may_stay)
{
	char path[64];

	check_nothing_lost();
	assert_int_equal(entries(work, "t/artifacts"), 0);
	assert_int_equal(entries(crashes, "t"), 4); /* and no partial copy */
	assert_true(holds(corpus, name_of("new"), "new"));
	assert_true(holds(corpus, name_of("newer"), "newer"));
	assert_false(scratch_has(corpus, name_of("worse")));
	snprintf(path, sizeof(path), "t/seeds/%s", name_of("bad"));
	assert_false(scratch_has(work, path));
	if (bad_may_stay && scratch_has(corpus, name_of("bad")))
		assert_int_equal(entries(corpus, "."), 4);
	else
		assert_int_equal(entries(corpus, "."), 3);
}

static void again(void **state, bool bad_may_stay)
{
	char names[512];

	check_nothing_lost();
	(void)collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	check_all_saved(bad_may_stay);
	each_teardown(state);
	each_setup(state);
}

/* The status of a collection that is killed at its call number `at`. */
static int collect_and_die(unsigned at)
{
	pid_t pid = fork();
	int ws;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct buf b = BUF_INIT(1 << 20);
		struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
		struct workdir_found f;
		struct err e;

		fault_arm(at, FAULT_DIE);
		_exit(workdir_collect(&c, &f, &b, &e) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	return WEXITSTATUS(ws);
}

/* Killed at any call: the next collection completes the work. */
static void test_killed(void **state)
{
	unsigned at = 1;

	for (;; at++) {
		int rc;

		fill();
		rc = collect_and_die(at);
		if (rc == 0)
			break;
		assert_int_equal(rc, 86);
		again(state, false);
	}
	check_all_saved(false);
	print_message("# killed at each of %u calls\n", at - 1);
	assert_true(at > 50);
}

/* True if the fault of call number `at` is still pending. */
static bool armed(unsigned at)
{
	while (at-- > 0)
		if (fault_hit("nothing", 0))
			return true;
	return false;
}

/* Fails each call in turn.  The failure is reported, except in the quarantine (best effort), and
 * for files that can be moved instead of copied.  No file is lost, or wrongly counted as saved. */
static void test_fails(void **state)
{
	unsigned reported = 0, at;

	for (at = 1;; at++) {
		struct buf b = BUF_INIT(1 << 20);
		struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
		struct workdir_found f;
		struct err e = {0};
		bool met;
		int r;

		fill();
		c = collection(ENGINE_ARTIFACT_NONE);
		fault_arm(at, FAULT_FAIL);
		r = workdir_collect(&c, &f, &b, &e);
		met = !armed(at);
		fault_arm(0, FAULT_FAIL);
		buf_done(&b);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_memory_equal(e.msg, "collect 't': ", 13);
			reported++;
		} else if (!met) {
			break;
		}
		again(state, true);
	}
	print_message("# %u calls failed, %u were reported\n", at - 1, reported);
	assert_true(reported > 50);
	/* Calls of the quarantine, and calls on a full disk, when the file is moved. */
	assert_in_range(at - 1 - reported, 0, 9);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_killed, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_fails, each_setup, each_teardown),
};

UNIT_MAIN(tests)
