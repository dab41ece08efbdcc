/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the stacks of a report, and chooses the one of the crash. */
#include "base/memory.h"
#include "runner/crash/report/internal.h"

#include <stdio.h>

/* --- one stack ------------------------------------------------------------- */

void stack_restart(struct stack *s, bool want)
{
	s->at = want ? STACK_WAIT : STACK_OFF;
	s->last = 0;
	s->n = s->total = s->used = 0;
}

static void stack_put(struct stack *s, struct slice part)
{
	memcpy(s->text + s->used, part.p, part.n);
	s->used += part.n;
}

static void stack_keep(struct stack *s, struct slice line, uint64_t number)
{
	struct slice head = line, tail = {line.p + line.n, 0};

	s->at = STACK_IN;
	s->last = number;
	s->total++;
	if (line.n > STACK_LINE_MAX) {
		tail.n = STACK_LINE_MAX - STACK_LINE_HEAD;
		tail.p = line.p + line.n - tail.n;
		head.n = STACK_LINE_HEAD;
	}
	if (s->n == STACK_FRAMES_MAX || head.n + tail.n > STACK_TEXT_MAX - s->used)
		return;
	stack_put(s, head);
	stack_put(s, tail);
	s->ends[s->n++] = (uint32_t)s->used;
}

void stack_line(struct stack *s, struct slice line, bool is_frame, uint64_t number)
{
	if (s->at == STACK_OFF || s->at == STACK_DONE)
		return;
	if (is_frame) {
		if (s->at == STACK_GAP && number <= s->last)
			s->at = STACK_DONE;
		else
			stack_keep(s, line, number);
	} else if (s->at != STACK_WAIT) {
		s->at = text_trim(line).n == 0 ? STACK_DONE : STACK_GAP;
	}
}

void stack_frame(const struct stack *s, size_t i, struct frame *ret)
{
	size_t begin = i ? s->ends[i - 1] : 0;

	/* The whole line was a frame when it was kept; a line that was cut may not parse any
	 * more. */
	*ret = (struct frame){0};
	frame_parse((struct slice){s->text + begin, s->ends[i] - begin}, ret);
}

/* --- the engine's frames --------------------------------------------------- */

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

static struct place stack_place_of(const struct stack *s, size_t i)
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
	at = stack_place_of(s, i);
	if (!is_libc(at.module)) {
		start = at;
		at = stack_place_of(s, --i);
	}
	for (; i > 0 && is_libc(at.module) && libc <= LIBC_MOST; libc++)
		at = stack_place_of(s, --i);
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
	struct place at = stack_place_of(s, i);

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
	if (by_engine && end > 0 && slice_eq(stack_place_of(s, 0).module, b.module))
		for (begin = 1; begin < end && in_engine(s, begin, &b, ENGINE_REPORTER);)
			begin++;
	if (!by_engine && end == 0)
		return;
	*ret_begin = begin;
	*ret_end = end;
}

/* --- the application's frames ---------------------------------------------- */

static void stack_fill_frame(struct crash_frame *to, const struct frame *f)
{
	_Static_assert(sizeof(to->name) == FRAME_NAME_MAX, "filled by frame_name()");
	frame_name(f->function, to->name);
	frame_function(f->function, to->function, sizeof(to->function));
	text_copy(to->file, sizeof(to->file), f->file);
	text_copy(to->module, sizeof(to->module), f->module);
	text_copy(to->build_id, sizeof(to->build_id), f->build_id);
	to->line = f->line;
	to->column = f->column;
	to->offset = f->offset;
	to->pc = f->pc;
	to->number = (unsigned)f->number;
	to->has_function = f->function.n > 0;
}

/* The place of a shifted frame is in the next frame. */
static void stack_add_place(const struct stack *s, size_t i, const struct frame *f,
			    struct crash_frame *to)
{
	struct frame next;

	if (!f->earlier.here || i + 1 == s->n)
		return;
	stack_frame(s, i + 1, &next);
	if (!next.earlier.here)
		return;
	text_copy(to->file, sizeof(to->file), next.earlier.file);
	to->line = next.earlier.line;
	to->column = next.earlier.column;
}

static bool has_name(const struct crash_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (frames[i].has_function)
			return true;
	return false;
}

static size_t stack_take_frames(const struct stack *s, bool by_engine, enum frame_view view,
				struct crash_frame *to)
{
	size_t n = 0, i, end;

	stack_application(s, by_engine, &i, &end);
	for (; i < end && n < CRASH_FRAMES_MAX; i++) {
		struct frame f;

		stack_frame(s, i, &f);
		if (frame_is_harness(f.function) ||
		    ((f.function.n > 0 || f.module.n > 0) && !frame_ignored(&f, view))) {
			stack_fill_frame(&to[n], &f);
			stack_add_place(s, i, &f, &to[n++]);
		} else if (n > 0 && frame_ignored(&f, FRAME_VIEW_REPORTER) && !has_name(to, n)) {
			n = 0; /* frames without a name above it belong to the reporter */
		}
		if (frame_is_harness(f.function))
			break; /* the engine is below it */
	}
	return n;
}

struct crash_frame *report_stack(const struct stack *s, bool by_engine, size_t *ret_n)
{
	struct crash_frame *all = xcalloc(CRASH_FRAMES_MAX, sizeof(*all));
	size_t n;

	_Static_assert(sizeof(*all) * CRASH_FRAMES_MAX + sizeof(struct crash_report) < 1 << 18,
		       "report.h promises it");
	n = stack_take_frames(s, by_engine, FRAME_VIEW_OWN, all);
	if (n == 0)
		n = stack_take_frames(s, by_engine, FRAME_VIEW_WIDE, all);
	*ret_n = n;
	return xreallocarray(all, n, sizeof(*all));
}

static void set_top(struct crash_report *r)
{
	const struct crash_frame *f = r->frames;
	struct slice module;

	if (r->n_frames == 0)
		return;
	if (f->has_function) {
		text_copy(r->top_frame, sizeof(r->top_frame), slice_of(f->name));
		return;
	}
	module = text_basename(slice_of(f->module));
	if (module.n > 256)
		module.n = 256;
	snprintf(r->top_frame, sizeof(r->top_frame), "%.*s+0x%llx", (int)module.n, module.p,
		 (unsigned long long)f->offset);
}

/* libFuzzer does not print the signal's name; the frame that raised it shows it. */
static void stack_set_signal(const struct crash_parser *p, struct crash_report *r)
{
	for (size_t i = 0; i < p->stack.n && !r->signal[0]; i++) {
		struct frame f;

		stack_frame(&p->stack, i, &f);
		if (p->v.by_engine &&
		    (slice_eq(f.function, SLICE("abort")) || slice_eq(f.function, SLICE("raise")) ||
		     slice_eq(f.function, SLICE("gsignal"))))
			text_copy(r->signal, sizeof(r->signal), SLICE("SIGABRT"));
	}
}

void report_frames(const struct crash_parser *p, struct crash_report *r)
{
	r->frames = report_stack(&p->stack, p->v.by_engine, &r->n_frames);
	stack_set_signal(p, r);
	r->raw_frames = p->stack.total;
	r->unsymbolized = r->n_frames > 0;
	for (size_t i = 0; i < r->n_frames; i++)
		if (r->frames[i].has_function)
			r->unsymbolized = false;
	set_top(r);
}
