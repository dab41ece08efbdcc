/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_MINIMISE_INTERNAL_H
#define RUNNER_CRASH_MINIMISE_INTERNAL_H

#include "runner/crash/minimise/minimise.h"

/* Shared by minimise.c and fields.c. */

/* Makes the candidate: the best input so far without the bytes from..to. */
void shrink_leave_out(struct shrink *s, size_t from, size_t to);

/* wide: numbers of two and four bytes, else of one byte. */
void shrink_fields_begin(struct shrink *s, bool wide);
bool shrink_fields_over(const struct shrink *s);
/* Makes a candidate; false: the current number has no further one.  In that case, and when the
 * candidate was refused, call shrink_fields_refused(). */
bool shrink_fields_make(struct shrink *s);
void shrink_fields_refused(struct shrink *s);
void shrink_fields_accepted(struct shrink *s);

#endif
