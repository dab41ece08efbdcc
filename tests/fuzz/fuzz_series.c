/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a target's curves with any content.  The result is numbers in the order of time, at
 * most as many as requested, and can be printed. */
#include "base/cleanup.h"
#include "runner/state/series.h"
#include "tests/fuzz/must.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const json_t *j, size_t max)
{
	size_t columns = json_array_size(json_object_get(j, "columns"));
	const json_t *points = json_object_get(j, "points");
	double t = 0;

	MUST(columns > 0 && json_is_array(points));
	MUST(max == 0 || json_array_size(points) <= max);
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *p = json_array_get(points, i);

		MUST(json_array_size(p) == columns);
		for (size_t k = 0; k < columns; k++)
			MUST(json_is_number(json_array_get(p, k)));
		MUST(json_number_value(json_array_get(p, 0)) >= t);
		t = json_number_value(json_array_get(p, 0));
	}
}

/* The first byte is the number of requested points. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = NULL;
	struct err e;
	int r;

	if (size == 0)
		return 0;
	r = series_parse((struct slice){(const char *)data + 1, size - 1}, data[0], &j, &e);
	MUST(r == 0 || r == -EBADMSG);
	if (r < 0)
		return 0;
	check(j, data[0]);
	MUST(json_print(j, 0, &text, &e) == 0);
	return 0;
}
