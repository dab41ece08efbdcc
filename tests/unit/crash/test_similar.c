/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/similar.h"

static size_t count(const char *const *state)
{
	size_t n = 0;

	while (n < 3 && state[n])
		n++;
	return n;
}

static void links_one_bug(void **state)
{
	static const struct {
		const char *a[3], *b[3];
		bool similar;
	} t[] = {
	    {{"parse", "next", "run"}, {"parse", "next", "run"}, true},
	    {{"parse", "next", "run"}, {"parse", "next", "other"}, true},
	    {{"parse", "next", "run"}, {"parse", "other", "run"}, true},
	    {{"parse", "next", "run"}, {"parse", "next"}, true},
	    {{"parse", "x_fuzzer.cc"}, {"parse", "y_fuzzer.cc"}, true},
	    {{"len > 0 in a.c", "f", "g"}, {"len > 0 in a.c", "f", "h"}, true},
	    /* a dispatcher and a harness that all crashes of a target share */
	    {{"parse", "dispatch", "x_fuzzer.c"}, {"other", "dispatch", "x_fuzzer.c"}, false},
	    {{"parse", "next", "run"}, {"other", "next", "run"}, false},
	    {{"parse", "x_fuzzer.c"}, {"other", "x_fuzzer.c"}, false},
	    {{"parse", "next", "x_fuzzer.c"}, {"parse", "other", "x_fuzzer.c"}, false},
	    {{"parse", "next", "main"}, {"parse", "other", "main"}, false},
	    {{"parse", "a"}, {"parse"}, false},
	    {{"x_fuzzer.c"}, {"x_fuzzer.c"}, false},
	    {{"LLVMFuzzerTestOneInput"}, {"LLVMFuzzerTestOneInput"}, false},
	    {{"t::_::__libfuzzer_sys_run"}, {"t::_::__libfuzzer_sys_run"}, false},
	    /* without symbols */
	    {{"/out/x", "/out/x", "/out/x"}, {"/out/x", "/out/x", "/out/x"}, false},
	    /* the target's name, or none */
	    {{"x_fuzzer"}, {"x_fuzzer"}, false},
	    {{"NULL"}, {"NULL"}, false},
	    {{NULL}, {NULL}, false},
	    {{"parse", "next"}, {NULL}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (int swap = 0; swap < 2; swap++) {
			const char *const *a = swap ? t[i].b : t[i].a;
			const char *const *b = swap ? t[i].a : t[i].b;

			if (similar_states(a, count(a), b, count(b)) != t[i].similar)
				fail_msg("pair %zu", i);
		}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(links_one_bug),
};

UNIT_MAIN(tests)
