/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/minimise/minimise.h"

#include <errno.h>
#include <stdlib.h>

enum { MANY = 100000 };

typedef bool fails_fn(struct slice input);

static struct minimise search;

static bool has_abc(struct slice in)
{
	size_t found = 0;

	for (size_t i = 0; i < in.n && found < 3; i++)
		found += in.p[i] == "ABC"[found];
	return found == 3;
}

static bool is_long(struct slice in)
{
	return in.n >= 100;
}

/* A header, the length of the rest, a checksum: no part can be left out alone. */
static bool has_checksum(struct slice in)
{
	unsigned char sum = 0;

	if (in.n < 4 || in.p[0] != 'P' || (unsigned char)in.p[1] != in.n - 3)
		return false;
	for (size_t i = 2; i + 1 < in.n; i++)
		sum = (unsigned char)(sum + (unsigned char)in.p[i]);
	return sum == (unsigned char)in.p[in.n - 1];
}

/* Three complete keywords, far from each other. */
static bool has_words(struct slice in)
{
	return memmem(in.p, in.n, "<open>", 6) && memmem(in.p, in.n, "attr=", 5) &&
	       memmem(in.p, in.n, "</close>", 8);
}

static bool is_balanced(struct slice in)
{
	int depth = 0, deepest = 0;

	for (size_t i = 0; i < in.n; i++) {
		depth += in.p[i] == '(' ? 1 : in.p[i] == ')' ? -1 : 0;
		if (depth < 0)
			return false;
		deepest = depth > deepest ? depth : deepest;
	}
	return depth == 0 && deepest >= 3;
}

static bool always(struct slice in)
{
	(void)in;
	return true;
}

static bool never(struct slice in)
{
	(void)in;
	return false;
}

static unsigned rank(char c)
{
	return c == ' ' ? 0 : c == '0' ? 1 : 2;
}

static bool is_simpler(struct slice a, struct slice b)
{
	bool simpler = false;

	if (a.n != b.n)
		return a.n < b.n;
	for (size_t i = 0; i < a.n; i++) {
		if (rank(a.p[i]) > rank(b.p[i]))
			return false;
		simpler |= rank(a.p[i]) < rank(b.p[i]);
	}
	return simpler;
}

/* Reproducible bytes without the ones that the predicates look for, from 0x80 up. */
static char *noise(size_t n)
{
	char *p = malloc(n + 1);
	uint32_t x = 2463534242;

	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		p[i] = (char)(0x80 | (x >> 9 & 0x7f));
	}
	return p;
}

static unsigned reduce(struct slice in, unsigned max_tries, fails_fn *fails)
{
	struct slice c;

	minimise_init(&search, in, max_tries);
	while (minimise_next(&search, &c)) {
		assert_true(is_simpler(c, minimise_best(&search)));
		minimise_judge(&search, fails(c));
	}
	assert_true(search.tries <= max_tries);
	assert_false(minimise_next(&search, &c)); /* a second call returns the same */
	return search.tries;
}

/* No byte can be left out or simplified. */
static void check_minimal(fails_fn *fails)
{
	struct slice b = minimise_best(&search);
	char *p = malloc(b.n + 1);

	assert_non_null(p);
	assert_true(minimise_complete(&search));
	assert_true(fails(b));
	for (size_t i = 0; i < b.n; i++) {
		memcpy(p, b.p, i);
		memcpy(p + i, b.p + i + 1, b.n - i - 1);
		assert_false(fails((struct slice){p, b.n - 1}));
		memcpy(p, b.p, b.n);
		for (const char *by = "0 "; *by; by++) {
			p[i] = *by;
			assert_true(rank(*by) >= rank(b.p[i]) || !fails((struct slice){p, b.n}));
		}
	}
	free(p);
}

/* Bytes at places of 64 KiB of noise. */
static void plant(char *p, size_t at, const char *text)
{
	memcpy(p + at, text, strlen(text));
}

static char *planted(size_t n, fails_fn *fails)
{
	char *p = noise(n);

	if (fails == has_abc) {
		plant(p, n / 7, "A");
		plant(p, n / 3, "B");
		plant(p, n - 10, "C");
	} else if (fails == has_words) {
		plant(p, 10, "attr=");
		plant(p, n / 2, "</close>");
		plant(p, n - n / 5, "<open>");
	} else if (fails == is_balanced) {
		plant(p, n / 5, "(((a)(b))");
		plant(p, n / 2, ")");
		plant(p, n - 20, "(x)");
	}
	return p;
}

