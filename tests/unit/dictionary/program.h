/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DICTIONARY_PROGRAM_H
#define TESTS_UNIT_DICTIONARY_PROGRAM_H

/* A program file with globals that AddressSanitizer describes.  Include unit.h first. */
#include <elf.h>
#include <stddef.h>

enum { RODATA_AT = 0x10000, DATA_AT = 0x20000, ROOM = 2048, GLOBALS = 40, SECTIONS = 5 };
enum { NULL_, NAMES, RODATA, DATA, RELA };

/* struct __asan_global */
struct global {
	uint64_t beg, size, room, name, module, dynamic, location, odr;
};

/* A program with two sections and relocations. */
struct program {
	Elf64_Ehdr head;
	Elf64_Shdr sections[SECTIONS];
	char names[64], rodata[ROOM];
	struct global globals[GLOBALS];
	Elf64_Rela rela[4 * GLOBALS];
};

static struct program p;
static size_t rodata_n;

static inline Elf64_Shdr section(uint32_t type, uint64_t addr, uint64_t at, uint64_t size)
{
	return (Elf64_Shdr){.sh_type = type,
			    .sh_flags = SHF_ALLOC,
			    .sh_addr = addr,
			    .sh_offset = at,
			    .sh_size = size};
}

static inline void name(unsigned section, const char *text)
{
	size_t at = 1;

	while (p.names[at])
		at += strlen(p.names + at) + 1;
	memcpy(p.names + at, text, strlen(text) + 1);
	p.sections[section].sh_name = (Elf64_Word)at;
}

static inline void program_begin(void)
{
	rodata_n = 1;
	p = (struct program){.head = {.e_shoff = offsetof(struct program, sections),
				      .e_shentsize = sizeof(Elf64_Shdr),
				      .e_shnum = SECTIONS,
				      .e_shstrndx = NAMES,
				      .e_machine = EM_X86_64,
				      .e_type = ET_DYN}};
	memcpy(p.head.e_ident, ELFMAG, SELFMAG);
	p.head.e_ident[EI_CLASS] = ELFCLASS64;
	p.head.e_ident[EI_DATA] = ELFDATA2LSB;
	p.sections[NAMES] =
	    section(SHT_STRTAB, 0, offsetof(struct program, names), sizeof(p.names));
	p.sections[RODATA] =
	    section(SHT_PROGBITS, RODATA_AT, offsetof(struct program, rodata), ROOM);
	p.sections[DATA] =
	    section(SHT_PROGBITS, DATA_AT, offsetof(struct program, globals), sizeof(p.globals));
	p.sections[RELA] = section(SHT_RELA, 0, offsetof(struct program, rela), sizeof(p.rela));
	name(RODATA, ".rodata");
	name(DATA, ".data");
}

/* The address of new bytes in .rodata. */
static inline uint64_t put(const void *bytes, size_t n)
{
	uint64_t at = RODATA_AT + rodata_n;

	assert_true(rodata_n + n <= ROOM);
	memcpy(p.rodata + rodata_n, bytes, n);
	rodata_n += n;
	return at;
}

static inline uint64_t put_text(const char *text)
{
	return put(text, strlen(text) + 1);
}

static inline struct global global(uint64_t at, uint64_t size, const char *called)
{
	return (struct global){.beg = at,
			       .size = size,
			       .room = size <= 16 ? 32 : (size + 32 + 31) / 32 * 32,
			       .name = put_text(called),
			       .module = put_text("a.c")};
}

#endif
