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

#endif
