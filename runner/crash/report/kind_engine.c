/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* libFuzzer's own reports, memory limits of all tools, and detectors that are built around
 * engines. */

/* Words that show a lack of memory only together with other words. */
static bool is_oom(struct slice s)
{
	if (text_has(s, SLICE("# Allocation failed")) || text_has(s, SLICE("couldnt allocate")))
		return text_has(s, SLICE("ut of memory"));
	if (text_has(s, SLICE("Sanitizer: requested allocation size")))
		return text_has(s, SLICE("exceeds maximum supported size"));
	if (text_has(s, SLICE("Sanitizer failed to allocate")))
		return text_has(s, SLICE("ERROR"));
	return true;
}

/* A single allocation that was too large has a stack.  If a limit was reached in small steps, only
 * the list of living allocations shows their origin. */
static void on_oom(struct crash_parser *p, const struct line *l)
{
	bool libfuzzer = text_has(l->text, SLICE("libFuzzer: out-of-memory ("));
	struct slice in = l->text;

	if (p->o.ignore_ooms_and_hangs) {
		verdict_clear(p);
		p->disabled = true;
		return;
	}
	verdict_new(p, "Out-of-memory",
		    words_has(l->words, WORDS_SANITIZER) && !libfuzzer ? CRASH_ASAN : CRASH_ENGINE,
		    l->text);
	/* "(used: 3183Mb; limit: 3000Mb)" or "(malloc(4278190080))" */
	if (text_after(&in, SLICE("out-of-memory (used: "))) {
		if (!scan_u64(&in, 10, UINT32_MAX, &p->v.used_mib))
			p->v.used_mib = 0;
		stack_restart(&p->stack, false);
	}
}

/* "2359368 byte(s) (99%) in 1 allocation(s)".  The first entry is the largest.  It is the site of
 * the shortage if it holds half of the heap and a quarter of the memory used. */
static void on_live(struct crash_parser *p, struct slice in)
{
	uint64_t bytes, percent;
	bool site;

	in = text_trim(in);
	if (!verdict_is(p, "Out-of-memory") || p->v.kind != CRASH_ENGINE || p->stack.n > 0 ||
	    !scan_u64(&in, 10, UINT64_MAX, &bytes) || !scan_lit(&in, SLICE(" byte(s) (")) ||
	    !scan_u64(&in, 10, 100, &percent))
		return;
	site = percent >= 50 && bytes >> 18 >= p->v.used_mib;
	if (p->stack.at == STACK_OFF || p->stack.at == STACK_WAIT)
		stack_restart(&p->stack, site);
	if (!site)
		p->stack.at = STACK_DONE; /* the smaller ones are not the site either */
}

static const struct mark {
	struct slice said;
	const char *type;
	enum crash_kind kind;
	bool always; /* also if another crash is known */
} marks[] = {
#define M(said, type, kind, always)                          \
	{                                                    \
		{said, sizeof(said) - 1}, type, kind, always \
	}
    M("ERROR: libFuzzer: deadly signal", "Fatal-signal", CRASH_ENGINE, false),
    M("ERROR: libFuzzer: fuzz target exited", "Unexpected-exit", CRASH_ENGINE, false),
    M("ERROR: libFuzzer: fuzz target overwrites its const input", "Overwrites-const-input",
      CRASH_ENGINE, false),
    M("GPU process exited unexpectedly", "GPU failure", CRASH_OTHER, false),
    M("===BUG DETECTED: Shell corruption===", "Command injection", CRASH_OTHER, true),
    M("===BUG DETECTED: Shell injection===", "Command injection", CRASH_OTHER, true),
    M("===BUG DETECTED: Arbitrary file open===", "Arbitrary file open", CRASH_OTHER, true),
    M("===BUG DETECTED: Arbitrary domain name resolution===", "Arbitrary DNS resolution",
      CRASH_OTHER, true),
    M("===BUG DETECTED: PySecSan:", "PySecSan", CRASH_OTHER, true),
#undef M
};

static void on_mark(struct crash_parser *p, const struct line *l)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *m = &marks[i];

		if ((verdict_known(p) && !m->always) || !text_has(l->text, m->said))
			continue;
		if (m->always) /* the report after it belongs to it */
			verdict_type(p, slice_of(m->type), m->kind, l->text);
		else
			verdict_new(p, m->type, m->kind, l->text);
	}
}

