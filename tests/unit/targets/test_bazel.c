/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/fakebazel.h"

#include "runner/targets/bazel/bazel.h"

#include <errno.h>

static void adds(struct fake *f, struct target_list *l)
{
	struct err e;

	if (discover_add(&f->source, l, &e) < 0)
		fail_msg("%s", e.msg);
}

static void fails(struct fake *f, int want, const char *text)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	struct err e;

	assert_int_equal(discover_add(&f->source, &l, &e), want);
	if (!strstr(e.msg, text))
		fail_msg("%s", e.msg);
	assert_int_equal(l.n, 0);
}

static void test_targets(void **state)
{
	static const char *const labels[] = {"//p:b_fuzzer_bin", "//p:a_fuzzer", NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	char calls[4000], want[200];
	struct fake f;
	struct target t;
	int fd;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_program(&f.tree, "out/a_fuzzer", MARK);
	tree_program(&f.tree, "out/b_fuzzer_bin", MARK);
	assert_int_equal(mkdirat(f.tree.fd, "ws/p/b_fuzzer_corpus", 0755), 0);
	tree_file(&f.tree, "ws/p/b_fuzzer_corpus/x", "x");
	adds(&f, &l);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.n_notes, 0);
	t = get_target(&l, "b_fuzzer");
	snprintf(want, sizeof(want), "%s/out/b_fuzzer_bin", f.tree.path);
	assert_string_equal(t.binary, want);
	assert_string_equal(t.label, "//p:b_fuzzer_bin");
	assert_string_equal(t.made, "out/b_fuzzer_bin");
	assert_string_equal(t.corpus, "p/b_fuzzer_corpus");
	assert_null(get_target(&l, "a_fuzzer").corpus);
	assert_string_equal(t.build, "bazel build --config=asan-fuzzer //p:b_fuzzer_bin");
	assert_null(t.dir); /* a cell sees no file beside the program */
	assert_null(t.unbuilt);
	assert_true(t.size > 0);
	/* The flags of the query for the programs' paths. */
	fd = openat(f.tree.fd, "calls", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	calls[read(fd, calls, sizeof(calls) - 1)] = '\0';
	close(fd);
	assert_non_null(strstr(calls, "/ws: query --color=no"));
	assert_non_null(strstr(calls, DISCOVER_BAZEL_QUERY));
	assert_non_null(strstr(calls, "--config=asan-fuzzer"));
	assert_non_null(strstr(calls, "set(\"//p:a_fuzzer\" \"//p:b_fuzzer_bin\")"));
	fake_done(&f);
}

static void test_options(void **state)
{
	static const char *const labels[] = {"//p:a_fuzzer", NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	char *startup_v[] = {(char[]){"--startup=x"}, NULL};
	char *flags_v[] = {(char[]){"--config=mine"}, (char[]){"--copt=-DX='a b'"}, NULL};
	struct strv startup = {startup_v, 1}, flags = {flags_v, 2};
	char calls[4000];
	struct fake f;
	int fd;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	f.source.query = "//p:all";
	f.source.startup = &startup;
	f.source.flags = &flags;
	adds(&f, &l);
	fd = openat(f.tree.fd, "calls", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	calls[read(fd, calls, sizeof(calls) - 1)] = '\0';
	close(fd);
	assert_non_null(strstr(calls, ": --startup=x query "));
	assert_non_null(strstr(calls, " -- //p:all\n"));
	assert_non_null(strstr(calls, "let t = (//p:all) in"));
	assert_non_null(strstr(calls, " --config=mine --copt=-DX='a b' "));
	/* A shell parses the line into Bazel's original arguments. */
	assert_string_equal(get_target(&l, "a_fuzzer").build,
			    "bazel build --config=mine '--copt=-DX='\\''a b'\\''' //p:a_fuzzer");
	assert_null(strstr(calls, "asan-fuzzer"));
	fake_done(&f);
}

/* Tagged as a target, but not to be run: it is listed without a binary. */
static void test_unbuilt(void **state)
{
	static const char *const labels[] = {"//p:built",  "//p:failed",  "//p:missing",
					     "//p:nomark", "//p:unknown", NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	CLEANUP(discover_built_done) struct discover_built built = {0};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_file(&f.tree, "out.cquery",
		  "//p:built\tout/built\n//p:failed\tout/failed\n"
		  "//p:missing\tout/missing\n//p:nomark\tout/nomark\n");
	tree_program(&f.tree, "out/built", MARK);
	tree_program(&f.tree, "out/failed", MARK); /* from an earlier build */
	tree_program(&f.tree, "out/nomark", "");
	strv_push(&built.labels, "//p:failed");
	strv_push(&built.whys, "no such file");
	f.source.built = &built;
	adds(&f, &l);
	assert_int_equal(l.n, 5);
	assert_null(get_target(&l, "built").unbuilt);
	assert_non_null(strstr(get_target(&l, "built").build, "bazel build "));
	assert_non_null(strstr(get_target(&l, "failed").build, " //"));
	assert_string_equal(get_target(&l, "failed").unbuilt,
			    "//p:failed did not build: no such file");
	assert_string_equal(get_target(&l, "missing").unbuilt,
			    "//p:missing is not built (fuzzcell build)");
	assert_non_null(strstr(get_target(&l, "nomark").unbuilt, "no fuzzing entry point"));
	assert_non_null(strstr(get_target(&l, "unknown").unbuilt, "Bazel reports no program"));
	for (size_t i = 0; i < l.n; i++) /* a caller that does not check finds no binary to run */
		assert_int_equal(access(l.v[i].binary, F_OK) == 0, l.v[i].unbuilt == NULL);
	expect_note(&l, "/ws", true, "//p:failed did not build: no such file");
	fake_done(&f);
}

/* Two targets of one name: both get a longer name. */
static void test_names(void **state)
{
	static const char *const labels[] = {"//a/b:x_bin", "//c:x", "//c:y", NULL};
	static const char *const clash[] = {"//a:x", "//a:x_bin", NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	adds(&f, &l);
	assert_int_equal(l.n, 3);
	assert_non_null(find_target(&l, "a.b.x"));
	assert_non_null(find_target(&l, "c.x"));
	assert_non_null(find_target(&l, "y"));
	expect_note(&l, "//a/b:x_bin", true, "//c:x is named 'x', too");
	expect_note(&l, "//c:x", true, "//a/b:x_bin is named 'x', too");
	fake_targets(&f, clash);
	fails(&f, -EEXIST, "two targets are named 'a.x': //a:x and //a:x_bin: rename one");
	fake_done(&f);
}

static void test_partial(void **state)
{
	static const char *const labels[] = {"//p:a", NULL};
	static const char *const none[] = {NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_file(&f.tree, "code.query", "3");
	tree_file(&f.tree, "stderr.query", "Loading\nERROR: error loading package 'q'\nINFO: x\n");
	adds(&f, &l);
	assert_int_equal(l.n, 1);
	assert_true(l.partial);
	expect_note(&l, "/ws", true, "there may be more targets: error loading package 'q'");
	target_list_done(&l);
	fake_targets(&f, none);
	tree_file(&f.tree, "code.query", "0");
	adds(&f, &l);
	assert_int_equal(l.n, 0);
	assert_false(l.partial);
	expect_note(&l, "/ws", true, "the query finds no target: attr(tags");
	fake_done(&f);
}

static void test_bazel_fails(void **state)
{
	static const char *const labels[] = {"//p:a", NULL};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_file(&f.tree, "code.query", "7");
	tree_file(&f.tree, "stderr.query", "ERROR: no \x1b[31m such\x1b function\n");
	fails(&f, -EPROTO, "query: no  such function");
	tree_file(&f.tree, "stderr.query", "");
	fails(&f, -EPROTO, "query: it failed without an error message");
	tree_file(&f.tree, "code.query", "0");
	tree_file(&f.tree, "code.cquery", "2");
	tree_file(&f.tree, "out.cquery", "");
	tree_file(&f.tree, "stderr.cquery", "ERROR: Config value asan-fuzzer is not defined\n");
	fails(&f, -EPROTO, "cquery: Config value asan-fuzzer is not defined");
	fake_targets(&f, labels);
	tree_file(&f.tree, "out.info", "relative/root\n");
	fails(&f, -EPROTO, "info: it printed no execution root");
	tree_file(&f.tree, "out.xml", "<query>");
	fails(&f, -EBADMSG, "not XML");
	f.source.bazel = "/no/bazel";
	fails(&f, -ENOENT, "start '/no/bazel': No such file or directory");
	assert_int_equal(unlinkat(f.tree.fd, "ws/WORKSPACE", 0), 0);
	fails(&f, -EINVAL, "is not a Bazel workspace");
	f.source.path = "/no/workspace";
	fails(&f, -ENOENT, "/no/workspace: open directory");
	fake_done(&f);
}

/* The script that selects a Bazel version prints its errors in place of the answer. */
static void test_launcher(void **state)
{
	static const char *const labels[] = {"//p:a", NULL};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_file(&f.tree, "code.query", "1");
	tree_file(
	    &f.tree, "out.label",
	    "\x1b[31mERROR: The project you're trying to build requires Bazel 7.1.0 (specified "
	    "in /a/very/long/path/of/a/project/.bazelversion), but it wasn't found.\x1b[0m\n\n"
	    "You can install it:\n  apt install bazel\n");
	fails(&f, -EPROTO,
	      "query: The project you're trying to build requires Bazel 7.1.0 (specified in "
	      "/a/very/long/path/of/a/project/.bazelversion), but it wasn't found.");
	/* Another script, which does not name the missing version. */
	tree_file(&f.tree, "out.label", "");
	tree_file(&f.tree, "stderr.query", "could not download Bazel: no route to host\n");
	fails(&f, -EPROTO, "query: could not download Bazel: no route to host");
	tree_file(&f.tree, "ws/.bazelversion", "8.0.1\nmore\n");
	fails(&f, -EPROTO, "no route to host (.bazelversion asks for Bazel 8.0.1)");
	assert_int_equal(unlinkat(f.tree.fd, "ws/.bazelversion", 0), 0);
	assert_int_equal(symlinkat("/etc/hostname", f.tree.fd, "ws/.bazelversion"), 0);
	fails(&f, -EPROTO, "no route to host");
	/* Endless output: it is not read for ever. */
	tree_bytes(&f.tree, "bazel", SLICE("#!/bin/sh\nexec yes @other//p:b\n"), 0755);
	fails(&f, -EBADMSG, "finds '@other//p:b', which cannot be a fuzz target");
	fake_done(&f);
}

/* Answers with paths that lead outside, and invalid answers. */
static void test_hostile(void **state)
{
	static const char *const labels[] = {"//p:a", "//p:b", "//p:c", NULL};
	CLEANUP(target_list_done) struct target_list l = {0};
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, labels);
	tree_file(&f.tree, "out.cquery",
		  "//p:a\t/bin/true\n//p:b\tout/../../../../bin/true\n//p:c\tout/c\n"
		  "//p:c\tout/other\n//q:d\tout/d\nnothing\n\t\t\n");
	tree_program(&f.tree, "out/c", MARK);
	adds(&f, &l);
	assert_int_equal(l.n, 3);
	assert_non_null(get_target(&l, "a").unbuilt);
	assert_non_null(get_target(&l, "b").unbuilt);
	assert_null(get_target(&l, "c").unbuilt);
	tree_file(&f.tree, "out.label", "//p:a\n@other//p:b\n");
	fails(&f, -EBADMSG, "finds '@other//p:b', which cannot be a fuzz target");
	tree_file(&f.tree, "out.label", "//p:a\" union \"//q:b\n");
	fails(&f, -EBADMSG, "which cannot be a fuzz target");
	fake_done(&f);
}

/* After a failed build, only files newer than the build's start are taken from its output
 * directory. */
static void test_old_ones(void **state)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	struct discover_built built = {.fresh_us = 1};
	struct stat st;
	struct tree t;
	struct discover_source s = {.type = "directory", .path = t.path, .built = &built};
	struct err e;

	(void)state;
	tree_make(&t);
	tree_program(&t, "old_fuzzer", MARK);
	usleep(30000); /* allow: a tick of the file system's clock */
	tree_program(&t, "new_fuzzer", MARK);
	assert_int_equal(fstatat(t.fd, "new_fuzzer", &st, 0), 0);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_null(get_target(&l, "old_fuzzer").unbuilt); /* since 1970 */
	target_list_done(&l);
	built.fresh_us =
	    (uint64_t)st.st_ctim.tv_sec * 1000000 + (uint64_t)st.st_ctim.tv_nsec / 1000;
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_null(get_target(&l, "new_fuzzer").unbuilt);
	assert_string_equal(get_target(&l, "old_fuzzer").unbuilt,
			    "the build failed, and this is an older one");
	assert_int_not_equal(access(get_target(&l, "old_fuzzer").binary, F_OK), 0);
	expect_note(&l, t.path, true, "did not write these again: old_fuzzer; they are not fuzzed");
	tree_done(&t);
}

/* Targets that a failed build did not make stay in the list, whatever else is in the record. */
static void test_missing_ones(void **state)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	CLEANUP(discover_built_done) struct discover_built built = {.fresh_us = 1};
	static const char *const names[] = {"gone_fuzzer", "here_fuzzer", "../up_fuzzer",
					    "gone_fuzzer"};
	struct tree t, other;
	struct discover_source s = {.type = "directory", .path = t.path, .built = &built};
	struct discover_source second = {.type = "directory", .path = other.path};
	struct err e;

	(void)state;
	tree_make(&t);
	tree_make(&other);
	tree_program(&t, "here_fuzzer", MARK);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strv_push(&built.labels, names[i]);
		strv_push(&built.whys, "it did not build");
	}
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_null(get_target(&l, "here_fuzzer").unbuilt);
	assert_string_equal(get_target(&l, "gone_fuzzer").unbuilt, "it did not build");
	assert_int_equal(l.n_notes, 0);
	/* A source that cannot be added changes nothing. */
	tree_program(&other, "here_fuzzer", MARK);
	tree_program(&other, "gone_fuzzer", MARK);
	assert_int_equal(discover_add(&second, &l, &e), -EEXIST);
	assert_int_equal(l.n, 2);
	assert_string_equal(get_target(&l, "gone_fuzzer").unbuilt, "it did not build");
	assert_int_equal(unlinkat(other.fd, "here_fuzzer", 0), 0);
	/* A later source makes the target now; and the directory is gone. */
	assert_int_equal(discover_add(&second, &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_null(get_target(&l, "gone_fuzzer").unbuilt);
	target_list_done(&l);
	tree_done(&t);
	assert_int_equal(discover_add(&second, &l, &e), 0);
	assert_int_equal(discover_add(&s, &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_null(get_target(&l, "gone_fuzzer").unbuilt);
	assert_string_equal(get_target(&l, "here_fuzzer").unbuilt, "it did not build");
	tree_done(&other);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_targets),  cmocka_unit_test(test_options),
    cmocka_unit_test(test_unbuilt),  cmocka_unit_test(test_names),
    cmocka_unit_test(test_partial),  cmocka_unit_test(test_bazel_fails),
    cmocka_unit_test(test_hostile),  cmocka_unit_test(test_old_ones),
    cmocka_unit_test(test_launcher), cmocka_unit_test(test_missing_ones),
};

UNIT_MAIN(tests)
