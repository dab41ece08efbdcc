/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/notify.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/publish/github/github.h"
#include "runner/publish/http/token.h"
#include "runner/publish/past.h"
#include "runner/publish/webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool notify_is_wanted(const struct config *c)
{
	size_t n;

	(void)config_webhooks(c, &n);
	return n > 0 || config_github(c)->repository;
}

static uint64_t notify_now_s(void)
{
	return clock_real_us() / USEC_PER_SEC;
}

/* --- senders -------------------------------------------------------------------- */

static void send_to_github(void *arg, struct delivery *d)
{
	github_deliver(arg, d);
}

static void send_to_webhook(void *arg, struct delivery *d)
{
	webhook_deliver(arg, d);
}

static uint64_t send_token(void *arg)
{
	return github_token(arg);
}

struct senders {
	struct publish_sender *v;
	char (*places)[OUTBOX_PLACE];
	size_t n;
};

static void senders_done(struct senders *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].deliver == send_to_github)
			github_free(s->v[i].arg);
		else
			webhook_free(s->v[i].arg);
	free(s->v);
	free(s->places);
}

static void senders_add(struct senders *s, const char *prefix, const char *name,
			void (*deliver)(void *, struct delivery *), void *arg)
{
	(void)snprintf(s->places[s->n], OUTBOX_PLACE, "%s%s", prefix, name);
	s->v[s->n] =
	    (struct publish_sender){.place = s->places[s->n],
				    .deliver = deliver,
				    .arg = arg,
				    .token = deliver == send_to_github ? send_token : NULL};
	s->n++;
}

static int senders_make(const struct config *c, struct senders *s, struct err *e)
{
	size_t n;
	const struct webhook_config *w = config_webhooks(c, &n);
	int r = 0;

	s->v = xcalloc(n + 1, sizeof(*s->v));
	s->places = xcalloc(n + 1, sizeof(*s->places));
	if (config_github(c)->repository) {
		struct github *g = NULL;

		r = github_new(config_github(c), NULL, &g, e);
		if (r == 0)
			senders_add(s, "github", "", send_to_github, g);
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct webhook *hook = NULL;

		r = webhook_new(&w[i], NULL, &hook, e);
		if (r == 0)
			senders_add(s, "hook-", w[i].name, send_to_webhook, hook);
	}
	return r;
}

static void outbox_close_p(struct outbox **o)
{
	outbox_close(*o);
}

/* --- queueing ------------------------------------------------------------------- */

static struct publish notify_publish(const struct notify *t)
{
	struct publish p = {
	    .state_dirfd = t->state->dirfd,
	    .state_path = t->state->path,
	    .github = config_github(t->config),
	    .outbox = config_outbox(t->config),
	    .run = t->run,
	    .now = notify_now_s(),
	};

	p.hooks = config_webhooks(t->config, &p.n_hooks);
	return p;
}

bool notify_has_place(const struct config *c, const char *place)
{
	struct publish p = {.github = config_github(c)};

	p.hooks = config_webhooks(c, &p.n_hooks);
	return publish_has_place(&p, place);
}

static struct publish_target notify_target(const struct target *t)
{
	return (struct publish_target){.name = t->name,
				       .build = t->build,
				       .binary = t->made ? t->made : t->binary,
				       .label = t->label,
				       .corpus = t->corpus};
}

/* Returns a new array of all builds. */
static struct publish_target *notify_targets(const struct notify *t, size_t *ret_n)
{
	size_t targets = t->targets ? t->targets->n : 0, n = 0;
	struct publish_target *v;

	for (size_t i = 0; i < targets; i++)
		n += 1 + t->targets->v[i].n_variants;
	v = xcalloc(n + 1, sizeof(*v));
	n = 0;
	for (size_t i = 0; i < targets; i++) {
		const struct target *one = &t->targets->v[i];

		v[n++] = notify_target(one);
		for (size_t k = 0; k < one->n_variants; k++)
			v[n++] = notify_target(&one->variants[k]);
	}
	*ret_n = n;
	return v;
}

static int notify_command(const void *arg, const char *target, struct engine_cmd *ret,
			  struct err *e)
{
	const struct notify *t = arg;

	return t->command(t, target, ret, e);
}

static void notify_past(const void *arg, const struct known_crash *entry, struct publish_past *ret)
{
	const struct notify *t = arg;

	past_of(t->state, entry, ret);
}

/* The material for texts. */
struct material {
	struct publish p;
	struct publish_target *targets;
	char *config, *state; /* options of commands */
	struct sources sources;
};

static void material_done(struct material *m)
{
	free(m->targets);
	free(m->config);
	free(m->state);
	sources_close(&m->sources);
}

