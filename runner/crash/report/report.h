/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_REPORT_H
#define RUNNER_CRASH_REPORT_REPORT_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads what a sanitizer, an engine or a C library prints when a target fails, and
 * says which crash it is: type, stack, signature, severity.  Pure: text in, values
 * out.  The text is the target's, so hostile: any bytes, any length, cut anywhere,
 * with anything around it.  Time is linear in the text; a parser holds less than
 * 1 MiB and a report less than 256 KiB, whatever comes.
 *
 * Two views of one report are kept apart.  `type`, `state`, `address` and `security`
 * follow the rules of the big platforms (ClusterFuzz, OSS-Fuzz), so that crashes can be
 * compared with theirs.  `frames`, `signature` and `raw_key` are ours. */

enum crash_kind {
	CRASH_NONE, /* no crash in the text */
	CRASH_ASAN,
	CRASH_UBSAN, /* with CFI */
	CRASH_MSAN,
	CRASH_TSAN,
	CRASH_LSAN,
	CRASH_ENGINE, /* libFuzzer's own: deadly signal, timeout, out-of-memory, exit... */
	CRASH_ASSERT, /* assertion or check failed, or the C library gave up */
	CRASH_SIGNAL, /* died by a signal, without more words */
	CRASH_PANIC,  /* of a language runtime: Rust, Go, an uncaught exception */
	CRASH_CELL,   /* what the cell refused or killed: crash_report_own() */
	CRASH_OTHER,  /* HWASan, kernel, platforms' own detectors */
	CRASH_KIND_COUNT,
};

enum crash_access { CRASH_ACCESS_NONE, CRASH_ACCESS_READ, CRASH_ACCESS_WRITE, CRASH_ACCESS_COUNT };

enum crash_severity {
	CRASH_SEVERITY_NONE,
	CRASH_SEVERITY_LOW,
	CRASH_SEVERITY_MEDIUM,
	CRASH_SEVERITY_HIGH,
	CRASH_SEVERITY_COUNT,
};

const char *crash_kind_name(enum crash_kind k);		/* "asan" */
const char *crash_access_name(enum crash_access a);	/* "", "read", "write" */
const char *crash_severity_name(enum crash_severity s); /* "none", "low", ... */

enum {
	CRASH_FRAMES_MAX = 64,
	CRASH_STATE_MAX = 3,
	CRASH_NAME_MAX =
	    1024, /* a function's or a path's bytes with its NUL; longer ones are cut */
	CRASH_PATH_MAX = 512,
	CRASH_FRAME_NAME = 256,
	CRASH_KEY_HEX = 17, /* 16 lower-case digits and a NUL */
};

/* A stack frame of the application: no runtime, no engine, no C library. */
struct crash_frame {
	/* Demangled as printed, with arguments; of one that does not fit, template
	 * arguments are "<...>".  "" unknown. */
	char function[CRASH_NAME_MAX];
	char name[CRASH_FRAME_NAME]; /* of it, as signatures know it: without arguments */
	char file[CRASH_PATH_MAX];   /* as printed; "" unknown */
	char module[CRASH_PATH_MAX]; /* the binary's path as printed; "" unknown */
	char build_id[48];	     /* hexadecimal; "" unknown */
	uint64_t line;		     /* 0 unknown, as column */
	uint64_t column;
	uint64_t offset;   /* in module, meaningful with module */
	uint64_t pc;	   /* 0 unknown */
	unsigned number;   /* the N of "#N" */
	bool has_function; /* false: function is "" */
};

