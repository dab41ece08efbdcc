/* SPDX-License-Identifier: Apache-2.0 */
/* A diff with any content. */
#include "runner/ci/diff.h"
#include "tests/fuzz/must.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diff d = {0};
	struct err e;
	int r = diff_parse((struct slice){(const char *)data, size}, &d, &e);

	MUST(r == 0 || r == -EBADMSG || r == -E2BIG);
	MUST(r == 0 || d.n == 0);
	for (size_t i = 0; i < d.n; i++) {
		const struct diff_file *f = &d.v[i];

		MUST(strlen(f->path) <= DIFF_PATH_MAX && diff_find(&d, f->path));
		MUST(i == 0 || strcmp(d.v[i - 1].path, f->path) <= 0);
		for (size_t k = 0; k < f->n; k++)
			MUST(diff_touches(f, f->hunks[k].first));
	}
	diff_done(&d);
	return 0;
}
