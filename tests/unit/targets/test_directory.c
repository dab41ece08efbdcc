/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/tree.h"

#include "base/fault.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static void test_layout(void **state)
{
	struct target_list l = {0};
	const struct target *t;
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "b_fuzzer", MARK);
	tree_program(&d, "a_fuzzer.exe", "LLVMFuzzerTestOneInput");
	tree_file(&d, "a_fuzzer.dict", "x=\"y\"\n");
	tree_file(&d, "a_fuzzer_seed_corpus.zip", "");
	assert_int_equal(mkdirat(d.fd, "a_fuzzer_seed_corpus", 0755), 0);
	tree_file(&d, "a_fuzzer.options",
		  "[libfuzzer]\nmax_len = 7\ntimeout = 3\nrss_limit_mb = 512\n[asan]\na=b\n");
	tree_bytes(&d, "script", SLICE("#!/bin/sh\n# " MARK "\nexec $0\n"), 0755);
	tree_file(&d, "b_fuzzer.owners", "me");
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0].name, "a_fuzzer");
	assert_string_equal(l.v[1].name, "b_fuzzer");
	assert_string_equal(l.v[2].name, "script");
	t = &l.v[0];
	assert_string_equal(t->dir, d.path);
	assert_string_equal(t->binary + strlen(d.path), "/a_fuzzer.exe");
	assert_string_equal(t->dict + strlen(d.path), "/a_fuzzer.dict");
	assert_string_equal(t->seed_archive + strlen(d.path), "/a_fuzzer_seed_corpus.zip");
	assert_int_equal(t->seed_dirs.n, 1);
	assert_string_equal(t->seed_dirs.v[0] + strlen(d.path), "/a_fuzzer_seed_corpus");
	assert_int_equal(t->flags.n, 1);
	assert_string_equal(t->flags.v[0], "-max_len=7");
	assert_int_equal(t->env.n, 1);
	assert_string_equal(t->env.v[0], "ASAN_OPTIONS=a=b");
	assert_int_equal(t->input_timeout_s, 3);
	assert_int_equal(t->rss_limit_mib, 512);
	assert_ptr_equal(t->engine, &engine_libfuzzer);
	assert_true(t->size > 20000);
	assert_null(l.v[1].dict);
	assert_int_equal(count_warnings(&l), 0);
	target_list_done(&l);
	tree_done(&d);
}

static void test_other_files(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "tool", "");
	tree_program(&d, "empty_fuzzer", "");
	tree_program(&d, "llvm-symbolizer", MARK);
	tree_program(&d, "libx.so", MARK);
	tree_program(&d, ".hidden", MARK);
	tree_program(&d, "parser_v1.2", MARK);
	tree_program(&d, "a b", MARK);
	tree_program(&d, "nox_fuzzer", MARK);
	assert_int_equal(fchmodat(d.fd, "nox_fuzzer", 0644, 0), 0);
	tree_file(&d, "x.c", "int LLVMFuzzerTestOneInput()");
	tree_file(&d, "x.a", "");
	/* An object file and a core dump also have the mark: e_type 1 and 4. */
	tree_bytes(&d, "x.o",
		   SLICE("\x7f"
			 "ELF\2\1\1\0\0\0\0\0\0\0\0\0\1\0" MARK),
		   0755);
	tree_bytes(&d, "core",
		   SLICE("\x7f"
			 "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0" MARK),
		   0755);
	assert_int_equal(mkdirat(d.fd, "__extra_build", 0755), 0);
	assert_int_equal(mkdirat(d.fd, "sub", 0755), 0);
	tree_program(&d, "sub/inner_fuzzer", MARK);
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 0);
	expect_note(&l, "/tool", false, "no fuzzing entry point");
	expect_note(&l, "/empty_fuzzer", true, "named like a target");
	expect_note(&l, "/llvm-symbolizer", false, "the symbolizer");
	expect_note(&l, "/libx.so", false, "a shared library");
	expect_note(&l, "/.hidden", false, "hidden");
	expect_note(&l, "/parser_v1.2", true, "has no extension");
	expect_note(&l, "/a b", true, "rename it");
	expect_note(&l, "/nox_fuzzer", true, "chmod +x");
	expect_note(&l, "/x.c", false, "neither an ELF program nor a script");
	expect_note(&l, "/x.a", false, "neither an ELF");
	expect_note(&l, "/x.o", false, "neither an ELF");
	expect_note(&l, "/core", false, "neither an ELF");
	expect_note(&l, "/__extra_build", false, "a build");
	expect_note(&l, "/sub", false, "only programs at the top");
	assert_int_equal(l.n_notes, 14);
	target_list_done(&l);
	tree_done(&d);
}

