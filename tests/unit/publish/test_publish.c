/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/outboxes.h"

#include "base/clock.h"
#include "runner/crash/vault.h"
#include "runner/publish/publish.h"

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"
#define C "cccccccccccccccc"
enum { DAY = 86400 };

static struct ledger *ledger;
static struct github_config github;
static struct webhook_config hooks[2];
static struct outbox_config limits;
static struct publish p;
static struct publish_sum sum;

static char s_repo[] = "o/r", s_secret_repo[] = "o/secret", s_chat[] = "chat", s_all[] = "all";
static char s_fuzzing[] = "fuzzing", s_new[] = "new";
static char *v_labels[] = {s_fuzzing};
static char *v_new[] = {s_new};

static int setup(void **state)
{
	struct err e;

	each_setup(state);
	github = (struct github_config){.repository = s_repo,
					.labels = {v_labels, 1},
					.security = SECURITY_REDACT,
					.security_repository = s_secret_repo,
					.on_again = ISSUE_ACT,
					.on_fixed = ISSUE_COMMENT,
					.inline_bytes = 4096,
					.upload = UPLOAD_CONTENTS,
					.new_per_day = 20};
	hooks[0] =
	    (struct webhook_config){.name = s_chat, .format = WEBHOOK_SLACK, .events = {v_new, 1}};
	hooks[1] = (struct webhook_config){.name = s_all, .format = WEBHOOK_GENERIC};
	limits = (struct outbox_config){.alarm_us = (uint64_t)DAY * 1000000,
					.retry_max_us = UINT64_C(3600000000)};
	p = (struct publish){.state_dirfd = dir.fd,
			     .state_path = dir.path,
			     .github = &github,
			     .hooks = hooks,
			     .n_hooks = 2,
			     .outbox = &limits,
			     .run = "r1",
			     .now = T0};
	assert_int_equal(ledger_parse(SLICE("{}"), &ledger, &e), 0);
	open_box();
	return 0;
}

