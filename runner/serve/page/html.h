/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_PAGE_HTML_H
#define RUNNER_SERVE_PAGE_HTML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes one HTML document, or a part of one.  There is no function that adds text as it
 * is, so nothing that comes from a target can become markup, an attribute or a script:
 * - text and attribute values are escaped; what is no UTF-8, control characters and what
 *   turns the direction of text are written out ("\x1b", "\u202e");
 * - names of elements and attributes must be lower-case literals, no event handler ("on..."),
 *   no "style", "srcdoc" or "formaction"; elements whose content is not markup (script,
 *   style, textarea, ...) have no content;
 * - an address that names a scheme other than http and https is written as "#".
 * The first error stays: all later calls do nothing and html_done() returns it, so that
 * callers need no checks between.  Elements are closed in the order in which they were
 * opened; html_done() finds those that were not. */

enum { HTML_DEPTH = 24, HTML_TEXT_MAX = 256 };

struct html {
	struct buf *out;
	struct err *e;
	int r;	     /* the first error, negative */
	bool in_tag; /* "<td" was written, its attributes may follow */
	const char *open[HTML_DEPTH];
	unsigned depth;
};

struct html html_on(struct buf *out, struct err *e);
/* 0, or the first error; -EINVAL: an element is open. */
MUST_CHECK int html_done(struct html *h);

void html_doctype(struct html *h);
/* name: a literal, it is kept.  Void elements ("meta", "link", "br", "img", "input") need no
 * html_close(), and may not have one. */
void html_open(struct html *h, const char *name);
void html_close(struct html *h);

/* Of the element that was opened last, before anything is in it.  value NULL: no attribute. */
void html_attr(struct html *h, const char *name, const char *value);
void html_attrf(struct html *h, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void html_flag(struct html *h, const char *name); /* without a value: "hidden" */
/* A page of ours: path is percent-encoded and begins at the site's root, to which root ("",
 * "../") is the way.  NULL: no attribute. */
void html_href(struct html *h, const char *root, const char *path);

void html_text(struct html *h, const char *text); /* NULL: nothing */
void html_textn(struct html *h, struct slice text);
void html_textf(struct html *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An element with this class (NULL: none) and this text, opened and closed. */
void html_element(struct html *h, const char *name, const char *class, const char *text);
/* html_open() with a class. */
void html_begin(struct html *h, const char *name, const char *class);

/* One segment of a path: all but letters, digits, '.', '_', '-', '~' as %XX. */
MUST_CHECK int html_url_part(struct buf *out, struct slice s, struct err *e);
/* And back: the next byte of what is not empty, which moves on; -1: a '%' without two digits. */
int html_url_next(struct slice *in);

#endif
