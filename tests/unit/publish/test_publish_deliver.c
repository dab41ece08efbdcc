/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/publishes.h"

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
	assert_int_equal(got.left, 2);
	assert_in_range(got.next, T0 + 45, T0 + 60);
	assert_string_equal(outbox_at(box, 0)->why, "because?");
	(void)deliver("github", T0 + 10);
	assert_int_equal(server.calls, 0);
	/* No entry is due for another sender. */
	(void)deliver("hook-chat", T0 + 1000);
	assert_int_equal(server.calls, 0);
	server.whole_host = true;
	server.wait_s = 500;
	got = deliver("github", T0 + 100);
	assert_int_equal(server.calls, 1); /* its error holds for all entries */
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
	const struct publish_sender s = {.place = "github", .deliver = serve};
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

/* A sender without a token does not block a sender with one. */
static void test_no_request_was_sent(void **state)
{
	struct publish_delivered got;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, false);
	queue(2);
	server = (struct server){.result = DELIVERY_LATER, .unasked = true};
	got = deliver("github", T0);
	assert_int_equal(server.calls, 1); /* the other entry would fail, too */
	assert_int_equal(got.left, 2);
	assert_int_equal(got.next, T0 + 300);
	assert_string_equal(got.failed, "github: because?");
	assert_int_equal(outbox_place_get(box, "github", "until"), 0);
	assert_string_equal(outbox_at(box, 0)->why, "because?");
	assert_int_equal(outbox_at(box, 0)->tries, 0);
	server = (struct server){.result = DELIVERY_DONE};
	open_box(); /* another process, in the same second */
	got = deliver("github", T0);
	assert_int_equal(got.done, 2);
	assert_string_equal(got.failed, "");
}

