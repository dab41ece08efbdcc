/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define OVER	   "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x5\n"
#define SEGV	   "==1==ERROR: AddressSanitizer: SEGV on unknown address "
#define READ	   "READ of size 4 at 0x602 thread T0\n"
#define F(n, name) "    #" #n " 0x5 in " name " /src/a.c:3:4\n"
#define HARNESS	   F(9, "LLVMFuzzerTestOneInput")

/* --- the signature -------------------------------------------------------- */

static void what_differs_from_run_to_run(void **state)
{
	static const char base[] = OVER READ F(0, "parse(int)") F(1, "next") HARNESS;

	(void)state;
	/* addresses, lines, sizes, process ids, arguments, paths */
	same_signature(
	    base,
	    "==99==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x7777 at pc "
	    "0x8\nREAD of size 1234 at 0x7777 thread T3\n"
	    "    #0 0x999 in parse(long, char) /other/place/b.cc:77:1\n"
	    "    #1 0x998 in next /other/b.cc:78\n" HARNESS,
	    true);
	/* Runtime frames, clones, the harness. */
	same_signature(base,
		       OVER READ F(0, "__asan_memcpy") F(1, "parse(int) [clone .part.0]")
			   F(2, "next.cold"),
		       true);
	/* Another kind, access, function or order is another crash. */
	same_signature(base, OVER F(0, "parse(int)") F(1, "next") HARNESS, false);
	same_signature(base, OVER "WRITE of size 4 at 0x602\n" F(0, "parse(int)") F(1, "next"),
		       false);
	same_signature(base, OVER READ F(0, "other") F(1, "next"), false);
	same_signature(base, OVER READ F(0, "next") F(1, "parse"), false);
	same_signature(base, OVER READ F(0, "parse(int)"), false);
}

static void five_names_and_recursion_once(void **state)
{
	(void)state;
	same_signature(OVER F(0, "a") F(1, "b") F(2, "c") F(3, "d") F(4, "e") F(5, "f"),
		       OVER F(0, "a") F(1, "b") F(2, "c") F(3, "d") F(4, "e") F(5, "g"), true);
	same_signature(OVER F(0, "a") F(1, "b") F(2, "c") F(3, "d") F(4, "e"),
		       OVER F(0, "a") F(1, "b") F(2, "c") F(3, "d") F(4, "g"), false);
	same_signature(OVER F(0, "a") F(1, "b") F(2, "a") F(3, "b") F(4, "a") F(5, "c"),
		       OVER F(0, "a") F(1, "b") F(2, "c"), true);
}

static void compilers_agree(void **state)
{
	(void)state;
	same_signature(OVER F(0, "void ns::f<std::vector<int, std::allocator<int> > >(int)")
			   F(1, "g(int)::$_0::operator()(char) const"),
		       OVER F(0, "void ns::f<std::vector<int, std::allocator<int>>>(int)")
			   F(1, "g(int)::{lambda(char)#1}::operator()(char) const"),
		       true);
	same_signature(OVER F(0, "ns::(anonymous namespace)::f()"), OVER F(0, "ns::f()"), true);
}

/* The hash in a Rust name differs in each build; demanglers differ. */
static void builds_of_rust_agree(void **state)
{
	static const char one[] = OVER F(0, "app::parse::h0123456789abcdef")
	    F(1, "app::run::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef")
		F(2, "_$LT$app..T$u20$as$u20$app..R$GT$::next::h0123456789abcdef");
	struct crash_report r = parse(one);
	char buf[1024];

	(void)state;
	same_signature(one,
		       OVER F(0, "app::parse::hfedcba9876543210")
			   F(1, "app::run::{{closure}}::hfedcba9876543210")
			       F(2, "<app::T as app::R>::next::hfedcba9876543210"),
		       true);
	same_signature(one,
		       OVER F(0, "app::parse") F(1, "app::run::{closure#2}")
			   F(2, "<app::T as app::R>::next"),
		       true);
	same_signature(one, OVER F(0, "app::parse::h0123456789abcdef"), false);
	assert_string_equal(state_of(&r, buf), "app::parse|app::run::_$u7b$$u7b$closure$u7d$$u7d$");
	assert_string_equal(r.top_frame, "app::parse");
	crash_report_done(&r);
}

#define CAUSED(access) "==1==The signal is caused by a " access " memory access.\n"
#define NULLS	       SEGV "0x000000000010 (pc 0x5 T0)\n"
#define WILD	       SEGV "0x41414141 (pc 0x5 T0)\n"

