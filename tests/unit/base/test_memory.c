/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/strv.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <sysexits.h>

static void nothing_is_allocated_too(void **state)
{
	_autofree_ void *one = xmalloc(0), *two = xcalloc(0, 8), *three = xreallocarray(NULL, 8, 0);

	(void)state;
	assert_true(one && two && three);
}

static void no_memory_ends_the_process(void **state)
{
	static const char want[] = "fuzzcell: out of memory\n";
	char output[sizeof(want) + 1] = "";
	int p[2], ws;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		out_of_memory();
	}
	close(p[1]);
	assert_int_equal(read(p[0], output, sizeof(output) - 1), sizeof(want) - 1);
	close(p[0]);
	assert_string_equal(output, want);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, W_EXITCODE(EX_SOFTWARE, 0));
}

static void a_list_ends_with_null(void **state)
{
	struct strv s = {0};
	char text[] = "one";

	(void)state;
	strv_push(&s, text);
	text[0] = 'x'; /* the list has a copy */
	strv_pushf(&s, "%s%d", "two", 2);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.v[0], "one");
	assert_string_equal(s.v[1], "two2");
	assert_null(s.v[2]);
	strv_done(&s);
	assert_null(s.v);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_is_allocated_too),
    cmocka_unit_test(no_memory_ends_the_process),
    cmocka_unit_test(a_list_ends_with_null),
};

UNIT_MAIN(tests)
