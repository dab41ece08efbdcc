/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/publishes.h"

#include <time.h>

/* --- notifications ----------------------------------------------------------------- */

static void test_new(void **state)
{
	_autojson_ json_t *j = NULL;

	(void)state;
	seen(A, "r1", T0, false);
	queue(3);
	assert_true(waits("github-new-" A) && waits("hook-chat-new-" A) &&
		    waits("hook-all-new-" A));
	queue(0);
	open_box();
	queue(0);
	j = event_of("github-new-" A);
	assert_string_equal(str(j, "event"), "new");
	assert_string_equal(str(j, "signature"), A);
	assert_string_equal(str(j, "repository"), "o/r");
	assert_string_equal(str(j, "action"), "none");
	assert_string_equal(str(j, "title"), "Fuzzing crash: png_fuzzer \xe2\x80\x94 "
					     "Heap-buffer-overflow READ 4 in parse");
	assert_memory_equal(str(j, "body"), "<!-- fuzzcell-signature: " A " -->\n", 46);
	assert_int_equal(json_array_size(json_object_get(j, "labels")), 1);
	assert_true(json_is_null(json_object_get(j, "upload")));
	all_done(T0);
	queue(0);
	/* The next run does not see the crash, the run after it does. */
	ledger_next_run(ledger, "r2");
	p.run = "r2";
	queue(0);
	p.run = "r3";
	p.now = T0 + 7200;
	seen(A, "r3", T0 + 7200, false);
	queue(1);
	assert_true(waits("github-again-" A "-r3"));
	json_decref(take_ptr(&j));
	j = event_of("github-again-" A "-r3");
	assert_string_equal(str(j, "action"), "act");
	assert_non_null(strstr(str(j, "comment"), "still there"));
	queue(0);
	all_done(T0 + 7200);
	queue(0);
	github.on_again = ISSUE_NONE;
	p.run = "r4";
	seen(A, "r4", T0 + 9000, false);
	queue(0);
}

static int how_it_runs(const void *arg, const char *target, struct engine_cmd *ret, struct err *e)
{
	(void)arg;
	(void)e;
	assert_string_equal(target, "png_fuzzer");
	strv_push(&ret->env, "ASAN_OPTIONS=a=1:exitcode=76");
	strv_push(&ret->argv, "./");
	strv_push(&ret->argv, "-rss_limit_mb=100");
	strv_push(&ret->argv, "reproducer");
	return 0;
}

/* The text has the program's own name, and no path of the machine. */
static void test_commands(void **state)
{
	static const struct publish_target t = {
	    .name = "png_fuzzer", .build = "make png", .binary = "/srv/out/real_name"};
	_autojson_ json_t *j = NULL;

	(void)state;
	p.n_hooks = 0;
	p.targets = &t;
	p.n_targets = 1;
	p.shown_config = "/etc/fuzz.json";
	p.command = how_it_runs;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, true);
	queue(2);
	p.command = NULL;
	j = event_of("github-new-" A);
	assert_non_null(strstr(str(j, "body"),
			       "```sh\ngit checkout c0ffee\nmake png\nASAN_OPTIONS=a=1 \\\n"
			       "\t./real_name -rss_limit_mb=100 reproducer\n```"));
	assert_non_null(strstr(str(j, "body"), "fuzzcell crash show " A "\n"
					       "fuzzcell crash reproduce " A "\n"));
	assert_null(strstr(str(j, "body"), "/srv/out"));
	assert_null(strstr(str(j, "body"), "/etc/"));
	json_decref(take_ptr(&j));
	j = event_of("github-new-" B); /* redacted: without the commit */
	assert_non_null(strstr(str(j, "body"), "fuzzcell crash show " B "\n"));
	assert_null(strstr(str(j, "body"), "real_name"));
	assert_null(strstr(str(j, "body"), "c0ffee"));
}

