/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/crash/report/report.h"
#include "runner/publish/render/render.h"

#include <stdio.h>

#define SIG "0123456789abcdef"

/* Texts that a test must free. */
static char *kept[64];
static size_t n_kept;

static char *text(const char *s)
{
	char *p = xstrdup(s);

	assert_non_null(p);
	assert_true(n_kept < 64);
	kept[n_kept++] = p;
	return p;
}

static int forget(void **state)
{
	(void)state;
	while (n_kept > 0)
		free(kept[--n_kept]);
	return 0;
}

#define CASE(f) cmocka_unit_test_teardown(f, forget)

static struct known_crash a_crash(void)
{
	struct known_crash c = {
	    .signature = text(SIG),
	    .fuzzer = text("png_fuzzer"),
	    .crash_type = text("Heap-use-after-free\nREAD 4"),
	    .kind = text("asan"),
	    .access = text("read"),
	    .signal = text("SIGSEGV"),
	    .top_frame = text("ns::f<int>"),
	    .state = LEDGER_NEW,
	    .first_seen = {1700000000, text("c0ffee"), text("r1")},
	    .last_seen = {1700003600, text("deadbeef"), text("r2")},
	    .fixed = {0, text(""), text("")},
	    .count = 7,
	    .crash_file = text("crashes/" SIG "/input"),
	    .minimized = text("crashes/" SIG "/minimized"),
	    .severity = text("high"),
	    .security = true,
	    .issue_url = text(""),
	    .similar = text("feedfeedfeedfeed"),
	};

	c.reproduction.tries = 4;
	c.reproduction.hits = 3;
	return c;
}

static struct render_crash of(const struct known_crash *c)
{
	return (struct render_crash){.crash = c, .name = SIG, .inline_bytes = 4096};
}

/* As publish fills it in: with the line that the parser found. */
static void set_report(struct render_crash *r, struct slice text)
{
	static char headline[256];
	struct crash_options o = {0};
	struct crash_report parsed;

	crash_parse(text, &o, &parsed);
	snprintf(headline, sizeof(headline), "%s", parsed.headline);
	crash_report_done(&parsed);
	r->report = text;
	r->headline = headline;
}

static void check(const struct buf *got, const char *want)
{
	assert_false(got->full);
	assert_string_equal(buf_str(got), want);
}

static void check_title(const struct render_crash *r, const char *want)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);

	render_title(r, &b);
	check(&b, want);
}

