/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/status/health/strategies.h"

static const char *text_of(const char *json, bool all)
{
	static char out[STRATEGIES_TEXT];
	json_t *o = json_loads(json, 0, NULL);

	memset(out, '#', sizeof(out));
	strategies_text(o, all, out);
	json_decref(o);
	return out;
}

static const char tried[] = "{\"strategies\": {\"plain\": {\"cpu_seconds\": 240, \"edges\": 812}, "
			    "\"few-mutations\": {\"cpu_seconds\": 40.5, \"edges\": 12}, "
			    "\"value-profile\": {\"cpu_seconds\": 15, \"edges\": 0}}}";

static void which_found_what(void **state)
{
	(void)state;
	assert_string_equal(text_of(tried, true),
			    "plain 812 in 4m00s, few-mutations 12 in 40s, value-profile 0 in 15s");
	assert_string_equal(text_of(tried, false), "plain 812 in 4m00s, few-mutations 12 in 40s");
}

static void the_plain_one_alone_is_no_news(void **state)
{
	(void)state;
	assert_string_equal(
	    text_of("{\"strategies\": {\"plain\": {\"cpu_seconds\": 240, \"edges\": 812}}}", true),
	    "");
	assert_string_equal(text_of("{}", true), "");
	assert_string_equal(text_of("{\"strategies\": {}}", false), "");
}

/* The object is not trusted. */
static void whatever_stands_there(void **state)
{
	char json[8192] = "{\"strategies\": {\"\\u001b[1m\": 7";
	size_t n = strlen(json);

	(void)state;
	assert_string_equal(text_of("{\"strategies\": 7}", true), "");
	for (unsigned i = 0; i < 100; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n,
				      ", \"a long name of a strategy %u\": {\"edges\": -1}", i);
	snprintf(json + n, sizeof(json) - n, "}}");
	assert_in_range(strlen(text_of(json, true)), STRATEGIES_TEXT / 2, STRATEGIES_TEXT - 1);
	assert_null(strchr(text_of(json, true), '\x1b'));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(which_found_what),
    cmocka_unit_test(the_plain_one_alone_is_no_news),
    cmocka_unit_test(whatever_stands_there),
};

UNIT_MAIN(tests)
