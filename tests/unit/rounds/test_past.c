/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/rounds/past.h"
#include "tests/unit/scratch_dir.h"

static struct state *s;

static void opened(void)
{
	struct err e;

	assert_int_equal(state_open(dir.path, STATE_LOCK, &s, &e), 0);
}

static void lines(const char *text)
{
	int stats = openat(dir.fd, "stats", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	scratch_write(stats, ROUND_HISTORY, text);
	close(stats);
}

static void nothing_is_no_round(void **state)
{
	struct past_round r;
	uint64_t next;
	struct err e;

	(void)state;
	opened();
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_int_equal(r.round, 0);
	assert_int_equal(past_next_round(s, &next, &e), 0);
	assert_int_equal(next, 1);
	state_close(s);
}

#define PLAN "\"plan\": \"0123456789abcdef\", \"round\": 4, \"shards\": 3"

static void the_newest_round_counts(void **state)
{
	struct past_round r;
	uint64_t next;
	struct err e;

	(void)state;
	opened();
	lines(
	    "{\"plan\": \"aaaaaaaaaaaaaaaa\", \"round\": 3, \"shards\": 9, \"shard\": 9, "
	    "\"until\": 99, \"edges\": 7}\n"
	    "{" PLAN ", \"shard\": 1, \"node\": \"n1\", \"until\": 10, \"due\": 50, \"edges\": 5, "
	    "\"inputs\": 2, \"cpu_seconds\": 1.5, \"last\": false}\n"
	    "not JSON\n"
	    "{" PLAN ", \"shard\": 2, \"node\": \"n1\", \"until\": 20, \"due\": 60, \"edges\": 1, "
	    "\"last\": true}\n"
	    "{" PLAN ", \"shard\": 1, \"node\": \"n2\", \"until\": 15, \"due\": 55, \"last\": "
	    "true}\n"
	    "{" PLAN ", \"shard\": 77, \"until\": 1}\n");
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_int_equal(r.round, 4);
	assert_int_equal(r.shards, 3);
	assert_int_equal(r.v[0].deltas, 2);
	assert_string_equal(r.v[0].node, "n2");
	assert_int_equal(r.v[0].edges, 5);
	assert_int_equal(r.v[1].until, 20);
	assert_int_equal(r.v[2].deltas, 0);
	assert_int_equal(r.ended, 2);
	assert_int_equal(r.nodes, 2);
	assert_int_equal(r.due, 60);
	assert_int_equal(r.until, 20);
	assert_int_equal(r.edges, 6);
	assert_int_equal(r.inputs, 2);
	assert_true(r.cpu_seconds > 1.4 && r.cpu_seconds < 1.6);
	assert_int_equal(past_next_round(s, &next, &e), 0);
	assert_int_equal(next, 5);
	past_round_done(&r);
	state_close(s);
}

static void find_plan(const char *id, unsigned shards, struct past_round *ret)
{
	struct round_plan p = {.round = 4, .shards = shards};
	struct err e;

	snprintf(p.id, sizeof(p.id), "%s", id);
	assert_int_equal(past_of_plan(s, &p, ret, &e), 0);
}

#define OVER "{" PLAN ", \"shard\": 0, \"until\": 90}\n"

/* A collector was told so: also if no shard gave anything. */
static void a_round_is_over(void **state)
{
	struct past_round r;
	struct err e;

	(void)state;
	opened();
	lines("{" PLAN ", \"shard\": 2, \"until\": 20, \"due\": 60, \"last\": true}\n"
	      "{" PLAN ", \"until\": 95}\n");
	find_plan("0123456789abcdef", 3, &r);
	assert_int_equal(r.over, 0);
	assert_int_equal(r.ended, 1);
	assert_false(past_is_lost(&r, &r.v[0], 60 + PAST_LATE_S));
	assert_true(past_is_lost(&r, &r.v[0], 61 + PAST_LATE_S));
	assert_false(past_is_lost(&r, &r.v[1], 61 + PAST_LATE_S));
	past_round_done(&r);
	lines("{" PLAN ", \"shard\": 2, \"until\": 20, \"due\": 60, \"last\": true}\n" OVER);
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_int_equal(r.over, 90);
	assert_int_equal(r.due, 60);
	assert_int_equal(r.until, 20);
	assert_true(past_is_lost(&r, &r.v[0], 60));
	assert_false(past_is_lost(&r, &r.v[1], 60));
	past_round_done(&r);
	lines(OVER);
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_true(r.over == 90 && r.round == 4 && r.shards == 3);
	assert_int_equal(r.ended + r.nodes, 0);
	assert_int_equal(r.due + r.until, 0);
	assert_true(past_is_lost(&r, &r.v[2], 90));
	past_round_done(&r);
	/* The shard runs again. */
	lines(OVER "{" PLAN ", \"shard\": 2, \"until\": 91, \"due\": 200}\n");
	find_plan("0123456789abcdef", 3, &r);
	assert_true(past_is_lost(&r, &r.v[0], 100));
	assert_false(past_is_lost(&r, &r.v[1], 100));
	past_round_done(&r);
	find_plan("fedcba9876543210", 5, &r);
	assert_int_equal(r.shards, 5);
	assert_int_equal(r.over + r.due + r.ended, 0);
	past_round_done(&r);
	state_close(s);
}

/* A plan was made twice with the number 6, and the lines are in no order. */
static void rounds_are_in_order(void **state)
{
	static const char *const plans[] = {"6b", "6a", "5", "4"};
	struct past_round v[4];
	struct err e;
	size_t n;

	(void)state;
	opened();
	lines("{\"plan\": \"4\", \"round\": 4, \"shards\": 1, \"shard\": 1, \"until\": 40}\n"
	      "{\"plan\": \"3\", \"round\": 3, \"shards\": 1, \"shard\": 1, \"until\": 99}\n"
	      "{\"plan\": \"6b\", \"round\": 6, \"shards\": 2, \"shard\": 2, \"until\": 60}\n"
	      "{\"plan\": \"6a\", \"round\": 6, \"shards\": 1, \"shard\": 1, \"until\": 61}\n"
	      "{\"plan\": \"5\", \"round\": 5, \"shards\": 1, \"shard\": 1, \"until\": 50}\n"
	      "{\"plan\": \"6b\", \"round\": 6, \"shards\": 2, \"shard\": 1, \"until\": 62}\n"
	      "{\"plan\": \"2\", \"round\": 2, \"shards\": 1, \"shard\": 1, \"until\": 20}\n");
	assert_int_equal(past_rounds(s, 4, v, &n, &e), 0);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(v[i].plan, plans[i]);
		past_round_done(&v[i]);
	}
	state_close(s);
}