/* A null pointer, and a crash without an access direction. */
static void a_fault_is_a_fault(void **state)
{
	(void)state;
	same_signature(NULLS CAUSED("READ") F(0, "f"), NULLS CAUSED("WRITE") F(0, "f"), true);
	same_signature(NULLS CAUSED("READ") F(0, "f"), SEGV "(pc 0x5 T0)\n" F(0, "f"), true);
	same_signature(NULLS CAUSED("READ") F(0, "f"), WILD F(0, "f"), true);
	same_signature(NULLS CAUSED("READ") F(0, "f"), OVER F(0, "f"), false);
}

#define ASAN(type) "==1==ERROR: AddressSanitizer: " type " on address 0x602 at pc 0x5\n"
#define WRITE	   "WRITE of size 1 at 0x602 thread T0\n"

/* The input decides how far an index is out of bounds. */
static void memory_errors_of_one_direction(void **state)
{
	static const char reads[] = OVER READ F(0, "f"), writes[] = OVER WRITE F(0, "f");
	static const char *const types[][2] = {
#define BOTH(head) {head READ F(0, "f"), head WRITE F(0, "f")}
	    BOTH(ASAN("heap-use-after-free")),
	    BOTH(ASAN("stack-buffer-overflow")),
	    BOTH(ASAN("stack-buffer-underflow")),
	    BOTH(ASAN("stack-use-after-return")),
	    BOTH(ASAN("stack-use-after-scope")),
	    BOTH(ASAN("dynamic-stack-buffer-overflow")),
	    BOTH(ASAN("global-buffer-overflow")),
	    BOTH(ASAN("use-after-poison")),
	    BOTH(ASAN("container-overflow")),
	    {WILD CAUSED("READ") F(0, "f"), WILD CAUSED("WRITE") F(0, "f")},
	    {SEGV "(pc 0x5 T0)\n" CAUSED("READ") F(0, "f"), WILD CAUSED("WRITE") F(0, "f")},
	    {"==1==ERROR: UndefinedBehaviorSanitizer: SEGV on unknown address 0x41414141 (pc "
	     "0x5)\n" CAUSED("READ") F(0, "f"),
	     WILD CAUSED("WRITE") F(0, "f")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		same_signature(types[i][0], reads, true);
		same_signature(types[i][1], writes, true);
	}
	same_signature(reads, writes, false);
	same_signature(reads, ASAN("heap-use-after-free") READ F(0, "g"), false);
	same_signature(reads, NULLS CAUSED("READ") F(0, "f"), false);
	same_signature(reads, OVER F(0, "f"), false);
	same_signature(reads, ASAN("attempting double-free") READ F(0, "f"), false);
	same_signature(reads,
		       "WARNING: ThreadSanitizer: heap-use-after-free (pid=7)\n  Read of size 4 at "
		       "0x7b by thread T1:\n    #0 f /src/a.c:3:4 (t+0x12)\n\n",
		       false);
}

/* Ledgers have crashes under these signatures: none of them may change. */
static void signatures_stay(void **state)
{
	static const struct {
		const char *text, *signature;
	} t[] = {
	    {OVER READ F(0, "parse(int)") F(1, "next") HARNESS, "bed75a7d1feb9e18"},
	    {OVER WRITE F(0, "parse(int)") F(1, "next") HARNESS, "4cabc4861842f735"},
	    {OVER F(0, "parse(int)"), "7d143cd7266e1304"},
	    {NULLS CAUSED("READ") F(0, "f"), "858b0a167e830f78"},
	    {WILD F(0, "f"), "858b0a167e830f78"},
	    {"x.c:1: a: Assertion `b > 1' failed.\n" F(0, "f"), "7253000e1c6a8626"},
	    {"a.c:3:4: runtime error: division by zero\n" F(0, "f"), "2863d28f8bdd546a"},
	    {"==3== ERROR: libFuzzer: deadly signal\n" F(0, "f"), "a5b4bb7a5f1fe811"},
	    {"Direct leak of 16 byte(s) in 1 object(s) allocated from:\n" F(0, "f") "\n",
	     "0948d19b5319ed7a"},
	    {ASAN("attempting double-free") F(0, "f"), "e5ff6ed9ff8b54f5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		if (strcmp(r.signature, t[i].signature) != 0)
			fail_msg("%s, not %s, of:\n%s", r.signature, t[i].signature, t[i].text);
		crash_report_done(&r);
	}
}

static void stack_overflows_by_their_cycle(void **state)
{
#define SO    "==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ffc (pc 0x5 T0)\n"
#define AB(n) F(n, "even") F(n, "odd")
#define BA(n) F(n, "odd") F(n, "even")

	(void)state;
	same_signature(SO F(0, "leaf") AB(1) AB(2) AB(3) AB(4), SO BA(0) BA(1) BA(2) BA(3), true);
	same_signature(SO AB(1) AB(2) AB(3) AB(4),
		       SO F(0, "even") F(1, "even") F(2, "even") F(3, "even"), false);
	/* No strict cycle: the most frequent function is used. */
	same_signature(SO F(0, "a") F(1, "x") F(2, "b") F(3, "x") F(4, "x") F(5, "c") F(6, "x"),
		       SO F(0, "c") F(1, "x") F(2, "x") F(3, "b") F(4, "x") F(5, "a"), true);
}

#define RACE(w1, f1, w2, f2)                                                     \
	"WARNING: ThreadSanitizer: data race (pid=7)\n  " w1                     \
	" of size 4 at 0x7f15 by thread T3:\n    #0 " f1 " a.c:3:4 (t+0x12)\n\n" \
	"  Previous " w2 " of size 4 at 0x7f15 by thread T1:\n    #0 " f2 " a.c:3:4 (t+0x13)\n\n"

static void races_from_either_side(void **state)
{
	(void)state;
	same_signature(RACE("Write", "f", "read", "g"), RACE("Read", "g", "write", "f"), true);
	same_signature(RACE("Write", "f", "read", "g"), RACE("Write", "f", "write", "h"), false);
	same_signature(RACE("Write", "f", "read", "g"), RACE("Write", "f", "read", "f"), false);
}

static void leaks_by_their_allocation(void **state)
{
#define LEAK(n, name)                                                                  \
	"Direct leak of " n " byte(s) in 1 object(s) allocated from:\n" F(0, "malloc") \
	    F(1, name) "\n"

	(void)state;
	same_signature(LEAK("16", "node_new"), LEAK("32", "node_new") LEAK("8", "other"), true);
	same_signature(LEAK("16", "node_new"), LEAK("16", "other"), false);
}

/* --- when there is no function ---------------------------------------------- */

static struct crash_report parse_target(const char *text, const char *target)
{
	const struct crash_options o = {.target = target};

	return parse_with(text, &o);
}

static void check_targets(const char *text, bool differ)
{
	struct crash_report a = parse_target(text, "a_fuzzer"), b = parse_target(text, "b_fuzzer");

	assert_int_equal(strlen(a.signature), 16);
	if ((strcmp(a.signature, b.signature) != 0) != differ)
		fail_msg("targets %s in:\n%s", differ ? "alike" : "differ", text);
	crash_report_done(&a);
	crash_report_done(&b);
}

static void targets_stand_in(void **state)
{
	(void)state;
	check_targets("==3== ERROR: libFuzzer: timeout after 2 seconds\n" F(0, "spin"), true);
	check_targets("==3== ERROR: libFuzzer: out-of-memory (used: 300Mb; limit: 256Mb)\n", true);
	check_targets(OVER, true);
	check_targets(OVER F(0, "parse"), false);
	check_targets(OVER HARNESS, false); /* its file has the target's name */
	same_signature(OVER "    #0 0x5 in LLVMFuzzerTestOneInput /src/x_fuzzer.c:3:4\n",
		       OVER "    #0 0x5 in LLVMFuzzerTestOneInput /src/y_fuzzer.c:3:4\n", false);
	same_signature("==3== ERROR: libFuzzer: timeout after 2 seconds\n" F(0, "spin"),
		       "==3== ERROR: libFuzzer: timeout after 9 seconds\n" F(0, "turn"), true);
}

static void words_stand_in(void **state)
{
	(void)state;
	same_signature("x.c:1: a: Assertion `b > 1' failed.\n",
		       "x.c:2: a: Assertion `b > 1' failed.\n", true);
	same_signature("x.c:1: a: Assertion `b' failed.\n", "x.c:1: a: Assertion `c' failed.\n",
		       false);
	same_signature("x.c:1: a: Assertion `b' failed.\n" F(0, "f"),
		       "x.c:1: a: Assertion `c' failed.\n" F(0, "f"), false);
	same_signature("a.c:3:4: runtime error: division by zero\n",
		       "/x/a.c:9:1: runtime error: division by zero\n", true);
	same_signature("a.c:3:4: runtime error: division by zero\n",
		       "b.c:3:4: runtime error: division by zero\n", false);
	same_signature(SEGV "0x000000000000 (pc 0x000000000000 T0)\n", SEGV "0x5555 (pc 0x5 T0)\n",
		       false);
}

/* --- without symbols -------------------------------------------------------- */

#define B(n, pc, at) "    #" #n " 0x" #pc "  (/out/f+0x" #at ") (BuildId: ab12)\n"
#define C(n, pc, at) "    #" #n " 0x" #pc "  (/lib/x86_64-linux-gnu/libc.so.6+0x" #at ")\n"
#define APP(pc)	     B(0, pc, 11fd3e) B(1, pc, 11fc6e) B(2, pc, 11fbef)
/* The same crash in fuzzing and in a replay: the frames below the harness differ. */
#define LOOP           \
	B(3, 5, 48353) \
	B(4, 5, 47a79) \
	B(5, 5, 49658) \
	B(6, 5, 49b42) B(7, 5, 381c2) B(8, 5, 61ed2) C(9, 7, 27249) C(10, 7, 27304) B(11, 5, 2c9f0)
#define ONE_FILE       \
	B(3, 5, 48353) \
	B(4, 5, 3235f) B(5, 5, 38096) B(6, 5, 61ed2) C(7, 7, 27249) C(8, 7, 27304) B(9, 5, 2c9f0)
/* Frame pointers do not lead to _start. */
#define SHORT B(3, 5, 48353) B(4, 5, 3235f) B(5, 5, 38096) B(6, 5, 61ed2) C(7, 7, 27249)

static void same_raw(const char *a, const char *b, bool same)
{
	struct crash_report ra = parse(a), rb = parse(b);

	assert_int_equal(strlen(ra.raw_key), 16);
	assert_int_equal(strlen(rb.raw_key), 16);
	if ((strcmp(ra.raw_key, rb.raw_key) == 0) != same)
		fail_msg("raw keys of:\n%s\nand:\n%s", a, b);
	crash_report_done(&ra);
	crash_report_done(&rb);
}

static void raw_keys(void **state)
{
	static const char base[] = OVER READ APP(5) LOOP;

	(void)state;
	same_raw(base, OVER "READ of size 8 at 0x9 thread T0\n" APP(777) LOOP, true);
	same_raw(base, OVER READ APP(5) ONE_FILE, true);
	same_raw(base, OVER READ APP(5) SHORT, true);
	same_raw(base, OVER READ B(0, 5, 11fd3f) B(1, 5, 11fc6e) B(2, 5, 11fbef) LOOP, false);
	same_raw(base, OVER READ B(0, 5, 11fd3e) B(1, 5, 11fc6f) B(2, 5, 11fbef) LOOP, false);
	same_raw(base, OVER APP(5) LOOP, false);
	same_raw(base, OVER READ "    #0 0x5  (/out/g+0x11fd3e) (BuildId: ab12)\n", false);
	same_raw(OVER READ B(0, 5, 11fd3e),
		 OVER READ "    #0 0x5  (/out/f+0x11fd3e) (BuildId: cd)\n", false);
	same_raw(OVER READ B(0, 5, 11fd3e),
		 OVER READ "    #0 0x5  (/elsewhere/f+0x11fd3e) "
			   "(BuildId: ab12)\n",
		 true);
}

/* Without a build ID, crash_options.build distinguishes builds. */
static void raw_keys_of_builds(void **state)
{
	static const char plain[] = OVER READ "    #0 0x5  (/out/f+0x11fd3e)\n";
	static const char with_id[] = OVER READ "    #0 0x5  (/out/f+0x11fd3e) (BuildId: ab12)\n";
	const struct crash_options one = {.build = "1"}, two = {.build = "2"};
	struct crash_report a = parse_with(plain, &one), b = parse_with(plain, &two),
			    again = parse_with(plain, &one);

	(void)state;
	assert_int_equal(strlen(a.raw_key), 16);
	assert_string_equal(a.raw_key, again.raw_key);
	assert_string_not_equal(a.raw_key, b.raw_key);
	crash_report_done(&a);
	crash_report_done(&b);
	crash_report_done(&again);
	a = parse_with(with_id, &one);
	b = parse_with(with_id, &two);
	assert_string_equal(a.raw_key, b.raw_key);
	crash_report_done(&a);
	crash_report_done(&b);
}

/* All frames of a thread count. */
static void raw_keys_of_threads(void **state)
{
	(void)state;
	same_raw(OVER READ APP(5) B(3, 5, 11f000) C(4, 7, 891f4) C(5, 7, 1098eb),
		 OVER READ APP(5) B(3, 5, 11f001) C(4, 7, 891f4) C(5, 7, 1098eb), false);
}

static void raw_keys_of_overflows_and_races(void **state)
{
#define ODD  B(0, 5, 1000) B(0, 5, 2000)
#define EVEN B(0, 5, 2000) B(0, 5, 1000)
#define RAW_RACE(w1, f1, w2, f2)                                                             \
	"WARNING: ThreadSanitizer: data race (pid=7)\n  " w1                                 \
	" of size 4 at 0x7f15 by thread T3:\n    #0 <null> <null> (t+0x" f1 ")\n\n"          \
	"  Previous " w2 " of size 4 at 0x7f15 by thread T1:\n    #0 <null> <null> (t+0x" f2 \
	")\n\n"

	(void)state;
	same_raw(SO ODD ODD ODD ODD, SO EVEN EVEN EVEN EVEN EVEN, true);
	same_raw(RAW_RACE("Write", "12", "read", "13"), RAW_RACE("Read", "13", "write", "12"),
		 true);
	same_raw(RAW_RACE("Write", "12", "read", "13"), RAW_RACE("Write", "12", "read", "14"),
		 false);
}

static void check_raw(const char *text, const char *target, bool has)
{
	struct crash_report r = parse_target(text, target);

	if ((r.raw_key[0] != '\0') != has)
		fail_msg("%s raw key of:\n%s", has ? "no" : "a", text);
	crash_report_done(&r);
}

static void raw_keys_only_of_places(void **state)
{
	(void)state;
	check_raw(OVER, NULL, false);
	check_raw(OVER F(0, "f") B(1, 5, 1000), NULL, false);
	check_raw(OVER "    #0 0x0  (<unknown module>)\n" B(1, 5, 1000), NULL, true);
	check_raw("==3== ERROR: libFuzzer: timeout after 2 seconds\n" B(0, 5, 1000), NULL, false);
	check_raw("==3== ERROR: libFuzzer: timeout after 2 seconds\n" B(0, 5, 1000), "t", true);
}

static void never_as_with_symbols(void **state)
{
	struct crash_report r = parse(OVER READ APP(5) LOOP);

	(void)state;
	assert_true(r.unsymbolized);
	assert_int_equal(r.n_frames, 3);
	assert_string_equal(r.top_frame, "f+0x11fd3e");
	assert_string_equal(r.frames[0].module, "/out/f");
	assert_string_equal(r.frames[0].build_id, "ab12");
	assert_int_equal(r.frames[0].offset, 0x11fd3e);
	crash_report_done(&r);
	same_signature(OVER READ APP(5) LOOP, OVER READ APP(9) ONE_FILE, true);
	same_signature(OVER B(0, 5, 11), OVER F(0, "f+11"), false);
	/* A library without symbols counts as one name among named functions. */
	same_signature(OVER F(0, "a") "    #1 0x5  (/x/libz.so+0x12)\n" F(2, "b"),
		       OVER F(0, "a") "    #1 0x5  (/x/libz.so+0x34)\n" F(2, "b"), true);
}

/* The engine's own frames above and below the crash are no frames of the target. */
static void reports_of_the_engine(void **state)
{
#define DEADLY	"==3== ERROR: libFuzzer: deadly signal\n"
#define PRINTER B(0, 5, 6ae14) B(1, 5, 618e8) B(2, 5, 471b3) C(3, 7, 3c04f) C(4, 7, 8aeeb)
	struct crash_report r = parse(DEADLY PRINTER B(5, 5, 11fd3e) B(6, 5, 11fbef) LOOP);

	(void)state;
	assert_int_equal(r.n_frames, 2);
	assert_int_equal(r.frames[0].offset, 0x11fd3e);
	crash_report_done(&r);
	same_raw(DEADLY PRINTER B(5, 5, 11fd3e) LOOP, DEADLY PRINTER B(5, 5, 11fd3e) ONE_FILE,
		 true);
}

/* --- the bug ---------------------------------------------------------------- */

static void same_bug(const char *a, const char *b, bool same)
{
	struct crash_report ra = parse(a), rb = parse(b);

	if (ra.bug[0] == '\0' || rb.bug[0] == '\0')
		fail_msg("no bug in:\n%s\nor:\n%s", a, b);
	if ((strcmp(ra.bug, rb.bug) == 0) != same)
		fail_msg("%s bug in:\n%s\nand:\n%s", same ? "not one" : "one", a, b);
	crash_report_done(&ra);
	crash_report_done(&rb);
}

#define AT(n, pc, name, place) "    #" #n " " pc " in " name " /src/" place "\n"
#define FREED		       "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc 0x5\n"

static void a_bug_is_a_class_at_a_place(void **state)
{
	static const char base[] = OVER READ AT(0, "0x11", "next(char)", "lex.c:7:3")
	    AT(1, "0x22", "sum", "parse.c:9:1") HARNESS;

	(void)state;
	/* The same bug with any caller, any index, and another directory. */
	same_bug(base,
		 FREED READ
		 "    #0 0x33 in __asan_memcpy\n" AT(1, "0x44", "next(long)", "b/lex.c:7:9")
		     AT(2, "0x55", "list", "parse.c:30") AT(3, "0x55", "sum", "parse.c:2"),
		 true);
	same_bug(
	    base,
	    SEGV
	    "0x60200000abcd (pc 0x11)\n==1==The signal is caused by a READ memory access.\n" AT(
		0, "0x11", "next(char)", "lex.c:7:3"),
	    true);
	/* An inlined function belongs to its caller. */
	same_bug(OVER READ AT(0, "0x11", "peek", "lex.h:3") AT(1, "0x11", "next", "lex.c:7")
		     AT(2, "0x22", "sum", "parse.c:9"),
		 base, true);
	/* Another line, function, file, direction or class is another bug. */
	same_bug(base, OVER READ AT(0, "0x11", "next(char)", "lex.c:8:3"), false);
	same_bug(base, OVER READ AT(0, "0x11", "other", "lex.c:7:3"), false);
	same_bug(base, OVER READ AT(0, "0x11", "next(char)", "lexer.c:7:3"), false);
	same_bug(base,
		 OVER
		 "WRITE of size 4 at 0x602 thread T0\n" AT(0, "0x11", "next(char)", "lex.c:7:3"),
		 false);
	same_bug(base,
		 "/src/lex.c:7:3: runtime error: division by zero\n" AT(0, "0x11", "next(char)",
									"lex.c:7:3"),
		 false);
}

static void no_bug(const char *text)
{
	struct crash_report r = parse(text);

	assert_true(r.found);
	if (r.bug[0])
		fail_msg("a bug in:\n%s", text);
	crash_report_done(&r);
}

static void a_failure_without_a_place_has_no_bug(void **state)
{
	(void)state;
	no_bug(OVER READ "    #0 0x11 in next (/bin/x+0x11)\n");
	no_bug(OVER READ);
	no_bug("==1== ERROR: libFuzzer: timeout after 2 seconds\n" AT(0, "0x11", "f", "a.c:7"));
	no_bug("==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ff (pc 0x1)\n" AT(
	    0, "0x11", "f", "a.c:7") AT(1, "0x22", "g", "a.c:8"));
}

/* --- the place -------------------------------------------------------------- */

static struct crash_place place(const char *text)
{
	struct crash_report r = parse(text);
	struct crash_place p;

	crash_place_of(&r, &p);
	crash_report_done(&r);
	return p;
}

static void same_place(const char *a, const char *b, bool same)
{
	struct crash_place pa = place(a), pb = place(b);

	if (!pa.at[0] || !pb.at[0])
		fail_msg("no place in:\n%s\nor:\n%s", a, b);
	if ((strcmp(pa.at, pb.at) == 0) != same)
		fail_msg("%s place in:\n%s\nand:\n%s", same ? "not one" : "one", a, b);
}

#define INDEX	"/src/lex.c:7:3: runtime error: index 9 out of bounds for type 'int[8]'\n"
#define DIVIDED "/src/lex.c:7:3: runtime error: division by zero\n"
#define ADDED                                                                               \
	"/src/lex.c:7:3: runtime error: signed integer overflow: 2147483647 + 1 cannot be " \
	"represented in type 'int'\n"
#define FPE	  "==1==ERROR: AddressSanitizer: FPE on unknown address 0x5 (pc 0x5 T0)\n"
#define ABORTED	  "==1==ERROR: AddressSanitizer: ABRT on unknown address 0x5 (pc 0x5 T0)\n"
#define UNWRITTEN "==1==WARNING: MemorySanitizer: use-of-uninitialized-value\n"
#define NO_BOOL                                                                                \
	"/src/lex.c:7:3: runtime error: load of value 9, which is not a valid value for type " \
	"'bool'\n"
#define NEXT AT(0, "0x11", "next", "lex.c:7:3")

static void two_sanitizers_see_one_place(void **state)
{
	(void)state;
	same_place(OVER READ NEXT, INDEX AT(0, "0x99", "next", "other/lex.c:7:9"), true);
	same_place(FPE NEXT, DIVIDED NEXT, true);
	same_place(UNWRITTEN NEXT, NO_BOOL NEXT, true);
	same_place(DEADLY NEXT, ABORTED NEXT, true);
	/* A build may inline a function, and another may not. */
	same_place(OVER READ NEXT AT(1, "0x11", "sum", "parse.c:9"), INDEX NEXT, true);
	/* Another line, function, file or family is another bug. */
	same_place(OVER READ NEXT, INDEX AT(0, "0x11", "next", "lex.c:8:3"), false);
	same_place(OVER READ NEXT, INDEX AT(0, "0x11", "other", "lex.c:7:3"), false);
	same_place(OVER READ NEXT, INDEX AT(0, "0x11", "next", "lexer.c:7:3"), false);
	same_place(OVER READ NEXT, DIVIDED NEXT, false);
	same_place(OVER READ NEXT, UNWRITTEN NEXT, false);
}

static void no_place(const char *text)
{
	if (place(text).at[0])
		fail_msg("a place in:\n%s", text);
}

static void what_one_sanitizer_sees_has_no_place(void **state)
{
	(void)state;
	no_place(ADDED NEXT);
	no_place(OVER READ "    #0 0x11 in next (/bin/x+0x11)\n");
	no_place(OVER READ);
	no_place("==1== ERROR: libFuzzer: timeout after 2 seconds\n" NEXT);
}

static void callers_are_compared_by_function_and_file(void **state)
{
	struct crash_place a = place(OVER READ NEXT AT(1, "0x22", "sum", "parse.c:9:1"));
	struct crash_place b = place(INDEX NEXT AT(1, "0x33", "sum", "parse.c:11:1"));
	struct crash_place c = place(INDEX NEXT AT(1, "0x33", "list", "parse.c:9:1"));

	(void)state;
	assert_string_equal(a.caller, b.caller);
	assert_string_not_equal(a.caller, c.caller);
	assert_string_equal(place(INDEX NEXT).caller, "");
	assert_string_not_equal(place(INDEX NEXT HARNESS).caller, "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_sanitizers_see_one_place),
    cmocka_unit_test(what_one_sanitizer_sees_has_no_place),
    cmocka_unit_test(callers_are_compared_by_function_and_file),
    cmocka_unit_test(a_bug_is_a_class_at_a_place),
    cmocka_unit_test(a_failure_without_a_place_has_no_bug),
    cmocka_unit_test(what_differs_from_run_to_run),
    cmocka_unit_test(five_names_and_recursion_once),
    cmocka_unit_test(builds_of_rust_agree),
    cmocka_unit_test(compilers_agree),
    cmocka_unit_test(a_fault_is_a_fault),
    cmocka_unit_test(memory_errors_of_one_direction),
    cmocka_unit_test(signatures_stay),
    cmocka_unit_test(stack_overflows_by_their_cycle),
    cmocka_unit_test(races_from_either_side),
    cmocka_unit_test(leaks_by_their_allocation),
    cmocka_unit_test(targets_stand_in),
    cmocka_unit_test(words_stand_in),
    cmocka_unit_test(raw_keys),
    cmocka_unit_test(raw_keys_of_builds),
    cmocka_unit_test(raw_keys_of_threads),
    cmocka_unit_test(raw_keys_of_overflows_and_races),
    cmocka_unit_test(raw_keys_only_of_places),
    cmocka_unit_test(never_as_with_symbols),
    cmocka_unit_test(reports_of_the_engine),
};

UNIT_MAIN(tests)
