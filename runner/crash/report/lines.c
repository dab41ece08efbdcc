/* SPDX-License-Identifier: Apache-2.0 */
/* Passes each line of a report to those that understand it. */
#include "runner/crash/report/internal.h"

#include "base/lines.h"

/* Passes a line to the kinds, and then to the stack and the state.  The kinds are in the order of
 * the big platforms' parser, since the results depend on it. */

enum { FRAMES_WITH_WORDS = 32 };

#define BOM "\xef\xbb\xbf" /* UTF-8's byte order mark */

/* Notes facts that decide about security, anywhere in the line. */
static void note_security(struct crash_parser *p, const struct line *l)
{
	static const struct slice harmless[] = {
	    {"Sanitizer: ABRT", 15}, {"Sanitizer: BUS", 14},	    {"Sanitizer: FPE", 14},
	    {"Sanitizer: ILL", 14},  {"Sanitizer: breakpoint", 21},
	};

	p->v.pc_null |= words_has(l->words, WORDS_PC_NULL);
	p->v.miracle |= words_has(l->words, WORDS_MIRACLE);
	p->v.issue |= words_has(l->words, WORDS_ISSUE);
	if (words_has(l->words, WORDS_SANITIZER))
		for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
			p->v.no_bug_signal |= text_has(l->text, harmless[i]);
}

/* In this order, until one returns true. */
static bool (*const kinds[])(struct crash_parser *p, const struct line *l) = {
    kind_is_echo,    kind_assert, kind_never,	 kind_gdb,	kind_msan_tsan, kind_leak,
    kind_cast,	     kind_go,	  kind_fuzztest, kind_ubsan,	kind_exception, kind_scariness,
    kind_sanitizer,  kind_caused, kind_access,	 kind_detector, kind_libc,	kind_engine,
    kind_asan_other, kind_check,  kind_fatal,	 kind_v8,	kind_received,	kind_missing,
};

/* Begins the second stack of a race: that of the other access. */
static void on_previous(struct crash_parser *p, const struct line *l)
{
	if (words_has(l->words, WORDS_PREVIOUS) && words_has(l->words, WORDS_SIZE) &&
	    p->v.kind == CRASH_TSAN && p->stack.n > 0 && p->other.at == STACK_OFF) {
		p->stack.at = STACK_DONE;
		stack_restart(&p->other, true);
	}
}

static void on_text(struct crash_parser *p, const struct line *l)
{
	bool done = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !done; i++)
		done = kinds[i](p, l);
	note_security(p, l);
	if (words_has(l->words, WORDS_LIBFUZZER) && p->stack.n == 0 &&
	    text_has(l->text, SLICE("ERROR: libFuzzer: ")))
		p->v.by_engine = true;
	if (done)
		return;
	if (words_has(l->words, WORDS_STOP) && verdict_known(p) && p->state.n > 0)
		p->state.frames = CRASH_STATE_MAX;
	on_previous(p, l);
	kind_foreign_frame(p, l->text);
}

/* Handles a frame that begins a stack or a state. */
static void look_at_frame(struct crash_parser *p, const struct frame *f)
{
	if (f->number == 0 && text_begins(f->function, SLICE("gsignal")))
		p->v.no_bug_signal = true;
	/* The engine's own stack is better. */
	if (p->v.echo && f->number == 0 &&
	    text_begins(f->function, SLICE("__sanitizer_print_stack_trace"))) {
		state_drop_echo(p);
		p->v.echo = false;
		stack_restart(&p->stack, true);
	}
	kind_trap(p, f);
}

static void on_frame(struct crash_parser *p, const struct line *l, uint64_t number)
{
	struct frame f;
	bool parsed;

	if (words_has(l->words, WORDS_OOM))
		kind_engine(p, l);
	if (!verdict_known(p) || p->disabled || (p->v.ended && p->v.python))
		return;
	parsed = (number == 0 || state_wants(p)) && frame_parse(l->text, &f);
	if (parsed)
		look_at_frame(p, &f);
	stack_line(&p->stack, l->text, true, number);
	stack_line(&p->other, l->text, true, number);
	if (parsed && !p->v.ended)
		state_frame(p, &f);
}

static bool is_ignored(const struct crash_parser *p, const struct line *l)
{
	/* After the report of a race, another process may report its own. */
	if (verdict_known(p) && p->v.ended &&
	    !(p->v.kind == CRASH_TSAN && words_has(l->words, WORDS_SANITIZER)))
		return true;
	return words_has(l->words, WORDS_SUMMARY) || words_has(l->words, WORDS_NOISE) ||
	       words_has(l->words, WORDS_DEADLY);
}

/* Begins a new process: its report will replace the earlier one. */
static void on_start(struct crash_parser *p)
{
	p->stale = p->v.type[0] != '\0';
	p->disabled = false;
	p->tsan_pid = 0;
	if (!p->stale)
		verdict_clear(p);
}

/* Whether all lines matter: frames of other languages, and text after "# Fatal error in", have no
 * words of words.inc. */
static bool wants_all(const struct crash_parser *p, struct slice text)
{
	return p->v.go || p->v.go_failed || p->v.exception || p->v.python || p->v.fatal ||
	       (text.n > 0 && text.p[0] == 'F');
}