static void test_minimal(void **state)
{
	static const struct {
		const char *name;
		fails_fn *fails;
		size_t n;
		const char *want; /* NULL: any want_n bytes */
		size_t want_n;
		unsigned most; /* limit of replays, a tenth above the usual number */
	} t[] = {
	    {"always", always, 4096, "", 0, 1},
	    {"'ABC' in order in 64 B", has_abc, 64, "ABC", 3, 57},
	    {"'ABC' in order in 4 KiB", has_abc, 4096, "ABC", 3, 108},
	    {"'ABC' in order in 1 MiB", has_abc, 1 << 20, "ABC", 3, 168},
	    {"three words in 4 KiB", has_words, 4096, "attr=</close><open>", 19, 186},
	    {"three words in 1 MiB", has_words, 1 << 20, "attr=</close><open>", 19, 240},
	    {"balanced in 4 KiB", is_balanced, 4096, "((()))", 6, 107},
	    {"100 bytes of 4 KiB", is_long, 4096, NULL, 100, 30},
	    {"100 bytes of 1 MiB", is_long, 1 << 20, NULL, 100, 39},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *p = planted(t[i].n, t[i].fails);
		unsigned tries = reduce((struct slice){p, t[i].n}, MANY, t[i].fails);
		struct slice b = minimise_best(&search);

		print_message("# %s: %zu bytes in %u tries, %u accepted\n", t[i].name, b.n, tries,
			      search.accepted);
		assert_int_equal(b.n, t[i].want_n);
		if (t[i].want)
			assert_memory_equal(b.p, t[i].want, b.n);
		assert_in_range(tries, 1, t[i].most);
		check_minimal(t[i].fails);
		minimise_done(&search);
		free(p);
	}
}

/* Bytes that depend on each other: the removable bytes are removed, and the search ends. */
static void test_checksum(void **state)
{
	char in[] = "P\x20"
		    "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpP?";
	unsigned char sum = 0;
	unsigned tries;

	(void)state;
	for (size_t i = 2; i < 34; i++)
		sum = (unsigned char)(sum + (unsigned char)in[i]);
	in[34] = (char)sum;
	assert_true(has_checksum((struct slice){in, 35}));
	tries = reduce((struct slice){in, 35}, MANY, has_checksum);
	print_message("# a checksum: %zu bytes in %u tries\n", minimise_best(&search).n, tries);
	assert_true(tries < 35 * 6);
	check_minimal(has_checksum);
	minimise_done(&search);
}

/* Bytes that need other bytes: needed[b] has a bit for each byte that must be present if b is; the
 * bytes of `core` must always be present. */
enum { LETTERS = 12 };
static unsigned needed[LETTERS], core;

static bool has_needed(struct slice in)
{
	unsigned have = 0;

	for (size_t i = 0; i < in.n; i++)
		if (in.p[i] >= 'a' && in.p[i] < 'a' + LETTERS)
			have |= 1U << (in.p[i] - 'a');
	if ((have & core) != core)
		return false;
	for (unsigned b = 0; b < LETTERS; b++)
		if (have >> b & 1 && (have & needed[b]) != needed[b])
			return false;
	return true;
}

/* Each removal makes another byte removable: the search needs more than one round. */
static void test_dependent(void **state)
{
	char in[LETTERS];
	uint32_t x = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		for (unsigned b = 0; b < LETTERS; b++) {
			x = x * 1664525 + 1013904223;
			in[b] = (char)('a' + b);
			needed[b] = x >> 16 & x >> 7 & x >> 3 & ((1U << LETTERS) - 1);
		}
		core = 1U << (x >> 20) % LETTERS;
		(void)reduce((struct slice){in, LETTERS}, MANY, has_needed);
		check_minimal(has_needed);
		minimise_done(&search);
	}
}

static void test_nothing_helps(void **state)
{
	char *p = noise(1000);
	unsigned tries;

	(void)state;
	tries = reduce((struct slice){p, 1000}, MANY, never);
	print_message("# 1000 bytes that are all needed: %u tries\n", tries);
	assert_true(minimise_best(&search).n == 1000 && !memcmp(minimise_best(&search).p, p, 1000));
	/* Each byte is left out, replaced by a space, by a zero; and 2048 candidates for length
	 * fields. */
	assert_in_range(tries, 3000, 6600);
	assert_true(minimise_complete(&search));
	assert_int_equal(search.accepted, 0);
	minimise_done(&search);
	free(p);
}

