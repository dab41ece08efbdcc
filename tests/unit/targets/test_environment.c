/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/tree.h"

#include "base/clock.h"
#include "runner/targets/build/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The environment of one of several builds. */

static char directory[] = "directory";
static char *builds[] = {(char[]){"address"}, (char[]){"memory"}, (char[]){"x"}, NULL};

/* One of the builds in /src/project/out. */
static struct config_source of(char *variant)
{
	static char path[] = "/src/project/out/x", out[] = "/src/project/out",
		    dir[] = "/src/project";

	return (struct config_source){.type = directory,
				      .path = path,
				      .build_dir = dir,
				      .builds_dir = out,
				      .variant = variant,
				      .variants = {builds, 3}};
}

static const char *value(const struct strv *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, n) == 0 && env->v[i][n] == '=')
			return env->v[i] + n + 1;
	fail_msg("no %s", name);
	return "";
}

static void test_values(void **state)
{
	_autostrv_ struct strv env = {0};
	struct config_source s = of(builds[1]);

	(void)state;
	assert_int_equal(unsetenv("CC"), 0);
	assert_int_equal(setenv("CXX", "clang++-99", 1), 0);
	build_environment(&s, &env);
	assert_int_equal(env.n, 11);
	assert_true(env.n <= TOOL_ENV_MORE);
	assert_string_equal(value(&env, "CC"), "clang");
	assert_string_equal(value(&env, "CXX"), "clang++-99"); /* ours */
	assert_string_equal(value(&env, "SANITIZER"), "memory");
	assert_string_equal(value(&env, "FUZZING_ENGINE"), "libfuzzer");
	assert_string_equal(value(&env, "LIB_FUZZING_ENGINE"), "-fsanitize=fuzzer");
	assert_string_equal(value(&env, "SRC"), "/src");
	assert_string_equal(value(&env, "OUT"), "/src/project/out/memory");
	assert_string_equal(value(&env, "WORK"), "/src/project/out/.work/memory");
	assert_string_equal(value(&env, "CXXFLAGS"), value(&env, "CFLAGS"));
	assert_true(*value(&env, "ARCHITECTURE") != '\0');
}

/* An engine may have compilers of its own; OSS-Fuzz builds with AddressSanitizer for it. */
static void test_engines(void **state)
{
	static char afl[] = "afl", honggfuzz[] = "honggfuzz";
	_autostrv_ struct strv env = {0};
	struct config_source s = of(afl);

	(void)state;
	assert_int_equal(setenv("CC", "clang-99", 1), 0);
	build_environment(&s, &env);
	assert_int_equal(unsetenv("CC"), 0);
	assert_string_equal(value(&env, "CC"), "afl-clang-fast");
	assert_string_equal(value(&env, "CXX"), "afl-clang-fast++");
	assert_string_equal(value(&env, "SANITIZER"), "address");
	assert_string_equal(value(&env, "FUZZING_ENGINE"), "afl");
	assert_string_equal(value(&env, "OUT"), "/src/project/out/afl");
	assert_non_null(strstr(value(&env, "CFLAGS"), " -fsanitize=address"));
	assert_null(strstr(value(&env, "CFLAGS"), "fuzzer-no-link"));
	strv_done(&env);
	s.variant = honggfuzz;
	build_environment(&s, &env);
	assert_string_equal(value(&env, "CXX"), "hfuzz-clang++");
	assert_string_equal(value(&env, "FUZZING_ENGINE"), "honggfuzz");
	assert_string_equal(value(&env, "SANITIZER"), "address");
}

/* A source that is one build has the environment of every build, as before. */
static void test_one_build(void **state)
{
	_autostrv_ struct strv env = {0};
	struct config_source s = of(builds[0]);

	(void)state;
	s.variants = (struct strv){0};
	build_environment(&s, &env);
	assert_int_equal(env.n, 0);
}

