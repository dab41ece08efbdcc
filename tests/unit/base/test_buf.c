/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <errno.h>

static void test_add(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100000);
	struct err e;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_slice(&b).n, 0);
	assert_non_null(buf_slice(&b).p);
	assert_int_equal(buf_add(&b, (struct slice){NULL, 0}, &e), 0);
	assert_string_equal(b.p, "");
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_addf(&b, &e, "%04d;", i), 0);
	assert_int_equal(b.n, 50000);
	assert_memory_equal(b.p + 5 * 1234, "1234;", 5);
	assert_int_equal(b.p[b.n], '\0');
	assert_int_equal(buf_add(&b, SLICE("a\0b"), &e), 0);
	assert_true(slice_eq((struct slice){b.p + 50000, b.n - 50000}, SLICE("a\0b")));
	buf_clear(&b);
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_addf(&b, &e, "%s", "again"), 0);
	assert_string_equal(buf_str(&b), "again");
	/* A buffer may add its own text. */
	assert_int_equal(buf_addf(&b, &e, "%s", buf_str(&b)), 0);
	assert_string_equal(buf_str(&b), "againagain");
}

static void test_ceiling(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(5);
	_autobuf_ struct buf none = BUF_INIT(0);
	struct err e;

	(void)state;
	assert_int_equal(buf_add(&b, SLICE("123"), &e), 0);
	assert_int_equal(buf_add(&b, SLICE("456"), &e), -EFBIG);
	assert_string_equal(e.msg, "more than 5 bytes");
	assert_string_equal(b.p, "123");
	assert_int_equal(buf_addf(&b, &e, "%d", 456), -EFBIG);
	assert_string_equal(b.p, "123");
	assert_int_equal(buf_add(&b, (struct slice){"", SIZE_MAX}, &e), -EFBIG);
	assert_int_equal(buf_add(&b, SLICE("45"), &e), 0);
	assert_string_equal(b.p, "12345");
	assert_int_equal(buf_add(&none, SLICE(""), &e), 0);
	assert_int_equal(buf_add(&none, SLICE("1"), &e), -EFBIG);
}

static void test_done(void **state)
{
	struct buf b = BUF_INIT(5);
	struct err e;

	(void)state;
	buf_done(&b);
	assert_int_equal(buf_add(&b, SLICE("1"), &e), 0);
	buf_done(&b);
	assert_null(b.p);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_add(&b, SLICE("123456"), &e), -EFBIG); /* the size limit still holds */
	assert_int_equal(buf_add(&b, SLICE("12345"), &e), 0);
	buf_done(&b);
}

static void test_no_memory(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100000);
	char big[1000];
	struct err e;

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(buf_add(&b, SLICE("kept"), &e), 0);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(buf_add(&b, (struct slice){big, sizeof(big)}, &e), -ENOMEM);
	fault_arm(0, FAULT_FAIL);
	assert_string_equal(b.p, "kept");
	assert_int_equal(buf_add(&b, (struct slice){big, sizeof(big)}, &e), 0);
	assert_int_equal(b.n, 4 + sizeof(big));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_add),
    cmocka_unit_test(test_ceiling),
    cmocka_unit_test(test_done),
    cmocka_unit_test(test_no_memory),
};

UNIT_MAIN(tests)
