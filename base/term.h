/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/err.h"

/* A standard descriptor that is closed is /dev/null from now on: else a file of ours would
 * get its number, and what is printed.  And nothing comes out of stdout and stderr that a terminal
 * obeys, whatever is printed: control characters but newline and tab, what is no UTF-8, and what
 * hides text or turns its direction are written out ("\x1b", "\u202e").  The last line of defence:
 * who prints foreign text escapes it (a newline of it would begin a line of ours).  Line-buffered;
 * descriptors 1 and 2 themselves stay as they are, for what is drawn.  Not for bytes: they are
 * write(2)s. */
MUST_CHECK int term_guard(struct err *e);

/* Flushes stdout.  0: all that was printed there went out; else the errno of what first did
 * not.  Of a descriptor that does not block one that is slow is waited for. */
int term_lost(void);

#endif
