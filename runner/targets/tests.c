/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/tests.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS_MAX = 64 << 20 };

/* Go's string and slice of a program of 64 bits. */
struct tests_string {
	uint64_t at, n;
};
struct tests_slice {
	uint64_t at, n, room;
};
struct tests_entry {
	struct tests_string name;
	uint64_t function;
};

/* Reads bytes of the program by their address. */
static bool tests_read(const struct elf_file *m, void *to, uint64_t n, uint64_t address)
{
	for (uint64_t i = 0; i < m->n; i++) {
		struct elf_header s = elf_section(m, i);
		uint64_t in = address - s.addr;

		if (s.type == SHT_PROGBITS && (s.flags & SHF_ALLOC) && address >= s.addr &&
		    in < s.size && n <= s.size - in)
			return elf_read(m, to, n, s.at + in);
	}
	return false;
}

static bool tests_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* A name becomes a part of a regular expression and of a path. */
bool tests_name_ok(struct slice name)
{
	bool letter = false; /* the one before */

	if (name.n > TESTS_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		if (!tests_is_letter(name.p[i]) && (name.p[i] != '.' || !letter))
			return false;
		letter = name.p[i] != '.';
	}
	return letter;
}

/* "FuzzParse": an identifier of Go in ASCII. */
static bool tests_is_of_go(const char *name)
{
	return strncmp(name, "Fuzz", 4) == 0 && !strchr(name, '.') && tests_name_ok(slice_of(name));
}

/* Reads the name of an entry.  False: the entry is damaged. */
static bool tests_read_name(const struct elf_file *m, uint64_t entry_at, struct tests *io)
{
	char name[TESTS_NAME_MAX + 1] = "";
	struct tests_entry entry;

	if (!tests_read(m, &entry, sizeof(entry), entry_at))
		return false;
	if (entry.name.n > TESTS_NAME_MAX) {
		io->odd++;
		return true;
	}
	if (!tests_read(m, name, entry.name.n, entry.name.at))
		return false;
	if (tests_is_of_go(name))
		strv_push(&io->names, name);
	else
		io->odd++;
	return true;
}

static const char *tests_read_table(const struct elf_file *m, uint64_t address, struct tests *ret)
{
	static const char damaged[] = "has a damaged table of tests";
	struct tests_slice table;

	if (!tests_read(m, &table, sizeof(table), address))
		return damaged;
	ret->none = table.n == 0;
	if (ret->none)
		return "has no fuzz test";
	if (table.n > TESTS_MAX)
		return "has more than 512 fuzz tests";
	/* A program at any address may have the addresses in its relocations alone. */
	if (table.at == 0)
		return "is position independent: build it with -buildmode=exe";
	for (uint64_t i = 0; i < table.n; i++)
		if (!tests_read_name(m, table.at + i * sizeof(struct tests_entry), ret))
			return damaged;
	return NULL;
}

/* names ends with a NUL. */
static const char *tests_find(const struct elf_file *m, const char *symbols, uint64_t n,
			      const char *names, uint64_t names_n, const char *symbol,
			      struct tests *ret)
{
	const char *why = "has no table of tests";
	bool found = false; /* the first counts: there may be millions of that name */

	for (uint64_t i = 0; i < n / sizeof(Elf64_Sym); i++) {
		const char *name;
		Elf64_Sym s;

		memcpy(&s, symbols + i * sizeof(s), sizeof(s));
		name = s.st_name < names_n ? names + s.st_name : "";
		if (strcmp(name, "__tsan_init") == 0 || strcmp(name, "__asan_init") == 0)
			ret->sanitized = true;
		if (found || strcmp(name, symbol) != 0)
			continue;
		found = true;
		why = tests_read_table(m, s.st_value, ret);
	}
	return why;
}

static const char *tests_search(const struct elf_file *m, const char *symbol, struct tests *ret)
{
	_autofree_ char *symbols = NULL, *names = NULL;
	struct elf_header table, strings;

	if (m->is_32)
		return "is of 32 bits";
	if (!elf_find(m, SHT_SYMTAB, NULL, &table) || table.link >= m->n)
		return "has no symbols: build it without -ldflags=-s";
	strings = elf_section(m, table.link);
	symbols = elf_load(m, &table, SYMBOLS_MAX);
	names = elf_load(m, &strings, SYMBOLS_MAX);
	if (!symbols || !names || names[strings.size - 1] != '\0')
		return "has a damaged table of symbols";
	return tests_find(m, symbols, table.size, names, strings.size, symbol, ret);
}

const char *tests_in(int fd, const char *symbol, struct tests *ret)
{
	struct elf_file m;
	const char *why;

	*ret = (struct tests){0};
	if (elf_open(fd, &m) != ELF_READ)
		return "cannot be read";
	why = tests_search(&m, symbol, ret);
	elf_done(&m);
	if (why)
		strv_done(&ret->names);
	return why;
}

bool tests_has(const struct tests *all, const char *name)
{
	for (size_t i = 0; i < all->names.n; i++)
		if (strcmp(all->names.v[i], name) == 0)
			return true;
	return false;
}

static const char *tests_read_list(struct slice in, struct tests *ret)
{
	struct slice line;

	while (scan_line(&in, &line)) {
		char name[TESTS_NAME_MAX + 1] = "";

		while (line.n > 0 && strchr(" \t\r", line.p[line.n - 1]) && line.p[line.n - 1])
			line.n--;
		if (line.n == 0)
			continue;
		if (!tests_name_ok(line))
			return "has a test with a name of more than 100 letters, or of others than "
			       "A-Z, a-z, 0-9, _ and . between them";
		if (ret->names.n == TESTS_MAX)
			return "has more than 512 tests";
		memcpy(name, line.p, line.n);
		if (!tests_has(ret, name))
			strv_push(&ret->names, name);
	}
	return ret->names.n > 0 ? NULL : "has no test";
}

const char *tests_listed(int fd, struct tests *ret)
{
	_autofree_ char *text = xmalloc(TESTS_FILE_MAX + 1);
	const char *why;
	ssize_t n = sys_pread(fd, text, TESTS_FILE_MAX + 1, 0);

	*ret = (struct tests){0};
	if (n < 0)
		return "cannot be read";
	if (n > TESTS_FILE_MAX)
		return "has more than 64 KiB";
	why = tests_read_list((struct slice){text, (size_t)n}, ret);
	if (why)
		strv_done(&ret->names);
	return why;
}
