/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SERVE_SITE_H
#define TESTS_SERVE_SITE_H

/* The state directory of two runs, with a crash of one target, and its site.  Include unit.h
 * first. */
#include "base/json.h"
#include "runner/serve/serve.h"
#include "tests/unit/scratch.h"

#define SITE_RUN   "20261122-190000"
#define SITE_CRASH "00a1b2c3d4e5f607"

static struct scratch dir;
static struct state state_of;
static struct serve_site *site;

/* The important keys of a target's object, without its end. */
#define SITE_STATS(name, cov)                                                               \
	"{\"name\": \"" name "\", \"reason\": \"plateau\", \"fuzzed\": true, \"cov\": " cov \
	", \"edges\": 4000, \"ft\": 900, \"corpus_units\": 150, \"execs\": 91000, "         \
	"\"execs_per_cpu_second\": 5000, \"cpu_seconds\": 17.5, \"new_inputs\": 5, "        \
	"\"memory_limit_bytes\": 268435456, \"failures\": {\"crash\": 3}, \"failures_total\": 3"

static const char site_line_end[] =
    ", \"run\": \"" SITE_RUN "\", \"ended\": \"2026-11-22T19:30:00Z\", \"commit\": \"5f0c\"}\n";

static inline void site_mkdir(const char *path)
{
	struct err e;

	if (fs_mkdirs(dir.fd, path, 0755, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline void site_add(const char *path, const char *a, const char *b)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%s", a, b);
	scratch_write(dir.fd, path, text);
}

static const char site_history[] =
    "{\"v\": 1, \"run\": \"20261121-190000\", \"status\": \"lost\", \"recovered_at\": 1}\n"
    "{\"v\": 2, \"run\": \"" SITE_RUN "\", \"status\": \"done\", \"commit\": \"5f0c\", "
    "\"started\": \"2026-11-22T19:00:00Z\", \"ended\": \"2026-11-22T19:30:00Z\", "
    "\"elapsed_seconds\": 1800.5, \"workers\": 2, \"targets\": 2, \"fuzzed\": 2}\n"
    "no line\n";

static inline void site_files(void)
{
	site_mkdir("stats/targets");
	site_mkdir("logs/" SITE_RUN);
	site_mkdir("crashes/" SITE_CRASH);
	scratch_write(dir.fd, "stats/run_history.jsonl", site_history);
	site_add("stats/targets/a.b@c.jsonl", SITE_STATS("a.b@c", "812"), site_line_end);
	site_add("stats/targets/z_fuzzer.jsonl", SITE_STATS("z_fuzzer", "3"), site_line_end);
	site_add("logs/" SITE_RUN "/summary.json",
		 "{\"v\": 1, \"run\": \"" SITE_RUN
		 "\", \"status\": \"done\", \"targets\": [" SITE_STATS("a.b@c", "812") "},",
		 SITE_STATS("z_fuzzer", "3") "}]}\n");
	scratch_write(dir.fd, "logs/" SITE_RUN "/z_fuzzer.series",
		      "{\"v\":1,\"target\":\"z_fuzzer\",\"run\":\"" SITE_RUN
		      "\",\"started\":\"2026-11-22T19:00:00Z\",\"columns\":[\"t\",\"cov\"]}\n"
		      "[0.5,1]\n[1.5,3]\n");
	scratch_write(dir.fd, "known_crashes.json",
		      "{\"" SITE_CRASH "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": "
		      "\"Heap <script>alert(1)</script>\", \"state\": \"new\", \"count\": 7, "
		      "\"issue_url\": \"javascript:alert(1)\", \"top_frame\": \"f&\\\"g\"}, "
		      "\"odd 'one'/../x\": {\"fuzzer\": \"a.b@c\", \"crash_type\": \"Abrt\", "
		      "\"state\": \"fixed\", \"issue_url\": \"https://example.org/1\"}}");
	scratch_write(dir.fd, "crashes/" SITE_CRASH "/report.txt",
		      "==1==ERROR: <b>bold</b> \xff\x1b[31m\n");
	scratch_write(dir.fd, "secret", "SECRET");
	/* Files outside of the site, which hostile names lead to. */
	scratch_write(dir.fd, "logs/" SITE_RUN "/runner.log", "SECRET");
}

static inline int site_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	state_of = (struct state){.path = dir.path, .dirfd = dir.fd, .lock_fd = -1};
	site = serve_open(&state_of);
	serve_set_now(site, 1795376000); /* 2026-11-22, a little after the run */
	site_files();
	return 0;
}

static inline int site_teardown(void **state)
{
	(void)state;
	serve_close(site);
	scratch_remove(&dir);
	return 0;
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, site_setup, site_teardown)

/* Returns the answer's bytes in a new string, or NULL. */
static inline char *site_get(const char *path)
{
	struct serve_answer a;
	struct slice bytes;
	char *text;
	struct err e;
	int r = serve_get(site, slice_of(path), &a, &e);

	if (r == -ENOENT)
		return NULL;
	if (r < 0)
		fail_msg("%s: %s", path, e.msg);
	bytes = serve_answer_bytes(&a);
	text = strndup(bytes.p, bytes.n);
	assert_non_null(text);
	assert_int_equal(strlen(text), bytes.n);
	serve_answer_done(&a);
	return text;
}

static inline void has(const char *path, const char *text)
{
	char *got = site_get(path);

	if (!got)
		fail_msg("%s: no such page", path);
	if (!strstr(got, text))
		fail_msg("%s: no '%s' in:\n%s", path, text, got);
	free(got);
}

static inline void has_not(const char *path, const char *text)
{
	char *got = site_get(path);

	if (!got)
		fail_msg("%s: no such page", path);
	if (strstr(got, text))
		fail_msg("%s: '%s' in:\n%s", path, text, got);
	free(got);
}

static inline void none(const char *path)
{
	char *got = site_get(path);

	if (got)
		fail_msg("%s exists:\n%.200s", path, got);
}

static inline json_t *get_json(const char *path)
{
	char *got = site_get(path);
	json_t *j;
	struct err e;

	if (!got)
		fail_msg("%s: no such page", path);
	if (json_parse(slice_of(got), &j, &e) < 0)
		fail_msg("%s: %s", path, e.msg);
	free(got);
	return j;
}

/* Follows all links: no link may be dead. */
static inline int each_path(void *arg, const char *path, struct err *e)
{
	struct serve_answer a;
	int r = serve_get(site, slice_of(path), &a, e);

	++*(unsigned *)arg;
	if (r == -ENOENT && strstr(path, "/series/"))
		return 0;
	if (r < 0)
		return err_wrap(e, "%s", path);
	serve_answer_done(&a);
	return 0;
}

#endif
