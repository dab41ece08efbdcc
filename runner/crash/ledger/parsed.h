/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_PARSED_H
#define RUNNER_CRASH_LEDGER_PARSED_H

#include "base/json.h"
#include "runner/crash/report/report.h"

/* What the parser read in a crash's report.txt.  Triage parses a report once.  The result is in the
 * crash's record.json, under "reports", with one member for each target:
 *
 *	"reports": {"<target>": {"text_sha1": "<SHA-1 of report.txt>", ...}}
 *
 * "..." are the keys of crash_report_json(). */

/* The result for the record; text: the report.txt that it was read in. */
json_t *parsed_json(const struct crash_report *r, struct slice text);

/* The result for a target's report.txt, which holds text: from the record.  If the record has none
 * (it is damaged, missing, or about another text), the text is parsed again.  ret is overwritten;
 * call crash_report_done() for it. */
void parsed_read(int state_dirfd, const char *signature, const char *target, struct slice text,
		 struct crash_report *ret);

/* The "reports" of the crash's record.json; an empty object: none. */
MUST_CHECK int parsed_load(int state_dirfd, const char *signature, json_t **ret, struct err *e);

#endif
