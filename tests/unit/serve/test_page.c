/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of models with hostile texts only, with values of other types, or with missing values. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include <errno.h>

#define FINDING                                                                                   \
	"{\"target\":\"t\",\"href\":\"targets/t.html\",\"code\":\"slow\",\"severity\":\"error\"," \
	"\"reason\":\"r\",\"advice\":\"a\"}"
#define TARGET                                                                                 \
	"{\"name\":\"t\",\"href\":\"targets/t.html\",\"live\":true,\"state\":\"fuzzing\","     \
	"\"reason\":\"running\",\"commit\":\"5f0c\",\"last_fuzzed\":\"2026-11-22T19:30:00Z\"," \
	"\"health\":" FINDING ",\"cov\":812,\"edges\":4000,\"ft\":2301,\"corpus_units\":150,"  \
	"\"execs\":91000,\"execs_per_cpu_second\":12,\"cpu_seconds\":1700.5,\"new_inputs\":5," \
	"\"memory_bytes\":83886080,\"memory_limit_bytes\":268435456,\"failures_total\":3,"     \
	"\"crashes_open\":1,\"trend\":[1,2,null,3],\"note\":\"n\",\"fuzzed\":false}"
#define CRASH                                                                                      \
	"{\"signature\":\"0\",\"href\":\"crashes/0.html\",\"state\":\"new\",\"open\":true,"        \
	"\"crash_type\":\"SEGV\",\"top_frame\":\"f\",\"target\":\"t\",\"target_href\":"            \
	"\"targets/"                                                                               \
	"t.html\",\"targets\":2,\"variants\":3,\"security\":true,\"severity\":\"high\",\"count\":" \
	"7,"                                                                                       \
	"\"hits\":9,\"tries\":10,\"first_seen\":\"2026-11-22T19:30:00Z\",\"last_seen\":"           \
	"\"2026-11-22T19:30:00Z\",\"issue_url\":\"https://example.org/7\",\"what\":\"w\"}"
#define RUN                                                                                   \
	"{\"run\":\"20261122-190000\",\"href\":\"runs/20261122-190000.html\",\"status\":"     \
	"\"running\",\"live\":true,\"commit\":\"5f0c\",\"started\":\"2026-11-22T19:00:00Z\"," \
	"\"ended\":\"2026-11-22T19:30:00Z\",\"elapsed_seconds\":1800.0,\"workers\":2,"        \
	"\"targets\":4,\"not_fuzzed\":0,\"failures\":3,\"new_crashes\":1,\"reason\":\"r\","   \
	"\"total_seconds\":60,\"running\":1,\"paused\":false}"
#define COUNTS "{\"ok\":3,\"note\":0,\"warning\":1,\"error\":0,\"new\":1,\"known\":2}"
#define SERIES                                                                                  \
	"{\"api\":\"api/v1/targets/t/series.json\",\"columns\":[\"t\",\"time\",\"cov\",\"ft\"," \
	"\"rss_bytes\",\"execs\",\"cpu_seconds\",\"pressure_cpu\"],\"points\":2,\"sample\":"    \
	"[[0,1795330800,10,20,1000,0,0,0.5],[1,1795330801,20,40,2000,100,0.9,null]]}"

