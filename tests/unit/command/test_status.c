/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/status.h" /* before cmocka's fail() */

#include "tests/unit/unit.h"

#include "base/cleanup.h"

static void says(const char *target, bool all, const char *want)
{
	_autobuf_ struct buf out = BUF_INIT(8192);
	_autojson_ json_t *o = NULL;
	struct err e;

	assert_int_equal(json_parse(slice_of(target), &o, &e), 0);
	assert_int_equal(status_health(o, all, &out, &e), 0);
	assert_string_equal(buf_str(&out), want);
}

static void test_health(void **state)
{
	static const char queued[] =
	    "{\"name\": \"q\", \"reason\": \"running\", \"fuzzed\": false}";
	static const char fine[] = "{\"name\": \"f\", \"reason\": \"running\", \"fuzzed\": true, "
				   "\"edges\": 4000}";
	static const char bad[] = "{\"name\": \"b\\u001b\", \"reason\": \"not-instrumented\"}";
	static const char slow[] = "{\"name\": \"s\", \"reason\": \"running\", \"fuzzed\": true, "
				   "\"cpu_seconds\": 9.5, \"execs_per_cpu_second\": 500}";

	(void)state;
	says(queued, false, "");
	says(queued, true, "q: nothing is known: it was not fuzzed yet\n");
	says(fine, false, "");
	says(fine, true, "f: healthy\n");
	says(bad, false,
	     "b\\x1b: error not-instrumented: the engine found no coverage instrumentation\n");
	says(slow, false, "");
	says(slow, true,
	     "s: note slow: 500 inputs a second of CPU time; good ones run 1000 and more\n"
	     "  -> let the harness do less for each input: no initialisation, files, sleeping or "
	     "logging in it, smaller inputs (max_len), -O1\n");
	says("{}", false, "");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_health)};

UNIT_MAIN(tests)
