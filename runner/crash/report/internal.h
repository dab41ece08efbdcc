/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_INTERNAL_H
#define RUNNER_CRASH_REPORT_INTERNAL_H

/* Shared by the files of the report parser; other files use report.h. */
#include "runner/crash/report/frame.h"
#include "runner/crash/report/report.h"
#include "runner/crash/report/text.h"
#include "runner/crash/report/words.h"

enum {
	REPORT_LINE_MAX = 64 * 1024, /* longer lines are cut in two */
	STATE_TEXT_MAX = 2048,
	STATE_RAW_MAX = 400,	 /* frames that are searched for a cycle */
	STATE_RAW_NAME = 160,	 /* bytes of a name in a cycle */
	STATE_LOOKED_MAX = 4096, /* frames that are considered for a state */
};

/* The big platforms' state of a report while it is built: up to three lines. */
struct state {
	char text[STATE_TEXT_MAX];
	size_t n;
	unsigned frames; /* lines that count */
	unsigned looked;
	/* All frames of a stack overflow. */
	size_t raw_n;
	struct state_raw {
		uint64_t hash;
		char name[STATE_RAW_NAME];
	} raw[STATE_RAW_MAX];
};

/* The facts about the crash so far. */
struct verdict {
	char type[192]; /* "": none yet */
	enum crash_kind kind;
	char address[128];
	char signal[16];
	char headline[256];
	uint64_t access_size;
	uint64_t used_mib; /* of an out-of-memory */
	enum crash_kind libc_kind;
	char libc_line[160];   /* the line of libc_message */
	char libc_message[64]; /* the C library's message before the signal */
	char thrown[96];       /* an exception's type, and which exception of the library it is */
	char cause[128];       /* an assertion's expression, without values */
	char place[64];	       /* the source file, of a report without a stack */
	char check_file[64];   /* the source file of V8's fatal error */
	bool cast_open;	       /* a bad cast; its source type may follow */
	bool fatal;	       /* V8's "Fatal error in" was seen */
	bool ended;	       /* the sanitizer itself failed: nothing after it counts */
	bool by_engine;	       /* the engine printed the stack */
	bool echo;	       /* TSan reported the engine's signal handler */
	bool go, exception, python;
	bool go_failed; /* a test of Go failed; its message may follow */
	bool go_race;	/* of Go's -race */
	bool go_app;	/* this stack of Go has a function of the application */
	bool go_skip;	/* the rest of this stack of Go does not count */
	uint64_t go_frames;
	char go_function[CRASH_FRAME_NAME]; /* of a frame of Go; its place follows */
	/* For the security flag. */
	bool pc_null, no_bug_signal, miracle, issue;
};

/* Keeps the lines of one stack of a report.  It begins with the first frame after the stack's
 * header.  It ends at a blank line, or at a frame number that does not continue the sequence. */
enum {
	STACK_FRAMES_MAX = 256, /* sanitizers print at most that many */
	STACK_TEXT_MAX = 160 * 1024,
	STACK_LINE_MAX = 4096, /* a longer frame keeps its beginning and its end */
	STACK_LINE_HEAD = 3072,
};

struct stack {
	enum stack_at {
		STACK_OFF,  /* no stack is wanted */
		STACK_WAIT, /* the next frame begins the stack */
		STACK_IN,
		STACK_GAP, /* after a line that is not a frame: half a line, a note */
		STACK_DONE,
	} at;
	uint64_t last; /* number of the last frame */
	size_t n;      /* frames kept */
	size_t total;  /* frames seen */
	size_t used;   /* bytes used of text */
	uint32_t ends[STACK_FRAMES_MAX];
	char text[STACK_TEXT_MAX];
};

/* A line. */
struct line {
	struct slice text;
	uint64_t words; /* words_in(text) */
};

enum { PREFIX_MAX = 256, PREFIX_HELD_MAX = 8, PREFIX_HELD_LINE = 1024 };

/* The prefix that a log writes before each line, once it is known. */
struct prefix {
	char pattern[PREFIX_MAX];
	size_t n;	/* 0: no prefix, or not known yet */
	size_t printed; /* length without trailing blanks */
	/* Lines from before the prefix was known, of kinds that are recognised only at the line's
	 * beginning. */
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
	/* The state of an assertion before a signal replaced it. */
	struct verdict before;
	char before_text[STATE_TEXT_MAX];
	size_t before_n;
	unsigned before_frames;
	bool can_go_back;
	size_t echo_n; /* length of the state before frames of an echo */
	unsigned echo_frames;
	bool stale;    /* v is of an earlier process: the next report replaces it */
	bool disabled; /* an out-of-memory was ignored: the rest of this process does not count */
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
/* Whether a crash is known and no newer process has begun. */
bool verdict_known(const struct crash_parser *p);
bool verdict_is(const struct crash_parser *p, const char *type);
/* Begins a new report: clears address, state and stack. */
void verdict_reset(struct crash_parser *p);
/* Sets type and kind, unless the present type has a higher rank. */
void verdict_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
		  struct slice line);
