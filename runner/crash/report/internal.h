/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_INTERNAL_H
#define RUNNER_CRASH_REPORT_INTERNAL_H

/* Between the files of the report parser; everyone else uses report.h. */
#include "runner/crash/report/frame_rules.h"
#include "runner/crash/report/report.h"
#include "runner/crash/report/stack.h"
#include "runner/crash/report/text.h"
#include "runner/crash/report/words.h"

enum {
	REPORT_LINE_MAX = 64 * 1024, /* longer lines are cut in two */
	STATE_TEXT_MAX = 2048,
	STATE_RAW_MAX = 400,	 /* frames looked through for a cycle */
	STATE_RAW_NAME = 160,	 /* of a name in it */
	STATE_LOOKED_MAX = 4096, /* frames that may be judged for a state */
};

/* The big platforms' state of a report while it grows: up to three lines. */
struct state {
	char text[STATE_TEXT_MAX];
	size_t n;
	unsigned frames; /* lines that it counts */
	unsigned looked;
	/* All frames of a stack overflow. */
	size_t raw_n;
	struct state_raw {
		uint64_t hash;
		char name[STATE_RAW_NAME];
	} raw[STATE_RAW_MAX];
};

/* What is known of the crash so far. */
struct verdict {
	char type[192]; /* "" nothing yet */
	enum crash_kind kind;
	char address[128];
	char signal[16];
	char headline[256];
	uint64_t access_size;
	uint64_t used_mib; /* when memory ran out */
	enum crash_kind libc_kind;
	char libc_line[160]; /* its line */
	char libc_said[64];  /* the C library's own words before the signal */
	char thrown[96];     /* an exception's type, and which of the library's it is */
	char cause[128];     /* an assertion's expression, without values */
	char place[64];	     /* the source file of a report without a stack */
	char check_file[64]; /* of a fatal error in V8's words */
	bool cast_open;	     /* a bad cast whose source type may follow */
	bool fatal;	     /* V8's "Fatal error in" was seen */
	bool ended;	     /* the sanitizer itself failed: nothing after it counts */
	bool by_engine;	     /* the engine printed the stack */
	bool echo;	     /* TSan told of the engine's signal handler */
	bool go, exception, python;
	/* For the security flag. */
	bool pc_null, no_bug_signal, miracle, issue;
};

/* A line. */
struct line {
	struct slice text;
	uint64_t words; /* words_in(text) */
};

enum { PREFIX_MAX = 256, PREFIX_HELD_MAX = 8, PREFIX_HELD_LINE = 1024 };

/* What a log writes before each line, once it is known. */
struct prefix {
	char pattern[PREFIX_MAX];
	size_t n;	/* 0 nothing, or not known yet */
	size_t printed; /* without blanks at its end */
	/* Lines that mean something at their beginning only, from before it was known. */
	size_t n_held, next_held;
	struct prefix_held {
		size_t n;
		char text[PREFIX_HELD_LINE];
	} held[PREFIX_HELD_MAX];
};

struct crash_parser {
	struct crash_options o;
	struct prefix prefix;
	struct words words;
	struct verdict v;
	struct state state;
	struct stack stack;
	struct stack other; /* the other access of a race */
	/* What an assertion had said before a signal took its place. */
	struct verdict before;
	char before_text[STATE_TEXT_MAX];
	size_t before_n;
	unsigned before_frames;
	bool can_go_back;
	size_t echo_n; /* of the state, before frames of an echo */
	unsigned echo_frames;
	bool stale;    /* v is of a process that is gone: the next report replaces it */
	bool disabled; /* an ignored out-of-memory: nothing else of this process counts */
	uint64_t tsan_pid;
	size_t line_n;
	bool line_cut;
	char line[REPORT_LINE_MAX];
	char plain[REPORT_LINE_MAX]; /* a line without colours */
};

/* --- lines.c --- */
/* One line, without its newline. */
void report_line(struct crash_parser *p, struct slice line);

/* --- verdict.c --- */
/* A crash is known, and no newer process has begun. */
bool verdict_known(const struct crash_parser *p);
bool verdict_is(const struct crash_parser *p, const char *type);
/* A new report: address, state and stack begin anew. */
void verdict_reset(struct crash_parser *p);
/* Sets type and kind; a type of higher rank stays. */
void verdict_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
		  struct slice line);
void verdict_address(struct crash_parser *p, struct slice address);
/* verdict_reset() and verdict_type() */
void verdict_new(struct crash_parser *p, const char *type, enum crash_kind kind, struct slice line);
/* The words of an assertion, for the signature. */
void verdict_cause(struct crash_parser *p, struct slice text);
/* Forgets everything. */
void verdict_clear(struct crash_parser *p);