static void test_refused_token(void **state)
{
	struct publish_delivered got;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, false);
	seen(B, "r1", T0, false);
	queue(2);
	server = (struct server){.result = DELIVERY_LATER,
				 .wait_s = 3600,
				 .whole_host = true,
				 .refused_token = 7,
				 .token = 7};
	got = deliver("github", T0);
	assert_int_equal(server.calls, 1);
	assert_int_equal(got.next, T0 + 300); /* the token may be another one by then */
	(void)deliver("github", T0 + 3000);
	assert_int_equal(server.calls, 0);
	server.token = 0; /* no token is available */
	(void)deliver("github", T0 + 3000);
	assert_int_equal(server.calls, 0);
	server.result = DELIVERY_DONE;
	server.token = 8;
	open_box();
	got = deliver("github", T0 + 1);
	assert_int_equal(got.done, 2);
	assert_int_equal(outbox_place_get(box, "github", "token"), 0);
	/* The same token is tried again at its time; `outbox retry` does not wait. */
	seen(C, "r1", T0, false);
	queue(1);
	server.result = DELIVERY_LATER;
	server.refused_token = 8;
	(void)deliver("github", T0 + 10);
	assert_int_equal(server.calls, 1);
	(void)deliver("github", T0 + 10 + 4200);
	assert_int_equal(server.calls, 1);
	assert_int_equal(outbox_retry(box, 0, &(struct err){0}), 0);
	(void)deliver("github", T0 + 10 + 4201);
	assert_int_equal(server.calls, 1);
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
	assert_int_equal(deliver("github", T0).done, 1);
	(void)deliver("hook-all", T0);
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(learned_texts[1], "an older/one");
	assert_string_equal(learned_texts[2], "https://github.com/o/r/issues/1");
	assert_true(learned.ignored);
	assert_string_equal(learned_texts[0], "github-an:20older:2Fone");
	assert_int_equal(publish_forget_ignored(box, learned_texts[0], &e), 0);
	assert_int_equal(publish_learned(box, learn, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_false(learned.ignored);
}

/* A deleted issue is noted, and its URL stays: the crash is not filed again. */
static void test_deleted(void **state)
{
	_autojson_ json_t *record = NULL;
	struct err e;

	(void)state;
	p.n_hooks = 0;
	seen(A, "r1", T0, false);
	queue(1);
	server = (struct server){.result = DELIVERY_DONE};
	(void)deliver("github", T0);
	seen(A, "r2", T0 + 9, false);
	p.run = "r2";
	queue(1);
	assert_true(waits("github-again-" A "-r2") > 0);
	server = (struct server){.result = DELIVERY_DONE, .deleted = true};
	(void)deliver("github", T0 + 10);
	assert_int_equal(outbox_chain(box, "github-" A, &record, &e), 0);
	assert_string_equal(outbox_chain_how(record, "github-again-" A "-r2"), "deleted");
	assert_string_equal(outbox_chain_url(record), "https://github.com/o/r/issues/1");
	queue(0);
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
		if (sum.waiting) { /* counted, and then killed: one day later */
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

/* A full disk, a failing call, or a kill, anywhere between ledger and outbox. */
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

static void publish_queue_both(void)
{
	struct err e;

	ledger_free(ledger);
	ledger = NULL;
	assert_int_equal(ledger_parse(SLICE("{}"), &ledger, &e), 0);
	seen(A, "r1", T0, false);
	queue(1);
	assert_int_equal(ledger_fixed(ledger, A, "png_fuzzer", T0 + 1, NULL, "r2", &e), 0);
	queue(1);
}

/* Only our note, not the server, shows whether a request was sent before.  A kill after the
 * request must leave this note. */
static void serve_noting(void *arg, struct delivery *d)
{
	char sent[4096], line[OUTBOX_NAME + 2];
	struct err e;
	int fd;

	(void)arg;
	scratch_text(dir.fd, "sent", sent, sizeof(sent));
	snprintf(line, sizeof(line), "%s\n", d->id);
	if (strstr(sent, line) && !json_object_get(d->progress, "posting"))
		_exit(3);
	json_object_set_new(d->progress, "posting", json_integer(1));
	d->result = DELIVERY_LATER;
	if (d->save(d->arg, &e) < 0)
		return; /* the note is not on disk: nothing is sent */
	fd = openat(dir.fd, "sent", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (write(fd, line, strlen(line)) < 0)
		_exit(4);
	close(fd);
	d->result = DELIVERY_DONE;
}

static int deliver_once(void)
{
	const struct publish_sender s = {.place = "github", .deliver = serve_noting};
	const struct publish_deliver d = {.state_dirfd = dir.fd,
					  .senders = &s,
					  .n_senders = 1,
					  .retry_max_s = 60,
					  .now = server_now};
	struct publish_delivered got;
	struct outbox *o = NULL;
	struct err e;
	int r = outbox_open(dir.fd, &o, &e);

	if (r == 0)
		r = publish_deliver(&d, o, &got, &e);
	outbox_close(o);
	return r;
}

/* Returns the number of occurrences of the line in the text, and its position. */
static unsigned times(const char *text, const char *line, const char **ret_at)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
		if (n++ == 0)
			*ret_at = at;
	return n;
}

static void check_sent(void)
{
	char sent[4096];
	const char *a = NULL, *b = NULL;

	scratch_text(dir.fd, "sent", sent, sizeof(sent));
	assert_in_range(times(sent, "github-new-" A "\n", &a), 1, 2);
	assert_in_range(times(sent, "github-fixed-" A "-1700000001\n", &b), 1, 2);
	assert_true(a < b); /* in order */
}

/* Killed, or failing, at each step of two deliveries: both arrive, in order. */
static unsigned try_deliveries(enum fault_how how)
{
	for (unsigned nth = 1;; nth++) {
		int status = 0;
		struct err e;
		pid_t pid;

		assert_true(nth < 1000);
		assert_int_equal(fs_remove_tree(dir.fd, "outbox", &e), 0);
		assert_int_equal(fs_remove_tree(dir.fd, "sent", &e), 0);
		server.now = T0;
		open_box();
		publish_queue_both();
		close_box();
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			fault_arm(nth, how);
			_exit(deliver_once() < 0 ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 3);
		for (int i = 0; i < 4; i++) {
			server.now += 3600;
			assert_int_equal(deliver_once(), 0);
		}
		check_sent();
		open_box();
		assert_int_equal(outbox_count(box), 0);
		close_box();
		if (WEXITSTATUS(status) == 0 && nth > 100)
			return nth;
	}
}

static void test_killed_deliveries(void **state)
{
	(void)state;
	p.n_hooks = 0;
	assert_true(try_deliveries(FAULT_DIE) > 40);
	(void)try_deliveries(FAULT_FAIL);
}

static const struct CMUnitTest tests[] = {
    WITH(test_outcomes),      WITH(test_deadline_and_lock), WITH(test_no_request_was_sent),
    WITH(test_refused_token), WITH(test_deleted),	    WITH(test_learned),
    WITH(test_faults),	      WITH(test_killed_deliveries),
};

UNIT_MAIN(tests)
