/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_SERVE_HTML_H
#define RUNNER_SERVE_SERVE_HTML_H

#include "base/buf.h"
#include "base/scan.h"

/* Text of others, as HTML text or as the value of a quoted attribute: & < > " ' become
 * references, control characters but newline and tab U+FFFD, as do those that turn the direction
 * of what follows. */
MUST_CHECK int html_text(struct buf *out, struct slice s, struct err *e);

/* One segment of a path: all but letters, digits, '.', '_', '-', '~' as %XX. */
MUST_CHECK int html_url_part(struct buf *out, struct slice s, struct err *e);

#endif
