/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONTROL_STATUS_H
#define RUNNER_COMMAND_CONTROL_STATUS_H

#include "base/buf.h"
#include "runner/command/control/places.h"

/* Between status.c, status_health.c, status_page.c and status_watch.c. */
struct status_args {
	struct places places;
	struct control_request request;
	bool watch, json;
};

/* A run's answer as the live table, fit for a terminal.  Changes o. */
MUST_CHECK int status_draw(json_t *o, unsigned columns, unsigned lines, struct buf *out,
			   unsigned *ret_lines, struct err *e);
/* What is wrong with a target, by what the run says of it: a line a finding, fit for a terminal.
 * all: also notes, what to do, and that nothing is wrong; else warnings and errors. */
MUST_CHECK int status_health(const json_t *target, bool all, struct buf *out, struct err *e);
/* A page about a target, by what the run says of it, fit for a terminal. */
MUST_CHECK int status_page(const json_t *target, struct buf *out, struct err *e);
/* One line. */
int status_print_json(json_t *take_o);

/* Every second, until no run lives there any more, or somebody ends it; an exit status. */
int status_watch(struct status_args *a);

#endif
