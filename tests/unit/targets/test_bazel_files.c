/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "tests/unit/unit.h"

#include "tests/unit/targets/tree.h"

#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/targets/bazel/files.h"
#include "runner/targets/source.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A workspace's directories, and hand-written answers of Bazel about its rules. */
struct world {
	struct tree tree;
	struct bazel b;
	struct bazel_graph g;
	struct target_list notes;
	struct target t;
	uint64_t steps;
};

static void world_make(struct world *w, const char *xml)
{
	struct bazel_reader *reader;
	struct err e;

	*w = (struct world){.t = {.engine = &engine_libfuzzer}};
	tree_make(&w->tree);
	w->b.dir = w->tree.path;
	w->t.name = xstrdup("png_fuzzer");
	reader = bazel_reader_new(&w->g);
	if (bazel_reader_feed(reader, slice_of(xml), &e) < 0 || bazel_reader_end(reader, &e) < 0)
		fail_msg("%s", e.msg);
	bazel_reader_free(reader);
}

static void world_done(struct world *w)
{
	tree_done(&w->tree);
	bazel_graph_done(&w->g);
	target_list_done(&w->notes);
	target_done(&w->t);
}

static void file(struct world *w, const char *path)
{
	struct err e;
	char dir[200];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash) {
		*slash = '\0';
		assert_int_equal(fs_mkdirs(w->tree.fd, dir, 0755, &e), 0);
	}
	tree_file(&w->tree, path, "text");
}

static int look(struct world *w, struct err *e)
{
	return bazel_files(&w->b, &w->g, "//p:png_fuzzer_bin", &w->t, &w->notes, &w->steps, e);
}