static const struct {
	const char *name;
	page_fn *page;
	const char *model;
} pages[] = {
    {"overview", page_overview,
     "{\"v\":1,\"updated\":\"2026-11-22T19:30:00Z\",\"live\":" RUN
     ",\"health\":{\"severity\":\"error\",\"counts\":" COUNTS ",\"findings\":[" FINDING
     "],\"total\":9},\"targets\":[" TARGET "],\"targets_total\":4,\"runs\":[" RUN
     "],\"runs_total\":20,\"crashes\":[" CRASH "],\"crashes_total\":3,\"crash_counts\":" COUNTS
     ",\"outbox\":{\"pending\":1,\"oldest\":\"2026-11-22T19:30:00Z\"}}"},
    {"crashes", page_crashes, "{\"crashes\":[" CRASH "],\"total\":2,\"counts\":" COUNTS "}"},
    {"runs", page_runs, "{\"runs\":[" RUN "],\"total\":2,\"damaged\":1}"},
    {"health", page_health,
     "{\"counts\":" COUNTS ",\"service\":[" FINDING "],\"targets\":[{\"name\":\"t\",\"href\":"
     "\"targets/t.html\",\"severity\":\"error\",\"findings\":[" FINDING
     "]},{\"name\":\"u\",\"severity\":\"ok\",\"findings\":[]}],\"total\":3}"},
    {"target", page_target,
     "{\"name\":\"t\",\"row\":" TARGET ",\"stats\":{\"name\":\"t\",\"note\":\"n\",\"x\":{\"y\":"
     "[1,\"z\"]},\"o\":null},\"health\":{\"severity\":\"error\",\"findings\":[" FINDING
     "]},\"runs\":[" RUN "],\"crashes\":[" CRASH "],\"crashes_total\":2,\"series\":" SERIES
     ",\"growth\":" SERIES ",\"memory_limit_bytes\":268435456}"},
    {"crash", page_crash,
     "{\"place\":{\"file\":\"a.c\",\"line\":7,\"column\":1,\"commit\":\"5f\",\"url\":"
     "\"https://example.org/a.c\"},\"commits\":\"https://example.org/\",\"shows\":{\"version\":"
     "\"1\",\"commit\":\"5f\"},\"export\":\"e\",\"seed\":\"s\",\"withheld\":true,\"downloads\":{"
     "\"input\":"
     "\"downloads/0/input.bin\",\"report\":\"downloads/0/report.txt\"},"
     "\"signature\":\"0\",\"row\":" CRASH ",\"crash\":{\"signal\":\"s\",\"frames\":[\"f\"],"
     "\"note\":\"n\",\"similar\":\"s\",\"alike\":[" CRASH
     "],\"merged_into\":\"m\",\"variants\":[{\"signature\":\"v\","
     "\"href\":\"crashes/v.html\"}],\"input_bytes\":120,"
     "\"crash_file\":\"c\",\"minimized\":\"m\",\"minimized_bytes\":8,\"first_commit\":\"5f\","
     "\"fixed_commit\":\"5f\",\"fixed_at\":\"2026-11-22T19:30:00Z\","
     "\"culprit\":{\"kind\":\"commit\",\"commit\":\"5f\",\"author\":\"a\",\"subject\":\"s\","
     "\"text\":\"5f fails\"},\"fix\":{\"kind\":\"none\",\"text\":\"5f does not fail\"},"
     "\"runs\":[" RUN "]},\"targets\":[" TARGET "],\"reproduce\":\"fuzzcell\",\"report\":\"==1==\","
     "\"report_cut\":true}"},
    {"run", page_run,
     "{\"row\":" RUN ",\"version\":\"1\",\"cgroup_layout\":\"unified\",\"own_cpu_seconds\":1,"
     "\"targets\":[" TARGET "],\"total\":2,\"crashes\":[" CRASH "]}"},
};
enum { PAGES = sizeof(pages) / sizeof(pages[0]) };

static json_t *model_of(size_t i)
{
	struct err e;
	json_t *j = NULL;

	if (json_parse(slice_of(pages[i].model), &j, &e) < 0)
		fail_msg("%s: %s", pages[i].name, e.msg);
	return j;
}

static void render(size_t i, const json_t *model, struct buf *out)
{
	struct err e;

	buf_clear(out);
	if (pages[i].page(model, out, &e) < 0)
		fail_msg("%s: %s", pages[i].name, e.msg);
}

/* Replaces every text of the model by this text. */
static void poison(json_t *j, const char *text)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(j, key, value)
	{
		if (json_is_string(value))
			json_object_set_new(j, key, json_string(text));
		else
			poison(value, text);
	}
	json_array_foreach(j, i, value)
	{
		if (json_is_string(value))
			json_array_set_new(j, i, json_string(text));
		else
			poison(value, text);
	}
}

static void test_hostile(void **state)
{
	static const char *const texts[] = {"<script>alert(1)</script>",
					    "\"><img src=x onerror=alert(1)>",
					    "' onmouseover='alert(1)",
					    "</title></pre></svg><script>alert(1)</script>",
					    "javascript:alert(1)",
					    "//evil.example/",
					    "https://evil.example/\"><script>",
					    "\xe2\x80\xae\x1b[2J",
					    "<!--",
					    "]]>",
					    "{{7*7}}${7*7}",
					    "data:text/html,<script>alert(1)</script>"};

	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			_autojson_ json_t *model = model_of(i);
			_autobuf_ struct buf b = BUF_INIT(300 << 10);

			poison(model, texts[k]);
			render(i, model, &b);
			/* Markup that a browser would interpret. */
			assert_null(strstr(buf_str(&b), "<script>"));
			assert_null(strstr(buf_str(&b), "<img"));
			assert_null(strstr(buf_str(&b), "<!--"));
			assert_null(strstr(buf_str(&b), "' on"));
			assert_null(strstr(buf_str(&b), "\" on"));
			assert_null(strstr(buf_str(&b), "href=\"javascript:"));
			assert_null(strstr(buf_str(&b), "href=\"data:"));
			assert_null(strstr(buf_str(&b), "href=\"//"));
			assert_null(strstr(buf_str(&b), "\x1b"));
			assert_null(strstr(buf_str(&b), "\xe2\x80\xae"));
		}
}

