/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/discover/counters.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

/* An ELF file of either class, its numbers widened. */
struct image {
	int fd;
	uint64_t size;
	bool is_32;
	uint64_t table; /* where the section headers are */
	uint64_t n, names;
};

struct section {
	uint64_t name, type, at, size, link;
};

static bool read_at(const struct image *m, void *to, uint64_t n, uint64_t at)
{
	return at <= m->size && n <= m->size - at &&
	       sys_pread(m->fd, to, (size_t)n, (off_t)at) == (ssize_t)n;
}

static uint64_t entry_size(const struct image *m)
{
	return m->is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

/* The i-th of a table of headers as they stand in the file. */
static struct section section_of(const struct image *m, const char *table, uint64_t i)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (m->is_32) {
		memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
		return (struct section){narrow.sh_name, narrow.sh_type, narrow.sh_offset,
					narrow.sh_size, narrow.sh_link};
	}
	memcpy(&wide, table + i * sizeof(wide), sizeof(wide));
	return (struct section){wide.sh_name, wide.sh_type, wide.sh_offset, wide.sh_size,
				wide.sh_link};
}

/* A file with many sections keeps their number, and which one has the names, in the first. */
static bool read_counts(struct image *io, uint64_t shnum, uint64_t shstrndx)
{
	char first[sizeof(Elf64_Shdr)];
	struct section s;

	io->n = shnum;
	io->names = shstrndx;
	if (shnum != 0 && shstrndx != SHN_XINDEX)
		return true;
	if (!read_at(io, first, entry_size(io), io->table))
		return false;
	s = section_of(io, first, 0);
	io->n = shnum ? shnum : s.size;
	io->names = shstrndx == SHN_XINDEX ? s.link : shstrndx;
	return true;
}

/* This machine's byte order only: it runs no other. */
static bool read_head(struct image *io)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (!read_at(io, ident, sizeof(ident), 0) || ident[EI_DATA] != ELFDATA2LSB)
		return false;
	io->is_32 = ident[EI_CLASS] == ELFCLASS32;
	if (io->is_32) {
		if (!read_at(io, &narrow, sizeof(narrow), 0) ||
		    narrow.e_shentsize != sizeof(Elf32_Shdr))
			return false;
		io->table = narrow.e_shoff;
		return io->table > 0 && read_counts(io, narrow.e_shnum, narrow.e_shstrndx);
	}
	if (!read_at(io, &wide, sizeof(wide), 0) || wide.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	io->table = wide.e_shoff;
	return io->table > 0 && read_counts(io, wide.e_shnum, wide.e_shstrndx);
}

/* Where counters are kept, and the size of an entry, with 64 and 32 bits. */
static const struct kind {
	const char *name;
	unsigned entry, entry_32;
} kinds[] = {
    {"__sancov_cntrs", 1, 1}, {"__sancov_pcs", 16, 8}, {"__sancov_guards", 4, 4},
    {"__sancov_bools", 1, 1}, {".go.fuzzcntrs", 1, 1},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* KINDS: of no kind. */
static size_t kind_of(const char *names, uint64_t n, uint64_t at)
{
	for (size_t i = 0; i < KINDS; i++) {
		size_t len = strlen(kinds[i].name) + 1;

		if (at < n && len <= n - at && memcmp(names + at, kinds[i].name, len) == 0)
			return i;
	}
	return KINDS;
}

/* Entries of a section of kind k; false: it is not in the file. */
static bool entries_of(const struct image *m, const struct section *s, size_t k, uint64_t *ret)
{
	uint64_t bytes = s->size < m->size ? s->size : m->size;

	if (s->type != SHT_NOBITS && (s->at > m->size || s->size > m->size - s->at))
		return false;
	*ret = bytes / (m->is_32 ? kinds[k].entry_32 : kinds[k].entry);
	return true;
}

/* The most of any kind: a compiler writes several of one edge.  A counter is of no use without
 * four bytes of code that count; that bounds also a section that takes no room in the file. */
static enum counters_known sum(const struct image *m, const char *table, const char *names,
			       uint64_t names_n, uint64_t *ret)
{
	uint64_t entries[KINDS] = {0}, most = 0;

	for (uint64_t i = 0; i < m->n; i++) {
		struct section s = section_of(m, table, i);
		size_t k = kind_of(names, names_n, s.name);
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

static enum counters_known read_sections(const struct image *m, uint64_t *ret)
{
	_autofree_ char *table = NULL, *names = NULL;
	struct section s;

	if (m->n == 0 || m->n > COUNTERS_SECTIONS_MAX || m->names >= m->n)
		return COUNTERS_UNKNOWN;
	table = sys_malloc(m->n * entry_size(m));
	if (!table || !read_at(m, table, m->n * entry_size(m), m->table))
		return COUNTERS_UNKNOWN;
	s = section_of(m, table, m->names);
	if (s.size == 0 || s.size > COUNTERS_NAMES_MAX)
		return COUNTERS_UNKNOWN;
	names = sys_malloc(s.size);
	if (!names || !read_at(m, names, s.size, s.at))
		return COUNTERS_UNKNOWN;
	return sum(m, table, names, s.size, ret);
}

enum counters_known counters_in(int fd, uint64_t *ret)
{
	struct image m = {.fd = fd};
	struct stat st;
	char magic[SELFMAG];

	*ret = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return COUNTERS_UNKNOWN;
	m.size = (uint64_t)st.st_size;
	if (!read_at(&m, magic, sizeof(magic), 0) || memcmp(magic, ELFMAG, SELFMAG) != 0)
		return COUNTERS_NONE;
	return read_head(&m) ? read_sections(&m, ret) : COUNTERS_UNKNOWN;
}
