/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REPORT_REPORT_H
#define RUNNER_COMMAND_REPORT_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"

/* `fuzzcell report`: what became of one run, from what it left in logs/<run>/, the histories and
 * the ledger.  Only reads, and needs no lock. */

/* {"v": 1, "run": summary.json's keys without its targets, "targets": [...], "crashes": [...],
 * "findings": [...]}.  Targets have their statistics, and "cov_before" and "run_before": what they
 * had reached in the run before (null: there is none).  Crashes: "signature", "what", "state" (in
 * that run), "state_now", "count", "targets", "security", "issue_url" ("": none).  Findings:
 * runner/status/health/health.h.
 *
 * Of a run that has no summary.json (it lives, or was killed) there is what its series say; its
 * "status" is "lost" when that is known, else "unfinished".
 * -ENOENT: there is no such run. */
MUST_CHECK int report_model(const struct state *s, const struct ledger *l, const char *run,
			    json_t **ret, struct err *e);
/* The id of the newest run; -ENOENT: there is none. */
MUST_CHECK int report_last_run(const struct state *s, char ret[64], struct err *e);

/* The model as Markdown.  What a target said stands in code. */
MUST_CHECK int report_markdown(const json_t *model, struct buf *out, struct err *e);

#endif
