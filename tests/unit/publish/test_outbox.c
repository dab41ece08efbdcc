/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/outboxes.h"

#include "runner/publish/outbox/internal.h"

#include <time.h>

static int try_queue(const char *id, const char *chain, const char *place, uint64_t now,
		     bool *ret_new)
{
	_autojson_ json_t *event =
	    json_pack("{s:s, s:s}", "event", strstr(id, "-again-") ? "again" : "new", "body", "b");
	const struct outbox_item item = {place, id, chain, "subject", event, NULL};
	struct err e;

	return outbox_queue(box, &item, now, ret_new, &e);
}

static bool queue(const char *id, const char *chain, const char *place)
{
	bool fresh = false;

	assert_int_equal(try_queue(id, chain, place, T0, &fresh), 0);
	return fresh;
}

static size_t at(const char *id)
{
	for (size_t i = 0; i < outbox_count(box); i++)
		if (strcmp(outbox_at(box, i)->id, id) == 0)
			return i;
	fail_msg("no entry '%s'", id);
	return 0;
}

static bool due(const char *id, uint64_t now)
{
	return outbox_due(box, outbox_at(box, at(id)), now);
}

static void sent(const char *id, uint64_t now, const char *url, bool ignored)
{
	const struct outbox_outcome c = {.now = now, .url = url, .ignored = ignored};
	struct outbox_work w = {0};
	struct err e;

	assert_int_equal(outbox_begin(box, at(id), &w, &e), 0);
	assert_int_equal(outbox_sent(box, &w, &c, &e), 0);
	outbox_work_done(&w);
}

static void later(const char *id, const struct outbox_outcome *c)
{
	struct outbox_work w = {0};
	struct err e;

	assert_int_equal(outbox_begin(box, at(id), &w, &e), 0);
	assert_int_equal(outbox_later(box, &w, c, &e), 0);
	outbox_work_done(&w);
}

static void test_names(void **state)
{
	char a[OUTBOX_PART], b[OUTBOX_PART], text[2000];

	(void)state;
	outbox_name(SLICE("0123456789abcdef"), a);
	assert_string_equal(a, "0123456789abcdef");
	outbox_name(SLICE("../a b%\xff"), a);
	assert_string_equal(a, ":2E.:2Fa:20b:25:FF");
	outbox_name(SLICE("-->"), a);
	assert_string_equal(a, "--:3E");
	memset(text, 'x', sizeof(text));
	for (size_t n = 1; n < 1000; n++) {
		outbox_name((struct slice){text, n}, a);
		outbox_name((struct slice){text, n + 1}, b);
		assert_true(strlen(a) < OUTBOX_PART);
		assert_string_not_equal(a, b);
	}
	assert_true(fs_name_ok(slice_of(a)));
}

static void test_queue_twice(void **state)
{
	_autojson_ json_t *record = NULL;
	bool fresh;
	struct err e;

	(void)state;
	open_box();
	assert_true(queue("github-new-a", "github-a", "github"));
	assert_false(queue("github-new-a", "github-a", "github"));
	open_box();
	assert_false(queue("github-new-a", "github-a", "github"));
	assert_int_equal(outbox_count(box), 1);
	assert_string_equal(outbox_at(box, 0)->subject, "subject");
	assert_string_equal(outbox_at(box, 0)->event, "new");
	assert_int_equal(outbox_at(box, 0)->created, T0);
	sent("github-new-a", T0 + 5, "https://x/1", false);
	assert_int_equal(outbox_count(box), 0);
	assert_false(queue("github-new-a", "github-a", "github"));
	open_box();
	assert_int_equal(outbox_count(box), 0);
	assert_false(queue("github-new-a", "github-a", "github"));
	assert_int_equal(outbox_chain(box, "github-a", &record, &e), 0);
	assert_string_equal(outbox_chain_url(record), "https://x/1");
	assert_string_equal(outbox_chain_how(record, "github-new-a"), "told");
	assert_int_equal(try_queue("other-new-a", "github-a", "github", T0, &fresh), -EINVAL);
	assert_int_equal(try_queue("github-../a", "github-a", "github", T0, &fresh), -EINVAL);
	assert_int_equal(count_files("outbox"), 2); /* done, lock */
}

