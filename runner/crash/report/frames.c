/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/crash/report/internal.h"

#include <stdio.h>

/* The application's frames of the kept stack. */

static bool frames_is_harness(const struct frame *f)
{
	return text_begins(f->function, SLICE("LLVMFuzzerTestOneInput"));
}

static void frames_fill(struct crash_frame *to, const struct frame *f)
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
static void frames_add_place(const struct stack *s, size_t i, const struct frame *f,
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

static size_t frames_take(const struct stack *s, bool by_engine, enum frame_view view,
			  struct crash_frame *to)
{
	size_t n = 0, i, end;

	stack_application(s, by_engine, &i, &end);
	for (; i < end && n < CRASH_FRAMES_MAX; i++) {
		struct frame f;

		stack_frame(s, i, &f);
		if (frames_is_harness(&f) ||
		    ((f.function.n > 0 || f.module.n > 0) && !frame_ignored(&f, view))) {
			frames_fill(&to[n], &f);
			frames_add_place(s, i, &f, &to[n++]);
		} else if (n > 0 && frame_ignored(&f, FRAME_VIEW_REPORTER) && !has_name(to, n)) {
			n = 0; /* frames without a name above it belong to the reporter */
		}
		if (frames_is_harness(&f))
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
	n = frames_take(s, by_engine, FRAME_VIEW_OWN, all);
	if (n == 0)
		n = frames_take(s, by_engine, FRAME_VIEW_WIDE, all);
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
static void frames_set_signal(const struct crash_parser *p, struct crash_report *r)
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
	frames_set_signal(p, r);
	r->raw_frames = p->stack.total;
	r->unsymbolized = r->n_frames > 0;
	for (size_t i = 0; i < r->n_frames; i++)
		if (r->frames[i].has_function)
			r->unsymbolized = false;
	set_top(r);
}
