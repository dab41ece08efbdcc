/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/targets/names.h"

static void test_program(void **state)
{
	static const struct {
		const char *file, *target; /* NULL: not a target's name */
	} cases[] = {
	    {"png_fuzzer", "png_fuzzer"},
	    {"a", "a"},
	    {"Fuzz-1", "Fuzz-1"},
	    {"x.exe", "x"},
	    {"x.par", "x"},
	    {"bin@Suite.Test", "bin@Suite.Test"},
	    {"bin@Suite.exe", "bin@Suite.exe"},
	    {"parse_v1.2", NULL},
	    {"x.sh", NULL},
	    {".exe", NULL},
	    {"-rf", NULL},
	    {".x@y", NULL},
	    {"a b", NULL},
	    {"a\n", NULL},
	    {"\xc3\xbc", NULL},
	    {"a/b", NULL},
	};
	char longest[NAMES_TARGET_MAX + 2];
	struct slice t;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok = names_program(slice_of(cases[i].file), &t, &why);

		if (ok != (cases[i].target != NULL))
			fail_msg("'%s': %d", cases[i].file, ok);
		if (ok)
			assert_true(slice_eq(t, slice_of(cases[i].target)));
		else
			assert_non_null(strstr(why, "rename it"));
	}
	memset(longest, 'x', sizeof(longest));
	assert_true(names_target_ok((struct slice){longest, NAMES_TARGET_MAX}));
	assert_false(names_target_ok((struct slice){longest, NAMES_TARGET_MAX + 1}));
	assert_false(names_target_ok((struct slice){longest, 0}));
}

static void test_side(void **state)
{
	static const struct {
		const char *file;
		enum names_side side;
		const char *target;
	} cases[] = {
	    {"a_seed_corpus.zip", SIDE_ARCHIVE, "a"},
	    {"a_seed_corpus.tar.gz", SIDE_ARCHIVE, "a"},
	    {"a_seed_corpus.tar.lzma", SIDE_ARCHIVE, "a"},
	    {"a_seed_corpus.tb2", SIDE_ARCHIVE, "a"},
	    {"a.dict", SIDE_DICT, "a"},
	    {"b@S.T.options", SIDE_OPTIONS, "b@S.T"},
	    {"a.issue_metadata", SIDE_META, "a"},
	    {"a_seed_corpus", SIDE_NONE, NULL},
	    {"a.zip", SIDE_NONE, NULL},
	    {".dict", SIDE_NONE, NULL},
	    {"_seed_corpus.zip", SIDE_NONE, NULL},
	    {"a.dict~", SIDE_NONE, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slice t = SLICE("untouched");
		enum names_side got = names_side_of(slice_of(cases[i].file), &t);

		if (got != cases[i].side)
			fail_msg("'%s': %d", cases[i].file, (int)got);
		assert_true(slice_eq(t, slice_of(cases[i].target ? cases[i].target : "untouched")));
	}
	assert_string_equal(names_archive_suffix(0), "_seed_corpus.zip");
	assert_string_equal(names_archive_suffix(9), "_seed_corpus.tar.lzma");
	assert_null(names_archive_suffix(10));
}

static void test_known(void **state)
{
	static const char *const others[] = {
	    "llvm-symbolizer", "afl-fuzz", "jazzer_driver", "jazzerjs",	       ".hidden",
	    "__extra_build",   "libx.so",  "libx.so.1.2.3", "a_fuzzer.cmplog", "honggfuzz"};
	static const char *const not_known[] = {"symbolizer", "afl_fuzzer", "jazzer", "also",
						"a.b"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!names_known_other(slice_of(others[i])))
			fail_msg("'%s' is not known", others[i]);
	for (size_t i = 0; i < sizeof(not_known) / sizeof(not_known[0]); i++)
		assert_null(names_known_other(slice_of(not_known[i])));
	assert_true(names_looks_like_target(SLICE("a_fuzzer")));
	assert_true(names_looks_like_target(SLICE("a_fuzz_test")));
	assert_false(names_looks_like_target(SLICE("fuzzer_a")));
}

static void test_near(void **state)
{
	static const char *const names[] = {"css_fuzzer", "svg_parser_fuzzer", "xml_fuzzer", "url"};
	static const struct {
		const char *word, *near;
	} cases[] = {
	    {"css_fuzzer", "css_fuzzer"},
	    {"css_fuzzre", "css_fuzzer"},
	    {"cs_fuzzer", "css_fuzzer"},
	    {"css", "css_fuzzer"},
	    {"svg_parser", "svg_parser_fuzzer"},
	    {"svg_parsers_fuzzer", "svg_parser_fuzzer"},
	    {"my_xml_fuzzer_2", "xml_fuzzer"},
	    {"ur", "url"},
	    {"urn", "url"},
	    {"uxrl", "url"},
	    {"rul", "url"},
	    {"ulr", "url"},
	    {"lru", NULL},
	    {"", NULL},
	    {"x", NULL},
	    {"completely_else", NULL},
	};
	static const char *const far[] = {"abcdefghijklmnopqrstuvwxyz_1234_abcd"};
	char long1[400];

	(void)state;
	assert_non_null(names_near(SLICE("abXXXXghijklmnopqrstuvwxyz_1234_abcd"), far, 1));
	assert_null(names_near(SLICE("abXXXXXhijklmnopqrstuvwxyz_1234_abcd"), far, 1));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = names_near(slice_of(cases[i].word), names, 4);

		if ((got && cases[i].near) ? strcmp(got, cases[i].near) != 0 : got != cases[i].near)
			fail_msg("'%s' is near '%s'", cases[i].word, got ? got : "nothing");
	}
	memset(long1, 'q', sizeof(long1));
	assert_null(names_near((struct slice){long1, sizeof(long1)}, names, 4));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_program),
    cmocka_unit_test(test_side),
    cmocka_unit_test(test_known),
    cmocka_unit_test(test_near),
};

UNIT_MAIN(tests)