/* Checks the seed directories, below the workspace; NULL: none. */
static void has(struct world *w, const char *a, const char *b)
{
	const char *const want[] = {a, b};
	size_t n = a ? (b ? 2 : 1) : 0;
	struct err e;

	if (look(w, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(w->t.seed_dirs.n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(w->t.seed_dirs.v[i] + strlen(w->tree.path) + 1, want[i]);
}

/* In a workspace with two files, x and y. */
static void two_have(const char *xml, const char *x, const char *y, const char *a, const char *b)
{
	struct world w;

	world_make(&w, xml);
	file(&w, x);
	file(&w, y);
	has(&w, a, b);
	world_done(&w);
}

#define RULE(class, name, in) "<rule class='" class "' name='" name "'>" in "</rule>"
#define LIST(name, in)	      "<list name='" name "'>" in "</list>"
#define L(label)	      "<label value='" label "'/>"
#define S(text)		      "<string value='" text "'/>"
#define FILE_(name)	      "<source-file name='" name "'/>"
#define BIN(in)		      RULE("cc_binary", "//p:png_fuzzer_bin", in)
#define GROUP(name, in)	      RULE("filegroup", name, LIST("srcs", in))
#define QUERY(in)	      "<query>" in "</query>"

static void test_group(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, QUERY(BIN(LIST("data", L("//p:all"))) GROUP("//p:all", L("//p:some"))
				 GROUP("//p:some", L("//p:in/a") L("//p:in/deep/b") L("//p:made"))
				     FILE_("//p:in/a") FILE_("//p:in/deep/b")));
	file(&w, "p/in/a");
	file(&w, "p/in/deep/b");
	file(&w, "p/png_fuzzer_corpus/x"); /* the target's own data come first */
	has(&w, "p/in", NULL);
	assert_int_equal(w.notes.n_notes, 0);
	assert_null(w.t.dict);
	world_done(&w);
}

/* Whole components only: "in" and "input" have "p" in common. */
static void test_common(void **state)
{
	(void)state;
	two_have(QUERY(BIN(LIST("data", L("//p:all")))
			   GROUP("//p:all", L("//p:in/a") L("//p:input/b")) FILE_("//p:in/a")
			       FILE_("//p:input/b")),
		 "p/in/a", "p/input/b", "p", NULL);
}

/* A group with "corpus" in its name is the corpus; the others are the target's runtime files. */
static void test_several(void **state)
{
	const char *two =
	    QUERY(BIN(LIST("data", L("//p:fonts") L("//p:more"))) GROUP("//p:fonts", L("//p:ttf/a"))
		      GROUP("//p:more", L("//p:in/b")) FILE_("//p:ttf/a") FILE_("//p:in/b"));
	const char *named = QUERY(
	    BIN(LIST("data", L("//p:fonts") L("//p:png_corpus"))) GROUP("//p:fonts", L("//p:ttf/a"))
		GROUP("//p:png_corpus", L("//p:in/b")) FILE_("//p:ttf/a") FILE_("//p:in/b"));

	(void)state;
	two_have(two, "p/ttf/a", "p/in/b", "p/ttf", "p/in");
	two_have(named, "p/ttf/a", "p/in/b", "p/in", NULL);
}

/* Files without a group, and sources beside them, which are no inputs. */
static void test_loose(void **state)
{
	const char *loose = QUERY(BIN(LIST("data", L("//p:in/a") L("//p:in/b"))) FILE_("//p:in/a")
				      FILE_("//p:in/b"));
	struct world w;

	(void)state;
	two_have(loose, "p/in/a", "p/in/b", "p/in", NULL);
	world_make(&w, loose);
	file(&w, "p/in/a");
	file(&w, "p/in/b");
	file(&w, "p/in/BUILD");
	file(&w, "p/in/README");
	has(&w, "p/in", NULL);
	world_done(&w);
	world_make(&w, loose);
	file(&w, "p/in/a");
	file(&w, "p/in/b");
	file(&w, "p/in/BUILD");
	for (char name[] = "p/in/0.cc"; name[5] < '6'; name[5]++)
		file(&w, name);
	has(&w, NULL, NULL);
	expect_note(&w.notes, "//p:png_fuzzer_bin", false, "files that are not in its data");
	world_done(&w);
}

#define MADE(function, name)                                       \
	"<string name='generator_function' value='" function "'/>" \
	"<string name='generator_name' value='" name "'/>"
#define AT(class, name, where, in) \
	"<rule class='" class "' name='" name "' location='" where "'>" in "</rule>"

/* The regression test that the macro made has the corpus. */
static void test_siblings(void **state)
{
	const char *xml = QUERY(
	    AT("cc_binary", "//p:png_fuzzer_bin", "/w/p/BUILD:1:1", MADE("fuzzer", "png_fuzzer"))
		AT("cc_test", "//p:png_fuzzer", "/w/p/BUILD:1:1",
		   MADE("fuzzer", "png_fuzzer") LIST("data", L("//p:png")))
		    AT("cc_test", "//p:a_png_fuzzer", "/w/p/BUILD:9:1",
		       MADE("fuzzer", "png_fuzzer") LIST("data", L("//p:gif")))
			GROUP("//p:png", L("//p:png/a")) GROUP("//p:gif", L("//p:gif/b"))
			    FILE_("//p:png/a") FILE_("//p:gif/b"));

	(void)state;
	two_have(xml, "p/png/a", "p/gif/b", "p/png", NULL);
}

/* A macro that was called without name = "...": the names of the rules count. */
static void test_siblings_by_name(void **state)
{
	const char *xml =
	    QUERY(AT("cc_binary", "//p:png_fuzzer_bin", "/w/p/BUILD:1:1",
		     MADE("fuzzer", "png_fuzzer_bin"))
		      AT("cc_test", "//p:gif_fuzzer", "/w/p/BUILD:1:1",
			 MADE("fuzzer", "gif_fuzzer") LIST("data", L("//p:gif")))
			  AT("cc_test", "//p:png_fuzzer_test", "/w/p/BUILD:1:1",
			     MADE("fuzzer", "png_fuzzer_test") LIST("data", L("//p:png")))
			      GROUP("//p:png", L("//p:png/a")) GROUP("//p:gif", L("//p:gif/b"))
				  FILE_("//p:png/a") FILE_("//p:gif/b"));

	(void)state;
	two_have(xml, "p/png/a", "p/gif/b", "p/png", NULL);
}

static void test_by_name(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, QUERY(BIN("")));
	file(&w, "p/png_fuzzer_corpus/a");
	has(&w, "p/png_fuzzer_corpus", NULL);
	world_done(&w);
	world_make(&w, QUERY("")); /* Bazel printed nothing about the rule */
	has(&w, NULL, NULL);
	assert_int_equal(w.notes.n_notes, 0);
	world_done(&w);
}

/* A repository must not give access to other files of the machine. */
static void test_links_out(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, QUERY(BIN(LIST("data", L("//p:all") L("//p:x.dict"))) GROUP(
			   "//p:all", L("//p:in/a")) FILE_("//p:in/a") FILE_("//p:x.dict")));
	file(&w, "p/x");
	assert_int_equal(symlinkat("/etc", w.tree.fd, "p/in"), 0);
	assert_int_equal(symlinkat("/etc/passwd", w.tree.fd, "p/x.dict"), 0);
	assert_int_equal(symlinkat("/etc", w.tree.fd, "p/png_fuzzer_corpus"), 0);
	has(&w, NULL, NULL);
	assert_null(w.t.dict);
	expect_note(&w.notes, "//p:png_fuzzer_bin", true, "'p/in' leads out of the workspace");
	expect_note(&w.notes, "//p:png_fuzzer_bin", true,
		    "'p/x.dict' is not a file of the workspace");
	world_done(&w);
	/* A device, a directory, a missing file. */
	world_make(&w, QUERY(BIN(LIST("data", L("//p:x.dict")) LIST("args", S("-dict=/dev/zero")))
				 FILE_("//p:x.dict")));
	file(&w, "p/x.dict/y");
	has(&w, NULL, NULL);
	assert_null(w.t.dict);
	world_done(&w);
}

