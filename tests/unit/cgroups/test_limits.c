/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "cgroups/limits.h"

#include <errno.h>
#include <stdio.h>

enum { ALL = (1 << CG_CONTROLLER_COUNT) - 1 };

static const struct cgroup_limits none = {0};
static const struct cgroup_limits full = {
    .memory_max = 64 << 20,
    .memory_high = 52 << 20,
    .cpu_milli = 1500,
    .cpu_weight = 250,
    .pids_max = 64,
};

static const struct cgroup_limits one = {.memory_max = 64 << 20, .kills_one = true};

/* "file=value file?=value": a file with ? may be missing. */
static void check(const struct cg_setting *s, unsigned n, const char *want)
{
	char got[1000] = "";
	size_t at = 0;

	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%s%s=%s", i ? "|" : "",
				       s[i].file, s[i].may_lack ? "?" : "", s[i].value);
	assert_string_equal(got, want);
}

static void test_settings(void **state)
{
	static const struct {
		const struct cgroup_limits *lim;
		unsigned on_v1;
		bool swap;
		const char *want;
	} t[] = {
	    {&full, 0, true,
	     "memory.max=67108864|memory.high=54525952|memory.swap.max=0|memory.oom.group=1|"
	     "cpu.max=150000 100000|cpu.weight=250|pids.max=64"},
	    {&none, 0, false,
	     "memory.max=max|memory.high=max|memory.swap.max?=max|memory.oom.group=1|"
	     "cpu.max=max 100000|cpu.weight=100|pids.max=max"},
	    {&one, 0, true,
	     "memory.max=67108864|memory.high=max|memory.swap.max=0|memory.oom.group=0|"
	     "cpu.max=max 100000|cpu.weight=100|pids.max=max"},
	    {&full, ALL, true,
	     "memory.limit_in_bytes=54525952|memory.memsw.limit_in_bytes=54525952|"
	     "memory.oom_control=1|cpu.cfs_period_us=100000|cpu.cfs_quota_us=150000|"
	     "cpu.shares=2560|pids.max=64"},
	    {&none, ALL, false,
	     "memory.limit_in_bytes=-1|memory.memsw.limit_in_bytes?=-1|memory.oom_control=0|"
	     "cpu.cfs_period_us=100000|cpu.cfs_quota_us=-1|cpu.shares=1024|pids.max=max"},
	    {&full, 1U << CG_MEMORY, false,
	     "memory.limit_in_bytes=54525952|memory.memsw.limit_in_bytes?=54525952|"
	     "memory.oom_control=1|cpu.max=150000 100000|cpu.weight=250|pids.max=64"},
	};
	struct cgroup_limits edge = {.cpu_milli = UINT32_MAX, .pids_max = UINT32_MAX};
	struct cg_setting s[CG_SETTINGS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		check(s, cg_limits_settings(t[i].lim, t[i].on_v1, t[i].swap, s), t[i].want);
	edge.cpu_weight = 1;
	(void)cg_limits_settings(&edge, ALL, true, s);
	assert_string_equal(s[4].value, "429496729500");
	assert_string_equal(s[5].value, "10");
	edge.cpu_weight = 10000;
	(void)cg_limits_settings(&edge, ALL, true, s);
	assert_string_equal(s[5].value, "102400");
	check(s, cg_limits_open(&full, 0, s), "memory.high=max");
	check(s, cg_limits_open(&full, 1u << CG_MEMORY, s),
	      "memory.memsw.limit_in_bytes?=67108864|memory.limit_in_bytes=67108864|"
	      "memory.oom_control=0");
}

static void test_check(void **state)
{
	static const struct {
		struct cgroup_limits lim;
		const char *message; /* NULL: accepted */
	} t[] = {
	    {{0}, NULL},
	    {{.memory_max = 2, .memory_high = 1, .cpu_milli = 10, .cpu_weight = 10000}, NULL},
	    {{.memory_max = 1, .memory_high = 1}, "mark of 1 bytes is not below"},
	    {{.memory_high = 1}, "mark of 1 bytes is not below"},
	    {{.memory_max = UINT64_MAX}, "has no effect"},
	    {{.cpu_milli = 9}, "CPU limit of 9 milli"},
	    {{.cpu_weight = 10001}, "weight of 10001"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct err e = {.msg = ""};

		assert_int_equal(cg_limits_check(&t[i].lim, &e), t[i].message ? -EINVAL : 0);
		if (t[i].message && !strstr(e.msg, t[i].message))
			fail_msg("%zu: %s", i, e.msg);
	}
}

static void test_same(void **state)
{
	static const struct {
		enum cg_value_kind kind;
		const char *want, *got;
		bool same;
	} t[] = {
	    {CG_TEXT, "150000 100000", "150000 100000\n", true},
	    {CG_TEXT, "150000 100000", "150000 10000\n", false},
	    {CG_TEXT, "64", "64", true},
	    {CG_TEXT, "64", "640\n", false},
	    {CG_TEXT, "64", "", false},
	    {CG_BYTES, "67108864", "67108864\n", true},
	    {CG_BYTES, "67108865", "67108864\n", true},
	    {CG_BYTES, "67108864", "67104768\n", false},
	    {CG_BYTES, "67108864", "max\n", false},
	    {CG_BYTES, "67108864", "9223372036854771712\n", false},
	    {CG_BYTES, "67108864", "bogus\n", false},
	    {CG_BYTES, "max", "max\n", true},
	    {CG_BYTES, "max", "67108864\n", false},
	    {CG_BYTES, "-1", "9223372036854771712\n", true},
	    {CG_BYTES, "0", "0\n", true},
	    {CG_SWITCH, "1", "oom_kill_disable 1\nunder_oom 0\n", true},
	    {CG_SWITCH, "1", "oom_kill_disable 0\nunder_oom 1\n", false},
	    {CG_SWITCH, "0", "oom_kill_disable 0\n", true},
	    {CG_SWITCH, "0", "0\n", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cg_setting s = {.kind = t[i].kind};

		memcpy(s.value, t[i].want, strlen(t[i].want) + 1);
		if (cg_limits_same(&s, slice_of(t[i].got), 4096) != t[i].same)
			fail_msg("%zu: '%s' and '%s'", i, t[i].want, t[i].got);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_settings),
    cmocka_unit_test(test_check),
    cmocka_unit_test(test_same),
};

UNIT_MAIN(tests)
