/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/status/health/health.h"
#include "tests/unit/status/stats.h"

#include <stdio.h>

static struct health judged;

/* Checks that these values give exactly this finding. */
static const struct health_finding *only_of(const struct health_target *t, enum health_code c)
{
	health_judge(t, &judged);
	for (size_t i = 0; i < judged.n; i++)
		if (judged.v[i].code != c)
			fail_msg("unexpected finding %s: %s", health_code_name(judged.v[i].code),
				 judged.v[i].reason);
	if (judged.n != 1)
		fail_msg("finding %s is missing", health_code_name(c));
	return &judged.v[0];
}

static const struct health_finding *only(json_t *stats, enum health_code c)
{
	struct health_target t = {.stats = stats};
	const struct health_finding *f = only_of(&t, c);

	json_decref(stats);
	return f;
}

static void nothing(json_t *stats)
{
	struct health_target t = {.stats = stats};

	health_judge(&t, &judged);
	json_decref(stats);
	if (judged.n > 0)
		fail_msg("%s: %s", health_code_name(judged.v[0].code), judged.v[0].reason);
	assert_int_equal(health_severity(&judged), HEALTH_OK);
}

static void a_healthy_target_has_no_finding(void **state)
{
	(void)state;
	nothing(stats_healthy());
}

static void unknown_facts_give_no_finding(void **state)
{
	json_t *odd = json_pack("{s:i, s:s, s:[], s:s, s:n, s:f, s:i}", "reason", 7, "edges",
				"many", "failures", "cov_of_build_before", "x", "outlook",
				"execs_per_cpu_second", -5.0, "seeds", -1);

	(void)state;
	nothing(NULL);
	nothing(json_object());
	nothing(json_array());
	assert_non_null(odd);
	nothing(odd);
}

static void does_it_start(void **state)
{
	json_t *j = stats_healthy();
	const struct health_finding *f;
	struct health_target t;

	(void)state;
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "startup-failed");
	stats_set_text(j, "note", "no such\nfile \xc3\xa4");
	f = only(j, HEALTH_STARTUP_CRASH);
	assert_int_equal(f->severity, HEALTH_ERROR);
	assert_string_equal(f->reason, "fuzzing never began, after 0 failures: no such?file ??");

	j = stats_healthy();
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "crash-loop");
	stats_fail(j, "crash", 3);
	(void)only(j, HEALTH_STARTUP_CRASH);

	j = stats_healthy();
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "run-deadline");
	stats_set(j, "cell_seconds", 0);
	assert_int_equal(only(j, HEALTH_NO_TURN)->severity, HEALTH_WARNING);
	t = (struct health_target){.stats = NULL, .waited = true};
	assert_int_equal(only_of(&t, HEALTH_NO_TURN)->severity, HEALTH_WARNING);
	t.stats = j = stats_healthy(); /* from an earlier run */
	(void)only_of(&t, HEALTH_NO_TURN);
	stats_set_text(j, "reason", "running"); /* by a run that was killed */
	t.now = t.fuzzed = 86400;
	t.silent_s = 3600;
	(void)only_of(&t, HEALTH_NO_TURN);
	t.now += 86400;
	health_judge(&t, &judged);
	assert_true(judged.n == 2 && judged.v[0].code == HEALTH_SILENT);
	json_decref(j);

	j = stats_healthy(); /* it ran, but there is no proof of fuzzing */
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "time-limit");
	f = only(j, HEALTH_NOT_FUZZED);
	assert_int_equal(f->severity, HEALTH_ERROR);
	assert_string_equal(f->reason, "590.0 s in its cell, 580.0 s of CPU time, and nothing says "
				       "that it was fuzzed (time-limit)");
	j = stats_healthy();
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "stopped"); /* by the user, while it started */
	nothing(j);

	j = stats_healthy();
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "no-binary");
	(void)only(j, HEALTH_NO_BINARY);

	j = stats_healthy(); /* waits for its turn in a living run */
	json_object_set_new(j, "fuzzed", json_false());
	stats_set_text(j, "reason", "running");
	nothing(j);
}

static void is_it_built_for_fuzzing(void **state)
{
	json_t *j = stats_healthy();
	const struct health_finding *f;

	(void)state;
	stats_set_text(j, "reason", "not-instrumented");
	stats_set(j, "edges", 0);
	(void)only(j, HEALTH_NOT_INSTRUMENTED);
	j = stats_healthy();
	stats_set(j, "edges", 99);
	assert_int_equal(only(j, HEALTH_FEW_EDGES)->severity, HEALTH_WARNING);
	j = stats_healthy();
	stats_set(j, "edges", 99); /* a small library, fully covered */
	assert_int_equal(json_object_set_new(j, "library_instrumented", json_true()), 0);
	nothing(j);
	j = stats_healthy();
	stats_set(j, "edges", 100);
	nothing(j);
	j = stats_healthy();
	stats_set(j, "cov_of_build_before", 1700);
	assert_string_equal(only(j, HEALTH_COVERAGE_DROPPED)->reason,
			    "it reaches 900 edges, the build before reached 1700");
	j = stats_healthy();
	stats_set_text(j, "forged", "9 edges reached,\nits program has 5");
	f = only(j, HEALTH_FORGED_STATISTICS);
	assert_int_equal(f->severity, HEALTH_ERROR);
	assert_string_equal(f->reason, "it printed statistics that cannot be true, so they do "
				       "not count: 9 edges reached,?its program has 5");
}

