/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/corpus/measure/bits.h"

static void add(struct bits *b, uint32_t n, int want)
{
	assert_int_equal(bits_add(b, n), want);
}

static void test_members(void **state)
{
	static const uint32_t some[] = {0, 1, 63, 64, 65, 4095, 4096, 1 << 20, (1 << 27) - 1};
	_autobits_ struct bits b = {0};

	(void)state;
	assert_false(bits_has(&b, 0));
	assert_int_equal(bits_remove(&b, 0), 0);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		assert_false(bits_has(&b, some[i]));
		add(&b, some[i], 1);
		add(&b, some[i], 0);
		assert_true(bits_has(&b, some[i]));
		assert_int_equal(b.count, i + 1);
	}
	assert_false(bits_has(&b, 2));
	assert_false(bits_has(&b, UINT32_MAX));
	assert_int_equal(bits_remove(&b, 64), 1);
	assert_int_equal(bits_remove(&b, 64), 0);
	assert_false(bits_has(&b, 64));
	assert_true(bits_has(&b, 63) && bits_has(&b, 65));
	assert_int_equal(b.count, 8);
	bits_done(&b);
	assert_false(bits_has(&b, 1));
}

/* Sets of different lengths, both ways. */
static void test_sets(void **state)
{
	_autobits_ struct bits a = {0};
	_autobits_ struct bits b = {0};
	_autobits_ struct bits none = {0};

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		add(&a, i * 3, 1);
	for (uint32_t i = 0; i < 10000; i++)
		add(&b, i * 5, 1);
	assert_int_equal(bits_missing(&a, &b), 80); /* no multiple of 15 */
	assert_int_equal(bits_missing(&b, &a), 10000 - 20);
	assert_int_equal(bits_missing(&a, &none), 100);
	assert_int_equal(bits_missing(&none, &a), 0);
	bits_add_all(&a, &b);
	assert_int_equal(a.count, 80 + 10000);
	assert_int_equal(bits_missing(&b, &a), 0);
	bits_add_all(&a, &none);
	assert_int_equal(a.count, 10080);
	bits_remove_all(&a, &b);
	assert_int_equal(a.count, 80);
	assert_true(bits_has(&a, 3) && !bits_has(&a, 15) && !bits_has(&a, 5));
	bits_remove_all(&b, &a);
	assert_int_equal(b.count, 10000);
	bits_remove_all(&none, &a);
	assert_int_equal(none.count, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_members),
    cmocka_unit_test(test_sets),
};

UNIT_MAIN(tests)
