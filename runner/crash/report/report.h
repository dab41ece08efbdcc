/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_REPORT_H
#define RUNNER_CRASH_REPORT_REPORT_H

#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the output of a sanitizer, an engine or a C library when a target fails, and identifies the
 * crash: type, stack, signature, severity.  Pure: text in, values out.  The text comes from the
 * target, so it is hostile: any bytes, any length, cut anywhere, with any text around it.  Time is
 * linear in the text.  A parser never holds more than 1 MiB, a report never more than 256 KiB.
 *
 * A report has two separate views.  `type`, `state`, `address` and `security` follow the rules of
 * the big platforms (ClusterFuzz, OSS-Fuzz), so that crashes can be compared with theirs.
 * `frames`, `signature` and `raw_key` follow our own rules. */

enum crash_kind {
	CRASH_NONE, /* no crash in the text */
	CRASH_ASAN,
	CRASH_UBSAN, /* with CFI */
	CRASH_MSAN,
	CRASH_TSAN,
	CRASH_LSAN,
	CRASH_ENGINE, /* libFuzzer's own: deadly signal, timeout, out-of-memory, exit... */
	CRASH_ASSERT, /* a failed assertion or check, or an abort by the C library */
	CRASH_SIGNAL, /* died by a signal, without a report */
	CRASH_PANIC,  /* of a language runtime: Rust, Go, an uncaught exception */
	CRASH_CELL,   /* refused or killed by the cell: crash_report_own() */
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
	    1024, /* bytes of a function's name or a path, with the NUL; longer ones are cut */
	CRASH_PATH_MAX = 512,
	CRASH_FRAME_NAME = 256,
	CRASH_KEY_HEX = 17, /* 16 lower-case digits and a NUL */
};

/* A stack frame of the application: no runtime, no engine, no C library. */
struct crash_frame {
	/* Demangled as printed, with arguments; if it is too long, template arguments are "<...>".
	 * "" unknown. */
	char function[CRASH_NAME_MAX];
	char name[CRASH_FRAME_NAME]; /* the function's name in signatures: without arguments */
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
	/* Equal for one bug across runs, machines, compilers and input bytes: hashed from the type
	 * and the names of the top five functions.  Never "" if found. */
	char signature[CRASH_KEY_HEX];
	/* Equal for failures of one class at one place of the program, whatever function called it.
	 * It is hashed from the class (all memory errors of one direction are one) and a place.
	 * The place is function, file name and line of the first application frame that is not
	 * inlined.  "" without such a place: there are no lines, or the failure has no place of its
	 * own (timeout, memory exhausted, stack overflow, race). */
	char bug[CRASH_KEY_HEX];
	/* Equal for one crash site of one binary in every process, if the tool does not symbolize
	 * (symbolize=0).  It is hashed from the type and module+offset of the first frames.  Frames
	 * without a build ID use crash_options.build.  "" if a frame has no offset in a module:
	 * symbolized frames have none. */
	char raw_key[CRASH_KEY_HEX];
	bool unsymbolized; /* the signature is made of offsets: not comparable with others */
	/* First to last.  It is the stack of the failure itself, not of allocation, freeing or
	 * origin.  For a leak it is the stack of the allocation. */
	struct crash_frame *frames;
	size_t n_frames;   /* at most CRASH_FRAMES_MAX */
	size_t raw_frames; /* number of frames before runtime frames were left out */
};

/* Where a failure is, to compare reports of two sanitizers.  Each reports a bug in its own words,
 * so signature and bug differ.  These keys are "" if the failure has no such place
 * (crash_report.bug), or if its type is none that two sanitizers report: then it is never the same
 * bug. */
struct crash_place {
	/* Of the family of the type (memory errors, null pointers, divisions, values that were not
	 * written), and of function, file name and line of the first application frame. */
	char at[CRASH_KEY_HEX];
	/* Of function and file name of the frame that called it; "": it is not known. */
	char caller[CRASH_KEY_HEX];
};
void crash_place_of(const struct crash_report *r, struct crash_place *ret);

void crash_report_done(struct crash_report *r); /* frees; r is empty again */

/* All zero: the defaults. */
struct crash_options {
	const char *target; /* the fuzz target's name; NULL: unknown */
	const char *build;  /* identifies the build in keys of frames without a build ID; or NULL */
	bool ignore_ooms_and_hangs; /* out-of-memory and timeouts are not crashes */
	bool asserts_are_security;
	bool checks_are_security; /* CHECK failures */
};

struct crash_parser;

/* Strings of the options must live as long as the parser. */
struct crash_parser *crash_parser_new(const struct crash_options *o);
void crash_parser_feed(struct crash_parser *p, struct slice bytes);
/* Call it once, after the last byte.  ret is overwritten; call crash_report_done() for it. */
void crash_parser_finish(struct crash_parser *p, struct crash_report *ret);
void crash_parser_free(struct crash_parser *p); /* NULL is fine */

/* Parses a whole text at once.  If it has reports of several processes, one after the other, the
 * last one counts.  If it has several reports by one process that went on, the first one counts. */
void crash_parse(struct slice text, const struct crash_options *o, struct crash_report *ret);

/* Crashes without a report. */
enum crash_own {
	CRASH_OWN_SECCOMP,   /* a refused system call; detail: its name */
	CRASH_OWN_MEMORY,    /* the kernel killed the cell for its memory */
	CRASH_OWN_PIDS,	     /* the cell's process limit refused a fork */
	CRASH_OWN_SIGNAL,    /* died by a signal without a report; detail: "SIGSEGV" */
	CRASH_OWN_EXIT,	     /* ended by itself with a status; detail: "status 3" */
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
