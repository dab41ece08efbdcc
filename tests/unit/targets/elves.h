/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_ELVES_H
#define TESTS_TARGETS_ELVES_H

/* ELF files with a few sections, as made by a compiler.  Include unit.h first. */
#include "tests/unit/scratch.h"

#include <elf.h>
#include <string.h>

enum { ELF_NAMES = 256, ELF_SECTIONS = 8, ELF_SIZE = 65536 };

struct elf_section {
	const char *name;
	uint32_t type;
	uint64_t size;
};

/* Headers, names and ELF_SIZE bytes in all; the content of a section does not matter. */
struct elf {
	union {
		Elf64_Ehdr head;
		char room[64];
	} at;
	Elf64_Shdr sections[ELF_SECTIONS];
	char names[ELF_NAMES];
};

static inline struct elf elf_of(const struct elf_section *s, size_t n)
{
	struct elf f = {.at.head = {.e_shoff = offsetof(struct elf, sections),
				    .e_shentsize = sizeof(Elf64_Shdr),
				    .e_shnum = (Elf64_Half)(n + 2),
				    .e_shstrndx = 1,
				    .e_type = ET_DYN}};
	size_t at = 1;

	memcpy(f.at.head.e_ident, ELFMAG, SELFMAG);
	f.at.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.at.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.sections[1] = (Elf64_Shdr){
	    .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct elf, names), .sh_size = ELF_NAMES};
	for (size_t i = 0; i < n; i++) {
		f.sections[i + 2] = (Elf64_Shdr){.sh_name = (Elf64_Word)at,
						 .sh_type = s[i].type,
						 .sh_offset = sizeof(f),
						 .sh_size = s[i].size};
		memcpy(f.names + at, s[i].name, strlen(s[i].name) + 1);
		at += strlen(s[i].name) + 1;
	}
	return f;
}

static inline void elf_write(int dirfd, const char *name, const struct elf *f, size_t size)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f, sizeof(*f)), (ssize_t)sizeof(*f));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

#endif
