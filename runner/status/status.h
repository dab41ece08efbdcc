/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_STATUS_H
#define RUNNER_STATUS_STATUS_H

#include "base/json.h"
#include "runner/status/row.h"

/* The status of a living run as JSON (docs/control.md), and the conversion back for commands
 * that show it. */

/* {"run": {...}, "targets": [...]}, without a target's long values. */
json_t *status_json(const struct run_view *v);
/* A target with all its values. */
json_t *status_target_json(const struct target_row *r);

/* Converts a received status to a view for tables.  Strings belong to o, which must outlive the
 * view.  ret_rows: the view's rows; free() them. */
MUST_CHECK int status_view(const json_t *o, struct run_view *ret, struct target_row **ret_rows,
			   struct err *e);

#endif
