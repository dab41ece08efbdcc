/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/dictionary/words.h"

#include <stdio.h>

static struct words w;

static int begin(void **state)
{
	(void)state;
	w = WORDS_INIT;
	return 0;
}

static int end(void **state)
{
	(void)state;
	words_done(&w);
	return 0;
}

static const struct word *word(const char *bytes)
{
	const struct word *found = words_find(&w, slice_of(bytes));

	assert_non_null(found);
	return found;
}

static void literal(const char *bytes)
{
	words_add_literal(&w, slice_of(bytes), 0);
}

/* --- the filter ------------------------------------------------------------- */

static void tokens_pass(void **state)
{
	static const char *const t[] = {
	    "<!",
	    "true",
	    "xmlns:xml",
	    "<![CDATA[",
	    "http://",
	    "Content-Type",
	    "%PDF-",
	    "&#x",
	    "\\u",
	    "a b",
	    "PUBLIC ",
	    "\r\n",
	    "%20",
	    "\x89PNG\r\n\x1a\n",
	    "image/png",
	    "</",
	    "//",
	    "SYSTEM",
	    "version=\"1.0\"",
	    "BEGIN RSA",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (word_penalty(slice_of(t[i])) == WORD_NONE)
			fail_msg("%s", t[i]);
}

static void other_literals_do_not(void **state)
{
	static const char *const t[] = {
	    "",
	    "x",
	    "value %d",
	    "%-8.3lu",
	    "%s",
	    "out of memory",
	    "not enough room",
	    "/usr/share/xml",
	    "src/parser.c",
	    "tree.h",
	    "size != NULL",
	    "parser->event",
	    "sizeof(int) * n",
	    "Usage:\n",
	    "\\xE8",
	    "123456789012345678901234567890123",
	    "\x01",
	    "\xff\xff\xff\xff",
	    "\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07\x08\x01",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (word_penalty(slice_of(t[i])) != WORD_NONE)
			fail_msg("%s", t[i]);
}

/* --- the choice ------------------------------------------------------------- */

static void what_brought_something_comes_first(void **state)
{
	(void)state;
	literal("aa");
	literal("bb");
	literal("cc");
	assert_int_equal(words_choose(&w, 1), 1);
	assert_true(word("aa")->is_active);
	words_brought(&w, SLICE("bb"), 1, false);
	words_brought(&w, SLICE("cc"), 5, false);
	assert_int_equal(words_choose(&w, 1), 1);
	assert_true(word("cc")->is_active);
	assert_int_equal(words_choose(&w, 2), 2);
	assert_true(word("bb")->is_active);
	assert_false(word("aa")->is_active);
}

/* After WORDS_TRIED offers without effect, a word gives its place to an untried word. */
static void what_brought_nothing_makes_room(void **state)
{
	(void)state;
	literal("aa");
	literal("bb");
	assert_int_equal(words_choose(&w, 1), 1);
	words_offered(&w, WORDS_TRIED - 1);
	assert_int_equal(words_choose(&w, 1), 1);
	assert_true(word("aa")->is_active);
	words_offered(&w, 1);
	assert_int_equal(words_choose(&w, 1), 1);
	assert_true(word("bb")->is_active);
	assert_int_equal(word("bb")->tried, 0);
	assert_int_equal(words_choose(&w, 2), 2); /* there is room again */
}

static void likely_tokens_come_before_unlikely_ones(void **state)
{
	(void)state;
	literal("a long word of it");
	literal("Two Words");
	words_add_literal(&w, SLICE("table"), 1);
	literal("word");
	assert_int_equal(words_choose(&w, 1), 1);
	assert_true(word("word")->is_active);
}

static void learned_words_have_to_prove_themselves(void **state)
{
	char text[32];

	(void)state;
	words_brought(&w, SLICE("once"), 1, true);
	words_brought(&w, SLICE("twice"), 2, true);
	words_brought(&w, SLICE("\0\0"), 9, true); /* a byte repeated */
	words_brought(&w, SLICE("unknown"), 9, false);
	assert_int_equal(words_choose(&w, 9), 1);
	assert_true(word("twice")->is_active);
	assert_null(words_find(&w, SLICE("\0\0")));
	assert_null(words_find(&w, SLICE("unknown")));
	for (int i = 0; i < 2 * WORDS_LEARNED; i++) {
		snprintf(text, sizeof(text), "word %d", i);
		words_brought(&w, slice_of(text), 3, true);
	}
	assert_int_equal(words_choose(&w, WORDS_MOST), WORDS_LEARNED);
}

static void a_literal_of_another_build_goes_unless_it_brought_something(void **state)
{
	(void)state;
	words_load(&w, SLICE("# 0 5 literal\n\"old\"\n# 2 5 literal\n\"good\"\n"));
	assert_int_equal(words_choose(&w, 9), 1);
	assert_true(word("good")->is_active);
}

static void given_words_are_not_ours(void **state)
{
	_autobuf_ struct buf text = BUF_INIT(4096);
	struct err e;

	(void)state;
	literal("aa");
	literal("bb");
	words_add_given(&w, SLICE("# \"cc\"\n  kw=\"aa\"\n\"\\x62b\"\nnothing\n\"broken\n\"dd\""));
	assert_int_equal(words_choose(&w, 9), 0);
	assert_true(word("dd")->is_given);
	assert_null(words_find(&w, SLICE("cc")));
	words_save(&w, "t", &text);
	assert_int_equal(buf_check(&text, &e), 0);
	assert_null(strstr(buf_str(&text), "\"aa\""));
}

/* Words take turns; a word that added coverage stays. */
static void beside_given_words_few_are_tried(void **state)
{
	(void)state;
	words_add_given(&w, SLICE("\"given\"\n"));
	for (char c = 'a'; c <= 'z'; c++)
		words_add_literal(&w, (struct slice){(char[]){c, c}, 2}, 0);
	assert_int_equal(words_choose(&w, WORDS_MOST), 2);
	assert_true(word("aa")->is_active && word("bb")->is_active);
	words_brought(&w, SLICE("aa"), 1, false);
	words_offered(&w, WORDS_TRIED);
	assert_int_equal(words_choose(&w, WORDS_MOST), 3);
	assert_true(word("aa")->is_active && word("cc")->is_active && word("dd")->is_active);
}

/* --- the file --------------------------------------------------------------- */

static void what_is_saved_is_loaded(void **state)
{
	_autobuf_ struct buf text = BUF_INIT(4096), again = BUF_INIT(4096);
	struct err e;

	(void)state;
	literal("a\"b");
	literal("tried");
	literal("fresh"); /* no statistics yet: not written to the file */
	words_brought(&w, SLICE("\x01\x02"), 7, true);
	words_find(&w, SLICE("tried"))->tried = WORDS_TRIED;
	assert_int_equal(words_choose(&w, 2), 2);
	words_offered(&w, 5);
	words_save(&w, "t", &text);
	assert_int_equal(buf_check(&text, &e), 0);
	assert_non_null(strstr(buf_str(&text), "\n# 0 5 literal\n\"a\\\"b\"\n"));
	assert_non_null(strstr(buf_str(&text), "\n# 0 20000 literal\n#\"tried\"\n"));
	assert_non_null(strstr(buf_str(&text), "\n# 7 5 learned\n\"\\x01\\x02\"\n"));
	assert_null(strstr(buf_str(&text), "fresh"));
	words_done(&w);
	words_load(&w, buf_slice(&text));
	assert_int_equal(w.n, 3);
	assert_true(word("\x01\x02")->is_learned);
	words_save(&w, "t", &again);
	assert_int_equal(buf_check(&again, &e), 0);
	assert_string_equal(buf_str(&again), buf_str(&text));
}

static void a_hostile_file_gives_what_is_whole_in_it(void **state)
{
	(void)state;
	words_load(&w, SLICE("\"no history\"\n"
			     "# 1 2 literal\n\"whole\"\n"
			     "# 1 2 other\n\"origin\"\n"
			     "# 99999999999999999999 2 literal\n\"many\"\n"
			     "# 1 2 literal\n\"behind\" x\n"
			     "# 1 2 literal\n\"\\q\"\n"
			     "# 1 2 literal\n"
			     "\"33333333333333333333333333333333"
			     "3\"\n"
			     "# 1 2 literal\n\"\"\n"
			     "# 1 2 literal"));
	assert_int_equal(w.n, 1);
	assert_true(word("whole")->is_active);
}

/* Counts do not overflow, and the table has a limit. */
static void there_are_bounds(void **state)
{
	char text[16];

	(void)state;
	literal("aa");
	assert_int_equal(words_choose(&w, 9), 1);
	for (int i = 0; i < 4; i++) {
		words_offered(&w, UINT64_MAX / 2);
		words_brought(&w, SLICE("aa"), UINT64_MAX / 2, false);
	}
	assert_int_equal(word("aa")->tried, UINT64_C(1) << 40);
	assert_int_equal(word("aa")->brought, UINT64_C(1) << 40);
	for (int i = 0; i < WORDS_MAX + 9; i++) {
		snprintf(text, sizeof(text), "w%d", i);
		literal(text);
	}
	assert_int_equal(w.n, WORDS_MAX);
	assert_int_equal(words_choose(&w, WORDS_MOST), WORDS_MOST);
	assert_non_null(word("w8000"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(tokens_pass),
    CASE(other_literals_do_not),
    CASE(what_brought_something_comes_first),
    CASE(what_brought_nothing_makes_room),
    CASE(likely_tokens_come_before_unlikely_ones),
    CASE(learned_words_have_to_prove_themselves),
    CASE(a_literal_of_another_build_goes_unless_it_brought_something),
    CASE(given_words_are_not_ours),
    CASE(beside_given_words_few_are_tried),
    CASE(what_is_saved_is_loaded),
    CASE(a_hostile_file_gives_what_is_whole_in_it),
    CASE(there_are_bounds),
};

UNIT_MAIN(tests)
