/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/instrumented.h"

#include "runner/targets/pcs.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The tables of a program of 100 MB are smaller than this. */
enum { TABLE_MAX = 64 << 20 };

struct program {
	const struct elf_file *elf;
	struct pcs pcs;
};

static bool is_instrumented(const struct program *p, uint64_t address)
{
	for (size_t i = 0; i < p->pcs.n; i++)
		if ((p->pcs.v[i].flags & PCS_FUNCTION) && p->pcs.v[i].address == address)
			return true;
	return false;
}

static bool instrumented_begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Whether a function is from FuzzedDataProvider.h or the C++ standard library.  In the mangling of
 * the Itanium C++ ABI, std::x is _ZSt1x and its members are _ZNSt...  Members of the abbreviated
 * classes are _ZNSs, _ZNSa ... */
static bool is_of_header(const char *name)
{
	return instrumented_begins(name, "_ZN18FuzzedDataProvider") ||
	       instrumented_begins(name, "_ZSt") || instrumented_begins(name, "_ZNS") ||
	       instrumented_begins(name, "_ZNKS") || instrumented_begins(name, "_ZN9__gnu_cxx") ||
	       instrumented_begins(name, "_ZNK9__gnu_cxx") ||
	       strcmp(name, "__clang_call_terminate") == 0;
}

/* Whether another file can call the function.  Linkers make hidden functions local: lld leaves them
 * hidden, GNU ld puts them behind a file without a name. */
static bool is_shared(const Elf64_Sym *s, bool of_no_file)
{
	return ELF64_ST_BIND(s->st_info) != STB_LOCAL || of_no_file ||
	       ELF64_ST_VISIBILITY(s->st_other) == STV_HIDDEN;
}

/* names must end with a NUL. */
static enum instrumented instrumented_judge(const struct program *p, const char *symbols,
					    uint64_t size, const char *names, uint64_t names_n)
{
	enum instrumented found = INSTRUMENTED_UNKNOWN;
	bool of_no_file = false;

	for (uint64_t i = 0; i < size / sizeof(Elf64_Sym); i++) {
		const char *name;
		Elf64_Sym s;

		memcpy(&s, symbols + i * sizeof(s), sizeof(s));
		name = s.st_name < names_n ? names + s.st_name : "";
		if (ELF64_ST_TYPE(s.st_info) == STT_FILE)
			of_no_file = !*name;
		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !is_instrumented(p, s.st_value))
			continue;
		if (instrumented_begins(name, "LLVMFuzzer"))
			found = INSTRUMENTED_HARNESS;
		else if (is_shared(&s, of_no_file) && !is_of_header(name))
			return INSTRUMENTED_LIBRARY;
	}
	return found;
}

static enum instrumented by_symbols(const struct program *p)
{
	enum instrumented found = INSTRUMENTED_UNKNOWN;
	struct elf_header table, strings;
	char *symbols = NULL, *names = NULL;

	if (!elf_find(p->elf, SHT_SYMTAB, NULL, &table) || table.link >= p->elf->n)
		return found;
	strings = elf_section(p->elf, table.link);
	symbols = elf_load(p->elf, &table, TABLE_MAX);
	names = elf_load(p->elf, &strings, TABLE_MAX);
	if (symbols && names && names[strings.size - 1] == '\0')
		found = instrumented_judge(p, symbols, table.size, names, strings.size);
	free(symbols);
	free(names);
	return found;
}

enum instrumented instrumented_in(int fd)
{
	enum instrumented found = INSTRUMENTED_UNKNOWN;
	struct elf_file m;
	struct program p = {.elf = &m};

	if (elf_open(fd, &m) != ELF_READ)
		return found;
	if (pcs_read(&m, INSTRUMENTED_EDGES_MAX, &p.pcs))
		found = by_symbols(&p);
	free(p.pcs.v);
	elf_done(&m);
	return found;
}