static int teardown(void **state)
{
	ledger_free(ledger);
	ledger = NULL;
	return box_teardown(state);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* A crash that was seen in a run at that time. */
static void seen(const char *signature, const char *run, uint64_t time, bool security)
{
	const struct crash_sighting s = {.signature = signature,
					 .target = "png_fuzzer",
					 .run = run,
					 .commit = "c0ffee",
					 .time = time,
					 .crash_type = "Heap-buffer-overflow\nREAD 4",
					 .kind = "asan",
					 .top_frame = "parse",
					 .severity = security ? "high" : "low",
					 .security = security};
	struct ledger_noted n;
	struct err e;

	if (ledger_note(ledger, &s, &n, &e) < 0)
		fail_msg("%s", e.msg);
}

static void queue(size_t want)
{
	struct err e;

	if (publish_queue(&p, box, ledger, &sum, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(sum.queued, want);
}

static size_t waits(const char *id)
{
	for (size_t i = 0; i < outbox_count(box); i++)
		if (strcmp(outbox_at(box, i)->id, id) == 0)
			return i + 1;
	return 0;
}

static json_t *event_of(const char *id)
{
	struct outbox_work w = {0};
	struct err e;
	json_t *j;

	assert_true(waits(id) > 0);
	assert_int_equal(outbox_begin(box, waits(id) - 1, &w, &e), 0);
	j = json_incref(w.event);
	outbox_work_done(&w);
	return j;
}

static const char *str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

/* --- a server that does as it is told ------------------------------------------- */

static struct server {
	enum delivery_result result;
	uint64_t wait_s;
	bool whole_host, ignored;
	size_t calls;
	uint64_t now;
	char last[OUTBOX_NAME];
	size_t saves;
} server;

static void serve(void *arg, struct delivery *d)
{
	struct err e;

	(void)arg;
	server.calls++;
	snprintf(server.last, sizeof(server.last), "%s", d->id);
	json_object_set_new(d->progress, "posting", json_integer(1));
	if (d->save(d->arg, &e) == 0)
		server.saves++;
	d->result = server.result;
	d->wait_s = server.wait_s;
	d->whole_host = server.whole_host;
	d->ignored = server.ignored;
	snprintf(d->why, sizeof(d->why), "because\n");
	if (server.result == DELIVERY_DONE)
		snprintf(d->url, sizeof(d->url), "https://github.com/o/r/issues/1");
}

static uint64_t server_now(void *arg)
{
	(void)arg;
	return server.now;
}

static struct publish_delivered deliver(const char *place, uint64_t now)
{
	const struct publish_sender s = {place, serve, NULL};
	const struct publish_deliver d = {.state_dirfd = dir.fd,
					  .senders = &s,
					  .n_senders = 1,
					  .retry_max_s = 3600,
					  .now = server_now};
	struct publish_delivered got;
	struct err e;

	server.now = now;
	server.calls = 0;
	if (publish_deliver(&d, box, &got, &e) < 0)
		fail_msg("%s", e.msg);
	return got;
}

static void all_done(uint64_t now)
{
	server = (struct server){.result = DELIVERY_DONE};
	(void)deliver("github", now);
	(void)deliver("hook-chat", now);
	(void)deliver("hook-all", now);
	assert_int_equal(outbox_count(box), 0);
}

/* --- what is told ------------------------------------------------------------------ */

static void test_new(void **state)
{
	_autojson_ json_t *j = NULL;
	struct err e;

	(void)state;
	seen(A, "r1", T0, false);
	queue(3);
	assert_int_equal(sum.issues, 1);
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
	/* The next run does not see it, the one after does. */
	assert_int_equal(ledger_next_run(ledger, "r2", &e), 0);
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

static void test_fixed_and_back(void **state)
{
	_autojson_ json_t *j = NULL;
	struct err e;

	(void)state;
	seen(A, "r1", T0, false);
	queue(3);
	assert_int_equal(ledger_fixed(ledger, A, T0 + 100, "f1", "r2", &e), 0);
	p.run = "r2";
	queue(2); /* the chat does not ask for it */
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
	/* At the same run's end nothing is said twice; "again" comes with the next. */
	queue(1);
	assert_true(waits("github-again-" A "-r3"));
	all_done(T0 + 300);
	assert_int_equal(ledger_fixed(ledger, A, T0 + 400, "f2", "r4", &e), 0);
	queue(2);
	assert_true(waits("github-fixed-" A "-1700000400"));
	all_done(T0 + 400);
	for (unsigned i = 0; i < 60; i++) {
		char run[16];

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
	assert_int_equal(ledger_ignore(ledger, A, NULL, &e), 0);
	assert_int_equal(ledger_merge(ledger, B, A, &e), 0);
	queue(0);
	/* Never again: not an issue, until it fails. */
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(2);
	assert_int_equal(sum.issues, 0);
	s.tries = 1;
	s.hits = 1;
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(1);
	assert_true(waits("github-new-" C));
}

/* A clock that was ahead when a webhook came does not make it deaf. */
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
	assert_int_equal(ledger_fixed(ledger, A, T0 + 1, NULL, "r1", &e), 0);
	queue(1);
	assert_true(waits("hook-all-fixed-" A "-1700000001"));
}

/* An older ledger: what has an issue has one; what is old is no news for a webhook. */
static void test_older(void **state)
{
	_autojson_ json_t *j = NULL;
	struct outbox_work w = {0};
	struct err e;

	(void)state;
	ledger_free(ledger);
	ledger = NULL;
	assert_int_equal(
	    ledger_parse(
		SLICE("{\"" A "\": {\"fuzzer\": \"t\", \"crash_type\": \"x\", \"issue_url\": "
		      "\"https://github.com/o/r/issues/7\", \"date\": \"2020-01-01\"}, \"" B
		      "\": {\"fuzzer\": \"t\", \"crash_type\": \"x\", \"date\": "
		      "\"2020-01-01\"}}"),
		&ledger, &e),
	    0);
	queue(1);
	assert_true(waits("github-new-" B));
	assert_int_equal(ledger_fixed(ledger, A, T0 + 1, NULL, "r1", &e), 0);
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
	/* An issue stays where it is. */
	all_done(T0);
	{
		struct err e;

		assert_int_equal(ledger_fixed(ledger, B, T0 + 1, NULL, "r1", &e), 0);
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
	assert_true(waits("github-new-0000000000000007")); /* the worst first */
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

/* Ten thousand old crashes cost next to nothing. */
static void test_many(void **state)
{
	uint64_t began, took;
	char sig[24];
	struct err e;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(sig, sizeof(sig), "%016x", i);
		seen(sig, "r0", T0 - 10 * DAY, false);
		assert_int_equal(ledger_issue(ledger, sig, "https://x/1", &e), 0);
	}
	assert_int_equal(ledger_next_run(ledger, "r1", &e), 0);
	began = clock_mono_us();
	queue(0);
	took = (clock_mono_us() - began) / USEC_PER_MSEC;
	print_message("# 10000 crashes: %llu ms\n", (unsigned long long)took);
	assert_true(took < 20000);
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
	item.file[VAULT_REPORT] = SLICE("==1==ERROR: AddressSanitizer: SEGV on unknown address\n");
	assert_int_equal(vault_save(dir.fd, &item, &e), 0);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	scratch_write(dir.fd, "nothing", "");
	assert_int_equal(mkdirat(dir.fd, "logs", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "logs/r1", 0700), 0);
	scratch_write(dir.fd, "logs/r1/t.stats",
		      "{\"execs\": 12, \"cov\": 3, \"corpus_units\": 4}");
	queue(3);
	j = event_of("github-new-" A);
	assert_non_null(strstr(str(j, "body"), "```text\nplanet\n```"));
	assert_non_null(strstr(str(j, "body"), "SEGV on unknown address"));
	assert_non_null(strstr(str(j, "body"), "- Executions: 12\n- Coverage: 3 edges\n"));
	assert_true(json_is_null(json_object_get(j, "upload")));
	/* A large one. */
	memset(big, 'x', sizeof(big));
	item.signature = SLICE(B);
	item.file[VAULT_INPUT] = (struct slice){big, sizeof(big)};
	assert_int_equal(vault_save(dir.fd, &item, &e), 0);
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
	/* One that is not what was noted is none; a path that leads out is none. */
	item.signature = SLICE(C);
	assert_int_equal(vault_save(dir.fd, &item, &e), 0);
	s.signature = C;
	s.crash_file = "../../etc/passwd";
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(3);
	json_decref(take_ptr(&j));
	j = event_of("github-new-" C);
	assert_null(strstr(str(j, "body"), "### Reproducer"));
	assert_true(json_is_null(json_object_get(j, "upload")));
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
	assert_int_equal(outbox_count(box), 2); /* the chat asks for new ones only */
	assert_true(waits("hook-all-run-failed-r1"));
	assert_true(waits("hook-all-silent-a:2Fb-7"));
	all_done(T0);
	assert_int_equal(publish_note(&p, box, &silent, &e), 0);
	assert_int_equal(outbox_count(box), 0);
}

/* --- delivering ---------------------------------------------------------------------- */

static void test_outcomes(void **state)
{
	struct publish_delivered got;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, false);
	queue(2);
	server = (struct server){.result = DELIVERY_LATER};
	got = deliver("github", T0);
	assert_int_equal(server.calls, 2);
	assert_int_equal(server.saves, 2);
	assert_int_equal(got.later, 2);
	assert_int_equal(got.left, 2);
	assert_in_range(got.next, T0 + 45, T0 + 60);
	assert_string_equal(outbox_at(box, 0)->why, "because?");
	(void)deliver("github", T0 + 10);
	assert_int_equal(server.calls, 0);
	/* Nothing is due for somebody else's sender. */
	(void)deliver("hook-chat", T0 + 1000);
	assert_int_equal(server.calls, 0);
	server.whole_host = true;
	server.wait_s = 500;
	got = deliver("github", T0 + 100);
	assert_int_equal(server.calls, 1); /* it spoke for all */
	assert_true(got.next >= T0 + 600);
	(void)deliver("github", T0 + 599);
	assert_int_equal(server.calls, 0);
	server = (struct server){.result = DELIVERY_REFUSED};
	got = deliver("github", T0 + 700);
	assert_int_equal(got.refused, 2);
	(void)deliver("github", T0 + 700 + DAY - 1);
	assert_int_equal(server.calls, 0);
	server.result = DELIVERY_DONE;
	got = deliver("github", T0 + 700 + DAY);
	assert_int_equal(got.done, 2);
	assert_int_equal(got.left, 0);
	assert_int_equal(got.next, 0);
}

static void test_deadline_and_lock(void **state)
{
	const struct publish_sender s = {"github", serve, NULL};
	struct publish_deliver d = {.state_dirfd = dir.fd,
				    .senders = &s,
				    .n_senders = 1,
				    .retry_max_s = 60,
				    .deadline_us = 1,
				    .now = server_now};
	struct outbox *other = NULL;
	struct publish_delivered got;
	struct err e;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, false);
	queue(1);
	server = (struct server){.result = DELIVERY_DONE, .now = T0};
	assert_int_equal(publish_deliver(&d, box, &got, &e), 0);
	assert_int_equal(server.calls, 0);
	assert_int_equal(got.left, 1);
	assert_int_equal(outbox_open(dir.fd, &other, &e), 0);
	d.deadline_us = 0;
	assert_int_equal(publish_deliver(&d, other, &got, &e), -EBUSY);
	assert_int_equal(server.calls, 0);
	close_box();
	assert_int_equal(publish_deliver(&d, other, &got, &e), 0);
	assert_int_equal(got.done, 1);
	outbox_close(other);
}

static struct publish_learned learned;
static char learned_texts[3][600];

static int learn(void *arg, const struct publish_learned *l, struct err *e)
{
	(void)e;
	++*(int *)arg;
	learned = *l;
	snprintf(learned_texts[0], 600, "%s", l->chain);
	snprintf(learned_texts[1], 600, "%s", l->signature);
	snprintf(learned_texts[2], 600, "%s", l->url);
	return 0;
}

static void test_learned(void **state)
{
	struct err e;
	int n = 0;

	(void)state;
	seen("an older/one", "r1", T0, false);
	queue(3);
	assert_true(waits("github-new-an:20older:2Fone"));
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 0);
	server = (struct server){.result = DELIVERY_DONE, .ignored = true};
	assert_int_equal(deliver("github", T0).ignored, 1);
	(void)deliver("hook-all", T0);
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(learned_texts[1], "an older/one");
	assert_string_equal(learned_texts[2], "https://github.com/o/r/issues/1");
	assert_true(learned.ignored);
	assert_int_equal(publish_noted(box, learned_texts[0], &e), 0);
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_false(learned.ignored);
}

/* --- the alarm -------------------------------------------------------------------------- */

static void test_alarm(void **state)
{
	_autojson_ json_t *j = NULL;
	struct publish_alarm a;
	struct err e;
	int n = 0;

	(void)state;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, false);
	queue(6);
	server = (struct server){.result = DELIVERY_DONE};
	(void)deliver("hook-chat", T0);
	(void)deliver("hook-all", T0);
	server.result = DELIVERY_LATER;
	(void)deliver("github", T0);
	publish_alarm(box, T0 + DAY - 1, limits.alarm_us, &a);
	assert_int_equal(a.count, 0);
	p.now = T0 + DAY - 1;
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	assert_int_equal(outbox_count(box), 2);
	p.now = T0 + DAY;
	publish_alarm(box, p.now, limits.alarm_us, &a);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.oldest, T0);
	assert_string_equal(a.place, "github");
	assert_string_equal(a.why, "because?");
	for (int i = 0; i < 3; i++) { /* once, not each time that it is looked */
		assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
		assert_int_equal(outbox_count(box), 4);
		p.now += 600;
	}
	j = event_of("hook-all-alarm-github-1700086400");
	assert_non_null(
	    strstr(str(json_object_get(j, "payload"), "text"),
		   "cannot deliver: 2 for github, the oldest since 1d00h ago: because?"));
	server.result = DELIVERY_DONE;
	(void)deliver("github", p.now);
	(void)deliver("hook-chat", p.now);
	(void)deliver("hook-all", p.now);
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	assert_int_equal(outbox_count(box), 0);
	assert_int_equal(outbox_place_get(box, "github", "alarm"), 0);
	/* The other way round. */
	seen(C, "r1", p.now, false);
	queue(3);
	(void)deliver("github", p.now);
	(void)deliver("hook-chat", p.now);
	p.now += DAY;
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	json_decref(take_ptr(&j));
	{
		char id[100];

		snprintf(id, sizeof(id), "github-alarm-hook-all-%llu", (unsigned long long)p.now);
		j = event_of(id);
	}
	assert_string_equal(str(j, "event"), "alarm");
	assert_string_equal(str(j, "signature"), "");
	assert_non_null(strstr(str(j, "body"), "`hook-all` cannot be delivered since 2023-"));
	(void)deliver("github", p.now);
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 3); /* crashes only */
}

