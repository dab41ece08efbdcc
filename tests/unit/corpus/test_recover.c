/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/recover.h"
#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/files.h"
#include "tests/unit/each.h"

#include <signal.h>
#include <sys/wait.h>

/* 2021-03-04 05:06:07 UTC */
#define WHEN (UINT64_C(1614834367) * 1000000)
#define RUN  "20210304-050607"

/* Makes a target's part of a run as its cell leaves it; false: a call failed. */
static bool begin_target(struct state *s, const struct run_dirs *r, const char *target)
{
	struct workdir_prepare p = {
	    .work = r->work, .target = target, .uid = geteuid(), .gid = getegid(), .corpus = -1};
	struct workdir_seeds seeds;
	char note[200];
	struct err e;

	return state_open_corpus(s, target, &p.corpus, &e) == 0 &&
	       workdir_prepare(&p, &seeds, note, &e) == 0;
}

static void work_file(const struct run_dirs *r, const char *path, const char *text)
{
	scratch_write(r->work, path, text);
}

/* In a child that holds the lock: a run in progress. */
static void run_until_killed(int ready)
{
	struct state *s;
	struct run_dirs r;
	struct err e;
	char path[80];

	if (state_open(dir.path, STATE_LOCK, &s, &e) < 0 || state_run_begin(s, WHEN, &r, &e) < 0 ||
	    !begin_target(s, &r, "png") || !begin_target(s, &r, "xml"))
		_exit(1);
	work_file(&r, "png/corpus/1", "new png");
	snprintf(path, sizeof(path), "png/artifacts/%s", artifact_of("crash", "bad png"));
	work_file(&r, path, "bad png");
	work_file(&r, "xml/corpus/1", "new xml");
	/* The run was killed while this directory was prepared. */
	if (mkdirat(r.work, "half", 0755) < 0 || write(ready, "x", 1) != 1)
		_exit(1);
	while (pause() < 0)
		;
}

