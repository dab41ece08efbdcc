/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "tests/unit/coverage/tools_out.h"

static const char good[] = TOOLS_JSON(TOOLS_SUMMARY, TOOLS_FILE("/src/a.c"));

static const char *text_at(const json_t *list, size_t at, const char *key)
{
	return json_get_text(json_array_get(list, at), key);
}

static void measure_is(const json_t *of, const char *measure, uint64_t covered, uint64_t count)
{
	const json_t *m = json_object_get(of, measure);

	assert_true(json_is_object(m));
	assert_int_equal(json_get_u64(m, "covered"), covered);
	assert_int_equal(json_get_u64(m, "count"), count);
}

static void test_report(void **state)
{
	_autoclose_ int out = tools_out("out", good, TOOLS_TRACE, TOOLS_LISTING);
	_autojson_ json_t *j = tools_report(out, -1, &tools_facts);
	const json_t *files = json_object_get(j, "files"), *b;
	const json_t *inputs = json_object_get(j, "inputs");

	(void)state;
	assert_string_equal(json_get_text(j, "target"), "png_fuzzer");
	assert_string_equal(json_get_text(j, "commit"), "0123456789");
	assert_int_equal(json_get_u64(j, "time"), 1700000000);
	assert_int_equal(json_get_u64(j, "llvm"), 14);
	assert_string_equal(json_get_text(j, "notes"), "a warning");
	assert_int_equal(json_get_u64(inputs, "ran"), 812);
	assert_int_equal(json_get_u64(inputs, "failed"), 2);
	assert_int_equal(json_get_u64(inputs, "left_out"), 3);
	assert_string_equal(json_get_text(inputs, "why"), "too many");
	measure_is(json_object_get(j, "totals"), "lines", 2, 5);
	measure_is(json_object_get(j, "totals"), "functions", 1, 2);
	measure_is(json_object_get(j, "totals"), "regions", 3, 7);
	measure_is(json_object_get(j, "totals"), "branches", 1, 4);
	assert_int_equal(json_object_size(json_object_get(j, "totals")), 4);
	assert_int_equal(json_array_size(files), 1);
	assert_string_equal(text_at(files, 0, "path"), "/src/a.c");
	measure_is(json_array_get(files, 0), "lines", 2, 5);
	assert_true(json_is_null(json_object_get(j, "change")));
	assert_true(json_is_true(json_object_get(j, "sources")));
	assert_int_equal(json_array_size(json_object_get(j, "blockers")), 1);
	b = json_array_get(json_object_get(j, "blockers"), 0);
	assert_string_equal(json_get_text(b, "path"), "/src/a.c");
	assert_string_equal(json_get_text(b, "function"), "f");
	assert_string_equal(json_get_text(b, "source"), "if (x == 1)");
	assert_true(json_is_true(json_object_get(b, "missing")));
	assert_int_equal(json_get_u64(b, "line"), 2);
	assert_int_equal(json_get_u64(b, "evaluated"), 1);
	assert_int_equal(json_get_u64(b, "lines"), 3);
	assert_int_equal(json_get_u64(b, "functions"), 1);
}

static void test_unknown_facts(void **state)
{
	struct report_facts f = {.target = "@all", .why = "", .notes = ""};
	_autoclose_ int out = tools_out("out", good, "", "");
	_autojson_ json_t *j = tools_report(out, -1, &f);

	(void)state;
	assert_true(json_is_null(json_object_get(j, "commit")));
	assert_true(json_is_null(json_object_get(j, "llvm")));
	assert_int_equal(json_array_size(json_object_get(j, "blockers")), 0);
}

/* A listing without text is no source text, also for a program of one file. */
static void test_no_sources(void **state)
{
	_autoclose_ int out = tools_out("out", good, TOOLS_TRACE, "");
	_autojson_ json_t *j = tools_report(out, -1, &tools_facts);
	const json_t *b = json_array_get(json_object_get(j, "blockers"), 0);

	(void)state;
	assert_true(json_is_false(json_object_get(j, "sources")));
	assert_string_equal(json_get_text(b, "source"), "");
	assert_int_equal(json_get_u64(b, "lines"), 1);
}