static void test_chain_order(void **state)
{
	(void)state;
	open_box();
	queue("github-new-a", "github-a", "github");
	queue("github-new-b", "github-b", "github");
	queue("github-fixed-a-1", "github-a", "github");
	queue("github-again-a-2", "github-a", "github");
	open_box();
	assert_int_equal(outbox_count(box), 4);
	assert_string_equal(outbox_at(box, 0)->id, "github-new-a");
	assert_string_equal(outbox_at(box, 3)->id, "github-again-a-2");
	assert_true(due("github-new-a", T0));
	assert_true(due("github-new-b", T0));
	assert_false(due("github-fixed-a-1", T0));
	/* A refused entry holds up its own chain only. */
	later("github-new-a", &(struct outbox_outcome){.now = T0, .refused = true, .why = "no\n"});
	assert_true(outbox_at(box, 0)->refused);
	assert_string_equal(outbox_at(box, 0)->why, "no?");
	assert_false(due("github-new-a", T0 + 86399));
	assert_true(due("github-new-a", T0 + 86400));
	assert_false(due("github-fixed-a-1", T0 + 86400));
	assert_true(due("github-new-b", T0));
	sent("github-new-a", T0, "", false);
	assert_true(due("github-fixed-a-1", T0));
	assert_false(due("github-again-a-2", T0));
	open_box();
	assert_true(due("github-fixed-a-1", T0));
	assert_false(due("github-again-a-2", T0));
}

static void test_backoff(void **state)
{
	uint64_t seed = 7, again = 7;

	(void)state;
	for (uint64_t tries = 1; tries < 100; tries++) {
		uint64_t full = tries < 7 ? UINT64_C(60) << (tries - 1) : 3600;
		uint64_t w = backoff_wait(tries, 0, 3600, &seed);

		full = full > 3600 ? 3600 : full;
		assert_in_range(w, full - full / 4, full);
		assert_int_equal(backoff_wait(tries, 0, 3600, &again), w);
	}
	assert_in_range(backoff_wait(1, 0, 1, &seed), 1, 1);
	assert_in_range(backoff_wait(5, 0, 0, &seed), 1, 1);
	for (int i = 0; i < 100; i++) {
		assert_in_range(backoff_wait(1, 1, 3600, &seed), 1, 1);
		assert_in_range(backoff_wait(9, 7200, 3600, &seed), 7200, 7260);
		assert_in_range(backoff_wait(9, UINT64_MAX, 3600, &seed), 86400, 86460);
	}
	assert_true(backoff_is_due(10, 5, 10));
	assert_false(backoff_is_due(9, 5, 10));
	assert_true(backoff_is_due(4, 5, 10)); /* the clock was set back */
}

static void test_retries(void **state)
{
	const struct outbox_outcome failed = {.now = T0, .why = "timed out", .retry_max_s = 3600};
	const struct outbox_entry *t;

	(void)state;
	open_box();
	queue("github-new-a", "github-a", "github");
	later("github-new-a", &failed);
	open_box();
	t = outbox_at(box, 0);
	assert_int_equal(t->tries, 1);
	assert_string_equal(t->why, "timed out");
	assert_in_range(t->next_try, T0 + 45, T0 + 60);
	assert_int_equal(outbox_due_at(box, t), t->next_try);
	assert_false(due("github-new-a", T0 + 44));
	assert_true(due("github-new-a", T0 + 60));
	/* The clock is set back by a year: the entry does not wait for a year. */
	assert_true(due("github-new-a", T0 - 86400 * 365));
}

static void test_place(void **state)
{
	const struct outbox_outcome wish = {
	    .now = T0, .why = "429", .whole_place = true, .wait_s = 600, .retry_max_s = 3600};
	struct err e;

	(void)state;
	open_box();
	queue("github-new-a", "github-a", "github");
	queue("github-new-b", "github-b", "github");
	queue("hook-x-new-b", "hook-x-b", "hook-x");
	later("github-new-a", &wish);
	open_box();
	assert_false(due("github-new-b", T0 + 599));
	assert_true(due("github-new-b", T0 + 660));
	assert_true(due("hook-x-new-b", T0));
	assert_true(due("github-new-b", T0 - 1)); /* a clock set back */
	assert_int_equal(outbox_place_get(box, "github", "failed"), 1);
	assert_int_equal(outbox_retry(box, at("github-new-b"), &e), 0);
	assert_true(due("github-new-b", T0 + 1));
	assert_false(due("github-new-a", T0 + 1));
	sent("github-new-b", T0 + 2, "", false);
	assert_int_equal(outbox_place_get(box, "github", "failed"), 0);
}

