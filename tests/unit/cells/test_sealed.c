/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "cells/crun.h"
#include "cells/sealed.h"
#include "images/init.h"
#include "tests/unit/scratch_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALL_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Returns the number of executed programs, including the first, and the exit status. */
static unsigned executions(int fd, const char *argument, int *ret_status)
{
	char *argv[] = {(char[]){"program"}, strdup(argument), NULL}, *env[] = {NULL};
	int devnull = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned n = 0;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(devnull, STDOUT_FILENO);
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)fexecve(fd, argv, env);
		_exit(99);
	}
	while (waitpid(pid, ret_status, 0) == pid && WIFSTOPPED(*ret_status)) {
		n += WSTOPSIG(*ret_status) == SIGTRAP;
		(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	free(argv[1]);
	close(devnull);
	return n;
}

static void check_sealed(int fd)
{
	struct stat st;

	assert_int_equal(fcntl(fd, F_GET_SEALS), ALL_SEALS);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_ptr_equal(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

static void a_program_that_cannot_be_changed(void **state)
{
	_autoclose_ int fd = -1;
	char *text;
	struct err e;
	size_t n;
	int status;

	(void)state;
	assert_int_equal(fs_read(AT_FDCWD, "/bin/true", 1 << 20, &text, &n, &e), 0);
	assert_int_equal(sealed_program("a-name", text, n, &fd, &e), 0);
	free(text);
	check_sealed(fd);
	assert_int_equal(executions(fd, "", &status), 1);
	assert_int_equal(status, 0);
}

static void our_own_limit_of_a_file(void **state)
{
	struct rlimit was, low;
	struct err e;
	int fd = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = was;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(sealed_program("a-name", "four", 4, &fd, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(e.msg, "ulimit -f"));
}

static int copy_of(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	return crun_open_copy(path);
}

/* It starts as before: crun makes the copy. */
static void what_is_not_copied(void **state)
{
	(void)state;
	scratch_write(dir.fd, "script", "#!/bin/sh\nexit 0\n");
	scratch_write(dir.fd, "empty", "");
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0700), 0);
	assert_int_equal(copy_of("script"), -1);
	assert_int_equal(copy_of("empty"), -1);
	assert_int_equal(copy_of("fifo"), -1);
	assert_int_equal(copy_of("missing"), -1);
	assert_int_equal(copy_of("."), -1);
	assert_int_equal(crun_open_copy("no-such-program-anywhere"), -1);
}

/* From our copy it executes itself once, else twice. */
static void crun_needs_no_copy_of_its_own(void **state)
{
	_autoclose_ int own = open("/usr/bin/crun", O_RDONLY | O_CLOEXEC), copy = -1;
	int status;

	(void)state;
	if (geteuid() != 0 || own < 0)
		skip();
	copy = crun_open_copy("crun");
	assert_true(copy > INIT_PROGRAM);
	check_sealed(copy);
	assert_int_equal(executions(own, "--version", &status), 2);
	assert_int_equal(status, 0);
	assert_int_equal(executions(copy, "--version", &status), 1);
	assert_int_equal(status, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(a_program_that_cannot_be_changed),
    CASE(our_own_limit_of_a_file),
    CASE(what_is_not_copied),
    CASE(crun_needs_no_copy_of_its_own),
};

UNIT_MAIN(tests)
