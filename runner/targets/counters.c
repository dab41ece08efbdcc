/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/counters.h"

#include "runner/targets/elf.h"

#include <elf.h>

/* The sections with counters, and the size of an entry in 64-bit and 32-bit files. */
static const struct kind {
	const char *name;
	unsigned entry, entry_32;
} kinds[] = {
    {"__sancov_cntrs", 1, 1}, {"__sancov_pcs", 16, 8}, {"__sancov_guards", 4, 4},
    {"__sancov_bools", 1, 1}, {".go.fuzzcntrs", 1, 1},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* The kind of a section; KINDS: none. */
static size_t counters_kind_of(const struct elf_file *m, const struct elf_header *s)
{
	for (size_t i = 0; i < KINDS; i++)
		if (elf_is_named(m, s, kinds[i].name))
			return i;
	return KINDS;
}

/* The entries of a section of kind k; false: the section is not in the file. */
static bool entries_of(const struct elf_file *m, const struct elf_header *s, size_t k,
		       uint64_t *ret)
{
	uint64_t bytes = s->size < m->size ? s->size : m->size;

	if (s->type != SHT_NOBITS && (s->at > m->size || s->size > m->size - s->at))
		return false;
	*ret = bytes / (m->is_32 ? kinds[k].entry_32 : kinds[k].entry);
	return true;
}

/* The largest sum over the kinds, because a compiler writes several kinds of entries for one edge.
 * A counter needs at least four bytes of counting code.  That also bounds sections that use no
 * space in the file. */
static enum counters_known counters_sum(const struct elf_file *m, uint64_t *ret)
{
	uint64_t entries[KINDS] = {0}, most = 0;

	for (uint64_t i = 0; i < m->n; i++) {
		struct elf_header s = elf_section(m, i);
		size_t k = counters_kind_of(m, &s);
		uint64_t n;

		if (k == KINDS || s.type == SHT_NULL)
			continue;
		if (!entries_of(m, &s, k, &n))
			return COUNTERS_UNKNOWN;
		entries[k] += n;
		most = entries[k] > most ? entries[k] : most;
	}
	*ret = most < m->size / 4 ? most : m->size / 4;
	return *ret > 0 ? COUNTERS_FOUND : COUNTERS_NONE;
}

enum counters_known counters_in(int fd, uint64_t *ret)
{
	enum counters_known k = COUNTERS_NONE;
	struct elf_file m;

	*ret = 0;
	switch (elf_open(fd, &m)) {
	case ELF_NONE:
		return COUNTERS_NONE;
	case ELF_UNKNOWN:
		return COUNTERS_UNKNOWN;
	case ELF_READ:
		k = counters_sum(&m, ret);
		elf_done(&m);
		break;
	}
	return k;
}