static void test_drop(void **state)
{
	_autojson_ json_t *record = NULL;
	struct outbox_work w = {0};
	struct err e;

	(void)state;
	open_box();
	queue("github-new-a", "github-a", "github");
	assert_int_equal(outbox_begin(box, 0, &w, &e), 0);
	{ /* a user drops it meanwhile */
		struct outbox *other = NULL;

		assert_int_equal(outbox_open(dir.fd, &other, &e), 0);
		assert_int_equal(outbox_drop(other, 0, T0, &e), 0);
		outbox_close(other);
	}
	assert_int_equal(outbox_progress(box, &w, &e), -ENOENT);
	assert_int_equal(outbox_later(box, &w, &(struct outbox_outcome){.now = T0, .why = "x"}, &e),
			 0);
	outbox_work_done(&w);
	assert_int_equal(outbox_count(box), 0);
	assert_false(queue("github-new-a", "github-a", "github"));
	assert_int_equal(outbox_chain(box, "github-a", &record, &e), 0);
	assert_string_equal(outbox_chain_how(record, "github-new-a"), "dropped");
}

static void test_progress(void **state)
{
	struct outbox_work w = {0};
	struct err e;

	(void)state;
	open_box();
	queue("github-new-a", "github-a", "github");
	assert_int_equal(outbox_begin(box, 0, &w, &e), 0);
	json_object_set_new(w.progress, "number", json_integer(7));
	assert_int_equal(outbox_progress(box, &w, &e), 0);
	outbox_work_done(&w);
	open_box();
	assert_int_equal(outbox_begin(box, 0, &w, &e), 0);
	assert_int_equal(json_integer_value(json_object_get(w.progress, "number")), 7);
	assert_string_equal(json_string_value(json_object_get(w.event, "body")), "b");
	outbox_work_done(&w);
}

static void test_damage(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "[]",
	    "{}",
	    "null",
	    "{\"v\": 1}",
	    "{\"v\": 2, \"event\": {}, \"progress\": {}}",
	};
	char name[64];

	(void)state;
	open_box();
	queue("github-new-good", "github-good", "github");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(name, sizeof(name), "outbox/github-new-%zu.json", i);
		scratch_write(dir.fd, name, bad[i]);
	}
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "outbox/github-link.json"), 0);
	assert_int_equal(mkdirat(dir.fd, "outbox/github-dir.json", 0700), 0);
	assert_int_equal(mkfifoat(dir.fd, "outbox/github-fifo.json", 0600), 0);
	scratch_write(dir.fd, "outbox/index-1.json", "not an entry");
	scratch_write(dir.fd, "outbox/.github-new-x.json.new", "{");
	open_box();
	assert_int_equal(outbox_count(box), 1);
	assert_non_null(strstr(outbox_warning(box), "is damaged"));
	assert_non_null(strstr(outbox_warning(box), "set aside in outbox/damaged"));
	assert_int_equal(count_files("outbox/damaged"), 10);
	assert_true(scratch_has(dir.fd, "outbox/index-1.json"));
	assert_false(scratch_has(dir.fd, "outbox/.github-new-x.json.new"));
	open_box();
	assert_string_equal(outbox_warning(box), "");
	/* An entry under another entry's name. */
	assert_int_equal(
	    linkat(dir.fd, "outbox/github-new-good.json", dir.fd, "outbox/github-new-evil.json", 0),
	    0);
	open_box();
	assert_int_equal(outbox_count(box), 1);
	/* A record of sent notifications. */
	sent("github-new-good", T0, "", false);
	scratch_write(dir.fd, "outbox/done/github-good.json", "{\"chain\": \"github-good\"}");
	assert_true(queue("github-new-good", "github-good", "github"));
	scratch_write(dir.fd, "outbox/places.json", "[");
	open_box();
	assert_int_equal(outbox_place_get(box, "github", "until"), 0);
	assert_non_null(strstr(outbox_warning(box), "places.json"));
}

static void test_read_only(void **state)
{
	struct outbox *o = NULL;
	bool fresh;
	struct err e;

	(void)state;
	assert_int_equal(outbox_read(dir.fd, &o, &e), 0);
	assert_int_equal(outbox_count(o), 0);
	outbox_close(o);
	assert_false(scratch_has(dir.fd, "outbox"));
	open_box();
	queue("github-new-a", "github-a", "github");
	scratch_write(dir.fd, "outbox/github-bad.json", "{");
	close_box();
	assert_int_equal(outbox_read(dir.fd, &o, &e), 0);
	assert_int_equal(outbox_count(o), 1);
	assert_non_null(strstr(outbox_warning(o), "github-bad"));
	assert_true(scratch_has(dir.fd, "outbox/github-bad.json"));
	box = o;
	assert_int_equal(try_queue("github-new-b", "github-b", "github", T0, &fresh), -EBADF);
}

