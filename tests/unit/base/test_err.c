/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/err.h"

#include <errno.h>

static void test_set(void **state)
{
	struct err e;

	(void)state;
	memset(&e, 'x', sizeof(e)); /* not initialised before its first use */
	assert_int_equal(err_set(&e, ENOENT, "job '%s'", "png"), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.msg, "job 'png'");
}

static void test_sys(void **state)
{
	static const struct {
		int errnum, code;
		const char *msg;
	} t[] = {
	    {ENOENT, ENOENT, "open 'x': No such file or directory"},
	    {524, 524, "open 'x': error 524"}, /* ENOTSUPP: known to the kernel only */
	    {0, EIO, "open 'x': Input/output error"},
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		errno = t[i].errnum;
		assert_int_equal(err_sys(&e, "open '%s'", "x"), -t[i].code);
		assert_int_equal(e.code, t[i].code);
		assert_string_equal(e.msg, t[i].msg);
	}
}

static void test_wrap(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, EIO, "inner");
	assert_int_equal(err_wrap(&e, "load %d", 7), -EIO);
	assert_int_equal(err_wrap(&e, "start"), -EIO);
	assert_string_equal(e.msg, "start: load 7: inner");
}

/* With any lengths the text fits into the buffer, and the outer context stays. */
static void test_long(void **state)
{
	char text[2 * sizeof(((struct err *)NULL)->msg)];

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		struct {
			struct err e;
			char after;
		} s = {.after = 'z'};
		size_t room = sizeof(s.e.msg) - 1;

		memset(text, 'a', n);
		text[n] = '\0';
		err_set(&s.e, EIO, "inner");
		err_wrap(&s.e, "%s", text);
		assert_memory_equal(s.e.msg, text, n < room ? n : room);
		assert_true(strlen(s.e.msg) <= room);
		if (n + strlen(": inner") <= room)
			assert_string_equal(s.e.msg + n, ": inner");
		errno = ENOENT;
		err_sys(&s.e, "%s", text);
		assert_true(strlen(s.e.msg) <= room);
		err_set(&s.e, EIO, "%s", text);
		err_wrap(&s.e, "outer");
		assert_memory_equal(s.e.msg, "outer: ", 7);
		assert_true(strlen(s.e.msg) <= room);
		assert_int_equal(s.after, 'z');
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_set),
    cmocka_unit_test(test_sys),
    cmocka_unit_test(test_wrap),
    cmocka_unit_test(test_long),
};

UNIT_MAIN(tests)
