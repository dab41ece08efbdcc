/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/disk.h"
#include "tests/unit/scratch.h"

#include <errno.h>

static void it_does_not_flap(void **state)
{
	static const struct {
		uint64_t avail;
		bool low;
	} v[] = {{UINT64_MAX, false}, {1000, false}, {999, true},   {1000, true}, {1124, true},
		 {0, true},	      {1125, false}, {1050, false}, {999, true}};
	bool low = false;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		low = disk_is_low(low, v[i].avail, 1000);
		assert_int_equal(low, v[i].low);
	}
	assert_false(disk_is_low(true, 0, 0)); /* no reserve is configured */
	assert_true(disk_is_low(true, UINT64_MAX - 1, UINT64_MAX));
}

static void what_is_seen_is_what_there_is(void **state)
{
	struct scratch dir = SCRATCH_INIT;
	struct disk_watch d;

	(void)state;
	scratch_make(&dir);
	disk_watch_begin(&d, dir.fd, UINT64_MAX, 1 << 20);
	assert_int_equal(disk_look(&d, 1), DISK_LOW);
	assert_true(d.low);
	d.reserve = (struct fs_room){0};
	assert_int_equal(disk_look(&d, 100000000), DISK_WALK);
	assert_false(d.low);
	scratch_remove(&dir);
}

/* Seeds do not count as written by the cell, whatever their size is. */
static void seeds_are_not_counted(void **state)
{
	const struct fs_usage none = {0}, two = {.files = 2};
	struct scratch dir = SCRATCH_INIT;
	struct disk_usage u = {.named.files = 99};
	struct err e;

	(void)state;
	scratch_make(&dir);
	assert_int_equal(disk_walk(dir.fd, "t", &none, &u, &e), -ENOENT);
	assert_int_equal(fs_mkdirs(dir.fd, "t/seeds", 0755, &e), 0);
	assert_int_equal(fs_mkdirs(dir.fd, "t/corpus", 0755, &e), 0);
	assert_int_equal(fs_mkdirs(dir.fd, "t/artifacts/deep", 0755, &e), 0);
	scratch_write(dir.fd, "t/seeds/a", "seed");
	scratch_write(dir.fd, "t/seeds/b", "seed");
	assert_int_equal(disk_walk(dir.fd, "t", &none, &u, &e), 0);
	assert_int_equal(u.named.files, 1);
	scratch_write(dir.fd, "t/corpus/a", "new");
	scratch_write(dir.fd, "t/corpus/b", "new");
	scratch_write(dir.fd, "t/artifacts/deep/c", "new");
	assert_int_equal(disk_walk(dir.fd, "t", &none, &u, &e), 0);
	assert_int_equal(u.named.files, 4);
	assert_true(u.named.bytes >= 3 * 512);
	u.nameless = (struct cell_nameless){.bytes = 10, .files = 1};
	assert_int_equal(disk_files(&u), 5);
	assert_int_equal(disk_bytes(&u), u.named.bytes + 10);
	assert_int_equal(disk_walk(dir.fd, "t", &two, &u, &e), 0);
	assert_true(u.named.files >= 2); /* it counts no further than necessary */
	u.named.bytes = UINT64_MAX;
	assert_int_equal(disk_bytes(&u), UINT64_MAX);
	scratch_remove(&dir);
}

static void some_inodes_stay(void **state)
{
	(void)state;
	assert_int_equal(disk_files_reserve(0, 1000), 0);
	assert_int_equal(disk_files_reserve(UINT64_C(1) << 30, UINT64_MAX), 65536);
	assert_int_equal(disk_files_reserve(UINT64_C(1) << 30, 1600), 100);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_does_not_flap),
    cmocka_unit_test(what_is_seen_is_what_there_is),
    cmocka_unit_test(seeds_are_not_counted),
    cmocka_unit_test(some_inodes_stay),
};

UNIT_MAIN(tests)
