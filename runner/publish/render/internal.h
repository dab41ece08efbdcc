/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_INTERNAL_H
#define RUNNER_PUBLISH_RENDER_INTERNAL_H

/* Internal to runner/publish/render/: the sections of a body (parts.c). */
#include "runner/publish/render/render.h"

/* "### Stack trace" in at most max bytes; a long trace is cut in the middle. */
MUST_CHECK int render_stack(const struct render_crash *r, size_t max, struct buf *out,
			    struct err *e);
MUST_CHECK int render_input(const struct render_crash *r, struct buf *out, struct err *e);
MUST_CHECK int render_commands(const struct render_crash *r, struct buf *out, struct err *e);
/* The commands for the machine that has the state directory. */
MUST_CHECK int render_local(const struct render_crash *r, struct buf *out, struct err *e);

#endif
