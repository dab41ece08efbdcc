/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/err.h"

/* Guards stdin, stdout and stderr.
 *
 * Opens a closed standard descriptor as /dev/null.  Otherwise one of our files would get its
 * number, and printed text would go into that file.
 *
 * Escapes everything in stdout and stderr that could control a terminal ("\x1b", "\u202e"): control
 * characters except newline and tab, invalid UTF-8, and characters that hide or reverse text.  This
 * is the last line of defence: callers must still escape untrusted text, because a newline in such
 * text would start a line of ours.
 *
 * Both streams are line-buffered.  Descriptors 1 and 2 stay unguarded: screens are drawn there, and
 * binary data is written there with write(2). */
MUST_CHECK int term_guard(struct err *e);

/* Flushes stdout.  Returns 0 when all printed text was written, else the errno of the first failed
 * write.  When the descriptor is non-blocking and full, waits for a slow reader. */
int term_lost(void);

#endif
