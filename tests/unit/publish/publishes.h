/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PUBLISHES_H
#define TESTS_PUBLISHES_H

/* A ledger, the receivers of its notifications, and a server that the test controls. */
#include "tests/unit/publish/outboxes.h"

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

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	ledger_free(ledger);
	ledger = NULL;
	return box_teardown(state);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Notes a crash that was seen in a run at this time. */
static inline void seen_by(const char *target, const char *signature, const char *run,
			   uint64_t time, bool security)
{
	const struct crash_sighting s = {.signature = signature,
					 .target = target,
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

static inline void seen(const char *signature, const char *run, uint64_t time, bool security)
{
	seen_by("png_fuzzer", signature, run, time, security);
}

static inline void queue(size_t want)
{
	struct err e;

	if (publish_queue(&p, box, ledger, &sum, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(sum.queued, want);
}

static inline size_t waits(const char *id)
{
	for (size_t i = 0; i < outbox_count(box); i++)
		if (strcmp(outbox_at(box, i)->id, id) == 0)
			return i + 1;
	return 0;
}

static inline json_t *event_of(const char *id)
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

static inline const char *str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

/* --- a server that the test controls -------------------------------------------- */

static struct server {
	enum delivery_result result;
	uint64_t wait_s;
	bool whole_host, ignored, unasked, deleted;
	uint64_t refused_token, token;
	size_t calls;
	uint64_t now;
	char last[OUTBOX_NAME];
	size_t saves;
} server;

static inline void serve(void *arg, struct delivery *d)
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
	d->unasked = server.unasked;
	d->deleted = server.deleted;
	d->refused_token = server.refused_token;
	snprintf(d->why, sizeof(d->why), "because\n");
	if (server.result == DELIVERY_DONE)
		snprintf(d->url, sizeof(d->url), "https://github.com/o/r/issues/1");
}

static inline uint64_t server_now(void *arg)
{
	(void)arg;
	return server.now;
}

static inline uint64_t server_token(void *arg)
{
	(void)arg;
	return server.token;
}

static inline struct publish_delivered deliver(const char *place, uint64_t now)
{
	const struct publish_sender s = {.place = place, .deliver = serve, .token = server_token};
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

static inline void all_done(uint64_t now)
{
	server = (struct server){.result = DELIVERY_DONE};
	(void)deliver("github", now);
	(void)deliver("hook-chat", now);
	(void)deliver("hook-all", now);
	assert_int_equal(outbox_count(box), 0);
}

#endif