static void has_dict(const char *xml, const char *want)
{
	struct world w;
	struct err e;

	world_make(&w, xml);
	file(&w, "p/png_fuzzer.dict");
	file(&w, "p/a.dict");
	if (look(&w, &e) < 0)
		fail_msg("%s", e.msg);
	if (want && !w.t.dict)
		fail_msg("no dictionary");
	else if (want)
		assert_string_equal(w.t.dict + strlen(w.tree.path) + 1, want);
	else
		assert_null(w.t.dict);
	assert_int_equal(w.notes.n_notes > 0, !want);
	world_done(&w);
}

static void test_dict(void **state)
{
#define A    L("//p:a.dict")
#define PNG  L("//p:png_fuzzer.dict")
#define BOTH FILE_("//p:a.dict") FILE_("//p:png_fuzzer.dict")
	(void)state;
	has_dict(QUERY(BIN(LIST("data", A)) BOTH), "p/a.dict");
	has_dict(QUERY(BIN(LIST("data", A PNG)) BOTH), "p/png_fuzzer.dict");
	has_dict(QUERY(BIN(LIST("data", A L("//p:b.dict"))) BOTH FILE_("//p:b.dict")), NULL);
	has_dict(QUERY(BIN(LIST("data", A PNG) LIST("args", S("-dict=$(location a.dict)"))) BOTH),
		 "p/a.dict");
	has_dict(
	    QUERY(BIN(LIST("data", A PNG) LIST("args", S("-dict=$(rootpath //p:a.dict)"))) BOTH),
	    "p/a.dict");
	has_dict(QUERY(BIN(LIST("args", S("-dict=p/a.dict"))) BOTH), "p/a.dict");
	has_dict(QUERY(BIN(LIST("args", S("-dict=$(location no.dict)"))) BOTH), NULL);
	has_dict(QUERY(BIN(LIST("args", S("-dict=$(location"))) BOTH), NULL);
	has_dict(QUERY(BIN(LIST("args", S("-dict=../../../etc/passwd"))) BOTH), NULL);
	/* rules_fuzzing */
	has_dict(QUERY(BIN("<label name='dictionary' value='//p:d'/>")
			   RULE("fuzzing_dictionary", "//p:d", LIST("dicts", A)) BOTH),
		 "p/a.dict");
}

static void test_args(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, QUERY(BIN(LIST("args", S("-max_len=64") S("-fork=4") S("plain")
						  S("-timeout=7") S("")))));
	has(&w, NULL, NULL);
	assert_int_equal(w.t.flags.n, 1);
	assert_string_equal(w.t.flags.v[0], "-max_len=64");
	assert_int_equal(w.t.input_timeout_s, 7);
	assert_int_equal(w.notes.n_notes, 1);
	expect_note(&w.notes, "//p:png_fuzzer_bin", true, "-fork=4");
	world_done(&w);
}

/* A group that contains itself is resolved; a search of too many steps is refused. */
static void test_circles(void **state)
{
	struct world w;
	struct err e;

	(void)state;
	world_make(&w, QUERY(BIN(LIST("data", L("//p:a"))) GROUP("//p:a", L("//p:b"))
				 GROUP("//p:b", L("//p:a") L("//p:in/x")) FILE_("//p:in/x")));
	file(&w, "p/in/x");
	has(&w, "p/in", NULL);
	w.steps = BAZEL_STEPS_MAX - 2;
	assert_int_equal(look(&w, &e), -ELOOP);
	assert_string_equal(e.msg, "//p:png_fuzzer_bin: too many data files to check");
	world_done(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_group),    cmocka_unit_test(test_common),
    cmocka_unit_test(test_several),  cmocka_unit_test(test_loose),
    cmocka_unit_test(test_siblings), cmocka_unit_test(test_siblings_by_name),
    cmocka_unit_test(test_by_name),  cmocka_unit_test(test_links_out),
    cmocka_unit_test(test_dict),     cmocka_unit_test(test_args),
    cmocka_unit_test(test_circles),
};

UNIT_MAIN(tests)
