/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/command/report/report.h"
#include "tests/unit/state/stats.h"

#define HOSTILE                                                                               \
	"`<script>alert(1)</script>` | [x](javascript:1)\\n# Heading\\n@somebody \\u001b[2J " \
	"\\u202e "                                                                            \
	"<!-- "

static void put(const char *path, const char *text)
{
	_autofree_ char *parent = strdup(path);
	struct err e;

	*strrchr(parent, '/') = '\0';
	assert_int_equal(fs_mkdirs(dir.fd, parent, 0755, &e), 0);
	scratch_write(dir.fd, path, text);
}

static json_t *model_of(const char *run)
{
	struct ledger *l;
	json_t *j = NULL;
	struct err e;

	assert_int_equal(ledger_load(dir.fd, &l, &e), 0);
	if (report_model(&state_of, l, run, &j, &e) < 0)
		fail_msg("%s", e.msg);
	ledger_free(l);
	return j;
}

static char *markdown_of(const char *run)
{
	_autojson_ json_t *j = model_of(run);
	struct buf b = BUF_INIT(1 << 20);
	struct err e;

	assert_int_equal(report_markdown(j, &b, &e), 0);
	return b.p;
}

static const json_t *target(const json_t *model, size_t i)
{
	return json_array_get(json_object_get(model, "targets"), i);
}

