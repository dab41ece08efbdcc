/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_INTERNAL_H
#define RUNNER_PUBLISH_RENDER_INTERNAL_H

/* Internal to runner/publish/render/: the sections of a body (parts.c). */
#include "runner/publish/render/render.h"

/* "### Stack trace" in at most max bytes; a long trace is cut in the middle. */
void render_stack(const struct render_crash *r, size_t max, struct buf *out);
void render_input(const struct render_crash *r, struct buf *out);
void render_commands(const struct render_crash *r, struct buf *out);
/* The commands for the machine that has the state directory. */
void render_local(const struct render_crash *r, struct buf *out);

#endif
