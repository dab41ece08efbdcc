/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/engine/afl/afl.h"
#include "runner/engine/honggfuzz/honggfuzz.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

static void grows(void **state)
{
	struct strv s = {0};

	(void)state;
	strv_push(&s, "one");
	strv_pushf(&s, "-n=%d", 2);
	strv_push(&s, "");
	assert_int_equal(s.n, 3);
	assert_string_equal(s.v[0], "one");
	assert_string_equal(s.v[1], "-n=2");
	assert_string_equal(s.v[2], "");
	assert_null(s.v[3]);
	strv_done(&s);
	assert_int_equal(s.n, 0);
	assert_null(s.v);
	strv_done(&s);
}

static void finds_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(engine_find("libfuzzer"), &engine_libfuzzer);
	assert_ptr_equal(engine_find("afl"), &engine_afl);
	assert_ptr_equal(engine_find("honggfuzz"), &engine_honggfuzz);
	assert_null(engine_find("libfuzzer "));
	assert_null(engine_find(""));
}

static void names_every_fault(void **state)
{
	static const char *const want[] = {"none", "crash", "timeout", "oom", "leak", "engine"};

	(void)state;
	assert_int_equal(sizeof(want) / sizeof(want[0]), ENGINE_FAULT_COUNT);
	for (unsigned i = 0; i < ENGINE_FAULT_COUNT; i++)
		assert_string_equal(engine_fault_name((enum engine_fault)i), want[i]);
	assert_string_equal(engine_fault_name((enum engine_fault)99), "?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(grows),
    cmocka_unit_test(finds_by_name),
    cmocka_unit_test(names_every_fault),
};

UNIT_MAIN(tests)
