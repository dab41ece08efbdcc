/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/elf.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The place of the section headers. */
struct where {
	uint64_t table, names; /* offset of the headers, index of the names' section */
};

bool elf_read(const struct elf_file *m, void *to, uint64_t n, uint64_t at)
{
	return at <= m->size && n <= m->size - at &&
	       sys_pread(m->fd, to, (size_t)n, (off_t)at) == (ssize_t)n;
}

static uint64_t elf_entry_size(const struct elf_file *m)
{
	return m->is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

/* Header i of a table of headers as it is in the file. */
static struct elf_header elf_section_of(const struct elf_file *m, const char *table, uint64_t i)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (m->is_32) {
		memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
		return (struct elf_header){narrow.sh_name, narrow.sh_type,   narrow.sh_flags,
					   narrow.sh_addr, narrow.sh_offset, narrow.sh_size,
					   narrow.sh_link};
	}
	memcpy(&wide, table + i * sizeof(wide), sizeof(wide));
	return (struct elf_header){wide.sh_name,   wide.sh_type, wide.sh_flags, wide.sh_addr,
				   wide.sh_offset, wide.sh_size, wide.sh_link};
}

struct elf_header elf_section(const struct elf_file *m, uint64_t i)
{
	return elf_section_of(m, m->table, i);
}

/* A file with many sections has their number, and the index of the names' section, in its first
 * header. */
static bool elf_read_counts(struct elf_file *io, struct where *at, uint64_t shnum,
			    uint64_t shstrndx)
{
	char first[sizeof(Elf64_Shdr)];
	struct elf_header s;

	io->n = shnum;
	at->names = shstrndx;
	if (shnum != 0 && shstrndx != SHN_XINDEX)
		return true;
	if (!elf_read(io, first, elf_entry_size(io), at->table))
		return false;
	s = elf_section_of(io, first, 0);
	io->n = shnum ? shnum : s.size;
	at->names = shstrndx == SHN_XINDEX ? s.link : shstrndx;
	return true;
}

/* Accepts only this machine's byte order, because the machine runs no other programs. */
static bool elf_read_head(struct elf_file *io, struct where *at)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (!elf_read(io, ident, sizeof(ident), 0) || ident[EI_DATA] != ELFDATA2LSB)
		return false;
	io->is_32 = ident[EI_CLASS] == ELFCLASS32;
	if (io->is_32) {
		if (!elf_read(io, &narrow, sizeof(narrow), 0) ||
		    narrow.e_shentsize != sizeof(Elf32_Shdr))
			return false;
		io->machine = narrow.e_machine;
		at->table = narrow.e_shoff;
		return at->table > 0 && elf_read_counts(io, at, narrow.e_shnum, narrow.e_shstrndx);
	}
	if (!elf_read(io, &wide, sizeof(wide), 0) || wide.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	io->machine = wide.e_machine;
	at->table = wide.e_shoff;
	return at->table > 0 && elf_read_counts(io, at, wide.e_shnum, wide.e_shstrndx);
}

static bool elf_read_tables(struct elf_file *io, const struct where *at)
{
	struct elf_header s;

	if (io->n == 0 || io->n > ELF_SECTIONS_MAX || at->names >= io->n)
		return false;
	io->table = xmalloc(io->n * elf_entry_size(io));
	if (!elf_read(io, io->table, io->n * elf_entry_size(io), at->table))
		return false;
	s = elf_section(io, at->names);
	if (s.size == 0 || s.size > ELF_NAMES_MAX)
		return false;
	io->names = xmalloc(s.size);
	io->names_n = s.size;
	return elf_read(io, io->names, s.size, s.at);
}

enum elf_known elf_open(int fd, struct elf_file *ret)
{
	struct elf_file m = {.fd = fd};
	struct where at = {0};
	struct stat st;
	char magic[SELFMAG];

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ELF_UNKNOWN;
	m.size = (uint64_t)st.st_size;
	if (!elf_read(&m, magic, sizeof(magic), 0) || memcmp(magic, ELFMAG, SELFMAG) != 0)
		return ELF_NONE;
	if (!elf_read_head(&m, &at) || !elf_read_tables(&m, &at)) {
		elf_done(&m);
		return ELF_UNKNOWN;
	}
	*ret = m;
	return ELF_READ;
}

void elf_done(struct elf_file *m)
{
	free(m->table);
	free(m->names);
	m->table = m->names = NULL;
}

bool elf_is_named(const struct elf_file *m, const struct elf_header *s, const char *name)
{
	size_t n = strlen(name) + 1;

	return s->name < m->names_n && n <= m->names_n - s->name &&
	       memcmp(m->names + s->name, name, n) == 0;
}

bool elf_find(const struct elf_file *m, uint64_t type, const char *name, struct elf_header *ret)
{
	for (uint64_t i = 0; i < m->n; i++) {
		*ret = elf_section(m, i);
		if (ret->type == type && (!name || elf_is_named(m, ret, name)))
			return true;
	}
	return false;
}

char *elf_load(const struct elf_file *m, const struct elf_header *s, uint64_t most)
{
	char *v = s->size > 0 && s->size <= most ? xmalloc(s->size) : NULL;

	if (v && !elf_read(m, v, s->size, s->at)) {
		free(v);
		return NULL;
	}
	return v;
}
