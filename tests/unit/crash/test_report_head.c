/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that begin a report, and lines that only mention one. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define UAF "ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000011 at pc 0x5\n"

static void check(const char *const *texts, size_t n, const char *type)
{
	for (size_t i = 0; i < n; i++) {
		struct crash_report r = parse(texts[i]);

		if (strcmp(r.type, type) != 0)
			fail_msg("'%s', not '%s', in:\n%s", r.type, type, texts[i]);
		crash_report_done(&r);
	}
}

#define CHECK(t, type) check(t, sizeof(t) / sizeof((t)[0]), type)

static void a_report_is_found(void **state)
{
	static const char *const uaf[] = {
	    UAF,
	    "==12==" UAF,
	    "==12== " UAF,
	    "  ==12==" UAF,
	    /* prefixes of log programs */
	    "2026-11-21T23:13:02.1234567Z ==1==" UAF,
	    "2026-11-21T23:13:02.1234567Z " UAF,
	    "23:13:02 " UAF,
	    "Nov 21 23:13:02 host fuzz[123]: " UAF,
	    "08-13 10:01:02.345  1234  1234 F DEBUG   : " UAF,
	    "I/asan    ( 123): " UAF,
	    "[12:3:ERROR:main.cc(4)] " UAF,
	    "[pod/fuzz-1/web] " UAF,
	    "web_1  | " UAF,
	    "stderr: " UAF,
	    "08-13 10:01:02.345  99  99 F DEBUG   : Abort message: '==12==ERROR: AddressSanitizer: "
	    "heap-use-after-free on address 0x602000000011 at pc 0x5'\n",
	    /* a partial line of the target */
	    "foo==123==" UAF,
	    "working on the next file ==123==" UAF,
	    "it's a==123==" UAF,
	    "parsing \"abc==123==" UAF,
	    "parsing 'abc' and \"abc\"==123==" UAF,
	    "AddressSanitizer is on==123==" UAF,
	    "we saw \"ERROR: AddressSanitizer: SEGV\" in a log==123==" UAF,
	};
	static const char *const msan[] = {
	    "==1==WARNING: MemorySanitizer: use-of-uninitialized-value\n",
	    "foo==1==WARNING: MemorySanitizer: use-of-uninitialized-value\n",
	    "WARNING: MemorySanitizer: use-of-uninitialized-value\n",
	};
	static const char *const race[] = {
	    "WARNING: ThreadSanitizer: data race (pid=7)\n",
	    "half a line of mine WARNING: ThreadSanitizer: data race (pid=7)\n",
	};
	static const char *const timeout[] = {
	    "==3== ERROR: libFuzzer: timeout after 2 seconds\n",
	    "hang on==3== ERROR: libFuzzer: timeout after 2 seconds\n",
	    "ERROR: libFuzzer: timeout after 2 seconds\n",
	};
	static const char *const leak[] = {
	    "Direct leak of 5 byte(s) in 1 object(s) allocated from:\n",
	    "  Direct leak of 5 byte(s) in 1 object(s) allocated from:\n",
	    "12:00:01 | Direct leak of 5 byte(s) in 1 object(s) allocated from:\n",
	};
	static const char *const shift[] = {
	    "a.c:3:4: runtime error: shift exponent 32 is too large for type 'int'\n",
	    "it is \"so\" a.c:3:4: runtime error: shift exponent 32 is too large\n",
	};

	(void)state;
	CHECK(uaf, "Heap-use-after-free");
	CHECK(msan, "Use-of-uninitialized-value");
	CHECK(race, "Data race");
	CHECK(timeout, "Timeout");
	CHECK(leak, "Direct-leak");
	CHECK(shift, "Undefined-shift");
}

static void talk_of_a_report_is_none(void **state)
{
	static const char *const t[] = {
	    "INFO: last time we saw \"==1==ERROR: AddressSanitizer: heap-use-after-free\"\n",
	    "INFO: last time we saw \"==1==ERROR: AddressSanitizer: heap-use-after-free on address "
	    "0x602000000011 at pc 0x5\" and went on\n",
	    "see '==1==ERROR: AddressSanitizer: SEGV on unknown address 0x41414141 (pc 0x5)'\n",
	    "see `==1==ERROR: AddressSanitizer: SEGV on unknown address 0x41414141 (pc 0x5)'\n",
	    "{\"log\": \"==1==ERROR: AddressSanitizer: negative-size-param: (size=-1)\"}\n",
	    "this is like the ERROR: AddressSanitizer: heap-use-after-free of last week\n",
	    "we had this: ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc "
	    "0x5\n",
	    "at 10:20:30 someone told me about an ERROR: AddressSanitizer: SEGV in parse\n",
	    "grep -c 'ERROR: AddressSanitizer: heap-use-after-free' log\n",
	    "look for \"WARNING: ThreadSanitizer: data race (pid=7)\" in it\n",
	    "expected \"MemorySanitizer: use-of-uninitialized-value\"\n",
	    "it would say \"==3== ERROR: libFuzzer: timeout after 2 seconds\"\n",
	    "it would say \"==3== ERROR: libFuzzer: out-of-memory (used: 3Mb; limit: 2Mb)\"\n",
	    "it would say ERROR: libFuzzer: deadly signal\n",
	    "\"==1==ERROR: AddressSanitizer: requested allocation size 0x5 exceeds maximum "
	    "supported "
	    "size\"\n",
	    "known: 'AddressSanitizer: CHECK failed: a.cpp:49 (0x0)'\n",
	    "suppressed: \"Direct leak of 5 byte(s) in 1 object(s) allocated from:\"\n",
	    "there was a Direct leak of 5 byte(s) yesterday\n",
	    "ignored \"a.c:3:4: runtime error: shift exponent 32 is too large\"\n",
	};

	(void)state;
	CHECK(t, "");
}

/* Text that mentions a report, before or after a crash, changes nothing. */
static void talk_beside_a_report(void **state)
{
#define TALK \
	"we saw \"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x41414141 (pc 0x5)\"\n"
#define REAL \
	"==1==" UAF "READ of size 4 at 0x602000000011 thread T0\n    #0 0x5 in f /src/a.c:3:4\n"
	static const char *const t[] = {REAL, TALK REAL, REAL "\n" TALK, TALK TALK REAL "\n" TALK};

	(void)state;
	CHECK(t, "Heap-use-after-free\nREAD 4");
	for (size_t i = 1; i < sizeof(t) / sizeof(t[0]); i++)
		same_signature(t[0], t[i], true);
}

/* A line full of words and quotes takes time linear in its length. */
static void hostile_lines(void **state)
{
	static const char *const parts[] = {
	    "Sanitizer", " Sanitizer", "\"Sanitizer", "' 'Sanitizer",	    "==1==libFuzzer: ",
	    "=",	 "\"",	       "libFuzzer: ", "WARNING: Sanitizer", "irect leak of "};
	static char text[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i]);
		struct crash_report r;

		memset(text, i % 2 ? ' ' : '"', sizeof(text));
		for (size_t at = i % 3 ? 100 : sizeof(text) / 2; at + n < sizeof(text); at += n)
			memcpy(text + at, parts[i], n);
		crash_parse((struct slice){text, sizeof(text)}, NULL, &r);
		crash_report_done(&r);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_report_is_found),
    cmocka_unit_test(talk_of_a_report_is_none),
    cmocka_unit_test(talk_beside_a_report),
    cmocka_unit_test(hostile_lines),
};

UNIT_MAIN(tests)
