/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary words in libFuzzer's lines: output of LLVM 14. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/quote.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

static void note(void *arg, struct slice word, enum engine_word from)
{
	static const char *const names[] = {
	    [ENGINE_WORD_GIVEN] = "given",
	    [ENGINE_WORD_KEPT] = "kept",
	    [ENGINE_WORD_COMPARED] = "compared",
	    [ENGINE_WORD_RECOMMENDED] = "recommended",
	};

	buf_puts(arg, names[from]);
	quote_add(arg, word);
}

#define NEW "#41\tNEW    cov: 55 ft: 59 corp: 6/12b lim: 4 exec/s: 0 rss: 32Mb L: 3/4 MS: "

static void words_are_found(void **state)
{
	static const struct {
		const char *line, *want;
	} t[] = {
	    {NEW "1 CMP- DE: \"\\001\\000\"-", "compared\"\\x01\\x00\""},
	    {NEW "3 ChangeBit-ManualDict-PersAutoDict- DE: \"a\\\\\"-\"b\"-",
	     "given\"a\\\\\"kept\"b\""},
	    {"\"ab\" # Uses: 3", "recommended\"ab\""},
	    /* Ten mutations are printed, and ten words. */
	    {NEW "2 CMP- DE: \"a\"-\"b\"-", "compared\"a\""},
	    {NEW "2 CMP-CMP- DE: \"a\"-", "compared\"a\""},
	    /* Without new coverage, without words, or not a line of the engine. */
	    {"#149\tREDUCE cov: 65 ft: 76 L: 4/4 MS: 1 CMP- DE: \"a\"-", ""},
	    {NEW "1 ChangeBit-", ""},
	    {NEW "1 ChangeBit- DE: \"a\"-", ""},
	    {NEW "1 CMP- DE: \"a", ""},
	    {NEW "1 CMP- DE: \"\\9\"-", ""},
	    {NEW "1 CMP", ""},
	    {NEW "x CMP- DE: \"a\"-", ""},
	    {"x" NEW "1 CMP- DE: \"a\"-", ""},
	    {"\"ab\" # Uses: ", ""},
	    {"\"ab\" # Uses: 3x", ""},
	    {"\"ab", ""},
	    {"#", ""},
	    {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autobuf_ struct buf output = BUF_INIT(4096);

		engine_libfuzzer.words(slice_of(t[i].line), note, &output);
		assert_string_equal(buf_str(&output), t[i].want);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_are_found),
};

UNIT_MAIN(tests)
