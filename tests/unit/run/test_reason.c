/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/job/exec.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The names of the design; programs read them. */
static const char *const names[REASON_COUNT] = {
    [REASON_NONE] = "running",
    [REASON_PLATEAU] = "plateau",
    [REASON_STARVED] = "starved",
    [REASON_CPU_LIMIT] = "cpu-limit",
    [REASON_TIME_LIMIT] = "time-limit",
    [REASON_RUN_DEADLINE] = "run-deadline",
    [REASON_CRASHED] = "crashed",
    [REASON_CRASH_LOOP] = "crash-loop",
    [REASON_OOM_KILLED] = "oom-killed",
    [REASON_PIDS_LIMIT] = "pids-limit",
    [REASON_DISK_LIMIT] = "disk-limit",
    [REASON_STARTUP_FAILED] = "startup-failed",
    [REASON_NOT_INSTRUMENTED] = "not-instrumented",
    [REASON_NO_BINARY] = "no-binary",
    [REASON_STOPPED] = "stopped",
    [REASON_LOST] = "lost",
    [REASON_FINISHED] = "finished",
};

static const char *const failure_names[FAILURE_COUNT] = {
    [FAILURE_NONE] = "none",	     [FAILURE_CRASH] = "crash",
    [FAILURE_TIMEOUT] = "timeout",   [FAILURE_OOM] = "oom",
    [FAILURE_OOM_KILL] = "oom-kill", [FAILURE_LEAK] = "leak",
    [FAILURE_PIDS] = "pids",	     [FAILURE_SYSCALL] = "syscall",
    [FAILURE_STUCK] = "stuck",	     [FAILURE_INTERRUPT] = "interrupt",
    [FAILURE_EXIT] = "exit",
};

static void test_names(void **state)
{
	(void)state;
	for (unsigned r = 0; r < REASON_COUNT; r++) {
		assert_non_null(names[r]);
		assert_string_equal(reason_name((enum reason)r), names[r]);
		for (unsigned q = 0; q < r; q++)
			assert_string_not_equal(names[q], names[r]);
	}
	for (unsigned f = 0; f < FAILURE_COUNT; f++) {
		assert_non_null(failure_names[f]);
		assert_string_equal(failure_name((enum failure)f), failure_names[f]);
		for (unsigned q = 0; q < f; q++)
			assert_string_not_equal(failure_names[q], failure_names[f]);
	}
	assert_string_equal(reason_name(REASON_COUNT), "unknown");
	assert_string_equal(failure_name(FAILURE_COUNT), "unknown");
}

/* No reason may count as "fuzzed" for a target that was not fuzzed. */
static enum reason_counts wanted(unsigned r)
{
	switch (r) {
	case REASON_STARTUP_FAILED:
	case REASON_NOT_INSTRUMENTED:
	case REASON_NO_BINARY:
	case REASON_LOST:
	case REASON_COUNT:
		return REASON_UNFUZZED;
	case REASON_CRASH_LOOP:
	case REASON_OOM_KILLED:
	case REASON_PIDS_LIMIT:
	case REASON_DISK_LIMIT:
		return REASON_GIVEN_UP;
	default:
		return REASON_FUZZED;
	}
}

static void test_counts(void **state)
{
	(void)state;
	for (unsigned r = 0; r <= REASON_COUNT; r++)
		assert_int_equal(reason_counts((enum reason)r), wanted(r));
	for (unsigned c = 0; c < REASON_COUNTS_COUNT; c++)
		for (unsigned q = 0; q < c; q++)
			assert_string_not_equal(reason_counts_name((enum reason_counts)q),
						reason_counts_name((enum reason_counts)c));
	assert_string_equal(reason_counts_name(REASON_COUNTS_COUNT), "unknown");
}

