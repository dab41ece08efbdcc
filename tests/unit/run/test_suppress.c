/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/run/job/suppress.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* A suppressed wrapper of malloc() would hide every other leak of the program. */
static void a_leak_is_suppressed_by_its_own_function(void **state)
{
	static const struct {
		const char *frames[4], *want;
	} v[] = {
	    {{"parse_node", "parse"}, "parse_node"},
	    {{"xmalloc", "parse_node", "parse"}, "parse_node"},
	    {{"my_strdup", "pool::Alloc(int)", "parse_node", "parse"}, "parse_node"},
	    {{"PoolAllocator::get", "Duplicate"}, "Duplicate"},
	    {{"xmalloc"}, "xmalloc"},
	    {{""}, NULL},
	    {{NULL}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[4][32], *names[4];
		struct ledger_list frames = {.v = names};

		while (frames.n < 4 && v[i].frames[frames.n]) {
			names[frames.n] = text[frames.n];
			snprintf(text[frames.n], sizeof(text[0]), "%s", v[i].frames[frames.n]);
			frames.n++;
		}
		if (v[i].want)
			assert_string_equal(suppress_leaking(&frames), v[i].want);
		else
			assert_null(suppress_leaking(&frames));
	}
}

/* The sanitizers' matching: '*' is any text, and without '^' and '$' any part matches. */
static bool hits(const char *line, const char *function)
{
	char pattern[1100];
	const char *text = strchr(line, ':') + 1;
	size_t n = strlen(text);
	bool begins = *text == '^', ends = n > 0 && text[n - 1] == '$';

	snprintf(pattern, sizeof(pattern), "%s%.*s%s", begins ? "" : "*", (int)(n - begins - ends),
		 text + begins, ends ? "" : "*");
	return fnmatch(pattern, function, FNM_NOESCAPE) == 0;
}

static bool is_suppressed(const char *ledger, const char *function)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 16);
	struct slice in, line;

	suppress_function("leak", ledger, &b);
	assert_false(b.full);
	in = buf_slice(&b);
	while (scan_line(&in, &line)) {
		char text[1100];

		snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
		assert_int_equal(strncmp(text, "leak:", 5), 0);
		if (hits(text, function))
			return true;
	}
	return false;
}

