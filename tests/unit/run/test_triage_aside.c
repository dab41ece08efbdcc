/* SPDX-License-Identifier: Apache-2.0 */
/* A queue with entries that are no files. */
#include "tests/unit/unit.h"

#include "tests/unit/run/triage.h"

#include <sys/stat.h>

#define FIRST  "crash-0000000000000000000000000000000000000000"
#define SECOND "crash-1111111111111111111111111111111111111111"
#define THIRD  "crash-2222222222222222222222222222222222222222"
#define LOST   "lost-0123456789012345678901234567890123456789"

static void make_dir(const char *path)
{
	OK(fs_mkdirs(play.dir.fd, path, 0755, e));
}

static void check_one_crash(uint64_t count)
{
	struct ledger *l = ledger();

	assert_int_equal(ledger_count(l), 1);
	assert_int_equal(ledger_at(l, 0)->count, count);
	ledger_free(l);
}

/* They are set aside with a note; the artifacts beside them are triaged. */
static void test_set_aside(void **state)
{
	(void)state;
	put("triage/a", ARTIFACT, "S");
	assert_int_equal(mkfifoat(play.dir.fd, "triage/a/" FIRST, 0644), 0);
	make_dir("triage/a/" SECOND);
	put("triage/a/" SECOND, "inside", "kept");
	assert_int_equal(symlinkat("/dev/null", play.dir.fd, "triage/a/" THIRD), 0);
	make_dir("triage/a/" LOST);
	make_dir("triage/a/.report-" ARTIFACT);
	make_dir("triage/a/.report-crash-gone");
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.artifacts, 1);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.left, 0);
	assert_non_null(strstr(play.sum.note, "no file was in the place of an artifact: look at "
					      "'damaged/triage/a/"));
	check_one_crash(1);
	assert_int_equal(state_waiting(&play.state, "a"), 0);
	assert_true(has("damaged/triage/a/" FIRST));
	assert_true(has("damaged/triage/a/" SECOND "/inside"));
	assert_true(has("damaged/triage/a/" THIRD));
	assert_true(has("damaged/triage/a/" LOST));
	assert_true(has("damaged/triage/a/.report-" ARTIFACT));
	assert_true(has("damaged/triage/a/.report-crash-gone"));
	triage("a", TRIAGE_QUEUE);
	assert_string_equal(play.sum.note, "");
}

/* A second entry of that name does not replace the first. */
static void test_set_aside_again(void **state)
{
	(void)state;
	make_dir("damaged/triage/a/" FIRST);
	make_dir("triage/a/" FIRST);
	triage("a", TRIAGE_QUEUE);
	assert_true(has("damaged/triage/a/" FIRST));
	assert_true(has("damaged/triage/a/" FIRST "~2"));
}

/* When the entries cannot be set aside, the artifacts are triaged all the same. */
static void test_not_set_aside(void **state)
{
	(void)state;
	put("triage/a", ARTIFACT, "S");
	make_dir("triage/a/" FIRST);
	scratch_write(play.dir.fd, "damaged", "a file");
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.artifacts, 1);
	assert_int_equal(play.sum.left, 1);
	assert_non_null(strstr(play.sum.note, "'triage/a/" FIRST "' is no file: "));
	check_one_crash(1);
	assert_int_equal(state_waiting(&play.state, "a"), 1); /* and the run does not succeed */
}

/* A queue that cannot be listed does not count as empty. */
static void test_unlisted(void **state)
{
	(void)state;
	assert_int_equal(state_waiting(&play.state, "a"), 0);
	put("triage", "a", "a file");
	assert_int_equal(state_waiting(&play.state, "a"), 1);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.left, 1);
	assert_string_not_equal(play.sum.note, "");
}

static const struct CMUnitTest tests[] = {
    CASE(test_set_aside),
    CASE(test_set_aside_again),
    CASE(test_not_set_aside),
    CASE(test_unlisted),
};

UNIT_MAIN(tests)
