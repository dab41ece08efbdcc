/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/tree.h"

#include "base/fault.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <stdlib.h>

static void fill(struct tree *d)
{
	tree_make(d);
	assert_int_equal(mkdirat(d->fd, "bin", 0755), 0);
	assert_int_equal(mkdirat(d->fd, "seeds", 0755), 0);
	tree_program(d, "bin/x", MARK);
	tree_program(d, "tool", "");
	tree_program(d, "t", "list_fuzz_tests");
	tree_program(d, "nox", MARK);
	assert_int_equal(fchmodat(d->fd, "nox", 0644, 0), 0);
	tree_file(d, "x.dict", "");
	tree_file(d, "s.zip", "");
	tree_file(d, "x.options", "[libfuzzer]\nmax_len = 1\ntimeout = 5\ndict = y\n[asan]\na=b\n");
	assert_int_equal(mkfifoat(d->fd, "fifo", 0755), 0);
}

static int load(struct tree *d, const char *text, struct target_list *l, struct err *e)
{
	tree_file(d, "m.json", text);
	return tree_add(d, "manifest", "m.json", l, e);
}

static void expect_below(const struct tree *d, const char *path, const char *name)
{
	assert_non_null(path);
	assert_memory_equal(path, d->path, strlen(d->path));
	assert_string_equal(path + strlen(d->path), name);
}

static void test_whole(void **state)
{
	struct target_list l = {0};
	const struct target *t;
	struct tree d;
	struct err e;

	(void)state;
	fill(&d);
	assert_int_equal(
	    load(&d,
		 "{\"targets\": [{\"flags\": [\"-max_len=64\", \"-rss_limit_mb=9\"],"
		 "\"name\": \"x@A.B\", \"binary\": \"bin/x\", \"files\": \"bin\","
		 "\"seeds\": [\"seeds\", \"s.zip\", \"/usr\"], \"dict\": \"x.dict\","
		 "\"options\": \"x.options\", \"env\": {\"A\": \"b c\"}},"
		 "{\"name\": \"a\", \"binary\": \"./bin/../bin/x\", \"files\": null}]}",
		 &l, &e),
	    0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0].name, "a");
	expect_below(&d, l.v[0].binary, "/./bin/../bin/x");
	assert_null(l.v[0].dir);
	t = &l.v[1];
	assert_string_equal(t->name, "x@A.B");
	expect_below(&d, t->binary, "/bin/x");
	expect_below(&d, t->dir, "/bin");
	expect_below(&d, t->dict, "/x.dict");
	expect_below(&d, t->seed_archive, "/s.zip");
	assert_int_equal(t->seed_dirs.n, 2);
	expect_below(&d, t->seed_dirs.v[0], "/seeds");
	assert_string_equal(t->seed_dirs.v[1], "/usr");
	assert_int_equal(t->flags.n, 1);
	assert_string_equal(t->flags.v[0], "-max_len=64"); /* the manifest's own flag wins */
	assert_int_equal(t->env.n, 2);
	assert_string_equal(t->env.v[0], "ASAN_OPTIONS=a=b");
	assert_string_equal(t->env.v[1], "A=b c");
	assert_int_equal(t->input_timeout_s, 5);
	assert_int_equal(t->rss_limit_mib, 9);
	assert_ptr_equal(t->engine, &engine_libfuzzer);
	assert_true(t->size > 20000);
	assert_int_equal(l.n_notes, 1);
	expect_note(&l, "/x.options", true, "its dict is not used");
	target_list_done(&l);
	tree_done(&d);
}

#define X(more) "{\"targets\": [{\"name\": \"x\", \"binary\": \"bin/x\"" more "}]}"
#define IN_X	"targets[0] (\"x\"): "