static void material_init(struct material *m, const struct notify *t)
{
	*m = (struct material){.p = notify_publish(t), .sources = {.dirfd = -1}};
	m->targets = notify_targets(t, &m->p.n_targets);
	if (t->paths)
		t->paths(t, &m->config, &m->state);
	m->p.shown_config = m->config;
	m->p.shown_state = m->state;
	m->p.targets = m->targets;
	m->p.command = t->command ? notify_command : NULL;
	m->p.past = notify_past;
	m->p.arg = t;
	m->p.sources = &m->sources;
	sources_open(t->config, &m->sources);
}

static int notify_queue(const struct notify *t, struct outbox *o, const struct ledger *l,
			struct publish_sum *ret, struct err *e)
{
	struct material m;
	int r;

	material_init(&m, t);
	r = publish_queue(&m.p, o, l, ret, e);
	for (size_t i = 0; r == 0 && i < t->n_notes; i++)
		r = publish_note(&m.p, o, &t->notes[i], e);
	if (r == 0)
		r = publish_alarm_queue(&m.p, o, e);
	material_done(&m);
	return r;
}

int notify_preview(const struct notify *t, const struct known_crash *c, struct buf *title,
		   struct buf *body, struct err *e)
{
	struct material m;
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	int r = 0;

	material_init(&m, t);
	if (faccessat(t->state->dirfd, "outbox", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = outbox_read(t->state->dirfd, &o, e);
	if (r == 0)
		r = publish_preview(&m.p, o, c, title, body, e);
	material_done(&m);
	return r;
}

/* --- sending -------------------------------------------------------------------- */

static int notify_send(const struct notify *t, struct outbox *o, struct publish_delivered *ret,
		       struct err *e)
{
	CLEANUP(senders_done) struct senders s = {0};
	struct publish_deliver d = {
	    .state_dirfd = t->state->dirfd,
	    .retry_max_s = config_outbox(t->config)->retry_max_us / USEC_PER_SEC,
	    .deadline_us = clock_mono_us() + t->send_us,
	};
	int r = senders_make(t->config, &s, e);

	if (r < 0)
		return r;
	d.senders = s.v;
	d.n_senders = s.n;
	r = publish_deliver(&d, o, ret, e);
	if (r != -EBUSY)
		return r;
	*ret = (struct publish_delivered){.left = outbox_count(o), .next = notify_now_s() + 60};
	return 0; /* another process sends */
}

/* --- learned facts -------------------------------------------------------------- */

struct notify_learning {
	const struct ledger *ledger; /* as on disk */
	struct outbox *outbox;
	json_t *list;
};

/* Counts the entries that users can have been notified of. */
static size_t learn_older_entries(const struct known_crash *c)
{
	size_t n = c->n_by;

	while (n > 1 && c->by[n - 1]->state == LEDGER_NEW)
		n--;
	return n;
}

static bool learn_any_counts(const struct known_crash *c, size_t entries)
{
	for (size_t i = 0; i < c->n_by && i < entries; i++)
		if (c->by[i]->state != LEDGER_IGNORED)
			return true;
	return false;
}

static int learn_pass(void *arg, const struct publish_learned *l, struct err *e)
{
	struct notify_learning *to = arg;
	const struct known_crash *c = ledger_find(to->ledger, l->signature);
	bool url, ignore;
	size_t entries;
	json_t *j;

	if (!c)
		return 0;
	url = *l->url && strcmp(c->issue_url, l->url) != 0;
	entries = l->labelled ? (size_t)l->labelled : learn_older_entries(c);
	ignore = l->ignored && learn_any_counts(c, entries);
	if (l->ignored && !ignore)
		return publish_forget_ignored(to->outbox, l->chain, e);
	if (!url && !ignore)
		return 0;
	j = json_pack("{s:s, s:s, s:b, s:I}", "signature", l->signature, "url", url ? l->url : "",
		      "ignored", ignore, "entries", (json_int_t)entries);
	if (json_array_append_new(to->list, j) < 0)
		return err_set(e, EINVAL, "keep the learned facts");
	return 0;
}

struct notify_both {
	const struct publish_delivered *sent;
	const struct publish_sum *queued;
};

static int notify_add_result(struct outbox *o, const struct notify *t, const struct ledger *l,
			     const struct notify_both *b, struct buf *out, struct err *e)
{
	const struct publish_delivered *d = b->sent;
	struct notify_learning to = {l, o, json_array()};
	const struct publish p = notify_publish(t);
	struct publish_alarm a;
	_autojson_ json_t *j = NULL;
	_autofree_ char *text = NULL;
	int r = publish_learned(o, learn_pass, &to, e);

	publish_alarm(&p, o, &a);
	j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:{s:I, s:I, s:s, s:s}}", "done",
		      (json_int_t)d->done, "refused", (json_int_t)d->refused, "left",
		      (json_int_t)d->left, "next", (json_int_t)d->next, "postponed",
		      (json_int_t)b->queued->waiting, "learned", to.list, "warning",
		      *outbox_warning(o) ? outbox_warning(o) : d->warning, "failed", d->failed,
		      "alarm", "count", (json_int_t)a.count, "oldest", (json_int_t)a.oldest,
		      "place", a.place, "why", a.why);
	if (r < 0)
		return r;
	if (!j)
		return err_set(e, EINVAL, "build the round's result");
	r = json_print(j, 0, &text, e);
	if (r < 0)
		return r;
	buf_puts(out, text);
	return buf_check(out, e);
}

