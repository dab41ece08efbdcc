/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decides which characters of untrusted bytes may be shown to a user. */

/* Decodes the first character of s to *ret.  Returns its length in bytes; 0: invalid UTF-8. */
size_t utf8_next(struct slice s, uint32_t *ret);

/* Whether the character may be shown unescaped.  False for control characters, invisible
 * characters and characters that change the direction of text. */
bool utf8_is_plain(uint32_t c);

#define UTF8_SHOWN_MAX 12

/* Writes the first character of s (not empty) to out, with a NUL: the character itself or its
 * escape ("\x1b", "\u202e", "\U000e0001").  Newlines and tabs are escaped, too.  Returns the number
 * of bytes taken from s, 1 or more. */
size_t utf8_shown(struct slice s, char out[UTF8_SHOWN_MAX]);

#endif
