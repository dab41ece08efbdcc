/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_RENDER_H
#define RUNNER_PUBLISH_RENDER_RENDER_H

#include "base/buf.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/render/source_link.h"

#include <stdbool.h>

/* A crash as an issue's text.  Pure: the same bytes for the same crash.
 *
 * Names, types, frames, reports and inputs are a target's own words, so hostile.  They
 * stand in code (spans, or fences longer than any run of backticks in them), where neither
 * markdown nor HTML nor a mention means anything; control characters and those that turn
 * the direction of text are written out ("\x1b", "\u202e"), what is no UTF-8 as well;
 * nothing in them can begin a comment ("<!--"), which is what markers are, or look like
 * a place that is filled in later. */

enum {
	RENDER_BODY_MAX = 60000,      /* bytes; GitHub's own limit is 65536 characters */
	RENDER_TITLE_MAX = 240,	      /* bytes; GitHub's own is 256 characters */
	RENDER_INLINE_MAX = 12 << 10, /* bytes of an input in a body, whatever is configured */
};

/* In a body: what becomes of a reproducer that is too large for it. */
#define RENDER_REPRODUCER "%REPRODUCER%"
/* Around the reproducer, each in a line of its own: a smaller one takes its place. */
#define RENDER_INPUT_BEGIN "<!-- reproducer -->"
#define RENDER_INPUT_END   "<!-- end of reproducer -->"

/* Paths of this machine, which help no reader; NULL: none. */
struct render_hide {
	const char *state_dir;	/* becomes "..." */
	const char *source_dir; /* becomes ".", where it is a path's beginning */
};

enum { RENDER_PLACES = 4 };
struct render_place {
	char path[SOURCE_PATH_MAX];
	uint64_t line; /* 0 unknown */
};

struct render_crash {
	const struct known_crash *crash; /* or an entry of one */
	const char *target;  /* the target with the report, input and binary; NULL: the only one */
	const char *name;    /* outbox_name() of its signature: stands in the marker */
	struct slice report; /* what the target printed; empty: unknown */
	/* The minimised reproducer, else the original. */
	struct slice input;	/* p NULL: not at hand */
	uint64_t input_bytes;	/* 0 with input.p NULL: there is none */
	const char *input_path; /* in the state directory; NULL: it is not named */
	bool minimized;
	uint64_t inline_bytes;	    /* an input up to this stands in the body */
	bool upload;		    /* a larger one is uploaded: RENDER_REPRODUCER */
	const char *build;	    /* the command that builds the target; NULL: unknown */
	const char *label, *corpus; /* of the target in a Bazel workspace; NULL: none */
	const char *binary;	    /* as one would type it; NULL: "./<target>" */
	/* The engine's environment and command as in a cell, NULL-terminated; NULL: not known. What
	 * of it is shown: the sanitizers' options, and the flags between program and input. */
	const char *const *env, *const *argv;
	struct render_hide hide;
	/* Where in the repository the stack's first functions are, innermost first. */
	struct render_place places[RENDER_PLACES];
	size_t n_places;
	const char *link;     /* what source_link() takes; NULL: the places are no links */
	const char *built_of; /* the commit of the report's build */
	const char *clean_at; /* the last commit that was fuzzed without it; NULL: unknown */
	struct {
		bool known;
		uint64_t execs, cov, corpus;
	} stats;       /* of the run that found it */
	bool redacted; /* security-relevant: say that there is one, and where to look */
};

/* Does it go into the body?  Else, with `upload`, it is to be uploaded. */
bool render_is_inline(const struct render_crash *r);

/* "Fuzzing crash: png_fuzzer — Heap-use-after-free READ 4 in f" */
MUST_CHECK int render_title(const struct render_crash *r, struct buf *out, struct err *e);
MUST_CHECK int render_body(const struct render_crash *r, struct buf *out, struct err *e);

/* For an issue that is there: what happened to its crash. */
enum render_event { RENDER_AGAIN, RENDER_FIXED, RENDER_REGRESSED, RENDER_PARTLY };
MUST_CHECK int render_comment(const struct render_crash *r, enum render_event what, struct buf *out,
			      struct err *e);

/* r->crash: the entry of the target that also found it; c: the crash. */
MUST_CHECK int render_found(const struct render_crash *r, const struct known_crash *c,
			    struct buf *out, struct err *e);

/* --- the pieces: text.c ------------------------------------------------ */

enum render_how {
	RENDER_LINE,  /* newlines and tabs become blanks */
	RENDER_LINES, /* they stay */
};
/* Text without anything that a reader or a program would act upon, as described above, and
 * without the paths in hide (or NULL). */
MUST_CHECK int render_clean(struct slice text, enum render_how how, const struct render_hide *hide,
			    struct buf *out, struct err *e);
/* Only what a reader could not see, or what is no UTF-8, is replaced: by \xHH or \uHHHH. */
MUST_CHECK int render_visible(struct slice text, enum render_how how, struct buf *out,
			      struct err *e);
/* `text`, in one line, at most max bytes of it. */
MUST_CHECK int render_code(const char *text, size_t max, struct buf *out, struct err *e);
/* A block of code; text must be clean. */
MUST_CHECK int render_fence(struct slice clean, const char *language, struct buf *out,
			    struct err *e);
/* One word for sh(1), in a fence. */
MUST_CHECK int render_word(const char *text, struct buf *out, struct err *e);
/* " --config FILE --state-dir DIR", as far as they are not NULL, for sh(1), in a fence. */
MUST_CHECK int render_options(const char *config, const char *state, struct buf *out,
			      struct err *e);
/* The longest beginning of at most max bytes that ends with a character. */
struct slice render_cut(struct slice text, size_t max);
/* "2026-11-21T19:43:07Z"; "unknown" for 0 */
const char *render_time(uint64_t seconds, char out[32]);
MUST_CHECK int render_base64(struct slice bytes, struct buf *out, struct err *e);

#endif