/* --- what is refused ------------------------------------------------------------------------ */

static void refused(const char *summary, const char *trace, const char *listing, int code,
		    const char *says)
{
	_autoclose_ int out = tools_out("out", summary, trace, listing);
	json_t *j = NULL;
	struct err e;
	int r = report_make(out, -1, &tools_facts, &j, &e);

	if (r != -code)
		fail_msg("%d instead of %d: %s", r, -code, summary ? summary : "no summary");
	assert_null(j);
	if (!strstr(e.msg, says))
		fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void refused_summary(const char *summary)
{
	refused(summary, TOOLS_TRACE, TOOLS_LISTING, EBADMSG, "the summary of llvm-cov");
}

#define M_OK TOOLS_MEASURE(1, 2)

static void test_refused_summaries(void **state)
{
	(void)state;
	refused_summary(TOOLS_JSON(
	    "{\"lines\": " M_OK ", \"functions\": " M_OK ", \"regions\": " M_OK "}", ""));
	refused_summary(TOOLS_JSON("{\"lines\": " TOOLS_MEASURE(3, 2) ", \"functions\": " M_OK
								      ", \"regions\": " M_OK
								      ", \"branches\": " M_OK "}",
				   ""));
	refused_summary(TOOLS_JSON("{\"lines\": " M_OK ", \"functions\": " M_OK
				   ", \"regions\": " M_OK ", \"branches\": 7}",
				   ""));
	refused_summary(TOOLS_JSON(TOOLS_SUMMARY, "{\"filename\": \"a\"}"));
	refused_summary(TOOLS_JSON(TOOLS_SUMMARY, "{\"summary\": " TOOLS_SUMMARY "}"));
	refused_summary(
	    TOOLS_JSON(TOOLS_SUMMARY, "{\"filename\": 7, \"summary\": " TOOLS_SUMMARY "}"));
	refused_summary(TOOLS_JSON(TOOLS_SUMMARY, "7, " TOOLS_FILE("/src/a.c")));
	refused_summary("{}");
	refused_summary("[]");
	refused_summary("{\"data\": []}");
	refused_summary("{\"data\": {}}");
}

static void test_refused_files(void **state)
{
	(void)state;
	refused("not JSON", TOOLS_TRACE, "", EBADMSG, "summary.json");
	refused("", TOOLS_TRACE, "", EBADMSG, "summary.json");
	refused(TOOLS_JSON(TOOLS_SUMMARY, TOOLS_FILE("\xff")), TOOLS_TRACE, "", EBADMSG,
		"summary.json");
	refused(good, "SF:/src/a.c\nDA:x\n", "", EBADMSG, "line 2");
}

static void test_missing_files(void **state)
{
	(void)state;
	refused(NULL, NULL, NULL, ENOENT, "summary.json");
	refused(good, NULL, NULL, ENOENT, "lcov.info");
	refused(good, TOOLS_TRACE, NULL, ENOENT, "listing");
}

/* The tools' directory belongs to a cell: a link out of it is not followed. */
static void test_links(void **state)
{
	static const char *const names[] = {"summary.json", "lcov.info", "listing"};
	_autoclose_ int out = tools_out("out", good, TOOLS_TRACE, TOOLS_LISTING);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		json_t *j = NULL;
		struct err e;

		assert_int_equal(renameat(out, names[i], dir.fd, "moved"), 0);
		assert_int_equal(symlinkat("../moved", out, names[i]), 0);
		assert_int_equal(report_make(out, -1, &tools_facts, &j, &e), -ELOOP);
		assert_int_equal(renameat(dir.fd, "moved", out, names[i]), 0);
	}
}

static void test_no_lines(void **state)
{
	(void)state;
	refused(
	    TOOLS_JSON(
		"{\"lines\": " TOOLS_MEASURE(0, 0) ", \"functions\": " TOOLS_MEASURE(
		    0,
		    0) ", \"regions\": " TOOLS_MEASURE(0,
						       0) ", \"branches\": " TOOLS_MEASURE(0,
											   0) "}",
		""),
	    "", "", ENODATA, "-fprofile-instr-generate");
}

