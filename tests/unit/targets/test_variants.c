/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/tree.h"

#include "runner/targets/variants.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct tree d;
static struct target_list l;

static int variants_setup(void **state)
{
	(void)state;
	l = (struct target_list){0};
	tree_make(&d);
	return 0;
}

static int variants_teardown(void **state)
{
	(void)state;
	target_list_done(&l);
	tree_done(&d);
	return 0;
}

/* A program in a directory of the tree. */
static void add_program(const char *dir, const char *name)
{
	struct tree sub = d;
	char path[200];

	(void)mkdirat(d.fd, dir, 0755);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	tree_program(&sub, path, MARK);
}

static void add_source(const char *dir)
{
	struct err e;

	if (tree_add(&d, "directory", dir, &l, &e) < 0)
		fail_msg("%s", e.msg);
	variants_join(&l);
}

/* "address check:undefined": the builds of a target. */
static const char *builds_of(const char *name)
{
	static char text[300];
	const struct target *t = find_target(&l, name);
	size_t at;

	if (!t)
		return "none";
	at = (size_t)snprintf(text, sizeof(text), "%s", t->variant ? t->variant : "main");
	for (size_t i = 0; i < t->n_variants; i++)
		at +=
		    (size_t)snprintf(text + at, sizeof(text) - at, " %s:%s",
				     target_role_name(t->variants[i].role), t->variants[i].variant);
	return text;
}

static void test_directory_of_directories(void **state)
{
	const struct target *t;

	(void)state;
	add_program("undefined", "a_fuzzer");
	add_program("address", "a_fuzzer");
	add_program("memory", "a_fuzzer");
	add_program("coverage", "a_fuzzer");
	add_program("afl", "a_fuzzer");
	add_program("address", "b_fuzzer");
	add_program("other", "c_fuzzer");
	add_source("");
	assert_int_equal(l.n, 2);
	assert_string_equal(builds_of("a_fuzzer"),
			    "address fuzz:afl coverage:coverage check:memory check:undefined");
	assert_string_equal(builds_of("b_fuzzer"), "address");
	t = variants_find(&l, "a_fuzzer@memory");
	assert_non_null(t);
	assert_string_equal(t->of, "a_fuzzer");
	assert_non_null(strstr(t->binary, "/memory/a_fuzzer"));
	assert_non_null(strstr(t->dir, "/memory"));
	assert_null(variants_find(&l, "b_fuzzer@memory"));
	assert_null(variants_of(t, "undefined"));
	assert_ptr_equal(variants_of(find_target(&l, "a_fuzzer"), "memory"), t);
	assert_int_equal(count_warnings(&l), 0);
}

/* The configured directory is one of them. */
static void test_directories_side_by_side(void **state)
{
	(void)state;
	add_program("address", "a_fuzzer");
	add_program("undefined", "a_fuzzer");
	add_source("address/");
	assert_string_equal(builds_of("a_fuzzer"), "address check:undefined");
}

/* The first of OSS-Fuzz's names is the main build, also without AddressSanitizer. */
static void test_without_address(void **state)
{
	(void)state;
	add_program("memory", "a_fuzzer");
	add_program("coverage", "a_fuzzer");
	add_source("");
	assert_string_equal(builds_of("a_fuzzer"), "memory coverage:coverage");
}

/* Targets at the top: the directory has its own builds, and others are not looked for. */
static void test_targets_at_the_top(void **state)
{
	(void)state;
	tree_program(&d, "a_fuzzer", MARK);
	add_program("undefined", "a_fuzzer");
	add_source("");
	assert_string_equal(builds_of("a_fuzzer"), "main");
}

static void test_without_main_build(void **state)
{
	(void)state;
	add_program("address", "a_fuzzer");
	add_program("undefined", "b_fuzzer");
	add_source("");
	assert_int_equal(l.n, 1);
	expect_note(&l, "/undefined/b_fuzzer", true,
		    "only the variant 'undefined' has a target 'b_fuzzer'");
}

/* A mistake beside the configured directory is a warning: the main builds are fuzzed. */
static void test_bad_sibling(void **state)
{
	(void)state;
	add_program("address", "a_fuzzer");
	assert_int_equal(symlinkat("/", d.fd, "undefined"), 0);
	add_source("address");
	assert_string_equal(builds_of("a_fuzzer"), "address");
	expect_note(&l, "/undefined", true, "a cell would see the whole machine");
}

/* A directory that is a source of its own is not recognised. */
static void test_taken(void **state)
{
	char path[200], other[200];
	struct strv taken = {0};
	struct discover_source s = {.type = "directory", .path = path, .taken = &taken};
	struct err e;

	(void)state;
	add_program("address", "a_fuzzer");
	add_program("memory", "a_fuzzer");
	add_program("undefined", "a_fuzzer");
	snprintf(path, sizeof(path), "%s/address", d.path);
	snprintf(other, sizeof(other), "%s/memory/", d.path);
	strv_push(&taken, other);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	variants_join(&l);
	assert_string_equal(builds_of("a_fuzzer"), "address check:undefined");
	strv_done(&taken);
}

/* Another user's program beside ours must not get our corpus. */
static void test_other_users(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	add_program("address", "a_fuzzer");
	add_program("memory", "a_fuzzer");
	assert_int_equal(fchownat(d.fd, "memory", 12345, 12345, 0), 0);
	add_source("address");
	assert_string_equal(builds_of("a_fuzzer"), "address");
	expect_note(&l, "/memory", true, "other users control it");
}

