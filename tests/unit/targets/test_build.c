/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/fakebazel.h"

#include "base/clock.h"
#include "base/fault.h"
#include "runner/targets/build/build.h"
#include "runner/targets/build/record.h"

#include <errno.h>
#include <signal.h>

/* --- Bazel ------------------------------------------------------------------------------ */

static int builds(struct fake *f, struct build_result *ret, struct err *e)
{
	char type[] = "bazel";
	struct config_source s = {.type = type,
				  .path = f->ws,
				  .bazel = f->program,
				  .build_time_us = 3000000,
				  .build_as_root = true};

	return build_source(&s, NULL, -1, ret, e);
}

static void builds_well(struct fake *f, struct build_result *ret)
{
	struct err e;

	if (builds(f, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

#define DONE(label, more) "{\"id\":{\"targetCompleted\":{\"label\":\"" label "\"}}," more "}\n"
#define GOOD		  "\"completed\":{\"success\":true}"

static const char *const two[] = {"//p:a", "//p:b", NULL};

static void test_bazel(void **state)
{
	struct build_result r;
	char calls[4000];
	struct fake f;
	int fd;

	(void)state;
	fake_make(&f);
	fake_targets(&f, two);
	tree_file(&f.tree, "out.build", DONE("//p:a", GOOD) DONE("//p:b", GOOD));
	builds_well(&f, &r);
	assert_true(r.ok);
	assert_int_equal(r.built.n, 2);
	assert_int_equal(r.failed.labels.n, 0);
	assert_true(r.us > 0);
	build_result_done(&r);
	fd = openat(f.tree.fd, "calls", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	calls[read(fd, calls, sizeof(calls) - 1)] = '\0';
	close(fd);
	assert_non_null(strstr(calls, ": build --color=no --curses=no --noshow_progress "
				      "--config=asan-fuzzer --keep_going "
				      "--build_event_json_file=/"));
	assert_non_null(strstr(calls, " -- //p:a //p:b\n"));
	fake_done(&f);
}

static void test_bazel_fails(void **state)
{
	struct build_result r;
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, two);
	tree_file(&f.tree, "code.build", "1");
	tree_file(&f.tree, "stderr.build", "ERROR: no compiler\n");
	tree_file(&f.tree, "out.build", DONE("//p:a", GOOD) DONE("//p:b", "\"completed\":{}"));
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_string_equal(r.why, "1 of 2 targets did not build: //p:b: it failed");
	assert_int_equal(r.built.n, 1);
	assert_string_equal(r.failed.labels.v[0], "//p:b");
	build_result_done(&r);
	/* Bazel stopped before any target. */
	assert_int_equal(unlinkat(f.tree.fd, "out.build", 0), 0);
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_non_null(strstr(r.why, "build: no compiler"));
	assert_int_equal(r.failed.labels.n, 2);
	build_result_done(&r);
	/* The events report success, but no target. */
	tree_file(&f.tree, "code.build", "0");
	tree_file(&f.tree, "stderr.build", "");
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_non_null(strstr(r.why, "does its server see another /tmp"));
	build_result_done(&r);
	/* The query fails, or finds nothing. */
	tree_file(&f.tree, "code.query", "2");
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_non_null(strstr(r.why, "query: it failed without an error message"));
	build_result_done(&r);
	tree_file(&f.tree, "code.query", "0");
	tree_file(&f.tree, "out.label", "");
	builds_well(&f, &r);
	assert_string_equal(r.why, "the query finds no target");
	build_result_done(&r);
	fake_done(&f);
}

static void why_failed(struct fake *f, const char *events, const char *want)
{
	struct build_result r;

	tree_file(&f->tree, "out.build", events);
	builds_well(f, &r);
	assert_false(r.ok);
	assert_string_equal(r.failed.whys.v[0], want);
	build_result_done(&r);
}

/* The compiler's first error, from the file in which Bazel keeps it. */
static void test_bazel_compiler(void **state)
{
	static const char *const one[] = {"//p:a", NULL};
	static const char event[] =
	    "{\"id\":{\"actionCompleted\":{\"primaryOutput\":\"o/%s\",\"label\":\"//l:lib\"}},"
	    "\"action\":{\"exitCode\":1,\"stderr\":{\"uri\":\"%s%s/a%%20file\"}}}\n" DONE(
		"//p:a", "\"children\":[{\"actionCompleted\":{\"primaryOutput\":\"o/x.o\","
			 "\"label\":\"//l:lib\"}}],\"completed\":{}");
	char events[1000];
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, one);
	tree_file(&f.tree, "code.build", "1");
	tree_file(&f.tree, "a file",
		  "/usr/bin/ld.gold: warning: x\n\x1b[1ml/half.cc:3:2: \x1b[31merror: \x1b[0mno "
		  "such type\nl/half.cc:4: error: more\n");
	snprintf(events, sizeof(events), event, "x.o", "file://", f.tree.path);
	why_failed(&f, events, "an action of //l:lib failed: l/half.cc:3:2: error: no such type");
	/* A failure before any action: the reason is Bazel's own error. */
	tree_file(&f.tree, "stderr.build",
		  "ERROR: Traceback (most recent call last):\nError in fail: no toolchain\n");
	why_failed(&f, DONE("//p:a", "\"aborted\":{\"reason\":\"ANALYSIS_FAILURE\"}"),
		   "ANALYSIS_FAILURE, Bazel's first error: Error in fail: no toolchain");
	why_failed(
	    &f, DONE("//p:a", "\"aborted\":{\"reason\":\"SKIPPED\",\"description\":\"not here\"}"),
	    "SKIPPED: not here");
	tree_file(&f.tree, "a file", "\nno mark\n");
	why_failed(&f, events, "an action of //l:lib failed: no mark");
	/* Another action, a cache elsewhere, and a path that is no file. */
	snprintf(events, sizeof(events), event, "y.o", "file://", f.tree.path);
	why_failed(&f, events, "an action of //l:lib failed");
	snprintf(events, sizeof(events), event, "x.o", "bytestream://", f.tree.path);
	why_failed(&f, events, "an action of //l:lib failed");
	assert_int_equal(unlinkat(f.tree.fd, "a file", 0), 0);
	assert_int_equal(mkfifoat(f.tree.fd, "a file", 0644), 0);
	snprintf(events, sizeof(events), event, "x.o", "file://", f.tree.path);
	why_failed(&f, events, "an action of //l:lib failed");
	/* As root, a file that the workspace's owner may not read is not read. */
	assert_int_equal(unlinkat(f.tree.fd, "a file", 0), 0);
	tree_file(&f.tree, "a file", "secret\n");
	if (geteuid() == 0) {
		assert_int_equal(fchmodat(f.tree.fd, "a file", 0600, 0), 0);
		assert_int_equal(fchmod(f.tree.fd, 0755), 0);
		assert_int_equal(fchownat(f.tree.fd, "ws", 65534, 65534, 0), 0);
		why_failed(&f, events, "an action of //l:lib failed");
	}
	fake_done(&f);
}

/* A package that cannot be loaded: its targets are unknown, so the build counts as failed. */
static void test_bazel_partial(void **state)
{
	struct build_result r;
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, two);
	tree_file(&f.tree, "out.build", DONE("//p:a", GOOD) DONE("//p:b", GOOD));
	tree_file(&f.tree, "code.query", "3");
	tree_file(&f.tree, "stderr.query", "ERROR: package 'q' has errors\n");
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_string_equal(r.why, "there may be more targets: package 'q' has errors");
	assert_int_equal(r.built.n, 2);
	build_result_done(&r);
	fake_done(&f);
}

static void test_bazel_time(void **state)
{
	struct build_result r;
	struct fake f;

	(void)state;
	fake_make(&f);
	fake_targets(&f, two);
	tree_file(&f.tree, "sleep.build", "");
	builds_well(&f, &r);
	assert_false(r.ok);
	assert_non_null(strstr(r.why, "took more than 3s; 0 of 2 targets were built"));
	build_result_done(&r);
	fake_done(&f);
}

/* --- a command --------------------------------------------------------------------------- */

static uint64_t build_time_us = 60 * USEC_PER_SEC;

static int runs(struct tree *t, const char *script, struct build_result *ret, struct err *e)
{
	char type[] = "directory", sh[] = "sh", c[] = "-c", text[600];
	char *argv[] = {sh, c, text, NULL};
	struct config_source s = {.type = type,
				  .path = t->path,
				  .build = {argv, 3},
				  .build_dir = t->path,
				  .build_as_root = true,
				  .build_time_us = build_time_us};

	snprintf(text, sizeof(text), "%s", script);
	assert_true(build_wanted(&s));
	return build_source(&s, NULL, -1, ret, e);
}

static void runs_bad(struct tree *t, const char *script, const char *why)
{
	uint64_t now = clock_real_us();
	struct build_result r;
	struct err e;

	if (runs(t, script, &r, &e) < 0)
		fail_msg("%s", e.msg);
	assert_false(r.ok);
	if (!strstr(r.why, why))
		fail_msg("%s", r.why);
	assert_in_range(r.failed.fresh_us, now - 1000000, clock_real_us() + 1000000);
	build_result_done(&r);
}

/* The reason names each harness that failed to build. */
static void reports_harness(struct tree *t)
{
	/* Many errors in one file, and one error in another. */
	runs_bad(
	    t,
	    "for i in 1 2 3 4 5; do echo \"a.c:$i: error: no $i\"; done;"
	    "echo 'b.c:7: error: no b'; for i in 6 7; do echo \"a.c:$i: error: no\"; done; exit 2",
	    "sh ended with 2: a.c:1: error: no 1; b.c:7: error: no b");
	/* A linker; make on two levels; much output after the failure. */
	runs_bad(t,
		 "echo \"/usr/bin/ld: a.c:2: undefined reference to 'f'\";"
		 "echo 'clang: error: linker command failed with exit code 1 (use -v)';"
		 "echo 'make[1]: *** [Makefile:18: out/a_fuzzer] Error 1';"
		 "echo 'make[1]: *** [Makefile:18: out/a_fuzzer] Error 1';"
		 "for i in 1 2 3 4 5 6 7 8; do printf '%1000s\n' x; done;"
		 "echo 'make: *** [Makefile:9: all] Error 2'; exit 2",
		 "sh ended with 2: /usr/bin/ld: a.c:2: undefined reference to 'f'; failed: "
		 "out/a_fuzzer");
	/* ninja, of two versions. */
	runs_bad(
	    t,
	    "echo 'FAILED: out/a_fuzzer '; echo 'FAILED: [code=1] out/b_fuzzer c'; echo FAILED: ;"
	    "echo 'FAILED: [code'; echo 'collect2: error: ld returned 1 exit status'; exit 1",
	    "sh ended with 1: collect2: error: ld returned 1 exit status; failed: out/a_fuzzer, "
	    "out/b_fuzzer");
	/* cargo: no line begins with a file. */
	runs_bad(t,
		 "echo 'error: expected one of'; echo ' --> fuzz_targets/a_fuzzer.rs:1:7';"
		 "echo 'error: could not compile `x` (bin \"a_fuzzer\") due to 1 previous error'; "
		 "exit 1",
		 "sh ended with 1: error: expected one of; error: could not compile `x` (bin "
		 "\"a_fuzzer\") due to 1 previous error");
	/* As many names as fit. */
	runs_bad(t, "for i in 1 2 3 4 5 6; do printf 'FAILED: %0300d\n' $i; done; echo end; exit 1",
		 "0001, 000");
}

static void test_command(void **state)
{
	struct build_result r;
	struct tree t;
	struct err e;

	(void)state;
	tree_make(&t);
	if (runs(&t, "echo > made", &r, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(r.ok);
	assert_int_equal(r.failed.fresh_us, 0);
	assert_int_equal(faccessat(t.fd, "made", F_OK, 0), 0);
	build_result_done(&r);
	runs_bad(&t, "echo one; echo 't\033[1mwo'; echo >&2; exit 7", "sh ended with 7: two");
	/* For each part its first error, and the missing targets. */
	runs_bad(&t,
		 "echo 'a.c:1:2: error: no a'; echo 'a.c:3: Error: no b' >&2; echo note;"
		 "echo 'make: *** [Makefile:9: a_fuzzer] Error 1';"
		 "echo 'b.c:1:2: error: no c'; echo 'make: *** [Makefile:9: b_fuzzer] Error 1';"
		 "echo 'make: Target not remade because of errors.'; exit 2",
		 "sh ended with 2: a.c:1:2: error: no a; b.c:1:2: error: no c; failed: a_fuzzer, "
		 "b_fuzzer");
	runs_bad(&t,
		 "echo 'FAILED: a.o'; echo 'cc -Werror a.c'; echo 'a.c:1: error: x';"
		 "echo 'a.c:2: error: y'; echo 'ninja: build stopped'; exit 1",
		 "sh ended with 1: a.c:1: error: x; failed: a.o");
	runs_bad(&t, "for i in 1 2 3 4; do echo \"$i error: $(printf %200s x)\"; done; exit 2",
		 "sh ended with 2: 2 error:  ");
	runs_bad(&t, "echo one; echo 'make: *** [a] Error 1'; echo 'make: Leaving'; exit 2",
		 "sh ended with 2: make: *** [a] Error 1; failed: a");
	runs_bad(&t, "exit 2", "sh ended with 2: ");
	reports_harness(&t);
	runs_bad(&t, "kill -11 $$", "sh was ended by signal 11");
	build_time_us = 500000;
	runs_bad(&t, "sleep 100", "sh: took more than 500ms");
	build_time_us = 60 * USEC_PER_SEC;
	/* Stopped by the user: this is no failed build. */
	assert_int_equal(runs(&t, "kill -INT $PPID; sleep 100", &r, &e), -EINTR);
	assert_non_null(strstr(e.msg, "stopped by signal 2"));
	tree_done(&t);
}

static void test_wanted(void **state)
{
	char type[] = "directory", bazel[] = "bazel";

	(void)state;
	assert_false(build_wanted(&(struct config_source){.type = type}));
	assert_true(build_wanted(&(struct config_source){.type = bazel}));
}

/* After a failed command, targets of earlier builds are known by name. */
static void test_missing(void **state)
{
	char directory[] = "directory", manifest[] = "manifest", true_[] = "true",
	     *argv[] = {true_};
	CLEANUP(discover_built_done) struct discover_built was = {0};
	CLEANUP(strv_done) struct strv known = {0};
	struct build_result r = {.ok = true};
	struct tree t;
	struct config_source s = {.type = directory, .path = t.path, .build = {argv, 1}};

	(void)state;
	tree_make(&t);
	tree_program(&t, "a_fuzzer", "LLVMFuzzerTestOneInput");
	tree_program(&t, "b_fuzzer", "LLVMFuzzerTestOneInput");
	tree_file(&t, "c_fuzzer.exe", "");
	strv_push(&was.labels, "a_fuzzer");
	strv_push(&was.labels, "c_fuzzer");
	strv_push(&was.labels, "../d_fuzzer");
	build_known(&s, &was, &known);
	assert_int_equal(known.n, 4);
	assert_int_equal(unlinkat(t.fd, "b_fuzzer", 0), 0);
	build_missing(&s, &known, &r);
	assert_int_equal(r.failed.labels.n, 0); /* the build succeeded */
	r.ok = false;
	build_missing(&s, &known, &r);
	assert_int_equal(r.failed.labels.n, 1);
	assert_string_equal(r.failed.labels.v[0], "b_fuzzer");
	assert_string_equal(r.failed.whys.v[0], "the build failed and did not make it");
	build_result_done(&r);
	strv_done(&known);
	s.type = manifest; /* a manifest names its programs itself */
	build_known(&s, &was, &known);
	assert_int_equal(known.n, 0);
	tree_done(&t);
}

/* --- the record ---------------------------------------------------------------------------- */

static void save(struct tree *t, const char *path, bool ok)
{
	char type[] = "bazel", p[100];
	struct config_source s = {.type = type, .path = p};
	struct build_result r = {.ok = ok};
	struct err e;

	snprintf(p, sizeof(p), "%s", path);
	if (!ok) {
		r.failed.fresh_us = 7;
		strv_push(&r.failed.labels, "//a:b");
		strv_push(&r.failed.whys, "why \"so\"");
	}
	if (build_record_save(t->fd, &s, &r, &e) < 0)
		fail_msg("%s", e.msg);
	build_result_done(&r);
}

static int load(struct tree *t, struct discover_built *ret, struct err *e)
{
	char type[] = "bazel", other[] = "directory", a[] = "/a", b[] = "/b";
	struct config_source s[] = {
	    {.type = type, .path = a}, {.type = other, .path = a}, {.type = type, .path = b}};

	memset(ret, 0, 3 * sizeof(*ret));
	return build_record_load(t->fd, s, 3, ret, e);
}

static void loaded(struct tree *t, size_t a, size_t b)
{
	struct discover_built built[3];
	struct err e;

	if (load(t, built, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(built[0].labels.n, a);
	assert_int_equal(built[0].fresh_us, a ? 7 : 0);
	assert_int_equal(built[1].labels.n, 0); /* of another type */
	assert_int_equal(built[2].labels.n, b);
	if (a) {
		assert_string_equal(built[0].labels.v[0], "//a:b");
		assert_string_equal(built[0].whys.v[0], "why \"so\"");
	}
	for (size_t i = 0; i < 3; i++)
		discover_built_done(&built[i]);
}

static void test_record(void **state)
{
	static const char no_failed[] = "{\"sources\": [{\"type\": \"bazel\", \"path\": \"/a\"}]}";
	static const char negative[] = "{\"sources\": [{\"type\": \"bazel\", \"path\": \"/a\", "
				       "\"fresh_us\": -1, \"failed\": {}}]}";
	static const char *const bad[] = {"", "{", "[]", "{\"sources\": 7}", no_failed, negative};
	struct discover_built built[3];
	struct tree t;
	struct err e;

	(void)state;
	tree_make(&t);
	loaded(&t, 0, 0); /* no file */
	save(&t, "/a", true);
	loaded(&t, 0, 0);
	save(&t, "/a", false);
	save(&t, "/a", false); /* replaced, not twice */
	loaded(&t, 1, 0);
	save(&t, "/b", false); /* other entries stay */
	loaded(&t, 1, 1);
	save(&t, "/a", true);
	loaded(&t, 0, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree_file(&t, BUILD_RECORD, bad[i]);
		assert_true(load(&t, built, &e) < 0);
		for (size_t k = 0; k < 3; k++)
			discover_built_done(&built[k]);
	}
	tree_file(&t, BUILD_RECORD, "{"); /* a new record begins */
	save(&t, "/a", false);
	loaded(&t, 1, 0);
	tree_done(&t);
}

/* A full disk: an error, and the old record or the new one. */
static void test_record_faults(void **state)
{
	char type[] = "bazel", path[] = "/a";
	struct config_source s = {.type = type, .path = path};
	struct build_result r = {.ok = false};
	struct tree t;
	struct err e;
	unsigned n = 1;
	int rc;

	(void)state;
	tree_make(&t);
	strv_push(&r.failed.labels, "//x:y");
	strv_push(&r.failed.whys, "why");
	do {
		struct discover_built built[3];

		save(&t, "/a", false);
		fault_arm(n++, FAULT_FAIL);
		rc = build_record_save(t.fd, &s, &r, &e);
		fault_arm(0, FAULT_FAIL);
		assert_int_equal(load(&t, built, &e), 0);
		assert_int_equal(built[0].labels.n, 1);
		for (size_t k = 0; k < 3; k++)
			discover_built_done(&built[k]);
	} while (rc < 0 && n < 100);
	assert_in_range(n, 4, 99);
	build_result_done(&r);
	tree_done(&t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bazel),	   cmocka_unit_test(test_bazel_fails),
    cmocka_unit_test(test_bazel_compiler), cmocka_unit_test(test_bazel_partial),
    cmocka_unit_test(test_bazel_time),	   cmocka_unit_test(test_command),
    cmocka_unit_test(test_wanted),	   cmocka_unit_test(test_record),
    cmocka_unit_test(test_record_faults),  cmocka_unit_test(test_missing),
};

UNIT_MAIN(tests)
