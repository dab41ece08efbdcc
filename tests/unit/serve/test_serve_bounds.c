/* SPDX-License-Identifier: Apache-2.0 */
/* Much of everything, what changes while it is read, and what cannot be read. */
#include "tests/unit/unit.h"

#include "base/json.h"
#include "tests/unit/serve/site.h"

/* A run that was killed has no end; the one before it has. */
static void test_killed_run(void **state)
{
	(void)state;
	scratch_write(dir.fd, "stats/run_history.jsonl",
		      "{\"v\": 2, \"run\": \"" SITE_RUN
		      "\", \"status\": \"done\", \"ended\": \"2026-11-22T19:30:00Z\"}\n"
		      "{\"v\": 1, \"run\": \"20261122-200000\", \"status\": \"lost\"}\n");
	has("/metrics", "fuzzcell_last_run_end_time_seconds 1795375800\n");
	has("/api/v1/overview.json", "\"updated\": \"2026-11-22T19:30:00Z\"");
	has("/", "20261122-200000, did not come to its end");
	has_not("/metrics", "fuzzcell_workers");
}

static void small(const char *path)
{
	char *got = site_get(path);

	assert_non_null(got);
	if (strlen(got) > 300 << 10)
		fail_msg("%s has %zu bytes", path, strlen(got));
	free(got);
}

/* A report of nothing but what becomes longer in a page. */
static void test_long_report(void **state)
{
	static const char odd[] = {'"', '\x1b', '&', '\xff'};
	char *text = malloc(100001);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(odd); i++) {
		memset(text, odd[i], 100000);
		text[100000] = '\0';
		scratch_write(dir.fd, "crashes/" SITE_CRASH "/report.txt", text);
		small("/crashes/" SITE_CRASH ".html");
		has("/crashes/" SITE_CRASH ".html", "It is longer");
	}
	free(text);
}

/* All are counted, of which some are shown. */
static void test_many_runs(void **state)
{
	char text[65536] = "";
	size_t n = 0;
	json_t *o;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "{\"run\": \"20261122-%06u\", \"status\": \"done\"}\n", i);
	scratch_write(dir.fd, "stats/run_history.jsonl", text);
	o = get_json("/api/v1/overview.json");
	assert_int_equal(json_integer_value(json_object_get(o, "runs_total")), 300);
	json_decref(o);
	o = get_json("/api/v1/runs.json");
	assert_int_equal(json_integer_value(json_object_get(o, "total")), 300);
	assert_int_equal(json_array_size(json_object_get(o, "runs")), 200);
	json_decref(o);
}

/* A run of many targets and crashes, each with a long story. */
static void test_large_run(void **state)
{
	char *text = malloc(4 << 20);
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	n += (size_t)snprintf(text, 4 << 20, "{\"run\": \"" SITE_RUN "\", \"targets\": [");
	for (unsigned i = 0; i < 500; i++)
		n += (size_t)snprintf(text + n, (4 << 20) - n,
				      "%s{\"name\": \"t%u\", \"note\": \"%0400d\", \"crashes\": "
				      "[{\"signature\": \"%016x\", \"what\": \"%0200d\"}]}",
				      i ? "," : "", i, 0, i, 0);
	(void)snprintf(text + n, (4 << 20) - n, "]}");
	scratch_write(dir.fd, "logs/" SITE_RUN "/summary.json", text);
	free(text);
	small("/runs/" SITE_RUN ".html");
	has("/runs/" SITE_RUN ".html", " of 500. ");
	has("/runs/" SITE_RUN ".html", "targets/t1.html");
}

/* Each target is on a page, also of more than the overview has, and pages stay small. */
static void test_many_targets(void **state)
{
	char path[300], *got;
	struct err e;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		/* Each letter is six in HTML, three in an address. */
		int len = snprintf(path, sizeof(path), "stats/targets/t%03u", i);

		memset(path + len, '"', 200);
		snprintf(path + len + 200, sizeof(path) - (size_t)len - 200, ".jsonl");
		site_add(path, SITE_STATS("t", "3"), site_line_end);
	}
	for (unsigned page = 1; page <= 4; page++) {
		snprintf(path, sizeof(path), page > 1 ? "/targets-%u.html" : "/targets.html", page);
		small(path);
		got = site_get(path);
		for (const char *p = got; (p = strstr(p, "href=\"targets/t")); p++)
			n++;
		free(got);
	}
	assert_int_equal(n, 300);
	has("/", "href=\"targets.html\"");
	small("/");
	small("/health.html");
	none("/targets-5.html");
	none("/targets-1.html");
	none("/targets-02.html");
	none("/targets-x.html");
	n = 0;
	if (serve_each_path(site, each_path, &n, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(n > 1200);
}

/* One that cannot be read hides none of the others; what hides all is said. */
static void test_unreadable(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "stats/targets/link.jsonl"), 0);
	site_mkdir("stats/targets/dir.jsonl");
	has("/", "z_fuzzer");
	has("/", "targets/link.html");
	has("/health.html", "stats/targets/dir.jsonl");
	has("/metrics",
	    "fuzzcell_target_health{target=\"link\",severity=\"warning\",code=\"damaged\"}");
	has("/metrics", "fuzzcell_up 1\n");
	assert_int_equal(unlinkat(dir.fd, "stats/run_history.jsonl", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "stats/run_history.jsonl"), 0);
	has("/metrics", "fuzzcell_up 0\n");
	has_not("/metrics", "fuzzcell_up 1\n");
}

/* A run writes the ledger while it is exported; and one stands twice in the history. */
static int write_ledger(void *arg, const char *path, struct err *e)
{
	char text[2048];

	(void)path;
	(void)e;
	snprintf(text, sizeof(text),
		 "{\"" SITE_CRASH
		 "\": {\"fuzzer\": \"z_fuzzer\", \"state\": \"new\", \"count\": %u}}",
		 1000 + ++*(unsigned *)arg);
	scratch_write(dir.fd, "known_crashes.json", text);
	free(site_get("/crashes.html"));
	return 0;
}

static void test_changes_meanwhile(void **state)
{
	struct scratch out = SCRATCH_INIT;
	unsigned n = 0;
	uint64_t files;
	char path[64];
	struct err e;

	(void)state;
	assert_int_equal(serve_each_path(site, write_ledger, &n, &e), 0);
	assert_true(n > 20);
	scratch_write(dir.fd, "stats/run_history.jsonl",
		      "{\"run\": \"" SITE_RUN "\"}\n{\"run\": \"" SITE_RUN "\"}\n");
	scratch_make(&out);
	snprintf(path, sizeof(path), "%s/site", out.path);
	if (serve_export(site, path, &files, &e) < 0)
		fail_msg("%s", e.msg);
	scratch_remove(&out);
}

static const struct CMUnitTest tests[] = {
    CASE(test_killed_run),	  CASE(test_long_report),  CASE(test_many_runs),
    CASE(test_large_run),	  CASE(test_many_targets), CASE(test_unreadable),
    CASE(test_changes_meanwhile),
};

UNIT_MAIN(tests)
