/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/known.h"

#include <stdio.h>

static bool known(const json_t *o, const char *key, char out[UNITS_MAX])
{
	snprintf(out, UNITS_MAX, "-");
	return json_is_number(json_object_get(o, key));
}

const char *known_time(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return known(o, key, out) ? units_time(json_get_us(o, key), out) : out;
}

const char *known_count(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return known(o, key, out) ? units_count(json_get_u64(o, key), out) : out;
}

const char *known_exact(const json_t *o, const char *key, char out[UNITS_MAX])
{
	if (known(o, key, out))
		snprintf(out, UNITS_MAX, "%llu", (unsigned long long)json_get_u64(o, key));
	return out;
}