static json_t *of_type(unsigned type)
{
	switch (type) {
	case 0:
		return json_null();
	case 1:
		return json_string("2026-11-22T19:30:00Z");
	case 2:
		return json_real(-1e300);
	case 3:
		return json_integer(INT64_MAX);
	case 4:
		return json_pack("[[], {}, s, i]", "x", 1);
	case 5:
		return json_pack("{s:[[i]]}", "findings", 1);
	default:
		return json_true();
	}
}

enum { TYPES = 7 };

/* Replaces values by each other type, one type after the other, at this depth and below. */
static void spoil(size_t page, json_t *root, json_t *j, struct buf *b)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;

	json_object_foreach_safe(j, next, key, value)
	{
		_autojson_ json_t *old = json_incref(value);

		spoil(page, root, value, b);
		for (unsigned t = 0; t < TYPES; t++) {
			json_object_set_new(j, key, of_type(t));
			render(page, root, b);
		}
		json_object_set(j, key, old);
	}
	json_array_foreach(j, i, value)
	{
		spoil(page, root, value, b);
	}
}

static void test_other_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		_autojson_ json_t *model = model_of(i), *none = json_object(), *list = json_array();
		_autobuf_ struct buf b = BUF_INIT(300 << 10);

		spoil(i, model, model, &b);
		render(i, none, &b);
		render(i, list, &b);
		render(i, NULL, &b);
	}
}

/* The parts of every page that assistive technology needs. */
static void test_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		_autojson_ json_t *model = model_of(i);
		_autobuf_ struct buf b = BUF_INIT(300 << 10);
		const char *h1;

		render(i, model, &b);
		assert_memory_equal(b.p, "<!DOCTYPE html>\n<html lang=\"en\">", 32);
		assert_non_null(strstr(b.p, "<main id=\"main\""));
		assert_non_null(strstr(b.p, "<nav aria-label=\"Pages\">"));
		assert_non_null(strstr(b.p, "href=\"#main\">Skip to the content</a>"));
		assert_non_null(strstr(b.p, "name=\"viewport\""));
		h1 = strstr(b.p, "<h1");
		assert_non_null(h1);
		assert_null(strstr(h1 + 1, "<h1"));
		assert_null(strstr(b.p, "style="));
		assert_null(strstr(b.p, "src=\"/"));
		assert_null(strstr(b.p, "href=\"/"));
	}
}

static void test_units(void **state)
{
	static const struct {
		enum unit unit;
		double v;
		const char *want;
	} t[] = {{UNIT_EXACT, 1234567, "1234567"},
		 {UNIT_EXACT, -1, "0"},
		 {UNIT_EXACT, 1e300, "9000000000000000000"},
		 {UNIT_COUNT, 12345, "12.3k"},
		 {UNIT_BYTES, 268435456, "256MiB"},
		 {UNIT_SECONDS, 200, "3m20s"},
		 {UNIT_SHARE, 0.1234, "12.3%"},
		 {UNIT_NUMBER, 0.926, "0.93"}};
	char text[UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(unit_text(t[i].unit, t[i].v, text), t[i].want);
	assert_int_equal(strlen(unit_text(UNIT_SECONDS, 1e300, text)) < UNIT_TEXT, 1);
}

/* A curve is drawn, and described in words, from the model's sample. */
static void test_plot(void **state)
{
	_autojson_ json_t *model = model_of(4);
	_autobuf_ struct buf b = BUF_INIT(300 << 10);

	(void)state;
	render(4, model, &b);
	assert_non_null(strstr(b.p, "data-series=\"../api/v1/targets/t/series.json\""));
	assert_non_null(strstr(b.p, "points=\"0.00,52.00 100.00,4.00 \""));
	assert_non_null(strstr(b.p, "edges 10\xe2\x80\x93"
				    "20, features 20\xe2\x80\x93"
				    "40"));
	assert_non_null(strstr(b.p, "data-limit=\"268435456\""));
	assert_non_null(strstr(b.p, "<th class=\"n\" scope=\"col\" data-column=\"rss_bytes\">"));
}

/* The footer of each page links to the page's data. */
static void test_own_data(void **state)
{
	static const char *const api[PAGES] = {
	    "\"api/v1/overview.json", "\"api/v1/crashes.json",	    "\"api/v1/runs.json",
	    "\"api/v1/health.json",   "\"../api/v1/targets/t.json", "\"../api/v1/crashes/0.json",
	    "\"../api/v1/runs/r.json"};

	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		_autojson_ json_t *model = model_of(i);
		_autobuf_ struct buf b = BUF_INIT(300 << 10);
		const char *foot, *path = api[i] + (i < 4 ? 1 : 4);

		if (i >= 4)
			json_object_set_new(json_object_get(model, "row"), "api",
					    json_string(path));
		render(i, model, &b);
		foot = strstr(b.p, "<footer");
		assert_non_null(foot);
		assert_non_null(strstr(foot, api[i]));
	}
}

