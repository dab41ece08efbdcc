/* SPDX-License-Identifier: Apache-2.0 */
/* honggfuzz: commands that we build, and what we read and judge.  Where recordings of the real
 * engine are beside the project, all of them are judged. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/engine/honggfuzz/honggfuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDED "../shared/testdata/engines"

static void joins(const struct strv *argv, char *out, size_t room)
{
	*out = '\0';
	for (size_t i = 0; i < argv->n; i++)
		(void)snprintf(out + strlen(out), room - strlen(out), "%s%s", i ? " " : "",
			       argv->v[i]);
}

static void fuzzes(void **state)
{
	static const char *const seeds[] = {"/seeds/0", NULL};
	static const char *const flags[] = {"-mutations_per_run=3", "-use_value_profile=1", NULL};
	struct engine_fuzz job = {.binary = "/target/a_fuzzer",
				  .corpus_dir = "/work/corpus",
				  .seed_dirs = seeds,
				  .artifact_dir = "/work/artifacts",
				  .max_time_s = 60,
				  .input_timeout_s = 25};
	struct engine_cmd c;
	char text[1024];
	struct err e;

	(void)state;
	assert_int_equal(engine_honggfuzz.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_string_equal(text, "honggfuzz -v -P -n 1 -i /seeds/0 --output /work/corpus "
				  "-W /work/artifacts/ws --run_time 60 -t 25 -T -- "
				  "/target/a_fuzzer");
	engine_cmd_done(&c);
	job.runs = 7;
	job.max_len = 64;
	job.dict = "/seeds/dictionary";
	job.flags = flags;
	assert_int_equal(engine_honggfuzz.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_non_null(
	    strstr(text, " -T -N 7 -F 64 -w /seeds/dictionary --mutations_per_run 3 -- "));
	engine_cmd_done(&c);
}

static void knows_its_flag(void **state)
{
	static const char *const bad[] = {"-mutations_per_run",
					  "-mutations_per_run=",
					  "-mutations_per_run=soon",
					  "-n=2",
					  "-runs=3",
					  ""};
	char why[160];

	(void)state;
	assert_true(engine_honggfuzz.flag_ok(SLICE("-mutations_per_run=12"), why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(engine_honggfuzz.flag_ok(slice_of(bad[i]), why));
}

static struct engine_state after(const char *const *lines, struct engine_state s)
{
	for (size_t i = 0; lines[i]; i++)
		engine_honggfuzz.line(slice_of(lines[i]), &s);
	return s;
}

static void refuses_impossible_numbers(void **state)
{
	static const char *const lines[] = {
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0/900/0/2062",
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0/-1/0/2062",
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0",
	    "Summary iterations:437164 time:21 speed:20817 crashes_count:0 timeout_count:0 "
	    "new_units_added:92 slowest_unit_ms:8 guard_nb:1027 branch_coverage_percent:2",
	    NULL};
	struct engine_state s =
	    after(lines, (struct engine_state){.edges_most = 100, .execs_most = 1000});

	(void)state;
	assert_int_equal(s.refused, 3);
	assert_int_equal(s.cov, 0);
	assert_int_equal(s.execs, 0);
	assert_int_equal(s.edges_total, 0);
}

/* --- the recordings --------------------------------------------------------- */

/* How each recorded case ends; those that are not here end as a run that is stopped. */
static const struct {
	const char *name;
	enum engine_end end;
} ends[] = {
    {"missing_corpus_dir", ENGINE_STARTUP_FAILED},
    {"missing_target", ENGINE_STARTUP_FAILED},
    {"bad_flag", ENGINE_STARTUP_FAILED},
    {"help", ENGINE_STARTUP_FAILED},
    {"version", ENGINE_STARTUP_FAILED},
    {"not_a_target", ENGINE_NOT_INSTRUMENTED},
    {"merge_empty", ENGINE_NOT_INSTRUMENTED},	    /* no input, so it saw no edge */
    {"fuzz_magic_exit_upon_crash", ENGINE_UNKNOWN}, /* 42, by a flag that we do not use */
    {"bad_flag_value", ENGINE_KILLED},
    {"stop_sighup", ENGINE_KILLED},
    {"init_stop_sighup", ENGINE_KILLED},
    {"stop_sigusr1", ENGINE_KILLED},
    {"init_stop_sigusr1", ENGINE_KILLED},
    {"stop_sigkill", ENGINE_KILLED},
    {"init_stop_sigkill", ENGINE_KILLED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_two_files", ENGINE_FAULTED},
    {"replay_crash_abort", ENGINE_FAULTED},
    {"init_replay_crash_abort", ENGINE_KILLED}, /* recorded without our handle_abort */
    {"replay_dir", ENGINE_UNKNOWN},
    {"replay_hang", ENGINE_KILLED},
};

static enum engine_end wanted(const char *name)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(ends[i].name, name) == 0)
			return ends[i].end;
	return ENGINE_FINISHED;
}

