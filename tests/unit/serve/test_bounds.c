/* SPDX-License-Identifier: Apache-2.0 */
/* Large numbers, files that change while they are read, and unreadable files. */
#include "tests/unit/unit.h"

#include "base/json.h"
#include "tests/unit/serve/site.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A killed run has no end; the run before it has. */
static void test_killed_run(void **state)
{
	(void)state;
	has("/metrics", "fuzzcell_service_health{severity=\"ok\",code=\"healthy\"} 1\n");
	scratch_write(dir.fd, "stats/run_history.jsonl",
		      "{\"v\": 2, \"run\": \"" SITE_RUN
		      "\", \"status\": \"done\", \"ended\": \"2026-11-22T19:30:00Z\"}\n"
		      "{\"v\": 1, \"run\": \"20261122-200000\", \"status\": \"lost\"}\n");
	has("/metrics", "fuzzcell_last_run_end_time_seconds 1795375800\n");
	has("/api/v1/overview.json", "\"updated\": \"2026-11-22T19:30:00Z\"");
	has("/", "20261122-200000, did not come to its end");
	has_not("/metrics", "fuzzcell_workers");
	has("/metrics", "fuzzcell_service_health{severity=\"warning\",code=\"run-lost\"} 1\n");
}

static void test_strategies(void **state)
{
	(void)state;
	has_not("/metrics", "fuzzcell_target_strategy_edges{");
	site_add("stats/targets/z_fuzzer.jsonl",
		 SITE_STATS("z_fuzzer", "3") ", \"strategies\": {\"few-mutations\": "
					     "{\"cpu_seconds\": 2.5, \"edges\": 12}, \"odd\": 7, "
					     "\"none\": {\"edges\": \"7\"}}",
		 site_line_end);
	has("/metrics", "fuzzcell_target_strategy_edges{target=\"z_fuzzer\",strategy="
			"\"few-mutations\"} 12\n");
	has("/metrics", "fuzzcell_target_strategy_cpu_seconds{target=\"z_fuzzer\",strategy="
			"\"few-mutations\"} 2.5\n");
	has_not("/metrics", "strategy=\"odd\"");
	has_not("/metrics", "strategy=\"none\"");
}

/* What waits for check variants, and since when: a Unix time in the file. */
static void test_checks(void **state)
{
	(void)state;
	has_not("/metrics", "fuzzcell_target_checks_left{");
	site_add("stats/targets/z_fuzzer.jsonl",
		 SITE_STATS("z_fuzzer",
			    "3") ", \"checks_left\": 12, \"checks_behind_since\": 1795375800",
		 site_line_end);
	site_add("stats/targets/a.b@c.jsonl",
		 SITE_STATS("a.b@c", "812") ", \"checks_left\": 0, \"checks_behind_since\": 0",
		 site_line_end);
	has("/metrics", "fuzzcell_target_checks_left{target=\"z_fuzzer\"} 12\n");
	has("/metrics", "fuzzcell_target_checks_left{target=\"a.b@c\"} 0\n");
	has("/metrics",
	    "fuzzcell_target_checks_behind_since_seconds{target=\"z_fuzzer\"} 1795375800\n");
	has_not("/metrics", "fuzzcell_target_checks_behind_since_seconds{target=\"a.b@c\"}");
	has("/api/v1/targets.json", "\"checks_left\": 12");
	has("/api/v1/targets.json", "\"checks_behind_since\": \"2026-11-22T19:30:00Z\"");
	has("/api/v1/targets.json", "\"checks_behind_since\": null");
}

static void small(const char *path)
{
	char *got = site_get(path);

	assert_non_null(got);
	if (strlen(got) > 300 << 10)
		fail_msg("%s has %zu bytes", path, strlen(got));
	free(got);
}

/* A report with only characters that become longer in a page. */
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

/* All are counted, but only some are shown. */
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

/* A run of many targets and crashes, each with a long history. */
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

/* Each target is on a page, also beyond the overview's limit, and pages stay small. */
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

/* An unreadable file hides no other file; an error that hides all of them is shown. */
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

static void note_damaged(void *arg, const char *path, const char *problem)
{
	size_t n = strlen(arg);

	snprintf((char *)arg + n, 2000 - n, "%s: %s\n", path, problem);
}

