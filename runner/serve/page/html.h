/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_PAGE_HTML_H
#define RUNNER_SERVE_PAGE_HTML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes one HTML document, or a part of it.  No function adds raw text, so nothing from a
 * target can become markup, an attribute or a script:
 * - Text and attribute values are escaped.  Invalid UTF-8, control characters and characters that
 *   change the direction of text are written as escapes ("\x1b", "\u202e").
 * - Names of elements and attributes must be lower-case literals.  Event handlers ("on..."),
 *   "style", "srcdoc" and "formaction" are refused.  Elements with content that is not markup
 *   (script, style, textarea, ...) must be empty.
 * - An address with a scheme other than http and https is written as "#".
 *
 * The first error is kept: all later calls do nothing and html_done() returns it, so callers
 * need no checks in between.  Elements must be closed in reverse order; html_done() finds open
 * ones. */

enum { HTML_DEPTH = 24, HTML_TEXT_MAX = 256 };

struct html {
	struct buf *out;
	struct err *e;
	int r;	     /* the first error, negative */
	bool in_tag; /* "<td" was written, attributes may follow */
	const char *open[HTML_DEPTH];
	unsigned depth;
};

struct html html_on(struct buf *out, struct err *e);
/* 0, or the first error; -EINVAL: an element is open. */
MUST_CHECK int html_done(struct html *h);

void html_doctype(struct html *h);
/* name: a literal, because the pointer is kept.  Void elements ("meta", "link", "br", "img",
 * "input") must not be closed. */
void html_open(struct html *h, const char *name);
void html_close(struct html *h);

/* Adds an attribute to the last opened element, before its content.  value NULL: no attribute. */
void html_attr(struct html *h, const char *name, const char *value);
void html_attrf(struct html *h, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void html_flag(struct html *h, const char *name); /* an attribute without a value: "hidden" */
/* A link to a page of this site.  path is percent-encoded and relative to the site's root; root
 * ("", "../") leads to the root.  NULL: no attribute. */
void html_href(struct html *h, const char *root, const char *path);

void html_text(struct html *h, const char *text); /* NULL: nothing */
void html_textn(struct html *h, struct slice text);
void html_textf(struct html *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A complete element with this class (NULL: none) and this text. */
void html_element(struct html *h, const char *name, const char *class, const char *text);
/* html_open() with a class. */
void html_begin(struct html *h, const char *name, const char *class);

/* Encodes one segment of a path: all bytes but letters, digits, '.', '_', '-', '~' become %XX. */
void html_url_part(struct buf *out, struct slice s);
/* Decodes the next byte of non-empty input and advances it; -1: a '%' without two digits. */
int html_url_next(struct slice *in);

#endif
