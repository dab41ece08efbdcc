/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/term.h"
#include "tests/unit/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

/* Redirects descriptor fd to a file, for the process's next output. */
static int caught(int fd)
{
	int file = memfd_create("printed", MFD_CLOEXEC);

	return file < 0 || dup2(file, fd) < 0 ? -1 : file;
}

static bool is(int file, const char *want)
{
	char got[1 << 16];
	ssize_t n = pread(file, got, sizeof(got) - 1, 0);

	if (n < 0)
		return false;
	got[n] = '\0';
	return strcmp(got, want) == 0;
}

static int escapes(void)
{
	int out = caught(STDOUT_FILENO), err = caught(STDERR_FILENO);
	struct err e;

	if (term_guard(&e) < 0)
		return 1;
	printf("gr\xc3\xbc\xc3\x9f \x1b[31mred\x1b[0m\tand\n\xe2\x80\xae!\x9b"
	       "2J\n");
	fprintf(stderr, "warning: \x1b]0;title\x07\r\n");
	if (!is(out, "gr\xc3\xbc\xc3\x9f \\x1b[31mred\\x1b[0m\tand\n\\u202e!\\x9b2J\n"))
		return 2;
	return is(err, "warning: \\x1b]0;title\\x07\\x0d\n") ? 0 : 3;
}

static void test_escapes(void **state)
{
	(void)state;
	forked(escapes);
}

/* A character that is written in pieces is whole; an incomplete character is escaped as bytes. */
static int pieces(void)
{
	static const char *const part[] = {
	    "\xe2",   "\x82", "\xac|\xf0\x9f", "\x98", "\x80|\xe2\x80", "\xae|\xe2\x82",
	    "x|\xc2", "\xc2", "\x9b|",	       "\xed", "\xa0\n"};
	int out = caught(STDOUT_FILENO);
	struct err e;

	if (term_guard(&e) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		fputs(part[i], stdout);
		fflush(stdout);
	}
	return is(out,
		  "\xe2\x82\xac|\xf0\x9f\x98\x80|\\u202e|\\xe2\\x82x|\\xc2\\u009b|\\xed\\xa0\n")
		   ? 0
		   : 2;
}

static void test_pieces(void **state)
{
	(void)state;
	forked(pieces);
}

/* Text longer than every buffer: six bytes with three characters, at any buffer's end. */
static int much(void)
{
	static char want[60001];
	int out = caught(STDOUT_FILENO);
	struct err e;

	if (term_guard(&e) < 0)
		return 1;
	for (size_t i = 0; i + 6 < sizeof(want); i += 6) {
		memcpy(want + i,
		       "\xe2\x82\xac"
		       "abc",
		       6);
		printf("\xe2\x82\xac"
		       "abc");
	}
	fflush(stdout);
	return is(out, want) ? 0 : 2;
}

static void test_much(void **state)
{
	(void)state;
	forked(much);
}

/* Without a reader or without space, the stream reports an error, as without the guard. */
static int full(void)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err e;

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || term_guard(&e) < 0)
		return 1;
	printf("x\n");
	return ferror(stdout) && term_lost() == ENOSPC ? 0 : 2;
}

static void test_full(void **state)
{
	(void)state;
	forked(full);
}

/* Output to a closed stdout does not get into a file that is opened with the same number. */
static int closed(void)
{
	struct err e;
	int file;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (term_guard(&e) < 0)
		return 1;
	file = memfd_create("ours", MFD_CLOEXEC);
	printf("text\n");
	fprintf(stderr, "text\n");
	if (file < 3 || !is(file, ""))
		return 2;
	return term_lost() == 0 ? 0 : 3;
}

static void test_closed(void **state)
{
	(void)state;
	forked(closed);
}

/* A non-blocking pipe that is full before its reader reads. */
static int slow(void)
{
	enum { LINES = 20000 };
	int p[2], status;
	size_t got = 0;
	ssize_t n;
	char text[4096];
	struct err e;
	pid_t reader;

	if (pipe2(p, O_NONBLOCK | O_CLOEXEC) < 0 || dup2(p[1], STDOUT_FILENO) < 0)
		return 1;
	close(p[1]);
	reader = fork();
	if (reader == 0) {
		close(STDOUT_FILENO);
		fcntl(p[0], F_SETFL, 0);
		usleep(100000);
		while ((n = read(p[0], text, sizeof(text))) > 0)
			got += (size_t)n;
		_exit(got == LINES * 10 ? 0 : 1);
	}
	close(p[0]);
	if (term_guard(&e) < 0)
		return 2;
	for (int i = 0; i < LINES; i++)
		printf("%09d\n", i);
	if (term_lost() != 0)
		return 3;
	close(STDOUT_FILENO);
	return waitpid(reader, &status, 0) == reader && status == 0 ? 0 : 4;
}

static void test_slow(void **state)
{
	(void)state;
	forked(slow);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_escapes), cmocka_unit_test(test_pieces), cmocka_unit_test(test_much),
    cmocka_unit_test(test_full),    cmocka_unit_test(test_closed), cmocka_unit_test(test_slow),
};

UNIT_MAIN(tests)