/* A profile of another program: its counters belong to nothing. */
static void test_no_line_reached(void **state)
{
	(void)state;
	refused(TOOLS_JSON("{\"lines\": " TOOLS_MEASURE(0, 9) ", \"functions\": " M_OK
							      ", \"regions\": " M_OK
							      ", \"branches\": " M_OK "}",
			   ""),
		"", "", EBADMSG, "no line was reached");
}

static void test_many_files(void **state)
{
	struct buf b = BUF_INIT(64 << 20);
	_autojson_ json_t *j = NULL;
	_autoclose_ int out = -1;

	(void)state;
	buf_puts(&b, "{\"data\": [{\"totals\": " TOOLS_SUMMARY ", \"files\": [" TOOLS_FILE("/0"));
	for (unsigned i = 1; i < REPORT_FILES_MAX + 5; i++)
		buf_printf(&b, ", {\"filename\": \"/%u\", \"summary\": " TOOLS_SUMMARY "}", i);
	buf_puts(&b, "]}]}");
	out = tools_out("out", buf_str(&b), "", "");
	buf_done(&b);
	j = tools_report(out, -1, &tools_facts);
	assert_int_equal(json_array_size(json_object_get(j, "files")), REPORT_FILES_MAX);
}

/* --- names and numbers ----------------------------------------------------------- */

/* The tracefile may hold any bytes; the report can still be printed. */
static void test_names_that_are_not_utf8(void **state)
{
	_autoclose_ int out = tools_out(
	    "out", good,
	    "SF:/\xff.c\nFN:1,\xc3(\x1b[2J\nFNDA:1,\xc3(\x1b[2J\nDA:1,1\nDA:2,0\nBRDA:1,0,0,0\n"
	    "BRDA:1,0,1,1\nend_of_record\n",
	    "1|1|if (\xff\xe2\x80\xae)\n2|0|x\n");
	_autojson_ json_t *j = NULL;
	_autofree_ char *text = NULL;
	struct report_facts f = tools_facts;
	struct err e;
	const json_t *b;

	(void)state;
	f.why = f.notes = "\xff";
	j = tools_report(out, -1, &f);
	assert_int_equal(json_print(j, 0, &text, &e), 0);
	assert_int_equal(json_array_size(json_object_get(j, "blockers")), 1);
	b = json_array_get(json_object_get(j, "blockers"), 0);
	assert_true(strlen(json_get_text(b, "path")) > 3);
	assert_null(strchr(json_get_text(b, "function"), '\x1b'));
	assert_true(strlen(json_get_text(b, "source")) > 5);
}

static void test_target_that_is_not_utf8(void **state)
{
	_autoclose_ int out = tools_out("out", good, TOOLS_TRACE, "");
	struct report_facts f = tools_facts;
	json_t *j = NULL;
	struct err e;

	(void)state;
	f.target = "\xff";
	assert_int_equal(report_make(out, -1, &f, &j, &e), -EILSEQ);
	assert_null(j);
}

static void test_long_source(void **state)
{
	_autofree_ char *line = xmalloc(1001), *listing = NULL;
	_autojson_ json_t *j = NULL;
	_autoclose_ int out = -1;

	(void)state;
	memset(line, 'x', 1000);
	line[1000] = '\0';
	listing = xasprintf("1|1|void f(int x) {\n2|1|  %s\n", line);
	out = tools_out("out", good, TOOLS_TRACE, listing);
	j = tools_report(out, -1, &tools_facts);
	assert_int_equal(strlen(text_at(json_object_get(j, "blockers"), 0, "source")), 160);
}

/* llvm-cov writes such counts when a counter was decremented below 0. */
static void test_huge_count(void **state)
{
	_autoclose_ int out =
	    tools_out("out", good,
		      "SF:/src/a.c\nFN:1,f\nFNDA:1,f\nDA:1,1\nDA:2,0\nBRDA:1,0,0,0\n"
		      "BRDA:1,0,1,18446744073709551615\nend_of_record\n",
		      "");
	_autojson_ json_t *j = tools_report(out, -1, &tools_facts);
	const json_t *b = json_array_get(json_object_get(j, "blockers"), 0);

	(void)state;
	assert_int_equal(json_get_u64(b, "evaluated"), INT64_MAX);
}

