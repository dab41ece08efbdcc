/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a process maps. */
#include "tests/unit/unit.h"

#include "runner/run/job/modules.h"
#include "tests/unit/targets/elves.h"

#include <sys/mman.h>
#include <unistd.h>

static void each_file_that_is_executed_once(void **state)
{
	char maps[] = "1-2 r--p 00000000 fd:01 1    /a/program\n"
		      "2-3 r-xp 00001000 fd:01 1    /a/program\n"
		      "3-4 rw-p 00001000 fd:01 1    /a/data\n"
		      "4-5 r-xp 00001000 fd:01 2    /a/lib with blanks.so\n"
		      "5-6 r-xp 00001000 fd:01 1    /a/program\n"
		      "6-7 rwxp 00000000 00:00 0\n"
		      "7-8 r-xp 00000000 00:00 0    [vdso]\n"
		      "8-9 r-xp 00000000 00:01 5    /memfd:jit (deleted)\n"
		      "/ no line\n"
		      "9-a r-xp 00000000 fd:01 3    /last";
	const char *v[MODULES_MAX];

	(void)state;
	assert_int_equal(modules_in(maps, v), 3);
	assert_string_equal(v[0], "/a/program");
	assert_string_equal(v[1], "/a/lib with blanks.so");
	assert_string_equal(v[2], "/last");
	*maps = '\0';
	assert_int_equal(modules_in(maps, v), 0);
}

static void more_than_its_bound_is_too_much(void **state)
{
	static char maps[(MODULES_MAX + 1) * 40];
	const char *v[MODULES_MAX];
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i <= MODULES_MAX; i++)
		n += (size_t)snprintf(maps + n, sizeof(maps) - n, "1-2 r-xp 0 0:0 1 /%u\n", i);
	assert_int_equal(modules_in(maps, v), MODULES_MAX + 1);
}

/* This process with a library of this number of counters, and then without it. */
static void a_living_process(void **state)
{
	static const struct elf_section s[] = {{"__sancov_cntrs", SHT_PROGBITS, 103}};
	struct scratch dir = SCRATCH_INIT;
	struct elf f = elf_of(s, 1);
	uint64_t edges;
	void *at;
	int fd;

	(void)state;
	assert_int_equal(modules_edges(getpid(), &edges), MODULES_UNKNOWN);
	scratch_make(&dir);
	elf_write(dir.fd, "a.so", &f, ELF_SIZE);
	fd = openat(dir.fd, "a.so", O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, ELF_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(modules_edges(getpid(), &edges), MODULES_COUNTED);
	assert_int_equal(edges, 103);
	assert_int_equal(unlinkat(dir.fd, "a.so", 0), 0);
	assert_int_equal(modules_edges(getpid(), &edges), MODULES_GONE);
	assert_int_equal(munmap(at, ELF_SIZE), 0);
	close(fd);
	scratch_remove(&dir);
	assert_int_equal(modules_edges(0x7fffffff, &edges), MODULES_GONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_file_that_is_executed_once),
    cmocka_unit_test(more_than_its_bound_is_too_much),
    cmocka_unit_test(a_living_process),
};

UNIT_MAIN(tests)