static void ledger_free_p(struct ledger **l)
{
	ledger_free(*l);
}

int notify_round(const struct notify *t, struct buf *result, struct err *e)
{
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	struct publish_delivered d = {0};
	struct publish_sum sum = {0};
	int r;

	if (t->send_us)
		token_protect_process();
	r = ledger_load(t->state->dirfd, &l, e);
	if (r == 0)
		r = outbox_open(t->state->dirfd, &o, e);
	if (r == 0)
		r = notify_queue(t, o, l, &sum, e);
	if (r == 0 && t->send_us)
		r = notify_send(t, o, &d, e);
	else if (r == 0)
		d = (struct publish_delivered){.left = outbox_count(o), .next = notify_now_s()};
	return r < 0 ? r : notify_add_result(o, t, l, &(struct notify_both){&d, &sum}, result, e);
}

/* --- the decision of a user ----------------------------------------------------- */

struct unignored {
	const struct ledger *ledger;
	const struct known_crash *crash;
	struct outbox *outbox;
};

/* Under the crash's own signature, or that of a crash that was merged into it. */
static int unignored_forget_label(void *arg, const struct publish_learned *l, struct err *e)
{
	const struct unignored *u = arg;

	if (!l->ignored || ledger_find(u->ledger, l->signature) != u->crash)
		return 0;
	return publish_forget_ignored(u->outbox, l->chain, e);
}

int notify_unignored(const struct state *s, const struct ledger *l, const char *signature,
		     struct err *e)
{
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	struct unignored u = {l, ledger_find(l, signature), NULL};
	int r;

	if (faccessat(s->dirfd, "outbox", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* no notification was ever sent */
	r = outbox_open(s->dirfd, &o, e);
	u.outbox = o;
	return r == 0 ? publish_learned(o, unignored_forget_label, &u, e) : r;
}

/* --- in the parent -------------------------------------------------------------- */

static void notify_copy_text(const json_t *j, const char *key, char *out, size_t n)
{
	const char *s = json_string_value(json_object_get(j, key));

	(void)snprintf(out, n, "%s", s ? s : "");
}

/* A crash that no longer exists (merged, or its record is gone) is no error. */
static int notify_apply(struct ledger *l, const json_t *one, struct err *e)
{
	const char *sig = json_string_value(json_object_get(one, "signature"));
	const char *url = json_string_value(json_object_get(one, "url"));
	int r = 0;

	if (!sig || !url)
		return err_set(e, EBADMSG, "cannot parse a learned fact");
	if (*url)
		r = ledger_issue(l, sig, url, e);
	if (r == 0 && json_is_true(json_object_get(one, "ignored")))
		r = ledger_ignore(l, sig, NULL, json_get_u64(one, "entries"),
				  "its issue has the label \"ignore\"", e);
	return r == -ENOENT ? 0 : r;
}

int notify_read(struct slice result, struct ledger *l, struct notify_result *ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	int r = json_parse(result, &j, e);
	const json_t *list, *alarm;

	if (r < 0)
		return r;
	list = json_object_get(j, "learned");
	alarm = json_object_get(j, "alarm");
	*ret = (struct notify_result){
	    .done = json_get_u64(j, "done"),
	    .refused = json_get_u64(j, "refused"),
	    .left = json_get_u64(j, "left"),
	    .next = json_get_u64(j, "next"),
	    .postponed = json_get_u64(j, "postponed"),
	    .learned = json_array_size(list) > 0,
	    .alarm = {.count = json_get_u64(alarm, "count"),
		      .oldest = json_get_u64(alarm, "oldest")},
	};
	notify_copy_text(j, "warning", ret->warning, sizeof(ret->warning));
	notify_copy_text(j, "failed", ret->failed, sizeof(ret->failed));
	notify_copy_text(alarm, "place", ret->alarm.place, sizeof(ret->alarm.place));
	notify_copy_text(alarm, "why", ret->alarm.why, sizeof(ret->alarm.why));
	for (size_t i = 0; l && r == 0 && i < json_array_size(list); i++)
		r = notify_apply(l, json_array_get(list, i), e);
	return r;
}

const char *notify_alarm_text(const struct publish_alarm *a, uint64_t now, char out[NOTIFY_TEXT])
{
	char age[UNITS_MAX], reports[UNITS_OF_MAX];

	out[0] = '\0';
	if (a->count)
		(void)snprintf(
		    out, NOTIFY_TEXT, "%s in the outbox, the oldest for %s: %s: %s",
		    units_of(a->count, "report waits", "reports wait", reports),
		    units_time((now > a->oldest ? now - a->oldest : 0) * USEC_PER_SEC, age),
		    a->place, *a->why ? a->why : "not tried yet");
	return out;
}
