/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/symbols.h"

#include "base/memory.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The tables of a program of a gigabyte are smaller than this. */
enum { SYMBOLS_TABLE_MAX = 256 << 20 };

static int by_address(const void *x, const void *y)
{
	const struct symbols_function *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin > b->begin ? 1 : -1;
	return (a->end > b->end) - (a->end < b->end);
}

static void symbols_take(struct symbols *io, const char *table, uint64_t size, uint64_t names_n)
{
	uint64_t n = size / sizeof(Elf64_Sym);

	io->v = xcalloc((size_t)n + 1, sizeof(*io->v));
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Sym s;

		memcpy(&s, table + i * sizeof(s), sizeof(s));
		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF ||
		    s.st_size > UINT64_MAX - s.st_value)
			continue;
		io->v[io->n++] = (struct symbols_function){
		    .begin = s.st_value,
		    .end = s.st_value + s.st_size,
		    .name = io->names + (s.st_name < names_n ? s.st_name : names_n - 1)};
	}
}

bool symbols_read(const struct elf_file *m, struct symbols *ret)
{
	struct symbols s = {0};
	struct elf_header table, strings;
	char *text;

	if (m->is_32 || !elf_find(m, SHT_SYMTAB, NULL, &table) || table.link >= m->n)
		return false;
	strings = elf_section(m, table.link);
	text = elf_load(m, &table, SYMBOLS_TABLE_MAX);
	s.names = elf_load(m, &strings, SYMBOLS_TABLE_MAX);
	if (text && s.names && s.names[strings.size - 1] == '\0')
		symbols_take(&s, text, table.size, strings.size);
	free(text);
	if (s.n == 0) {
		symbols_done(&s);
		return false;
	}
	qsort(s.v, s.n, sizeof(*s.v), by_address);
	*ret = s;
	return true;
}

void symbols_done(struct symbols *s)
{
	free(s->v);
	free(s->names);
	*s = (struct symbols){0};
}
