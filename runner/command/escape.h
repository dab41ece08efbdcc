/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_ESCAPE_H
#define RUNNER_COMMAND_ESCAPE_H

/* Text that did not come from us, made fit for one line of a terminal (base/utf8.h):
 * controls, newlines, what is no UTF-8 and what turns text around are written out; cut to
 * fit, never in the middle of a character. */
enum { ESCAPE_MAX = 1024 };
const char *escape(const char *s, char out[ESCAPE_MAX]);

#endif