/* "AddressSanitizer: CHECK failed: asan_x.cpp:49 "cond" (0x0, 0x0)", without the first colon before
 * LLVM 13.  It is a bug of the tool, and its report ends there. */
static bool on_tool_check(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, place;

	if (!words_has(l->words, WORDS_CHECK) || !words_has(l->words, WORDS_SANITIZER) ||
	    (!text_after(&in, SLICE("Sanitizer CHECK failed:")) &&
	     !text_after(&in, SLICE("Sanitizer: CHECK failed:"))))
		return false;
	verdict_new(p, "Sanitizer CHECK failure", CRASH_OTHER, l->text);
	in = text_trim(in);
	place = text_first_word(in);
	text_skip(&in, place.n);
	in = text_trim(in);
	state_set(&p->state, in, CRASH_STATE_MAX);
	verdict_cause(p, text_first_word(in));
	p->v.ended = true;
	return true;
}

bool kind_detector(struct crash_parser *p, const struct line *l)
{
	if (words_has(l->words, WORDS_BUG))
		on_mark(p, l);
	return on_tool_check(p, l);
}

bool kind_engine(struct crash_parser *p, const struct line *l)
{
	if (words_has(l->words, WORDS_TIMEOUT) && !p->o.ignore_ooms_and_hangs)
		verdict_new(p, "Timeout", CRASH_ENGINE, l->text);
	if (words_has(l->words, WORDS_OOM) && is_oom(l->text))
		on_oom(p, l);
	if (words_has(l->words, WORDS_LIVE))
		on_live(p, l->text);
	if (words_has(l->words, WORDS_STACK_LIMIT))
		verdict_type(p, SLICE("Stack-overflow"), CRASH_ENGINE, l->text);
	if (words_has(l->words, WORDS_LIBFUZZER) && !p->disabled)
		on_mark(p, l);
	return p->disabled;
}

/* Chrome's handler: "Received signal 11 SEGV_MAPERR 000000000000" */
bool kind_received(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	char address[40] = "0x";
	size_t n = 0;

	if (!words_has(l->words, WORDS_SIGNAL) || verdict_known(p) ||
	    !scan_lit(&in, SLICE("Received signal 11 SEGV_")))
		return false;
	while (in.n > 0 && in.p[0] >= 'A' && in.p[0] <= 'Z')
		text_skip(&in, 1);
	if (!scan_lit(&in, SLICE(" ")))
		return false;
	while (n < in.n && n < 32 && text_hex(in.p[n]))
		n++;
	text_copy(address + 2, sizeof(address) - 2, (struct slice){in.p, n});
	verdict_new(p, "UNKNOWN", CRASH_SIGNAL, l->text);
	verdict_address(p, slice_of(address));
	text_copy(p->v.signal, sizeof(p->v.signal), SLICE("SIGSEGV"));
	return false;
}

/* "error while loading shared libraries: libx.so: cannot open shared object file" */
bool kind_missing(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, library;

	if (!words_has(l->words, WORDS_MISSING) || verdict_known(p) ||
	    !text_after(&in, SLICE("error while loading shared libraries: ")))
		return false;
	library = in;
	if (!text_cut(&library, SLICE(":")) ||
	    !text_has(in, SLICE(": cannot open shared object file")))
		return false;
	verdict_new(p, "Missing-library", CRASH_OTHER, l->text);
	state_set(&p->state, library, CRASH_STATE_MAX);
	verdict_cause(p, library);
	return false;
}

/* gdb: "Program received signal SIGSEGV, Segmentation fault." */
bool kind_gdb(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	size_t n = 0;

	if (!words_has(l->words, WORDS_SIGNAL) || !scan_lit(&in, SLICE("Program received signal ")))
		return false;
	while (n < in.n && in.p[n] >= 'A' && in.p[n] <= 'Z')
		n++;
	if (n == 0 || n > 12 || n == in.n || in.p[n] != ',')
		return false;
	verdict_reset(p);
	verdict_type(p, (struct slice){in.p, n}, CRASH_SIGNAL, l->text);
	text_copy(p->v.signal, sizeof(p->v.signal), (struct slice){in.p, n});
	return false;
}