static void test_sides(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "foo_fuzzer", MARK);
	tree_program(&d, "bar_fuzzer", MARK);
	tree_file(&d, "foo.dict", "");
	tree_file(&d, "fo_fuzzer_seed_corpus.zip", "");
	tree_file(&d, "completely.options", "");
	assert_int_equal(mkdirat(d.fd, "nobody_seed_corpus", 0755), 0);
	tree_file(&d, "foo_fuzzer_seed_corpus.tar", "");
	tree_file(&d, "foo_fuzzer_seed_corpus.tgz", "");
	tree_file(&d, "foo_fuzzer.dict", "");
	tree_file(&d, "common.dict", "");
	tree_file(&d, "foo_fuzzer.options", "[libfuzzer]\ndict = ./common.dict\nmaxlen = 3\n");
	tree_file(&d, "bar_fuzzer.dict", "");
	tree_file(&d, "bar_fuzzer.options", "[libfuzzer]\n\ndict = missing.dict\n");
	assert_int_equal(mkdirat(d.fd, "bar_fuzzer_seed_corpus.zip", 0755), 0);
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(get_target(&l, "foo_fuzzer").dict + strlen(d.path), "/common.dict");
	assert_string_equal(get_target(&l, "bar_fuzzer").dict + strlen(d.path), "/bar_fuzzer.dict");
	assert_string_equal(get_target(&l, "foo_fuzzer").seed_archive + strlen(d.path),
			    "/foo_fuzzer_seed_corpus.tar");
	assert_null(get_target(&l, "bar_fuzzer").seed_archive);
	expect_note(&l, "/foo.dict", true,
		    "dictionary without a target 'foo': did you mean 'foo_fuzzer'?");
	expect_note(&l, "/fo_fuzzer_seed_corpus.zip", true, "did you mean 'foo_fuzzer'?");
	expect_note(&l, "/completely.options", true, "options file without a target 'completely'");
	assert_null(find_note(&l, "/completely.options", "did you mean"));
	expect_note(&l, "/nobody_seed_corpus", true, "seed directory without a target 'nobody'");
	expect_note(&l, "/foo_fuzzer_seed_corpus.tgz", true,
		    "a second seed archive of 'foo_fuzzer': 'foo_fuzzer_seed_corpus.tar' is used");
	expect_note(&l, "/foo_fuzzer.options:3", true, "did you mean 'max_len'?");
	expect_note(&l, "/bar_fuzzer.options", true,
		    "dict 'missing.dict' is not used: no such file");
	expect_note(&l, "/bar_fuzzer_seed_corpus.zip", true, "a directory, not a file");
	assert_int_equal(l.n_notes, 8);
	target_list_done(&l);
	tree_done(&d);
}

