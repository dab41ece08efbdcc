/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/archives.h"

static int by_name(void *arg, const char *name, int *ret_dirfd, struct err *e)
{
	const struct bench *b = arg;

	if (strcmp(name, "broken") == 0)
		return err_set(e, E2BIG, "enough");
	*ret_dirfd = strncmp(name, "good/", 5) == 0 ? b->out : -1;
	return 0;
}

/* Unwanted entries are reported.  They are skipped, but their bytes count. */
static void test_placed(void **state)
{
	struct seeds_limits most = seeds_limits_default;
	struct seeds_result r;
	struct bench b;
	struct seeds_to to = {
	    .dirfd = -1, .place = by_name, .arg = &b, .not_placed = "no", .most = &most};
	struct archive *a;
	char path[128];
	struct err e;

	(void)state;
	bench_make(&b);
	a = start(&b, "s.tar", NULL);
	add(a, "good/1", SLICE("one"));
	add(a, "bad\n/2", SLICE("two and more"));
	add(a, "good/3", SLICE("one"));
	add(a, "good/4", SLICE("four"));
	add(a, "broken", SLICE("x"));
	finish(a);
	snprintf(path, sizeof(path), "%s/s.tar", b.d.path);
	assert_int_equal(discover_unpack(path, &to, &r, &e), -E2BIG);
	assert_string_equal(e.msg, "enough");
	assert_int_equal(r.files, 3);
	assert_int_equal(r.bytes, 3 + 3 + 4);
	assert_int_equal(r.known, 1);
	assert_int_equal(r.known_bytes, 3);
	assert_int_equal(r.skipped, 1);
	assert_string_equal(r.why, "entry 'bad\\x0a/2': no");
	assert_int_equal(count_files(&b), 2);
	most.read = 10;
	assert_int_equal(discover_unpack(path, &to, &r, &e), 0);
	assert_int_equal(r.files, 1); /* the second file exceeds the limit */
	assert_memory_equal(r.why, "more than ", 10);
	bench_done(&b);
}

static void test_limits(void **state)
{
	static const struct {
		struct seeds_limits most;
		unsigned files;
		const char *why;
	} t[] = {
	    {{100, 100, 10, 100, 100}, 4, ""},
	    {{2, 100, 10, 100, 100}, 2, "more than 2 entries: the rest is left out"},
	    {{100, 3, 10, 100, 100}, 3, "more than 3 files or 0 GiB: the rest is left out"},
	    {{100, 100, 4, 100, 100}, 3, "entry 'c' has more than 4 bytes"},
	    {{100, 100, 10, 7, 100}, 2, "more than 100 files or 0 GiB: the rest is left out"},
	    {{100, 100, 10, 100, 7}, 2, "more than 0 GiB uncompressed: the rest is left out"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct seeds_result r;
		struct bench b;
		struct seeds_to to = {.most = &t[i].most};
		struct archive *a;
		char path[128];
		struct err e;

		bench_make(&b);
		a = start(&b, "s.zip", NULL);
		add(a, "a", SLICE("aaa"));
		add(a, "b", SLICE("bbb"));
		add(a, "c", SLICE("ccccc"));
		add(a, "d", SLICE("d"));
		finish(a);
		to.dirfd = b.out;
		snprintf(path, sizeof(path), "%s/s.zip", b.d.path);
		assert_int_equal(discover_unpack(path, &to, &r, &e), 0);
		assert_int_equal(r.files, t[i].files);
		assert_string_equal(r.why, t[i].why);
		assert_int_equal(count_files(&b), t[i].files);
		bench_done(&b);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_placed),
    cmocka_unit_test(test_limits),
};

UNIT_MAIN(tests)
