/* SPDX-License-Identifier: Apache-2.0 */
/* A program's functions, and whether it loads libraries of its own, from a file that a hostile
 * build wrote. */
#include "tests/unit/unit.h"

#include "runner/targets/libraries.h"
#include "runner/targets/symbols.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/targets/elves.h"

enum { TABLE_AT = 8192, STRINGS_AT = 12288 };

static const char names[] = "\0f\0g";

static void write_program(const void *table, size_t n, uint32_t type, size_t names_n)
{
	const struct elf_section s[] = {{".table", type, n}, {".strtab", SHT_STRTAB, names_n}};
	struct elf f = elf_of(s, 2);
	int fd;

	f.sections[2].sh_offset = TABLE_AT;
	f.sections[2].sh_link = 3;
	f.sections[3].sh_offset = STRINGS_AT;
	elf_write(dir.fd, "f", &f, ELF_SIZE);
	fd = openat(dir.fd, "f", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, table, n, TABLE_AT), n);
	assert_int_equal(pwrite(fd, names, sizeof(names), STRINGS_AT), sizeof(names));
	close(fd);
}

static void open_program(struct elf_file *ret)
{
	int fd = openat(dir.fd, "f", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_open(fd, ret), ELF_READ);
}

static void close_program(struct elf_file *m)
{
	int fd = m->fd;

	elf_done(m);
	close(fd);
}

static bool read_functions(const Elf64_Sym *table, size_t n, size_t names_n, struct symbols *ret)
{
	struct elf_file m;
	bool r;

	write_program(table, n * sizeof(*table), SHT_SYMTAB, names_n);
	open_program(&m);
	r = symbols_read(&m, ret);
	close_program(&m);
	return r;
}

#define FUNC ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)

static void test_functions(void **state)
{
	static const Elf64_Sym table[] = {
	    {0},
	    {.st_name = 3, .st_info = FUNC, .st_shndx = 1, .st_value = 0x2000, .st_size = 16},
	    {.st_name = 1, .st_info = FUNC, .st_shndx = 1, .st_value = 0x1000, .st_size = 8},
	    {.st_name = 3, .st_info = FUNC, .st_shndx = 1, .st_value = 0x1000, .st_size = 9},
	    {.st_name = 1, .st_shndx = 1, .st_value = 0x3000, .st_size = 8},
	    {.st_name = 1, .st_info = FUNC, .st_value = 0x4000, .st_size = 8},
	    {.st_name = 999, .st_info = FUNC, .st_shndx = 1, .st_value = 0x5000, .st_size = 8},
	    {.st_name = 1, .st_info = FUNC, .st_shndx = 1, .st_value = 1, .st_size = UINT64_MAX},
	};
	struct symbols s = {0};

	(void)state;
	assert_true(read_functions(table, sizeof(table) / sizeof(table[0]), sizeof(names), &s));
	assert_int_equal(s.n, 4);
	assert_int_equal(s.v[0].begin, 0x1000);
	assert_int_equal(s.v[0].end, 0x1008);
	assert_int_equal(s.v[1].begin, 0x1000);
	assert_int_equal(s.v[1].end, 0x1009);
	assert_int_equal(s.v[2].begin, 0x2000);
	assert_string_equal(s.v[2].name, "g");
	assert_string_equal(s.v[3].name, "");
	symbols_done(&s);
	/* No function, and names that do not end. */
	assert_false(read_functions(table, 1, sizeof(names), &s));
	assert_false(read_functions(table, 3, 2, &s));
}

static bool has_own_libraries(const Elf64_Dyn *table, size_t n, const char *beside)
{
	struct target t = {.dir = dir.path};
	struct elf_file m;
	bool r;

	if (beside)
		close(openat(dir.fd, beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	write_program(table, n * sizeof(*table), SHT_DYNAMIC, sizeof(names));
	open_program(&m);
	r = libraries_own(&m, &t);
	close_program(&m);
	return r;
}

static void test_libraries(void **state)
{
	static const Elf64_Dyn run_path[] = {{.d_tag = DT_NEEDED}, {.d_tag = DT_RUNPATH}},
			       old[] = {{.d_tag = DT_RPATH}}, none[] = {{.d_tag = DT_NEEDED}};

	(void)state;
	assert_false(has_own_libraries(none, 1, NULL));
	assert_true(has_own_libraries(run_path, 2, NULL));
	assert_true(has_own_libraries(old, 1, NULL));
	assert_false(has_own_libraries(none, 1, "data.txt"));
	assert_true(has_own_libraries(none, 1, "libz.so.1"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {CASE(test_functions), CASE(test_libraries)};

UNIT_MAIN(tests)