/* More lines than are read at first: the early end of shard 1 is not forgotten. */
static void a_long_round_is_whole(void **state)
{
	enum { LINES = 10100 };
	_autobuf_ struct buf text = BUF_INIT(4 << 20);
	struct past_round r;
	struct err e;

	(void)state;
	opened();
	buf_puts(&text,
		 "{\"plan\": \"3\", \"round\": 3, \"shards\": 1, \"shard\": 1}\n"
		 "{\"plan\": \"p\", \"round\": 5, \"shards\": 2, \"shard\": 1, \"until\": 1, "
		 "\"edges\": 7, \"last\": true}\n");
	for (unsigned i = 2; i < LINES; i++)
		buf_printf(
		    &text,
		    "{\"plan\": \"p\", \"round\": 5, \"shards\": 2, \"shard\": 2, \"until\": %u, "
		    "\"edges\": 1}\n",
		    i);
	lines(buf_str(&text));
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_int_equal(r.ended, 1);
	assert_int_equal(r.edges, 7 + LINES - 2);
	past_round_done(&r);
	state_close(s);
}

/* Nothing in the file can make it read or write elsewhere. */
static void wrong_numbers_are_ignored(void **state)
{
	struct past_round r;
	struct err e;

	(void)state;
	opened();
	lines("{\"round\": 1, \"shards\": 1000000000, \"shard\": 5}\n"
	      "{\"round\": 2, \"shards\": -1, \"shard\": 5}\n[]\n{}\n");
	assert_int_equal(past_newest(s, &r, &e), 0);
	assert_int_equal(r.round, 0);
	state_close(s);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(nothing_is_no_round),	 WITH(the_newest_round_counts), WITH(a_round_is_over),
    WITH(a_long_round_is_whole), WITH(rounds_are_in_order),	WITH(wrong_numbers_are_ignored),
};

UNIT_MAIN(tests)
