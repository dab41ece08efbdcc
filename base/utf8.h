/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that may be any bytes, for people: which of its characters they may see. */

/* Bytes of the character that s begins with, and what it is; 0: no UTF-8. */
size_t utf8_next(struct slice s, uint32_t *ret);

/* May a reader see this character as it is?  Not the controls (a terminal obeys them), nor
 * what is invisible or turns the text around it. */
bool utf8_is_plain(uint32_t c);

#define UTF8_SHOWN_MAX 12

/* What s (not empty) begins with, as ASCII or plain UTF-8 with a NUL: itself, or "\x1b",
 * "\u202e", "\U000e0001"; newlines and tabs are escaped, too.  Returns its bytes in s, 1 or
 * more. */
size_t utf8_shown(struct slice s, char out[UTF8_SHOWN_MAX]);

#endif