static void test_flags(void **state)
{
	static const struct {
		const char *variant, *has, *has_not;
	} t[] = {
	    {"address", " -fsanitize=address -fsanitize-address-use-after-scope",
	     "coverage-mapping"},
	    {"undefined", " -fno-sanitize-recover=array-bounds,", "unsigned-integer-overflow"},
	    {"memory", " -fsanitize=memory -fsanitize-memory-track-origins", "address"},
	    {"thread", " -fsanitize=thread", "address"},
	    {"coverage", " -fprofile-instr-generate -fcoverage-mapping", "-fsanitize"},
	    {"x", " -fsanitize=fuzzer-no-link", "address"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autostrv_ struct strv env = {0};
		char variant[16];
		struct config_source s = of(variant);
		const char *flags;

		snprintf(variant, sizeof(variant), "%s", t[i].variant);
		build_environment(&s, &env);
		flags = value(&env, "CFLAGS");
		assert_int_equal(
		    strncmp(flags, "-O1 -fno-omit-frame-pointer -gline-tables-only ", 47), 0);
		assert_non_null(strstr(flags, " -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION "));
		assert_non_null(strstr(flags, t[i].has));
		assert_null(strstr(flags, t[i].has_not));
		assert_int_equal(!strstr(flags, " -fsanitize=fuzzer-no-link"), i == 4);
	}
}

static void test_architecture(void **state)
{
	(void)state;
	assert_string_equal(build_architecture("x86_64"), "x86_64");
	assert_string_equal(build_architecture("aarch64"), "aarch64");
	assert_string_equal(build_architecture("i386"), "i386");
	assert_string_equal(build_architecture("i686"), "i386");
}

static void test_above(void **state)
{
	static const char *const t[][2] = {{"/a", "/"}, {"/", "/"}, {"/a/b/c", "/a/b"}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autostrv_ struct strv env = {0};
		struct config_source s = of(builds[0]);
		char dir[16];

		snprintf(dir, sizeof(dir), "%s", t[i][0]);
		s.build_dir = dir;
		build_environment(&s, &env);
		assert_string_equal(value(&env, "SRC"), t[i][1]);
	}
}

/* Runs a script as the build of "memory" in the tree. */
static struct build_result built(struct tree *t, char *script)
{
	char sh[] = "sh", c[] = "-c", out[80];
	char *argv[] = {sh, c, script, NULL};
	struct config_source s = of(builds[1]);
	struct build_result r;
	struct err e;

	snprintf(out, sizeof(out), "%s/out", t->path);
	s.build = (struct strv){argv, 3};
	s.build_dir = t->path;
	s.builds_dir = out;
	s.build_as_root = true;
	s.build_time_us = 60 * USEC_PER_SEC;
	if (build_source(&s, NULL, -1, &r, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

/* OUT exists and keeps its files.  WORK is empty each time. */
static void test_directories(void **state)
{
	static char script[] = "cd \"$OUT\" && cd \"$WORK\" && test -z \"$(ls)\""
			       " && echo \"$SANITIZER\" >>\"$OUT/made\" && touch left";
	struct build_result r;
	struct tree t;
	struct stat st;

	(void)state;
	tree_make(&t);
	for (int i = 1; i <= 2; i++) {
		r = built(&t, script);
		assert_true(r.ok);
		build_result_done(&r);
		assert_int_equal(fstatat(t.fd, "out/memory/made", &st, 0), 0);
		assert_int_equal(st.st_size, 7 * i);
		assert_int_equal(faccessat(t.fd, "out/.work/memory/left", F_OK, 0), 0);
	}
	tree_done(&t);
}

static void test_no_directories(void **state)
{
	static char script[] = "true";
	struct build_result r;
	struct tree t;

	(void)state;
	tree_make(&t);
	tree_file(&t, "out", "a file");
	r = built(&t, script);
	assert_false(r.ok);
	assert_true(r.failed.fresh_us > 0);
	assert_int_equal(strncmp(r.why, "the directories OUT and WORK: mkdir: ", 37), 0);
	assert_string_equal(r.why + strlen(r.why) - 15, "Not a directory");
	build_result_done(&r);
	tree_done(&t);
}

/* Root runs no script of another user, and a user runs no script of a third one. */
static void test_script(void **state)
{
	struct config_source s = of(builds[1]);
	struct owner root = {.root = true}, user = {.other = true, .uid = 4321};
	struct tree t;
	struct err e;

	(void)state;
	assert_int_equal(build_check_script(&s, &root, &e), 0); /* no project */
	if (geteuid() != 0)
		skip();
	tree_make(&t);
	s.project_dir = t.path;
	tree_file(&t, "build.sh", "");
	assert_int_equal(build_check_script(&s, &root, &e), 0);
	assert_int_equal(build_check_script(&s, &user, &e), 0);
	assert_int_equal(fchownat(t.fd, "build.sh", 4321, 4321, 0), 0);
	assert_int_equal(build_check_script(&s, &user, &e), 0);
	assert_int_equal(build_check_script(&s, &root, &e), -EPERM);
	assert_non_null(strstr(e.msg, "/build.sh' is under the control of another user (4321) than "
				      "the build's (0): give its directory to"));
	user.uid = 4322;
	assert_int_equal(build_check_script(&s, &user, &e), -EPERM);
	tree_done(&t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),	 cmocka_unit_test(test_engines),
    cmocka_unit_test(test_one_build),	 cmocka_unit_test(test_flags),
    cmocka_unit_test(test_architecture), cmocka_unit_test(test_above),
    cmocka_unit_test(test_directories),	 cmocka_unit_test(test_no_directories),
    cmocka_unit_test(test_script),
};

UNIT_MAIN(tests)