/* number: the frame's number; NULL: the line is not a frame. */
static void one_line(struct crash_parser *p, struct line *l, const uint64_t *number)
{
	bool marked;

	if (!number && words_has(l->words, WORDS_START))
		on_start(p);
	if (p->disabled)
		return;
	if (number) {
		on_frame(p, l, *number);
		return;
	}
	report_head(l, &marked);
	if (!p->stale) {
		stack_line(&p->stack, l->text, false, 0);
		stack_line(&p->other, l->text, false, 0);
	}
	if ((l->words || wants_all(p, l->text)) && !is_ignored(p, l))
		on_text(p, l);
}

/* --- prefixes of logs ----------------------------------------------------------------- */

/* The text before the first frame, if no line before it gave the prefix. */
static struct slice before_frame(const struct crash_parser *p, struct slice text)
{
	const char *at = NULL;
	struct frame f;

	if (verdict_known(p) && p->stack.at == STACK_WAIT)
		at = text_find(text, SLICE("    #0 "));
	if (at && frame_parse((struct slice){at, text.n - (size_t)(at - text.p)}, &f))
		return (struct slice){text.p, (size_t)(at - text.p)};
	return (struct slice){"", 0};
}

/* The text before the beginning of a line that is recognised anywhere; "": no text, or another
 * line. */
static struct slice before_line(struct crash_parser *p, struct line l)
{
	struct slice before = {"", 0};
	bool marked = false;

	if (words_has(l.words, WORDS_START)) {
		prefix_forget(&p->prefix); /* another process has no prefix, or its own */
		return report_head_start(l.text);
	}
	if (l.words)
		before = report_head(&l, &marked);
	if (before.n > 0 && (marked || !verdict_known(p)))
		return before;
	return before_frame(p, l.text);
}

/* Reads the kept lines from before the prefix was known again. */
static void read_held(struct crash_parser *p)
{
	bool first = true;

	for (struct line l = {0}; prefix_release(&p->prefix, &l.text); first = false) {
		if (first && !verdict_known(p))
			p->v.libc_message[0] = '\0';
		l.words = words_in(&p->words, l.text);
		one_line(p, &l, NULL);
	}
}

/* True: the line had a new prefix. */
static bool lines_learn(struct crash_parser *p, const struct line *l)
{
	struct slice text = l->text;

	if (!prefix_learn(&p->prefix, before_line(p, *l)) || !prefix_strip(&p->prefix, &text)) {
		prefix_hold(&p->prefix, l);
		return false;
	}
	read_held(p);
	return true;
}

/* Cuts "...half a lineAddressSanitizer:DEADLYSIGNAL": the tool writes it without a newline before
 * it. */
static void cut_glued(struct slice *io)
{
	static const struct slice tools[] = {
	    {"HWAddress", 9},	       {"Address", 7}, {"Leak", 4}, {"Memory", 6},
	    {"UndefinedBehavior", 17}, {"Thread", 6},
	};

	if (!text_drop(io, SLICE("Sanitizer:DEADLYSIGNAL")))
		return;
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (text_drop(io, tools[i]))
			return;
}

/* Whether the function may end a process that is out of memory, "...OutOfMemory..." or Rust's. */
static bool may_be_oom(struct slice function)
{
	const char *y;

	if (text_begins(function, SLICE("rust_oom")))
		return true;
	while (function.n > 0 && (y = memchr(function.p, 'y', function.n))) {
		struct slice before = {function.p, (size_t)(y - function.p)};

		if (text_ends(before, SLICE("emor")))
			return true;
		text_skip(&function, before.n + 1);
	}
	return false;
}

/* Finds the line's words, and whether it is a frame.  In a frame only the names of some functions
 * matter, and deep in a stack not even these. */
static bool lines_look_at(const struct crash_parser *p, struct line *l, uint64_t *ret_number)
{
	struct slice rest;
	struct frame f;

	if (frame_begins(l->text, ret_number, &rest)) {
		l->words = 0;
		if (p->stack.n < FRAMES_WITH_WORDS && may_be_oom(rest))
			l->words = words_in(&p->words, l->text);
		return true;
	}
	l->words = words_in(&p->words, l->text);
	if (!frame_parse(l->text, &f))
		return false;
	if (p->stack.n >= FRAMES_WITH_WORDS)
		l->words = 0;
	*ret_number = f.number;
	return true;
}

void report_line(struct crash_parser *p, struct slice line)
{
	struct line l = {0};
	uint64_t number = 0, again;
	bool frame, stripped;

	while (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > 0 && line.p[0] == BOM[0])
		scan_lit(&line, SLICE(BOM));
	if (line.n > 0 && memchr(line.p, '\033', line.n))
		line = lines_without_colours(line, p->plain, sizeof(p->plain));
	stripped = prefix_strip(&p->prefix, &line);
	cut_glued(&line);
	l.text = line;
	frame = lines_look_at(p, &l, &number);
	if (!frame && !stripped && lines_learn(p, &l)) {
		struct line bare = l;

		prefix_strip(&p->prefix, &l.text);
		bare.text = l.text;
		if (lines_look_at(p, &bare, &again)) {
			frame = true;
			number = again;
		}
	}
	one_line(p, &l, frame ? &number : NULL);
}
