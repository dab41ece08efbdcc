/* SPDX-License-Identifier: Apache-2.0 */
/* A crash has one issue, whichever target finds it; each target is notified. */
#include "tests/unit/publish/publishes.h"

static void found(const char *target, const char *run, uint64_t time, bool security)
{
	const struct crash_sighting s = {.signature = A,
					 .target = target,
					 .run = run,
					 .time = time,
					 .crash_type = "UAF",
					 .kind = "asan",
					 .top_frame = security ? "secret" : "parse",
					 .severity = security ? "high" : "low",
					 .security = security,
					 .tries = 3,
					 .hits = 3};
	struct ledger_noted n;
	struct err e;

	if (ledger_note(ledger, &s, &n, &e) < 0)
		fail_msg("%s", e.msg);
}

/* The names "github-found-<crash>-<target>" and "hook-all-new-..." of b. */
#define FOUND_B	   "github-found-" A "-e9d71f5ee7c9"
#define HOOK_NEW_B "hook-all-new-" A "-e9d71f5ee7c9"

static void test_found(void **state)
{
	_autojson_ json_t *j = NULL;
	struct err e;

	(void)state;
	found("a", "r1", T0, false);
	queue(3);
	j = event_of("github-new-" A);
	assert_int_equal(json_integer_value(json_object_get(j, "entries")), 1);
	all_done(T0);
	queue(0);
	/* One more target in the same run: a comment on the issue, a message to the webhooks. */
	found("b", "r1", T0 + 1, false);
	queue(3);
	assert_true(waits(FOUND_B) && waits(HOOK_NEW_B));
	json_decref(take_ptr(&j));
	j = event_of(FOUND_B);
	assert_string_equal(str(j, "action"), "act");
	assert_non_null(strstr(str(j, "comment"), "One more target finds this crash: `b`.\n\n"
						  "- `a`: new\n- `b`: new\n"));
	assert_non_null(strstr(str(j, "comment"), "--target b"));
	json_decref(take_ptr(&j));
	j = event_of(HOOK_NEW_B);
	assert_string_equal(str(j, "target"), "b");
	queue(0);
	all_done(T0 + 1);
	open_box();
	queue(0);
	/* Fixed in one target, then in both. */
	assert_int_equal(ledger_fixed(ledger, A, "a", T0 + 9, "c", "r2", &e), 0);
	p.run = "r2";
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-partly-" A "-1700000009");
	assert_string_equal(str(j, "action"), "comment");
	assert_non_null(strstr(str(j, "comment"), "- `a`: fixed\n- `b`: new\n"));
	all_done(T0 + 9);
	queue(0);
	assert_int_equal(ledger_fixed(ledger, A, "b", T0 + 20, "c", "r3", &e), 0);
	queue(2);
	json_decref(take_ptr(&j));
	j = event_of("github-fixed-" A "-1700000020");
	assert_non_null(strstr(str(j, "comment"), "- `a`: fixed\n- `b`: fixed\n"));
	all_done(T0 + 20);
	queue(0);
}

/* Notified, whatever is configured for known crashes.  A target that never failed again is not
 * notified. */
static void test_found_when(void **state)
{
	struct crash_sighting s = {.signature = A, .target = "c", .run = "r1", .tries = 6};
	_autojson_ json_t *j = NULL;
	struct ledger_noted n;
	struct err e;

	(void)state;
	p.n_hooks = 0;
	github.on_again = ISSUE_NONE;
	found("a", "r1", T0, false);
	queue(1);
	all_done(T0);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(0);
	found("b", "r1", T0, false);
	queue(1);
	j = event_of(FOUND_B);
	assert_string_equal(str(j, "action"), "comment");
}

/* A forged crash is ignored, by command or by its issue's label.  This changes nothing for the
 * target that finds the crash later. */
