/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include "base/buf.h"
#include "base/scan.h"

/* Bytes in double quotes, in the format of fuzzing dictionaries and of libFuzzer's output. */

/* Reads "..." with the escapes \\, \", \xHH and \OOO from the start of *in.  Returns false and
 * leaves *in unchanged when there is no such text: no quotes, another escape, an unprintable byte,
 * or more than max bytes. */
bool quote_read(struct slice *in, char *out, size_t max, size_t *ret_n);

/* Appends the bytes in quotes, with the escapes \\, \" and \xHH only. */
void quote_add(struct buf *b, struct slice bytes);

#endif