static void test_configured(void **state)
{
	char main[200], other[200];
	struct discover_source s = {
	    .type = "directory", .path = other, .variant = "fast", .role = ROLE_CHECK};
	struct err e;

	(void)state;
	add_program("x", "a_fuzzer");
	add_program("y", "a_fuzzer");
	snprintf(main, sizeof(main), "%s/x", d.path);
	snprintf(other, sizeof(other), "%s/y", d.path);
	/* In any order. */
	assert_int_equal(discover_add(&s, &l, &e), 0);
	s = (struct discover_source){.type = "directory", .path = main};
	assert_int_equal(discover_add(&s, &l, &e), 0);
	variants_join(&l);
	assert_string_equal(builds_of("a_fuzzer"), "main check:fast");
}

/* The main build as one of several: it has its name, and other directories beside it do not count.
 */
static void test_named_main(void **state)
{
	char path[200];
	struct discover_source s = {
	    .type = "directory", .path = path, .variant = "address", .role = ROLE_MAIN};
	struct err e;

	(void)state;
	add_program("address", "a_fuzzer");
	add_program("memory", "a_fuzzer");
	snprintf(path, sizeof(path), "%s/address", d.path);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	variants_join(&l);
	assert_string_equal(builds_of("a_fuzzer"), "address");
}

/* A variant's build failed and left nothing, or something that is no directory: the main builds are
 * fuzzed.  Without a failed build this is an error. */
static void test_failed(void **state)
{
	char path[200];
	struct discover_built built = {.fresh_us = 1};
	struct discover_source s = {.type = "directory",
				    .path = path,
				    .variant = "memory",
				    .role = ROLE_CHECK,
				    .built = &built};
	struct err e;

	(void)state;
	add_program("address", "a_fuzzer");
	add_source("address");
	snprintf(path, sizeof(path), "%s/memory", d.path);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	expect_note(&l, "/memory", true,
		    "the build of the variant 'memory' failed and made no target");
	tree_file(&d, "memory", "a file");
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_int_equal(count_warnings(&l), 3);
	assert_string_equal(builds_of("a_fuzzer"), "address");
	s.built = NULL;
	assert_int_equal(discover_add(&s, &l, &e), -ENOTDIR);
	s.built = &built;
	s.role = ROLE_MAIN;
	assert_int_equal(discover_add(&s, &l, &e), -ENOTDIR);
	/* Targets of an earlier build are named one by one. */
	strv_push(&built.labels, "a_fuzzer");
	strv_push(&built.whys, "the build failed and did not make it");
	assert_int_equal(unlinkat(d.fd, "memory", 0), 0);
	s.role = ROLE_CHECK;
	assert_int_equal(discover_add(&s, &l, &e), 0);
	variants_join(&l);
	assert_string_equal(builds_of("a_fuzzer"), "address check:memory");
	assert_non_null(variants_find(&l, "a_fuzzer@memory")->unbuilt);
	discover_built_done(&built);
}

static void test_twice(void **state)
{
	char path[200];
	struct discover_source s = {
	    .type = "directory", .path = path, .variant = "fast", .role = ROLE_CHECK};
	struct err e;

	(void)state;
	add_program("x", "a_fuzzer");
	snprintf(path, sizeof(path), "%s/x", d.path);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_int_equal(discover_add(&s, &l, &e), -EEXIST);
	assert_non_null(strstr(e.msg, "two targets are named 'a_fuzzer@fast'"));
}

static void test_long_name(void **state)
{
	char name[129];

	(void)state;
	memset(name, 'x', 128);
	name[128] = '\0';
	add_program("address", name);
	add_program("undefined", name);
	add_source("");
	assert_string_equal(builds_of(name), "address");
	assert_int_equal(count_warnings(&l), 1);
	assert_non_null(strstr(l.notes[l.n_notes - 1].why, "is longer than 128 bytes"));
}

/* /bin/true has no sanitizer, and no coverage mapping. */
static void test_wrong(void **state)
{
	char why[VARIANTS_WHY_MAX];

	(void)state;
	add_program("address", "a_fuzzer");
	add_program("memory", "a_fuzzer");
	add_program("coverage", "a_fuzzer");
	add_program("undefined", "a_fuzzer");
	add_source("");
	assert_string_equal(variants_wrong(variants_find(&l, "a_fuzzer"), why),
			    "it has no AddressSanitizer");
	assert_string_equal(variants_wrong(variants_find(&l, "a_fuzzer@memory"), why),
			    "it has no MemorySanitizer");
	assert_string_equal(variants_wrong(variants_find(&l, "a_fuzzer@coverage"), why),
			    "it has no coverage mapping");
	assert_string_equal(variants_wrong(variants_find(&l, "a_fuzzer@undefined"), why), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, variants_setup, variants_teardown)

static const struct CMUnitTest tests[] = {
    TEST(test_directory_of_directories),
    TEST(test_directories_side_by_side),
    TEST(test_without_address),
    TEST(test_targets_at_the_top),
    TEST(test_without_main_build),
    TEST(test_bad_sibling),
    TEST(test_taken),
    TEST(test_other_users),
    TEST(test_configured),
    TEST(test_named_main),
    TEST(test_failed),
    TEST(test_twice),
    TEST(test_long_name),
    TEST(test_wrong),
};

UNIT_MAIN(tests)
