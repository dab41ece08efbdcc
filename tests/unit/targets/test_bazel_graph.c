/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/targets/bazel/graph.h"

#include <errno.h>

/* Parses the document in pieces of n bytes. */
static int read_in(size_t n, struct slice text, struct bazel_graph *g, struct err *e)
{
	struct bazel_reader *reader = bazel_reader_new(g);
	int r = 0;

	while (r == 0 && text.n > 0) {
		size_t part = text.n < n ? text.n : n;

		r = bazel_reader_feed(reader, (struct slice){text.p, part}, e);
		text.p += part;
		text.n -= part;
	}
	if (r == 0)
		r = bazel_reader_end(reader, e);
	bazel_reader_free(reader);
	return r;
}

static int read_text(const char *text, struct bazel_graph *g, struct err *e)
{
	return read_in(SIZE_MAX, slice_of(text), g, e);
}

#define HEAD "<?xml version=\"1.1\" encoding=\"UTF-8\" standalone=\"no\"?>\n<query version=\"2\">"
#define TAIL "</query>"

/* Output of Bazel 4.2. */
static const char answer[] = HEAD
    "<rule class=\"cc_test\" location=\"/w/p/BUILD:2:17\" name=\"//p:line_fuzzer\">"
    "<string name=\"name\" value=\"line_fuzzer\"/>"
    "<list name=\"tags\"><string value=\"fuzz_target\"/></list>"
    "<string name=\"generator_name\" value=\"line_fuzzer\"/>"
    "<string name=\"generator_function\" value=\"fuzzer\"/>"
    "<list name=\"deps\"><label value=\"//p:lib\"/></list>"
    "<list name=\"data\"><label value=\"//p:inputs\"/><label value=\"@ext//x:y\"/></list>"
    "<list name=\"srcs\"><label value=\"//p:l.cc\"/></list>"
    "<list name=\"args\"><string value=\"-max_len=64\"/></list>"
    "<rule-input name=\"//p:l.cc\"/>"
    "</rule>"
    "<rule class=\"filegroup\" location=\"/w/p/BUILD:3:1\" name=\"@//p:inputs\">"
    "<list name=\"srcs\"><label value=\"//p:in/b\"/><label value=\"//p:in/a "
    "&amp;\xc3\x83\xc2\xa9\"/>"
    "</list></rule>"
    "<rule class=\"alias\" name=\"//p:also\"><label name=\"actual\" value=\"//p:inputs\"/></rule>"
    "<source-file name=\"//p:in/b\"><visibility-label name=\"//visibility:public\"/></source-file>"
    "<source-file name=\"//p:in/a &amp;\xc3\x83\xc2\xa9\"/>"
    "<source-file name=\"@ext//x:y\"/>"
    "<generated-file name=\"//p:made\"/>" TAIL;

static void check_answer(const struct bazel_graph *g)
{
	const struct bazel_rule *r = bazel_graph_find(g, "//p:line_fuzzer");

	assert_int_equal(g->n, 3);
	assert_non_null(r);
	assert_string_equal(r->class, "cc_test");
	assert_string_equal(r->where, "/w/p/BUILD:2:17");
	assert_string_equal(r->function, "fuzzer");
	assert_string_equal(r->generator, "line_fuzzer");
	assert_int_equal(r->data.n, 1); /* no data of another repository, no sources */
	assert_string_equal(r->data.v[0], "//p:inputs");
	assert_int_equal(r->args.n, 1);
	assert_string_equal(r->args.v[0], "-max_len=64");
	assert_int_equal(r->members.n, 0);
	r = bazel_graph_find(g, "//p:inputs");
	assert_non_null(r);
	assert_null(r->function);
	assert_int_equal(r->members.n, 2);
	assert_string_equal(r->members.v[0], "//p:in/b");
	assert_string_equal(r->members.v[1], "//p:in/a &\xc3\xa9"); /* the file's own bytes */
	r = bazel_graph_find(g, "//p:also");
	assert_non_null(r);
	assert_int_equal(r->members.n, 1);
	assert_null(bazel_graph_find(g, "//p:no"));
	assert_int_equal(g->files.n, 2);
	assert_true(bazel_graph_is_file(g, "//p:in/b"));
	assert_true(bazel_graph_is_file(g, "//p:in/a &\xc3\xa9"));
	assert_false(bazel_graph_is_file(g, "//p:made"));
	assert_false(bazel_graph_is_file(g, "//p:inputs"));
}

static void test_answer(void **state)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 7, 100};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct bazel_graph g = {0};
		struct err e;

		if (read_in(pieces[i], SLICE(answer), &g, &e) < 0)
			fail_msg("%s", e.msg);
		check_answer(&g);
		bazel_graph_done(&g);
	}
}

/* Text that newer Bazel versions may print without escapes. */
static void test_unicode(void **state)
{
	struct bazel_graph g = {0};
	struct err e;

	(void)state;
	assert_int_equal(read_text(HEAD "<source-file name=\"//p:\xe2\x82\xac\"/>" TAIL, &g, &e),
			 0);
	assert_true(bazel_graph_is_file(&g, "//p:\xe2\x82\xac"));
	bazel_graph_done(&g);
}

static void refused(const char *text, const char *why)
{
	struct bazel_graph g = {0};
	struct err e;

	assert_int_equal(read_text(text, &g, &e), -EBADMSG);
	if (!strstr(e.msg, why))
		fail_msg("%s", e.msg);
	bazel_graph_done(&g);
}

static void test_hostile(void **state)
{
	struct bazel_graph g = {0};
	struct err e;

	(void)state;
	refused("", "not XML");
	refused("ERROR: text", "not XML");
	refused(HEAD, "no element found");
	refused(HEAD "<rule>" TAIL, "mismatched tag");
	refused(HEAD "</query></query>", "not XML: line 2");
	refused("<!DOCTYPE q [<!ENTITY a \"aaaa\">]><query>&a;</query>", "document type");
	refused(HEAD "<rule name=\"//a:\xff\"/>" TAIL, "not well-formed");
	/* Elements at unexpected places, or without required attributes, are skipped. */
	if (read_text(
		HEAD
		"<label value=\"//a:b\"/><list/><string/><rule/><rule class=\"x\"/>"
		"<rule name=\"//a:b\"/><rule class=\"x\" name=\"..\"/><source-file/>"
		"<rule class=\"x\" name=\"//a:b\"><label/><string/><list/><label name=\"data\"/>"
		"<list name=\"data\"><rule class=\"y\" name=\"//a:c\"/><label value=\"//a:d\"/>"
		"</list><label value=\"//a:e\"/></rule><label value=\"//a:f\"/>" TAIL,
		&g, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(g.n, 2);
	bazel_graph_done(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_answer),
    cmocka_unit_test(test_unicode),
    cmocka_unit_test(test_hostile),
};

UNIT_MAIN(tests)