static void does_it_run(void **state)
{
	json_t *j = stats_healthy();
	const struct health_finding *f;

	(void)state;
	stats_set(j, "cpu_seconds", 5);
	f = only(j, HEALTH_IDLE);
	assert_int_equal(f->severity, HEALTH_ERROR);
	j = stats_healthy();
	stats_set(j, "execs_per_cpu_second", 99);
	assert_int_equal(only(j, HEALTH_SLOW)->severity, HEALTH_WARNING);
	j = stats_healthy();
	stats_set(j, "execs_per_cpu_second", 999);
	assert_int_equal(only(j, HEALTH_SLOW)->severity, HEALTH_NOTE);
	j = stats_healthy();
	stats_set(j, "execs_per_cpu_second", 1000);
	nothing(j);
	j = stats_healthy(); /* too little time for a rate */
	stats_set(j, "execs_per_cpu_second", 10);
	stats_set(j, "cpu_seconds", 1.9);
	stats_set(j, "cell_seconds", 2);
	nothing(j);
	j = stats_healthy();
	stats_set(j, "starved_share", 0.6);
	assert_int_equal(only(j, HEALTH_STARVED)->severity, HEALTH_NOTE);
	j = stats_healthy();
	stats_set_text(j, "reason", "starved");
	assert_int_equal(only(j, HEALTH_STARVED)->severity, HEALTH_WARNING);
}

static void what_fails_often_dominates(void **state)
{
	static const struct {
		const char *kind;
		enum health_code code;
	} kinds[] = {{"crash", HEALTH_CRASHES_DOMINATE}, {"exit", HEALTH_CRASHES_DOMINATE},
		     {"leak", HEALTH_LEAKS_DOMINATE},	 {"oom", HEALTH_OOM_DOMINATE},
		     {"oom-kill", HEALTH_OOM_DOMINATE},	 {"timeout", HEALTH_TIMEOUTS_DOMINATE},
		     {"stuck", HEALTH_TIMEOUTS_DOMINATE}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		json_t *j = stats_healthy();

		stats_fail(j, kinds[i].kind, 2); /* two may be chance */
		stats_set(j, "cell_seconds", 8);
		nothing(j);
		j = stats_healthy();
		stats_fail(j, kinds[i].kind, 5);
		nothing(j); /* once in two minutes */
		j = stats_healthy();
		stats_fail(j, kinds[i].kind, 60);
		stats_set(j, "execs_per_cpu_second", 3); /* this is no second finding then */
		assert_int_equal(only(j, kinds[i].code)->severity, HEALTH_WARNING);
		j = stats_healthy();
		stats_fail(j, kinds[i].kind, 60);
		stats_set_text(j, "reason", "crash-loop");
		assert_int_equal(only(j, kinds[i].code)->severity, HEALTH_ERROR);
	}
}

/* A given-up target has an error, for any reason. */
static void given_up_is_an_error(void **state)
{
	static const char *const reasons[] = {"crash-loop", "oom-killed", "pids-limit",
					      "disk-limit"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		json_t *j = stats_healthy();
		const struct health_finding *f;

		stats_set_text(j, "reason", reasons[i]);
		stats_set_text(j, "note", "why");
		stats_fail(j, "syscall", 10);
		json_object_set_new(j, "given_up", json_true());
		f = only(j, i < 3 ? HEALTH_GIVEN_UP : HEALTH_DISK_LIMIT);
		assert_int_equal(f->severity, HEALTH_ERROR);
		if (i == 0)
			assert_string_equal(f->reason,
					    "it was given up (crash-loop) after 10 failures: why");
	}
}

/* Ten timeouts of 25 s in 300 s leave 50 s of fuzzing. */
static void waiting_for_a_timeout_is_no_fuzzing(void **state)
{
	json_t *j = stats_healthy();

	(void)state;
	stats_fail(j, "timeout", 10);
	stats_set(j, "cell_seconds", 300);
	assert_string_equal(only(j, HEALTH_TIMEOUTS_DOMINATE)->reason,
			    "10 timeouts in 300 s, much of it spent in waiting for them");
	j = stats_healthy();
	stats_fail(j, "crash", 10);
	stats_set(j, "cell_seconds", 300);
	nothing(j);
}