/* A Bazel target has the label, the corpus in the tree, and the path of the built program. */
static void test_bazel_target(void **state)
{
	static const struct publish_target t = {.name = "png_fuzzer",
						.build = "bazel build //p:png_fuzzer_bin",
						.binary = "bazel-out/k8/bin/p/png_fuzzer_bin",
						.label = "//p:png_fuzzer_bin",
						.corpus = "p/png_corpus"};
	_autojson_ json_t *j = NULL;

	(void)state;
	p.n_hooks = 0;
	p.targets = &t;
	p.n_targets = 1;
	p.command = how_it_runs;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, true);
	queue(2);
	p.command = NULL;
	j = event_of("github-new-" A);
	assert_non_null(strstr(str(j, "body"), "**Label:** `//p:png_fuzzer_bin`\n"
					       "**Corpus:** `p/png_corpus`\n"));
	assert_non_null(strstr(str(j, "body"),
			       "git checkout c0ffee\nbazel build //p:png_fuzzer_bin\n"
			       "ASAN_OPTIONS=a=1 \\\n\tbazel-out/k8/bin/p/png_fuzzer_bin "
			       "-rss_limit_mb=100 reproducer\n"));
	json_decref(take_ptr(&j));
	j = event_of("github-new-" B); /* redacted */
	assert_null(strstr(str(j, "body"), "png_fuzzer_bin"));
}

static void test_fixed_and_back(void **state)
{
	_autojson_ json_t *j = NULL;
	char run[16];
	struct err e;

	(void)state;
	seen(A, "r1", T0, false);
	queue(3);
	assert_int_equal(ledger_fixed(ledger, A, "png_fuzzer", T0 + 100, "f1", "r2", &e), 0);
	p.run = "r2";
	queue(2); /* the chat webhook is not configured for it */
	assert_true(waits("github-fixed-" A "-1700000100"));
	assert_true(waits("hook-all-fixed-" A "-1700000100"));
	j = event_of("github-fixed-" A "-1700000100");
	assert_string_equal(str(j, "action"), "comment");
	assert_non_null(strstr(str(j, "comment"), "is fixed"));
	all_done(T0 + 200);
	p.run = "r3";
	seen(A, "r3", T0 + 300, false);
	queue(2);
	assert_true(waits("github-regressed-" A "-1700000100"));
	queue(0);
	all_done(T0 + 300);
	/* In the same run no notification is repeated; "again" comes with the next run. */
	queue(1);
	assert_true(waits("github-again-" A "-r3"));
	all_done(T0 + 300);
	assert_int_equal(ledger_fixed(ledger, A, "png_fuzzer", T0 + 400, "f2", "r4", &e), 0);
	queue(2);
	assert_true(waits("github-fixed-" A "-1700000400"));
	all_done(T0 + 400);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(run, sizeof(run), "s%u", i);
		p.run = run;
		seen(A, run, T0 + 500 + i, false);
		queue(i == 0 ? 2 : 1);
		all_done(T0 + 500);
	}
	queue(0);
}

static void test_left_alone(void **state)
{
	struct crash_sighting s = {.signature = C,
				   .target = "t",
				   .run = "r1",
				   .time = T0,
				   .crash_file = "crashes/" C "/input",
				   .tries = 6};
	struct ledger_noted n;
	struct err e;

	(void)state;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, false);
	assert_int_equal(ledger_ignore(ledger, A, NULL, SIZE_MAX, NULL, &e), 0);
	assert_int_equal(ledger_merge(ledger, B, A, &e), 0);
	queue(0);
	/* It never failed again: no issue until it fails. */
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(2);
	assert_false(waits("github-new-" C));
	s.tries = 1;
	s.hits = 1;
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(1);
	assert_true(waits("github-new-" C));
}

/* A clock that was ahead when a webhook was added does not silence the webhook. */
static void test_ahead(void **state)
{
	struct err e;

	(void)state;
	p.github = NULL;
	p.n_hooks = 2;
	p.now = T0 + 1000 * (uint64_t)DAY;
	queue(0);
	p.now = T0;
	seen(A, "r1", T0, false);
	assert_int_equal(ledger_fixed(ledger, A, "png_fuzzer", T0 + 1, NULL, "r1", &e), 0);
	queue(1);
	assert_true(waits("hook-all-fixed-" A "-1700000001"));
}