static void kill_a_run(void)
{
	int p[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_until_killed(p[1]);
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct state *opened(void)
{
	struct state *s = NULL;
	struct err e = {0};

	if (state_open(dir.path, STATE_LOCK, &s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

static bool has_file(const char *folder, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return holds(dir.fd, path, text);
}

/* The place where a clean end would have put it. */
static void check_saved(void)
{
	assert_true(has_file("corpus/png", name_of("new png"), "new png"));
	assert_true(has_file("corpus/xml", name_of("new xml"), "new xml"));
	assert_true(
	    has_file("logs/" RUN "/crashes/png", artifact_of("crash", "bad png"), "bad png"));
	assert_int_equal(entries(dir.fd, "corpus/png"), 1);
	assert_int_equal(entries(dir.fd, "corpus/xml"), 1);
	assert_int_equal(entries(dir.fd, "logs/" RUN "/crashes"), 1);
	assert_int_equal(entries(dir.fd, "logs/" RUN "/crashes/png"), 1);
	assert_int_equal(entries(dir.fd, "work"), 0);
}

/* The history's line for the run; there must be at least one. */
static json_t *lost_line(unsigned *ret_lines)
{
	_autofree_ char *text = NULL;
	json_t *j = NULL;
	struct slice in, line;
	struct err e;
	size_t n;

	assert_int_equal(fs_read(dir.fd, "stats/run_history.jsonl", 1 << 20, &text, &n, &e), 0);
	in = (struct slice){text, n};
	*ret_lines = 0;
	while (scan_line(&in, &line)) {
		json_decref(j);
		j = NULL;
		assert_int_equal(json_parse(line, &j, &e), 0);
		++*ret_lines;
	}
	assert_true(*ret_lines >= 1);
	return j;
}

static const char *str(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static void check_history(void)
{
	unsigned lines;
	_autojson_ json_t *j = lost_line(&lines);
	const json_t *targets = json_object_get(j, "targets"), *t;
	size_t i, failures = 0;

	assert_int_equal(lines, 1);
	assert_string_equal(str(j, "run"), RUN);
	assert_string_equal(str(j, "status"), "lost");
	assert_true(json_integer_value(json_object_get(j, "recovered_at")) > 1614834367);
	assert_int_equal(json_array_size(targets), 2);
	json_array_foreach(targets, i, t)
	{
		assert_string_equal(str(t, "reason"), "lost");
		assert_int_equal(json_integer_value(json_object_get(t, "new_inputs")), 1);
		failures += (size_t)json_integer_value(json_object_get(t, "failures"));
	}
	assert_int_equal(failures, 1);
}

static void test_killed_run(void **state)
{
	struct recovered rec = {.runs = 99};
	struct state *s;
	struct err e;

	(void)state;
	kill_a_run();
	assert_int_equal(entries(dir.fd, "work/" RUN), 3);
	s = opened();
	assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
	assert_int_equal(rec.runs, 1);
	assert_int_equal(rec.targets, 2);
	assert_int_equal(rec.inputs, 2);
	assert_int_equal(rec.artifacts, 1);
	check_saved();
	check_history();
	/* From now on no run is lost. */
	assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
	assert_int_equal(rec.runs + rec.targets + rec.inputs + rec.artifacts, 0);
	check_saved();
	check_history();
	state_close(s);
}

static void test_nothing_lost(void **state)
{
	struct state *s = opened();
	struct recovered rec = {.runs = 99};
	struct run_dirs r;
	struct err e;

	(void)state;
	assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
	assert_int_equal(rec.runs, 0);
	assert_int_equal(state_run_begin(s, WHEN, &r, &e), 0);
	state_run_end(s, &r, false); /* a clean end */
	assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
	assert_int_equal(rec.runs, 0);
	assert_false(scratch_has(s->dirfd, "stats/run_history.jsonl"));
	state_close(s);
}

/* The run's logs were deleted, by a user or on a full disk: the crashes still have a place. */
static void test_without_logs(void **state)
{
	struct recovered rec;
	struct state *s;
	struct err e;

	(void)state;
	kill_a_run();
	assert_int_equal(fs_remove_tree(dir.fd, "logs/" RUN, &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "corpus/png", &e), 0);
	s = opened();
	assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
	check_saved();
	state_close(s);
}

/* Whatever files a target left, fuzzcell starts. */
static void test_hostile(void **state)
{
	struct state *s = opened();
	struct recovered rec;
	struct run_dirs r;
	struct err e;
	char secret[64], path[80];
	int at;

	(void)state;
	assert_int_equal(state_run_begin(s, WHEN, &r, &e), 0);
	assert_true(begin_target(s, &r, "evil"));
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	at = open_dir_at(r.work, "evil/artifacts");
	odd_entries(at, "crash", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	odd_entries(at, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	for (unsigned i = 0; i < 21500; i++) { /* more than the list of names holds */
		snprintf(path, sizeof(path), "%u", i);
		scratch_write(at, artifact_of("timeout", path), path);
	}
	close(at);
	at = open_dir_at(r.work, "evil/corpus");
	odd_entries(at, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	close(at);
	if (recover_lost_runs(s, &rec, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(rec.artifacts, WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(entries(dir.fd, "logs/" RUN "/crashes/evil"), WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(entries(dir.fd, "corpus/evil"), 0);
	assert_int_equal(entries(dir.fd, "work"), 0);
	assert_true(holds(dir.fd, "secret", "secret"));
	close(r.logs);
	close(r.crashes);
	close(r.work);
	free(r.work_path);
	state_close(s);
}

static int recover_and_die(unsigned at)
{
	pid_t pid = fork();
	int ws;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct recovered rec;
		struct state *s;
		struct err e;

		if (state_open(dir.path, STATE_LOCK, &s, &e) < 0)
			_exit(2);
		fault_arm(at, FAULT_DIE);
		_exit(recover_lost_runs(s, &rec, &e) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	return WEXITSTATUS(ws);
}

/* The recovery itself is killed, at any call: the next start completes it, and the history has the
 * run. */
static void test_killed_again(void **state)
{
	unsigned at = 1;

	for (;; at++) {
		struct recovered rec;
		struct state *s;
		struct err e = {0};
		unsigned lines;
		int rc;

		kill_a_run();
		rc = recover_and_die(at);
		if (rc == 0)
			break;
		assert_int_equal(rc, 86);
		s = opened();
		if (recover_lost_runs(s, &rec, &e) < 0)
			fail_msg("killed at call %u: %s", at, e.msg);
		state_close(s);
		check_saved();
		json_decref(lost_line(&lines));
		assert_in_range(lines, 1, 2);
		each_teardown(state);
		each_setup(state);
	}
	check_saved();
	check_history();
	print_message("# killed at each of %u calls\n", at - 1);
	assert_true(at > 50);
}

static void test_fails(void **state)
{
	unsigned at = 1, reported = 0;

	for (;; at++) {
		struct recovered rec;
		struct state *s;
		struct err e = {0};
		unsigned lines;
		int r;

		kill_a_run();
		s = opened();
		fault_arm(at, FAULT_FAIL);
		r = recover_lost_runs(s, &rec, &e);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_true(*e.msg);
			reported++;
			assert_int_equal(recover_lost_runs(s, &rec, &e), 0);
		}
		state_close(s);
		check_saved();
		json_decref(lost_line(&lines));
		assert_in_range(lines, 1, 2);
		if (r == 0)
			break;
		each_teardown(state);
		each_setup(state);
	}
	print_message("# %u calls failed\n", reported);
	assert_true(reported > 20);
}

static const struct CMUnitTest tests[] = {
    CASE(test_killed_run), CASE(test_nothing_lost), CASE(test_without_logs),
    CASE(test_hostile),	   CASE(test_killed_again), CASE(test_fails),
};

UNIT_MAIN(tests)
