/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/generation.h"

/* Whatever a killed process leaves: every input still exists somewhere. */
static bool anywhere(const char *content)
{
	static const char *const places[] = {"corpus/t", "generations/t/next", "generations/t/1",
					     "generations/t/2", "generations/t/trash"};
	char path[128];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name_of(content));
		if (holds(dir.fd, path, content))
			return true;
	}
	return false;
}

static void clear(void)
{
	struct err e;

	assert_int_equal(fs_remove_tree(dir.fd, "corpus", &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "generations", &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "stage", &e), 0);
	candidates_done(&known);
	candidates_done(&chosen);
	close(stage);
	fill();
	/* Files that are no candidates, and are carried over. */
	input(dir.fd, in_corpus(name_of("late")), "late");
	input(dir.fd, in_corpus(".notes"), "notes");
}

/* The corpus is completely the old or the new one, and has the unmeasured files. */
static bool is_new(void)
{
	bool fresh = corpus_has("four") && !scratch_has(dir.fd, in_corpus("seed of a user"));

	assert_true(corpus_has("one"));
	if (!fresh) {
		assert_true(corpus_has("two") && corpus_has("three"));
		assert_true(holds(dir.fd, in_corpus("seed of a user"), "seed"));
	}
	return fresh;
}

/* After a recovery no partial file is left, and no needed file is missing. */
static void check_recovered(unsigned keep)
{
	bool fresh = is_new();

	assert_true(corpus_has("late"));
	assert_true(holds(dir.fd, in_corpus(".notes"), "notes"));
	assert_false(scratch_has(dir.fd, "generations/t/next"));
	assert_false(scratch_has(dir.fd, "generations/t/trash"));
	assert_false(scratch_has(dir.fd, "generations/t/pending"));
	assert_int_equal(entries(dir.fd, "generations/t"), fresh && keep ? 1 : 0);
	if (fresh && keep)
		assert_true(holds(dir.fd, in_generation(1, "seed of a user"), "seed"));
	if (fresh && keep)
		assert_true(holds(dir.fd, in_generation(1, name_of("two")), "two"));
}

