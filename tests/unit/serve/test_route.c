/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/json.h"
#include "tests/unit/serve/site.h"

static void test_every_path(void **state)
{
	static const char *const pages[] = {"/",
					    "/index.html",
					    "/crashes.html",
					    "/runs.html",
					    "/rounds.html",
					    "/health.html",
					    "/targets/z_fuzzer.html",
					    "/targets/a.b%40c.html",
					    "/targets/a.b@c.html",
					    "/crashes/" SITE_CRASH ".html",
					    "/runs/" SITE_RUN ".html"};
	static const char *const data[] = {
	    "/api/v1/overview.json",	     "/api/v1/targets.json",
	    "/api/v1/crashes.json",	     "/api/v1/runs.json",
	    "/api/v1/health.json",	     "/api/v1/targets/z_fuzzer.json",
	    "/api/v1/series/z_fuzzer.json",  "/api/v1/growth/z_fuzzer.json",
	    "/api/v1/growth/a.b%40c.json",   "/api/v1/crashes/" SITE_CRASH ".json",
	    "/api/v1/runs/" SITE_RUN ".json"};

	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		has(pages[i], "</html>");
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
		json_t *j = get_json(data[i]);

		assert_int_equal(json_integer_value(json_object_get(j, "v")), 1);
		json_decref(j);
	}
	has("/healthz", "ok\n");
	has("/metrics", "fuzzcell_up 1\n");
	none("/api/v1/series/a.b%40c.json"); /* its run kept no series */
}

static void test_hostile_paths(void **state)
{
	static const char *const paths[] = {
	    "",
	    "x",
	    "//",
	    "/..",
	    "/../secret",
	    "/secret",
	    "/index.html/",
	    "/index.html?x",
	    "/INDEX.HTML",
	    "/targets/.html",
	    "/targets/..html",
	    "/targets/%2e%2e.html",
	    "/targets/../z_fuzzer.html",
	    "/targets/%2e%2e%2fsecret.html",
	    "/targets/..%2f..%2fsecret.html",
	    "/targets/z_fuzzer%00.html",
	    "/targets/z_fuzzer%0a.html",
	    "/targets/z_fuzzer%.html",
	    "/targets/z_fuzzer%4.html",
	    "/targets/z_fuzzer%zz.html",
	    "/targets/%%.html",
	    "/targets/absent.html",
	    "/targets/%ff%fe.html",
	    "/targets/z_fuzzer.html/x.html",
	    "/runs/runner.log.html",
	    "/runs/..%2f..%2fsecret.html",
	    "/runs/" SITE_RUN "%2frunner.log.html",
	    "/runs/20261121-190000.html", /* its logs are gone */
	    "/runs/.html",
	    "/crashes/.html",
	    "/crashes/ffffffffffffffff.html",
	    "/crashes/..%2f..%2fsecret.html",
	    "/api/v1/series/..%2fsecret.json",
	    "/api/v1/targets/z_fuzzer.html",
	    "/api/v2/overview.json",
	    "/api/v1/overview",
	    "/assets/",
	    "/assets/../secret",
	    "/assets/nothing",
	    "/metrics/",
	    "/healthz%00",
	};
	char longest[SERVE_PATH_MAX + 100];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		none(paths[i]);
	/* A name of the maximum length, a longer name, and an endless path. */
	for (size_t n = 200; n < sizeof(longest) - 20; n += 55) {
		memset(longest, 'a', sizeof(longest));
		memcpy(longest, "/targets/", 9);
		snprintf(longest + n, sizeof(longest) - n, ".html");
		none(longest);
	}
}

/* Any byte at any place: an answer or none, but never a file outside of the site. */
static void test_every_byte(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		char path[64];
		char *got;

		snprintf(path, sizeof(path), "/targets/z_fuzzer%%%02x.html", c);
		none(path);
		snprintf(path, sizeof(path), "/runs/%%%02x%%%02xsecret.html", c, c);
		got = site_get(path);
		assert_null(got);
	}
}

static void test_text_is_text(void **state)
{
	static const char *const paths[] = {"/", "/crashes.html", "/crashes/" SITE_CRASH ".html",
					    "/targets/z_fuzzer.html"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		has(paths[i], "&lt;script&gt;alert(1)&lt;/script&gt;");
		has_not(paths[i], "<script>alert");
		has_not(paths[i], "javascript:");
		has_not(paths[i], "SECRET");
	}
	has("/crashes/" SITE_CRASH ".html", "&lt;b&gt;bold&lt;/b&gt;");
	has_not("/crashes/" SITE_CRASH ".html", "\x1b");
	has_not("/crashes/" SITE_CRASH ".html", "\xff");
}

