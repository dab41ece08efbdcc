/* SPDX-License-Identifier: Apache-2.0 */
/* The number of edges of a program, from a file that a hostile build wrote. */
#include "tests/unit/unit.h"

#include "runner/targets/counters.h"
#include "runner/targets/elf.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/targets/elves.h"

static enum counters_known look(const struct elf *f, size_t size, uint64_t *ret)
{
	enum counters_known k;
	int fd;

	elf_write(dir.fd, "f", f, size);
	fd = openat(dir.fd, "f", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	k = counters_in(fd, ret);
	close(fd);
	return k;
}

static void sections_are_counted(void **state)
{
	static const struct {
		struct elf_section s[4];
		size_t n;
		uint64_t want;
	} t[] = {
	    {{{"__sancov_cntrs", SHT_PROGBITS, 103}}, 1, 103},
	    {{{".text", SHT_PROGBITS, 9}, {"__sancov_pcs", SHT_PROGBITS, 103 * 16}}, 2, 103},
	    {{{"__sancov_guards", SHT_PROGBITS, 103 * 4}}, 1, 103},
	    {{{"__sancov_bools", SHT_PROGBITS, 103}}, 1, 103},
	    {{{".go.fuzzcntrs", SHT_NOBITS, 103}}, 1, 103},
	    /* Several kinds of counters count once; sections of one kind are added. */
	    {{{"__sancov_cntrs", SHT_PROGBITS, 103}, {"__sancov_pcs", SHT_PROGBITS, 104 * 16}},
	     2,
	     104},
	    {{{"__sancov_cntrs", SHT_PROGBITS, 100}, {"__sancov_cntrs", SHT_PROGBITS, 7}}, 2, 107},
	    /* Names that only begin like counter sections. */
	    {{{"__sancov_cntrs2", SHT_PROGBITS, 103}, {"__sancov_cntr", SHT_PROGBITS, 9}}, 2, 0},
	    {{{".text", SHT_PROGBITS, 103}}, 1, 0},
	    /* The size of a section without file content is bounded by the size of the code. */
	    {{{"__sancov_cntrs", SHT_NOBITS, UINT64_MAX}}, 1, ELF_SIZE / 4},
	    {{{"__sancov_cntrs", SHT_NOBITS, UINT64_MAX}, {"__sancov_cntrs", SHT_NOBITS, 9}},
	     2,
	     ELF_SIZE / 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct elf f = elf_of(t[i].s, t[i].n);
		uint64_t edges;

		assert_int_equal(look(&f, ELF_SIZE, &edges),
				 t[i].want ? COUNTERS_FOUND : COUNTERS_NONE);
		assert_int_equal(edges, t[i].want);
	}
}

static const struct elf_section some[] = {{"__sancov_cntrs", SHT_PROGBITS, 103}};

/* In a damaged file no counters are found, and no byte after its end is read. */
static void damage_is_not_known(void **state)
{
	uint64_t edges;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		struct elf f = elf_of(some, 1);
		Elf64_Ehdr *h = &f.at.head;

		switch (i) {
		case 0:
			h->e_shoff = 0;
			break; /* the file has no section headers */
		case 1:
			h->e_shoff = ELF_SIZE - 5;
			break;
		case 2:
			h->e_shoff = UINT64_MAX - 5;
			break;
		case 3:
			h->e_shentsize = 1;
			break;
		case 4:
			h->e_shnum = ELF_SECTIONS_MAX + 1;
			break;
		case 5:
			h->e_shstrndx = 3;
			break;
		case 6:
			f.sections[1].sh_size = 0;
			break;
		case 7:
			f.sections[1].sh_size = ELF_NAMES_MAX + 1;
			break;
		case 8:
			f.sections[1].sh_offset = ELF_SIZE;
			break;
		case 9:
			f.sections[2].sh_offset = ELF_SIZE - 102;
			break;
		case 10:
			f.sections[2].sh_size = UINT64_MAX;
			break;
		case 11:
			h->e_ident[EI_DATA] = ELFDATA2MSB;
			break;
		}
		if (look(&f, ELF_SIZE, &edges) != COUNTERS_UNKNOWN || edges != 0)
			fail_msg("counters found in damaged file %u", i);
	}
}

static void a_file_that_is_cut_anywhere_is_read(void **state)
{
	struct elf f = elf_of(some, 1);
	uint64_t edges;

	(void)state;
	for (size_t n = 0; n < sizeof(f); n++)
		if (look(&f, n, &edges) != (n < SELFMAG ? COUNTERS_NONE : COUNTERS_UNKNOWN))
			fail_msg("cut at %zu", n);
}

/* More than 65,279 sections: their number is in another place, in any file. */
static void the_long_form_is_read(void **state)
{
	struct elf f = elf_of(some, 1);
	uint64_t edges;

	(void)state;
	f.at.head.e_shnum = 0;
	f.sections[0].sh_size = 3;
	f.at.head.e_shstrndx = SHN_XINDEX;
	f.sections[0].sh_link = 1;
	assert_int_equal(look(&f, ELF_SIZE, &edges), COUNTERS_FOUND);
	assert_int_equal(edges, 103);
	f.sections[0].sh_size = UINT64_MAX;
	assert_int_equal(look(&f, ELF_SIZE, &edges), COUNTERS_UNKNOWN);
}

static void of_32_bits(void **state)
{
	struct {
		Elf32_Ehdr head;
		Elf32_Shdr sections[3];
		char names[32];
	} n = {.head = {.e_shoff = sizeof(Elf32_Ehdr),
			.e_shentsize = sizeof(Elf32_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1},
	       .sections = {[1] = {.sh_offset = sizeof(Elf32_Ehdr) + 3 * sizeof(Elf32_Shdr),
				   .sh_size = 32},
			    [2] = {.sh_type = SHT_PROGBITS, .sh_size = 103 * 8}},
	       .names = "__sancov_pcs"};
	struct elf f = {0};
	uint64_t edges;

	(void)state;
	memcpy(n.head.e_ident, ELFMAG, SELFMAG);
	n.head.e_ident[EI_CLASS] = ELFCLASS32;
	n.head.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(&f, &n, sizeof(n));
	assert_int_equal(look(&f, ELF_SIZE, &edges), COUNTERS_FOUND);
	assert_int_equal(edges, 103);
}

static void other_files_have_no_counters(void **state)
{
	uint64_t edges;
	int fd;

	(void)state;
	scratch_write(dir.fd, "s", "#!/bin/sh\n");
	fd = openat(dir.fd, "s", O_RDONLY | O_CLOEXEC);
	assert_int_equal(counters_in(fd, &edges), COUNTERS_NONE);
	close(fd);
	assert_int_equal(counters_in(dir.fd, &edges), COUNTERS_UNKNOWN);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(counters_in(fd, &edges), COUNTERS_NONE);
	close(fd);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(sections_are_counted),
    CASE(damage_is_not_known),
    CASE(a_file_that_is_cut_anywhere_is_read),
    CASE(the_long_form_is_read),
    CASE(of_32_bits),
    CASE(other_files_have_no_counters),
};

UNIT_MAIN(tests)
