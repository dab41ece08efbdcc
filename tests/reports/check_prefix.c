/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/crash/report/json.h"
#include "tests/reports/check.h"
#include "tests/reports/prefixes.h"

#include <errno.h>

/* Prints the differences; false if there are any. */
static bool same_json(json_t *a, json_t *b, char *why, size_t size)
{
	const char *key;
	json_t *v;

	json_object_foreach(a, key, v)
	{
		_autofree_ char *is = json_dumps(json_object_get(b, key), JSON_ENCODE_ANY);
		_autofree_ char *was = json_dumps(v, JSON_ENCODE_ANY);

		if (is && was && strcmp(is, was) == 0)
			continue;
		snprintf(why, size, "%s is %.80s, not %.80s", key, is ? is : "?", was ? was : "?");
		return false;
	}
	return true;
}

int check_prefixed(struct item *i, struct slice text, const struct crash_options *o, unsigned way,
		   struct err *e)
{
	struct crash_report is;
	json_t *a, *b;
	size_t n = 0;
	_autofree_ char *prefixed = prefix_all(text, way, &n);

	if (!prefixed)
		return err_set(e, ENOMEM, "prefix a report");
	crash_parse((struct slice){prefixed, n}, o, &is);
	a = crash_report_json(&i->is);
	b = crash_report_json(&is);
	same_json(a, b, i->prefixed, sizeof(i->prefixed));
	json_decref(a);
	json_decref(b);
	crash_report_done(&is);
	return 0;
}
