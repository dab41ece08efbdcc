/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

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
		if (!p->v.libc_said[0]) {
			text_copy(p->v.libc_said, sizeof(p->v.libc_said), slice_of(words[i].name));
			text_copy(p->v.libc_line, sizeof(p->v.libc_line), text_trim(l->text));
			p->v.libc_kind = words[i].kind;
		}
		break;
	}
	note_thrown(p, l->text);
	return false;
}