/* Names in the ledger have no parameters and template arguments, names in a stack have. */
static void a_function_is_met_under_its_whole_name(void **state)
{
	static const struct {
		const char *ledger, *stack;
		bool is;
	} v[] = {
	    {"parse", "parse", true},
	    {"parse", "parse(char const*, int)", true},
	    {"parse", "parser", false},
	    {"parse", "other::parse(int)", false},
	    {"parse", "reparse", false},
	    {"a::b::parse", "a::b::parse(int) const", true},
	    {"a::b::parse", "a::b<int>::parse(int)", true},
	    {"a::b::parse", "a<char>::b<std::pair<int, x::y>>::parse(int)", true},
	    {"a::b::parse", "void a::b::parse<int>(int)", true},
	    {"a::b::parse", "a::c::parse(int)", false},
	    {"a::b::parse", "a::b::parse_all(int)", false},
	    {"a::b::c::d::e::f", "a::b::c::d::e<int>::f()", true},
	    {"a::b::c::d::e::f", "a::b::c::d::e::f()", true},
	    {"operator new", "operator new(unsigned long)", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (is_suppressed(v[i].ledger, v[i].stack) != v[i].is)
			fail_msg("%s and %s", v[i].ledger, v[i].stack);
}

/* They would be read as another line, or match any name. */
static void odd_names_are_left_out(void **state)
{
	static const char *const odd[] = {"",	 "a\nleak:b", "a*b", "f::{lambda}::operator()",
					  "a$b", "^"};
	char endless[5000];

	(void)state;
	memset(endless, 'a', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	for (size_t i = 0; i <= sizeof(odd) / sizeof(odd[0]); i++) {
		_autobuf_ struct buf b = BUF_INIT(1 << 16);
		const char *name = i < sizeof(odd) / sizeof(odd[0]) ? odd[i] : endless;

		suppress_function("leak", name, &b);
		assert_int_equal(b.n, 0);
	}
}

static struct suppress_not without;

static void leaks(const struct ledger *l, struct buf *ret)
{
	suppress_leaks(l, "t", ret);
}

static void undefined(const struct ledger *l, struct buf *ret)
{
	suppress_undefined(l, "t", &without, ret);
}

/* The crashes of a ledger that are suppressed. */
static void lines_of(const char *ledger, void (*fn)(const struct ledger *l, struct buf *ret),
		     const char *want)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 16);
	struct ledger *l;
	struct err e;

	assert_int_equal(ledger_parse(slice_of(ledger), &l, &e), 0);
	fn(l, &b);
	assert_string_equal(buf_str(&b), want);
	ledger_free(l);
}

#define CRASH(state, target, kind, type, frame)                                            \
	"{\"s\": {\"state\": \"" state "\", \"fuzzer\": \"" target "\", \"kind\": \"" kind \
	"\", \"crash_type\": \"" type "\", \"frames\": [" frame "]}}"

static void only_open_crashes_of_the_target_are_suppressed(void **state)
{
	static const char *const leak = "leak:^f$\nleak:^f(*\nleak:* f<*\nleak:^f<*\n";

	(void)state;
	lines_of("{}", leaks, "");
	lines_of(CRASH("new", "t", "lsan", "Direct-leak", "\"f\""), leaks, leak);
	lines_of(CRASH("known", "t", "lsan", "Direct-leak", "\"xmalloc\", \"f\""), leaks, leak);
	lines_of(CRASH("fixed", "t", "lsan", "Direct-leak", "\"f\""), leaks, "");
	lines_of(CRASH("new", "u", "lsan", "Direct-leak", "\"f\""), leaks, "");
	lines_of(CRASH("new", "t", "asan", "Direct-leak", "\"f\""), leaks, "");
	lines_of(CRASH("new", "t", "lsan", "Direct-leak", ""), leaks, "");
}

/* A program continues after an overflow, but not after a bad index: the access itself follows. */
static void only_what_a_program_survives_is_suppressed(void **state)
{
	(void)state;
	lines_of("{}", undefined, "");
	lines_of(CRASH("new", "t", "ubsan", "Integer-overflow", "\"f\""), undefined,
		 "signed-integer-overflow:^f$\nsigned-integer-overflow:^f(*\n"
		 "signed-integer-overflow:* f<*\nsigned-integer-overflow:^f<*\n");
	lines_of(CRASH("new", "t", "ubsan", "Index-out-of-bounds", "\"f\""), undefined, "");
	lines_of(CRASH("new", "t", "ubsan", "Null-dereference READ", "\"f\""), undefined, "");
	lines_of(CRASH("new", "t", "ubsan", "Integer-overflow", ""), undefined, "");
	lines_of(CRASH("fixed", "t", "ubsan", "Integer-overflow", "\"f\""), undefined, "");
	lines_of(CRASH("new", "t", "lsan", "Integer-overflow", "\"f\""), undefined, "");
}

/* A crash that comes despite its suppression is left out alone.  With many such crashes nothing is
 * suppressed. */
static void what_comes_all_the_same_is_left_out(void **state)
{
	(void)state;
	suppress_not_add(&without, "other");
	lines_of(CRASH("new", "t", "ubsan", "Invalid-enum-value", "\"f\""), undefined,
		 "enum:^f$\nenum:^f(*\nenum:* f<*\nenum:^f<*\n");
	suppress_not_add(&without, "s");
	lines_of(CRASH("new", "t", "ubsan", "Invalid-enum-value", "\"f\""), undefined, "");
	without.n = 0;
	for (unsigned i = 0; i < 100; i++)
		suppress_not_add(&without, "other");
	lines_of(CRASH("new", "t", "ubsan", "Invalid-enum-value", "\"f\""), undefined,
		 "enum:^f$\nenum:^f(*\nenum:* f<*\nenum:^f<*\n");
	for (unsigned i = 0; i < 100; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%u", i);
		suppress_not_add(&without, name);
	}
	lines_of(CRASH("new", "t", "ubsan", "Invalid-enum-value", "\"f\""), undefined, "");
	without.n = 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_leak_is_suppressed_by_its_own_function),
    cmocka_unit_test(a_function_is_met_under_its_whole_name),
    cmocka_unit_test(odd_names_are_left_out),
    cmocka_unit_test(only_open_crashes_of_the_target_are_suppressed),
    cmocka_unit_test(only_what_a_program_survives_is_suppressed),
    cmocka_unit_test(what_comes_all_the_same_is_left_out),
};

UNIT_MAIN(tests)
