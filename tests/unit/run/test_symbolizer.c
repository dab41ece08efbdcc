/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a symbolizer for a machine's cells. */
#include "tests/unit/unit.h"

#include "runner/run/triage/triage.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>

static struct scratch dir = SCRATCH_INIT;

static void program(const char *name)
{
	int fd = openat(dir.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	close(fd);
}

static void expect(const char *want)
{
	char *found = symbolizer_find(dir.path);

	if (want)
		assert_string_equal(found, want);
	else
		assert_null(found);
	free(found);
}

static void the_newest_is_found(void **state)
{
	static const char *const dirs[] = {"usr", "usr/bin", "usr/lib", "usr/lib/llvm-14",
					   "usr/lib/llvm-14/bin"};

	(void)state;
	scratch_make(&dir);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_int_equal(mkdirat(dir.fd, dirs[i], 0755), 0);
	expect(NULL);
	program("usr/bin/addr2line");
	expect("/usr/bin/addr2line");
	program("usr/lib/llvm-14/bin/llvm-symbolizer");
	assert_int_equal(
	    symlinkat("../lib/llvm-14/bin/llvm-symbolizer", dir.fd, "usr/bin/llvm-symbolizer"), 0);
	expect("/usr/bin/llvm-symbolizer");
	program("usr/bin/llvm-symbolizer-14");
	program("usr/bin/llvm-symbolizer-9");
	expect("/usr/bin/llvm-symbolizer-14");
	program("usr/bin/llvm-symbolizer-16");
	program("usr/bin/llvm-symbolizer-19");
	expect("/usr/bin/llvm-symbolizer-19");
	/* An alternative of the distribution may be of any version. */
	assert_int_equal(unlinkat(dir.fd, "usr/bin/llvm-symbolizer", 0), 0);
	assert_int_equal(symlinkat("llvm-symbolizer-14", dir.fd, "usr/bin/llvm-symbolizer"), 0);
	expect("/usr/bin/llvm-symbolizer-19");
	/* The distribution's newest version has no number in its name. */
	assert_int_equal(unlinkat(dir.fd, "usr/bin/llvm-symbolizer", 0), 0);
	program("usr/bin/llvm-symbolizer");
	expect("/usr/bin/llvm-symbolizer");
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_newest_is_found),
};

UNIT_MAIN(tests)