static void feed(const char *name, const char *stream, struct engine_state *io)
{
	_autofree_ char *text = NULL;
	char path[256];
	struct slice in, line;
	struct err e;
	size_t n;

	snprintf(path, sizeof(path), RECORDED "/transcripts/honggfuzz/%s.%s", name, stream);
	if (fs_read(AT_FDCWD, path, 1 << 24, &text, &n, &e) < 0)
		fail_msg("%s", e.msg);
	in = (struct slice){text, n};
	while (scan_line(&in, &line))
		engine_honggfuzz.line(line, io);
	engine_honggfuzz.line(in, io);
}

static enum engine_artifact kind_of(struct slice name)
{
	if (name.n < 5 || memcmp(name.p + name.n - 5, ".fuzz", 5) != 0)
		return ENGINE_ARTIFACT_NONE;
	return memcmp(name.p, "SIGVTALRM", 9) == 0 ? ENGINE_ARTIFACT_TIMEOUT
						   : ENGINE_ARTIFACT_CRASH;
}

/* Every file that it made in its work directory. */
static unsigned judge_files(const char *name)
{
	_autofree_ char *text = NULL;
	struct slice in, line;
	char path[256];
	unsigned found = 0;
	struct err e;
	size_t n;

	snprintf(path, sizeof(path), RECORDED "/transcripts/honggfuzz/%s.files", name);
	if (fs_read(AT_FDCWD, path, 1 << 24, &text, &n, &e) < 0)
		fail_msg("%s", e.msg);
	in = (struct slice){text, n};
	while (scan_line(&in, &line)) {
		struct slice file = line;

		if (!slice_find(&file, SLICE(" ws/")) || file.n == 0 ||
		    memmem(file.p, file.n, ".fuzz.", 6))
			continue;
		if (engine_honggfuzz.artifact(file) != kind_of(file))
			fail_msg("%s: '%.*s'", name, (int)file.n, file.p);
		found += kind_of(file) != ENGINE_ARTIFACT_NONE;
	}
	return found;
}

/* A replay runs below fuzzcell-each, which says what it runs. */
static struct engine_state state_after(const char *name, bool replay, const json_t *code)
{
	struct engine_state s = {0};

	if (replay)
		engine_honggfuzz.line(SLICE("Running: /seeds/input"), &s);
	feed(name, "stderr", &s);
	feed(name, "stdout", &s);
	if (replay && json_is_integer(code) && json_integer_value(code) == 0)
		engine_honggfuzz.line(SLICE("Executed /seeds/input in 1 ms"), &s);
	return s;
}

static void judge(const char *name, const json_t *expected)
{
	const json_t *argv = json_object_get(expected, "argv"), *code;
	bool replay = !strstr(json_string_value(json_array_get(argv, 0)), "/honggfuzz");
	struct engine_state s;
	enum engine_end end;
	int status, signo = 0;

	code = json_object_get(expected, "exit");
	s = state_after(name, replay, code);
	status = json_is_integer(code) ? (int)json_integer_value(code) : 128 + SIGKILL;
	if (status > 128 && status < 128 + 65 && status != 255) {
		signo = status - 128;
		status = 0;
	}
	end = engine_honggfuzz.classify(&s, status, signo);
	if (end != wanted(name))
		fail_msg("%s: %d, not %d", name, end, wanted(name));
	(void)judge_files(name);
	/* A run that ended by itself or was stopped has statistics. */
	if (end == ENGINE_FINISHED && !replay && s.execs == 0)
		fail_msg("%s: no executions", name);
}

static void judges_every_recorded_case(void **state)
{
	_autojson_ json_t *all = NULL;
	json_t *cases;
	json_error_t at;
	const char *name;
	json_t *one;
	unsigned n = 0;

	(void)state;
	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	all = json_load_file(RECORDED "/expected.json", 0, &at);
	assert_non_null(all);
	cases = json_object_get(json_object_get(all, "engines"), "honggfuzz");
	json_object_foreach(cases, name, one)
	{
		judge(name, one);
		n++;
	}
	assert_true(n >= 46);
	assert_true(judge_files("fuzz_magic") >= 2);
	assert_true(judge_files("fuzz_timeout_as_crash") >= 1);
}

static void reads_a_recorded_run(void **state)
{
	struct engine_state s = {0};

	(void)state;
	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	feed("fuzz_healthy", "stderr", &s);
	assert_true(s.running && s.done);
	assert_true(s.execs > 100000);
	assert_true(s.cov >= 21);
	assert_true(s.edges_total > 1000);
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(knows_its_flag),
    cmocka_unit_test(refuses_impossible_numbers),
    cmocka_unit_test(judges_every_recorded_case),
    cmocka_unit_test(reads_a_recorded_run),
};

UNIT_MAIN(tests)
