/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/schedule/disk.h"
#include "tests/unit/scratch.h"

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
	assert_false(disk_is_low(true, 0, 0)); /* nothing is kept free */
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
	d.reserve = 0;
	assert_int_equal(disk_look(&d, 100000000), DISK_WALK);
	assert_false(d.low);
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_does_not_flap),
    cmocka_unit_test(what_is_seen_is_what_there_is),
};

UNIT_MAIN(tests)