struct crash_report {
	bool found; /* false: everything below is empty or zero */
	enum crash_kind kind;
	char type[192];			  /* "Heap-buffer-overflow\nREAD 4" */
	char state[CRASH_STATE_MAX][256]; /* printable, "" after the last */
	size_t n_state;
	char address[128]; /* as printed, "0x602000000011"; "" unknown */
	enum crash_access access;
	uint64_t access_size;		/* bytes; 0 unknown */
	char signal[16];		/* "SIGSEGV"; "" none or unknown */
	char headline[256];		/* the line that announced the crash, printable */
	char top_frame[CRASH_PATH_MAX]; /* name of the first frame, normalised; "" unknown */
	bool security;
	enum crash_severity severity;
	/* Equal for one bug across runs, machines, compilers and input bytes: hashed
	 * from the type and the names of the top five functions.  Never "" when
	 * found. */
	char signature[CRASH_KEY_HEX];
	/* Equal for failures of one class at one place of the program, whatever called it: hashed
	 * from the class (all memory errors of one direction are one) and function, file name and
	 * line of the first application frame that is not inlined.  "" when there is no such place:
	 * without lines, and for failures that have no place of their own (timeouts, memory that
	 * ran out, stack overflows, races). */
	char bug[CRASH_KEY_HEX];
	/* Equal for one crash site of one binary in every process, when the tool does not
	 * symbolize (symbolize=0): hashed from the type and module+offset of the first
	 * frames, and from crash_options.build where they have no build ID.  "" when a frame has no
	 * place in a module, as symbolized ones. */
	char raw_key[CRASH_KEY_HEX];
	bool unsymbolized; /* signature stands on offsets: not comparable with others */
	/* First to last; the stack of the failure itself, not those of allocation,
	 * freeing or origin (a leak: of its allocation). */
	struct crash_frame *frames;
	size_t n_frames;   /* at most CRASH_FRAMES_MAX */
	size_t raw_frames; /* frames of that stack before runtime frames were left out */
};

void crash_report_done(struct crash_report *r); /* frees; r is empty again */

/* All zero: the defaults. */
struct crash_options {
	const char *target; /* the fuzz target's name; NULL: unknown */
	const char *build;  /* identifies the build in keys of frames without a build ID; or NULL */
	bool ignore_ooms_and_hangs; /* out-of-memory and timeouts are no crash */
	bool asserts_are_security;
	bool checks_are_security; /* CHECK failures */
};

struct crash_parser;

/* Strings of the options must live as long as the parser. */
MUST_CHECK int crash_parser_new(const struct crash_options *o, struct crash_parser **ret,
				struct err *e);
void crash_parser_feed(struct crash_parser *p, struct slice bytes);
/* Once, after the last byte.  ret is overwritten: own it with crash_report_done(). */
MUST_CHECK int crash_parser_finish(struct crash_parser *p, struct crash_report *ret, struct err *e);
void crash_parser_free(struct crash_parser *p); /* NULL is fine */

/* A whole text at once.  Of several reports in it the last counts (processes one
 * after the other); of several by one process that went on, the first. */
MUST_CHECK int crash_parse(struct slice text, const struct crash_options *o,
			   struct crash_report *ret, struct err *e);

/* Crashes that no text tells of. */
enum crash_own {
	CRASH_OWN_SECCOMP,   /* a refused system call: detail is its name */
	CRASH_OWN_MEMORY,    /* the kernel killed the cell for its memory */
	CRASH_OWN_PIDS,	     /* the cell's process limit refused a fork */
	CRASH_OWN_SIGNAL,    /* died by a signal without a report: detail is "SIGSEGV" */
	CRASH_OWN_EXIT,	     /* ended by itself with a status: detail is "status 3" */
	CRASH_OWN_INTERRUPT, /* ended as if by a stop signal, but fuzzcell sent none */
	CRASH_OWN_TIME,	     /* the cell's deadline passed without a report */
	CRASH_OWN_COUNT,
	CRASH_OWN_NONE = CRASH_OWN_COUNT, /* none of these */
};

const char *crash_own_name(enum crash_own what); /* "syscall", "memory", ... */
enum crash_own crash_own_find(const char *name); /* NONE: the name is unknown */

/* target and detail: NULL is fine. */
void crash_report_own(enum crash_own what, const char *detail, const char *target,
		      struct crash_report *ret);

#endif
