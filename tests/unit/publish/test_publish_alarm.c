/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/publishes.h"

static int count(void *arg, const struct publish_learned *l, struct err *e)
{
	(void)l;
	(void)e;
	++*(int *)arg;
	return 0;
}

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
	p.now = T0 + DAY - 1;
	publish_alarm(&p, box, &a);
	assert_int_equal(a.count, 0);
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	assert_int_equal(outbox_count(box), 2);
	p.now = T0 + DAY;
	publish_alarm(&p, box, &a);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.oldest, T0);
	assert_string_equal(a.place, "github");
	assert_string_equal(a.why, "because?");
	for (int i = 0; i < 3; i++) { /* once, not at each check */
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
	p.shown_config = "/etc/f.json";
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
	assert_non_null(strstr(str(j, "body"), "\nfuzzcell outbox list --config /etc/f.json\n"));
	(void)deliver("github", p.now);
	assert_int_equal(publish_learned(box, count, &n, &e), 0);
	assert_int_equal(n, 3); /* crashes only */
}

/* Entries for a webhook or for GitHub that is no longer configured are not waited for. */
static void test_alarm_of_what_was_removed(void **state)
{
	struct publish_alarm a;
	struct err e;

	(void)state;
	seen(A, "r1", T0, false);
	queue(3);
	p.now = T0 + 2 * DAY;
	p.n_hooks = 1; /* "all" is gone */
	server = (struct server){.result = DELIVERY_DONE};
	assert_int_equal(deliver("github", p.now).left, 0);
	(void)deliver("hook-chat", p.now);
	assert_int_equal(outbox_count(box), 1);
	publish_alarm(&p, box, &a);
	assert_int_equal(a.count, 0);
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	assert_int_equal(outbox_count(box), 1);
	assert_false(publish_has_place(&p, "hook-all"));
	p.n_hooks = 2; /* configured again */
	assert_true(publish_has_place(&p, "hook-all"));
	publish_alarm(&p, box, &a);
	assert_int_equal(a.count, 1);
	/* The same with GitHub. */
	seen(B, "r1", p.now, false);
	queue(3);
	(void)deliver("hook-chat", p.now);
	(void)deliver("hook-all", p.now);
	p.github = NULL;
	p.now += 2 * DAY;
	publish_alarm(&p, box, &a);
	assert_int_equal(a.count, 0);
	assert_int_equal(publish_alarm_queue(&p, box, &e), 0);
	assert_int_equal(outbox_count(box), 1);
}

static const struct CMUnitTest tests[] = {
    WITH(test_alarm),
    WITH(test_alarm_of_what_was_removed),
};

UNIT_MAIN(tests)