/* With any kind of entry, no call blocks, and no file outside is used. */
static void test_hostile(void **state)
{
	struct target_list l = {0};
	struct tree d, other;
	char name[96];
	struct err e;

	(void)state;
	tree_make(&d);
	tree_make(&other);
	tree_program(&other, "out_fuzzer", MARK);
	tree_file(&other, "out.dict", "secret");
	tree_program(&d, "x_fuzzer", MARK);
	assert_int_equal(symlinkat("x_fuzzer", d.fd, "link_fuzzer"), 0);
	snprintf(name, sizeof(name), "%s/out_fuzzer", other.path);
	assert_int_equal(symlinkat(name, d.fd, "out_fuzzer"), 0);
	assert_int_equal(symlinkat(other.path, d.fd, "data"), 0);
	snprintf(name, sizeof(name), "%s/out.dict", other.path);
	assert_int_equal(symlinkat(name, d.fd, "x_fuzzer.dict"), 0);
	snprintf(name, sizeof(name), "[libfuzzer]\ndict = %s/out.dict\n", other.path);
	tree_file(&d, "x_fuzzer.options", name);
	tree_file(&d, "link_fuzzer.options", "[libfuzzer]\ndict = ../../etc/passwd\n");
	assert_int_equal(symlinkat("loop2", d.fd, "loop1"), 0);
	assert_int_equal(symlinkat("loop1", d.fd, "loop2"), 0);
	assert_int_equal(symlinkat("nowhere", d.fd, "dangling"), 0);
	assert_int_equal(mkfifoat(d.fd, "pipe_fuzzer", 0755), 0);
	assert_int_equal(mkfifoat(d.fd, "x_fuzzer_seed_corpus.zip", 0755), 0);
	assert_int_equal(symlinkat("pipe_fuzzer", d.fd, "x_fuzzer_seed_corpus.tar"), 0);
	tree_program(&d, "\x1b[31mred\n", MARK);
	tree_file(&d, "\x1b[31m.dict", "");
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0].name, "link_fuzzer");
	assert_string_equal(l.v[0].binary + strlen(d.path), "/link_fuzzer");
	assert_string_equal(l.v[1].name, "x_fuzzer");
	assert_null(l.v[0].dict);
	assert_null(l.v[1].dict);
	assert_null(l.v[1].seed_archive);
	expect_note(&l, "/out_fuzzer", true, "leads out of the directory");
	expect_note(&l, "/data", false, "leads out of the directory");
	expect_note(&l, "/x_fuzzer.dict", true, "not used: leads out of the directory");
	expect_note(&l, "/x_fuzzer.options", true, "leads out of the directory");
	expect_note(&l, "/link_fuzzer.options", true, "leads out of the directory");
	expect_note(&l, "/loop1", true, "a loop of symbolic links");
	expect_note(&l, "/dangling", true, "a symbolic link to nothing");
	expect_note(&l, "/pipe_fuzzer", false, "neither a file nor a directory");
	expect_note(&l, "/x_fuzzer_seed_corpus.zip", true, "neither a file nor a directory");
	expect_note(&l, "/x_fuzzer_seed_corpus.tar", true, "neither a file nor a directory");
	expect_note(&l, "/\\x1b[31mred\\x0a", true, "rename it");
	expect_note(&l, "/\\x1b[31m.dict", true, "without a target '\\x1b[31m'");
	target_list_done(&l);
	tree_done(&other);
	tree_done(&d);
}

/* The mark is found at any offset to the read blocks. */
static void test_mark_places(void **state)
{
	struct target_list l = {0};
	struct stat st;
	struct tree d;
	struct err e;
	size_t base, n = 0;

	(void)state;
	tree_make(&d);
	assert_int_equal(stat("/bin/true", &st), 0);
	base = (1 << 20) - (size_t)st.st_size; /* then the tail begins at 1 MiB */
	for (size_t pad = base + 256 - 23; pad <= base + 257; pad++, n++) {
		char name[32];

		snprintf(name, sizeof(name), "t%zu", n);
		tree_padded(&d, name, pad, MARK);
	}
	tree_padded(&d, "huge", 9 << 20, MARK);
	tree_padded(&d, "cut", base + 256 - 21, "LLVMFuzzerTestOneInpu");
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, n + 1);
	assert_non_null(find_target(&l, "huge"));
	assert_null(find_target(&l, "cut"));
	target_list_done(&l);
	tree_done(&d);
}

/* AFL++'s driver calls the same entry point as libFuzzer's: its own mark decides, wherever it is.
 */