/* "@" in a text is replaced by the directory. */
static const struct {
	const char *text, *error;
} wrong[] = {
    {"", "line 1, column 0: "},
    {"{\n\"targets\": [}", "line 2, column 13: "},
    {"[]", "must be {\"targets\": [...]}"},
    {"{}", "must be {\"targets\": [...]}"},
    {"{\"targets\": {}}", "must be {\"targets\": [...]}"},
    {"{\"target\": []}", "unknown key \"target\" (there is \"targets\")"},
    {"{\"targets\": [3]}", "targets[0]: must be an object"},
    {"{\"targets\": [{}]}", "targets[0]: \"name\" is missing"},
    {"{\"targets\": [{\"name\": \"x\"}]}", IN_X "\"binary\" is missing"},
    {"{\"targets\": [{\"name\": \"\", \"binary\": \"bin/x\"}]}",
     "targets[0] (\"\"): name: must be a text that is not empty"},
    {"{\"targets\": [{\"name\": 3, \"binary\": \"bin/x\"}]}",
     "targets[0]: name: must be a text that is not empty"},
    {"{\"targets\": [{\"name\": \"a/\\u001b\", \"binary\": \"bin/x\"}]}",
     "targets[0] (\"a/\\x1b\"): name: must have at most 128 letters"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"none\"}]}",
     IN_X "binary: '@/none': No such file or directory"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": null}]}", IN_X "binary: must be a text"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"bin\"}]}",
     IN_X "binary: '@/bin' is a directory"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"fifo\"}]}",
     IN_X "binary: '@/fifo' is neither a file nor a directory"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"/dev/zero\"}]}",
     IN_X "binary: '/dev/zero' is neither a file nor a directory"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"nox\"}]}",
     IN_X "binary: '@/nox' has no permission to execute"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"tool\"}]}",
     IN_X "binary: '@/tool' has no fuzzing entry point"},
    {X(", \"test\": \"A.B\""), IN_X "test: a program of libfuzzer has no tests"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"t\"}]}",
     "targets[0]: \"test\" is missing: it names a fuzz test of the program"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"t\", \"test\": \"A/b\"}]}",
     IN_X "test: the program has no fuzz test 'A/b'"},
    {X(", \"flag\": []"), IN_X "unknown key \"flag\" (did you mean \"flags\"?)"},
    {X(", \"seed_corpus\": []"), IN_X "unknown key \"seed_corpus\""},
    {X(", \"name\": \"y\""), "line 1, column "},
    {X(", \"files\": \"x.dict\""), IN_X "files: '@/x.dict' is not a directory"},
    {X(", \"dict\": \"bin\""), IN_X "dict: '@/bin' is a directory"},
    {X(", \"dict\": \"none\""), IN_X "dict: '@/none': No such file or directory"},
    {X(", \"seeds\": \"seeds\""), IN_X "seeds: must be a list of directories"},
    {X(", \"seeds\": [\"seeds\", \"none\"]"), IN_X "seeds[1]: '@/none': No such file"},
    {X(", \"seeds\": [\"s.zip\", \"s.zip\"]"), IN_X "seeds[1]: a second file"},
    {X(", \"flags\": \"-a=1\""), IN_X "flags: must be a list of texts"},
    {X(", \"flags\": [\"-max_len=1\", 2]"), IN_X "flags[1]: must be a text"},
    {X(", \"flags\": [\"max_len\"]"), IN_X "flags[0]: 'max_len': write -name=value"},
    {X(", \"flags\": [\"-maxlen=1\"]"),
     IN_X "flags[0]: '-maxlen=1': unknown flag 'maxlen' (did you mean 'max_len'?)"},
    {X(", \"flags\": [\"-fork=1\"]"), IN_X "flags[0]: '-fork=1': flag 'fork' is refused: "},
    {X(", \"flags\": [\"-timeout=0\"]"), IN_X "flags[0]: '-timeout=0': 'timeout' must be"},
    {X(", \"flags\": [\"-dict=a\"]"), IN_X "flags[0]: '-dict=a': use the key \"dict\""},
    {X(", \"env\": []"), IN_X "env: must be an object of texts"},
    {X(", \"env\": {\"A=\": \"b\"}"), IN_X "env: 'A=' is not a variable's name"},
    {X(", \"env\": {\"A\": 1}"), IN_X "env: A must be a text of at most 1024 bytes"},
    {X(", \"env\": {\"A\": \"\\n\"}"), IN_X "env: A must be a text of at most 1024 bytes"},
    {X(", \"options\": \"none\""), IN_X "options: '@/none': No such file"},
    {"{\"targets\": [{\"name\": \"x\", \"binary\": \"bin/x\"},"
     "{\"name\": \"x\", \"binary\": \"bin/x\"}]}",
     "two targets are named 'x': '@/bin/x' and '@/bin/x'"},
};

/* Checks that actual begins with expected, with each '@' replaced by dir. */
static bool starts(const char *actual, const char *expected, const char *dir)
{
	for (; *expected; expected++) {
		size_t n = *expected == '@' ? strlen(dir) : 1;

		if (strncmp(actual, *expected == '@' ? dir : expected, n) != 0)
			return false;
		actual += n;
	}
	return true;
}

static void test_wrong(void **state)
{
	struct tree d;

	(void)state;
	fill(&d);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct target_list l = {0};
		struct err e = {0};
		char at[96];
		int n = snprintf(at, sizeof(at), "%s/m.json: ", d.path);

		if (load(&d, wrong[i].text, &l, &e) >= 0)
			fail_msg("accepted: %s", wrong[i].text);
		if (strncmp(e.msg, at, (size_t)n) != 0 ||
		    !starts(e.msg + n, wrong[i].error, d.path))
			fail_msg("%s\n# %s\n# instead of %s", wrong[i].text, e.msg, wrong[i].error);
		assert_int_equal(l.n + l.n_notes, 0);
		assert_null(l.v);
	}
	tree_done(&d);
}

