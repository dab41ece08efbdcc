/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <errno.h>

static void test_put(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100000);
	struct err e;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_slice(&b).n, 0);
	assert_non_null(buf_slice(&b).p);
	buf_put(&b, (struct slice){NULL, 0});
	assert_string_equal(b.p, "");
	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%04d;", i);
	assert_int_equal(b.n, 50000);
	assert_memory_equal(b.p + 5 * 1234, "1234;", 5);
	assert_int_equal(b.p[b.n], '\0');
	buf_put(&b, SLICE("a\0b"));
	assert_true(slice_eq((struct slice){b.p + 50000, b.n - 50000}, SLICE("a\0b")));
	buf_clear(&b);
	assert_string_equal(buf_str(&b), "");
	buf_puts(&b, "again");
	assert_string_equal(buf_str(&b), "again");
	/* A buffer may add its own text. */
	buf_printf(&b, "%s", buf_str(&b));
	assert_string_equal(buf_str(&b), "againagain");
	assert_int_equal(buf_check(&b, &e), 0);
}

static void is_full(const struct buf *b, const char *text)
{
	struct err e;

	assert_int_equal(buf_check(b, &e), -EFBIG);
	assert_string_equal(e.msg, "more than 5 bytes");
	assert_string_equal(buf_str(b), text);
}

/* The first text that does not fit is the last one: no text has a hole. */
static void test_ceiling(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(5);
	_autobuf_ struct buf none = BUF_INIT(0);
	struct err e;

	(void)state;
	buf_puts(&b, "123");
	buf_puts(&b, "456");
	is_full(&b, "123");
	buf_printf(&b, "%d", 4);
	is_full(&b, "123");
	buf_clear(&b);
	buf_put(&b, (struct slice){"", SIZE_MAX});
	is_full(&b, "");
	buf_clear(&b);
	buf_puts(&b, "12345");
	assert_int_equal(buf_check(&b, &e), 0);
	assert_string_equal(b.p, "12345");
	buf_puts(&none, "");
	assert_int_equal(buf_check(&none, &e), 0);
	buf_puts(&none, "1");
	assert_int_equal(buf_check(&none, &e), -EFBIG);
}

static void test_done(void **state)
{
	struct buf b = BUF_INIT(5);
	struct err e;

	(void)state;
	buf_done(&b);
	buf_puts(&b, "1");
	buf_done(&b);
	assert_null(b.p);
	assert_int_equal(b.n, 0);
	buf_puts(&b, "123456"); /* the size limit still holds */
	assert_int_equal(buf_check(&b, &e), -EFBIG);
	buf_done(&b);
	buf_puts(&b, "12345");
	assert_int_equal(buf_check(&b, &e), 0);
	buf_done(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_put),
    cmocka_unit_test(test_ceiling),
    cmocka_unit_test(test_done),
};

UNIT_MAIN(tests)
