/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_PRINT_H
#define RUNNER_COVERAGE_PRINT_H

#include "base/json.h"

#include <stdio.h>

/* A coverage report as text for users.  Pure but for printing. */

enum { PRINT_SHARE = 64 };

/* "1234 of 5678 (21.7 %)" of a measure: "lines", "functions", "regions", "branches". */
const char *print_share(const json_t *totals, const char *measure, char out[PRINT_SHARE]);

/* Prints the report: its totals, the inputs, what stands in the way (most: how many), and what
 * changed. */
void print_coverage(const json_t *report, size_t most, FILE *to);
/* Prints what shelf_changes() returned. */
void print_coverage_changes(const char *target, const json_t *changes, FILE *to);

#endif
