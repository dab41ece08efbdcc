/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/err.h"

/* From now on nothing comes out of stdout and stderr that a terminal obeys, whatever is
 * printed: control characters but newline and tab, what is no UTF-8, and what hides text or
 * turns its direction are written out ("\x1b", "\u202e").  The last line of defence: who prints
 * foreign text escapes it (a newline of it would begin a line of ours).  Line-buffered; descriptors
 * 1 and 2 themselves stay as they are, for what is drawn.  Not for bytes: they are write(2)s. */
MUST_CHECK int term_guard(struct err *e);

#endif
