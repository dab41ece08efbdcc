/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/config/relocate.h"

#include <errno.h>

static struct config *config;
static struct config_source moved;

static int teardown(void **state)
{
	(void)state;
	config_source_relocated_done(&moved);
	config_free(config);
	config = NULL;
	return 0;
}

static const struct config_source *source(const char *text)
{
	struct err e = {0};
	size_t n;

	config_free(config);
	config = NULL;
	if (config_parse(slice_of(text), "/src/p/fuzz.json", &config, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(config_sources(config, &n) && n >= 1);
	return config_sources(config, &n);
}

static void move_to(const struct config_source *s, const char *from, const char *to)
{
	struct err e = {0};

	config_source_relocated_done(&moved);
	if (config_source_relocate(s, from, to, &moved, &e) < 0)
		fail_msg("%s", e.msg);
}

static void refused(const char *text, const char *from, const char *words)
{
	struct config_source ret = {0};
	struct err e = {0};

	assert_int_equal(config_source_relocate(source(text), from, "/t", &ret, &e), -EINVAL);
	if (!strstr(e.msg, words))
		fail_msg("'%s' is not in '%s'", words, e.msg);
}

#define BUILD                                                                            \
	"{\"discovery\": [{\"type\": \"directory\", \"path\": \"/src/p/out\","           \
	" \"build\": [\"make\", \"OUT=/src/p/out\", \"-I/src/p/a:/src/p\", \"/src/p2\"," \
	" \"x/src/p\", \"/src/p\"], \"build_dir\": \"/src/p/sub\"}]}"

static void test_paths(void **state)
{
	const struct config_source *s = source(BUILD);

	(void)state;
	move_to(s, "/src/p", "/t/w");
	assert_string_equal(moved.path, "/t/w/out");
	assert_string_equal(moved.build_dir, "/t/w/sub");
	assert_int_equal(moved.build.n, 6);
	assert_string_equal(moved.build.v[0], "make");
	assert_string_equal(moved.build.v[1], "OUT=/t/w/out");
	assert_string_equal(moved.build.v[2], "-I/t/w/a:/t/w");
	assert_string_equal(moved.build.v[3], "/src/p2");
	assert_string_equal(moved.build.v[4], "x/src/p");
	assert_string_equal(moved.build.v[5], "/t/w");
	assert_null(moved.builds_dir);
	assert_string_equal(s->path, "/src/p/out"); /* the source itself stays */
}

static void test_variants(void **state)
{
	const struct config_source *s =
	    source("{\"discovery\": [{\"type\": \"directory\", \"path\": \"/src/p/out\","
		   " \"build\": [\"./b.sh\"], \"build_dir\": \"/src/p\","
		   " \"variants\": [\"address\", \"undefined\"]}]}");
	char how[2][CONFIG_SOURCE_HOW];

	(void)state;
	move_to(&s[1], "/src/p", "/t");
	assert_string_equal(moved.builds_dir, "/t/out");
	assert_string_equal(moved.variant, "undefined");
	config_source_how(&s[0], "/src/p", how[0]);
	config_source_how(&s[1], "/src/p", how[1]);
	assert_string_not_equal(how[0], how[1]);
}

/* The same for a source and its copy elsewhere; another for another command. */
static void test_how(void **state)
{
	char a[CONFIG_SOURCE_HOW], b[CONFIG_SOURCE_HOW];

	(void)state;
	config_source_how(source(BUILD), "/src/p", a);
	move_to(source(BUILD), "/src/p", "/t/w");
	config_source_how(&moved, "/t/w", b);
	assert_string_equal(a, b);
	assert_int_equal(strlen(a), CONFIG_SOURCE_HOW - 1);
	config_source_how(
	    source("{\"discovery\": [{\"type\": \"directory\", \"path\": \"/src/p/out\","
		   " \"build\": [\"ninja\"], \"build_dir\": \"/src/p/sub\"}]}"),
	    "/src/p", b);
	assert_string_not_equal(a, b);
}

static void test_bazel(void **state)
{
	(void)state;
	move_to(source("{\"discovery\": [{\"type\": \"bazel\", \"path\": \"/src/p\","
		       " \"startup_options\": [\"--output_user_root=/cache\"]}]}"),
		"/src/p", "/t");
	assert_string_equal(moved.path, "/t");
	assert_string_equal(moved.bazel_startup.v[0], "--output_user_root=/cache");
}

static void test_refused(void **state)
{
	(void)state;
	refused("{\"discovery\": [{\"type\": \"directory\", \"path\": \"/src/p/out\"}]}", "/src/p",
		"has no \"build\"");
	refused("{\"discovery\": [{\"type\": \"directory\", \"path\": \"/out\","
		" \"build\": [\"make\"], \"build_dir\": \"/src/p\"}]}",
		"/src/p", "outside of the repository");
	refused("{\"discovery\": [{\"type\": \"directory\", \"path\": \"/src/p2/out\","
		" \"build\": [\"make\"], \"build_dir\": \"/src/p2\"}]}",
		"/src/p", "outside of '/src/p'");
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)
static const struct CMUnitTest tests[] = {
    TEST(test_paths), TEST(test_variants), TEST(test_how), TEST(test_bazel), TEST(test_refused),
};

UNIT_MAIN(tests)