static void test_one_deliverer(void **state)
{
	struct outbox *other = NULL;
	struct err e;

	(void)state;
	open_box();
	assert_int_equal(outbox_lock(box, &e), 0);
	assert_int_equal(outbox_open(dir.fd, &other, &e), 0);
	assert_int_equal(outbox_lock(other, &e), -EBUSY);
	close_box();
	assert_int_equal(outbox_lock(other, &e), 0);
	outbox_close(other);
}

static void test_record_is_bounded(void **state)
{
	_autojson_ json_t *record = NULL;
	char id[64];
	struct err e;

	(void)state;
	open_box();
	{
		_autojson_ json_t *e1 = json_pack("{s:s}", "event", "regressed");
		const struct outbox_item item = {
		    "github", "github-regressed-a-2", "github-a", "subject", e1, NULL};
		bool fresh;

		assert_int_equal(outbox_queue(box, &item, T0, &fresh, &e), 0);
	}
	sent("github-regressed-a-2", T0, "", false);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "github-again-a-%u", i);
		assert_true(queue(id, "github-a", "github"));
		sent(id, T0 + i, i == 50 ? "https://x/1" : "", i == 60);
	}
	assert_int_equal(outbox_chain(box, "github-a", &record, &e), 0);
	assert_true(outbox_chain_has(record, "github-again-a-99"));
	assert_true(outbox_chain_has(record, "github-again-a-69"));
	assert_false(outbox_chain_has(record, "github-again-a-68"));
	assert_true(outbox_chain_has(record, "github-regressed-a-2"));
	assert_string_equal(outbox_chain_url(record), "https://x/1");
	assert_true(json_is_true(json_object_get(record, "ignored")));
	assert_int_equal(outbox_chain_forget_ignored(box, "github-a", &e), 0);
	json_decref(take_ptr(&record));
	assert_int_equal(outbox_chain(box, "github-a", &record, &e), 0);
	assert_false(json_is_true(json_object_get(record, "ignored")));
}

/* Written without a sync, so that only our own calls are measured. */
static void write_entry(unsigned i)
{
	char name[96], text[700];

	snprintf(name, sizeof(name), "outbox/hook-x-new-%u.json", i);
	snprintf(text, sizeof(text),
		 "{\"v\": 1, \"id\": \"hook-x-new-%u\", \"chain\": \"hook-x-%u\", \"place\": "
		 "\"hook-x\", \"subject\": \"s\", \"seq\": %u, \"created\": 1, \"tries\": 0, "
		 "\"last_try\": 0, \"next_try\": 0, \"refused\": false, \"why\": \"\", "
		 "\"progress\": {}, "
		 "\"event\": {\"event\": \"new\"}}",
		 i, i / 2, i);
	scratch_write(dir.fd, name, text);
}

static void test_two_thousand(void **state)
{
	clock_t began, took;
	size_t n_due = 0;
	char id[64];

	(void)state;
	open_box();
	for (unsigned i = 0; i < 2000; i++)
		write_entry(i);
	began = clock();
	open_box();
	assert_int_equal(outbox_count(box), 2000);
	for (unsigned i = 0; i < 2000; i++)
		n_due += outbox_due(box, outbox_at(box, i), T0);
	assert_int_equal(n_due, 1000);
	for (unsigned i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "hook-x-new-%u", i);
		assert_true(due(id, T0));
		sent(id, T0, "", false);
	}
	took = (clock() - began) / (CLOCKS_PER_SEC / 1000);
	print_message("# 2000 entries: %ld ms of CPU\n", (long)took);
	assert_true(took < 20000);
	open_box();
	assert_int_equal(outbox_count(box), 1950);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    BOX(test_queue_twice),
    BOX(test_chain_order),
    cmocka_unit_test(test_backoff),
    BOX(test_retries),
    BOX(test_place),
    BOX(test_drop),
    BOX(test_progress),
    BOX(test_damage),
    BOX(test_read_only),
    BOX(test_one_deliverer),
    BOX(test_record_is_bounded),
    BOX(test_two_thousand),
};

UNIT_MAIN(tests)
