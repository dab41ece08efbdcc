/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/state/fuzzed.h"
#include "runner/survey/survey.h"
#include "tests/unit/state/stats.h"

#include <fcntl.h>
#include <stdio.h>

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
	static const struct fuzzed_target runs[] = {{"b", true}, {"a", false}, {"c", true}};
	struct err e;

	(void)state;
	assert_int_equal(fuzzed_note(&state_of, runs, 3, NOW - 5, &e), 0);
	put("stats/targets/a.jsonl", "{\"reason\": \"old\"}\n{\"reason\": \"plateau\"}\n");
	/* of a version without such lines; the run that had it last was not the last one */
	put("stats/run_history.jsonl", "{\"run\": \"1\"}\n{\"run\": \"2\"}\n{\"run\": \"../3\"}\n");
	put("logs/1/b.stats", "{\"reason\": \"time-limit\"}");
	put("logs/2/x.stats", "{}");
	survey();
	assert_int_equal(all.n, 3);
	assert_string_equal(all.v[0].name, "a");
	assert_string_equal(reason_of("a"), "plateau");
	assert_string_equal(reason_of("b"), "time-limit");
	assert_null(survey_find(&all, "c")->facts.stats);
	assert_int_equal(survey_find(&all, "a")->facts.fuzzed, 0);
	assert_int_equal(survey_find(&all, "a")->facts.first, NOW - 5);
	assert_int_equal(survey_find(&all, "c")->facts.fuzzed, NOW - 5);
	assert_string_equal(json_string_value(json_object_get(all.service.last_run, "run")),
			    "../3");
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
	o.told = only_github;
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
	survey_done(&all);
}

/* Their histories are there still. */
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
    CASE(without_last_fuzzed),
};

UNIT_MAIN(tests)
