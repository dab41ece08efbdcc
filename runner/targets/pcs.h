/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_PCS_H
#define RUNNER_TARGETS_PCS_H

#include "runner/targets/elf.h"

/* The table of a program's instrumented edges: the section __sancov_pcs of clang and rustc
 * (-fsanitize-coverage=pc-table; two words an entry, its address and flags).  In a program that can
 * be loaded anywhere, relocations hold the addresses.  The file is hostile: see elf.h. */

enum { PCS_FUNCTION = 1 }; /* flag: a function begins here */

struct pcs_entry {
	uint64_t address; /* as in the file's symbol table */
	uint64_t flags;
};

struct pcs {
	struct pcs_entry *v; /* in the order of the engine's numbers of edges */
	size_t n;
};

/* False: there is no table, it has more than `most` entries, or it cannot be read.  Otherwise the
 * caller frees ret->v. */
bool pcs_read(const struct elf_file *m, size_t most, struct pcs *ret);

#endif
