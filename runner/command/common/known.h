/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_KNOWN_H
#define RUNNER_COMMAND_COMMON_KNOWN_H

#include "base/json.h"
#include "base/units.h"

/* A number of an object for a table: as time ("1h02m", of seconds), rounded ("1.5M"), or as it
 * is.  "-" where there is none: what is not known is not nothing.  They return out. */
const char *known_time(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_count(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_exact(const json_t *o, const char *key, char out[UNITS_MAX]);

#endif
