/* SPDX-License-Identifier: Apache-2.0 */
/* Names failures that an engine, a language's runtime or the C library reports. */
#include "runner/crash/report/internal.h"

/* --- engines and tools ----------------------------------------------------- */

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
	struct slice message;
	const char *type;
	enum crash_kind kind;
	bool always; /* also if another crash is known */
} marks[] = {
#define M(message, type, kind, always)                             \
	{                                                          \
		{message, sizeof(message) - 1}, type, kind, always \
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

		if ((verdict_known(p) && !m->always) || !text_has(l->text, m->message))
			continue;
		if (m->always) /* the report after it belongs to it */
			verdict_type(p, slice_of(m->type), m->kind, l->text);
		else
			verdict_new(p, m->type, m->kind, l->text);
	}
}

/* "AddressSanitizer: CHECK failed: asan_x.cpp:49 "cond" (0x0, 0x0)", without the first colon before
 * LLVM 13.  It is a bug of the tool, and its report ends there.  After an engine's report of memory
 * or time it is no crash of its own: the tool had no memory to read the stacks for that report. */
static bool on_tool_check(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, place;

	if (!words_has(l->words, WORDS_CHECK) || !words_has(l->words, WORDS_SANITIZER) ||
	    (!text_after(&in, SLICE("Sanitizer CHECK failed:")) &&
	     !text_after(&in, SLICE("Sanitizer: CHECK failed:"))))
		return false;
	if (verdict_is(p, "Out-of-memory") || verdict_is(p, "Timeout")) {
		p->v.ended = true;
		p->stack.at = p->other.at = STACK_DONE;
		return true;
	}
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

/* --- the C library and the C++ runtimes ------------------------------------ */

/* The last messages of glibc (2.26 to 2.39) and of the C++ runtimes before SIGABRT: they name the
 * failure, the signal does not. */

static const struct {
	struct slice begins;
	const char *name;
	enum crash_kind kind;
} words[] = {
#define W(text, name, kind)                          \
	{                                            \
		{text, sizeof(text) - 1}, name, kind \
	}
    W("*** stack smashing detected ***", "stack smashing", CRASH_ASSERT),
    W("*** buffer overflow detected ***", "buffer overflow", CRASH_ASSERT),
    W("terminate called after throwing ", "uncaught exception", CRASH_PANIC),
    W("terminate called without ", "uncaught exception", CRASH_PANIC),
    W("terminate called recursively", "uncaught exception", CRASH_PANIC),
    W("libc++abi: terminating", "uncaught exception", CRASH_PANIC),
    W("pure virtual method called", "pure virtual call", CRASH_PANIC),
    W("Pure virtual function called", "pure virtual call", CRASH_PANIC),
    W("libc++abi: Pure virtual function called", "pure virtual call", CRASH_PANIC),
    W("*** Error in `", "heap corruption", CRASH_ASSERT),
    W("double free or corruption", "heap corruption", CRASH_ASSERT),
    W("free(): invalid ", "heap corruption", CRASH_ASSERT),
    W("free(): double free", "heap corruption", CRASH_ASSERT),
    W("free(): corrupted", "heap corruption", CRASH_ASSERT),
    W("free(): unaligned ", "heap corruption", CRASH_ASSERT),
    W("free(): too many ", "heap corruption", CRASH_ASSERT),
    W("malloc(): corrupted ", "heap corruption", CRASH_ASSERT),
    W("malloc(): invalid ", "heap corruption", CRASH_ASSERT),
    W("malloc(): unaligned ", "heap corruption", CRASH_ASSERT),
    W("malloc(): mismatching ", "heap corruption", CRASH_ASSERT),
    W("malloc(): memory corruption", "heap corruption", CRASH_ASSERT),
    W("malloc(): unsorted double ", "heap corruption", CRASH_ASSERT),
    W("malloc(): smallbin double ", "heap corruption", CRASH_ASSERT),
    W("malloc(): largebin double ", "heap corruption", CRASH_ASSERT),
    W("malloc_consolidate(): ", "heap corruption", CRASH_ASSERT),
    W("realloc(): invalid ", "heap corruption", CRASH_ASSERT),
    W("munmap_chunk(): invalid pointer", "heap corruption", CRASH_ASSERT),
    W("mremap_chunk(): invalid pointer", "heap corruption", CRASH_ASSERT),
    W("corrupted size vs. prev_size", "heap corruption", CRASH_ASSERT),
    W("corrupted double-linked list", "heap corruption", CRASH_ASSERT),
#undef W
};

/* Adds s up to the first part that may come from the input: a number, a quote. */
static void add_thrown(struct crash_parser *p, struct slice s)
{
	size_t at = strlen(p->v.thrown), n = 0;

	s = text_strip(s, "' ");
	while (n < s.n && !text_digit(s.p[n]) && !text_one_of(s.p[n], " '\"`(<"))
		n++;
	s.n = n;
	text_copy(p->v.thrown + at, sizeof(p->v.thrown) - at, s);
}

/* "terminate called after throwing an instance of 'std::out_of_range'" and, on a separate line,
 * "what():  vector::_M_range_check: ...".  libc++ prints both on one line.  The standard library's
 * messages begin with the function; the message of a runtime_error is the program's. */
static void note_thrown(struct crash_parser *p, struct slice in)
{
	if (text_after(&in, SLICE("throwing an instance of ")) ||
	    text_after(&in, SLICE("exception of type "))) {
		p->v.thrown[0] = '\0';
		add_thrown(p, in);
		if (!text_after(&in, SLICE(": ")))
			return;
	} else if (!text_after(&in, SLICE("what():  "))) {
		return;
	}
	if (text_begins(slice_of(p->v.thrown), SLICE("std::")) &&
	    !text_begins(slice_of(p->v.thrown), SLICE("std::runtime_error")))
		add_thrown(p, in);
}

bool kind_libc(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_LIBC) || verdict_known(p))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		/* Only the C library's messages begin with stars, so they also count behind half a
		 * line. */
		if (!text_begins(l->text, words[i].begins) &&
		    (words[i].begins.p[0] != '*' || !text_has(l->text, words[i].begins)))
			continue;
		if (p->stale)
			verdict_clear(p);
		/* "pure virtual method called" is followed by "terminate called". */
		if (!p->v.libc_message[0]) {
			text_copy(p->v.libc_message, sizeof(p->v.libc_message),
				  slice_of(words[i].name));
			text_copy(p->v.libc_line, sizeof(p->v.libc_line), text_trim(l->text));
			p->v.libc_kind = words[i].kind;
		}
		break;
	}
	note_thrown(p, l->text);
	return false;
}

