/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/config/config.h"
#include "runner/config/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *joined(const struct strv *v)
{
	static char text[2000];
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < v->n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "|" : "", v->v[i]);
	return text;
}

static void test_good(void **state)
{
	static const struct {
		const char *text, *sanitizers, *notes;
	} t[] = {
	    {"language: c++\n", "address|undefined|coverage", ""},
	    {"homepage: x", "address|undefined|coverage", ""},
	    {"language: \"c\"\nsanitizers: [undefined, 'memory']\n", "undefined|memory|coverage",
	     ""},
	    /* The first of them is for the main build, in any order of the file. */
	    {"sanitizers:\n  - memory:\n     experimental: True\n  - thread\n  - address\n",
	     "address|memory|thread|coverage", ""},
	    {"sanitizers:\n- address\n- none\n- none\n", "address|coverage",
	     "p:3: sanitizers: \"none\" is ignored: it finds no more than the others"},
	    {"fuzzing_engines:\n- libfuzzer\n- afl\n- centipede\n", "address|undefined|coverage",
	     "p:3: fuzzing_engines: \"afl\" is ignored: fuzzcell runs libFuzzer|p:4: "
	     "fuzzing_engines: \"centipede\" is ignored: fuzzcell runs libFuzzer"},
	    {"x: &a [address]\nsanitizers: *a\n", "address|coverage", ""},
	    {"x: &a [*a]\n? [sanitizers]\n: 1\n", "address|undefined|coverage", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		CLEANUP(project_done) struct project p = {.notes = {0}};
		struct err e;

		if (project_parse(slice_of(t[i].text), "p", &p, &e) < 0)
			fail_msg("%s", e.msg);
		assert_string_equal(joined(&p.sanitizers), t[i].sanitizers);
		assert_string_equal(joined(&p.notes), t[i].notes);
	}
}

static void test_bad(void **state)
{
	static const char *const t[][2] = {
	    {"", "p:1: not a list of keys such as \"language: c++\""},
	    {"- language", "p:1: not a list of keys such as \"language: c++\""},
	    {"a: b\nc: [\n", "p:3: not YAML: did not find expected node content"},
	    {"a: *b\n", "p:1: not YAML: found undefined alias"},
	    {"language: c\nlanguage: c\n", "p:2: language: the key is there twice"},
	    {"\nlanguage: rust\n", "p:2: language: \"rust\" is not supported: fuzzcell builds "
				   "projects in \"c\" and \"c++\""},
	    {"language: [c]\n", "p:1: language: not a word"},
	    {"sanitizers: address\n", "p:1: sanitizers: not a list"},
	    {"sanitizers:\n- [address]\n", "p:2: sanitizers: an element is not a word"},
	    {"sanitizers:\n- address: 1\n  memory: 2\n",
	     "p:2: sanitizers: an element is not a word"},
	    {"sanitizers:\n- address\n- adress\n",
	     "p:3: sanitizers: \"adress\" is not known (use \"address\", \"undefined\", \"memory\" "
	     "or \"thread\")"},
	    {"sanitizers:\n- \"../x\\e[1m\"\n",
	     "p:2: sanitizers: \"../x?[1m\" is not known (use \"address\", \"undefined\", "
	     "\"memory\" or \"thread\")"},
	    {"sanitizers: []\n", "p:1: sanitizers: fuzzcell builds with none of them (use "
				 "\"address\", \"undefined\", \"memory\" or \"thread\")"},
	    {"sanitizers: [none]\n", "p:1: sanitizers: fuzzcell builds with none of them (use "
				     "\"address\", \"undefined\", \"memory\" or \"thread\")"},
	    {"sanitizers: [none,none,none,none,none,none,none,none,none,none,none,none,none,none,"
	     "none,none,none,none,none,none,none,none,none,none,none,none,none,none,none,none,none,"
	     "none,none]",
	     "p:1: sanitizers: more than 32 elements"},
	    {"fuzzing_engines:\n- afl\n", "p:2: fuzzing_engines: \"libfuzzer\" is not among them, "
					  "and fuzzcell has no other engine"},
	    {"fuzzing_engines:\n- libfuzer\n",
	     "p:2: fuzzing_engines: \"libfuzer\" is not known (use \"libfuzzer\")"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct project p;
		struct err e;

		if (project_parse(slice_of(t[i][0]), "p", &p, &e) == 0)
			fail_msg("accepted: %s", t[i][0]);
		assert_string_equal(e.msg, t[i][1]);
	}
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct config *loaded(const char *dir)
{
	char path[200];
	struct config *c;
	struct err e;

	snprintf(path, sizeof(path), "%s/config.json", dir);
	if (config_load(path, &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

/* A source of the configuration, and what becomes of it. */
static void test_sources(void **state)
{
	static const char text[] = "{\"discovery\": [{\"type\": \"oss-fuzz\", \"path\": \"p\", "
				   "\"build_dir\": \"src\", \"build_pids\": 99}, "
				   "{\"type\": \"directory\", \"path\": \"out\"}]}";
	char dir[] = "/tmp/fuzzcell-project-XXXXXX", sub[100], want[200];
	const struct config_source *s;
	struct config *c;
	struct err e;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/p", dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	put(dir, "config.json", text);
	put(sub, "project.yaml", "sanitizers: [memory, address, none]\n");
	c = loaded(dir);
	s = config_sources(c, &n);
	assert_int_equal(n, 4);
	assert_string_equal(s[2].variant, "coverage");
	assert_null(s[0].broken);
	assert_string_equal(s[0].type, "directory");
	snprintf(want, sizeof(want), "%s/src/.fuzzcell-builds/address", dir);
	assert_string_equal(s[0].path, want);
	assert_true(s[0].is_main);
	assert_int_equal(s[0].project_notes.n, 1);
	snprintf(want, sizeof(want), "%s/src/.fuzzcell-builds/memory", dir);
	assert_string_equal(s[1].path, want);
	assert_false(s[1].is_main);
	assert_int_equal(s[1].project_notes.n, 0);
	assert_string_equal(s[1].variant, "memory");
	assert_int_equal(s[1].build_pids, 99);
	snprintf(want, sizeof(want), "bash|-eu|%s/p/build.sh", dir);
	assert_string_equal(joined(&s[1].build), want);
	config_free(c);
	/* A push can break the file: the configuration can still be loaded. */
	put(sub, "project.yaml", "language: go\n");
	c = loaded(dir);
	s = config_sources(c, &n);
	assert_int_equal(n, 2);
	assert_non_null(
	    strstr(s[0].broken, "/p/project.yaml:1: language: \"go\" is not supported"));
	config_free(c);
	snprintf(want, sizeof(want), "%s/project.yaml", sub);
	assert_int_equal(unlink(want), 0);
	assert_int_equal(mkfifo(want, 0600), 0);
	c = loaded(dir);
	assert_non_null(config_sources(c, &n)->broken);
	config_free(c);
	assert_int_equal(unlink(want), 0);
	c = loaded(dir);
	assert_non_null(strstr(config_sources(c, &n)->broken, "No such file or directory"));
	config_free(c);
	assert_int_equal(config_parse(slice_of(text), "/x/c", &c, &e), 0);
	assert_string_equal(config_sources(c, &n)->broken, "/x/p/project.yaml was not read");
	config_free(c);
	assert_int_equal(fs_remove_tree(AT_FDCWD, dir, &e), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good),
    cmocka_unit_test(test_bad),
    cmocka_unit_test(test_sources),
};

UNIT_MAIN(tests)