static void limits(void **state)
{
	json_t *j = stats_healthy();

	(void)state;
	stats_set(j, "rss_peak_bytes", 683.0 * 1024 * 1024);
	(void)only(j, HEALTH_MEMORY_NEAR_LIMIT);
	j = stats_healthy();
	stats_set(j, "rss_peak_bytes", 682.0 * 1024 * 1024);
	stats_set(j, "memory_peak_bytes", 1024.0 * 1024 * 1024); /* also memory of files */
	nothing(j);
	j = stats_healthy();
	stats_set_text(j, "syscalls_refused", "socket (3)");
	assert_int_equal(only(j, HEALTH_SYSCALLS_REFUSED)->severity, HEALTH_NOTE);
	j = stats_healthy();
	stats_set_text(j, "syscalls_refused", "socket (3)");
	stats_fail(j, "syscall", 3);
	assert_int_equal(only(j, HEALTH_SYSCALLS_REFUSED)->severity, HEALTH_WARNING);
	j = stats_healthy();
	stats_set(j, "forks_refused", 1);
	assert_int_equal(only(j, HEALTH_FORKS_REFUSED)->severity, HEALTH_WARNING);
	j = stats_healthy();
	stats_set(j, "forks_refused", 1);
	stats_set_text(j, "reason", "pids-limit");
	assert_int_equal(only(j, HEALTH_FORKS_REFUSED)->severity, HEALTH_ERROR);
	j = stats_healthy();
	stats_set_text(j, "reason", "disk-limit");
	assert_int_equal(only(j, HEALTH_DISK_LIMIT)->severity, HEALTH_ERROR);
	j = stats_healthy();
	stats_set(j, "log_bytes_dropped", 5000);
	(void)only(j, HEALTH_OUTPUT_LOST);
	j = stats_healthy();
	stats_set(j, "untriaged", 2);
	(void)only(j, HEALTH_UNTRIAGED);
	j = stats_healthy();
	stats_set(j, "untriaged", 2);
	stats_set_text(j, "reason", "running"); /* the target gets there */
	nothing(j);
}

/* What waits for its check variants: a day is enough. */
static void checks_that_wait(void **state)
{
	struct health_target t = {.now = 1000000, .fuzzed = 1000000};
	json_t *j = stats_healthy();

	(void)state;
	t.stats = j;
	stats_set(j, "checks_left", 7);
	stats_set(j, "checks_behind_since", 1000000 - 86400);
	assert_int_equal(only_of(&t, HEALTH_CHECK_BEHIND)->severity, HEALTH_WARNING);
	assert_string_equal(only_of(&t, HEALTH_CHECK_BEHIND)->reason,
			    "7 inputs wait for its check variants, for 1d00h");
	stats_set(j, "checks_behind_since", 1000001 - 86400);
	nothing(j);
}

static void what_it_begins_with(void **state)
{
	json_t *j = stats_healthy();

	(void)state;
	stats_set(j, "seeds", 0);
	assert_int_equal(only(j, HEALTH_NO_SEEDS)->severity, HEALTH_NOTE);
	j = stats_healthy();
	stats_set(j, "dictionary_entries", 12);
	(void)only(j, HEALTH_DICTIONARY_UNUSED);
	j = stats_healthy();
	stats_set(j, "dictionary_entries", 12);
	stats_in(j, "inputs_kept", "by_dictionary", 1);
	nothing(j);
	j = stats_healthy(); /* too few to decide */
	stats_set(j, "dictionary_entries", 12);
	stats_in(j, "inputs_kept", "total", 49);
	nothing(j);
}

static void silence(void **state)
{
	struct health_target t = {.now = 1000000, .silent_s = 86400};
	json_t *j = stats_healthy();

	(void)state;
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0); /* no run ever had this target */
	t.first = t.now - 86401;
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 1);
	assert_string_equal(judged.v[0].reason,
			    "it was never fuzzed since a run first had it, 1d00h ago");
	t.fuzzed = t.now - 86400;
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0);
	t.fuzzed = t.now - 2 * 86400;
	t.stats = j;
	health_judge(&t, &judged);
	assert_int_equal(judged.v[0].code, HEALTH_SILENT);
	assert_string_equal(judged.v[0].reason, "it was last fuzzed 2d00h ago");
	stats_set_text(j, "reason", "running"); /* it is running now */
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0);
	t.fuzzed = t.now + 5; /* the clock was set back */
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0);
	t.silent_s = 0;
	t.fuzzed = 1;
	stats_set_text(j, "reason", "plateau");
	stats_set(j, "cov", 1300);
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 1);
	assert_int_equal(judged.v[0].code, HEALTH_COVERED);
	t.found = HEALTH_NO;
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 1);
	assert_int_equal(judged.v[0].code, HEALTH_NOT_FOUND);
	json_decref(j);
}

