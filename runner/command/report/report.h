/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REPORT_REPORT_H
#define RUNNER_COMMAND_REPORT_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"

/* `fuzzcell report`: the results of one run, from its files in logs/<run>/, the histories and the
 * ledger. Only reads; needs no lock. */

/* Makes {"v": 1, "run": ..., "targets": [...], "crashes": [...], "findings": [...]}. "run" has the
 * keys of summary.json except its targets. Targets have their statistics, and "cov_before" and
 * "run_before": the coverage in the run before (null: there is none). Crashes: "signature", "what",
 * "state" (in that run), "state_now", "count", "targets", "security", "issue_url" ("": none).
 * Findings: runner/status/health/health.h.
 *
 * A run that is active or was killed has no summary.json. The model then has what its series
 * contain. Its "status" is "lost" if the run is known to be killed, else "unfinished".
 * -ENOENT: there is no such run. */
MUST_CHECK int report_model(const struct state *s, const struct ledger *l, const char *run,
			    json_t **ret, struct err *e);
/* Returns the id of the newest run. -ENOENT: there is none. */
MUST_CHECK int report_last_run(const struct state *s, char ret[64], struct err *e);

/* Writes the model as Markdown. Text of a target is quoted as code. */
MUST_CHECK int report_markdown(const json_t *model, struct buf *out, struct err *e);

#endif
