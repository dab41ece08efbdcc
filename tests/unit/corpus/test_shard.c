/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/merge.h"
#include "tests/unit/each.h"

/* --- lists ------------------------------------------------------------------------------ */

static void test_names(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "000000000000000000000000000000000000000",
					  "00000000000000000000000000000000000000000",
					  "A000000000000000000000000000000000000000",
					  "g000000000000000000000000000000000000000",
					  "../../../../../../../../../../etc/passwd"};
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(candidates_name_ok(bad[i]));
		assert_int_equal(candidates_add(&c, bad[i], 1, &e), -EINVAL);
	}
	assert_int_equal(c.n, 0);
	assert_true(candidates_name_ok("0123456789abcdef0123456789abcdef01234567"));
}

static void test_save(void **state)
{
	struct candidates c = list_of(1000), got = {0};
	char text[64];
	struct err e;

	(void)state;
	c.v[999].size = UINT64_MAX;
	assert_int_equal(candidates_save(dir.fd, "list", &c, &e), 0);
	assert_int_equal(candidates_load(dir.fd, "list", &got, &e), 0);
	assert_int_equal(got.n, 1000);
	for (size_t i = 0; i < got.n; i++) {
		assert_int_equal(got.v[i].size, c.v[i].size);
		assert_string_equal(got.v[i].name, c.v[i].name);
	}
	candidates_done(&got);
	candidates_done(&c);
	assert_int_equal(candidates_save(dir.fd, "list", &c, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "list", text, sizeof(text)), "");
	assert_int_equal(candidates_load(dir.fd, "list", &got, &e), 0);
	assert_int_equal(got.n, 0);
}

#define NAME "0123456789abcdef0123456789abcdef01234567"

static void test_damaged_list(void **state)
{
	static const char *const bad[] = {"\n",
					  NAME "\n",
					  NAME " \n",
					  NAME " x\n",
					  NAME " 1 \n",
					  NAME " -1\n",
					  NAME "  1\n",
					  NAME " 18446744073709551616\n",
					  "x" NAME " 1\n",
					  " 1\n",
					  "X\n"};
	char text[256];
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s 7\n%s", NAME, bad[i]);
		scratch_write(dir.fd, "list", text);
		assert_int_equal(candidates_load(dir.fd, "list", &c, &e), -EBADMSG);
		assert_string_equal(e.msg, "list 'list', line 2");
	}
	scratch_write(dir.fd, "list", NAME " 7");
	assert_int_equal(candidates_load(dir.fd, "list", &c, &e), -EBADMSG);
	assert_string_equal(e.msg, "list 'list' is cut");
	assert_int_equal(candidates_load(dir.fd, "none", &c, &e), -ENOENT);
	assert_int_equal(c.n, 0);
}

static void test_too_many(void **state)
{
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (unsigned i = 0; i < CANDIDATES_MAX; i++)
		if (candidates_add(&c, NAME, i, &e) < 0)
			fail_msg("%s", e.msg);
	assert_int_equal(candidates_add(&c, NAME, 0, &e), -E2BIG);
	assert_int_equal(c.n, CANDIDATES_MAX);
	candidates_done(&c);
}

/* --- shards ----------------------------------------------------------------------------- */

static void test_count(void **state)
{
	static const struct {
		size_t n;
		unsigned workers, want;
	} t[] = {{0, 4, 1},
		 {1, 4, 1},
		 {999, 4, 1},
		 {1000, 4, 2},
		 {2000, 4, 4},
		 {3000, 4, 4},
		 {3000, 0, 1},
		 {8192, 1, 1},
		 {8193, 1, 2},
		 {10000, 2, 2},
		 {10000, 16, 16},
		 {20000, 2, 4},
		 {200000, 2, 26},
		 {200000, 16, 32},
		 {1 << 20, 1, 128},
		 {1 << 20, 4096, SHARDS_MAX},
		 {SIZE_MAX / 2, 1, SHARDS_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(shard_count(t[i].n, t[i].workers, false), t[i].want);
	assert_int_equal(shard_count(10000, 1, true), 1);
	assert_int_equal(shard_count(32769, 1, true), 2);
	assert_int_equal(shard_count(100000, 2, true), 4);
}

static void check_split(const struct candidates *all, unsigned shards, uint64_t largest)
{
	struct candidates got[16] = {{0}};
	uint64_t least = UINT64_MAX, most = 0;
	size_t n = 0;
	struct err e;

	assert_int_equal(shard_split(all, shards, got, &e), 0);
	for (unsigned k = 0; k < shards; k++) {
		uint64_t cost = 0;

		for (size_t i = 0; i < got[k].n; i++) {
			assert_non_null(candidates_find(all, got[k].v[i].name, got[k].v[i].size));
			cost += got[k].v[i].size + 4096;
			if (i > 0)
				assert_true(got[k].v[i - 1].size <= got[k].v[i].size);
		}
		n += got[k].n;
		least = cost < least ? cost : least;
		most = cost > most ? cost : most;
		candidates_done(&got[k]);
	}
	assert_int_equal(n, all->n);
	assert_true(most - least <= largest + 4096);
}

static void test_split(void **state)
{
	struct candidates all = list_of(1000);
	struct candidates got[2] = {{0}};
	struct err e;

	(void)state;
	check_split(&all, 1, 1000);
	check_split(&all, 2, 1000);
	check_split(&all, 7, 1000);
	check_split(&all, 16, 1000);
	/* An input as large as all others together. */
	all.v[999].size = 1000 * 4096 + 500500;
	assert_int_equal(shard_split(&all, 2, got, &e), 0);
	assert_in_range(got[0].n + (got[0].n == 1000 ? 0 : got[1].n), 1000, 1000);
	assert_in_range(got[0].n < got[1].n ? got[0].n : got[1].n, 1, 20);
	candidates_done(&got[0]);
	candidates_done(&got[1]);
	assert_int_equal(shard_split(&all, 0, got, &e), -EINVAL);
	assert_int_equal(shard_split(&all, SHARDS_MAX + 1, got, &e), -EINVAL);
	candidates_done(&all);
	check_split(&all, 3, 0);
}

static const struct CMUnitTest tests[] = {
    CASE(test_names),	 CASE(test_save),  CASE(test_damaged_list),
    CASE(test_too_many), CASE(test_count), CASE(test_split),
};

UNIT_MAIN(tests)
