/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

/* Bytes in double quotes, as fuzzing dictionaries have them and as libFuzzer prints them. */

/* Reads "..." with the escapes \\, \", \xHH and \OOO from the start of *in.  False, and *in is
 * unmoved: it does not begin so, holds another escape or an unprintable byte, or has more than
 * max bytes. */
bool quote_read(struct slice *in, char *out, size_t max, size_t *ret_n);

/* Appends the bytes in quotes, with the escapes \\, \" and \xHH only. */
MUST_CHECK int quote_add(struct buf *b, struct slice bytes, struct err *e);

#endif
