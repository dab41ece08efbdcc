/* SPDX-License-Identifier: Apache-2.0 */
/* Beside a run that lives, does not answer, or died. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "runner/control/request.h"
#include "runner/serve/model/site.h"
#include "runner/trigger/record.h"
#include "tests/unit/forked.h"
#include "tests/unit/serve/site.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A run that has not started z_fuzzer (with a known last run) and n_fuzzer (without any data) yet.
 * s_fuzzer could not be started, and the cell of a.b@c began a moment ago. */
static const char living[] =
    "{\"ok\": true, \"run\": {\"run\": \"20261122-200000\", \"status\": \"running\"}, "
    "\"targets\": ["
    "{\"name\": \"z_fuzzer\", \"state\": \"queued\", \"reason\": \"running\", \"fuzzed\": false, "
    "\"done\": false, \"cov\": 0, \"edges\": 0, \"corpus_units\": 0, \"execs\": 0},"
    "{\"name\": \"n_fuzzer\", \"state\": \"queued\", \"reason\": \"running\", \"fuzzed\": false, "
    "\"done\": false, \"cov\": 0},"
    "{\"name\": \"s_fuzzer\", \"state\": \"startup-failed\", \"reason\": \"startup-failed\", "
    "\"fuzzed\": false, \"done\": true, \"failures_total\": 5},"
    "{\"name\": \"a.b@c\", \"state\": \"fuzzing\", \"reason\": \"running\", \"fuzzed\": true, "
    "\"done\": false, \"cov\": 0, \"edges\": 0, \"ft\": 0, \"corpus_units\": 0, \"execs\": 7, "
    "\"memory_bytes\": 5}]}\n";

static pid_t run_pid;

static void answer_all(int fd)
{
	for (;;) {
		int one = accept(fd, NULL, NULL);
		char request[4096];

		if (one < 0 || read(one, request, sizeof(request)) <= 0 ||
		    write(one, living, sizeof(living) - 1) < 0)
			_exit(1);
		close(one);
	}
}

static void run_begins(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t n = control_address(dir.fd, &a);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 16), 0);
	run_pid = fork();
	assert_true(run_pid >= 0);
	if (run_pid == 0)
		answer_all(fd);
	/* The site waits only shortly for an answer, and the child may not have begun yet. */
	for (unsigned i = 0; i < 100 && !site_live(site); i++) {
		site->live_until_us = 0;
		site_begin(site);
	}
	site->live_until_us = 0;
	close(fd);
}

static int end_run(void **state)
{
	if (run_pid > 0) {
		(void)kill(run_pid, SIGKILL);
		(void)waitpid(run_pid, NULL, 0);
	}
	run_pid = 0;
	return site_teardown(state);
}

/* One answer uses one state of the run, however long it takes: borrowed objects stay valid. */
static void test_one_answer(void **state)
{
	const json_t *live;

	(void)state;
	run_begins();
	site_begin(site);
	live = site_live(site);
	assert_non_null(live);
	site->live_until_us = 0; /* a second passed */
	assert_ptr_equal(site_live(site), live);
	assert_string_equal(site_live_run(site), "20261122-200000");
	assert_non_null(site_live_target(site, "z_fuzzer"));
	assert_ptr_equal(site_live(site), live);
}

static const json_t *row_of(const json_t *o, const char *name)
{
	const json_t *all = json_object_get(o, "targets");

	for (size_t i = 0; i < json_array_size(all); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(all, i), "name")),
			   name) == 0)
			return json_array_get(all, i);
	fail_msg("no %s", name);
	return NULL;
}