static void test_ignored_before(void **state)
{
	struct err e;

	(void)state;
	p.n_hooks = 0;
	found("forger", "r1", T0, false);
	queue(1);
	all_done(T0);
	assert_int_equal(ledger_ignore(ledger, A, NULL, 1, NULL, &e), 0);
	queue(0);
	found("b", "r1", T0, false);
	queue(1);
	assert_true(waits(FOUND_B));
}

static void all_done_labelled(uint64_t now)
{
	server = (struct server){.result = DELIVERY_DONE, .ignored = true};
	(void)deliver("github", now);
	assert_int_equal(outbox_count(box), 0);
}

static int learned(void *arg, const struct publish_learned *l, struct err *e)
{
	uint64_t *labelled = arg;

	(void)e;
	assert_true(l->ignored);
	*labelled = l->labelled;
	return 0;
}

static void test_label(void **state)
{
	uint64_t labelled = 99;
	struct err e;

	(void)state;
	p.n_hooks = 0;
	found("forger", "r1", T0, false);
	queue(1);
	all_done(T0);
	found("b", "r1", T0, false);
	queue(1);
	all_done_labelled(T0); /* the label was there before */
	assert_int_equal(publish_learned(box, learned, &labelled, &e), 0);
	assert_int_equal(labelled, 1);
	p.run = "r2";
	found("b", "r2", T0 + 5, false);
	queue(1);
	all_done_labelled(T0 + 5);
	assert_int_equal(publish_learned(box, learned, &labelled, &e), 0);
	assert_int_equal(labelled, 1);
}

/* A security-relevant finding of one target does not silence the other, and is not disclosed. */
static void test_security(void **state)
{
	_autojson_ json_t *j = NULL;

	(void)state;
	p.n_hooks = 0;
	github.security = SECURITY_SKIP;
	found("forger", "r1", T0, true);
	queue(0);
	found("b", "r1", T0, false);
	queue(1);
	j = event_of("github-new-" A);
	assert_null(strstr(str(j, "body"), "secret"));
	/* It is not disclosed in an earlier public issue, either. */
	teardown(state);
	setup(state);
	p.n_hooks = 0;
	github.security = SECURITY_REPOSITORY;
	found("b", "r1", T0, false);
	queue(1);
	all_done(T0);
	found("forger", "r1", T0, true);
	queue(1);
	json_decref(take_ptr(&j));
	j = event_of("github-found-" A "-486776e642d1");
	assert_string_equal(str(j, "repository"), "o/r");
	assert_null(strstr(str(j, "comment"), "secret"));
}

/* A further report by another build of the target is a comment, but no message to webhooks. */
static void test_builds(void **state)
{
	struct crash_sighting s = {.signature = A,
				   .target = "a@undefined",
				   .build_of = "a",
				   .run = "r1",
				   .time = T0 + 1,
				   .crash_type = "UAF",
				   .tries = 3,
				   .hits = 3};
	struct ledger_noted n;
	struct err e;

	(void)state;
	found("a", "r1", T0, false);
	queue(3);
	all_done(T0);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	queue(1);
	assert_string_equal(n.entry->fuzzer, "a@undefined");
	all_done(T0 + 1);
	queue(0);
	/* A crash that was fixed is new, whichever build finds it. */
	assert_int_equal(ledger_fixed(ledger, A, "a", T0 + 5, "c", "r2", &e), 0);
	assert_int_equal(ledger_fixed(ledger, A, "a@undefined", T0 + 5, "c", "r2", &e), 0);
	queue(2);
	all_done(T0 + 5);
	s.target = "a@memory";
	s.time = T0 + 9;
	assert_int_equal(ledger_note(ledger, &s, &n, &e), 0);
	assert_false(n.is_further);
	queue(3);
}

static const struct CMUnitTest tests[] = {
    WITH(test_builds),	       WITH(test_found), WITH(test_found_when),
    WITH(test_ignored_before), WITH(test_label), WITH(test_security),
};

UNIT_MAIN(tests)
