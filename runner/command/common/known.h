/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_KNOWN_H
#define RUNNER_COMMAND_COMMON_KNOWN_H

#include "base/json.h"
#include "base/units.h"

/* Formats a number of a JSON object for a table: as time ("1h02m", from seconds), rounded ("1.5M"),
 * or exact. Writes "-" if there is no number, because unknown differs from 0. The functions return
 * out. */
const char *known_time(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_count(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_exact(const json_t *o, const char *key, char out[UNITS_MAX]);

#endif