/* --- the report before ----------------------------------------------------------- */

static const char trace_before[] =
    "SF:/src/a.c\nFN:1,stays\nFN:2,lost\nFN:3,newly\nFN:4,never\nFN:5,left\nFN:6,twice\n"
    "FNDA:1,stays\nFNDA:5,lost\nFNDA:0,newly\nFNDA:0,never\nFNDA:1,left\nFNDA:1,twice\n"
    "end_of_record\nSF:/src/b.c\nFN:1,lost\nFNDA:1,lost\nend_of_record\n";
static const char trace_now[] =
    "SF:/src/"
    "a.c\nFN:1,stays\nFN:2,lost\nFN:3,newly\nFN:4,never\nFN:5,came\nFN:6,twice\nFN:7,twice\n"
    "FN:8,came_unreached\nFNDA:1,stays\nFNDA:0,lost\nFNDA:3,newly\nFNDA:0,never\nFNDA:1,came\n"
    "FNDA:0,twice\nFNDA:2,twice\nFNDA:0,came_unreached\nend_of_record\nSF:/src/b.c\nFN:1,lost\n"
    "FNDA:1,lost\nend_of_record\n";

static void test_change(void **state)
{
	_autoclose_ int before = tools_out("before", NULL, trace_before, NULL);
	_autoclose_ int out = tools_out("out", good, trace_now, "");
	_autojson_ json_t *j = NULL;
	const json_t *c;

	(void)state;
	scratch_write(before, "report.json", "{\"time\": 1600000000, \"commit\": \"abc\"}");
	j = tools_report(out, before, &tools_facts);
	c = json_object_get(j, "change");
	assert_int_equal(json_get_u64(c, "since"), 1600000000);
	assert_string_equal(json_get_text(c, "commit"), "abc");
	assert_int_equal(json_get_u64(c, "newly_reached"), 2);
	assert_int_equal(json_array_size(json_object_get(c, "newly")), 2);
	assert_string_equal(text_at(json_object_get(c, "newly"), 0, "function"), "came");
	assert_string_equal(text_at(json_object_get(c, "newly"), 1, "function"), "newly");
	assert_string_equal(text_at(json_object_get(c, "newly"), 1, "path"), "/src/a.c");
	/* "left" left the program, and "twice" is reached in one of its instances. */
	assert_int_equal(json_get_u64(c, "no_longer_reached"), 1);
	assert_int_equal(json_array_size(json_object_get(c, "lost")), 1);
	assert_string_equal(text_at(json_object_get(c, "lost"), 0, "function"), "lost");
	assert_string_equal(text_at(json_object_get(c, "lost"), 0, "path"), "/src/a.c");
}

static void test_no_change(void **state)
{
	_autoclose_ int before = tools_out("before", NULL, trace_before, NULL);
	_autoclose_ int out = tools_out("out", good, trace_before, "");
	_autojson_ json_t *j = NULL;
	const json_t *c;

	(void)state;
	scratch_write(before, "report.json", "{\"time\": 5}");
	j = tools_report(out, before, &tools_facts);
	c = json_object_get(j, "change");
	assert_true(json_is_object(c));
	assert_true(json_is_null(json_object_get(c, "commit")));
	assert_int_equal(json_get_u64(c, "newly_reached"), 0);
	assert_int_equal(json_get_u64(c, "no_longer_reached"), 0);
}