static long long num(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static void test_summary(void **state)
{
	_autofree_ char *text = NULL;
	json_t *j;

	(void)state;
	put("logs/20250102-000000/summary.json",
	    "{\"v\": 1, \"run\": \"20250102-000000\", \"status\": \"done\", \"commit\": \"abc\", "
	    "\"started\": \"2025-01-02T00:00:00Z\", \"ended\": \"2025-01-02T01:00:00Z\", "
	    "\"workers\": 1, \"failures\": 3, \"new_crashes\": 1, \"not_fuzzed\": 0, \"targets\": ["
	    "{\"name\": \"png\", \"reason\": \"plateau\", \"fuzzed\": true, \"cov\": 206, "
	    "\"edges\": "
	    "210, \"execs\": 1000000, \"seeds\": 5, \"crashes\": [{\"signature\": \"aa11\", "
	    "\"what\": "
	    "\"Heap-buffer-overflow in f\", \"state\": \"new\", \"count\": 3}]},"
	    "{\"name\": \"xml\", \"reason\": \"time-limit\", \"fuzzed\": true, \"cov\": 7, "
	    "\"seeds\": 0, "
	    "\"crashes\": [{\"signature\": \"aa11\", \"state\": \"new\", \"count\": 2}]}]}");
	put("stats/targets/png.jsonl", "{\"run\": \"20250101-000000\", \"cov\": 194}\n"
				       "{\"run\": \"20250101-120000\", \"cov\": 200}\n"
				       "{\"run\": \"20250101-130000\", \"cov\": 0}\n"
				       "{\"run\": \"20250102-000000\", \"cov\": 206}\n"
				       "{\"run\": \"20250103-000000\", \"cov\": 300}\n");
	j = model_of("20250102-000000");
	assert_null(json_object_get(json_object_get(j, "run"), "targets"));
	assert_int_equal(num(target(j, 0), "cov_before"), 200);
	assert_true(json_is_null(json_object_get(target(j, 1), "cov_before")));
	assert_int_equal(json_array_size(json_object_get(j, "crashes")), 1);
	assert_int_equal(num(json_array_get(json_object_get(j, "crashes"), 0), "count"), 5);
	json_decref(j);
	text = markdown_of("20250102-000000");
	assert_non_null(strstr(text, "# Run `20250102-000000`: `done`\n"));
	assert_non_null(strstr(text, "| 206 of 210 (+6) |"));
	assert_non_null(strstr(text, "| 7 |"));
	assert_non_null(strstr(text, ", with 1 worker; "));
	assert_non_null(strstr(text, "`new` `Heap-buffer-overflow in f`, 5 times in `png`, `xml`"));
	assert_non_null(strstr(text, "`fuzzcell crash show aa11`"));
	assert_non_null(strstr(text, " (<target>_seed_corpus.zip, or fuzzcell corpus import)`\n"));
}

/* A run that found nothing new may have proved that a crash is fixed. */
static void test_fixed(void **state)
{
	_autofree_ char *text = NULL;

	(void)state;
	scratch_write(
	    dir.fd, "known_crashes.json",
	    "{\"a\": {\"state\": \"fixed\", \"fuzzer\": \"png\", \"crash_type\": \"SEGV\", "
	    "\"fixed\": {\"run\": \"20250105-000000\", \"time\": 7}},"
	    "\"b\": {\"state\": \"fixed\", \"fuzzer\": \"png\", \"crash_type\": \"FPE\", "
	    "\"fixed\": {\"run\": \"20250104-000000\", \"time\": 6}}}");
	put("logs/20250105-000000/summary.json",
	    "{\"v\": 1, \"run\": \"20250105-000000\", \"ended\": \"2025-01-05T01:00:00Z\", "
	    "\"new_crashes\": 0, \"fixed_crashes\": 1, \"targets\": []}");
	text = markdown_of("20250105-000000");
	assert_non_null(strstr(text, "0 new crashes, 0 that came back, 1 fixed. "));
	assert_non_null(strstr(text, "`fixed` `SEGV`, in `png`\n"));
	assert_null(strstr(text, "FPE"));
}

/* The run was killed, or it lives. */
static void test_unfinished(void **state)
{
	_autofree_ char *text = NULL;
	json_t *j;

	(void)state;
	put("logs/20250102-000000/png.series",
	    "{\"v\": 1, \"columns\": [\"t\", \"execs\", \"cov\", \"cpu_seconds\"]}\n"
	    "[1, 10, 5, 1]\n[2, 20, 6, 0.5]\n[3, 3");
	put("logs/20250102-000000/broken.series", "no series");
	put("logs/20250102-000000/png.log", "");
	j = model_of("20250102-000000");
	assert_string_equal(json_string_value(json_object_get(json_object_get(j, "run"), "status")),
			    "unfinished");
	assert_int_equal(json_array_size(json_object_get(j, "targets")), 2);
	assert_string_equal(json_string_value(json_object_get(target(j, 0), "name")), "broken");
	assert_int_equal(num(target(j, 1), "cov"), 6);
	assert_int_equal(num(target(j, 1), "execs"), 20);
	assert_int_equal(num(target(j, 1), "execs_per_cpu_second"), 40);
	json_decref(j);
	scratch_write(
	    dir.fd, "known_crashes.json",
	    "{\"aa11\": {\"fuzzer\": \"png\", \"crash_type\": \"Abrt\", \"state\": \"known\", "
	    "\"count\": 3, \"first_seen\": {\"run\": \"20250102-000000\"}, \"runs\": "
	    "[{\"run\": \"20250102-000000\", \"count\": 2}]}}");
	put("stats/run_history.jsonl", "{\"run\": \"20250102-000000\", \"status\": \"lost\"}\n");
	text = markdown_of("20250102-000000");
	assert_non_null(strstr(text, ": `lost`\n"));
	assert_non_null(strstr(text, "- `new` `Abrt`, 2 times in `png`; now known\n"));
	assert_non_null(strstr(text, "\n\n2 targets. It has no summary: it was killed. "));
	assert_non_null(strstr(text, "| `broken` | `unfinished` | - | - | - | - | - | - | - |\n"));
	assert_non_null(
	    strstr(text, "| `png` | `unfinished` | 500ms | 20 | 40 | 6 | - | - | - |\n"));
}

static void test_hostile(void **state)
{
	static const char *const keys[] = {"run", "status", "commit"};
	struct buf b = BUF_INIT(1 << 20);
	_autofree_ char *text = NULL;

	(void)state;
	buf_puts(&b, "{\"ended\": \"" HOSTILE "\", \"started\": 7");
	for (size_t i = 0; i < 3; i++)
		buf_printf(&b, ", \"%s\": \"" HOSTILE "\"", keys[i]);
	buf_puts(&b, ", \"targets\": [7, {}, {\"name\": \"" HOSTILE "\", \"reason\": \"" HOSTILE
		     "\", \"fuzzed\": false, \"cov\": -7, \"note\": \"" HOSTILE
		     "\", \"syscalls_refused\": \"" HOSTILE
		     "\", \"crashes\": [3, {\"signature\": \"" HOSTILE "\", \"what\": \"" HOSTILE
		     "\", \"state\": \"" HOSTILE "\", \"count\": -1}]}]}");
	put("logs/20250102-000000/summary.json", b.p);
	buf_done(&b);
	text = markdown_of("20250102-000000");
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\n# Heading"));
	assert_null(strstr(text, "<!-- "));
	assert_non_null(strstr(text, "From ? to ?, "));
	/* Each line closes its code spans: runs of backticks of each length come in pairs. */
	for (const char *at = text; (at = strstr(at, "<script>")); at++) {
		const char *start = at;

		while (start > text && start[-1] != '\n')
			start--;
		assert_non_null(memchr(start, '`', (size_t)(at - start)));
	}
}

static void test_names(void **state)
{
	static const char *const bad[] = {
	    "", "..", "../stats", "20250102-000000/x", "build-7.log", "20990101-000000"};
	struct ledger *l;
	char last[64];
	struct err e;
	json_t *j;

	(void)state;
	assert_int_equal(report_last_run(&state_of, last, &e), -ENOENT);
	put("logs/20250102-000000/summary.json", "[]");
	put("logs/20250101-000000/x", "");
	put("logs/build-20260101.log", "");
	assert_int_equal(report_last_run(&state_of, last, &e), 0);
	assert_string_equal(last, "20250102-000000");
	assert_int_equal(ledger_load(dir.fd, &l, &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(report_model(&state_of, l, bad[i], &j, &e), -ENOENT);
	assert_int_equal(report_model(&state_of, l, last, &j, &e), -EBADMSG);
	ledger_free(l);
}

static void test_faults(void **state)
{
	struct ledger *l;
	struct err e;
	json_t *j;
	int r = -1;

	(void)state;
	put("logs/20250102-000000/png.series", "{\"v\": 1, \"columns\": [\"t\"]}\n[1]\n");
	put("stats/targets/png.jsonl", "{\"run\": \"20250101-000000\", \"cov\": 194}\n");
	assert_int_equal(ledger_load(dir.fd, &l, &e), 0);
	for (unsigned at = 1; at < 100; at++) {
		fault_arm(at, FAULT_FAIL);
		r = report_model(&state_of, l, "20250102-000000", &j, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			json_decref(j);
		else
			assert_string_not_equal(e.msg, "");
	}
	assert_int_equal(r, 0);
	ledger_free(l);
}

static const struct CMUnitTest tests[] = {
    CASE(test_summary), CASE(test_fixed), CASE(test_unfinished),
    CASE(test_hostile), CASE(test_names), CASE(test_faults),
};

UNIT_MAIN(tests)