static void test_engines(void **state)
{
	static const char afl[] = "##SIG_AFL_PERSISTENT##";
	static const char *const want[] = {
	    "libfuzzer",	  "afl",      "afl", "afl", "honggfuzz", "centipede", "fuzztest",
	    "fuzztest-libfuzzer", "libfuzzer"};
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "a_fuzzer", MARK);
	tree_program(&d, "b_fuzzer", "##SIG_AFL_PERSISTENT## LLVMFuzzerTestOneInput");
	tree_padded(&d, "c_fuzzer", 1 << 20, "LLVMFuzzerTestOneInput ##SIG_AFL_PERSISTENT##");
	tree_program(&d, "d_fuzzer", afl);
	tree_program(&d, "e_fuzzer",
		     "LLVMFuzzerTestOneInput _LIBHFUZZ_PERSISTENT_BINARY_SIGNATURE_");
	tree_program(&d, "f_fuzzer", "LLVMFuzzerTestOneInput CENTIPEDE_RUNNER_FLAGS");
	tree_program(&d, "centipede", "CENTIPEDE_RUNNER_FLAGS=:dump_binary_info:arg1=");
	tree_program(&d, "g_test", "CENTIPEDE_RUNNER_FLAGS list_fuzz_tests");
	tree_file(&d, "g_test.tests", "Suite.Test\n");
	tree_padded(&d, "h_test", 1 << 20,
		    "list_fuzz_tests CENTIPEDE_RUNNER_FLAGS libFuzzer: deadly signal");
	tree_file(&d, "h_test.tests", "Suite.Test\n");
	/* As OSS-Fuzz runs it. */
	tree_program(&d, "i_test", "list_fuzz_tests libFuzzer: deadly signal");
	tree_bytes(
	    &d, "i_test_script",
	    SLICE("#!/bin/sh\n# " MARK "\nexec /target/i_test --fuzz=Suite.Test -- \"$@\"\n"),
	    0755);
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(count_warnings(&l), 1); /* i_test has no list */
	assert_int_equal(l.n, 9);
	for (size_t i = 0; i < 9; i++) /* sorted by name */
		assert_string_equal(l.v[i].engine->name, want[i]);
	target_list_done(&l);
	tree_done(&d);
}

/* A program with several tests has a target for each. */
static void test_tests(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "a_test", "list_fuzz_tests");
	tree_file(&d, "a_test.tests", "Suite.One\nTwo\n");
	tree_file(&d, "a_test.Two.dict", "x=\"y\"\n");
	tree_program(&d, "b.test", "list_fuzz_tests");
	tree_file(&d, "b.test.tests", "Three\n");
	assert_int_equal(mkdirat(d.fd, "b", 0755), 0);
	assert_int_equal(mkdirat(d.fd, "b/testdata", 0755), 0);
	assert_int_equal(mkdirat(d.fd, "b/testdata/fuzz", 0755), 0);
	assert_int_equal(mkdirat(d.fd, "b/testdata/fuzz/Three", 0755), 0);
	tree_program(&d, "c_test", "list_fuzz_tests");
	tree_program(&d, "d_test", "list_fuzz_tests");
	tree_file(&d, "d_test.tests", "a/b\n");
	tree_program(&d, "e.test", "test.fuzzcachedir");
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0].name, "a_test.Suite.One");
	assert_string_equal(l.v[0].test, "Suite.One");
	assert_string_equal(strrchr(l.v[0].binary, '/'), "/a_test");
	assert_int_equal(l.v[0].seed_dirs.n, 0);
	assert_string_equal(l.v[1].name, "a_test.Two");
	assert_non_null(l.v[1].dict);
	assert_string_equal(l.v[2].name, "b.Three");
	assert_string_equal(strrchr(l.v[2].binary, '/'), "/b.test");
	assert_int_equal(l.v[2].seed_dirs.n, 1);
	assert_string_equal(strstr(l.v[2].seed_dirs.v[0], "/b/"), "/b/testdata/fuzz/Three");
	expect_note(&l, "/c_test", true,
		    "a program of fuzztest tests, but 'c_test.tests', the list of their names, is "
		    "missing");
	expect_note(&l, "/d_test", true, "has a test with a name");
	expect_note(&l, "/e.test", true, "a test program that has no");
	target_list_done(&l);
	tree_done(&d);
}

