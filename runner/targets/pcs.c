/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/pcs.h"

#include "base/memory.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The relocations of a program of 100 MB are smaller than this. */
enum { RELOCATIONS_MAX = 64 << 20 };

/* Applies the relocations of the table at this address.  Without relocations, the table contains
 * the addresses. */
static void pcs_relocate(struct pcs *p, uint64_t addr, const char *relocations, uint64_t size)
{
	for (uint64_t i = 0; i < size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela r;
		uint64_t at;

		memcpy(&r, relocations + i * sizeof(r), sizeof(r));
		at = r.r_offset - addr;
		if (r.r_offset >= addr && at / sizeof(*p->v) < p->n && at % sizeof(*p->v) == 0)
			p->v[at / sizeof(*p->v)].address = (uint64_t)r.r_addend;
	}
}

static bool pcs_load(const struct elf_file *m, const struct elf_header *at, struct pcs *io)
{
	struct elf_header s;
	char *relocations;

	if (!elf_read(m, io->v, io->n * sizeof(*io->v), at->at))
		return false;
	if (!elf_find(m, SHT_RELA, ".rela.dyn", &s))
		return true;
	relocations = elf_load(m, &s, RELOCATIONS_MAX);
	if (!relocations)
		return false;
	pcs_relocate(io, at->addr, relocations, s.size);
	free(relocations);
	return true;
}

bool pcs_read(const struct elf_file *m, size_t most, struct pcs *ret)
{
	struct pcs p = {0};
	struct elf_header at;

	if (m->is_32 || !elf_find(m, SHT_PROGBITS, "__sancov_pcs", &at))
		return false;
	p.n = at.size / sizeof(*p.v);
	if (p.n == 0 || p.n > most)
		return false;
	p.v = xcalloc(p.n, sizeof(*p.v));
	if (!pcs_load(m, &at, &p)) {
		free(p.v);
		return false;
	}
	*ret = p;
	return true;
}