/* A report before that cannot be read does not prevent the new one. */
static void test_damaged_before(void **state)
{
	_autoclose_ int out = tools_out("out", good, trace_now, "");
	_autoclose_ int empty = tools_out("empty", NULL, NULL, NULL);
	_autoclose_ int no_trace = tools_out("no_trace", NULL, NULL, NULL);
	_autoclose_ int bad_trace = tools_out("bad_trace", NULL, "SF:/a\nDA:1", NULL);
	_autoclose_ int bad_report = tools_out("bad_report", NULL, trace_before, NULL);
	int dirs[] = {empty, no_trace, bad_trace, bad_report};

	(void)state;
	scratch_write(no_trace, "report.json", "{\"time\": 5}");
	scratch_write(bad_trace, "report.json", "{\"time\": 5}");
	scratch_write(bad_report, "report.json", "{\"time\": 5");
	for (size_t i = 0; i < 4; i++) {
		_autojson_ json_t *j = tools_report(out, dirs[i], &tools_facts);

		assert_true(json_is_null(json_object_get(j, "change")));
	}
}

static void test_many_changes(void **state)
{
	enum { MANY = REPORT_CHANGES_MAX + 7 };
	struct buf was = BUF_INIT(1 << 20), is = BUF_INIT(1 << 20);
	_autoclose_ int before = -1, out = -1;
	_autojson_ json_t *j = NULL;
	const json_t *c;

	(void)state;
	buf_puts(&was, "SF:/a\n");
	buf_puts(&is, "SF:/a\n");
	for (unsigned i = 0; i < MANY; i++) {
		buf_printf(&was, "FN:%u,f%u\nFNDA:1,f%u\n", i + 1, i, i);
		buf_printf(&is, "FN:%u,f%u\nFNDA:0,f%u\n", i + 1, i, i);
	}
	buf_puts(&was, "end_of_record\n");
	buf_puts(&is, "end_of_record\n");
	before = tools_out("before", NULL, buf_str(&was), NULL);
	out = tools_out("out", good, buf_str(&is), "");
	buf_done(&was);
	buf_done(&is);
	scratch_write(before, "report.json", "{\"time\": 5}");
	j = tools_report(out, before, &tools_facts);
	c = json_object_get(j, "change");
	assert_int_equal(json_get_u64(c, "no_longer_reached"), MANY);
	assert_int_equal(json_array_size(json_object_get(c, "lost")), REPORT_CHANGES_MAX);
}

/* --- the line of the history ----------------------------------------------------- */

static void test_history_line(void **state)
{
	_autoclose_ int before = tools_out("before", NULL, trace_before, NULL);
	_autoclose_ int out = tools_out("out", good, trace_now, "");
	_autojson_ json_t *j = NULL, *line = NULL, *first = NULL, *line_of_first = NULL;

	(void)state;
	scratch_write(before, "report.json", "{\"time\": 5}");
	j = tools_report(out, before, &tools_facts);
	line = report_history_line(j);
	assert_int_equal(json_get_u64(line, "time"), 1700000000);
	assert_string_equal(json_get_text(line, "commit"), "0123456789");
	measure_is(json_object_get(line, "totals"), "lines", 2, 5);
	assert_int_equal(json_get_u64(json_object_get(line, "inputs"), "ran"), 812);
	assert_int_equal(json_get_u64(line, "newly_reached"), 2);
	assert_int_equal(json_array_size(json_object_get(line, "newly")), 2);
	assert_int_equal(json_get_u64(line, "no_longer_reached"), 1);
	assert_int_equal(json_array_size(json_object_get(line, "lost")), 1);
	assert_null(json_object_get(line, "files"));

	first = tools_report(out, -1, &tools_facts);
	line_of_first = report_history_line(first);
	assert_true(json_is_object(line_of_first));
	assert_true(json_is_null(json_object_get(line_of_first, "newly")));
}

static const struct CMUnitTest tests[] = {
    CASE(test_report),
    CASE(test_unknown_facts),
    CASE(test_no_sources),
    CASE(test_refused_summaries),
    CASE(test_refused_files),
    CASE(test_missing_files),
    CASE(test_links),
    CASE(test_no_lines),
    CASE(test_no_line_reached),
    CASE(test_many_files),
    CASE(test_names_that_are_not_utf8),
    CASE(test_target_that_is_not_utf8),
    CASE(test_long_source),
    CASE(test_huge_count),
    CASE(test_change),
    CASE(test_no_change),
    CASE(test_damaged_before),
    CASE(test_many_changes),
    CASE(test_history_line),
};

UNIT_MAIN(tests)