/* In an older ledger a signature is any text: its page is found by its directory's name. */
static void test_odd_signature(void **state)
{
	json_t *all = get_json("/api/v1/crashes.json"), *one;
	const json_t *row = json_array_get(json_object_get(all, "crashes"), 1);
	char path[512];

	(void)state;
	assert_string_equal(json_string_value(json_object_get(row, "signature")), "odd 'one'/../x");
	assert_string_equal(json_string_value(json_object_get(row, "issue_url")),
			    "https://example.org/1");
	snprintf(path, sizeof(path), "/%s", json_string_value(json_object_get(row, "href")));
	has(path, "odd &#39;one&#39;/../x");
	snprintf(path, sizeof(path), "/%s", json_string_value(json_object_get(row, "api")));
	one = get_json(path);
	assert_string_equal(json_string_value(json_object_get(one, "reproduce")),
			    "fuzzcell crash reproduce 'odd '\\''one'\\''/../x'");
	json_decref(one);
	json_decref(all);
}

static void test_figures(void **state)
{
	json_t *o = get_json("/api/v1/overview.json");
	const json_t *target = json_array_get(json_object_get(o, "targets"), 1);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(o, "updated")),
			    "2026-11-22T19:30:00Z");
	assert_true(json_is_null(json_object_get(o, "live")));
	assert_int_equal(json_integer_value(json_object_get(o, "targets_total")), 2);
	assert_int_equal(json_integer_value(json_object_get(o, "crashes_total")), 2);
	assert_string_equal(json_string_value(json_object_get(target, "name")), "z_fuzzer");
	assert_string_equal(json_string_value(json_object_get(target, "href")),
			    "targets/z_fuzzer.html");
	assert_int_equal(json_integer_value(json_object_get(target, "cov")), 3);
	assert_int_equal(json_integer_value(json_object_get(target, "crashes_open")), 1);
	json_decref(o);
	o = get_json("/api/v1/series/z_fuzzer.json");
	assert_int_equal(json_array_size(json_object_get(o, "points")), 2);
	json_decref(o);
	o = get_json("/api/v1/runs.json");
	assert_int_equal(json_integer_value(json_object_get(o, "damaged")), 1);
	assert_int_equal(json_array_size(json_object_get(o, "runs")), 2);
	json_decref(o);
}

/* Data from a history are made anew after a run has added a line. */
static void test_history_grows(void **state)
{
	static const char *const lines[] = {SITE_STATS("z_fuzzer", "3"),
					    SITE_STATS("z_fuzzer", "9")};
	char text[4096] = "";

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(text);
		const json_t *row, *trend;
		json_t *o;

		snprintf(text + n, sizeof(text) - n, "%s%s", lines[i], site_line_end);
		scratch_write(dir.fd, "stats/targets/z_fuzzer.jsonl", text);
		for (int again = 0; again < 2; again++) {
			o = get_json("/api/v1/overview.json");
			row = json_array_get(json_object_get(o, "targets"), 1);
			trend = json_object_get(row, "trend");
			assert_int_equal(json_array_size(trend), i + 1);
			assert_int_equal(json_integer_value(json_array_get(trend, i)), i ? 9 : 3);
			assert_int_equal(json_integer_value(json_object_get(row, "cov")),
					 i ? 9 : 3);
			json_decref(o);
		}
	}
}

/* A target without a history of its own is shown from the newest run that lists it. */
static void test_lines_without_targets(void **state)
{
	json_t *o;

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "stats/targets/a.b@c.jsonl", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "stats/targets/z_fuzzer.jsonl", 0), 0);
	scratch_write(
	    dir.fd, "stats/run_history.jsonl",
	    "{\"v\": 1, \"run\": \"" SITE_RUN "\", \"status\": \"done\", \"ended\": "
	    "\"2026-11-22T19:30:00Z\", \"targets\": [" SITE_STATS("z_fuzzer", "3") "}]}\n");
	o = get_json("/api/v1/overview.json");
	assert_int_equal(json_integer_value(json_object_get(o, "targets_total")), 2);
	assert_int_equal(json_integer_value(json_object_get(
			     json_array_get(json_object_get(o, "runs"), 0), "targets")),
			 1);
	json_decref(o);
	has("/targets/z_fuzzer.html", "</html>");
}

