/* SPDX-License-Identifier: Apache-2.0 */
/* What llvm-dwarfdump prints, with any content. */
#include "base/cleanup.h"
#include "runner/coverage/linetable.h"
#include "tests/fuzz/must.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char given; /* its address comes back */

static bool wants(void *arg, const char *path)
{
	MUST(arg == &given && strlen(path) <= 3 * LINETABLE_PATH_MAX + 2);
	MUST(strncmp(path, "./", 2) != 0 && !strstr(path, "/./"));
	return path[0] != '?';
}

static void check(const struct lcov *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct lcov_file *f = &l->v[i];

		MUST(f->n_lines > 0 && (i == 0 || strcmp(f[-1].path, f->path) < 0));
		for (size_t k = 0; k < f->n_lines; k++) {
			MUST(f->lines[k].line > 0 && f->lines[k].count <= 1);
			MUST(k == 0 || f->lines[k - 1].line < f->lines[k].line);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols_function functions[] = {
	    {0x1000, 0x1080, "f"}, {0x1100, 0x1180, "_GLOBAL__g"}, {0x1200, 0x1280, "h"}};
	struct pcs_entry edges[] = {{0x1000, 1}, {0x1100, 1}, {0x1110, 0}};
	struct linetable *t = linetable_new(&(struct pcs){edges, 3},
					    &(struct symbols){functions, 3, NULL}, wants, &given);
	struct slice in = {(const char *)data, size}, line;
	_autobits_ struct bits one = {0};
	_autolcov_ struct lcov l = {0};
	struct err e;
	int r;

	while (scan_line(&in, &line))
		linetable_take(t, line);
	(void)bits_add(&one, 0);
	r = linetable_lcov(t, &one, &l, &e);
	MUST(r == linetable_check(t, &e));
	MUST(r == 0 ? linetable_has_files(t) == (l.n > 0) : l.n == 0);
	check(&l);
	linetable_free(t);
	return 0;
}