/* --- other languages ------------------------------------------------------- */

/* Other languages' runtimes under libFuzzer: Jazzer (Java, JavaScript), Atheris (Python); kind_go.c
 * has Go.  Their frames have names only. */

bool kind_exception(struct crash_parser *p, const struct line *l)
{
	const char *type = "Uncaught exception";

	if (words_has(l->words, WORDS_PYTHON) &&
	    slice_eq(text_trim(l->text), SLICE("=== Uncaught Python exception: ==="))) {
		verdict_new(p, type, CRASH_PANIC, l->text);
		p->v.python = true;
	}
	if (!words_has(l->words, WORDS_EXCEPTION) || verdict_known(p) ||
	    !text_begins(text_trim(l->text), SLICE("==")))
		return false;
	if (words_has(l->words, WORDS_ISSUE))
		type = "Security exception";
	verdict_new(p, type, CRASH_PANIC, l->text);
	p->v.exception = true;
	return false;
}

/* "\tat com.a.B.c(B.java:3)", " at f (/x/a.ts:6:15)" */
static bool at_frame(struct crash_parser *p, struct slice line)
{
	struct slice in = text_trim(line), name;

	if (!scan_lit(&in, SLICE("at ")) || !text_ends(in, SLICE(")")))
		return false;
	name = in;
	if (!text_cut(&name, SLICE("(")))
		return false;
	state_name(p, text_trim(name));
	return true;
}

/* '  File "/x/a.py", line 3, in f', the innermost last: the state is reversed. */
static bool python_frame(struct crash_parser *p, struct slice line)
{
	struct slice in = text_trim(line), rest;
	char older[STATE_TEXT_MAX];
	size_t n;

	if (text_has(line, SLICE("=========")) || text_has(line, SLICE("== ERROR: "))) {
		p->v.ended = true;
		return true;
	}
	if (!scan_lit(&in, SLICE("File \"")) || !text_after(&in, SLICE("\", line ")) ||
	    !text_after(&in, SLICE(", in ")))
		return false;
	n = p->state.n;
	memcpy(older, p->state.text, n);
	state_clear(&p->state);
	state_name(p, text_first_word(in));
	rest = (struct slice){older, n};
	for (struct slice name; p->state.frames < CRASH_STATE_MAX && scan_line(&rest, &name);)
		state_name(p, name);
	return true;
}

bool kind_foreign_frame(struct crash_parser *p, struct slice line)
{
	if (!verdict_known(p))
		return false;
	if (p->v.python)
		return python_frame(p, line);
	if (p->v.exception)
		return at_frame(p, line);
	return p->v.go && kind_go_frame(p, line);
}
