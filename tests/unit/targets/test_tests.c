/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz tests of a program, from a file that a hostile build wrote. */
#include "tests/unit/unit.h"

#include "runner/targets/tests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/targets/elves.h"

#include <stdio.h>

#define BASE UINT64_C(0x400000)
enum { ENTRIES = 3, DATA = 4096 };

/* A program as Go's linker writes it, cut down to what is read. */
struct program {
	struct elf elf;
	Elf64_Sym symbols[3];
	char strings[64];
	struct data {
		uint64_t table[3]; /* address, length, room */
		uint64_t entries[ENTRIES][3];
		char names[256];
		char rest[DATA];
	} data;
};
#define AT(member) (BASE + offsetof(struct data, member))

static struct program program_of(const char *const *names, size_t n)
{
	static const struct elf_section s[] = {{".symtab", SHT_SYMTAB, sizeof(Elf64_Sym) * 3},
					       {".strtab", SHT_STRTAB, 64},
					       {".data", SHT_PROGBITS, sizeof(struct data)}};
	struct program p = {.elf = elf_of(s, 3), .data.table = {AT(entries), n, n}};
	uint64_t at = 0;

	p.elf.sections[2].sh_offset = offsetof(struct program, symbols);
	p.elf.sections[2].sh_link = 3;
	p.elf.sections[3].sh_offset = offsetof(struct program, strings);
	p.elf.sections[4].sh_offset = offsetof(struct program, data);
	p.elf.sections[4].sh_addr = BASE;
	p.elf.sections[4].sh_flags = SHF_ALLOC;
	memcpy(p.strings, "\0main.fuzzTargets\0__tsan_init", 29);
	p.symbols[1] = (Elf64_Sym){.st_name = 1, .st_value = AT(table)};
	for (size_t i = 0; i < n && i < ENTRIES; i++) {
		p.data.entries[i][0] = AT(names) + at;
		p.data.entries[i][1] = strlen(names[i]);
		memcpy(p.data.names + at, names[i], strlen(names[i]));
		at += strlen(names[i]); /* Go's strings have no end */
	}
	return p;
}

static const char *look(const struct program *p, size_t size, struct tests *ret)
{
	const char *why;
	int fd = openat(dir.fd, "f", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, size), (ssize_t)size);
	why = tests_in(fd, "main.fuzzTargets", ret);
	close(fd);
	return why;
}

static const char *const two[] = {"FuzzParse", "Fuzz_2"};

static void a_table_is_read(void **state)
{
	struct program p = program_of(two, 2);
	struct tests t;

	(void)state;
	assert_null(look(&p, sizeof(p), &t));
	assert_int_equal(t.names.n, 2);
	assert_string_equal(t.names.v[0], "FuzzParse");
	assert_string_equal(t.names.v[1], "Fuzz_2");
	assert_false(t.sanitized);
	strv_done(&t.names);
	p.symbols[2] = (Elf64_Sym){.st_name = 18};
	assert_null(look(&p, sizeof(p), &t));
	assert_true(t.sanitized);
	strv_done(&t.names);
}

static void check_refused(const struct program *p, size_t size, const char *why)
{
	struct tests t;
	const char *got = look(p, size, &t);

	assert_non_null(got);
	if (!strstr(got, why))
		fail_msg("'%s', not '%s'", got, why);
	assert_int_equal(t.names.n, 0);
	assert_null(t.names.v);
}

static void others_are_refused(void **state)
{
	static const char *const odd[] = {"FuzzA", "Fuzz$(x)"};
	static const char *const other[] = {"TestA"};
	struct program p = program_of(odd, 2);
	struct tests t;

	(void)state;
	/* Such a test alone is left out. */
	assert_null(look(&p, sizeof(p), &t));
	assert_int_equal(t.names.n, 1);
	assert_string_equal(t.names.v[0], "FuzzA");
	assert_int_equal(t.odd, 1);
	strv_done(&t.names);
	p = program_of(other, 1);
	p.symbols[2] = p.symbols[1]; /* the first counts */
	assert_null(look(&p, sizeof(p), &t));
	assert_int_equal(t.names.n, 0);
	assert_int_equal(t.odd, 1);
	p = program_of(NULL, 0);
	check_refused(&p, sizeof(p), "has no fuzz test");
	p = program_of(two, 2);
	p.symbols[1].st_name = 2;
	check_refused(&p, sizeof(p), "has no table of tests");
	p = program_of(two, 2);
	p.elf.sections[2].sh_type = SHT_PROGBITS;
	check_refused(&p, sizeof(p), "has no symbols");
	p = program_of(two, 2);
	p.data.table[0] = 0;
	check_refused(&p, sizeof(p), "is position independent");
}

