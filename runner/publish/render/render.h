/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_RENDER_H
#define RUNNER_PUBLISH_RENDER_RENDER_H

#include "base/buf.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/render/source_link.h"

#include <stdbool.h>

/* Renders a crash as an issue's text.  Pure: the same crash gives the same bytes.
 *
 * Names, types, frames, reports and inputs come from the target, so they are hostile.  They are
 * put in code spans, or in fences longer than any run of backticks in them.  There neither
 * markdown nor HTML nor a mention has a meaning.  Control characters, characters that change the
 * direction of text, and invalid UTF-8 are escaped ("\x1b", "\u202e").  No such text can begin a
 * comment ("<!--"), as markers do, or contain a placeholder.
 *
 * The functions append to *out.  A text of which any part does not fit makes *out full: call
 * buf_check(). */

enum {
	RENDER_BODY_MAX = 60000,      /* bytes; GitHub's own limit is 65536 characters */
	RENDER_TITLE_MAX = 240,	      /* bytes; GitHub's own is 256 characters */
	RENDER_INLINE_MAX = 12 << 10, /* bytes of an input in a body: an upper limit */
};

/* In a body: the placeholder for the text about a reproducer that is too large for the body. */
#define RENDER_REPRODUCER "%REPRODUCER%"
/* Enclose the reproducer, each on a line of its own, so that a smaller one can replace it. */
#define RENDER_INPUT_BEGIN "<!-- reproducer -->"
#define RENDER_INPUT_END   "<!-- end of reproducer -->"

/* Paths of this machine, which readers do not need; NULL: none. */
struct render_hide {
	const char *state_dir;	/* becomes "..." */
	const char *source_dir; /* becomes "." at the beginning of a path */
};

enum { RENDER_PLACES = 4 };
struct render_place {
	char path[SOURCE_PATH_MAX];
	uint64_t line; /* 0: unknown */
};

struct render_crash {
	const struct known_crash *crash; /* or one of its entries */
	const char *target;  /* the target with the report, input and binary; NULL: the only one */
	const char *name;    /* outbox_name() of its signature, for the marker */
	struct slice report; /* the target's output; empty: unknown */
	/* crash_report.headline: text before this line is not shown; NULL or "": all is. */
	const char *headline;
	/* The minimised reproducer, else the original. */
	struct slice input;	/* p NULL: not available */
	uint64_t input_bytes;	/* 0 with input.p NULL: there is no input */
	const char *input_path; /* in the state directory; NULL: not shown */
	bool minimized;
	uint64_t inline_bytes;	    /* the largest input that the body contains */
	bool upload;		    /* a larger input is uploaded: RENDER_REPRODUCER */
	const char *build;	    /* the target's build command; NULL: unknown */
	const char *label, *corpus; /* of the target in a Bazel workspace; NULL: none */
	const char *binary;	    /* as the user would type it; NULL: "./<target>" */
	/* The engine's environment and command as in a cell, NULL-terminated; NULL: unknown.
	 * The text shows the sanitizers' options, and the flags between program and input. */
	const char *const *env, *const *argv;
	struct render_hide hide;
	/* Where the stack's first functions are in the repository, innermost first. */
	struct render_place places[RENDER_PLACES];
	size_t n_places;
	const char *link;     /* the template for source_link(); NULL: the places are no links */
	const char *built_of; /* the commit of the build that printed the report */
	const char *clean_at; /* the last commit that was fuzzed without the crash; NULL: unknown */
	struct {
		bool known;
		uint64_t execs, cov, corpus;
	} stats;       /* of the run that found it */
	bool redacted; /* security-relevant: shows no details, only where they are */
};

/* Does the input go into the body?  Else, with `upload`, it has to be uploaded. */
bool render_is_inline(const struct render_crash *r);

/* "Fuzzing crash: png_fuzzer — Heap-use-after-free READ 4 in f" */
void render_title(const struct render_crash *r, struct buf *out);
void render_body(const struct render_crash *r, struct buf *out);

/* For an existing issue: what happened to its crash. */
enum render_event { RENDER_AGAIN, RENDER_FIXED, RENDER_REGRESSED, RENDER_PARTLY };
void render_comment(const struct render_crash *r, enum render_event what, struct buf *out);

/* For an existing issue: the commits with which the crash began and ended. */
void render_bisected(const struct render_crash *r, struct buf *out);

/* r->crash: the entry of the target that also found it; c: the crash. */
void render_found(const struct render_crash *r, const struct known_crash *c, struct buf *out);

/* --- parts of texts ------------------------------------------------------- */

enum render_how {
	RENDER_LINE,  /* newlines and tabs become blanks */
	RENDER_LINES, /* newlines and tabs stay */
};
/* Makes text harmless for readers and programs, as described above, and removes the paths in
 * hide (or NULL). */
void render_clean(struct slice text, enum render_how how, const struct render_hide *hide,
		  struct buf *out);
/* Replaces only invisible characters and invalid UTF-8, by \xHH or \uHHHH. */
void render_visible(struct slice text, enum render_how how, struct buf *out);
/* Appends `text` as a code span: one line, at most max bytes of it. */
void render_code(const char *text, size_t max, struct buf *out);
/* Appends a block of code; the text must be clean. */
void render_fence(struct slice clean, const char *language, struct buf *out);
/* Appends one word for sh(1), in a fence. */
void render_word(const char *text, struct buf *out);
/* Appends " --config FILE --state-dir DIR" for sh(1), in a fence; a NULL option is left out. */
void render_options(const char *config, const char *state, struct buf *out);
/* The longest prefix of at most max bytes that does not split a character. */
struct slice render_cut(struct slice text, size_t max);
/* "2026-11-21T19:43:07Z"; "unknown" for 0 */
const char *render_time(uint64_t seconds, char out[32]);
void render_base64(struct slice bytes, struct buf *out);

#endif
