/* SPDX-License-Identifier: Apache-2.0 */
/* Triage of a failure that does not reproduce. */
#include "tests/unit/unit.h"

#include "base/digest.h"
#include "base/json.h"
#include "runner/crash/report/json.h"
#include "tests/unit/run/triage.h"

/* --- a failure that does not reproduce --------------------------------------- */

static void keep_parsed(const char *target, const char *text, json_t *parsed)
{
	struct kept k = {.run = "20240401-000000",
			 .commit = "c0",
			 .time = 1711929600,
			 .text = slice_of(text),
			 .report = parsed};
	_autoclose_ int queue = -1;
	char path[100];

	if (!scratch_has(play.dir.fd, "t"))
		scratch_write(play.dir.fd, "t", "the binary");
	snprintf(path, sizeof(path), "%s/t", play.dir.path);
	assert_true(file_id_look(path, &k.binary));

	snprintf(path, sizeof(path), "triage/%s", target);
	put(path, ARTIFACT, "S");
	OK(fs_open_dir(play.dir.fd, path, &queue, e));
	OK(kept_write(queue, ARTIFACT, &k, e));
}

static void keep(const char *target, const char *text)
{
	keep_parsed(target, text, NULL);
}

static const char *sha1_of(const char *text)
{
	static char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex(slice_of(text), hex);
	return hex;
}

/* The finding cell's report is parsed once.  A damaged result is parsed again. */
static void the_result_of_the_parser_is_kept(void **state)
{
	struct crash_options o = {.target = "a"};
	_autojson_ json_t *parsed = NULL;
	struct crash_report r;
	struct ledger *l;

	(void)state;
	crash_parse(slice_of(report), &o, &r);
	parsed = crash_report_json(&r);
	keep_parsed("a", "no report\n", parsed);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.found, 1);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_string_equal(ledger_at(l, 0)->signature, r.signature);
	ledger_free(l);
	crash_report_done(&r);

	assert_int_equal(json_object_set_new(parsed, "frames", json_integer(1)), 0);
	keep_parsed("b", report, parsed);
	triage("b", TRIAGE_QUEUE);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.flaky, 1);
	l = ledger();
	assert_string_equal(ledger_at(l, ledger_count(l) - 1)->crash_type,
			    "Heap-buffer-overflow\nWRITE 1");
	ledger_free(l);
}

static void kept_report_names_it(void **state)
{
	struct ledger *l;
	const struct known_crash *c;
	char place[VAULT_PLACE], path[VAULT_PATH], text[2000];

	(void)state;
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	assert_true(play.replays >= 3);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.flaky, 1);
	assert_false(has("triage/a/" ARTIFACT) || has("triage/a/.report-" ARTIFACT));
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	c = ledger_at(l, 0);
	assert_string_equal(c->crash_type, "Heap-buffer-overflow\nWRITE 1");
	assert_string_equal(ledger_state_name(c->state), "flaky");
	assert_string_equal(c->severity, "high");
	assert_true(c->security && c->unsymbolized);
	assert_string_equal(c->top_frame, "t+0x5ce92");
	assert_int_equal(c->frames.n, 2);
	assert_string_equal(c->first_seen.commit, "c0");
	assert_string_equal(c->first_seen.run, "20240401-000000");
	assert_int_equal(c->first_seen.time, 1711929600);
	assert_int_equal(c->reproduction.hits, 0);
	OK(vault_place(slice_of(c->signature), "", place, e));
	vault_path(place, VAULT_REPORT, path);
	assert_string_equal(scratch_text(play.dir.fd, path, text, sizeof(text)), report);
	ledger_free(l);

	keep("a", report); /* the crash is known: nothing is run */
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.replays, 0);
	assert_int_equal(play.sum.artifacts, 1);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_int_equal(ledger_at(l, 0)->count, 2);
	ledger_free(l);
	assert_false(has("triage/a/.report-" ARTIFACT));
}

#define SHA1 "0123456789012345678901234567890123456789"

/* "name" waits in the queue, with the cause by its cell's end; cause NULL: without a report. */
static void wait_for_triage(const char *name, const char *cause, const char *detail)
{
	struct kept k = {.run = "20240401-000000",
			 .commit = "c0",
			 .time = 1711929600,
			 .own = cause,
			 .detail = detail,
			 .text = SLICE("planted: bpf: 1 EPERM\n")};
	_autoclose_ int queue = -1;

	put("triage/a", name, "S");
	OK(fs_open_dir(play.dir.fd, "triage/a", &queue, e));
	if (cause)
		OK(kept_write(queue, name, &k, e));
}