static void lies_are_refused(void **state)
{
	static const uint64_t places[] = {1, BASE - 1, BASE + sizeof(struct data) - 1, UINT64_MAX,
					  UINT64_MAX - 7};
	struct program p;
	struct tests t;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		p = program_of(two, 2);
		p.symbols[1].st_value = places[i];
		check_refused(&p, sizeof(p), "has a damaged table of tests");
		p = program_of(two, 2);
		p.data.table[0] = places[i];
		check_refused(&p, sizeof(p), "damaged");
		p = program_of(two, 2);
		p.data.entries[1][0] = places[i];
		check_refused(&p, sizeof(p), "damaged");
		p = program_of(two, 2);
		p.data.entries[1][1] = places[i] | 128; /* too long */
		assert_null(look(&p, sizeof(p), &t));
		assert_int_equal(t.odd, 1);
		strv_done(&t.names);
	}
	p = program_of(two, 2);
	p.data.table[1] = UINT64_MAX;
	check_refused(&p, sizeof(p), "more than 512");
	p = program_of(two, 2);
	p.data.table[1] = TESTS_MAX;
	check_refused(&p, sizeof(p), "damaged");
	p = program_of(two, 2);
	p.strings[63] = 'x';
	check_refused(&p, sizeof(p), "damaged table of symbols");
	p = program_of(two, 2);
	p.elf.sections[2].sh_link = 99;
	check_refused(&p, sizeof(p), "has no symbols");
	for (size_t n = 0; n < offsetof(struct program, data.entries); n += 24)
		check_refused(&p, n, "");
}

static void check_list(const char *text, size_t n, const char *why)
{
	struct tests t;
	const char *got;
	int fd = openat(dir.fd, "l", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	got = tests_listed(fd, &t);
	close(fd);
	if (!why) {
		assert_null(got);
		assert_int_equal(t.names.n, 2);
		assert_string_equal(t.names.v[0], "Suite.One");
		assert_string_equal(t.names.v[1], "a.b_2");
	} else if (!got || !strstr(got, why)) {
		fail_msg("'%s', not '%s'", got, why);
	}
	strv_done(&t.names);
}
#define CHECK_LIST(text, why) check_list(text, sizeof(text) - 1, why)

static void a_list_is_read(void **state)
{
	static char large[TESTS_FILE_MAX + 1];
	const size_t n = 5 * ((size_t)TESTS_MAX + 1);

	(void)state;
	CHECK_LIST("Suite.One\na.b_2\n", NULL);
	CHECK_LIST("\nSuite.One\n\na.b_2", NULL);
	CHECK_LIST("Suite.One \t\r\na.b_2\r\nSuite.One\n", NULL);
	CHECK_LIST("", "has no test");
	CHECK_LIST("\n\n", "has no test");
	CHECK_LIST("Suite.One\n.a\n", "others than");
	CHECK_LIST("a.\n", "others than");
	CHECK_LIST("a..b\n", "others than");
	CHECK_LIST("a/0\n", "others than");
	CHECK_LIST("a\0b\n", "others than");
	CHECK_LIST("a b\n", "others than");
	memset(large, 'a', sizeof(large));
	check_list(large, TESTS_NAME_MAX + 1, "others than");
	check_list(large, sizeof(large), "has more than 64 KiB");
	for (size_t i = 0; i <= TESTS_MAX; i++)
		(void)snprintf(large + 5 * i, sizeof(large) - 5 * i, "%04zu\n", i);
	check_list(large, n, "has more than 512 tests");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_table_is_read, begin, end),
    cmocka_unit_test_setup_teardown(others_are_refused, begin, end),
    cmocka_unit_test_setup_teardown(lies_are_refused, begin, end),
    cmocka_unit_test_setup_teardown(a_list_is_read, begin, end),
};

UNIT_MAIN(tests)
