/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/scan.h"

/* Escape untrusted text so that it fits on one line.  Both functions return out. */
enum { ESCAPE_MAX = 1024, ESCAPE_ASCII_MAX = 512 };

/* For a terminal (base/utf8.h): escapes control characters, newlines, bytes that are not UTF-8 and
 * characters that reverse text.  Long text is cut, never in the middle of a character. */
const char *escape(const char *s, char out[ESCAPE_MAX]);

/* For messages that also go to logs: every byte that is not printable ASCII, and the backslash,
 * becomes \xNN.  Long text is cut and ends with "...". */
const char *escape_ascii(struct slice text, char out[ESCAPE_ASCII_MAX]);

#endif