/* A failure that does not reproduce keeps the name of its cause; its report may be lost. */
static void test_cause(void **state)
{
	static const struct {
		const char *artifact, *cause, *detail, *type, *state;
	} t[] = {
	    {"syscall-" SHA1, "syscall", "bpf", "Refused-system-call", "bpf"},
	    {"syscall-" SHA1, NULL, NULL, "Refused-system-call", "a"},
	    {"pids-" SHA1, "pids", "", "Cell-process-limit", "a"},
	    {"pids-" SHA1, NULL, NULL, "Cell-process-limit", "a"},
	    {"oom-" SHA1, "memory", "", "Cell-memory-limit", "a"},
	    {"oom-" SHA1, NULL, NULL, "Cell-memory-limit", "a"},
	    /* A name from a later version. */
	    {"crash-" SHA1, "sunspots", "", "Unexpected-exit", "not reproduced"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct ledger *l;

		each_teardown(state);
		each_setup(state);
		wait_for_triage(t[i].artifact, t[i].cause, t[i].detail);
		triage("a", TRIAGE_QUEUE);
		assert_true(play.replays >= 3);
		assert_int_equal(play.sum.left, 0);
		l = ledger();
		assert_int_equal(ledger_count(l), 1);
		assert_string_equal(ledger_at(l, 0)->crash_type, t[i].type);
		assert_string_equal(ledger_at(l, 0)->crash_state.v[0], t[i].state);
		assert_string_equal(ledger_state_name(ledger_at(l, 0)->state), "flaky");
		ledger_free(l);
	}
}

/* All inputs that ended the cell in this way have one signature: each is replayed for its own. */
static void test_cause_is_run_again(void **state)
{
	struct ledger *l;

	(void)state;
	wait_for_triage("syscall-" SHA1, "syscall", "bpf");
	triage("a", TRIAGE_QUEUE);
	wait_for_triage("syscall-" SHA1, "syscall", "bpf");
	play.replays = 0;
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	assert_true(play.replays > 0);
	l = ledger();
	assert_int_equal(ledger_count(l), 2);
	ledger_free(l);
}

/* Reported before the fix, triaged after it: the crash does not count as back. */
static void kept_before_the_fix(void **state)
{
	struct ledger *l;
	char signature[CRASH_KEY_HEX];

	(void)state;
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	snprintf(signature, sizeof(signature), "%s", ledger_at(l, 0)->signature);
	OK(ledger_fixed(l, signature, "a", 1711929601, "c1", "r", e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	expect_state(signature, LEDGER_FIXED);
}

/* A replay that fails overrides the old report. */
static void kept_and_seen(void **state)
{
	struct ledger *l;

	(void)state;
	keep("a",
	     "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n    #0 0x5  (/t+0x5)\n");
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_string_equal(ledger_at(l, 0)->crash_type, "Heap-buffer-overflow\nWRITE 1");
	assert_string_equal(ledger_at(l, 0)->first_seen.commit, "c2");
	ledger_free(l);
}

/* The reproducer belongs to the target that found the crash first, and runs in it. */
static void test_of_another_target(void **state)
{
	static const char *const inputs[] = {"SSSS", "S"};
	static const char *const targets[] = {"a", "b"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ledger *l;
		char path[40];

		snprintf(path, sizeof(path), "triage/%s", targets[i]);
		put(path, ARTIFACT, inputs[i]);
		play.fails = targets[i];
		triage(targets[i], TRIAGE_QUEUE);
		assert_int_equal(play.sum.artifacts, 1);
		l = ledger();
		assert_int_equal(ledger_count(l), 1);
		assert_string_equal(ledger_at(l, 0)->fuzzer, "a");
		assert_int_equal(ledger_at(l, 0)->targets.n, i > 0);
		assert_int_equal(ledger_at(l, 0)->input_bytes, 4);
		assert_string_equal(ledger_at(l, 0)->input_sha1, sha1_of("SSSS"));
		ledger_free(l);
	}
}

/* An invalid kept report counts as none. */
static void nothing_was_kept(void **state)
{
	static const char *const texts[] = {"", "not a crash\n"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct ledger *l;

		keep("a", i < 2 ? texts[i] : "");
		if (i == 2)
			put("triage/a", ".report-" ARTIFACT, "{\"v\": 1");
		triage("a", TRIAGE_QUEUE);
		assert_string_equal(play.sum.note, "");
		assert_false(has("triage/a/" ARTIFACT) || has("triage/a/.report-" ARTIFACT));
		l = ledger();
		assert_int_equal(ledger_count(l), 1);
		assert_string_equal(ledger_at(l, 0)->crash_type, "Unexpected-exit");
		assert_string_equal(ledger_at(l, 0)->first_seen.commit, "c2");
		ledger_free(l);
	}
}

/* --- symbolization ----------------------------------------------------------- */

static const char names[] = "0x5ce92\ninlined\n/src/a.c:1:2\nouter\n/src/a.c:3:4\n\n"
			    "0x5ce93\nLLVMFuzzerTestOneInput\n/src/f.c:5:6\n\n";

/* The only crash is named by top_frame, which is in its report. */
static void expect_crash(const char *top_frame, bool unsymbolized)
{
	struct ledger *l = ledger();
	const struct known_crash *c;
	char place[VAULT_PLACE], path[VAULT_PATH], text[2000];

	assert_int_equal(ledger_count(l), 1);
	c = ledger_at(l, 0);
	assert_string_equal(c->top_frame, top_frame);
	assert_int_equal(c->unsymbolized, unsymbolized);
	assert_string_equal(c->crash_type, "Heap-buffer-overflow\nWRITE 1");
	assert_string_equal(c->severity, "high");
	assert_string_equal(c->first_seen.commit, "c0");
	assert_int_equal(c->raw_keys.n, 1);
	OK(vault_place(slice_of(c->signature), "", place, e));
	vault_path(place, VAULT_REPORT, path);
	scratch_text(play.dir.fd, path, text, sizeof(text));
	assert_int_equal(strstr(text, " in inlined /src/a.c:1:2\n") != NULL, !unsymbolized);
	ledger_free(l);
}

static void test_names(void **state)
{
	(void)state;
	play.answers = names;
	play.refused = 1; /* it waits for memory once */
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.asked, 1);
	expect_crash("inlined", false);
	keep("a", report); /* recognised by its offsets */
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.asked + play.replays, 0);
	expect_crash("inlined", false);
	/* The same offsets in another build can be another bug: the artifact is replayed. */
	scratch_write(play.dir.fd, "t", "another build");
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	assert_true(play.replays > 0);
}

/* Names from another binary would be wrong. */
static void test_names_of_another(void **state)
{
	(void)state;
	play.answers = names;
	keep("a", report);
	scratch_write(play.dir.fd, "t", "another binary");
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.asked, 0);
	expect_crash("t+0x5ce92", true);
}