static int dies_at(unsigned at, unsigned keep)
{
	pid_t pid = fork();
	int ws;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct generation g = opened();
		struct generation_replacement with = {
		    .stage = stage, .chosen = &chosen, .known = &known, .keep = keep};
		struct generation_result ret;
		struct err e;

		close(STDERR_FILENO); /* each child prints there at which call it died */
		fault_arm(at, FAULT_DIE);
		_exit(generation_replace(&g, &with, &ret, &e) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	return WEXITSTATUS(ws);
}

/* Killed at any call, recovered, and done again. */
static void killed_everywhere(unsigned keep, bool merge_again)
{
	unsigned at = 1, undone = 0, finished = 0;

	for (;; at++) {
		enum generation_found found;
		bool was_new;
		int rc;

		clear();
		rc = dies_at(at, keep);
		was_new = is_new();
		assert_true(anywhere("late"));
		assert_true(!keep || (anywhere("two") && anywhere("three")));
		if (rc == 0)
			break;
		assert_int_equal(rc, 86);
		if (merge_again) {
			(void)replaces(keep);
			assert_true(is_new() && corpus_has("late"));
			continue;
		}
		found = recovers(keep);
		undone += found == GENERATION_UNDONE;
		finished += found == GENERATION_FINISHED;
		if (found != GENERATION_CLEAN)
			assert_int_equal(found == GENERATION_FINISHED, was_new);
		check_recovered(keep);
		assert_int_equal(recovers(keep), GENERATION_CLEAN);
	}
	check_recovered(keep);
	if (!merge_again)
		print_message("# killed at each of %u calls: %u undone, %u finished\n", at - 1,
			      undone, finished);
	/* Only this number reveals a missing call, for example a sync. */
	assert_int_equal(at - 1, keep ? 70 : 72);
	assert_true(merge_again || (undone > 10 && finished > 10));
}

static void test_killed(void **state)
{
	(void)state;
	killed_everywhere(2, false);
}

static void test_killed_keeping_none(void **state)
{
	(void)state;
	killed_everywhere(0, false);
}

static void test_killed_and_again(void **state)
{
	(void)state;
	killed_everywhere(2, true);
}

/* A call fails: either the old corpus is unchanged, without other files; or the new corpus is in
 * place, and the error says so. */
static void test_fails(void **state)
{
	unsigned at = 1, before = 0, after = 0;

	(void)state;
	for (;; at++) {
		struct generation_result ret = {0};
		struct err e = {0};
		int r;

		clear();
		struct generation g = opened();
		struct generation_replacement with = {
		    .stage = stage, .chosen = &chosen, .known = &known, .keep = 2};

		fault_arm(at, FAULT_FAIL);
		r = generation_replace(&g, &with, &ret, &e);
		fault_arm(0, FAULT_FAIL);
		generation_close(&g);
		assert_int_equal(is_new(), ret.replaced);
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		if (ret.replaced) {
			after++;
			assert_memory_equal(e.msg, "the new corpus of 't' is in place, but: ", 40);
		} else {
			before++;
			assert_true(strstr(e.msg, "the corpus of 't': "));
			assert_int_equal(entries(dir.fd, "generations/t"), 0);
			assert_int_equal(entries(dir.fd, "corpus/t"), 6);
		}
		(void)recovers(2);
		check_recovered(2);
	}
	print_message("# %u calls failed before the exchange, %u after it\n", before, after);
	assert_true(before > 15 && after > 10);
	check_recovered(2);
}

/* The first call after which the new corpus is in place. */
static unsigned call_behind_exchange(void)
{
	unsigned at = 1;

	for (clear(); dies_at(at, 0) == 86 && !is_new(); clear())
		at++;
	return at;
}

/* A recovery that fails, or is killed, starts again: before and after the exchange. */
static void test_recovery_fails(void **state)
{
	unsigned behind = call_behind_exchange();

	(void)state;
	for (unsigned where = behind - 1; where <= behind; where++) {
		for (unsigned at = 1;; at++) {
			enum generation_found found;
			struct generation g;
			struct err e = {0};
			int r;

			clear();
			assert_int_equal(dies_at(where, 0), 86);
			assert_int_equal(is_new(), where == behind);
			g = opened();
			fault_arm(at, FAULT_FAIL);
			r = generation_recover(&g, 0, &found, &e);
			fault_arm(0, FAULT_FAIL);
			generation_close(&g);
			(void)recovers(0);
			check_recovered(0);
			if (r == 0)
				break;
			assert_int_equal(r, -e.code);
			assert_memory_equal(e.msg, "recover the corpus of 't': ", 27);
		}
	}
}

/* The origin of `next` is unknown: all its files are kept. */
static void test_unknown_next(void **state)
{
	(void)state;
	close(make_dir_at(dir.fd, "generations/t/next/d"));
	input(dir.fd, "generations/t/next/anything", "anything");
	input(dir.fd, "generations/t/next/d/x", "x");
	input(dir.fd, "generations/t/next/.cut.new", "cut");
	scratch_write(dir.fd, "generations/t/pending", "no number");
	assert_int_equal(recovers(1), GENERATION_UNDONE);
	assert_true(corpus_has("anything"));
	assert_true(holds(dir.fd, in_corpus("d/x"), "x"));
	assert_int_equal(entries(dir.fd, "corpus/t"), 6);
	assert_int_equal(entries(dir.fd, "generations/t"), 0);

	/* A file that an older generation has is not kept twice. */
	close(make_dir_at(dir.fd, "generations/t/7"));
	input(dir.fd, in_generation(7, name_of("old")), "old");
	close(make_dir_at(dir.fd, "generations/t/next"));
	input(dir.fd, "generations/t/next/new", "new");
	char path[128];
	snprintf(path, sizeof(path), "generations/t/next/%s", name_of("old"));
	input(dir.fd, path, "old");
	assert_int_equal(recovers(1), GENERATION_UNDONE);
	assert_true(corpus_has("new"));
	assert_false(scratch_has(dir.fd, in_corpus(name_of("old"))));
	assert_int_equal(entries(dir.fd, "generations/t"), 1);
	assert_int_equal(replaces(2).kept, 8);
}

/* Inputs that were added between the exchange and the kill are kept. */
static void test_late(void **state)
{
	(void)state;
	(void)call_behind_exchange();
	input(dir.fd, "generations/t/next/very late", "very late");
	assert_int_equal(recovers(0), GENERATION_FINISHED);
	assert_true(corpus_has("very late"));
	check_recovered(0);
}

static void test_recover_all(void **state)
{
	struct generation_sum sum;
	struct err e;

	(void)state;
	assert_int_equal(generation_recover_all(dir.fd, 1, &sum, &e), 0);
	assert_int_equal(sum.undone + sum.finished, 0);
	assert_false(scratch_has(dir.fd, "generations"));
	for (unsigned i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "generations/t%u/next", i);
		close(make_dir_at(dir.fd, path));
	}
	assert_int_equal(generation_recover_all(dir.fd, 1, &sum, &e), 0);
	assert_int_equal(sum.undone, 3);
	assert_int_equal(sum.finished, 0);
	assert_int_equal(entries(dir.fd, "generations/t2"), 0);
	scratch_write(dir.fd, "generations/t1/next", "no directory");
	assert_int_equal(generation_recover_all(dir.fd, 1, &sum, &e), -ENOTDIR);
	assert_string_equal(e.msg, "recover the corpus of 't1': open 'next': Not a directory");
}

static const struct CMUnitTest tests[] = {
    CASE(test_killed), CASE(test_killed_keeping_none), CASE(test_killed_and_again),
    CASE(test_fails),  CASE(test_recovery_fails),      CASE(test_unknown_next),
    CASE(test_late),   CASE(test_recover_all),
};

UNIT_MAIN(tests)