/* No run yet; and every file is damaged. */
static void test_nothing_there(void **state)
{
	static const char *const files[] = {"stats/run_history.jsonl", "stats/targets/a.b@c.jsonl",
					    "stats/targets/z_fuzzer.jsonl", "known_crashes.json",
					    "logs/" SITE_RUN "/summary.json"};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		scratch_write(dir.fd, files[i], "\xff{\"[");
	has("/", "</html>");
	has("/health.html", "</html>");
	has("/metrics", "fuzzcell_runs_total 0\n");
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(unlinkat(dir.fd, files[i], 0), 0);
	has("/", "</html>");
	has("/runs.html", "</html>");
	has("/crashes.html", "</html>");
	has("/metrics", "fuzzcell_runs_total 0\n");
	none("/targets/z_fuzzer.html");
}

/* The text format: each sample's name is declared before, its labels are quoted, and no series
 * appears twice. */
/* Writes a coverage report of a target. */
static void make_report(const char *target, const char *summary)
{
	char pages[200], path[300];
	struct err e;

	snprintf(pages, sizeof(pages), "coverage/%s/html/coverage/src", target);
	assert_int_equal(fs_mkdirs(dir.fd, pages, 0755, &e), 0);
	snprintf(path, sizeof(path), "coverage/%s/summary.json", target);
	scratch_write(dir.fd, path, summary);
	snprintf(path, sizeof(path), "coverage/%s/report.json", target);
	scratch_write(dir.fd, path, summary);
	snprintf(path, sizeof(path), "coverage/%s/html/index.html", target);
	scratch_write(dir.fd, path, "<html>line by line</html>");
	snprintf(path, sizeof(path), "coverage/%s/html/coverage/src/a b.c.html", target);
	scratch_write(dir.fd, path, "<html>a b</html>");
	snprintf(path, sizeof(path), "coverage/%s/html/script.js", target);
	scratch_write(dir.fd, path, "alert(1)");
}

static void test_coverage(void **state)
{
	static const char summary[] =
	    "{\"time\": 1795800000, \"commit\": \"c1\", \"no_longer_reached\": 2, \"lost\": "
	    "[{\"path\": \"/a.c\", \"function\": \"<b>gone</b>\"}], \"totals\": {\"lines\": "
	    "{\"count\": 200, \"covered\": 50}}, \"blockers\": [{\"path\": \"/a.c\", \"line\": 7, "
	    "\"function\": \"f\", \"source\": \"if (a < b)\", \"missing\": true, \"evaluated\": "
	    "3, \"lines\": 40, \"functions\": 1}]}";
	static const char *const bad[] = {
	    "/coverage/z_fuzzer/",
	    "/coverage/z_fuzzer",
	    "/coverage/z_fuzzer/../report.json",
	    "/coverage/z_fuzzer/%2e%2e/summary.json",
	    "/coverage/z_fuzzer/coverage/..%2f..%2f..%2f..%2fz.html",
	    "/coverage/z_fuzzer/script.js",
	    "/coverage/z_fuzzer/coverage//src/a%20b.c.html",
	    "/coverage/z_fuzzer/link.html",
	    "/coverage/z_fuzzer/coverage/src.html",
	    "/coverage/z_fuzzer/index.html%00.html",
	    "/coverage/%2e%2e/index.html",
	    "/coverage/nosuch/index.html",
	    "/api/v1/coverage/nosuch.json",
	};

	(void)state;
	make_report("z_fuzzer", summary);
	make_report("@all", summary);
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "coverage/z_fuzzer/html/link.html"), 0);
	has("/coverage/z_fuzzer/index.html", "line by line");
	has("/coverage/z_fuzzer/coverage/src/a%20b.c.html", "a b");
	has("/coverage/all/index.html", "line by line");
	has("/api/v1/coverage/z_fuzzer.json", "\"no_longer_reached\": 2");
	has("/targets/z_fuzzer.html", "<code>if (a &lt; b)</code>");
	has("/targets/z_fuzzer.html", "&lt;b&gt;gone&lt;/b&gt;");
	has("/targets/z_fuzzer.html", "../coverage/z_fuzzer/index.html");
	has("/index.html", "coverage/all/index.html");
	has("/metrics",
	    "fuzzcell_target_source_covered{target=\"z_fuzzer\",measure=\"lines\"} 50\n");
	has("/metrics", "fuzzcell_target_source_lost_functions{target=\"z_fuzzer\"} 2\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		none(bad[i]);
}