/* --- state.c --- */
void state_clear(struct state *s);
/* The state becomes text (and a newline when `counted`), which counts as that many lines. */
void state_set(struct state *s, struct slice text, unsigned frames);
void state_add(struct state *s, struct slice text);
void state_frame(struct crash_parser *p, const struct frame *f);
/* False: state_frame() would do nothing. */
bool state_wants(const struct crash_parser *p);
/* Forgets frames since v.echo: the same place is told again. */
void state_drop_echo(struct crash_parser *p);
/* A frame that is but a name, as other languages print. */
void state_name(struct crash_parser *p, struct slice name);
/* Lines of the final state into r. */
void state_finish(struct crash_parser *p, struct crash_report *r);

/* --- head.c --- */
/* Takes out the words of headlines that the line only quotes, or mentions.  Returns what
 * a log wrote before a headline, "" when there is none; marked: behind it is the process's
 * mark, so it is surely one. */
struct slice report_head(struct line *io, bool *ret_marked);
/* The same for a line with WORDS_START. */
struct slice report_head_start(struct slice text);

/* --- prefix.c --- */
void prefix_forget(struct prefix *p);
/* From what stands before a line that is known: false, and nothing learned, when that is
 * nothing or too much. */
bool prefix_learn(struct prefix *p, struct slice before);
/* Takes it off the line; false when it is not there, or not known. */
bool prefix_strip(const struct prefix *p, struct slice *io);
/* Keeps a line that may mean more without its prefix, while none is known. */
void prefix_hold(struct prefix *p, const struct line *l);
/* The next of these that has the prefix, without it; false after the last.  Valid until
 * the next prefix_hold(). */
bool prefix_release(struct prefix *p, struct slice *ret);

/* --- kind_*.c: each looks at one line; true: nothing else needs to look at it --- */
bool kind_assert(struct crash_parser *p, const struct line *l);
bool kind_never(struct crash_parser *p, const struct line *l);
bool kind_gdb(struct crash_parser *p, const struct line *l);
bool kind_msan_tsan(struct crash_parser *p, const struct line *l);
bool kind_leak(struct crash_parser *p, const struct line *l);
bool kind_cast(struct crash_parser *p, const struct line *l);
bool kind_go(struct crash_parser *p, const struct line *l);
bool kind_ubsan(struct crash_parser *p, const struct line *l);
bool kind_sanitizer(struct crash_parser *p, const struct line *l);
bool kind_access(struct crash_parser *p, const struct line *l);
bool kind_caused(struct crash_parser *p, const struct line *l);
bool kind_scariness(struct crash_parser *p, const struct line *l);
bool kind_detector(struct crash_parser *p, const struct line *l);
bool kind_engine(struct crash_parser *p, const struct line *l);
bool kind_asan_other(struct crash_parser *p, const struct line *l);
bool kind_exception(struct crash_parser *p, const struct line *l);
bool kind_check(struct crash_parser *p, const struct line *l);
bool kind_fatal(struct crash_parser *p, const struct line *l);
bool kind_v8(struct crash_parser *p, const struct line *l);
bool kind_received(struct crash_parser *p, const struct line *l);
bool kind_missing(struct crash_parser *p, const struct line *l);
bool kind_libc(struct crash_parser *p, const struct line *l);
/* The first frame of a stack: the message of a trap says more than its signal does. */
void kind_trap(struct crash_parser *p, const struct frame *f);
/* UBSan's type of a message; NULL: the message is not known. */
const char *kind_ubsan_type(struct slice said);
/* "heap_use-after-free" -> "Heap-use-after-free", the type */
void kind_set_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
		   struct slice line);
/* A signal's line that must not take the place of a better type. */
bool kind_is_echo(struct crash_parser *p, const struct line *l);
/* Frames of Go, Java, Python and JavaScript. */
bool kind_foreign_frame(struct crash_parser *p, struct slice line);

/* --- signature.c, security.c, frames.c: at the end --- */
MUST_CHECK int report_frames(const struct crash_parser *p, struct crash_report *r, struct err *e);
/* The application's frames of a stack, in memory to free(). */
MUST_CHECK int report_stack(const struct stack *s, bool by_engine, struct crash_frame **ret,
			    size_t *ret_n, struct err *e);
MUST_CHECK int report_signature(const struct crash_parser *p, struct crash_report *r,
				struct err *e);
void report_bug(struct crash_report *r);
MUST_CHECK int report_raw_key(const struct crash_parser *p, struct crash_report *r, struct err *e);
void report_security(const struct crash_parser *p, struct crash_report *r);
enum crash_severity report_severity(const struct crash_report *r);

#endif
