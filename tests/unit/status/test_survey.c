/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/state/fuzzed.h"
#include "runner/status/survey/survey.h"
#include "tests/unit/state/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW UINT64_C(1800000000)

static const struct survey_opts opts = {.now = NOW, .silent_s = 86400};
static struct survey all;

static void put(const char *path, const char *text)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char parent[300];
	struct err e;
	int fd;

	snprintf(parent, sizeof(parent), "./%.*s", (int)(name - path), path);
	if (name > path)
		assert_int_equal(fs_mkdirs(dir.fd, parent + 2, 0755, &e), 0);
	fd = openat(dir.fd, parent, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	if (fs_replace(fd, name, slice_of(text), &e) < 0)
		fail_msg("%s", e.msg);
	close(fd);
}

static void survey(void)
{
	struct err e;

	if (survey_read(&state_of, &opts, &all, &e) < 0)
		fail_msg("%s", e.msg);
}

static const char *reason_of(const char *target)
{
	const struct survey_target *t = survey_find(&all, target);

	assert_non_null(t);
	return json_string_value(json_object_get(t->facts.stats, "reason"));
}

static void an_empty_state_has_nothing(void **state)
{
	(void)state;
	survey();
	assert_int_equal(all.n, 0);
	assert_int_equal(all.service.now, NOW);
	assert_false(all.service.disk.known);
	assert_null(all.service.damaged);
	assert_null(survey_find(&all, "a"));
	survey_done(&all);
}

static void targets_have_their_newest_object(void **state)
{
	static const struct fuzzed_target runs[] = {{.name = "b", .fuzzed = true},
						    {.name = "a", .waited = true},
						    {.name = "c", .fuzzed = true},
						    {.name = "d", .waited = true},
						    {.name = "e", .waited = true}};
	struct err e;

	(void)state;
	assert_int_equal(fuzzed_note(&state_of, runs, 5, NOW - 5, &e), 0);
	put("stats/targets/a.jsonl", "{\"reason\": \"old\"}\n{\"reason\": \"plateau\"}\n");
	put("stats/targets/b.jsonl", "{\"reason\": \"time-limit\"}\n");
	put("triage/e/crash-0123456789012345678901234567890123456789", "of a run that was killed");
	survey();
	assert_int_equal(all.n, 5);
	assert_string_equal(all.v[0].name, "a");
	assert_string_equal(reason_of("a"), "plateau");
	assert_string_equal(reason_of("b"), "time-limit");
	assert_null(survey_find(&all, "c")->facts.stats);
	assert_int_equal(survey_find(&all, "a")->facts.fuzzed, 0);
	assert_int_equal(survey_find(&all, "a")->facts.first, NOW - 5);
	assert_int_equal(survey_find(&all, "c")->facts.fuzzed, NOW - 5);
	assert_true(survey_find(&all, "a")->facts.waited);
	assert_null(survey_find(&all, "d")->facts.stats);
	assert_int_equal(
	    json_integer_value(json_object_get(survey_find(&all, "e")->facts.stats, "untriaged")),
	    1);
	assert_false(survey_find(&all, "b")->facts.waited);
	assert_null(all.service.lost_run);
	survey_done(&all);
}

static bool only_github(void *arg, const char *place)
{
	(void)arg;
	return strcmp(place, "github") == 0;
}

static void the_service(void **state)
{
	struct survey_opts o = opts;
	struct err e;

	(void)state;
	put("trigger.json.damaged", "x");
	put("damaged/corpus", "x");
	o.disk_reserve = 1;
	o.is_destination = only_github;
	assert_int_equal(survey_read(&state_of, &o, &all, &e), 0);
	assert_int_equal(all.service.damaged_n, 2);
	assert_string_equal(all.service.damaged, "trigger.json.damaged");
	assert_true(all.service.disk.known);
	assert_true(all.service.disk.free > 1);
	assert_int_equal(all.service.outbox.waiting, 0);
	survey_done(&all);
}

static void damaged_files_are_not_known(void **state)
{
	(void)state;
	put("stats/last_fuzzed.json",
	    "{\"a\": {\"fuzzed\": 5, \"first\": 1}, \"../b\": 7, \"c\": {}}");
	put("stats/targets/a.jsonl", "{\"reason\": ");
	put("stats/run_history.jsonl", "nothing\n");
	survey();
	assert_int_equal(all.n, 3);
	assert_null(survey_find(&all, "a")->facts.stats);
	assert_null(survey_find(&all, "../b")->facts.stats);
	assert_int_equal(survey_find(&all, "a")->facts.fuzzed, 5);
	assert_false(survey_find(&all, "a")->facts.waited);
	assert_string_equal(survey_find(&all, "a")->facts.damaged,
			    "stats/targets/a.jsonl: none of its lines can be read");
	assert_null(survey_find(&all, "../b")->facts.damaged);
	assert_null(survey_find(&all, "c")->facts.damaged);
	assert_int_equal(all.service.unreadable.is, HEALTH_WARNING);
	assert_string_equal(all.service.unreadable.why,
			    "stats/run_history.jsonl: none of its lines can be read");
	survey_done(&all);
}