/* --- lengths, counts, offsets ---------------------------------------------- */

static size_t big(const char *p, size_t n)
{
	size_t v = 0;

	while (n-- > 0)
		v = v << 8 | (unsigned char)*p++;
	return v;
}

static bool has_bug(const char *p, size_t n)
{
	return memmem(p, n, "BUG", 3) != NULL;
}

/* Two bytes of length, and content of exactly this length. */
static bool is_record(struct slice in)
{
	return in.n >= 18 && big(in.p, 2) == in.n - 2 && has_bug(in.p + 2, in.n - 2);
}

/* Three nested records with little-endian lengths. */
static bool is_nested(struct slice in)
{
	for (size_t depth = 0; depth < 3; depth++) {
		if (in.n < 3 || (unsigned char)in.p[0] != 0x81 + depth ||
		    ((size_t)(unsigned char)in.p[2] << 8 | (unsigned char)in.p[1]) != in.n - 3)
			return false;
		in = (struct slice){in.p + 3, in.n - 3};
	}
	return has_bug(in.p, in.n);
}

/* A count of four-byte numbers; one number is too large. */
static bool has_large_number(struct slice in)
{
	size_t n = in.n >= 2 ? big(in.p, 2) : 0;
	bool found = false;

	for (size_t i = 0; i < n && 4 * n == in.n - 2; i++)
		found |= big(in.p + 2 + 4 * i, 4) > 0xfffffff0;
	return found;
}

/* The offset of the data, and their size in bytes. */
static bool has_data(struct slice in)
{
	size_t at = in.n >= 8 ? big(in.p + 4, 2) : 0, n = in.n >= 8 ? big(in.p + 6, 2) : 0;

	return in.n >= 8 && memcmp(in.p, "OFFS", 4) == 0 && at >= 8 && at <= in.n &&
	       n == in.n - at && n >= 4 && has_bug(in.p + at, n);
}

static void test_fields(void **state)
{
	static char record[781], nested[600], numbers[722], data[612];
	static const struct {
		const char *name;
		const char *p;
		size_t n;
		fails_fn *fails;
		size_t want;
		unsigned most;
	} t[] = {
	    {"a length", record, sizeof(record), is_record, 18, 1200},
	    {"lengths in lengths", nested, sizeof(nested), is_nested, 12, 2500},
	    {"a count", numbers, sizeof(numbers), has_large_number, 6, 1500},
	    {"an offset", data, sizeof(data), has_data, 12, 1800},
	};

	(void)state;
	memset(record, 'x', sizeof(record));
	memcpy(record, "\x03\x0b", 2);
	memcpy(record + 400, "BUG", 3);
	memset(nested, 'y', sizeof(nested));
	for (size_t depth = 0; depth < 3; depth++) {
		size_t left = sizeof(nested) - 3 * (depth + 1);

		nested[3 * depth] = (char)(0x81 + depth);
		nested[3 * depth + 1] = (char)(left & 0xff);
		nested[3 * depth + 2] = (char)(left >> 8);
	}
	memcpy(nested + 300, "BUG", 3);
	memset(numbers, '\x11', sizeof(numbers));
	memcpy(numbers, "\x00\xb4", 2);
	memcpy(numbers + 2 + 4 * 90, "\xff\xff\xff\xfc", 4);
	memset(data, 'z', sizeof(data));
	memcpy(data, "OFFS\x01\x98\x00\xcc", 8);
	memcpy(data + 408, "BUG", 3);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		unsigned tries;

		assert_true(t[i].fails((struct slice){t[i].p, t[i].n}));
		tries = reduce((struct slice){t[i].p, t[i].n}, MANY, t[i].fails);
		print_message("# %s: %zu bytes in %u tries\n", t[i].name, minimise_best(&search).n,
			      tries);
		assert_int_equal(minimise_best(&search).n, t[i].want);
		assert_in_range(tries, 1, t[i].most);
		assert_true(minimise_complete(&search));
		minimise_done(&search);
	}
}

/* The search ends for every input and every judge. */
static unsigned coin_state;

static bool tosses_a_coin(struct slice in)
{
	(void)in;
	coin_state = coin_state * 1664525 + 1013904223;
	return coin_state >> 30 == 0;
}