/* Another ledger: known issues stay known, and old crashes are not new for a webhook. */
static void test_known(void **state)
{
	struct outbox_work w = {0};
	struct err e;

	(void)state;
	ledger_free(ledger);
	ledger = NULL;
	assert_int_equal(
	    ledger_parse(SLICE("{\"" A
			       "\": {\"fuzzer\": \"t\", \"crash_type\": \"x\", \"issue_url\": "
			       "\"https://github.com/o/r/issues/7\", \"first_seen\": {\"time\": "
			       "1577836800}}, \"" B
			       "\": {\"fuzzer\": \"t\", \"crash_type\": \"x\", \"first_seen\": "
			       "{\"time\": 1577836800}}}"),
			 &ledger, &e),
	    0);
	queue(1);
	assert_true(waits("github-new-" B));
	assert_int_equal(ledger_fixed(ledger, A, "t", T0 + 1, NULL, "r1", &e), 0);
	queue(2);
	assert_int_equal(outbox_begin(box, waits("github-fixed-" A "-1700000001") - 1, &w, &e), 0);
	assert_string_equal(str(w.progress, "issue_url"), "https://github.com/o/r/issues/7");
	outbox_work_done(&w);
}

static void test_security(void **state)
{
	_autojson_ json_t *j = NULL;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, true);
	queue(1);
	j = event_of("github-new-" A);
	assert_null(strstr(str(j, "body"), "Heap"));
	assert_null(strstr(str(j, "title"), "Heap"));
	assert_null(strstr(str(j, "title"), "parse"));
	assert_string_equal(str(j, "repository"), "o/r");
	github.security = SECURITY_REPOSITORY;
	seen(B, "r1", T0, true);
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" B);
	assert_non_null(strstr(str(j, "body"), "Heap"));
	assert_string_equal(str(j, "repository"), "o/secret");
	github.security = SECURITY_SKIP;
	seen(C, "r1", T0, true);
	queue(0);
	github.security = SECURITY_FULL;
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" C);
	assert_string_equal(str(j, "repository"), "o/r");
	assert_non_null(strstr(str(j, "body"), "Heap"));
	/* An issue stays in its repository. */
	all_done(T0);
	{
		struct err e;

		assert_int_equal(ledger_fixed(ledger, B, "png_fuzzer", T0 + 1, NULL, "r1", &e), 0);
	}
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-fixed-" B "-1700000001");
	assert_string_equal(str(j, "repository"), "o/secret");
}

static void test_per_day(void **state)
{
	char sig[24];

	(void)state;
	p.n_hooks = 0;
	github.new_per_day = 3;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(sig, sizeof(sig), "%016x", i);
		seen(sig, "r1", T0 + i, i == 7);
	}
	queue(3);
	assert_int_equal(sum.waiting, 7);
	assert_true(waits("github-new-0000000000000007")); /* the most severe first */
	assert_true(waits("github-new-0000000000000000"));
	assert_true(waits("github-new-0000000000000001"));
	p.now = T0 + DAY - 1;
	queue(0);
	assert_int_equal(sum.waiting, 7);
	p.now = T0 + DAY;
	queue(3);
	assert_int_equal(sum.waiting, 4);
	p.now = T0 - DAY; /* a clock that was set back does not stop it */
	queue(3);
	p.now = T0;
	queue(1);
	assert_int_equal(sum.waiting, 0);
	queue(0);
}

/* Forged security findings of one target do not use up the issues of the others. */
static void test_per_target(void **state)
{
	char sig[24];

	(void)state;
	p.n_hooks = 0;
	github.new_per_day = 3;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(sig, sizeof(sig), "%016x", i);
		seen_by("forge_fuzzer", sig, "r1", T0, true);
	}
	seen_by("a_fuzzer", A, "r1", T0 + 1, false);
	seen_by("z_fuzzer", B, "r1", T0 + 2, false);
	queue(3);
	assert_int_equal(sum.waiting, 9);
	assert_true(waits("github-new-" A));
	assert_true(waits("github-new-" B));
}

/* Ten thousand old crashes cost next to nothing. */
static void test_many(void **state)
{
	clock_t began, took;
	char sig[24];
	struct err e;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(sig, sizeof(sig), "%016x", i);
		seen(sig, "r0", T0 - 10 * DAY, false);
		assert_int_equal(ledger_issue(ledger, sig, "https://x/1", &e), 0);
	}
	ledger_next_run(ledger, "r1");
	began = clock();
	queue(0);
	took = (clock() - began) / (CLOCKS_PER_SEC / 1000);
	print_message("# 10000 crashes: %ld ms of CPU\n", (long)took);
	assert_true(took < 20000);
}

