/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of FuzzTest's properties, and the limits of FuzzTest and Centipede. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define FOUND(test)                                                           \
	"=================================================================\n" \
	"=== BUG FOUND!\n\n"                                                  \
	"src/a_test.cc:47: Counterexample found for " test ".\n"              \
	"The test fails with input:\nargument 0: 5\n"
#define ASAN                                                                                   \
	"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1 at pc 0x2 bp 0x3\n" \
	"WRITE of size 1 at 0x1 thread T0\n    #0 0x5 in f /src/a.cc:3:4\n\n"

static void kinds(void **state)
{
	static const struct reading t[] = {
	    {FOUND("Suite.Property"), "Test failure", "", CRASH_ASSERT, false},
	    /* The first report counts. */
	    {ASAN FOUND("Suite.Magic"), "Heap-buffer-overflow\nWRITE 1", "f", CRASH_ASAN, true},
	    {"[!] Per-input timeout exceeded: 2.99s > 2s - aborting\n" FOUND("Suite.Slow"),
	     "Timeout", "", CRASH_ENGINE, false},
	    {"[!] RSS limit exceeded: 652042240 > 314572800 (bytes) - aborting\n" FOUND("S.Oom"),
	     "Out-of-memory", "", CRASH_ENGINE, false},
	    {"========= RSS limit exceeded: 606 > 300 (MB); exiting\n", "Out-of-memory", "",
	     CRASH_ENGINE, false},
	};
	static const char *const none[] = {
	    "RSS limit exceeded: 606 > 300\n",
	    "it says: per-input timeout exceeded: 2\n",
	    "Counterexample found for Suite.A.\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		assert_string_equal(r.type, t[i].type);
		assert_int_equal(r.kind, t[i].kind);
		assert_int_equal(r.security, t[i].security);
		crash_report_done(&r);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct crash_report r = parse(none[i]);

		assert_false(r.found);
		crash_report_done(&r);
	}
}

/* Line numbers and inputs change; file and test do not. */
static void a_property_is_one_crash(void **state)
{
	struct crash_report a = parse(FOUND("Suite.One"));
	struct crash_report b =
	    parse("/build/src/a_test.cc:99: Counterexample found for Suite.One.\n");
	struct crash_report c = parse(FOUND("Suite.Two"));

	(void)state;
	assert_string_equal(a.headline, "src/a_test.cc:47: Counterexample found for Suite.One.");
	assert_string_equal(a.signature, b.signature);
	assert_string_not_equal(a.signature, c.signature);
	crash_report_done(&a);
	crash_report_done(&b);
	crash_report_done(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kinds),
    cmocka_unit_test(a_property_is_one_crash),
};

UNIT_MAIN(tests)
