/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

/* What every unit test includes first: cmocka with TAP output, and a watchdog. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

/* A test that hangs is a test that fails: SIGALRM ends it and prove says so. */
enum { UNIT_WATCHDOG_S = 900 };

#define UNIT_MAIN(tests)                                          \
	int main(void)                                            \
	{                                                         \
		alarm(UNIT_WATCHDOG_S);                           \
		cmocka_set_message_output(CM_OUTPUT_TAP);         \
		return cmocka_run_group_tests(tests, NULL, NULL); \
	}

#endif