/* --- faults ------------------------------------------------------------------------------ */

static unsigned try_faults(enum fault_how how)
{
	unsigned nth = 1;
	struct err e;

	for (;; nth++) {
		int status = 0;
		pid_t pid;

		assert_true(nth < 3000);
		assert_int_equal(fs_remove_tree(dir.fd, "outbox", &e), 0);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			struct outbox *o = NULL;
			int r;

			fault_arm(nth, how);
			r = outbox_open(dir.fd, &o, &e);
			if (r == 0)
				r = publish_queue(&p, o, ledger, &sum, &e);
			fault_arm(0, how);
			outbox_close(o);
			_exit(r < 0 ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		open_box();
		assert_int_equal(publish_queue(&p, box, ledger, &sum, &e), 0);
		if (sum.waiting) { /* counted, and then killed: a day later */
			p.now += DAY;
			assert_int_equal(publish_queue(&p, box, ledger, &sum, &e), 0);
			p.now -= DAY;
		}
		assert_int_equal(outbox_count(box), 4);
		assert_true(waits("github-new-" A) && waits("github-new-" B));
		assert_true(waits("hook-all-new-" A) && waits("hook-all-new-" B));
		assert_string_equal(outbox_warning(box), "");
		close_box();
		if (WEXITSTATUS(status) == 0 && nth > 200)
			return nth;
	}
}

/* A disk that is full, calls that fail, a kill: anywhere between ledger and outbox. */
static void test_faults(void **state)
{
	(void)state;
	hooks[0] = hooks[1];
	p.n_hooks = 1;
	github.new_per_day = 2;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, true);
	assert_true(try_faults(FAULT_DIE) > 200);
	(void)try_faults(FAULT_FAIL);
}

static const struct CMUnitTest tests[] = {
    WITH(test_new),	WITH(test_fixed_and_back), WITH(test_left_alone),
    WITH(test_older),	WITH(test_ahead),	   WITH(test_security),
    WITH(test_per_day), WITH(test_many),	   WITH(test_input),
    WITH(test_notes),	WITH(test_outcomes),	   WITH(test_deadline_and_lock),
    WITH(test_learned), WITH(test_alarm),	   WITH(test_faults),
};

UNIT_MAIN(tests)
