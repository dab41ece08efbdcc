/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/sanitizer.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64 << 20 };

/* symbol: a symbol of the runtime, from the sanitizers' public headers and compiler-rt.  library:
 * part of the file name of a shared runtime library. */
static const struct sanitizer {
	const char *kind, *name, *symbol, *library;
} sanitizers[] = {
    {"asan", "AddressSanitizer", "__asan_init", "asan"},
    {"msan", "MemorySanitizer", "__msan_init", "msan"},
    {"tsan", "ThreadSanitizer", "__tsan_init", "tsan"},
    /* AddressSanitizer contains LeakSanitizer, with the same symbol. */
    {"lsan", "LeakSanitizer", "__lsan_do_leak_check", "san"},
};

static const struct sanitizer *sanitizer_of(const char *kind)
{
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
		if (strcmp(sanitizers[i].kind, kind) == 0)
			return &sanitizers[i];
	return NULL;
}

/* "libasan.so.8", "libclang_rt.asan-x86_64.so" */
static bool sanitizer_is_library(const struct sanitizer *s, const char *name)
{
	return strncmp(name, "lib", 3) == 0 && strstr(name, s->library) && strstr(name, ".so");
}

/* names: the file's strings, each with a NUL; n > 0. */
static bool sanitizer_is_in(const struct sanitizer *s, char *names, size_t n)
{
	names[n - 1] = '\0';
	for (size_t at = 0; at < n; at += strlen(names + at) + 1)
		if (strcmp(names + at, s->symbol) == 0 || sanitizer_is_library(s, names + at))
			return true;
	return false;
}

/* Finds the names for the dynamic linker, which strip(1) keeps.  A static program has only the
 * names of its symbol table, if any. */
static bool sanitizer_find_names(const struct elf_file *m, struct elf_header *ret)
{
	static const char *const tables[] = {".dynstr", ".strtab"};

	for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++)
		for (uint64_t i = 0; i < m->n; i++) {
			*ret = elf_section(m, i);
			if (ret->type == SHT_STRTAB && elf_is_named(m, ret, tables[k]))
				return ret->size > 0 && ret->size <= NAMES_MAX;
		}
	return false;
}

static bool sanitizer_lacks(const struct sanitizer *s, const struct elf_file *m)
{
	_autofree_ char *names = NULL;
	struct elf_header h;

	if (!sanitizer_find_names(m, &h))
		return false;
	names = xmalloc(h.size);
	return elf_read(m, names, h.size, h.at) && !sanitizer_is_in(s, names, h.size);
}

const char *sanitizer_missing(const struct target *t, const char *kind)
{
	const struct sanitizer *s = sanitizer_of(kind);
	_autoclose_ int fd = -1;
	struct elf_file m;
	bool lacks;

	if (!s)
		return NULL;
	fd = rights_open(&t->rights, AT_FDCWD, t->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || elf_open(fd, &m) != ELF_READ)
		return NULL;
	lacks = sanitizer_lacks(s, &m);
	elf_done(&m);
	return lacks ? s->name : NULL;
}
