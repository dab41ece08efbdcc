/* SPDX-License-Identifier: Apache-2.0 */
/* A symbolizer's answers with any content.  The first byte: how many edges were asked for. */
#include "runner/coverage/functions.h"
#include "tests/fuzz/must.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bits odd = {0};
	struct lcov l = {0};
	struct err e;
	int r;

	if (size == 0)
		return 0;
	for (uint32_t i = 1; i < *data; i += 2)
		(void)bits_add(&odd, i);
	r = functions_lcov((struct slice){(const char *)data + 1, size - 1}, *data, &odd, &l, &e);
	MUST(r == 0 || r == -EBADMSG || r == -E2BIG);
	MUST(r == 0 || l.n == 0);
	for (size_t i = 0; i < l.n; i++) {
		const struct lcov_file *f = &l.v[i];

		MUST(*f->path);
		for (size_t k = 0; k < f->n_lines; k++) {
			MUST(f->lines[k].line > 0 && f->lines[k].count <= 1);
			MUST(k == 0 || f->lines[k - 1].line < f->lines[k].line);
		}
	}
	lcov_done(&l);
	bits_done(&odd);
	return 0;
}
