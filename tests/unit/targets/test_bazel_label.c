/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/targets/bazel/graph.h"
#include "runner/targets/bazel/label.h"

#include <stdlib.h>

static void plain(const char *label, const char *want)
{
	const char *got = bazel_label_plain(label);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void test_plain(void **state)
{
	char *longest = malloc(BAZEL_LABEL_MAX + 2);

	(void)state;
	plain("//a/b:c", "//a/b:c");
	plain("@//a:c", "//a:c");
	plain("@@//a:c", "//a:c");
	plain("//:c/d.txt", "//:c/d.txt");
	plain("//a:sp ace&", "//a:sp ace&");
	plain(NULL, NULL);
	plain("", NULL);
	plain("//a", NULL); /* Bazel always prints the name */
	plain("@other//a:c", NULL);
	plain("@@other//a:c", NULL);
	plain("a:c", NULL);
	plain("/a:c", NULL);
	/* Labels that would lead out of the workspace. */
	plain("//a/../..:c", NULL);
	plain("//a:../c", NULL);
	plain("//a:..", NULL);
	plain("//..:c", NULL);
	plain("///etc:c", NULL);
	plain("//a://etc", NULL);
	plain("//a:c/", NULL);
	plain("//a:/c", NULL);
	plain("//a:./c", NULL);
	plain("//a:", NULL);
	plain("//a:c\nd", NULL);
	plain("//a:\x7f", NULL);
	assert_non_null(longest);
	memset(longest, 'x', BAZEL_LABEL_MAX + 1);
	memcpy(longest, "//:", 3);
	longest[BAZEL_LABEL_MAX + 1] = '\0';
	plain(longest, NULL);
	longest[BAZEL_LABEL_MAX] = '\0';
	plain(longest, longest);
	free(longest);
}

static void test_path(void **state)
{
	static const char *const pairs[][2] = {
	    {"//a/b:c/d", "a/b/c/d"}, {"//:c", "c"}, {"//a:b:c", "a/b:c"}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *path = bazel_label_path(pairs[i][0]);

		assert_string_equal(path, pairs[i][1]);
		free(path);
	}
}

static void called(const char *label, const char *short_form, const char *long_form)
{
	char name[NAMES_TARGET_MAX + 1];

	bazel_label_target(label, false, name);
	assert_string_equal(name, short_form);
	assert_true(!*name || names_target_ok(slice_of(name)));
	bazel_label_target(label, true, name);
	assert_string_equal(name, long_form);
	assert_true(!*name || names_target_ok(slice_of(name)));
}

static void test_names(void **state)
{
	char label[200] = "//p:";

	(void)state;
	called("//a/b:c_fuzzer_bin", "c_fuzzer", "a.b.c_fuzzer");
	called("//a/b:c_fuzzer", "c_fuzzer", "a.b.c_fuzzer");
	called("//:c_raw_", "c", "c");
	called("//:c_instrum", "c", "c");
	called("//a:sub/c_bin", "c", "a.c");
	called("//a:_bin", "_bin", "a._bin"); /* the name must not become empty */
	called("//a:c+d e", "c_d_e", "a.c_d_e");
	called("//a:-c", "_c", "a.-c");
	called("//.a:.c", "_c", "_a..c");
	memset(label + 4, 'x', NAMES_TARGET_MAX);
	called(label, label + 4, ""); /* with the package it is too long */
	memset(label + 4, 'x', NAMES_TARGET_MAX + 1);
	called(label, "", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain),
    cmocka_unit_test(test_path),
    cmocka_unit_test(test_names),
};

UNIT_MAIN(tests)
