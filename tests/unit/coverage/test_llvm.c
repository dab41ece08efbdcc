/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/coverage/llvm.h"
#include "tests/unit/each.h"

/* --- the tools ------------------------------------------------------------------------- */

/* Puts a program into the root file system. */
static void install(const char *in, const char *name, mode_t mode)
{
	_autofree_ char *path = xasprintf("%s/%s", in, name);
	struct err e;

	assert_int_equal(fs_mkdirs(dir.fd, in, 0755, &e), 0);
	scratch_write(dir.fd, path, "#!/bin/sh\n");
	assert_int_equal(fchmodat(dir.fd, path, mode, 0), 0);
}

static void install_llvm(unsigned version)
{
	_autofree_ char *in = xasprintf("usr/lib/llvm-%u/bin", version);

	install(in, "llvm-profdata", 0755);
	install(in, "llvm-cov", 0755);
}

static void found(unsigned wanted, unsigned version, const char *cov)
{
	struct llvm l;
	struct err e;

	if (llvm_find(dir.path, wanted, &l, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(l.version, version);
	assert_string_equal(l.cov, cov);
	assert_non_null(strstr(l.profdata, "/llvm-profdata"));
	assert_null(l.filt);
	llvm_done(&l);
	assert_null(l.cov);
}

/* The error says all of this; "" says nothing. */
static void missing(unsigned wanted, const char *one, const char *two, const char *three)
{
	const char *says[] = {one, two, three};
	struct llvm l = {.version = 77};
	struct err e;

	assert_int_equal(llvm_find(dir.path, wanted, &l, &e), -ENOENT);
	assert_int_equal(l.version, 77);
	for (size_t i = 0; i < 3; i++)
		if (!strstr(e.msg, says[i]))
			fail_msg("'%s' does not say '%s'", e.msg, says[i]);
}

static void test_this_version(void **state)
{
	(void)state;
	install_llvm(13);
	install_llvm(14);
	install_llvm(15);
	found(14, 14, "/usr/lib/llvm-14/bin/llvm-cov");
}

static void test_next_newer(void **state)
{
	(void)state;
	install_llvm(13);
	install_llvm(19);
	install_llvm(16);
	found(14, 16, "/usr/lib/llvm-16/bin/llvm-cov");
	found(17, 19, "/usr/lib/llvm-19/bin/llvm-cov");
}

static void test_only_older(void **state)
{
	(void)state;
	install_llvm(13);
	install_llvm(11);
	missing(16, "clang 16", "LLVM 13", "llvm-16 in the rootfs");
}

static void test_none(void **state)
{
	(void)state;
	missing(16, "llvm-16", "missing", "in the rootfs");
	missing(0, "the package llvm ", "missing", "");
}

static void test_unknown_version(void **state)
{
	(void)state;
	install_llvm(13);
	install_llvm(18);
	install_llvm(14);
	found(0, 18, "/usr/lib/llvm-18/bin/llvm-cov");
}

static void test_without_a_version(void **state)
{
	(void)state;
	install("usr/bin", "llvm-profdata", 0755);
	missing(14, "llvm-14", "", "");
	install("usr/bin", "llvm-cov", 0755);
	found(14, 0, "/usr/bin/llvm-cov");
	found(0, 0, "/usr/bin/llvm-cov");
	install_llvm(15);
	found(14, 15, "/usr/lib/llvm-15/bin/llvm-cov");
}

/* Both tools must be there, and must be programs. */
static void test_half(void **state)
{
	(void)state;
	install("usr/lib/llvm-14/bin", "llvm-cov", 0755);
	install("usr/lib/llvm-15/bin", "llvm-profdata", 0755);
	install("usr/lib/llvm-16/bin", "llvm-profdata", 0755);
	install("usr/lib/llvm-16/bin", "llvm-cov", 0644);
	missing(14, "llvm-14", "missing", "");
	install_llvm(17);
	found(14, 17, "/usr/lib/llvm-17/bin/llvm-cov");
}

static void test_demangler(void **state)
{
	struct llvm l;
	struct err e;

	(void)state;
	install_llvm(14);
	install("usr/lib/llvm-14/bin", "llvm-cxxfilt", 0755);
	assert_int_equal(llvm_find(dir.path, 14, &l, &e), 0);
	assert_string_equal(l.filt, "/usr/lib/llvm-14/bin/llvm-cxxfilt");
	assert_string_equal(l.profdata, "/usr/lib/llvm-14/bin/llvm-profdata");
	llvm_done(&l);
}

/* --- the compiler --------------------------------------------------------------------------- */

/* Compiles a program with these strings in its section .comment, beside the compiler's own.  "":
 * the program cannot be compiled here. */
static void compiled(const char *comments, char path[128])
{
	_autofree_ char *command = NULL;

	snprintf(path, 128, "%s/program", dir.path);
	scratch_write(dir.fd, "program.c", comments);
	command = xasprintf("gcc -w -o %s %s/program.c 2>/dev/null", path, dir.path);
	if (system(command) != 0)
		*path = '\0';
}

static void version_is(const char *comments, unsigned version)
{
	char path[128];
	struct target build = {.binary = path};

	compiled(comments, path);
	if (!*path)
		skip();
	assert_int_equal(llvm_version_of(&build), version);
}

static void test_gcc(void **state)
{
	(void)state;
	version_is("int main(void) { return 0; }\n", 0);
}

static void test_clang(void **state)
{
	(void)state;
	version_is("int main(void) { return 0; }\n__asm__(\".ident \\\"Debian clang version "
		   "14.0.6\\\"\");\n",
		   14);
}

static void test_newest(void **state)
{
	(void)state;
	version_is("int main(void) { return 0; }\n"
		   "__asm__(\".ident \\\"clang version 9.0.1\\\"\");\n"
		   "__asm__(\".ident \\\"Ubuntu clang version 18.1.3 (1ubuntu1)\\\"\");\n"
		   "__asm__(\".ident \\\"clang version 17.0.6\\\"\");\n",
		   18);
}

/* Strings of other programs, and numbers that are no versions. */
static void test_odd_comments(void **state)
{
	(void)state;
	version_is("int main(void) { return 0; }\n"
		   "__asm__(\".ident \\\"clang version x\\\"\");\n"
		   "__asm__(\".ident \\\"clang version 100.0\\\"\");\n"
		   "__asm__(\".ident \\\"clang version 99999999999999999999\\\"\");\n"
		   "__asm__(\".ident \\\"clang version \\\"\");\n"
		   "const char *text = \"clang version 16.0\";\n",
		   0);
}

static void test_no_program(void **state)
{
	char path[128];
	struct target build = {.binary = path};

	(void)state;
	snprintf(path, sizeof(path), "%s/missing", dir.path);
	assert_int_equal(llvm_version_of(&build), 0);
	scratch_write(dir.fd, "text", "clang version 14.0.6");
	snprintf(path, sizeof(path), "%s/text", dir.path);
	assert_int_equal(llvm_version_of(&build), 0);
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0644), 0);
	snprintf(path, sizeof(path), "%s/fifo", dir.path);
	assert_int_equal(llvm_version_of(&build), 0);
	snprintf(path, sizeof(path), "%s", dir.path);
	assert_int_equal(llvm_version_of(&build), 0);
}

static const struct CMUnitTest tests[] = {
    CASE(test_this_version), CASE(test_next_newer),	 CASE(test_only_older),
    CASE(test_none),	     CASE(test_unknown_version), CASE(test_without_a_version),
    CASE(test_half),	     CASE(test_demangler),	 CASE(test_gcc),
    CASE(test_clang),	     CASE(test_newest),		 CASE(test_odd_comments),
    CASE(test_no_program),
};

UNIT_MAIN(tests)
