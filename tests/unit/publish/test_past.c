/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/publish/past.h"
#include "tests/unit/state/stats.h"

#include <sys/stat.h>

static char s_run[] = "20260105-000000", s_target[] = "t";
static char s_commit[] = "ddd";
static const struct known_crash crash = {.fuzzer = s_target,
					 .first_seen = {.run = s_run, .commit = s_commit}};

static int past_setup(void **state)
{
	int r = each_setup(state);

	assert_int_equal(mkdirat(dir.fd, "logs", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "logs/20260105-000000", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "stats/targets", 0755), 0);
	return r;
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, past_setup, each_teardown)

/* The newest earlier run of the target with a known commit. */
static void test_clean_at(void **state)
{
	struct publish_past got;

	(void)state;
	past_of(&state_of, &crash, &got);
	assert_string_equal(got.clean_at, "");
	scratch_write(dir.fd, "stats/targets/t.jsonl",
		      "{\"run\": \"20260101-000000\", \"commit\": \"aaa\", \"execs\": 5}\n"
		      "{\"run\": \"20260102-000000\", \"commit\": \"bbb\", \"execs\": 5}\n"
		      "{\"run\": \"20260103-000000\", \"commit\": \"ccc\", \"execs\": 0}\n"
		      "{\"run\": \"20260104-000000\", \"commit\": null, \"execs\": 5}\n"
		      "damaged\n"
		      "{\"run\": \"20260105-000000\", \"commit\": \"ddd\", \"execs\": 5}\n"
		      "{\"run\": \"20260106-000000\", \"commit\": \"eee\", \"execs\": 5}\n");
	past_of(&state_of, &crash, &got);
	assert_string_equal(got.clean_at, "bbb");
	assert_false(got.known);
	/* An artifact without triage may have been this crash; on the same commit it proves
	 * nothing. */
	scratch_write(dir.fd, "stats/targets/t.jsonl",
		      "{\"run\": \"20260101-000000\", \"commit\": \"aaa\", \"execs\": 5}\n"
		      "{\"run\": \"20260102-000000\", \"commit\": \"bbb\", \"execs\": 5, "
		      "\"untriaged\": 1}\n");
	past_of(&state_of, &crash, &got);
	assert_string_equal(got.clean_at, "");
	scratch_write(dir.fd, "stats/targets/t.jsonl",
		      "{\"run\": \"20260101-000000\", \"commit\": \"aaa\", \"execs\": 5}\n"
		      "{\"run\": \"20260102-000000\", \"commit\": \"ddd\", \"execs\": 5}\n");
	past_of(&state_of, &crash, &got);
	assert_string_equal(got.clean_at, "");
}

/* During the run only the points of its curve exist. */
static void test_statistics(void **state)
{
	struct publish_past got;

	(void)state;
	scratch_write(dir.fd, "logs/20260105-000000/t.series",
		      "{\"v\": 1, \"target\": \"t\", \"run\": \"20260105-000000\", \"started\": 1, "
		      "\"columns\": [\"t\", \"execs\", \"cpu_seconds\", \"cov\", \"ft\", "
		      "\"corpus_units\", \"corpus_bytes\", \"rss_bytes\", \"pressure_cpu\", "
		      "\"pressure_memory\", \"pressure_io\"]}\n"
		      "[1, 10, 1, 2, 3, 4, 5, 6, 0, 0, 0]\n"
		      "[2, 20, 2, 7, 3, 8, 5, 6, 0, 0, 0]\n");
	past_of(&state_of, &crash, &got);
	assert_true(got.known);
	assert_int_equal(got.execs, 20);
	assert_int_equal(got.cov, 7);
	assert_int_equal(got.corpus, 8);
	scratch_write(dir.fd, "logs/20260105-000000/t.stats",
		      "{\"execs\": 12, \"cov\": 3, \"corpus_units\": 4}");
	past_of(&state_of, &crash, &got);
	assert_true(got.known);
	assert_int_equal(got.execs, 12);
	assert_int_equal(got.cov, 3);
	assert_int_equal(got.corpus, 4);
}

/* A ledger can have any names. */
static void test_names(void **state)
{
	static char up[] = "../x", target[] = "t";
	const struct known_crash bad = {.fuzzer = target,
					.first_seen = {.run = up, .commit = s_commit}};
	struct publish_past got;

	(void)state;
	past_of(&state_of, &bad, &got);
	assert_false(got.known);
}

static const struct CMUnitTest tests[] = {
    WITH(test_clean_at),
    WITH(test_statistics),
    WITH(test_names),
};

UNIT_MAIN(tests)