static void what_was(const void *arg, const struct known_crash *entry, struct publish_past *ret)
{
	(void)arg;
	assert_string_equal(entry->first_seen.run, "r1");
	*ret = (struct publish_past){
	    .known = true, .execs = 12, .cov = 3, .corpus = 4, .clean_at = "beef01"};
}

static void test_input(void **state)
{
	_autojson_ json_t *j = NULL;
	struct vault_item item = {.signature = SLICE(A)};
	struct crash_sighting s = {.signature = A,
				   .target = "t",
				   .run = "r1",
				   .time = T0,
				   .crash_file = "crashes/" A "/input",
				   .input_bytes = 6,
				   .tries = 3,
				   .hits = 3};
	char big[5000];
	struct ledger_noted n;
	struct err e;

	(void)state;
	item.file[VAULT_INPUT] = SLICE("planet");
	item.file[VAULT_REPORT] =
	    SLICE("==1==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000\n"
		  "    #0 0x5000 in f /elsewhere/f.c:7:3\n"
		  "    #1 0x5001 in g /build/src/g.c:8:3\n\n");
	assert_int_equal(vault_save(dir.fd, &item, NULL, &e), 0);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	scratch_write(dir.fd, "nothing", "");
	assert_int_equal(mkdirat(dir.fd, "src", 0700), 0);
	scratch_write(dir.fd, "src/g.c", "");
	p.past = what_was;
	p.sources = &(struct sources){dir.path, dir.fd, NULL};
	queue(3);
	j = event_of("github-new-" A);
	assert_non_null(strstr(str(j, "body"), "```text\nplanet\n```"));
	assert_non_null(strstr(str(j, "body"), "SEGV on unknown address"));
	assert_non_null(strstr(str(j, "body"), "- Executions: 12\n- Coverage: 3 edges\n"));
	assert_non_null(strstr(str(j, "body"), "fuzzed without it:** `beef01`\n"));
	assert_non_null(strstr(str(j, "body"), "**In the sources:** `src/g.c:8`\n"));
	assert_true(json_is_null(json_object_get(j, "upload")));
	/* A large input. */
	memset(big, 'x', sizeof(big));
	item.signature = SLICE(B);
	item.file[VAULT_INPUT] = (struct slice){big, sizeof(big)};
	assert_int_equal(vault_save(dir.fd, &item, NULL, &e), 0);
	s.signature = B;
	s.crash_file = "crashes/" B "/input";
	s.input_bytes = sizeof(big);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" B);
	assert_non_null(strstr(str(j, "body"), "\n%REPRODUCER%\n"));
	assert_string_equal(str(json_object_get(j, "upload"), "path"), "crashes/" B "/input");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "upload"), "bytes")),
			 5000);
	/* A changed input is not uploaded; a path out of the state directory is not, either. */
	item.signature = SLICE(C);
	assert_int_equal(vault_save(dir.fd, &item, NULL, &e), 0);
	s.signature = C;
	s.crash_file = "../../etc/passwd";
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" C);
	assert_null(strstr(str(j, "body"), "### Reproducer"));
	assert_true(json_is_null(json_object_get(j, "upload")));
}

