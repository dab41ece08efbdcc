/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/publish/render/source_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(int dirfd, const char *path)
{
	_autoclose_ int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

/* A work tree with links that lead out of it. */
static void make_tree(int dirfd)
{
	assert_int_equal(mkdirat(dirfd, "tree", 0755), 0);
	assert_int_equal(mkdirat(dirfd, "tree/src", 0755), 0);
	assert_int_equal(mkdirat(dirfd, "tree/demo", 0755), 0);
	put(dirfd, "secret");
	put(dirfd, "tree/src/a.c");
	put(dirfd, "tree/demo/a.c");
	put(dirfd, "tree/vector");
	assert_int_equal(symlinkat("..", dirfd, "tree/up"), 0);
	assert_int_equal(symlinkat("../secret", dirfd, "tree/link"), 0);
}

static void open_with(const char *text, struct sources *ret)
{
	struct config *c = NULL;
	struct err e;

	if (config_parse(slice_of(text), "test.json", &c, &e) < 0)
		fail_msg("%s", e.msg);
	sources_open(c, ret);
	config_free(c);
}

static void open_tree(const char *dir, struct sources *ret)
{
	char text[8192];

	snprintf(text, sizeof(text), "{\"source_dir\": \"%s/tree/\"}", dir);
	open_with(text, ret);
}

static void test_paths(void **state)
{
	char dir[] = "/tmp/test_source_link.XXXXXX", own[SOURCE_PATH_MAX];
	const struct {
		const char *file, *want;
	} v[] = {
	    {own, "demo/a.c"},
	    {"/build/demo/src/a.c", "src/a.c"},
	    {"/build/demo/src/../src/a.c", "src/a.c"},
	    {"../src/a.c", "src/a.c"},
	    {"/usr/src/app/src/a.c", "src/a.c"},
	    {"a/../../../../secret", NULL},
	    {"src//./a.c", "src/a.c"},
	    {"/elsewhere/a.c", NULL}, /* no such file in the tree */
	    {"/x/demo", NULL},
	    {"/usr/include/c++/12/vector", NULL},
	    {"/x/vector", "vector"},
	    {"up/secret", NULL},
	    {"link", NULL},
	    {"../secret", NULL},
	    {"", NULL},
	};
	struct sources s;
	_autoclose_ int fd = -1;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_DIRECTORY | O_CLOEXEC);
	make_tree(fd);
	snprintf(own, sizeof(own), "%s/tree/demo/a.c", dir);
	open_tree(dir, &s);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char got[SOURCE_PATH_MAX];
		bool known = source_path(&s, v[i].file, got);

		if (known != (v[i].want != NULL))
			fail_msg("%s: %s", v[i].file, known ? got : "unknown");
		if (known)
			assert_string_equal(got, v[i].want);
	}
	sources_close(&s);
	/* The configuration may name the tree through a link. */
	assert_int_equal(renameat(fd, "tree", fd, "real"), 0);
	assert_int_equal(symlinkat("real", fd, "tree"), 0);
	open_tree(dir, &s);
	assert_true(source_path(&s, "src/a.c", own));
	sources_close(&s);
	assert_int_equal(fs_remove_tree(AT_FDCWD, dir, &e), 0);
}

/* GitHub's link format is built in; other formats are configured. */
static void test_forms(void **state)
{
	static const struct {
		const char *config, *want;
	} v[] = {
	    {"{}", NULL},
	    {"{\"source_dir\": \"/nonexistent\"}", NULL},
	    {"{\"github\": {\"repository\": \"o/n\", \"token_env\": \"T\"}}",
	     "https://github.com/o/n/blob/{commit}/{path}#L{line}"},
	    {"{\"github\": {\"repository\": \"o/n\", \"token_env\": \"T\", "
	     "\"api\": \"https://git.test/api/v1\"}}",
	     NULL},
	    {"{\"source_link\": \"https://git.test/o/n/-/blob/{commit}/{path}#L{line}\"}",
	     "https://git.test/o/n/-/blob/{commit}/{path}#L{line}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct sources s;

		open_with(v[i].config, &s);
		assert_int_equal(s.dirfd, -1);
		if (v[i].want)
			assert_string_equal(s.link, v[i].want);
		else
			assert_null(s.link);
		sources_close(&s);
	}
}

static void test_wrong_forms(void **state)
{
	static const char *const v[] = {
	    "https://host/{path}",	     "https://host/{commit}",
	    "ftp://host/{commit}/{path}",    "https://host/{commit}/{path} x",
	    "https://host/{commit}/{path})",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct config *c = NULL;
		char text[256];
		struct err e;

		snprintf(text, sizeof(text), "{\"source_link\": \"%s\"}", v[i]);
		assert_int_equal(config_parse(slice_of(text), "test.json", &c, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "source_link"));
	}
}

static void test_link(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(4096);
	struct err e;

	(void)state;
	assert_int_equal(source_link("https://h/{commit}/{path}#L{line}{x", "c0ffee",
				     "a)b/\xc3\xa4%.c", 7, &b, &e),
			 0);
	assert_string_equal(buf_str(&b), "https://h/c0ffee/a%29b/%C3%A4%25.c#L7{x");
	assert_int_equal(source_link("https://h/{commit}", "", "a", 1, &b, &e), -EINVAL);
	assert_int_equal(source_link("https://h/{commit}", "main", "a", 1, &b, &e), -EINVAL);
}

static void test_commits(void **state)
{
	static const char *const v[][2] = {
	    {"https://github.com/o/r/blob/{commit}/{path}#L{line}",
	     "https://github.com/o/r/commit/"},
	    {"https://h/o/r/-/blob/{commit}/{path}#L{line}", "https://h/o/r/-/commit/"},
	    {"https://h/o/r/src/commit/{commit}/{path}#L{line}", "https://h/o/r/commit/"},
	    {"https://h/o/r/src/{commit}/{path}#lines-{line}", "https://h/o/r/commits/"},
	    {"https://h/o/r/plain/{path}?id={commit}#n{line}", ""},
	    {"/blob/{commit}", ""},
	    {"https://h/{path}", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		_autobuf_ struct buf b = BUF_INIT(1000);

		source_commits(v[i][0], &b);
		assert_string_equal(buf_str(&b), v[i][1]);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paths),	cmocka_unit_test(test_forms),
    cmocka_unit_test(test_wrong_forms), cmocka_unit_test(test_link),
    cmocka_unit_test(test_commits),
};

UNIT_MAIN(tests)