static void test_title(void **state)
{
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	char long_name[1025];

	(void)state;
	check_title(
	    &r, "Fuzzing crash: png_fuzzer \xe2\x80\x94 Heap-use-after-free READ 4 in ns::f<int>");
	c.top_frame = text("");
	check_title(&r, "Fuzzing crash: png_fuzzer \xe2\x80\x94 Heap-use-after-free READ 4");
	c.top_frame = text("f@@GLIBC `x`\n\x1b[31m\xff\xe2\x80\xae");
	check_title(&r, "Fuzzing crash: png_fuzzer \xe2\x80\x94 Heap-use-after-free READ 4 in "
			"f(at)(at)GLIBC 'x' \\x1b[31m\\xff\\u202e");
	r.redacted = true;
	check_title(&r, "Fuzzing crash: png_fuzzer \xe2\x80\x94 security-relevant, " SIG);
	r.redacted = false;
	memset(long_name, '@', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	c.fuzzer = c.crash_type = c.top_frame = text(long_name);
	render_title(&r, &b);
	assert_false(b.full);
	assert_true(b.n <= RENDER_TITLE_MAX);
}

static const char report[] =
    "INFO: Seed: 1\n"
    "=================\n"
    "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000052 "
    "at pc 0x1 bp 0x2 sp 0x3\n"
    "READ of size 4 at 0x602000000052 thread T0\n"
    "    #0 0x1 in ns::f<int> /src/f.c:1:2\n"
    "SUMMARY: AddressSanitizer: heap-use-after-free\n";

/* The whole text, byte for byte. */
static void test_body(void **state)
{
	static const char want[] =
	    "<!-- fuzzcell-signature: " SIG " -->\n"
	    "## Fuzzing crash report\n"
	    "\n"
	    "**Fuzzer:** `png_fuzzer`\n"
	    "**Crash type:** `Heap-use-after-free READ 4` (`SIGSEGV`)\n"
	    "**Where:** `ns::f<int>`\n"
	    "**Severity:** high, security-relevant\n"
	    "**Found by:** AddressSanitizer\n"
	    "**Reproduces:** 3 of 4 times\n"
	    "**Commit:** `c0ffee`\n"
	    "**Date:** 2023-11-14T22:13:20Z\n"
	    "**Seen:** 7 times, last 2023-11-14T23:13:20Z\n"
	    "**Crash:** `" SIG "`\n"
	    "**Likely the same as:** `feedfeedfeedfeed`\n"
	    "\n"
	    "### Stack trace\n"
	    "\n"
	    "```text\n"
	    "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000052 at pc 0x1 "
	    "bp 0x2 sp 0x3\n"
	    "READ of size 4 at 0x602000000052 thread T0\n"
	    "    #0 0x1 in ns::f<int> /src/f.c:1:2\n"
	    "SUMMARY: AddressSanitizer: heap-use-after-free\n"
	    "```\n"
	    "\n"
	    "<!-- reproducer -->\n"
	    "\n"
	    "### Reproducer\n"
	    "\n"
	    "7 bytes, made smaller, SHA-1 `32a42957dae220be21890935880230f308118d20`.\n"
	    "\n"
	    "```text\n"
	    "<a>\n"
	    "ok\n"
	    "```\n"
	    "\n"
	    "```sh\n"
	    "base64 -d >reproducer <<'END'\n"
	    "PGE+Cm9rCg==\n"
	    "END\n"
	    "```\n"
	    "<!-- end of reproducer -->\n"
	    "\n"
	    "### Reproduction\n"
	    "\n"
	    "By hand:\n"
	    "\n"
	    "```sh\n"
	    "git checkout c0ffee\n"
	    "make png_fuzzer\n"
	    "out/png_fuzzer reproducer\n"
	    "```\n"
	    "\n"
	    "On the machine that fuzzes, in a cell:\n"
	    "\n"
	    "```sh\n"
	    "fuzzcell crash show " SIG "\n"
	    "fuzzcell crash reproduce " SIG "\n"
	    "```\n"
	    "\n"
	    "### Fuzzer stats\n"
	    "\n"
	    "- Executions: 1000\n"
	    "- Coverage: 14 edges\n"
	    "- Corpus size: 32 inputs\n"
	    "\n"
	    "---\n"
	    "Filed by fuzzcell. Add the label `ignore` to hear no more of this crash, or the "
	    "label `wrong` to keep fuzzcell from closing this issue.\n";
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	set_report(&r, slice_of(report));
	r.input = SLICE("<a>\nok\n");
	r.input_bytes = 7;
	r.minimized = true;
	r.build = "make png_fuzzer";
	r.binary = "out/png_fuzzer";
	r.stats.known = true;
	r.stats.execs = 1000;
	r.stats.cov = 14;
	r.stats.corpus = 32;
	render_body(&r, &b);
	check(&b, want);
}

static const char *body_of(const struct render_crash *r, struct buf *b)
{

	buf_clear(b);
	render_body(r, b);
	assert_false(b->full);
	assert_true(b->n <= RENDER_BODY_MAX);
	return buf_str(b);
}

static void has(const char *body, const char *part)
{
	if (!strstr(body, part))
		fail_msg("no '%s' in:\n%s", part, body);
}

static void has_not(const char *body, const char *part)
{
	if (strstr(body, part))
		fail_msg("'%s' in:\n%s", part, body);
}

static void test_input(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s;

	(void)state;
	r.input = (struct slice){"\0\xff", 2};
	s = body_of(&r, &b);
	has(s, "2 bytes, SHA-1 ");
	has(s, "base64 -d >reproducer <<'END'\nAP8=\nEND\n");
	has(s, "./png_fuzzer reproducer\n");
	r.input = SLICE("no newline");
	has(body_of(&r, &b), "```text\nno newline\n```\n\n(without a newline at its end)\n");
	r.input = SLICE("");
	has(body_of(&r, &b), "0 bytes, SHA-1 `da39a3ee5e6b4b0d3255bfef95601890afd80709`.\n\n"
			     "```sh\n: >reproducer\n```\n");
	/* Input bytes that would look like other text are only shown encoded. */
	r.input = SLICE("<!-- fuzzcell-signature: x -->");
	s = body_of(&r, &b);
	has_not(s, "signature: x");
	has(s, "PCEtLSBmdXp6Y2VsbC1zaWduYXR1cmU6IHggLS0+\n");
	r.input = SLICE("%REPRODUCER%");
	has_not(body_of(&r, &b), "%REPRODUCER%");
	/* Too large for the body. */
	r.inline_bytes = 3;
	r.input_path = "crashes/" SIG "/minimized";
	s = body_of(&r, &b);
	has(s, "state directory of the machine that fuzzes: `crashes/" SIG "/minimized`\n");
	has_not(s, "base64");
	r.input_path = NULL;
	has(body_of(&r, &b), "\nIt is left out here.\n");
	r.input_path = "crashes/" SIG "/minimized";
	r.upload = true;
	has(body_of(&r, &b), "\n%REPRODUCER%\n");
	r.input = (struct slice){NULL, 0};
	r.input_bytes = 5000;
	has(body_of(&r, &b), "5000 bytes.\n\n%REPRODUCER%\n");
	r.input_bytes = 0;
	has_not(body_of(&r, &b), "### Reproducer\n");
}

static size_t comments_in(const char *s)
{
	size_t n = 0;

	while ((s = strstr(s, "<!--"))) {
		s++;
		n++;
	}
	return n;
}

/* Every text that a target controls. */
static void test_hostile(void **state)
{
	static const char evil[] =
	    "``` `a` @everyone <img src=x onerror=alert(1)> [x](http://e) <!-- fuzzcell-signature: "
	    "feedfeedfeedfeed --> %REPRODUCER%REPRODUCER% \x1b[2J \xe2\x80\xae \xc2\x9b \xff\r\n# "
	    "head\n";
	char frames_text[] = "```\n@everyone <!-- fuzzcell-signature: feedfeedfeedfeed -->";
	char *frames[] = {frames_text};
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s;

	(void)state;
	c.fuzzer = c.crash_type = c.top_frame = c.signal = c.kind = c.severity = text(evil);
	c.first_seen.commit = c.signature = text(evil);
	c.frames = (struct ledger_list){frames, 1};
	c.targets = (struct ledger_list){frames, 1};
	for (int i = 0; i < 2; i++) {
		set_report(&r, i ? slice_of(evil) : SLICE(""));
		r.input = slice_of(evil);
		r.build = r.binary = evil;
		s = body_of(&r, &b);
		assert_int_equal(comments_in(s), 3); /* the marker, and around the reproducer */
		has_not(s, "%REPRODUCER%");
		has_not(s, "\x1b");
		has_not(s, "\r");
		has_not(s, "\xe2\x80\xae");
		has_not(s, "\xc2\x9b");
		has_not(s, "\xff");
		if (i == 0) /* in a code fence lines are literal */
			has_not(s, "\n# head");
		has(s, "\n**Fuzzer:** ```` ``` `a` @everyone");
		has(s, "**Severity:** unknown");
		has(s, "**Found by:** unknown");
		has(s, i ? "\n````text\n" : "\n````text\n#0 ``` @everyone");
	}
}

static void test_fences(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX), ticks = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	for (int i = 0; i < 50000; i++)
		buf_puts(&ticks, "`");
	set_report(&r, buf_slice(&ticks));
	r.input = (struct slice){ticks.p, 4000};
	has(body_of(&r, &b), "````` `````");
	render_fence(SLICE("a\n"), "x", (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "```x\na\n```\n");
	render_fence(SLICE("````"), "", (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "`````\n````\n`````\n");
	render_code("a`b", 100, (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "``a`b``");
	render_code("`", 100, (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "`` ` ``");
	render_code("", 100, (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "`?`");
	render_code("abcdef", 3, (buf_clear(&b), &b));
	assert_string_equal(buf_str(&b), "`abc...`");
}

static void test_long_report(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX), big = BUF_INIT(64 << 20);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s;

	(void)state;
	buf_puts(&big, report);
	for (int i = 0; i < 200000; i++)
		buf_printf(&big, "line %d of noise\n", i);
	buf_puts(&big, "the last line\n");
	set_report(&r, buf_slice(&big));
	s = body_of(&r, &b);
	has(s, "```text\n==1==ERROR: AddressSanitizer");
	has(s, " bytes left out ...]\n");
	has(s, "the last line\n```\n");
	has(s, "### Reproduction");
	has(s, "Filed by fuzzcell");
	/* Only bytes that must be escaped. */
	memset(big.p, 0xff, big.n);
	s = body_of(&r, &b);
	has(s, "\\xff\\xff");
	has(s, "Filed by fuzzcell");
}

static void test_state_dir(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s;

	(void)state;
	r.hide.state_dir = "/var/lib/fuzz";
	set_report(&r, SLICE("open /var/lib/fuzz/work/x failed\n"));
	r.binary = "/var/lib/fuzz/bin/x";
	s = body_of(&r, &b);
	has_not(s, "/var/lib");
	has(s, "open .../work/x failed\n");
}

/* Paths of the building machine become paths of the repository. */
static void test_source_dir(void **state)
{
	static const struct {
		const char *report, *want;
	} v[] = {
	    {"#0 f /src/demo/a.c:3", "#0 f ./a.c:3"},
	    {"cc -I/src/demo/include '/src/demo'", "cc -I./include '.'"},
	    {"/work/SDL/src/demo/a.c", "/work/SDL/src/demo/a.c"},
	    {"/src/demo/src/demo/a.c", "./src/demo/a.c"},
	    {"/src/demo/state/x", ".../x"}, /* the state directory lies in it */
	    {"/src/demo2/a.c /src/demo.d /src/demo_x", "/src/demo2/a.c /src/demo.d /src/demo_x"},
	    {"/old/src/demo/a.c ./src/demo/a.c x//src/demo",
	     "/old/src/demo/a.c ./src/demo/a.c x//src/demo"},
	};
	const struct render_hide hide = {"/src/demo/state", "/src/demo"};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);

		render_clean(slice_of(v[i].report), RENDER_LINES, &hide, &b);
		check(&b, v[i].want);
	}
}

/* The text links to the line, at the commit of the failure. */
static void test_places(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	r.places[0] = (struct render_place){"src/a b.c", 12};
	r.places[1] = (struct render_place){"src/`x`.c", 0};
	r.n_places = 2;
	r.clean_at = "beef01";
	r.built_of = "c0ffee";
	r.link = "https://host/o/n/blob/{commit}/{path}#L{line}";
	has(body_of(&r, &b), "**In the sources:** [`src/a b.c:12`](https://host/o/n/blob/c0ffee/"
			     "src/a%20b.c#L12), called from ``src/`x`.c``\n");
	has(body_of(&r, &b), "**Last commit that was fuzzed without it:** `beef01`\n");
	r.link = NULL;
	has(body_of(&r, &b), "**In the sources:** `src/a b.c:12`, called from");
	/* Without a commit there is nothing to link to. */
	r.link = "https://host/{commit}/{path}";
	r.built_of = "HEAD";
	has(body_of(&r, &b), "**In the sources:** `src/a b.c:12`, called from");
	r.redacted = true;
	has_not(body_of(&r, &b), "src/");
	has_not(body_of(&r, &b), "beef01");
}

/* The commands for a developer: the sources and the build of the failure, and the sanitizers'
 * options.  Options that only a cell needs, and facts about the fuzzing machine, are left out. */
static void test_commands(void **state)
{
	static const char *const env[] = {
	    "PATH=/usr/bin",
	    "ASAN_OPTIONS=detect_leaks=1:exitcode=76:log_path=stderr:symbolize=1:external_"
	    "symbolizer_path="
	    "\001s",
	    "UBSAN_OPTIONS=print_stacktrace=1:color=never:halt_on_error=1",
	    "MSAN_OPTIONS=halt_on_error=1",
	    "LSAN_OPTIONS=print_suppressions=0",
	    NULL};
	static const char *const argv[] = {"./", "-timeout=5", "-x=it's", "reproducer", NULL};
	static const struct {
		const char *kind, *want;
	} v[] = {
	    {"ubsan", "ASAN_OPTIONS=detect_leaks=1 \\\n\t"
		      "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \\\n\t"},
	    {"asan", "ASAN_OPTIONS=detect_leaks=1 \\\n\t"
		     "UBSAN_OPTIONS=print_stacktrace=1 \\\n\t"},
	    {"msan", "UBSAN_OPTIONS=print_stacktrace=1 \\\n\t"
		     "MSAN_OPTIONS=halt_on_error=1 \\\n\t"},
	    {"lsan", "ASAN_OPTIONS=detect_leaks=1 \\\n\t"},
	};
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	r.hide.state_dir = "/var/lib/fuzz";
	r.env = env;
	r.argv = argv;
	r.binary = "./t";
	r.build = "make t";
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char want[400];

		c.kind = (char *)(uintptr_t)v[i].kind;
		snprintf(want, sizeof(want),
			 "```sh\ngit checkout c0ffee\nmake t\n%s./t -timeout=5 -'x=it'\\''s' "
			 "reproducer\n```\n",
			 v[i].want);
		has(body_of(&r, &b), want);
	}
	has(body_of(&r, &b), "fuzzcell crash show " SIG "\nfuzzcell crash reproduce " SIG "\n");
	has_not(body_of(&r, &b), "--state-dir");
	c.first_seen.commit = (char *)(uintptr_t) "v1; reboot";
	has_not(body_of(&r, &b), "git checkout");
}

/* Side files come from the target: quotes, other separators, and more text than an issue holds. */
static void test_hostile_options(void **state)
{
	static char endless[20000];
	const char *env[] = {
	    "ASAN_OPTIONS=strip_path_prefix=\"a:b c\":exitcode=76,suppressions=/srv/me/x "
	    "y=it's:log_path=/srv/me/log:x=1",
	    endless, NULL};
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	memset(endless, 'a', sizeof(endless) - 1);
	memcpy(endless, "LSAN_OPTIONS=", 13);
	r.env = env;
	has(body_of(&r, &b), "ASAN_OPTIONS='strip_path_prefix=\"a:b c\":y=it'\\''s:x=1' \\\n");
	has_not(body_of(&r, &b), "/srv/me");
	memcpy(endless, "UBSAN_OPTIONS=", 14);
	has(body_of(&r, &b), "reproducer\n```");
	has_not(body_of(&r, &b), "ASAN_OPTIONS");
}

/* The most important facts come first, and the rest is folded. */
static void test_folded(void **state)
{
	static const char whole[] =
	    "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000052 at pc 0x1 "
	    "bp 0x2 sp 0x3\n"
	    "READ of size 4 at 0x602000000052 thread T0\n"
	    "    #0 0x1 in f /src/f.c:1:2\n"
	    "    #1 0x1 in LLVMFuzzerTestOneInput /src/h.c:3:2\n"
	    "    #2 0x1 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned long) "
	    "(/t+1)\n"
	    "    #3 0x1 in __libc_start_call_main "
	    "csu/../sysdeps/nptl/libc_start_call_main.h:58:16\n"
	    "\n"
	    "SUMMARY: AddressSanitizer: heap-use-after-free /src/f.c:1:2 in f\n"
	    "Shadow bytes around the buggy address:\n"
	    "  0x0c047fff7fb0: 00 00\n"
	    "=>0x0c047fff8000: fa fa[fd]fa\n"
	    "Shadow byte legend (one shadow byte represents 8 application bytes):\n"
	    "  Addressable:           00\n"
	    "==1==ABORTING\n"
	    "MS: 1 ChangeBit-; base unit: 0\n"
	    "0x61,0x62,\n"
	    "artifact_prefix='/work/artifacts/'; Test unit written to /work/artifacts/crash-1\n"
	    "Base64: YWI=\n";
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s, *folded;

	(void)state;
	set_report(&r, SLICE(whole));
	s = body_of(&r, &b);
	has(s, "### Stack trace\n\n```text\n==1==ERROR: AddressSanitizer: heap-use-after-free on "
	       "address "
	       "0x602000000052 at pc 0x1 bp 0x2 sp 0x3\n"
	       "READ of size 4 at 0x602000000052 thread T0\n"
	       "    #0 0x1 in f /src/f.c:1:2\n"
	       "    #1 0x1 in LLVMFuzzerTestOneInput /src/h.c:3:2\n"
	       "\n"
	       "SUMMARY: AddressSanitizer: heap-use-after-free /src/f.c:1:2 in f\n"
	       "==1==ABORTING\n"
	       "```\n"
	       "\n<details><summary>The whole report</summary>\n");
	folded = strstr(s, "<details>");
	has(folded, "Shadow byte legend");
	has(folded, "fuzzer::Fuzzer::ExecuteCallback");
	has(folded, "Base64: YWI=\n```\n\n</details>\n");
}

static void test_redacted(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);
	const char *s;

	(void)state;
	r.redacted = true;
	set_report(&r, slice_of(report));
	r.input = SLICE("secret");
	s = body_of(&r, &b);
	has(s, "<!-- fuzzcell-signature: " SIG " -->\n");
	has(s, "security-relevant: its type, its stack and its input are not published");
	has(s, "fuzzcell crash show " SIG "\n");
	has_not(s, "Heap");
	has_not(s, "READ");
	has_not(s, "ns::f");
	has_not(s, "secret");
	has_not(s, "c2VjcmV0");
	has_not(s, "SIGSEGV");
	has_not(s, "### ");
}