static void test_metrics(void **state)
{
	char *text = site_get("/metrics"), *save, *line, declared[200] = "";
	json_t *seen = json_object();

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "fuzzcell_target_coverage_edges{target=\"a.b@c\"} 812\n"));
	assert_non_null(
	    strstr(text, "fuzzcell_target_cpu_seconds_total{target=\"z_fuzzer\"} 17.5\n"));
	assert_non_null(
	    strstr(text, "fuzzcell_target_failures_total{target=\"z_fuzzer\",kind=\"crash\"} 3\n"));
	assert_non_null(strstr(text, "fuzzcell_crashes{state=\"new\"} 1\n"));
	assert_non_null(strstr(text, "fuzzcell_runs_total 3\n"));
	assert_non_null(strstr(text, "fuzzcell_last_run_end_time_seconds 1795375800\n"));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end = strrchr(line, ' ');

		assert_non_null(end);
		if (strncmp(line, "# TYPE ", 7) == 0)
			snprintf(declared, sizeof(declared), "%.*s", (int)(end - line - 7),
				 line + 7);
		if (*line == '#')
			continue;
		*end = '\0';
		assert_int_equal(strncmp(line, declared, strlen(declared)), 0);
		assert_true(line[strlen(declared)] == '\0' || line[strlen(declared)] == '{');
		assert_null(json_object_get(seen, line));
		assert_int_equal(json_object_set_new(seen, line, json_true()), 0);
	}
	json_decref(seen);
	free(text);
}

static void test_each_path(void **state)
{
	unsigned n = 0;
	struct err e;

	(void)state;
	if (serve_each_path(site, each_path, &n, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(n > 20);
}

static void test_export(void **state)
{
	char path[64], text[65536], *want;
	struct scratch out = SCRATCH_INIT;
	uint64_t files;
	struct err e;

	(void)state;
	scratch_make(&out);
	snprintf(path, sizeof(path), "%s/site/", out.path);
	for (int again = 0; again < 2; again++) {
		if (serve_export(site, path, NULL, NULL, &files, &e) < 0)
			fail_msg("%s", e.msg);
		assert_true(files > 20);
		want = site_get("/targets/a.b%40c.html");
		assert_string_equal(
		    scratch_text(out.fd, "site/targets/a.b@c.html", text, sizeof(text)), want);
		free(want);
		assert_true(scratch_has(out.fd, "site/api/v1/overview.json"));
		scratch_write(out.fd, "site/old", "of the first one");
	}
	assert_int_equal(serve_export(site, path, NULL, NULL, &files, &e), 0);
	assert_false(scratch_has(out.fd, "site/old"));
	/* Foreign files stay. */
	assert_int_equal(mkdirat(out.fd, "other", 0755), 0);
	scratch_write(out.fd, "other/file", "x");
	snprintf(path, sizeof(path), "%s/other", out.path);
	assert_int_equal(serve_export(site, path, NULL, NULL, &files, &e), -EEXIST);
	assert_true(scratch_has(out.fd, "other/file"));
	assert_int_equal(mkdirat(out.fd, "empty", 0755), 0);
	snprintf(path, sizeof(path), "%s/empty", out.path);
	assert_int_equal(serve_export(site, path, NULL, NULL, &files, &e), 0);
	assert_true(scratch_has(out.fd, "empty/index.html"));
	/* The export directory may not be inside of the state directory, either. */
	snprintf(path, sizeof(path), "%s/stats/site", dir.path);
	assert_int_equal(serve_export(site, path, NULL, NULL, &files, &e), -EINVAL);
	assert_false(scratch_has(dir.fd, "stats/site"));
	assert_int_equal(serve_export(site, dir.path, NULL, NULL, &files, &e), -EINVAL);
	snprintf(path, sizeof(path), "%s/no/such", out.path);
	assert_int_equal(serve_export(site, path, NULL, NULL, &files, &e), -ENOENT);
	assert_int_equal(serve_export(site, "/", NULL, NULL, &files, &e), -EINVAL);
	scratch_remove(&out);
}

static const struct CMUnitTest tests[] = {
    CASE(test_every_path),    CASE(test_hostile_paths),
    CASE(test_every_byte),    CASE(test_text_is_text),
    CASE(test_odd_signature), CASE(test_figures),
    CASE(test_history_grows), CASE(test_lines_without_targets),
    CASE(test_nothing_there), CASE(test_metrics),
    CASE(test_each_path),     CASE(test_export),
    CASE(test_coverage),
};

UNIT_MAIN(tests)