static void test_places(void **state)
{
	struct target_list l = {0};
	struct tree d;
	struct err e;

	(void)state;
	fill(&d);
	assert_int_equal(tree_add(&d, "manifest", "none.json", &l, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/none.json'"));
	assert_int_equal(tree_add(&d, "manifest", "fifo", &l, &e), -EINVAL);
	/* A relative path without a directory is relative to the working directory. */
	tree_file(&d, "m.json", X(""));
	assert_int_equal(fchdir(d.fd), 0);
	assert_int_equal(
	    discover_add(&(struct discover_source){.type = "manifest", .path = "m.json"}, &l, &e),
	    0);
	expect_below(&d, l.v[0].binary, "/bin/x");
	assert_int_equal(chdir("/"), 0);
	target_list_done(&l);
	assert_int_equal(load(&d, "{\"targets\": []}", &l, &e), 0);
	assert_int_equal(l.n, 0);
	target_list_done(&l);
	tree_done(&d);
}

static void test_faults(void **state)
{
	static const char text[] =
	    X(", \"files\": \"bin\", \"seeds\": [\"seeds\", \"s.zip\"], \"dict\": \"x.dict\","
	      "\"options\": \"x.options\", \"flags\": [\"-seed=1\"], \"env\": {\"A\": \"b\"}");
	struct tree d;
	unsigned nth = 1;

	(void)state;
	fill(&d);
	tree_file(&d, "m.json", text);
	for (;; nth++) {
		struct target_list l = {0};
		struct err e = {0};
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = tree_add(&d, "manifest", "m.json", &l, &e);
		if (r == 0 && l.v[0].flags.n == 2)
			nth = 0; /* after the last call */
		else
			assert_true(r < 0 ? e.msg[0] && l.n + l.n_notes == 0 : count_warnings(&l));
		target_list_done(&l);
		if (nth == 0)
			break;
		assert_true(nth < 1000);
	}
	fault_arm(0, FAULT_FAIL);
	tree_done(&d);
}

#define ONE(more) "{\"targets\": [{\"name\": \"x\", \"binary\": \"bin/x\", " more "}]}"

static void leads_out(struct tree *d, const char *text)
{
	struct target_list l = {0};
	struct err e = {0};

	if (load(d, text, &l, &e) != -EXDEV)
		fail_msg("%s: '%s'", text, e.msg);
	if (!strstr(e.msg, "leads out of the work tree in which it is named") ||
	    !strstr(e.msg, "target \"x\""))
		fail_msg("%s", e.msg);
	assert_int_equal(l.n, 0);
}

/* A manifest in a work tree may come from a push: its files must be in the tree, also through
 * links, and also later.  A program may be anywhere. */
static void test_pushed(void **state)
{
	struct target_list l = {0};
	struct rights now;
	struct tree d;
	struct err e;

	(void)state;
	fill(&d);
	assert_int_equal(mkdirat(d.fd, ".git", 0755), 0);
	assert_int_equal(symlinkat("/etc", d.fd, "out"), 0);
	assert_int_equal(symlinkat("seeds", d.fd, "in"), 0);
	assert_int_equal(symlinkat("/etc/hostname", d.fd, "out.dict"), 0);
	leads_out(&d, ONE("\"seeds\": [\"seeds\", \"/etc\"]"));
	leads_out(&d, ONE("\"seeds\": [\"..\"]"));
	leads_out(&d, ONE("\"seeds\": [\"out\"]"));
	leads_out(&d, ONE("\"seeds\": [\"/etc/hostname\"]"));
	leads_out(&d, ONE("\"dict\": \"out.dict\""));
	leads_out(&d, ONE("\"files\": \"/etc\""));
	assert_int_equal(load(&d, ONE("\"seeds\": [\"in\", \"bin/../seeds\", \".\"]"), &l, &e), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(rights_of_named(&l.v[0].rights, l.v[0].seed_dirs.v[0], &now, &e), 0);
	assert_int_equal(unlinkat(d.fd, "in", 0), 0);
	assert_int_equal(symlinkat("/etc", d.fd, "in"), 0);
	assert_int_equal(rights_of_named(&l.v[0].rights, l.v[0].seed_dirs.v[0], &now, &e), -EXDEV);
	target_list_done(&l);
	assert_int_equal(unlinkat(d.fd, ".git", AT_REMOVEDIR), 0); /* it is in no work tree */
	l = (struct target_list){0};
	assert_int_equal(load(&d, ONE("\"seeds\": [\"out\"], \"dict\": \"out.dict\""), &l, &e), 0);
	target_list_done(&l);
	tree_done(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pushed), cmocka_unit_test(test_whole),  cmocka_unit_test(test_wrong),
    cmocka_unit_test(test_places), cmocka_unit_test(test_faults),
};

UNIT_MAIN(tests)
