/* SPDX-License-Identifier: Apache-2.0 */
/* The search for an input among the files of a directory. */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/corpus/seek.h"
#include "tests/unit/scratch.h"

#include <sys/stat.h>

static struct scratch dir;

static int setup(void **state)
{
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	assert_int_equal(fs_mkdirs(dir.fd, "seeds/a/b", 0755, &e), 0);
	assert_int_equal(fs_mkdirs(dir.fd, "seeds/.git", 0755, &e), 0);
	scratch_write(dir.fd, "secret", "secret");
	scratch_write(dir.fd, "seeds/one", "one");
	scratch_write(dir.fd, "seeds/empty", "");
	scratch_write(dir.fd, "seeds/a/two", "two");
	scratch_write(dir.fd, "seeds/a/b/three", "three");
	scratch_write(dir.fd, "seeds/.git/index", "hidden");
	assert_int_equal(symlinkat("../secret", dir.fd, "seeds/link"), 0);
	assert_int_equal(symlinkat("..", dir.fd, "seeds/up"), 0);
	assert_int_equal(mkfifoat(dir.fd, "seeds/fifo", 0600), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static void is(const char *content, const char *want)
{
	char in[256], path[PATH_MAX] = "", full[512];

	snprintf(in, sizeof(in), "%s/seeds", dir.path);
	snprintf(full, sizeof(full), "%s/%s", in, want ? want : "");
	assert_int_equal(seek_content(NULL, in, slice_of(content), path), want != NULL);
	if (want)
		assert_string_equal(path, full);
}

static void test_content(void **state)
{
	(void)state;
	is("one", "one");
	is("two", "a/two");
	is("three", "a/b/three");
	is("TWO", NULL); /* of the same size */
	is("on", NULL);
	is("onee", NULL);
	is("", NULL);
	is("secret", NULL); /* behind links */
	is("hidden", NULL); /* no engine reads it */
}

static void test_no_directory(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_false(seek_content(NULL, "/nowhere/at/all", SLICE("x"), path));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_content, setup, teardown),
    cmocka_unit_test(test_no_directory),
};

UNIT_MAIN(tests)
