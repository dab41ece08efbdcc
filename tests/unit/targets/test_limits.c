/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/targets/build/limits.h"

#include <errno.h>
#include <stdio.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct slice meminfo(unsigned total_mib, unsigned left_mib)
{
	static char text[200];

	snprintf(text, sizeof(text),
		 "MemTotal:       %u kB\nMemFree:          12 kB\nMemAvailable:   %u kB\n",
		 total_mib * 1024, left_mib * 1024);
	return slice_of(text);
}

/* A build is ended when less than a sixteenth is left and the build has more than that. */
static void test_starves(void **state)
{
	uint64_t left = 0;

	(void)state;
	assert_false(limits_starves(meminfo(16000, 1001), 8 * GIB, &left));
	assert_int_equal(left, 1001 * MIB);
	assert_true(limits_starves(meminfo(16000, 999), 8 * GIB, &left));
	assert_true(limits_starves(meminfo(16000, 999), 1000 * MIB, &left));
	assert_false(limits_starves(meminfo(16000, 999), 999 * MIB, &left));
	/* Nearly nothing is left: memory that is not charged to the build counts, too. */
	assert_false(limits_starves(meminfo(16000, 501), 10 * MIB, &left));
	assert_true(limits_starves(meminfo(16000, 499), 10 * MIB, &left));
	/* Other texts have no result. */
	assert_false(limits_starves(SLICE(""), GIB, &left));
	assert_false(limits_starves(SLICE("MemTotal: 16000 kB\nMemAvailable: much\n"), GIB, &left));
	assert_false(limits_starves(
	    SLICE("MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n"), GIB, &left));
}

static void limits_of(struct limits *w, uint64_t disk)
{
	char type[] = "directory", path[] = "/tmp";
	const struct config_source s = {
	    .type = type, .path = path, .build_dir = path, .build_disk = disk};
	struct err e;

	if (limits_open(w, &s, 64 * MIB, &e) < 0)
		fail_msg("%s", e.msg);
}

static void test_disk(void **state)
{
	struct limits w;
	struct err e;

	(void)state;
	limits_of(&w, 0);
	assert_true(w.n >= 1);
	assert_true(w.v[0].floor_bytes > 0 && w.v[0].floor_bytes < w.v[0].free_bytes);
	assert_int_equal(limits_check(&w, 0, &e), 0);
	/* Each directory, and each file system, is watched once. */
	for (size_t i = 0; i < w.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(w.v[i].dev != w.v[k].dev);
	/* Simulates that another program has written meanwhile. */
	w.v[0].free_bytes += GIB * GIB;
	w.v[0].floor_bytes += GIB * GIB - GIB;
	assert_int_equal(limits_check(&w, 0, &e), -EDQUOT);
	assert_non_null(strstr(e.msg, "(build_disk): the file system of '/tmp' has "));
	w.v[0].floor_bytes = 0;
	w.v[0].floor_files = UINT64_MAX;
	assert_int_equal(limits_check(&w, 0, &e), -EDQUOT);
	assert_non_null(strstr(e.msg, "inodes left"));
	limits_close(&w);
	assert_int_equal(w.n, 0);
	limits_close(&w); /* a second call does no harm */
}

/* The allowed growth ends at the reserve. */
static void test_floor(void **state)
{
	struct limits w;

	(void)state;
	limits_of(&w, 100 * MIB);
	assert_int_equal(w.v[0].floor_bytes, w.v[0].free_bytes - 100 * MIB);
	limits_close(&w);
	limits_of(&w, GIB * 1024 * 16);
	assert_true(w.v[0].floor_bytes > 0 && w.v[0].floor_bytes <= 64 * MIB);
	limits_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_starves),
    cmocka_unit_test(test_disk),
    cmocka_unit_test(test_floor),
};

UNIT_MAIN(tests)
