/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/formats.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <string.h>

json_t *ci_quality(const json_t *result)
{
	const json_t *crashes = json_object_get(result, "crashes");
	json_t *all = json_array();

	for (size_t i = 0; i < json_array_size(crashes); i++) {
		const json_t *c = json_array_get(crashes, i);
		const char *path = json_get_text(c, "path"), *target = json_get_text(c, "target");
		uint64_t line = json_get_u64(c, "line");
		_autofree_ char *text = NULL;

		if (strcmp(json_get_text(c, "status"), "new") != 0)
			continue;
		text = xasprintf("%s in target %s", json_get_text(c, "type"), target);
		(void)json_array_append_new(
		    all,
		    json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:{s:I}}}", "description", text,
			      "check_name", "fuzzcell", "fingerprint",
			      json_get_text(c, "signature"), "severity",
			      json_is_true(json_object_get(c, "security")) ? "critical" : "major",
			      "location", "path", *path ? path : target, "lines", "begin",
			      (json_int_t)(line ? line : 1)));
	}
	return all;
}