/* A sparse file of 5 GiB and more: searched to its end, or reported as too large. */
static void test_huge(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;
	int fd;

	(void)state;
	tree_make(&d);
	tree_program(&d, "too_large", MARK);
	fd = openat(d.fd, "too_large", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)DISCOVER_MAX_BINARY + 1), 0);
	close(fd);
	tree_program(&d, "end_of_128mib", "");
	fd = openat(d.fd, "end_of_128mib", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, MARK, strlen(MARK), 128 << 20), (ssize_t)strlen(MARK));
	close(fd);
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].name, "end_of_128mib");
	expect_note(&l, "/too_large", true, "a program of more than 8 GiB: not searched");
	target_list_done(&l);
	tree_done(&d);
}

/* Changes the file's time repeatedly, as a linker that writes it. */
static pid_t start_touching(struct tree *d, const char *name, unsigned seconds)
{
	int pipe_fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};

		alarm(seconds);
		for (;; times[1].tv_sec++) {
			if (utimensat(d->fd, name, times, 0) < 0 || write(pipe_fds[1], "x", 1) < 0)
				_exit(1);
			if (times[1].tv_sec == 1)
				pipe_fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
		}
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1); /* the child runs */
	close(pipe_fds[0]);
	return pid;
}

static void test_changing(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;
	pid_t pid;

	(void)state;
	tree_make(&d);
	tree_padded(&d, "x_fuzzer", 64 << 20, MARK);
	pid = start_touching(&d, "x_fuzzer", 60);
	/* On a busy machine the other process may not run while we read. */
	for (unsigned tries = 0; tries < 100; tries++) {
		target_list_done(&l);
		l = (struct target_list){0};
		assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
		if (l.n == 0)
			break;
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(l.n, 0);
	expect_note(&l, "/x_fuzzer", true, "changed while it was read");
	target_list_done(&l);
	tree_done(&d);
}

static void test_unreadable(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;
	int r;

	(void)state;
	tree_make(&d);
	tree_program(&d, "x_fuzzer", MARK);
	tree_program(&d, "secret_fuzzer", MARK);
	tree_file(&d, "x_fuzzer.options", "[libfuzzer]\nmax_len=1\n");
	assert_int_equal(fchmodat(d.fd, "secret_fuzzer", 0700, 0), 0);
	assert_int_equal(fchmodat(d.fd, "x_fuzzer.options", 0600, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	else
		assert_int_equal(fchmodat(d.fd, "secret_fuzzer", 0100, 0) +
				     fchmodat(d.fd, "x_fuzzer.options", 0, 0),
				 0);
	r = tree_add(&d, "directory", "", &l, &e);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(r, 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.v[0].flags.n, 0);
	expect_note(&l, "/secret_fuzzer", true, "cannot be opened: Permission denied");
	expect_note(&l, "/x_fuzzer.options", true, "not used: cannot be opened: Permission denied");
	target_list_done(&l);
	tree_done(&d);
}

/* Many files: notes are bounded, and warnings are not crowded out. */
static void test_many(void **state)
{
	enum { FILES = 20000 };
	struct target_list l = {0};
	struct tree d;
	struct err e;
	char name[32];

	(void)state;
	tree_make(&d);
	tree_program(&d, "zzz_fuzzzer", MARK);
	tree_file(&d, "zzz.dict", "");
	tree_file(&d, "seed", "");
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(linkat(d.fd, "seed", d.fd, name, 0), 0);
	}
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.n_notes, DISCOVER_MAX_NOTES / 2 + 1);
	assert_int_equal(l.notes_dropped, FILES + 1 - DISCOVER_MAX_NOTES / 2);
	expect_note(&l, "/zzz.dict", true, "did you mean 'zzz_fuzzzer'?");
	target_list_done(&l);
	tree_done(&d);
}

static void test_names_twice(void **state)
{
	struct target_list l = {0};
	struct tree d, d2;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_make(&d2);
	tree_program(&d, "x", MARK);
	tree_program(&d2, "a", MARK);
	tree_program(&d2, "x", MARK);
	assert_int_equal(tree_add(&d, "directory", "", &l, &e), 0);
	assert_int_equal(tree_add(&d2, "directory", "", &l, &e), -EEXIST);
	assert_non_null(strstr(e.msg, "two targets are named 'x': "));
	assert_non_null(strstr(e.msg, d.path));
	assert_non_null(strstr(e.msg, d2.path));
	assert_int_equal(l.n, 1); /* unchanged */
	assert_int_equal(unlinkat(d2.fd, "x", 0), 0);
	assert_int_equal(tree_add(&d2, "directory", "", &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0].name, "a");
	assert_string_equal(l.v[1].name, "x");
	tree_program(&d2, "a.exe", MARK);
	target_list_done(&l);
	assert_int_equal(tree_add(&d2, "directory", "", &l, &e), -EEXIST);
	tree_done(&d);
	tree_done(&d2);
}

static void test_errors(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	tree_make(&d);
	tree_program(&d, "x", MARK);
	assert_int_equal(tree_add(&d, "directory", "none", &l, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/none: open directory: No such file"));
	assert_int_equal(tree_add(&d, "directory", "x", &l, &e), -ENOTDIR);
	assert_int_equal(tree_add(&d, "cmake", "", &l, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "'cmake': unknown type of source"));
	assert_int_equal(
	    discover_add(&(struct discover_source){.type = "directory", .path = "/"}, &l, &e),
	    -EINVAL);
	assert_int_equal(l.n + l.n_notes, 0);
	tree_done(&d);
}

/* Every fallible call fails once: an error or a note, never a crash or a leak. */
static void test_faults(void **state)
{
	/* A fault in the search for a program's constants only makes the search longer. */
	enum { WHOLE = 20 };
	struct tree d;
	unsigned failed = 0, whole = 0;

	(void)state;
	tree_make(&d);
	tree_program(&d, "x_fuzzer", MARK);
	tree_program(&d, "y", MARK);
	tree_file(&d, "x_fuzzer.options",
		  "[libfuzzer]\nmax_len=1\ndict=x_fuzzer.dict\n[asan]\na=b\n");
	tree_file(&d, "x_fuzzer.dict", "");
	tree_file(&d, "z.dict", "");
	tree_file(&d, "x_fuzzer_seed_corpus.zip", "");
	for (unsigned nth = 1; whole < WHOLE; nth++) {
		struct target_list l = {0};
		struct err e = {0};
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = tree_add(&d, "directory", "", &l, &e);
		if (r < 0) {
			failed++;
			assert_true(e.msg[0]);
			assert_int_equal(l.n + l.n_notes, 0);
		} else if (l.n == 2 && l.v[0].dict && l.v[0].flags.n == 1 &&
			   count_warnings(&l) == 1) {
			whole++;
			target_list_done(&l);
			continue;
		} else {
			assert_true(count_warnings(&l) > 0); /* it was reported */
		}
		whole = 0;
		target_list_done(&l);
	}
	fault_arm(0, FAULT_FAIL);
	assert_true(failed > 2);
	tree_done(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layout),	cmocka_unit_test(test_other_files),
    cmocka_unit_test(test_sides),	cmocka_unit_test(test_hostile),
    cmocka_unit_test(test_mark_places), cmocka_unit_test(test_huge),
    cmocka_unit_test(test_engines),	cmocka_unit_test(test_tests),
    cmocka_unit_test(test_unreadable),	cmocka_unit_test(test_many),
    cmocka_unit_test(test_names_twice), cmocka_unit_test(test_errors),
    cmocka_unit_test(test_faults),	cmocka_unit_test(test_changing),
};

UNIT_MAIN(tests)