/* The worst target of a run; with new crashes or not; with --fail-on-crash or not. */
static void test_status(void **state)
{
	static const struct {
		enum reason_counts worst;
		bool new_crashes, fail_on_crash;
		int status;
	} all[] = {
	    {REASON_FUZZED, false, false, 0},	{REASON_FUZZED, true, false, 0},
	    {REASON_FUZZED, false, true, 0},	{REASON_FUZZED, true, true, 1},
	    {REASON_GIVEN_UP, false, false, 5}, {REASON_GIVEN_UP, true, false, 5},
	    {REASON_GIVEN_UP, false, true, 1},	{REASON_GIVEN_UP, true, true, 1},
	    {REASON_UNFUZZED, false, false, 5}, {REASON_UNFUZZED, true, false, 5},
	    {REASON_UNFUZZED, false, true, 5},	{REASON_UNFUZZED, true, true, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(
		    reason_status(all[i].worst, all[i].new_crashes, all[i].fail_on_crash),
		    all[i].status);
}

static void find_row(const char *path, const char *text, const char *row)
{
	if (!strstr(text, row))
		fail_msg("%s lacks the row: %s", path, row);
}

/* docs/exit-codes.md and docs/fuzzcell.1 have each row of the table, and no other. */
static void test_documents(void **state)
{
	static const char *const paths[] = {"docs/exit-codes.md", "docs/fuzzcell.1"};
	unsigned rows_of[2] = {0};

	(void)state;
	for (unsigned d = 0; d < 2; d++) {
		char text[1 << 16];

		scratch_text(AT_FDCWD, paths[d], text, sizeof(text));
		for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++) {
			enum reason_counts c = reason_counts((enum reason)r);
			char row[400];

			snprintf(row, sizeof(row),
				 d == 0 ? "| `%s` | %s | %s | %d | %d |\n"
					: ".It Cm %s\n%s\n.Pq %s: %d , %d .\n",
				 reason_name((enum reason)r), reason_meaning((enum reason)r),
				 reason_counts_name(c), (int)reason_status(c, false, false),
				 (int)reason_status(c, false, true));
			find_row(paths[d], text, row);
		}
		for (const char *at = text; (at = strstr(at, d == 0 ? "fuzzed | " : "fuzzed: "));
		     at++)
			rows_of[d]++;
		for (const char *at = text;
		     (at = strstr(at, d == 0 ? "given up | " : "given up: ")); at++)
			rows_of[d]++;
		assert_int_equal(rows_of[d], REASON_COUNT - 1);
	}
}

/* Facts, the resulting failure, and the reason without any cap reached. */
static const struct row {
	const char *what;
	struct cell_facts facts;
	enum failure failure;
	enum reason next; /* ignored when fuzzcell asked for the end */
} rows[] = {
    {"crun could not start it", {.started = false}, FAILURE_NONE, REASON_STARTUP_FAILED},
    {"... whatever else seems to be known",
     {.started = false, .oom_kills = 1, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_CRASH},
     FAILURE_NONE,
     REASON_STARTUP_FAILED},

    {"a crash",
     {.started = true, .code = 1, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_CRASH, .fuzzed = 1},
     FAILURE_CRASH,
     REASON_NONE},
    {"a crash on a seed",
     {.started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_CRASH},
     FAILURE_CRASH,
     REASON_NONE},
    {"a fault of no kind is still one",
     {.started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_NONE, .fuzzed = 1},
     FAILURE_CRASH,
     REASON_NONE},
    {"a timeout",
     {.started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_TIMEOUT, .fuzzed = 1},
     FAILURE_TIMEOUT,
     REASON_NONE},
    {"the engine's memory limit",
     {.started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_OOM, .fuzzed = 1},
     FAILURE_OOM,
     REASON_NONE},
    {"a leak",
     {.started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_LEAK, .fuzzed = 1},
     FAILURE_LEAK,
     REASON_NONE},
    {"killed by a signal, without a word",
     {.started = true, .signo = SIGKILL, .end = ENGINE_KILLED, .fuzzed = 1},
     FAILURE_EXIT,
     REASON_NONE},
    {"a strange exit status",
     {.started = true, .code = 3, .end = ENGINE_UNKNOWN, .fuzzed = 1},
     FAILURE_EXIT,
     REASON_NONE},
    {"the same before fuzzing began: it does not start",
     {.started = true, .code = 3, .end = ENGINE_UNKNOWN},
     FAILURE_EXIT,
     REASON_STARTUP_FAILED},
    {"killed before fuzzing began",
     {.started = true, .signo = SIGSEGV, .end = ENGINE_KILLED},
     FAILURE_EXIT,
     REASON_STARTUP_FAILED},

    {"the engine refuses to start",
     {.started = true, .code = 1, .end = ENGINE_STARTUP_FAILED},
     FAILURE_NONE,
     REASON_STARTUP_FAILED},
    {"not instrumented",
     {.started = true, .end = ENGINE_NOT_INSTRUMENTED},
     FAILURE_NONE,
     REASON_NOT_INSTRUMENTED},
    {"not instrumented, and killed for it",
     {.started = true, .oom_kills = 1, .end = ENGINE_NOT_INSTRUMENTED},
     FAILURE_OOM_KILL,
     REASON_NOT_INSTRUMENTED},
    {"its own runs are done",
     {.started = true, .end = ENGINE_FINISHED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"it signalled itself: no stop was requested",
     {.started = true, .end = ENGINE_INTERRUPTED, .fuzzed = 1},
     FAILURE_INTERRUPT,
     REASON_NONE},
    {"... before it fuzzed",
     {.started = true, .end = ENGINE_INTERRUPTED},
     FAILURE_INTERRUPT,
     REASON_STARTUP_FAILED},
    {"... when we had asked it to stop",
     {.started = true, .ask = ASK_FINISH, .end = ENGINE_INTERRUPTED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"... and a child had reported a crash, and saved its input",
     {.started = true,
      .ask = ASK_FINISH,
      .end = ENGINE_FINISHED,
      .fault = ENGINE_FAULT_CRASH,
      .reported = true,
      .fuzzed = 1},
     FAILURE_CRASH,
     REASON_FINISHED},
    {"... at the process limit",
     {.started = true, .pids_refused = 1, .end = ENGINE_INTERRUPTED, .fuzzed = 1},
     FAILURE_PIDS,
     REASON_NONE},

    /* Facts from the kernel override all printed text. */
    {"the kernel's kill",
     {.started = true, .signo = SIGKILL, .oom_kills = 1, .end = ENGINE_KILLED, .fuzzed = 1},
     FAILURE_OOM_KILL,
     REASON_NONE},
    {"... of a child, and the engine calls it a crash",
     {.started = true,
      .oom_kills = 2,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_OOM_KILL,
     REASON_NONE},
    {"... and forks were refused",
     {.started = true, .oom_kills = 1, .pids_refused = 9, .end = ENGINE_UNKNOWN, .fuzzed = 1},
     FAILURE_OOM_KILL,
     REASON_NONE},
    {"... during our own dump at the mark",
     {.started = true, .oom_kills = 1, .ask = ASK_MEMORY, .forced = 1, .end = ENGINE_KILLED},
     FAILURE_OOM_KILL,
     REASON_NONE},
    {"... while we stopped it",
     {.started = true, .oom_kills = 1, .ask = ASK_FINISH, .end = ENGINE_FINISHED, .fuzzed = 1},
     FAILURE_OOM_KILL,
     REASON_FINISHED},

    {"refused forks, and it died of them",
     {.started = true,
      .pids_refused = 1,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_PIDS,
     REASON_NONE},
    {"refused forks, and an exit status of its own",
     {.started = true, .pids_refused = 1, .end = ENGINE_UNKNOWN, .fuzzed = 1},
     FAILURE_PIDS,
     REASON_NONE},
    {"refused forks before it could say anything",
     {.started = true, .pids_refused = 1, .end = ENGINE_STARTUP_FAILED},
     FAILURE_PIDS,
     REASON_NONE},
    {"refused forks that did not hurt",
     {.started = true, .pids_refused = 7, .end = ENGINE_FINISHED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},

    /* Forced dumps: their cause counts, whatever the engine reports. */
    {"past the memory mark",
     {.started = true,
      .ask = ASK_MEMORY,
      .forced = 1,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_OOM,
     REASON_NONE},
    {"a fork at the limit",
     {.started = true, .ask = ASK_PIDS, .forced = 1, .end = ENGINE_KILLED, .fuzzed = 1},
     FAILURE_PIDS,
     REASON_NONE},
    {"a refused system call",
     {.started = true,
      .ask = ASK_SYSCALL,
      .forced = 1,
      .pids_refused = 1,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_SYSCALL,
     REASON_NONE},

    {"held still",
     {.started = true, .ask = ASK_STUCK, .forced = 1, .end = ENGINE_KILLED, .fuzzed = 1},
     FAILURE_STUCK,
     REASON_NONE},

    {"executed itself",
     {.started = true,
      .signo = SIGKILL,
      .ask = ASK_RESTART,
      .forced = 1,
      .end = ENGINE_KILLED,
      .fuzzed = 1},
     FAILURE_EXIT,
     REASON_NONE},
    {"... and was killed by the kernel first",
     {.started = true,
      .signo = SIGKILL,
      .ask = ASK_RESTART,
      .oom_kills = 1,
      .end = ENGINE_KILLED,
      .fuzzed = 1},
     FAILURE_OOM_KILL,
     REASON_NONE},

    /* Stops by fuzzcell. */
    {"it stopped as asked",
     {.started = true, .ask = ASK_FINISH, .end = ENGINE_FINISHED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"it would not, and was dumped: no crash of its own",
     {.started = true,
      .ask = ASK_FINISH,
      .forced = 1,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"... and was killed",
     {.started = true, .ask = ASK_FINISH, .forced = 1, .end = ENGINE_KILLED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"the target reported a crash, hung, and was dumped",
     {.started = true,
      .ask = ASK_PAUSE,
      .forced = 1,
      .fault_before = ENGINE_FAULT_CRASH,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_CRASH,
      .fuzzed = 1},
     FAILURE_CRASH,
     REASON_NONE},
    {"... and was killed",
     {.started = true,
      .ask = ASK_FINISH,
      .forced = 1,
      .fault_before = ENGINE_FAULT_LEAK,
      .end = ENGINE_KILLED,
      .fault = ENGINE_FAULT_LEAK,
      .fuzzed = 1},
     FAILURE_LEAK,
     REASON_NONE},
    {"a crash of its own just before it could stop",
     {.started = true,
      .ask = ASK_FINISH,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_LEAK,
      .fuzzed = 1},
     FAILURE_LEAK,
     REASON_NONE},
    {"the same while pausing",
     {.started = true,
      .ask = ASK_PAUSE,
      .end = ENGINE_FAULTED,
      .fault = ENGINE_FAULT_TIMEOUT,
      .fuzzed = 1},
     FAILURE_TIMEOUT,
     REASON_NONE},
    {"paused by force",
     {.started = true, .ask = ASK_PAUSE, .forced = 1, .end = ENGINE_FAULTED, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
    {"our stop makes a strange exit no failure",
     {.started = true, .ask = ASK_FINISH, .end = ENGINE_UNKNOWN, .fuzzed = 1},
     FAILURE_NONE,
     REASON_FINISHED},
};

static void test_facts(void **state)
{
	const struct loop_guard fresh = {.failures_max = 100, .fuzzed = true};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		enum failure f = failure_of(&r->facts);

		print_message("# %s: %s\n", r->what, failure_name(f));
		assert_int_equal(f, r->failure);
		if (r->facts.ask != ASK_FINISH && r->facts.ask != ASK_PAUSE)
			assert_int_equal(reason_after(&r->facts, f, &fresh), r->next);
	}
}

/* For any facts: a cell that ended by itself has a failure or a reason; the reason is a job's
 * reason; and a cell that did not start has failed to start. */
static void test_all_facts(void **state)
{
	const struct loop_guard fresh = {.failures_max = 100, .fuzzed = true};
	unsigned n = 0;

	(void)state;
	for (unsigned bits = 0; bits < 16; bits++)
		for (unsigned end = 0; end < ENGINE_END_COUNT; end++)
			for (unsigned fault = 0; fault < ENGINE_FAULT_COUNT; fault++) {
				struct cell_facts c = {
				    .started = bits & 1,
				    .fuzzed = bits & 2,
				    .oom_kills = (bits >> 2) & 1,
				    .pids_refused = (bits >> 3) & 1,
				    .end = (enum engine_end)end,
				    .fault = (enum engine_fault)fault,
				};
				enum failure f = failure_of(&c);
				enum reason r = reason_after(&c, f, &fresh);

				assert_true(f != FAILURE_NONE || r != REASON_NONE);
				assert_true(r < REASON_COUNT);
				assert_true(c.started || r == REASON_STARTUP_FAILED);
				/* Only a user or fuzzcell stops a target. */
				assert_int_not_equal(r, REASON_STOPPED);
				assert_true(!c.started || !c.oom_kills || f == FAILURE_OOM_KILL);
				n++;
			}
	print_message("# %u combinations\n", n);
}

static void test_caps(void **state)
{
	const struct cell_facts crash = {
	    .started = true, .end = ENGINE_FAULTED, .fault = ENGINE_FAULT_CRASH, .fuzzed = true};
	struct loop_guard g = {.failures = 9, .failures_max = 10, .fuzzed = true};

	(void)state;
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_NONE);
	g.failures = 10;
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_CRASH_LOOP);
	assert_int_equal(reason_after(&crash, FAILURE_OOM, &g), REASON_CRASH_LOOP);
	assert_int_equal(reason_after(&crash, FAILURE_OOM_KILL, &g), REASON_OOM_KILLED);
	assert_int_equal(reason_after(&crash, FAILURE_PIDS, &g), REASON_PIDS_LIMIT);

	/* Fuzzing continues past a shallow bug. */
	g = (struct loop_guard){.failures = 1000000, .fuzzed = true};
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_NONE);

	/* The bug fails each start. */
	g = (struct loop_guard){.stillborn = STILLBORN_LATER_MAX - 1, .fuzzed = true};
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_NONE);
	g.stillborn = STILLBORN_LATER_MAX;
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_CRASH_LOOP);
	assert_int_equal(reason_after(&crash, FAILURE_OOM_KILL, &g), REASON_OOM_KILLED);
	g = (struct loop_guard){.stillborn = STILLBORN_FIRST_MAX - 1};
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_NONE);
	g.stillborn = STILLBORN_FIRST_MAX;
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_CRASH_LOOP);

	/* Each time one failing input is removed, so the next start may succeed. */
	g = (struct loop_guard){.stillborn = STILLBORN_TAKEN_MAX - 1,
				.taken = STILLBORN_TAKEN_MAX - 2};
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_NONE);
	g.stillborn = g.taken = STILLBORN_TAKEN_MAX;
	assert_int_equal(reason_after(&crash, FAILURE_CRASH, &g), REASON_CRASH_LOOP);
}

/* A failure is counted and saved under the same name. */
/* What is kept of a failure beside its input, by the end of its cell. */
static void test_causes(void **state)
{
	static const struct {
		struct exec_end end;
		bool reported, engines_oom;
		enum crash_own own;
		const char *detail;
		enum engine_artifact artifact;
	} cases[] = {
	    {{.late = true}, true, false, CRASH_OWN_TIME, "", ENGINE_ARTIFACT_TIMEOUT},
	    {{.failure = FAILURE_OOM_KILL}, true, false, CRASH_OWN_MEMORY, "", ENGINE_ARTIFACT_OOM},
	    {{.failure = FAILURE_OOM}, true, false, CRASH_OWN_MEMORY, "", ENGINE_ARTIFACT_OOM},
	    {{.failure = FAILURE_PIDS}, true, false, CRASH_OWN_PIDS, "", ENGINE_ARTIFACT_PIDS},
	    {{.failure = FAILURE_SYSCALL, .refused = "bpf"},
	     false,
	     false,
	     CRASH_OWN_SECCOMP,
	     "bpf",
	     ENGINE_ARTIFACT_SYSCALL},
	    /* The target's report names these. */
	    {{.failure = FAILURE_SYSCALL, .refused = "bpf"},
	     true,
	     false,
	     CRASH_OWN_NONE,
	     "",
	     ENGINE_ARTIFACT_CRASH},
	    {{.failure = FAILURE_OOM}, true, true, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_OOM},
	    {{.failure = FAILURE_TIMEOUT},
	     true,
	     false,
	     CRASH_OWN_NONE,
	     "",
	     ENGINE_ARTIFACT_TIMEOUT},
	    {{.failure = FAILURE_LEAK}, true, false, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_LEAK},
	    {{.failure = FAILURE_CRASH}, true, false, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_CRASH},
	    /* The target's own act. */
	    {{.failure = FAILURE_EXIT, .signo = 9},
	     false,
	     false,
	     CRASH_OWN_NONE,
	     "",
	     ENGINE_ARTIFACT_CRASH},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct engine_state engine = {.fault = cases[i].engines_oom ? ENGINE_FAULT_OOM
									    : ENGINE_FAULT_NONE};
		struct crash_report r = {.found = cases[i].reported, .type = "Printed"};
		struct exec_end end = cases[i].end;
		struct failure_cause c;

		end.engine = &engine;
		end.refused = end.refused ? end.refused : "";
		c = failure_own_report(&end, "t", &r);
		print_message("# case %zu\n", i);
		assert_int_equal(c.own, cases[i].own);
		assert_string_equal(c.detail, cases[i].detail);
		assert_int_equal(c.artifact, cases[i].artifact);
		assert_true(r.found);
		if (c.own != CRASH_OWN_NONE)
			assert_string_not_equal(r.type, "Printed");
		crash_report_done(&r);
	}
}

static void test_artifacts(void **state)
{
	static const struct {
		enum failure failure;
		enum engine_artifact artifact;
	} t[] = {
	    {FAILURE_CRASH, ENGINE_ARTIFACT_NONE},	{FAILURE_EXIT, ENGINE_ARTIFACT_NONE},
	    {FAILURE_TIMEOUT, ENGINE_ARTIFACT_NONE},	{FAILURE_LEAK, ENGINE_ARTIFACT_NONE},
	    {FAILURE_OOM, ENGINE_ARTIFACT_OOM},		{FAILURE_OOM_KILL, ENGINE_ARTIFACT_OOM},
	    {FAILURE_PIDS, ENGINE_ARTIFACT_PIDS},	{FAILURE_STUCK, ENGINE_ARTIFACT_TIMEOUT},
	    {FAILURE_SYSCALL, ENGINE_ARTIFACT_SYSCALL}, {FAILURE_NONE, ENGINE_ARTIFACT_NONE},
	    {FAILURE_INTERRUPT, ENGINE_ARTIFACT_NONE},
	};

	(void)state;
	assert_int_equal(sizeof(t) / sizeof(t[0]), FAILURE_COUNT);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(failure_artifact(t[i].failure), t[i].artifact);
	assert_string_equal(engine_artifact_name(ENGINE_ARTIFACT_PIDS), failure_name(FAILURE_PIDS));
	assert_string_equal(engine_artifact_name(ENGINE_ARTIFACT_SYSCALL),
			    failure_name(FAILURE_SYSCALL));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),     cmocka_unit_test(test_counts),
    cmocka_unit_test(test_facts),     cmocka_unit_test(test_all_facts),
    cmocka_unit_test(test_caps),      cmocka_unit_test(test_status),
    cmocka_unit_test(test_documents), cmocka_unit_test(test_causes),
    cmocka_unit_test(test_artifacts),
};

UNIT_MAIN(tests)
