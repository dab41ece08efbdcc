/* SPDX-License-Identifier: Apache-2.0 */
/* The missing sanitizer of a program, from a file that a hostile build wrote. */
#include "tests/unit/unit.h"

#include "runner/targets/sanitizer.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/targets/elves.h"

/* The answer for a program with this table of names. */
static const char *missing(const char *table, const char *names, size_t n, const char *kind)
{
	struct elf_section s = {table, SHT_STRTAB, n};
	struct elf f = elf_of(&s, 1);
	struct target t = {0};
	char path[4096];
	int fd;

	elf_write(dir.fd, "f", &f, ELF_SIZE);
	fd = openat(dir.fd, "f", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, names, n, sizeof(f)), (ssize_t)n);
	close(fd);
	snprintf(path, sizeof(path), "%s/f", dir.path);
	t.binary = path;
	return sanitizer_missing(&t, kind);
}

#define MISSING(table, names, kind) missing(table, names, sizeof(names), kind)

static void a_runtime_is_known_by_its_symbol(void **state)
{
	(void)state;
	assert_null(MISSING(".dynstr", "\0free\0__asan_init\0read", "asan"));
	assert_null(MISSING(".dynstr", "\0__msan_init", "msan"));
	assert_null(MISSING(".dynstr", "\0__tsan_init", "tsan"));
	assert_null(MISSING(".dynstr", "\0__asan_init\0__lsan_do_leak_check", "lsan"));
	/* The last name may have no NUL. */
	assert_null(missing(".dynstr", "\0__asan_init!", 13, "asan"));
	/* A static program has a symbol table only. */
	assert_null(MISSING(".strtab", "\0__asan_init", "asan"));
}

static void a_runtime_may_be_a_shared_library(void **state)
{
	(void)state;
	assert_null(MISSING(".dynstr", "\0libasan.so.8", "asan"));
	assert_null(MISSING(".dynstr", "\0libclang_rt.asan-x86_64.so", "asan"));
	assert_null(MISSING(".dynstr", "\0libasan.so.8", "lsan"));
	assert_string_equal(MISSING(".dynstr", "\0libasan.so.8", "msan"), "MemorySanitizer");
}

static void a_program_without_it_is_named(void **state)
{
	(void)state;
	assert_string_equal(MISSING(".dynstr", "\0free\0read", "asan"), "AddressSanitizer");
	assert_string_equal(MISSING(".strtab", "\0free\0read", "asan"), "AddressSanitizer");
	assert_string_equal(MISSING(".dynstr", "\0__asan_init", "msan"), "MemorySanitizer");
	assert_string_equal(MISSING(".dynstr", "\0__asan_init", "tsan"), "ThreadSanitizer");
	assert_string_equal(MISSING(".dynstr", "\0free", "lsan"), "LeakSanitizer");
	/* libFuzzer itself has these names. */
	assert_string_equal(MISSING(".dynstr", "\0__msan_unpoison\0__asan_init2", "asan"),
			    "AddressSanitizer");
}

static void of_all_else_nothing_is_known(void **state)
{
	char path[] = "/nonexistent";
	struct target t = {.binary = path};

	(void)state;
	assert_null(MISSING(".dynstr", "\0free", "ubsan"));
	assert_null(MISSING(".dynstr", "\0free", "engine"));
	assert_null(MISSING(".dynstr", "\0free", ""));
	assert_null(MISSING(".text", "\0free", "asan"));
	assert_null(sanitizer_missing(&t, "asan"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(a_runtime_is_known_by_its_symbol),
    CASE(a_runtime_may_be_a_shared_library),
    CASE(a_program_without_it_is_named),
    CASE(of_all_else_nothing_is_known),
};

UNIT_MAIN(tests)
