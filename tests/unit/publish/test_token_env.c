/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/publish/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME "FUZZCELL_TEST_TOKEN"

/* The initial environment: two variables of one name, and others around them. */
static char first[] = NAME "=ghp_first", second[] = NAME "=ghp_second";
static char longer[] = NAME "_2=stays", shorter[] = "FUZZCELL_TEST=stays";
static char *made[] = {shorter, first, longer, second, NULL};

static void it_is_moved_out_of_the_environment(void **state)
{
	static char *entries[5];
	char **before = environ;
	struct err e;

	(void)state;
	memcpy(entries, made, sizeof(made));
	environ = entries;
	assert_null(token_env_value(NAME));
	assert_int_equal(token_env_take(NAME, &e), 0);
	assert_null(getenv(NAME));
	assert_string_equal(getenv(NAME "_2"), "stays");
	assert_string_equal(getenv("FUZZCELL_TEST"), "stays");
	environ = before;
	/* No byte of either token is left in its old place. */
	for (size_t i = strlen(NAME) + 1; i < sizeof(first); i++)
		assert_int_equal(first[i], 0);
	for (size_t i = strlen(NAME) + 1; i < sizeof(second); i++)
		assert_int_equal(second[i], 0);
	assert_string_equal(token_env_value(NAME), "ghp_first");
	assert_null(token_env_value(NAME "_2"));
	/* Without a new variable the kept token stays. */
	assert_int_equal(token_env_take(NAME, &e), 0);
	assert_string_equal(token_env_value(NAME), "ghp_first");
}

static void a_newer_one_replaces_it(void **state)
{
	struct err e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "ghp_%d", i);
		assert_int_equal(setenv(NAME, text, 1), 0);
		assert_int_equal(setenv(NAME "_B", "other", 1), 0);
		assert_int_equal(token_env_take(NAME, &e), 0);
		assert_int_equal(token_env_take(NAME "_B", &e), 0);
		assert_string_equal(token_env_value(NAME), text);
		assert_string_equal(token_env_value(NAME "_B"), "other");
	}
}

static void too_long_is_gone_all_the_same(void **state)
{
	static char text[TOKEN_ENV_MAX + 1];
	struct err e;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(setenv(NAME "_L", text, 1), 0);
	assert_int_equal(token_env_take(NAME "_L", &e), -EINVAL);
	assert_string_equal(e.msg, "more than a token in " NAME "_L");
	assert_null(getenv(NAME "_L"));
	assert_null(token_env_value(NAME "_L"));
	text[TOKEN_ENV_MAX - strlen(NAME "_L=")] = '\0';
	assert_int_equal(setenv(NAME "_L", text, 1), 0);
	assert_int_equal(token_env_take(NAME "_L", &e), 0);
	assert_string_equal(token_env_value(NAME "_L"), text);
}

/* The VmFlags of the mapping that contains p. */
static void flags_of(const void *p, char *out, size_t n)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool in = false;

	assert_non_null(f);
	out[0] = '\0';
	while (!out[0] && fgets(line, sizeof(line), f)) {
		char *end;
		unsigned long long from = strtoull(line, &end, 16);

		if (*end == '-') /* "VmFlags:" begins with no digit */
			in = (uintptr_t)p >= from && (uintptr_t)p < strtoull(end + 1, NULL, 16);
		else if (in && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(out, n, "%s", line);
	}
	(void)fclose(f);
}

static void no_core_file_has_it(void **state)
{
	char flags[512];
	struct err e;

	(void)state;
	assert_int_equal(setenv(NAME, "ghp_x", 1), 0);
	assert_int_equal(token_env_take(NAME, &e), 0);
	flags_of(token_env_value(NAME), flags, sizeof(flags));
	assert_non_null(strstr(flags, " dd")); /* proc(5): do not include area into core dump */
	flags_of(state, flags, sizeof(flags));
	assert_null(strstr(flags, " dd"));
}

static void a_program_of_ours_gets_it_by_a_pipe(void **state)
{
	struct err e;
	int fd, other;

	(void)state;
	assert_int_equal(token_env_pipe(NAME "_NONE", &fd, &e), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(setenv(NAME, "ghp_one", 1), 0);
	assert_int_equal(token_env_take(NAME, &e), 0);
	assert_int_equal(token_env_pipe(NAME, &fd, &e), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(setenv(NAME, "ghp_two", 1), 0);
	assert_int_equal(token_env_take(NAME, &e), 0);
	assert_int_equal(token_env_pipe(NAME, &other, &e), 0);
	assert_int_equal(token_env_read(fd, &e), 0);
	assert_string_equal(token_env_value(NAME), "ghp_one");
	assert_int_equal(token_env_read(other, &e), 0);
	assert_string_equal(token_env_value(NAME), "ghp_two");
	/* The pipe was read: it is empty. */
	assert_int_equal(token_env_read(fd, &e), -EINVAL);
	(void)close(fd);
	(void)close(other);
}

static void what_is_handed_on_may_be_anything(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} t[] = {{"", 0}, {"ghp_x", 5}, {"\0ghp_x", 6}};
	static char large[TOKEN_ENV_MAX + 1];
	struct err e;
	int p[2];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(pipe(p), 0);
		assert_int_equal(write(p[1], t[i].p, t[i].n), t[i].n);
		(void)close(p[1]);
		assert_int_equal(token_env_read(p[0], &e), -EINVAL);
		(void)close(p[0]);
	}
	memset(large, 'x', sizeof(large));
	large[1] = '\0';
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], large, sizeof(large)), sizeof(large));
	(void)close(p[1]);
	assert_int_equal(token_env_read(p[0], &e), -EINVAL);
	(void)close(p[0]);
	assert_int_equal(token_env_read(-1, &e), -EBADF);
}

static void every_call_may_fail(void **state)
{
	(void)state;
	for (unsigned at = 1; at < 20; at++) {
		struct err e = {0};
		int r, fd = -1;

		assert_int_equal(setenv(NAME, "ghp_x", 1), 0);
		assert_int_equal(token_env_take(NAME, &e), 0);
		fault_arm(at, FAULT_FAIL);
		r = token_env_pipe(NAME, &fd, &e);
		if (r == 0)
			r = token_env_read(fd, &e);
		fault_arm(0, FAULT_FAIL);
		if (fd >= 0)
			(void)close(fd);
		assert_string_equal(token_env_value(NAME), "ghp_x");
		if (r == 0) {
			assert_true(at > 3); /* pipe, write, two reads */
			return;
		}
		assert_true(e.msg[0] && !strstr(e.msg, "ghp_"));
	}
	fail();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_moved_out_of_the_environment),
    cmocka_unit_test(a_newer_one_replaces_it),
    cmocka_unit_test(too_long_is_gone_all_the_same),
    cmocka_unit_test(no_core_file_has_it),
    cmocka_unit_test(a_program_of_ours_gets_it_by_a_pipe),
    cmocka_unit_test(what_is_handed_on_may_be_anything),
    cmocka_unit_test(every_call_may_fail),
};

UNIT_MAIN(tests)
