/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_STATUS_H
#define RUNNER_STATUS_STATUS_H

#include "base/json.h"
#include "runner/status/row.h"

/* A run that lives, as it says of itself (docs/control.md), and back: for whoever shows it. */

/* {"run": {...}, "targets": [...]}, without what may be long of a target. */
MUST_CHECK int status_json(const struct run_view *v, json_t **ret, struct err *e);
/* A target with all that is known of it. */
MUST_CHECK int status_target_json(const struct target_row *r, json_t **ret, struct err *e);

/* Of a status that came from elsewhere, what a table shows.  Strings are those of o, which must
 * live as long; ret_rows is the view's, free() it. */
MUST_CHECK int status_view(const json_t *o, struct run_view *ret, struct target_row **ret_rows,
			   struct err *e);

#endif
