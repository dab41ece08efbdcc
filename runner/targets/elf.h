/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_ELF_H
#define RUNNER_TARGETS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The section headers of an ELF file of either class, with numbers of 64 bits.
 *
 * The file is hostile: a target's build wrote it, and it may change while it is read.  So it is
 * never mapped: reading a mapping after a truncation raises SIGBUS.  A few tables of bounded
 * size are read, and every number is checked against the file's size.  For three tables of fixed
 * layout, this code is easier to trust than a library. */
enum { ELF_SECTIONS_MAX = 4096, ELF_NAMES_MAX = 1 << 20 };

struct elf_file {
	int fd; /* borrowed */
	uint64_t size;
	bool is_32;
	unsigned machine; /* EM_... */
	uint64_t n;	  /* sections */
	/* The headers and the names of the sections, as they are in the file. */
	char *table, *names;
	uint64_t names_n;
};

/* at, size: offset and size in the file, not checked.  addr: address in the program. */
struct elf_header {
	uint64_t name, type, flags, addr, at, size, link;
};

enum elf_known {
	ELF_NONE, /* no ELF file */
	ELF_READ,
	ELF_UNKNOWN, /* a read error, or the headers are missing, damaged or beyond our bounds */
};
/* fd: a regular file, open for reading.  Blocks while it reads.  Only after ELF_READ, the caller
 * must free *ret with elf_done(). */
enum elf_known elf_open(int fd, struct elf_file *ret);
void elf_done(struct elf_file *m);

/* i < m->n */
struct elf_header elf_section(const struct elf_file *m, uint64_t i);
/* Whether the section has this name. */
bool elf_is_named(const struct elf_file *m, const struct elf_header *s, const char *name);
/* The first section of this type, and of this name unless that is NULL. */
bool elf_find(const struct elf_file *m, uint64_t type, const char *name, struct elf_header *ret);
/* The content of a section of at most `most` bytes.  NULL: it is empty, larger, or not in the file.
 * free() it. */
char *elf_load(const struct elf_file *m, const struct elf_header *s, uint64_t most);
/* Reads n bytes of the file at offset `at`; false: they are not in the file. */
bool elf_read(const struct elf_file *m, void *to, uint64_t n, uint64_t at);

#endif