/* A damaged item is marked on its own page, and the rest is exported. */
static void test_damaged(void **state)
{
	struct scratch out = SCRATCH_INIT;
	char path[64], reported[2000] = "";
	uint64_t files;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "logs/" SITE_RUN "/summary.json", "");
	scratch_write(dir.fd, "stats/targets/z_fuzzer.jsonl", "\xff{[");
	site_mkdir("stats/targets/dir.jsonl");
	has("/runs/" SITE_RUN ".html", "Its summary is damaged: ");
	has("/runs/" SITE_RUN ".html", "<dd>30m00s</dd>"); /* from the history */
	has("/targets/z_fuzzer.html", "none of its lines can be read");
	has("/targets/dir.html", "stats/targets/dir.jsonl");
	has("/api/v1/growth/dir.json", "\"points\": []");
	scratch_make(&out);
	snprintf(path, sizeof(path), "%s/site", out.path);
	if (serve_export(site, path, note_damaged, reported, &files, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(scratch_has(out.fd, "site/runs/" SITE_RUN ".html"));
	assert_true(scratch_has(out.fd, "site/targets/dir.html"));
	assert_non_null(
	    strstr(reported, "/runs/" SITE_RUN ".html: logs/" SITE_RUN "/summary.json: "));
	assert_non_null(strstr(reported, "/targets/dir.html: "));
	scratch_remove(&out);
}

/* A killed run, before and after the next run noted it. */
static void test_lost_run(void **state)
{
	(void)state;
	assert_int_equal(unlinkat(dir.fd, "logs/" SITE_RUN "/summary.json", 0), 0);
	has("/runs/" SITE_RUN ".html", "targets/z_fuzzer.html");
	scratch_write(dir.fd, "stats/run_history.jsonl", "");
	has("/runs/" SITE_RUN ".html", "It did not come to its end.");
	has("/api/v1/runs/" SITE_RUN ".json", "\"status\": \"unfinished\"");
	scratch_write(dir.fd, "stats/run_history.jsonl",
		      "{\"v\": 1, \"run\": \"" SITE_RUN "\", \"status\": \"lost\"}\n");
	has("/runs.html", "runs/" SITE_RUN ".html");
	has("/runs/" SITE_RUN ".html", "It did not come to its end.");
	has("/api/v1/runs/" SITE_RUN ".json", "\"cov\": 3"); /* from the curves */
	has_not("/runs/" SITE_RUN ".html", "0 not fuzzed");
}

/* Of round 7 shard 1 ended and shard 2 died; a machine's name is text. */
static void test_rounds(void **state)
{
	(void)state;
	has("/rounds.html", "No delta was collected yet.");
	scratch_write(
	    dir.fd, "stats/fleet.jsonl",
	    "{\"plan\": \"p\", \"round\": 7, \"shards\": 2, \"shard\": 1, \"due\": 60, "
	    "\"until\": 50, \"node\": \"<b>\", \"edges\": 5, \"last\": true}\n"
	    "{\"plan\": \"p\", \"round\": 7, \"shards\": 2, \"shard\": 2, \"due\": 60, "
	    "\"until\": 40, \"node\": \"n2\", \"edges\": 3}\n"
	    "{\"plan\": 5, \"round\": 8, \"shards\": 1, \"shard\": \"x\", \"node\": []}\n");
	has("/rounds.html", "Shards of round 7");
	has("/rounds.html", "&lt;b&gt;");
	has("/rounds.html", ">lost</span>");
	has("/", "href=\"rounds.html\"");
	has("/api/v1/rounds.json", "\"state\": \"lost\"");
	has("/api/v1/rounds.json", "\"edges\": 8");
	has_not("/rounds.html", "<b>");
}

/* Holds the run's lock until it is killed. */
static pid_t hold_the_lock(void)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int lock = openat(dir.fd, "lock", O_RDWR | O_CREAT, 0600);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a check fails */
		if (lock < 0 || fcntl(lock, F_SETLK, &whole) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* The run lives, but its control socket is not accessible. */
static void test_silent_run(void **state)
{
	pid_t pid = hold_the_lock();

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "logs/" SITE_RUN "/summary.json", 0), 0);
	scratch_write(dir.fd, "stats/run_history.jsonl", "");
	site_mkdir("work");
	site_mkdir("work/" SITE_RUN);
	has("/runs/" SITE_RUN ".html", "It lives, but does not answer now.");
	has_not("/runs/" SITE_RUN ".html", "It did not come to its end.");
	has("/api/v1/runs/" SITE_RUN ".json", "\"status\": \"running\"");
	scratch_write(dir.fd, "logs/" SITE_RUN "/summary.json", "{");
	has("/runs/" SITE_RUN ".html", "Its summary is damaged: ");
	has_not("/api/v1/runs/" SITE_RUN ".json", "\"status\"");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned dead;

/* Checks that links of an exported page at this depth lead to pages. */
static int follow(void *arg, const char *path, struct err *e)
{
	bool below = strchr(path + 1, '/') != NULL;
	char *text, *got, target[1024];

	(void)arg;
	(void)e;
	if (!strstr(path, ".html") || !(text = site_get(path)))
		return 0;
	for (const char *p = text; (p = strstr(p, " href=\""));) {
		size_t n = strcspn(p += 7, "\"");

		if (*p == '#' || strncmp(p, "http", 4) == 0 || (below && strncmp(p, "../", 3) != 0))
			continue;
		snprintf(target, sizeof(target), "/%.*s", (int)(below ? n - 3 : n),
			 below ? p + 3 : p);
		got = site_get(target);
		if (!got)
			print_error("%s: %s\n", path, target);
		dead += !got;
		free(got);
	}
	free(text);
	return 0;
}

/* A target that only its crash names, and no ended run; and damaged histories. */
static void test_no_dead_link(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "stats/targets/z_fuzzer.jsonl", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "logs/" SITE_RUN "/summary.json", 0), 0);
	scratch_write(dir.fd, "stats/targets/a.b@c.jsonl", "garbage\n");
	scratch_write(dir.fd, "stats/targets/empty.jsonl", "");
	has("/targets/z_fuzzer.html", "Nothing is known about its fuzzing");
	dead = 0;
	assert_int_equal(serve_each_path(site, follow, NULL, &e), 0);
	assert_int_equal(dead, 0);
	none("/targets/absent.html");
}