void verdict_address(struct crash_parser *p, struct slice address);
/* verdict_reset() and verdict_type() */
void verdict_new(struct crash_parser *p, const char *type, enum crash_kind kind, struct slice line);
/* Sets an assertion's expression, for the signature. */
void verdict_cause(struct crash_parser *p, struct slice text);
/* Forgets everything. */
void verdict_clear(struct crash_parser *p);
/* At the end: whether the crash matters for security, and how much. */
void report_security(const struct crash_parser *p, struct crash_report *r);
enum crash_severity report_severity(const struct crash_report *r);

/* --- state.c --- */
void state_clear(struct state *s);
/* Sets the state to text, which counts as `frames` lines. */
void state_set(struct state *s, struct slice text, unsigned frames);
void state_add(struct state *s, struct slice text);
void state_frame(struct crash_parser *p, const struct frame *f);
/* False: state_frame() would do nothing. */
bool state_wants(const struct crash_parser *p);
/* Forgets frames since v.echo: the same stack is printed again. */
void state_drop_echo(struct crash_parser *p);
/* Adds a frame that has only a name, as other languages print it. */
void state_name(struct crash_parser *p, struct slice name);
/* Copies the lines of the final state into r. */
void state_finish(struct crash_parser *p, struct crash_report *r);

/* --- stack.c --- */
/* Empties the stack.  It then waits for a frame, or (want false) for nothing. */
void stack_restart(struct stack *s, bool want);
/* Adds a line of the report; number is valid with is_frame. */
void stack_line(struct stack *s, struct slice line, bool is_frame, uint64_t number);
/* Parses the frame of index i < n again. */
void stack_frame(const struct stack *s, size_t i, struct frame *ret);
/* Finds the application's frames, as far as a stack without names shows them.  They end before
 * those of the engine, which end at main().  With by_engine, they begin behind the frames of the
 * engine that printed the stack.  In a stack with names, all frames count. */
void stack_application(const struct stack *s, bool by_engine, size_t *ret_begin, size_t *ret_end);
/* The application's frames of the kept stack. */
void report_frames(const struct crash_parser *p, struct crash_report *r);
/* The application's frames of a stack, in new memory (free() it). */
struct crash_frame *report_stack(const struct stack *s, bool by_engine, size_t *ret_n);

/* --- head.c --- */
/* Clears the words of headlines that the line only quotes or mentions.  Returns the text that a log
 * wrote before a headline, or "".  marked: the process's mark follows that text, so it is certainly
 * a prefix. */
struct slice report_head(struct line *io, bool *ret_marked);
/* The same for a line with WORDS_START. */
struct slice report_head_start(struct slice text);

/* --- prefix.c --- */
void prefix_forget(struct prefix *p);
/* Learns the prefix from the text before a known line.  False, and nothing learned: the text is
 * empty or too long. */
bool prefix_learn(struct prefix *p, struct slice before);
/* Removes the prefix from the line; false: it is missing, or not known. */
bool prefix_strip(const struct prefix *p, struct slice *io);
/* Keeps a line that may be recognised without its prefix, while none is known. */
void prefix_hold(struct prefix *p, const struct line *l);
/* The next kept line that has the prefix, without it; false after the last.  Valid until the next
 * prefix_hold(). */
bool prefix_release(struct prefix *p, struct slice *ret);

/* --- kind_*.c: each checks one line; true: no other kind needs to check it --- */
bool kind_assert(struct crash_parser *p, const struct line *l);
bool kind_never(struct crash_parser *p, const struct line *l);
bool kind_gdb(struct crash_parser *p, const struct line *l);
bool kind_msan_tsan(struct crash_parser *p, const struct line *l);
bool kind_leak(struct crash_parser *p, const struct line *l);
bool kind_cast(struct crash_parser *p, const struct line *l);
bool kind_go(struct crash_parser *p, const struct line *l);
bool kind_fuzztest(struct crash_parser *p, const struct line *l);
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
/* Handles the first frame of a stack: the message of a trap is more precise than its signal. */
void kind_trap(struct crash_parser *p, const struct frame *f);
/* Whether a signal's line must not replace a better type. */
bool kind_is_echo(struct crash_parser *p, const struct line *l);
/* Handles the two lines of a frame of Go. */
bool kind_go_frame(struct crash_parser *p, struct slice line);
/* Handles frames of Java, Python and JavaScript, and passes on those of Go. */
bool kind_foreign_frame(struct crash_parser *p, struct slice line);

/* --- signature.c: at the end --- */
void report_signature(const struct crash_parser *p, struct crash_report *r);
void report_bug_key(struct crash_report *r);
void report_raw_key(const struct crash_parser *p, struct crash_report *r);

#endif
