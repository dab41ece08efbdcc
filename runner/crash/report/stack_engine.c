/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/stack.h"
#include "runner/crash/report/text.h"

/* Finds the engine's frames in a stack without names.  They differ between fuzzing, reading the
 * corpus, merging and running a single file.  Their addresses identify them: linkers place the
 * engine's objects as one block between the program's start and main(), or just behind main().  If
 * this is not decidable (another engine, a static program, a stack that was cut), no frame is
 * removed. */

enum {
	ENGINE_LEAST = 3,	   /* main, FuzzerDriver, ExecuteCallback */
	ENGINE_MOST = 8,	   /* with Loop, ReadAndExecuteSeedCorpora, RunOne */
	ENGINE_BEFORE = 0x100000,  /* bytes of code before main() */
	ENGINE_SIZE = 0x80000,	   /* if the program's start is not known */
	ENGINE_BEHIND = 0x10000,   /* and behind it: merging */
	ENGINE_REPORTER = 0x40000, /* and its signal handler */
	LIBC_MOST = 4,		   /* frames of libc below main() */
};

struct place {
	struct slice module;
	uint64_t offset;
};

struct bottom {
	struct slice module;	  /* of the program */
	uint64_t lowest, main_at; /* offsets */
	size_t main_frame;
};

static struct place stack_engine_place_of(const struct stack *s, size_t i)
{
	struct frame f;

	stack_frame(s, i, &f);
	return (struct place){f.has_offset ? f.module : (struct slice){"", 0}, f.offset};
}

static bool has_names(const struct stack *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct frame f;

		stack_frame(s, i, &f);
		if (f.function.n > 0)
			return true;
	}
	return false;
}

static bool is_libc(struct slice module)
{
	module = text_basename(module);
	return text_begins(module, SLICE("libc.so")) || text_begins(module, SLICE("libc-2.")) ||
	       text_begins(module, SLICE("ld-musl"));
}

/* Finds the bottom "... main, libc, libc, _start", or "... main, libc" by frame pointers.  A thread
 * ends in two frames of libc, or in one below the sanitizer's, which is far from the rest. */
static bool find_bottom(const struct stack *s, struct bottom *ret)
{
	struct place start = {0}, at;
	size_t i, libc = 0;

	if (s->n < ENGINE_LEAST + 1 || s->total != s->n)
		return false;
	i = s->n - 1;
	at = stack_engine_place_of(s, i);
	if (!is_libc(at.module)) {
		start = at;
		at = stack_engine_place_of(s, --i);
	}
	for (; i > 0 && is_libc(at.module) && libc <= LIBC_MOST; libc++)
		at = stack_engine_place_of(s, --i);
	if (libc == 0 || libc > LIBC_MOST || at.module.n == 0)
		return false;
	*ret = (struct bottom){at.module, 0, at.offset, i};
	if (start.module.n > 0) {
		ret->lowest = start.offset;
		return slice_eq(start.module, at.module) && start.offset < at.offset &&
		       at.offset - start.offset < ENGINE_BEFORE;
	}
	ret->lowest = at.offset > ENGINE_SIZE ? at.offset - ENGINE_SIZE : 0;
	return libc == 1;
}

static bool in_engine(const struct stack *s, size_t i, const struct bottom *b, uint64_t behind)
{
	struct place at = stack_engine_place_of(s, i);

	return slice_eq(at.module, b->module) && at.offset >= b->lowest &&
	       at.offset <= b->main_at + behind;
}

void stack_application(const struct stack *s, bool by_engine, size_t *ret_begin, size_t *ret_end)
{
	struct bottom b;
	size_t end, n, begin = 0;

	*ret_begin = 0;
	*ret_end = s->n;
	if (has_names(s) || !find_bottom(s, &b))
		return;
	end = b.main_frame;
	while (end > 0 && in_engine(s, end - 1, &b, ENGINE_BEHIND))
		end--;
	n = b.main_frame + 1 - end;
	if (n < ENGINE_LEAST || n > ENGINE_MOST + (by_engine ? 2 : 0))
		return;
	/* The engine's own reports begin with the sanitizer's printer and with itself. */
	if (by_engine && end > 0 && slice_eq(stack_engine_place_of(s, 0).module, b.module))
		for (begin = 1; begin < end && in_engine(s, begin, &b, ENGINE_REPORTER);)
			begin++;
	if (!by_engine && end == 0)
		return;
	*ret_begin = begin;
	*ret_end = end;
}