/* A directory in the place of a file counts as damaged. */
static void what_is_no_file_is_damaged(void **state)
{
	struct health h;
	struct err e;

	(void)state;
	put("stats/targets/a.jsonl/x", "");
	put("stats/targets/b.jsonl", "{\"reason\": \"plateau\"}\nnothing\n");
	assert_int_equal(fs_mkdirs(dir.fd, "known_crashes.json", 0755, &e), 0);
	assert_int_equal(mkfifoat(dir.fd, "stats/run_history.jsonl", 0644), 0);
	survey();
	assert_int_equal(all.n, 2);
	health_judge(&all.v[0].facts, &h);
	assert_int_equal(h.n, 1);
	assert_string_equal(health_code_name(h.v[0].code), "damaged");
	assert_non_null(strstr(h.v[0].reason, "history 'stats/targets/a.jsonl': 'stats/targets/"
					      "a.jsonl' is not a regular file"));
	assert_null(all.v[1].facts.damaged);
	assert_string_equal(reason_of("b"), "plateau");
	assert_int_equal(all.service.unreadable.is, HEALTH_ERROR);
	assert_non_null(strstr(all.service.unreadable.why, "known_crashes.json"));
	survey_done(&all);
	assert_int_equal(unlinkat(dir.fd, "known_crashes.json", AT_REMOVEDIR), 0);
	survey();
	assert_int_equal(all.service.unreadable.is, HEALTH_WARNING);
	assert_non_null(strstr(all.service.unreadable.why, "run_history.jsonl"));
	survey_done(&all);
	put("known_crashes.json", "garbage");
	assert_int_equal(unlinkat(dir.fd, "stats/run_history.jsonl", 0), 0);
	survey();
	assert_int_equal(all.service.unreadable.is, HEALTH_WARNING);
	assert_non_null(strstr(all.service.unreadable.why, "are read from crashes/"));
	survey_done(&all);
}

/* Artifacts that were triaged after the run no longer wait. */
static void what_waits_is_what_waits_now(void **state)
{
	static const struct {
		const char *line;
		int64_t now;
	} is[] = {{"{\"untriaged\": 0}\n", 2},
		  {"{\"untriaged\": 7, \"timeouts_undecided\": 1}\n", 1},
		  {"{\"timeouts_undecided\": 3}\n", 0},
		  {"[]\n", 2}};

	(void)state;
	put("triage/a/crash-1", "x");
	put("triage/a/leak-2", "x");
	put("triage/a/.report-leak-2", "x");
	put("stats/targets/b.jsonl", "{\"untriaged\": 7}\n");
	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		put("stats/targets/a.jsonl", is[i].line);
		survey();
		assert_int_equal(json_integer_value(json_object_get(
				     survey_find(&all, "a")->facts.stats, "untriaged")),
				 is[i].now);
		assert_int_equal(json_integer_value(json_object_get(
				     survey_find(&all, "b")->facts.stats, "untriaged")),
				 0);
		survey_done(&all);
	}
}

/* The holder of the lock lives.  A child process has none of its parent's locks. */
static void assert_lost(const char *run, bool left)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		char got[SURVEY_RUN_MAX];
		bool is_left, lost = survey_lost_run(&state_of, got, &is_left);

		if (!run)
			_exit(lost);
		_exit(!lost || strcmp(got, run) != 0 || is_left != left);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void assert_lost_beside_a_run(const char *run)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int lock = openat(dir.fd, "lock", O_RDWR | O_CREAT, 0600);

	assert_true(lock >= 0);
	assert_int_equal(fcntl(lock, F_SETLK, &whole), 0);
	assert_lost(run, false);
	close(lock);
}

static void a_run_that_was_killed(void **state)
{
	struct err e;

	(void)state;
	put("stats/run_history.jsonl", "{\"run\": \"20261122-190000\", \"status\": \"done\"}\n");
	put("work/20261122-200000/x", "");
	put("work/junk/x", "");
	assert_lost("20261122-200000", true);
	survey();
	assert_string_equal(all.service.lost_run, "20261122-200000");
	assert_true(all.service.lost_left);
	survey_done(&all);

	assert_lost_beside_a_run(NULL); /* while it lived */
	assert_lost("20261122-200000", true);

	assert_int_equal(fs_remove_tree(dir.fd, "work", &e), 0); /* the next start saved it */
	put("stats/run_history.jsonl", "{\"run\": \"20261122-200000\", \"status\": \"lost\"}\n");
	assert_lost("20261122-200000", false);
	assert_lost_beside_a_run(NULL);
	put("stats/run_history.jsonl", "{\"run\": \"20261122-200000\", \"status\": \"lost\"}\n"
				       "{\"run\": \"20261122-210000\", \"status\": \"lost\"}\n");
	assert_lost("20261122-210000", false);
	assert_lost_beside_a_run("20261122-210000");

	/* The run ended, but not all its files could be saved. */
	put("logs/20261122-210000/summary.json", "{}");
	put("work/20261122-210000/x", "");
	assert_lost(NULL, false);
	assert_int_equal(fs_remove_tree(dir.fd, "work", &e), 0);
	assert_lost(NULL, false);
	put("stats/run_history.jsonl", "{\"run\": \"../3\", \"status\": \"lost\"}\n");
	assert_lost(NULL, false);
}

/* Their histories still exist. */
static void without_last_fuzzed(void **state)
{
	(void)state;
	put("stats/last_fuzzed.json", "{\"a\": ");
	put("stats/targets/a.jsonl", "{\"reason\": \"plateau\"}\n");
	put("stats/targets/.b.jsonl", "{}\n");
	put("stats/targets/c", "{}\n");
	survey();
	assert_int_equal(all.n, 1);
	assert_string_equal(reason_of("a"), "plateau");
	assert_int_equal(all.v[0].facts.fuzzed, 0);
	assert_true(all.v[0].seen > 0);
	survey_done(&all);
}

static const struct CMUnitTest tests[] = {
    CASE(an_empty_state_has_nothing),
    CASE(targets_have_their_newest_object),
    CASE(the_service),
    CASE(damaged_files_are_not_known),
    CASE(what_is_no_file_is_damaged),
    CASE(a_run_that_was_killed),
    CASE(without_last_fuzzed),
    CASE(what_waits_is_what_waits_now),
};

UNIT_MAIN(tests)
