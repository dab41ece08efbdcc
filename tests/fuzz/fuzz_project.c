/* SPDX-License-Identifier: Apache-2.0 */
/* A project.yaml with any content: its sanitizers become directories and environment, its notes are
 * printed. */
#include "runner/config/project.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_printable(const char *s)
{
	for (; *s; s++)
		check((unsigned char)*s >= ' ' && *s != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct project p;
	struct err e;

	if (size > PROJECT_MAX)
		return 0;
	if (project_parse((struct slice){(const char *)data, size}, "p", &p, &e) < 0) {
		check(strncmp(e.msg, "p:", 2) == 0);
		check_printable(e.msg);
		return 0;
	}
	check(p.sanitizers.n > 0 && p.sanitizers.n <= 4);
	for (size_t i = 0; i < p.sanitizers.n; i++) {
		check(p.sanitizers.v[i][strspn(p.sanitizers.v[i], "abcdefghijklmnopqrstuvwxyz")] ==
		      '\0');
		for (size_t k = 0; k < i; k++)
			check(strcmp(p.sanitizers.v[i], p.sanitizers.v[k]) != 0);
	}
	for (size_t i = 0; i < p.notes.n; i++)
		check_printable(p.notes.v[i]);
	project_done(&p);
	return 0;
}