static const char *words_of(const char *text, size_t page, struct buf *b)
{
	_autojson_ json_t *model = NULL;
	struct err e;

	assert_int_equal(json_parse(slice_of(text), &model, &e), 0);
	render(page, model, b);
	return b->p;
}

static void test_words(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(300 << 10);

	(void)state;
	assert_non_null(strstr(words_of("{}", 0, &b), "fuzzcell run starts one.</p>"));
	assert_non_null(strstr(words_of("{\"row\":{\"count\":1,\"hits\":1,\"tries\":1}}", 5, &b),
			       "1 time</dd>"));
	assert_non_null(strstr(b.p, "1 of 1 time</dd>"));
	assert_non_null(strstr(words_of("{\"crash\":{\"variants\":[{\"signature\":\"v\","
					"\"href\":\"crashes/v.html\"}]}}",
					5, &b),
			       "<a href=\"../crashes/v.html\">v</a>"));
	assert_non_null(strstr(words_of("{\"crashes\":[" CRASH "]}", 1, &b), " (3 variants)</th>"));
	assert_non_null(strstr(words_of("{\"row\":{\"live\":false}}", 4, &b), ">Its newest run<"));
	assert_non_null(strstr(words_of("{\"row\":{\"live\":true}}", 4, &b), ">This run<"));
	(void)words_of("{\"growth\":{\"columns\":[\"time\",\"cov\",\"corpus_units\",\"x\"],"
		       "\"points\":2,\"sample\":"
		       "[[1795330800,1,2,3],[1795417200,2,3,4]]}}",
		       4, &b);
	assert_non_null(strstr(b.p, "data-column=\"corpus_units\">Inputs<"));
	assert_non_null(strstr(b.p, "data-column=\"x\">x<"));
	assert_non_null(strstr(b.p, "data-value=\"1795330800\"><time"));
}

/* The engine was silent, and reported its last executions after the end of its CPU time.  After
 * that nothing was executed. */
static void test_growth(void **state)
{
	static const char text[] = "{\"name\":\"t\",\"series\":{\"columns\":[\"t\",\"execs\",\"cpu_"
				   "seconds\"],\"points\":5,"
				   "\"sample\":[[0,0,0],[1,600000,1],[2,600000,2],[2.1,1200000,2."
				   "001],[3,1200000,2.001]]}}";
	_autobuf_ struct buf b = BUF_INIT(300 << 10);
	_autojson_ json_t *model = NULL;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(slice_of(text), &model, &e), 0);
	render(4, model, &b);
	assert_non_null(strstr(b.p, "executions in a CPU-second 599.4k\xe2\x80\x93"
				    "600.0k<"));
	assert_non_null(strstr(b.p, "CPUs used 0.00\xe2\x80\x93"
				    "1.00<"));
	assert_non_null(strstr(b.p, "points=\"33.33,4.00 66.67,4.00 70.00,99.04 100.00,100.00 \""));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hostile),  cmocka_unit_test(test_other_types),
    cmocka_unit_test(test_frame),    cmocka_unit_test(test_units),
    cmocka_unit_test(test_plot),     cmocka_unit_test(test_growth),
    cmocka_unit_test(test_own_data), cmocka_unit_test(test_words),
};

UNIT_MAIN(tests)