static void test_no_names(void **state)
{
	static const char *const answers[] = {"", "0x5ce92\n??\n??:0\n\n0x5ce93\n??\n??:0\n",
					      "cannot open '/target/t'\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		each_teardown(NULL);
		each_setup(NULL);
		play.answers = answers[i];
		keep("a", report);
		triage("a", TRIAGE_QUEUE);
		assert_int_equal(play.asked, 1);
		expect_crash("t+0x5ce92", true);
	}
}

static void test_names_stopped(void **state)
{
	struct ledger *l;

	(void)state;
	play.answers = names;
	play.stop = true;
	keep("a", report);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.left, 1);
	l = ledger();
	assert_int_equal(ledger_count(l), 0);
	ledger_free(l);
	assert_true(has("triage/a/" ARTIFACT) && has("triage/a/.report-" ARTIFACT));
	play.stop = false;
	triage("a", TRIAGE_QUEUE);
	expect_crash("inlined", false);
}

static const struct CMUnitTest tests[] = {
    CASE(the_result_of_the_parser_is_kept),
    CASE(kept_report_names_it),
    CASE(kept_before_the_fix),
    CASE(kept_and_seen),
    CASE(test_cause),
    CASE(test_cause_is_run_again),
    CASE(test_of_another_target),
    CASE(nothing_was_kept),
    CASE(test_names),
    CASE(test_names_of_another),
    CASE(test_no_names),
    CASE(test_names_stopped),
};

UNIT_MAIN(tests)
