/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "base/sys.h"
#include "tests/unit/config/parsed.h"

#include <errno.h>
#include <fcntl.h>

#define SEC UINT64_C(1000000)

static void test_override(void **state)
{
	_config_ struct config *c = parsed("{\"run\": {\"workers\": 8},\n"
					   "\"targets\": {\"a\": {\"max_time\": \"2h\"}}}");
	struct target_config t;
	struct err e;

	(void)state;
	assert_int_equal(config_override(c, "run.workers", "3", &e), 0);
	assert_int_equal(config_override(c, "run.total_time", "2m", &e), 0);
	assert_int_equal(config_override(c, "defaults.max_time", "99s", &e), 0);
	assert_int_equal(config_override(c, "defaults.max_time", "30s", &e), 0);
	assert_int_equal(config_override(c, "defaults.enabled", "false", &e), 0);
	assert_int_equal(config_override(c, "defaults.cpus", "0.5", &e), 0);
	assert_int_equal(config_override(c, "defaults.plateau.rule", "none", &e), 0);
	assert_int_equal(config_override(c, "state_dir", "/s", &e), 0);
	assert_int_equal(config_run(c)->workers, 3);
	assert_int_equal(config_run(c)->total_time_us, 120 * SEC);
	assert_string_equal(config_state_dir(c), "/s");
	t = resolved(c, "a");
	assert_int_equal(t.max_time_us, 30 * SEC);
	assert_false(t.enabled);
	assert_int_equal(t.cpu_milli, 500);
	assert_int_equal(t.plateau.rule, PLATEAU_NONE);
	target_config_done(&t);
	assert_string_equal(from_of(c, "a", "run.workers"), "command line");
	assert_string_equal(from_of(c, "a", "max_time"), "command line");
	assert_string_equal(from_of(c, "a", "run.log_limit"), "built-in");
	assert_int_equal(config_override(c, "defaults.rss_limit", "8GiB", &e), 0);
	assert_int_equal(config_resolve(c, CONFIG_TARGET("a"), &t, &e), -EINVAL);
	assert_string_equal(e.msg,
			    "command line: defaults.rss_limit: 8GiB contradicts memory 2GiB "
			    "(built-in): rss_limit may be 7/8 of memory at most, here 1792MiB");
}

static void test_bad_override(void **state)
{
	static const struct {
		const char *key, *text, *want;
	} t[] = {
	    {"run.workers", "x", "run.workers: \"x\" is not a whole number or \"auto\""},
	    {"run.workers", "", "run.workers: \"\" is not a whole number or \"auto\""},
	    {"run.workers", "-1", "run.workers: -1 is below the least allowed, 1"},
	    {"run.workers", "1e3", "run.workers: \"1e3\" is not a whole number or \"auto\""},
	    {"defaults.max_time", "5 apples",
	     "defaults.max_time: \"5 apples\" is not a time (use seconds, or a number with ms, s, "
	     "m, "
	     "h, d)"},
	    {"defaults.enabled", "yes", "defaults.enabled: \"yes\" is not true or false"},
	    {"defaults.flags", "-a=1", "defaults.flags: only a file can set it"},
	    {"defaults.plateau", "none", "defaults.plateau: only a file can set it"},
	    {"defaults.memory_high", "1GiB",
	     "defaults.memory_high: it follows from memory and cannot be set"},
	    {"defaults.memry", "1GiB", "defaults.memry: unknown key"},
	    {"discovery", "x", "discovery: only a file can set it"},
	    {"state_dir", "\xff", "state_dir: the value is not UTF-8 text"},
	    {"cgroup", "fuzz", "cgroup: \"fuzz\" is a relative path: it must begin with /"},
	    {"", "1", "\"\": unknown key"},
	};
	_config_ struct config *c = parsed("{}");
	char want[300];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(config_override(c, t[i].key, t[i].text, &e), -EINVAL);
		snprintf(want, sizeof(want), "command line: %s", t[i].want);
		assert_string_equal(e.msg, want);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_override),
    cmocka_unit_test(test_bad_override),
};

UNIT_MAIN(tests)
