/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a program's edges, from a file that a hostile build wrote. */
#include "tests/unit/unit.h"

#include "runner/targets/pcs.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/targets/elves.h"

enum { EDGES = 3, TABLE_AT = 8192, RELOCATIONS_AT = 12288, TABLE_ADDRESS = 0x5000 };

/* A program with a table of three edges; relocations: how many, or none. */
static void write_program(const Elf64_Rela *relocations, size_t n)
{
	static const struct pcs_entry table[EDGES] = {{0x1000, 1}, {0x1010, 0}, {0x1020, 0}};
	const struct elf_section s[] = {
	    {"__sancov_pcs", SHT_PROGBITS, sizeof(table)},
	    {".rela.dyn", SHT_RELA, n * sizeof(*relocations)},
	};
	struct elf f = elf_of(s, n ? 2 : 1);
	int fd;

	f.sections[2].sh_offset = TABLE_AT;
	f.sections[2].sh_addr = TABLE_ADDRESS;
	f.sections[3].sh_offset = RELOCATIONS_AT;
	elf_write(dir.fd, "f", &f, ELF_SIZE);
	fd = openat(dir.fd, "f", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, table, sizeof(table), TABLE_AT), sizeof(table));
	if (n > 0)
		assert_int_equal(pwrite(fd, relocations, n * sizeof(*relocations), RELOCATIONS_AT),
				 n * sizeof(*relocations));
	close(fd);
}

static bool read_program(size_t most, struct pcs *ret)
{
	int fd = openat(dir.fd, "f", O_RDONLY | O_CLOEXEC);
	struct elf_file m;
	bool r;

	assert_true(fd >= 0);
	assert_int_equal(elf_open(fd, &m), ELF_READ);
	r = pcs_read(&m, most, ret);
	elf_done(&m);
	close(fd);
	return r;
}

static void test_addresses(void **state)
{
	struct pcs p = {0};

	(void)state;
	write_program(NULL, 0);
	assert_true(read_program(EDGES, &p));
	assert_int_equal(p.n, EDGES);
	assert_int_equal(p.v[0].address, 0x1000);
	assert_int_equal(p.v[0].flags, PCS_FUNCTION);
	assert_int_equal(p.v[2].address, 0x1020);
	free(p.v);
	assert_false(read_program(EDGES - 1, &p));
}

/* Those of other places, beside an address, and behind the table change nothing. */
static void test_relocations(void **state)
{
	static const Elf64_Rela r[] = {
	    {.r_offset = TABLE_ADDRESS + 16, .r_addend = 0x2010},
	    {.r_offset = TABLE_ADDRESS + 8, .r_addend = 7},
	    {.r_offset = TABLE_ADDRESS - 16, .r_addend = 7},
	    {.r_offset = TABLE_ADDRESS + EDGES * sizeof(struct pcs_entry), .r_addend = 7},
	    {.r_offset = UINT64_MAX, .r_addend = -1},
	};
	struct pcs p = {0};

	(void)state;
	write_program(r, sizeof(r) / sizeof(r[0]));
	assert_true(read_program(EDGES, &p));
	assert_int_equal(p.v[0].address, 0x1000);
	assert_int_equal(p.v[0].flags, 1);
	assert_int_equal(p.v[1].address, 0x2010);
	assert_int_equal(p.v[2].address, 0x1020);
	free(p.v);
}

static void test_none(void **state)
{
	static const struct elf_section other = {"__sancov_guards", SHT_PROGBITS, 48},
					cut = {"__sancov_pcs", SHT_PROGBITS, 2 * ELF_SIZE},
					empty = {"__sancov_pcs", SHT_PROGBITS, 8};
	const struct elf_section *const t[] = {&other, &cut, &empty};
	struct pcs p = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct elf f = elf_of(t[i], 1);

		elf_write(dir.fd, "f", &f, ELF_SIZE);
		assert_false(read_program(1 << 20, &p));
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(test_addresses),
    CASE(test_relocations),
    CASE(test_none),
};

UNIT_MAIN(tests)