static void test_no_file(void **state)
{
	struct serve_answer a;
	struct err e;

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "stats/run_history.jsonl", 0), 0);
	assert_int_equal(mkfifoat(dir.fd, "stats/run_history.jsonl", 0644), 0);
	assert_true(serve_get(site, SLICE("/"), &a, &e) < 0);
	assert_non_null(strstr(e.msg, "'stats/run_history.jsonl' is not a regular file"));
}

static void gone(const char *path)
{
	struct serve_answer a;
	struct err e;

	assert_int_equal(serve_get(site, slice_of(path), &a, &e), -ESTALE);
	assert_non_null(strstr(e.msg, "replaced or removed"));
}

/* An open directory outlives its name: its content is not current. */
static void test_replaced(void **state)
{
	char aside[300];

	(void)state;
	snprintf(aside, sizeof(aside), "%s.aside", dir.path);
	for (int made = 0; made < 2; made++) {
		assert_int_equal(rename(dir.path, aside), 0);
		if (made)
			assert_int_equal(mkdir(dir.path, 0755), 0);
		gone("/");
		gone("/healthz");
		gone("/api/v1/runs.json");
		has("/metrics", "fuzzcell_up 0\n");
		if (made)
			assert_int_equal(rmdir(dir.path), 0);
		assert_int_equal(rename(aside, dir.path), 0);
		has("/healthz", "ok\n");
	}
}

/* A run writes the ledger during the export, and a run is in the history twice. */
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
	if (serve_export(site, path, NULL, NULL, &files, &e) < 0)
		fail_msg("%s", e.msg);
	scratch_remove(&out);
}

static const struct CMUnitTest tests[] = {
    CASE(test_strategies),   CASE(test_checks),
    CASE(test_killed_run),   CASE(test_long_report),
    CASE(test_many_runs),    CASE(test_large_run),
    CASE(test_many_targets), CASE(test_unreadable),
    CASE(test_replaced),     CASE(test_damaged),
    CASE(test_lost_run),     CASE(test_silent_run),
    CASE(test_rounds),	     CASE(test_no_dead_link),
    CASE(test_no_file),	     CASE(test_changes_meanwhile),
};

UNIT_MAIN(tests)