static void test_rates(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	c.reproduction.hits = 0;
	has(body_of(&r, &b), "**Reproduces:** never in 4 replays\n");
	c.reproduction.tries = 0;
	has(body_of(&r, &b), "**Reproduces:** not measured\n");
	c.first_seen.time = 0;
	has(body_of(&r, &b), "**Date:** unknown\n");
	c.count = 1;
	has_not(body_of(&r, &b), "**Seen:**");
}

static void test_comments(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX);
	struct known_crash c = a_crash();
	struct render_crash r = of(&c);

	(void)state;
	render_comment(&r, RENDER_AGAIN, &b);
	check(&b,
	      "This crash is still there: it was seen again on commit `deadbeef` "
	      "(2023-11-14T23:13:20Z).\n\nSeen 7 times in all. Its input fails 3 of 4 times.\n");
	c.fixed = (struct ledger_seen){1700001000, text("f1xed"), text("r2")};
	buf_clear(&b);
	render_comment(&r, RENDER_FIXED, &b);
	check(&b,
	      "This crash is fixed: its inputs pass on commit `f1xed` (2023-11-14T22:30:00Z), so "
	      "often that chance is no explanation. They are run again in every later run.\n");
	buf_clear(&b);
	render_comment(&r, RENDER_REGRESSED, &b);
	check(&b,
	      "This crash came back: it was seen again on commit `deadbeef` "
	      "(2023-11-14T23:13:20Z); it was found fixed on commit `f1xed` "
	      "(2023-11-14T22:30:00Z).\n\nSeen 7 times in all. Its input fails 3 of 4 times.\n");
}

static const struct CMUnitTest tests[] = {
    CASE(test_title),  CASE(test_body),	       CASE(test_input),     CASE(test_hostile),
    CASE(test_fences), CASE(test_long_report), CASE(test_state_dir), CASE(test_source_dir),
    CASE(test_places), CASE(test_redacted),    CASE(test_commands),  CASE(test_hostile_options),
    CASE(test_folded), CASE(test_rates),       CASE(test_comments),
};

UNIT_MAIN(tests)
