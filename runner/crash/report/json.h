/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_JSON_H
#define RUNNER_CRASH_REPORT_JSON_H

#include "base/json.h"
#include "runner/crash/report/report.h"

/* Makes a new object of a report.  It always has the same keys:
 *
 *   found          bool; without a crash the rest is empty, zero or false
 *   kind           "asan", ...
 *   crash_type     "Heap-buffer-overflow\nREAD 4"
 *   crash_state    array of up to 3 strings
 *   crash_address  "0x602000000011" or ""
 *   security       bool; severity: "none", "low", "medium", "high"
 *   access         "read", "write" or ""; access_size: bytes, 0 unknown
 *   signal         "SIGSEGV" or ""
 *   top_frame, signature, bug, raw_key, headline: strings
 *   unsymbolized   bool
 *   frames         array of objects: number, function, name, file, line, column, module,
 *                  offset, pc, build_id; unknown values are null
 *   raw_frames     number of frames before runtime frames were left out */
json_t *crash_report_json(const struct crash_report *r);

/* Makes the report of such an object, which is not trusted.  Further keys are ignored.  -EBADMSG: a
 * value is missing, of another type, too long, or not plain text.  ret is overwritten; after 0 call
 * crash_report_done() for it. */
MUST_CHECK int crash_report_from_json(const json_t *j, struct crash_report *ret, struct err *e);

#endif
