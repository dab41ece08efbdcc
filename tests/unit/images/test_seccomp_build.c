/* SPDX-License-Identifier: Apache-2.0 */
/* The list of calls for builds beside that for engines. tests/e2e/build_cell.bats makes the
 * calls. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "images/seccomp.h"

#include <linux/fs.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>

struct line {
	const char *call, *reason;
	bool conditional, refused;
};

#define ALLOW(call, why)				{#call, why, false, false},
#define ANSWER(call, error, why)			{#call, why, false, false},
#define WHEN_EQ(call, arg, value, why)			{#call, why, true, false},
#define WHEN_MASK(call, arg, mask, value, why)		{#call, why, true, false},
#define WHEN_BOTH(call, arg, value, arg2, value2, why)	{#call, why, true, false},
#define ANSWER_EQ(call, arg, value, error, why)		{#call, why, true, false},
#define ANSWER_NOT(call, arg, value, error, why)	{#call, why, true, false},
#define ANSWER_MASK(call, arg, mask, value, error, why) {#call, why, true, false},
#define NETWORK(call, arg, value, why)			{#call, why, true, false},
#define DROP(call, why)					{#call, why, false, true},
static const struct line engines[] = {
#include "images/syscalls.inc"
};
static const struct line builds[] = {
#include "images/syscalls_build.inc"
};

enum {
	ENGINES = sizeof(engines) / sizeof(engines[0]),
	BUILDS = sizeof(builds) / sizeof(builds[0]),
};

static bool engines_have(const char *call)
{
	for (size_t i = 0; i < ENGINES; i++)
		if (strcmp(engines[i].call, call) == 0)
			return true;
	return false;
}

static bool is_refused(const char *call)
{
	for (size_t i = 0; i < BUILDS; i++)
		if (builds[i].refused && strcmp(builds[i].call, call) == 0)
			return true;
	return false;
}

static void every_line_has_a_reason_and_a_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < BUILDS; i++) {
		if (strlen(builds[i].reason) < 4)
			fail_msg("%s: no reason", builds[i].call);
		if (seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, builds[i].call) < 0)
			fail_msg("%s: no such call", builds[i].call);
	}
}

/* A refused call is one of the engines'.  An added call is none of them, except in place of a
 * refused one, or for other arguments. */
static void builds_differ_where_it_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < BUILDS; i++) {
		const struct line *l = &builds[i];

		if (l->refused && !engines_have(l->call))
			fail_msg("%s: no engine has it", l->call);
		if (!l->refused && !l->conditional && engines_have(l->call) && !is_refused(l->call))
			fail_msg("%s: engines have it", l->call);
		for (size_t k = 0; k < i; k++)
			if (!l->conditional && l->refused == builds[k].refused &&
			    strcmp(builds[k].call, l->call) == 0)
				fail_msg("%s: twice", l->call);
	}
}

static void each_profile_is_another_program(void **state)
{
	static const enum cell_profile all[] = {CELL_ENGINE, CELL_BUILD, CELL_BUILD_NETWORK};
	uint8_t *program[3];
	struct err e;
	size_t n[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		if (seccomp_compile(all[i], &program[i], &n[i], &e) < 0)
			fail_msg("%s", e.msg);
		for (size_t k = 0; k < i; k++)
			assert_false(n[i] == n[k] && memcmp(program[i], program[k], n[i]) == 0);
	}
	for (size_t i = 0; i < 3; i++)
		free(program[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_line_has_a_reason_and_a_call),
    cmocka_unit_test(builds_differ_where_it_is_said),
    cmocka_unit_test(each_profile_is_another_program),
};

UNIT_MAIN(tests)
