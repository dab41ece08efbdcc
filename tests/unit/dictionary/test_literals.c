/* SPDX-License-Identifier: Apache-2.0 */
/* The literals of a program, from a file that a hostile build wrote. */
#include "tests/unit/unit.h"

#include "runner/dictionary/literals.h"
#include "tests/unit/dictionary/program.h"
#include "tests/unit/scratch.h"

#include <sys/mman.h>

static struct words w;

static int begin(void **state)
{
	(void)state;
	w = WORDS_INIT;
	program_begin();
	return 0;
}

static int end(void **state)
{
	(void)state;
	words_done(&w);
	return 0;
}

static size_t read_first(size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	size_t n;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &p, size), (ssize_t)size);
	words_done(&w);
	n = literals_in(fd, &w);
	close(fd);
	return n;
}

static bool has(const char *text)
{
	return words_find(&w, slice_of(text)) != NULL;
}

static void globals_are_read(void **state)
{
	static const char table[] = "ELEMENT\0\1ATTLIST\0no";

	(void)state;
	p.globals[0] = global(put_text("token"), 6, "<string literal>");
	p.globals[1] = global(put_text("main"), 5, "__func__.main");
	p.globals[2] = global(put(table, sizeof(table)), sizeof(table), "keywords");
	p.globals[3] = global(put_text("later"), 6, ".str.7");
	put_text("of the run-time");
	assert_int_equal(read_first(sizeof(p)), 4);
	assert_true(has("token") && has("later") && has("ELEMENT") && has("ATTLIST"));
	assert_int_equal(w.n, 4);
}

static void a_signature_is_a_word(void **state)
{
	static const unsigned char signature[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10},
				   numbers[] = {1, 0, 0, 0, 2, 0, 0, 3};

	(void)state;
	p.globals[0] = global(put(signature, 8), 8, "magic");
	p.globals[1] = global(put(numbers, 8), 8, "table");
	assert_int_equal(read_first(sizeof(p)), 1);
	assert_non_null(words_find(&w, (struct slice){(const char *)signature, 8}));
	assert_int_equal(w.n, 1);
}

/* All HTML entities together must not displace all other words. */
static void a_long_sorted_table_comes_last(void **state)
{
	const struct slice last = {(char[]){'a', '!' + GLOBALS - 2}, 2};

	(void)state;
	for (unsigned i = 0; i < GLOBALS - 1; i++) {
		char text[3] = {'a', (char)('!' + i), '\0'};

		p.globals[i] = global(put_text(text), 3, ".str");
	}
	p.globals[GLOBALS - 1] = global(put_text("ZZ"), 3, ".str");
	assert_int_equal(read_first(sizeof(p)), GLOBALS);
	assert_int_equal(words_find(&w, SLICE("ZZ"))->penalty, 0);
	assert_int_equal(words_find(&w, last)->penalty, 3);
	assert_int_equal(words_choose(&w, 2), 2);
	assert_true(words_find(&w, SLICE("a!"))->is_active);
}

/* Position-independent code: the pointers are zeros, with relocations that fill them. */
static void relocations_are_followed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		static const size_t members[] = {offsetof(struct global, beg),
						 offsetof(struct global, name),
						 offsetof(struct global, module)};
		struct global g =
		    global(put_text(i ? "other" : "token"), 6, i ? ".str" : "<string literal>");

		for (size_t k = 0; k < 3; k++) {
			p.rela[4 * i + k] = (Elf64_Rela){DATA_AT + 64 * i + members[k],
							 ELF64_R_INFO(0, R_X86_64_RELATIVE), 0};
			memcpy(&p.rela[4 * i + k].r_addend, (char *)&g + members[k], 8);
			memset((char *)&g + members[k], 0, 8);
		}
		p.globals[i] = g;
	}
	assert_int_equal(read_first(sizeof(p)), 2);
	assert_true(has("token") && has("other"));
}

/* The last byte of a section may belong to a name. */
static void a_name_at_the_end_of_its_section_is_read(void **state)
{
	struct global g;

	(void)state;
	g = global(put_text("token"), 6, "a");
	g.name = RODATA_AT + ROOM - 5;
	memcpy(p.rodata + ROOM - 5, ".str", 5);
	p.globals[0] = g;
	assert_int_equal(read_first(sizeof(p)), 1);
	assert_true(has("token"));
}

/* The program's strings are among strings of the runtime. */
static void without_descriptions_there_are_none(void **state)
{
	(void)state;
	put_text("token");
	assert_int_equal(read_first(sizeof(p)), 0);
	assert_int_equal(w.n, 0);
}

/* False numbers: no literal is found, and no byte beyond the file is read. */
static void damage_finds_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		begin(NULL);
		p.globals[0] = global(put_text("token"), 6, ".str");
		switch (i) {
		case 0:
			p.globals[0].beg = UINT64_MAX;
			break;
		case 1:
			p.globals[0].beg = RODATA_AT + ROOM - 5;
			break;
		case 2:
			p.globals[0].size = UINT64_MAX;
			p.globals[0].room = 31;
			break;
		case 3:
			p.globals[0].name = 1;
			break;
		case 4:
			p.globals[0].module = UINT64_MAX;
			break;
		case 5:
			p.sections[RODATA].sh_offset = UINT64_MAX - 5;
			break;
		case 6:
			p.sections[RODATA].sh_size = UINT64_MAX;
			p.sections[RODATA].sh_offset = sizeof(p) - 5;
			break;
		case 7:
			p.sections[DATA].sh_size = UINT64_MAX;
			p.sections[RODATA].sh_type = SHT_NOBITS;
			break;
		case 8:
			p.sections[DATA].sh_offset = sizeof(p);
			p.sections[RODATA].sh_offset = sizeof(p);
			break;
		case 9:
			p.head.e_shnum = 0xff00;
			break;
		}
		read_first(sizeof(p));
		if (has("token"))
			fail_msg("damage %u", i);
		words_done(&w);
	}
}

static void a_file_that_is_cut_anywhere_is_read(void **state)
{
	(void)state;
	p.globals[0] = global(put_text("token"), 6, ".str");
	for (size_t n = 0; n < sizeof(p); n += 3)
		read_first(n);
}

/* A relocation may point anywhere. */
static void wild_relocations_change_nothing(void **state)
{
	static const uint64_t at[] = {
	    0,		DATA_AT - 1,   DATA_AT + sizeof(p.globals) - 7, DATA_AT + sizeof(p.globals),
	    UINT64_MAX, UINT64_MAX - 7};

	(void)state;
	p.globals[0] = global(put_text("token"), 6, ".str");
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		p.rela[i] = (Elf64_Rela){at[i], ELF64_R_INFO(0, R_X86_64_RELATIVE), -1};
	p.sections[RELA].sh_size = UINT64_MAX;
	assert_int_equal(read_first(sizeof(p)), 1);
	assert_true(has("token"));
}

static void other_files_have_none(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(literals_in(fd, &w), 0);
	close(fd);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(literals_in(fd, &w), 0);
	close(fd);
	fd = memfd_create("script", MFD_CLOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(literals_in(fd, &w), 0);
	close(fd);
	assert_int_equal(w.n, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(globals_are_read),
    CASE(a_signature_is_a_word),
    CASE(a_long_sorted_table_comes_last),
    CASE(relocations_are_followed),
    CASE(a_name_at_the_end_of_its_section_is_read),
    CASE(without_descriptions_there_are_none),
    CASE(damage_finds_nothing),
    CASE(a_file_that_is_cut_anywhere_is_read),
    CASE(wild_relocations_change_nothing),
    CASE(other_files_have_none),
};

UNIT_MAIN(tests)
