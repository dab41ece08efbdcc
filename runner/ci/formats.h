/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CI_FORMATS_H
#define RUNNER_CI_FORMATS_H

#include "base/buf.h"
#include "base/json.h"

/* The result of `fuzzcell ci` in the formats that CI services read.  Pure.
 *
 * The result is a JSON object (docs/json.md):
 *
 *	"status": "green" | "red" | "not-built" | "not-fuzzed", "verdict": one sentence,
 *	"base", "head": commits, "seed": the number that all random choices begin with,
 *	"seconds", "command": how to run it again,
 *	"targets": [{"name", "affected", "why", "fuzzed", "end", "unbuilt", "problem", "seconds",
 *		"execs", "edges", "checks_left"}],
 *	"replayed": {"inputs", "passed", "failed", "left_out"},
 *	"crashes": [{"status": "new" | "old" | "fixed" | "unconfirmed", "signature", "target",
 *		"type", "headline", "severity", "security", "base": what the base does, "hits",
 *		"tries", "path", "line", "frames": [{"function", "path", "line"}]}]
 *
 * Texts are UTF-8, and may come from a target. */

/* SARIF 2.1.0 (OASIS), as GitHub code scanning takes it: new crashes are errors, old ones notes. */
MUST_CHECK int ci_sarif(const json_t *result, json_t **ret, struct err *e);
/* JUnit XML: a test case for each target. */
void ci_junit(const json_t *result, struct buf *out);
/* GitLab's code quality report (an array of issues): new crashes. */
json_t *ci_quality(const json_t *result);
/* Markdown for people. */
void ci_markdown(const json_t *result, struct buf *out);

#endif