/* Days without a new edge are reported if no other finding explains them. */
static void does_it_still_grow(void **state)
{
	enum { DAY = 86400, T0 = 1700000000 };
	_autojson_ json_t *j = stats_healthy();
	struct health_target t = {.stats = j, .now = T0 + 9 * DAY, .grown = T0};

	(void)state;
	t.fuzzed = T0 + 2 * DAY;
	assert_string_equal(only_of(&t, HEALTH_NOT_GROWING)->reason,
			    "no run in the last 2d00h reached a new edge: 900 of 2000");
	t.fuzzed = T0 + 2 * DAY - 1;
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0);
	t.fuzzed = T0 + 5 * DAY;
	t.grown = 0; /* a record of an earlier version */
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 0);
	t.grown = T0;
	stats_set(j, "edges", 99);
	(void)only_of(&t, HEALTH_FEW_EDGES);
	stats_set(j, "edges", 2000);
	stats_set_text(j, "reason", "plateau");
	stats_set(j, "cov", 1300);
	(void)only_of(&t, HEALTH_COVERED);
}

static void the_worst_comes_first(void **state)
{
	_autojson_ json_t *j = stats_healthy(), *printed = NULL;
	struct health_target t = {.stats = j, .built = HEALTH_NO};

	(void)state;
	stats_set(j, "seeds", 0);
	stats_set(j, "edges", 20);
	health_judge(&t, &judged);
	assert_int_equal(judged.n, 3);
	assert_int_equal(judged.v[0].code, HEALTH_NO_BINARY);
	assert_int_equal(judged.v[1].code, HEALTH_FEW_EDGES);
	assert_int_equal(judged.v[2].code, HEALTH_NO_SEEDS);
	assert_int_equal(health_severity(&judged), HEALTH_ERROR);
	printed = health_json(&judged, "a");
	assert_string_equal(json_string_value(json_object_get(printed, "severity")), "error");
	assert_int_equal(json_array_size(json_object_get(printed, "findings")), 3);
}

static void as_json(void **state)
{
	_autojson_ json_t *j = NULL, *want = NULL;
	json_t *stats = stats_healthy();

	(void)state;
	stats_set(stats, "seeds", 0);
	j = health_finding_json(only(stats, HEALTH_NO_SEEDS), NULL);
	want = json_pack("{s:n, s:s, s:s, s:s, s:s}", "target", "code", "no-seeds", "severity",
			 "note", "reason", "it began without any seed", "advice",
			 json_string_value(json_object_get(j, "advice")));
	assert_non_null(want);
	assert_true(json_equal(j, want));
}

/* docs/health.md has each code, and no other. */
static void the_document_has_each_code(void **state)
{
	CLEANUP(fclose_p) FILE *f = fopen("docs/health.md", "re");
	char line[2000];
	bool seen[HEALTH_CODE_COUNT] = {false};

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && strcmp(line, "## The machine\n") != 0) {
		char code[40], severity[40];
		unsigned c = 0, s = 0;

		if (sscanf(line, "| `%39[a-z-]` | %39[a-z] |", code, severity) != 2)
			continue;
		while (c < HEALTH_CODE_COUNT && strcmp(code, health_code_name(c)) != 0)
			c++;
		while (s < HEALTH_SEVERITY_COUNT && strcmp(severity, health_severity_name(s)) != 0)
			s++;
		if (c == HEALTH_CODE_COUNT || s == HEALTH_SEVERITY_COUNT)
			fail_msg("'%s', '%s'", code, severity);
		else
			seen[c] = true;
	}
	for (unsigned c = 0; c < HEALTH_CODE_COUNT; c++)
		if (!seen[c])
			fail_msg("%s is not documented", health_code_name(c));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_healthy_target_has_no_finding),
    cmocka_unit_test(unknown_facts_give_no_finding),
    cmocka_unit_test(does_it_start),
    cmocka_unit_test(is_it_built_for_fuzzing),
    cmocka_unit_test(does_it_run),
    cmocka_unit_test(what_fails_often_dominates),
    cmocka_unit_test(given_up_is_an_error),
    cmocka_unit_test(waiting_for_a_timeout_is_no_fuzzing),
    cmocka_unit_test(limits),
    cmocka_unit_test(checks_that_wait),
    cmocka_unit_test(what_it_begins_with),
    cmocka_unit_test(silence),
    cmocka_unit_test(does_it_still_grow),
    cmocka_unit_test(the_worst_comes_first),
    cmocka_unit_test(as_json),
    cmocka_unit_test(the_document_has_each_code),
};

UNIT_MAIN(tests)
