/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_ESCAPE_H
#define RUNNER_COMMAND_ESCAPE_H

/* Text that did not come from us, made fit for a terminal: control characters
 * and the escape character become \xHH; cut to fit. */
enum { ESCAPE_MAX = 1024 };
const char *escape(const char *s, char out[ESCAPE_MAX]);

#endif
