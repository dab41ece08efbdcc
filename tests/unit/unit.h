/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

/* Every unit test includes this first: cmocka with TAP output, and a watchdog. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

/* `make SAN=1`: checks that this is really the sanitizer build. */
#if defined(SANITIZED) && !defined(__SANITIZE_ADDRESS__)
#if !defined(__clang__) || !__has_feature(address_sanitizer)
#error "SAN=1 is set, but the compiler got no -fsanitize=address"
#endif
#endif

/* A test that hangs fails: SIGALRM ends it, and prove reports it. */
enum { UNIT_WATCHDOG_S = 900 };

#define UNIT_MAIN(tests)                                          \
	int main(void)                                            \
	{                                                         \
		alarm(UNIT_WATCHDOG_S);                           \
		cmocka_set_message_output(CM_OUTPUT_TAP);         \
		return cmocka_run_group_tests(tests, NULL, NULL); \
	}

#endif