static void test_any_bytes(void **state)
{
	char in[200];

	(void)state;
	for (unsigned seed = 1; seed < 400; seed++) {
		coin_state = seed;
		for (size_t i = 0; i < sizeof(in); i++) {
			coin_state = coin_state * 1664525 + 1013904223;
			in[i] = (char)(coin_state >> 24 & (seed % 2 ? 0x0f : 0xff));
		}
		(void)reduce((struct slice){in, sizeof(in)}, MANY, tosses_a_coin);
		assert_true(minimise_complete(&search));
		minimise_done(&search);
	}
}

static void test_small(void **state)
{
	(void)state;
	assert_int_equal(reduce((struct slice){NULL, 0}, MANY, always), 0);
	assert_true(minimise_complete(&search));
	minimise_done(&search);
	for (size_t n = 1; n <= 9; n++) {
		assert_int_equal(reduce((struct slice){"abcdefghi", n}, MANY, always), 1);
		assert_int_equal(minimise_best(&search).n, 0);
		check_minimal(always);
		minimise_done(&search);
		(void)reduce((struct slice){"abcdefghi", n}, MANY, never);
		assert_int_equal(minimise_best(&search).n, n);
		assert_true(minimise_complete(&search));
		minimise_done(&search);
		minimise_done(&search); /* a second call is allowed */
	}
}

/* For any answers of the judge every candidate is simpler than the best, and the search ends. */
static void test_moody_judge(void **state)
{
	uint64_t x = 88172645463325252;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		char *p = noise(round);
		struct slice c;

		minimise_init(&search, (struct slice){p, round}, MANY);
		while (minimise_next(&search, &c)) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			assert_true(is_simpler(c, minimise_best(&search)));
			if (x % 8 != 7)
				minimise_judge(&search, x % 8 == 0);
		}
		assert_true(minimise_complete(&search));
		minimise_done(&search);
		free(p);
	}
}

static void test_budget(void **state)
{
	char *p = planted(1 << 16, has_words);
	size_t before = (1 << 16) + 1;

	(void)state;
	for (unsigned max = 0; max < 300; max += max < 20 ? 1 : 20) {
		assert_true(reduce((struct slice){p, 1 << 16}, max, has_words) <= max);
		assert_true(has_words(minimise_best(&search)));
		assert_true(minimise_best(&search).n <=
			    before); /* more replays, and no worse result */
		before = minimise_best(&search).n;
		if (max < 19)
			assert_false(minimise_complete(&search));
		minimise_done(&search);
	}
	assert_int_equal(before, 19);
	free(p);
}

/* The same input and judge take the same steps. */
static void test_deterministic(void **state)
{
	char *p = planted(5000, is_balanced);
	unsigned tries = reduce((struct slice){p, 5000}, MANY, is_balanced);
	unsigned accepted = search.accepted;

	(void)state;
	minimise_done(&search);
	assert_int_equal(reduce((struct slice){p, 5000}, MANY, is_balanced), tries);
	assert_int_equal(search.accepted, accepted);
	minimise_done(&search);
	free(p);
}

/* A large input of one repeated byte, all of it needed: equal candidates take no time. */
static void test_repeated(void **state)
{
	size_t n = 4 << 20;
	char *p = malloc(n);
	unsigned tries;

	(void)state;
	assert_non_null(p);
	memset(p, 'a', n);
	tries = reduce((struct slice){p, n}, 500, never);
	assert_int_equal(tries, 500);
	assert_false(minimise_complete(&search));
	minimise_done(&search);
	memset(p, ' ', n);
	tries = reduce((struct slice){p, 1000}, 500, never);
	print_message("# 1000 spaces that are all needed: %u tries\n", tries);
	assert_true(minimise_complete(&search));
	assert_in_range(tries, 1, 30);
	minimise_done(&search);
	free(p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_minimal),   cmocka_unit_test(test_checksum),
    cmocka_unit_test(test_dependent), cmocka_unit_test(test_nothing_helps),
    cmocka_unit_test(test_fields),    cmocka_unit_test(test_any_bytes),
    cmocka_unit_test(test_small),     cmocka_unit_test(test_moody_judge),
    cmocka_unit_test(test_budget),    cmocka_unit_test(test_deterministic),
    cmocka_unit_test(test_repeated),
};

UNIT_MAIN(tests)
