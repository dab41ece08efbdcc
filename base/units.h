/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/scan.h"

/* Sizes and times as text for users, in both directions.
 *   size: "1024", "64KiB", "256MiB", "2GiB" (also "B"; powers of 1024 only)
 *   time: "30s", "10m", "1h30m", "2d", "500ms"; a bare number is seconds
 * The whole text must be the value.  Blanks are allowed only between number and unit. */
bool units_parse_size(struct slice text, uint64_t *ret_bytes);
bool units_parse_time(struct slice text, uint64_t *ret_us);

#define UNITS_MAX 32

/* Prints a size in its largest unit: "256MiB", or rounded to one decimal: "1.5GiB".  Returns out,
 * which holds UNITS_MAX bytes. */
const char *units_size(uint64_t bytes, char out[UNITS_MAX]);
/* "850ms", "12s", "3m20s", "1h05m", "2d03h": two fields at most. */
const char *units_time(uint64_t us, char out[UNITS_MAX]);
/* "1 crash", "2 crashes" */
#define UNITS_OF_MAX 96
const char *units_of(uint64_t n, const char *one, const char *more, char out[UNITS_OF_MAX]);
/* "999", "12.3k", "4.5M", "1.2G": counts for a table. */
const char *units_count(uint64_t n, char out[UNITS_MAX]);

#endif
