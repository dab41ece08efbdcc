/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "cgroups/stat.h"

#include <inttypes.h>

enum { UNTOUCHED = 4711 };

static void test_number(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t want;
	} t[] = {
	    {"0\n", true, 0},
	    {"67108864\n", true, 67108864},
	    {"7", true, 7},
	    {"max\n", true, UINT64_MAX},
	    {"18446744073709551615\n", true, UINT64_MAX},
	    {"18446744073709551616\n", false, 0},
	    {"", false, 0},
	    {"\n", false, 0},
	    {"-1\n", false, 0},
	    {"1 2\n", false, 0},
	    {"1\n2\n", false, 0},
	    {"maximum\n", false, 0},
	    {" 1\n", false, 0},
	    {"0x10\n", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = UNTOUCHED;
		bool ok = cg_stat_number(slice_of(t[i].text), &v);

		if (ok != t[i].ok || v != (ok ? t[i].want : UNTOUCHED))
			fail_msg("'%s': %d %" PRIu64, t[i].text, ok, v);
	}
}

static void test_keyed(void **state)
{
	static const char cpu[] = "usage_usec 12\nuser_usec 8\nsystem_usec 4\nnice_usec 0\n";
	static const char v1[] = "oom_kill_disable 1\nunder_oom 0\noom_kill 3\n";
	static const char v2[] = "low 0\nhigh 9\nmax 2\noom 1\noom_kill 5\noom_group_kill 1\n";
	static const struct {
		const char *text, *key;
		bool ok;
		uint64_t want;
	} t[] = {
	    {cpu, "usage_usec", true, 12},
	    {cpu, "system_usec", true, 4},
	    {cpu, "throttled_usec", false, 0},
	    {cpu, "usec", false, 0},
	    {v1, "oom_kill", true, 3},
	    {v1, "oom_kill_disable", true, 1},
	    {v1, "under_oom", true, 0},
	    {v2, "oom_kill", true, 5},
	    {v2, "oom", true, 1},
	    {v2, "high", true, 9},
	    {"populated 1\nfrozen 0\n", "frozen", true, 0},
	    {"populated 1\nfrozen", "frozen", false, 0},
	    {"populated 1", "populated", true, 1},
	    {"populated  1\n", "populated", false, 0},
	    {"populated one\n", "populated", false, 0},
	    {"populated 1 2\n", "populated", false, 0},
	    {"populated 99999999999999999999\n", "populated", false, 0},
	    {"not populated 1\n", "populated", false, 0},
	    {"", "populated", false, 0},
	    {"\n\n\nmax 8\n", "max", true, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = UNTOUCHED;
		bool ok = cg_stat_keyed(slice_of(t[i].text), slice_of(t[i].key), &v);

		if (ok != t[i].ok || v != (ok ? t[i].want : UNTOUCHED))
			fail_msg("'%s' of '%s': %d %" PRIu64, t[i].key, t[i].text, ok, v);
	}
	assert_false(cg_stat_keyed((struct slice){NULL, 0}, SLICE("x"), &(uint64_t){0}));
}

#define AVG "avg10=1.50 avg60=0.03 avg300=0.00 "

static void test_pressure(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		struct cgroup_stall want;
	} t[] = {
	    {"some " AVG "total=123\nfull " AVG "total=45\n", true, {123, 45}},
	    {"some " AVG "total=123\n", true, {123, 0}}, /* cpu.pressure before 5.13 */
	    {"some total=18446744073709551615", true, {UINT64_MAX, 0}},
	    {"full " AVG "total=45\n", false, {0, 0}},
	    {"some " AVG "total=123\nfull " AVG "\n", false, {0, 0}},
	    {"some " AVG "total=-1\n", false, {0, 0}},
	    {"some " AVG "total=1x\n", false, {0, 0}},
	    {"some " AVG "total=99999999999999999999\n", false, {0, 0}},
	    {"some" AVG "subtotal=1\n", false, {0, 0}},
	    {"something\n", false, {0, 0}},
	    {"some " AVG "total=123\nmore " AVG "total=45\n", false, {0, 0}},
	    {"", false, {0, 0}},
	    {"\n", false, {0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cgroup_stall s = {UNTOUCHED, UNTOUCHED};
		bool ok = cg_stat_pressure(slice_of(t[i].text), &s);

		if (ok != t[i].ok || s.some_us != (ok ? t[i].want.some_us : UNTOUCHED) ||
		    s.full_us != (ok ? t[i].want.full_us : UNTOUCHED))
			fail_msg("'%s': %d %" PRIu64 " %" PRIu64, t[i].text, ok, s.some_us,
				 s.full_us);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_number),
    cmocka_unit_test(test_keyed),
    cmocka_unit_test(test_pressure),
};

UNIT_MAIN(tests)