/* An input that is minimised after its issue was filed replaces the old input, once. */
static void test_smaller(void **state)
{
	_autojson_ json_t *j = NULL;
	struct vault_item item = {.signature = SLICE(A)};
	struct crash_sighting s = {.signature = A,
				   .target = "t",
				   .run = "r1",
				   .time = T0,
				   .crash_file = "crashes/" A "/input",
				   .input_bytes = 6,
				   .tries = 3,
				   .hits = 3};
	struct ledger_noted n;
	struct err e;

	(void)state;
	item.file[VAULT_INPUT] = SLICE("planet");
	item.file[VAULT_MINIMIZED] = SLICE("pl");
	assert_int_equal(vault_save(dir.fd, &item, NULL, &e), 0);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	j = event_of("github-new-" A);
	assert_true(json_is_false(json_object_get(j, "minimized")));
	assert_int_equal(ledger_minimized(ledger, A, "t", "crashes/" A "/minimized", 2, &e), 0);
	assert_int_equal(ledger_minimize_tried(ledger, A, "t", 1, true, &e), 0);
	queue(0); /* the issue is not filed yet */
	all_done(T0);
	open_box();
	/* A minimised input that cannot be read replaces nothing. */
	assert_int_equal(renameat(dir.fd, "crashes/" A "/minimized", dir.fd, "away"), 0);
	queue(0);
	assert_int_equal(renameat(dir.fd, "away", dir.fd, "crashes/" A "/minimized"), 0);
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-smaller-" A);
	assert_string_equal(str(j, "action"), "act");
	assert_string_equal(str(j, "comment"), "");
	assert_non_null(strstr(str(j, "body"), "\n<!-- reproducer -->\n\n### Reproducer\n\n"
					       "2 bytes, made smaller"));
	assert_non_null(strstr(str(j, "body"), "\n<!-- end of reproducer -->\n"));
	all_done(T0);
	open_box();
	queue(0);
}

/* The commit that bisection finds is a comment, once; an issue that is filed later has it. */
static void test_bisected(void **state)
{
	_autojson_ json_t *j = NULL;
	struct crash_edge began = {.kind = "commit",
				   .commit = "0123456789012345678901234567890123456789",
				   .author = "Some @one",
				   .subject = "breaks #1 <b>",
				   .text = "0123456789ab fails, and its parent does not",
				   .commits = 1};
	struct crash_sighting s = {.signature = A, .target = "t", .run = "r1", .time = T0};
	struct ledger_noted n;
	struct err e;

	(void)state;
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	all_done(T0);
	open_box();
	queue(0);
	assert_int_equal(ledger_edge(ledger, A, "t", false, &began, &e), 0);
	queue(1);
	j = event_of(outbox_at(box, 0)->id);
	assert_string_equal(str(j, "event"), "bisected");
	assert_string_equal(str(j, "action"), "comment");
	assert_non_null(strstr(str(j, "comment"), "`breaks #1 <b>` by `Some @one`"));
	assert_non_null(strstr(str(j, "comment"), "0123456789012345678901234567890123456789"));
	all_done(T0);
	open_box();
	queue(0);

	s.signature = B; /* another crash, known before its issue is filed */
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	assert_int_equal(ledger_edge(ledger, B, "t", false, &began, &e), 0);
	queue(3);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" B);
	assert_non_null(strstr(str(j, "body"), "**Began with:** "));
	all_done(T0);
	open_box();
	queue(0);
	began.commit = "1111111111111111111111111111111111111111"; /* searched again */
	assert_int_equal(ledger_edge(ledger, B, "t", false, &began, &e), 0);
	queue(1);

	s.signature = C; /* a secret stays one */
	s.security = true;
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	all_done(T0);
	open_box();
	assert_int_equal(ledger_edge(ledger, C, "t", false, &began, &e), 0);
	queue(0);
}

static void test_notes(void **state)
{
	const struct publish_note failed = {.kind = PUBLISH_RUN_FAILED, .run = "r1", .text = "no"};
	const struct publish_note silent = {
	    .kind = PUBLISH_SILENT, .target = "a/b", .since = 7, .text = "not fuzzed"};
	struct err e;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(publish_note(&p, box, &failed, &e), 0);
		assert_int_equal(publish_note(&p, box, &silent, &e), 0);
	}
	assert_int_equal(outbox_count(box), 2); /* the chat webhook is for new crashes only */
	assert_true(waits("hook-all-run-failed-r1"));
	assert_true(waits("hook-all-silent-a:2Fb-7"));
	all_done(T0);
	assert_int_equal(publish_note(&p, box, &silent, &e), 0);
	assert_int_equal(outbox_count(box), 0);
}

static const struct CMUnitTest tests[] = {
    WITH(test_new),	     WITH(test_commands),
    WITH(test_bazel_target), WITH(test_fixed_and_back),
    WITH(test_left_alone),   WITH(test_ahead),
    WITH(test_known),	     WITH(test_security),
    WITH(test_per_day),	     WITH(test_per_target),
    WITH(test_many),	     WITH(test_input),
    WITH(test_smaller),	     WITH(test_bisected),
    WITH(test_notes),
};

UNIT_MAIN(tests)
