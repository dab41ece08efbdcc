/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/symbolize.h"

#include "runner/crash/report/frame.h"
#include "runner/crash/report/text.h"

/* --- the report ------------------------------------------------------------- */

static bool is_nameless(const struct symbolize *s, const struct frame *f)
{
	struct slice path = slice_of(s->module);

	return f->function.n == 0 && f->has_offset &&
	       (slice_eq(f->module, path) || slice_eq(f->module, text_basename(path)));
}

static size_t symbolize_place(const struct symbolize *s, uint64_t offset)
{
	size_t i = 0;

	while (i < s->n && s->offset[i] != offset)
		i++;
	return i;
}

void symbolize_offsets(struct slice report, const char *module, struct symbolize *ret)
{
	struct slice line;

	*ret = (struct symbolize){.module = module};
	while (ret->n < SYMBOLIZE_OFFSETS && scan_line(&report, &line)) {
		struct frame f;

		if (frame_parse(line, &f) && is_nameless(ret, &f) &&
		    symbolize_place(ret, f.offset) == ret->n)
			ret->offset[ret->n++] = f.offset;
	}
}

/* --- the answers ------------------------------------------------------------ */

/* The lines behind each offset's line: two for each call, function and place, inlined calls
 * first. */
struct answers {
	struct slice of[SYMBOLIZE_OFFSETS]; /* empty: none */
};

static bool is_offset(struct slice line, uint64_t want)
{
	uint64_t v;

	return scan_lit(&line, SLICE("0x")) && scan_u64(&line, 16, UINT64_MAX, &v) && line.n == 0 &&
	       v == want;
}

/* The message of a trap may end in a newline, which makes a blank line before the place. */
static bool is_trap(struct slice function)
{
	return text_begins(function, SLICE(FRAME_TRAP));
}

static void read_answers(const struct symbolize *s, struct slice text, struct answers *ret)
{
	struct slice line, before = {"", 0}, *open = NULL;
	size_t next = 0;

	for (; scan_line(&text, &line); before = line) {
		if (next < s->n && is_offset(line, s->offset[next])) {
			open = &ret->of[next++];
			*open = (struct slice){text.p, 0};
		} else if (open && (line.n > 0 || is_trap(before))) {
			open->n = (size_t)(line.p + line.n - open->p);
		} else {
			open = NULL; /* a blank line ends the answer */
		}
	}
}

/* The next call of an answer; false: there is none, or it has no name. */
static bool next_call(struct slice *answer, struct slice *ret_function, struct slice *ret_place)
{
	if (!scan_line(answer, ret_function) || !scan_line(answer, ret_place))
		return false;
	if (is_trap(*ret_function) && ret_place->n == 0 && !scan_line(answer, ret_place))
		return false;
	*ret_function = text_trim(*ret_function);
	(void)text_cut(ret_place, SLICE(" (discriminator")); /* addr2line prints it */
	*ret_place = text_trim(*ret_place);
	return ret_function->n > 0 && !slice_eq(*ret_function, SLICE("??"));
}

/* --- the new text ----------------------------------------------------------- */

struct writing {
	const struct symbolize *s;
	struct answers answers;
	struct buf *to;
	uint64_t shift; /* inlined calls so far, in this stack */
};

static void symbolize_add_place(const struct writing *w, const struct frame *f, struct slice place)
{
	bool known = place.n > 0 && place.p[0] != '?' && place.p[0] != ':';

	if (known && f->pc)
		buf_printf(w->to, " %.*s\n", (int)place.n, place.p);
	else
		buf_printf(w->to, "%s%.*s (%.*s+0x%llx)\n", known ? " " : "",
			   known ? (int)place.n : 0, place.p, (int)f->module.n, f->module.p,
			   (unsigned long long)f->offset);
}

static void add_call(const struct writing *w, const struct frame *f, struct slice function,
		     struct slice place)
{
	buf_printf(w->to, "    #%llu ", (unsigned long long)f->number + w->shift);
	if (f->pc)
		buf_printf(w->to, "0x%llx in ", (unsigned long long)f->pc);
	buf_put(w->to, function);
	symbolize_add_place(w, f, place);
}

/* Adds the line unchanged, except for its number. */
static void add_same(const struct writing *w, const struct frame *f, struct slice line)
{
	uint64_t printed;

	if (w->shift > 0 && text_after(&line, SLICE("#")) &&
	    scan_u64(&line, 10, UINT64_MAX, &printed))
		buf_printf(w->to, "    #%llu", (unsigned long long)f->number + w->shift);
	buf_put(w->to, line);
	buf_puts(w->to, "\n");
}

static void add_frame(struct writing *w, const struct frame *f, struct slice line)
{
	struct slice answer = {0}, function, where;
	size_t at;
	unsigned calls = 0;

	if (f->number == 0)
		w->shift = 0;
	if (is_nameless(w->s, f) && (at = symbolize_place(w->s, f->offset)) < w->s->n)
		answer = w->answers.of[at];
	/* Many frames may have the same long answer: stops when the text is full. */
	while (!w->to->full && next_call(&answer, &function, &where)) {
		w->shift += calls++ > 0;
		add_call(w, f, function, where);
	}
	if (calls == 0)
		add_same(w, f, line);
}

int symbolize_apply(const struct symbolize *s, struct slice report, struct slice answers,
		    struct buf *ret, struct err *e)
{
	struct writing w = {.s = s, .to = ret};
	struct slice line;

	read_answers(s, answers, &w.answers);
	while (!ret->full && scan_line(&report, &line)) {
		struct frame f;

		if (frame_parse(line, &f)) {
			add_frame(&w, &f, line);
			continue;
		}
		buf_put(ret, line);
		buf_puts(ret, "\n");
	}
	return buf_check(ret, e);
}