static json_int_t figure(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* A target that waits for its turn, or has just begun a cell, keeps its old figures. */
static void test_queued(void **state)
{
	const json_t *row, *counts;
	json_t *o;

	(void)state;
	run_begins();
	o = get_json("/api/v1/overview.json");
	row = row_of(o, "z_fuzzer");
	assert_true(json_is_true(json_object_get(row, "live")));
	assert_string_equal(json_string_value(json_object_get(row, "state")), "queued");
	assert_string_equal(json_string_value(json_object_get(row, "run")), SITE_RUN);
	assert_int_equal(figure(row, "cov"), 3);
	assert_int_equal(figure(row, "corpus_units"), 150);
	row = row_of(o, "a.b@c");
	assert_string_equal(json_string_value(json_object_get(row, "run")), "20261122-200000");
	assert_int_equal(figure(row, "cov"), 812);
	assert_int_equal(figure(row, "edges"), 4000);
	assert_int_equal(figure(row, "execs"), 7);
	row = json_object_get(row_of(o, "s_fuzzer"), "health");
	assert_string_equal(json_string_value(json_object_get(row, "code")), "startup-crash");
	row = json_object_get(row_of(o, "n_fuzzer"), "health");
	assert_true(json_is_false(json_object_get(row, "known")));
	counts = json_object_get(json_object_get(o, "health"), "counts");
	assert_int_equal(figure(counts, "unknown"), 1);
	json_decref(o);
	has("/", "1 not fuzzed yet");
	/* Only the target that the run gave up counts as not fuzzed; two targets wait. */
	has("/runs/20261122-200000.html", "not fuzzed</span> startup-failed");
	has_not("/runs/20261122-200000.html", "not fuzzed</span> running");
	has_not("/runs/20261122-200000.html", "not fuzzed</span> queued");
	has("/runs/20261122-200000.html", "<td class=\"text\">queued");
	has("/targets/n_fuzzer.html", "not known yet");
	has_not("/targets/n_fuzzer.html", "healthy");
	has("/health.html", "Not fuzzed yet");
	has("/metrics", "target=\"n_fuzzer\",severity=\"unknown\",code=\"unknown\"} 1\n");
	has("/metrics", "fuzzcell_target_coverage_edges{target=\"z_fuzzer\"} 3\n");
	has("/metrics", "fuzzcell_target_coverage_edges{target=\"a.b@c\"} 812\n");
}

/* A living run that is too busy to answer has not ended.  A killed run has. */
static void test_deaf(void **state)
{
	(void)state;
	run_begins();
	has("/metrics", "fuzzcell_run_active 1\n");
	assert_int_equal(kill(run_pid, SIGSTOP), 0);
	site->live_until_us = 0;
	has("/metrics", "fuzzcell_run_active 1\n");
	site->live_until_us = 0;
	site->heard_us = 0;
	if (clock_mono_us() > (uint64_t)SITE_STALE_MS * USEC_PER_MSEC)
		has("/metrics", "fuzzcell_run_active 0\n");
	assert_int_equal(kill(run_pid, SIGKILL), 0);
	assert_int_equal(waitpid(run_pid, NULL, 0), run_pid);
	run_pid = 0;
	site->live_until_us = 0;
	has("/metrics", "fuzzcell_run_active 0\n");
}

/* Files that it may no longer read were read before. */
static int serves_dropped(void)
{
	struct err e;
	char *got;

	if (serve_drop(&state_of, &e) < 0)
		return 1;
	got = site_get("/api/v1/health.json");
	return got && strstr(got, "trigger-failing") ? 0 : 2;
}

static void test_dropped(void **state)
{
	struct trigger_record r = {.failures = 2,
				   .failed = "0123456789012345678901234567890123456789"};
	struct moment now;
	struct err e;

	(void)state;
	assert_int_equal(moment_read(&now, &e), 0);
	if (record_save(dir.fd, &now, &r, &e) < 0)
		fail_msg("%s", e.msg);
	has("/api/v1/health.json", "trigger-failing");
	forked(serves_dropped);
}

#define LIVE(fn) cmocka_unit_test_setup_teardown(fn, site_setup, end_run)

static const struct CMUnitTest tests[] = {
    LIVE(test_one_answer),
    LIVE(test_queued),
    LIVE(test_deaf),
    LIVE(test_dropped),
};

UNIT_MAIN(tests)
