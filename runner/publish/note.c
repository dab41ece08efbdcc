/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications without a crash: about runs, targets, and the outbox itself (the alarm). */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "runner/publish/internal.h"
#include "runner/publish/render/render.h"
#include "runner/publish/webhook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define U(n) ((unsigned long long)(n))

/* --- notes ---------------------------------------------------------------------- */

/* An entry that is about no crash. */
struct plain {
	const char *event, *id, *chain, *subject;
	const char *target, *run, *commit, *text;
};

static int plain_queue(const struct publish *p, struct outbox *o, const struct webhook_config *h,
		       const struct plain *v, struct err *e)
{
	const struct webhook_message m = {.event = v->event,
					  .id = v->id,
					  .time = p->now,
					  .target = v->target,
					  .run = v->run,
					  .commit = v->commit,
					  .text = v->text};
	_autojson_ json_t *event = NULL;
	char place[OUTBOX_PLACE];
	struct outbox_item item = {place, v->id, v->chain, v->subject, NULL, NULL};
	json_t *payload = NULL;
	bool fresh;
	int r = webhook_payload(h->format, &m, &payload, e);

	if (r < 0)
		return r;
	publish_hook_place(h, place);
	event = json_pack("{s:s, s:s, s:I, s:o}", "event", v->event, "signature", "", "time",
			  (json_int_t)p->now, "payload", payload);
	if (!event)
		return err_set(e, EINVAL, "build JSON");
	item.event = event;
	return outbox_queue(o, &item, p->now, &fresh, e);
}

/* A chain without a crash has a '.' in place of a crash's name, which never begins with '.'.
 * id: "hook-x-silent-<target>-<since>", "hook-x-run-failed-<run>" */
static int note_hook(const struct publish *p, struct outbox *o, const struct publish_note *n,
		     const struct webhook_config *h, struct err *e)
{
	const char *subject = n->kind == PUBLISH_SILENT ? n->target : n->run;
	char place[OUTBOX_PLACE], part[OUTBOX_PART], id[OUTBOX_NAME], chain[OUTBOX_NAME];
	struct plain v = {.id = id,
			  .chain = chain,
			  .subject = subject ? subject : "",
			  .target = n->target,
			  .run = n->run,
			  .commit = n->commit,
			  .text = n->text};

	publish_hook_place(h, place);
	outbox_name(slice_of(v.subject), part);
	v.event = n->kind == PUBLISH_SILENT ? "silent" : "run-failed";
	if (!webhook_wants(h, v.event))
		return 0;
	if (n->kind == PUBLISH_SILENT) {
		snprintf(id, sizeof(id), "%s-silent-%s-%llu", place, part, U(n->since));
		snprintf(chain, sizeof(chain), "%s-.silent-%s", place, part);
	} else {
		snprintf(id, sizeof(id), "%s-run-failed-%s", place, part);
		snprintf(chain, sizeof(chain), "%s-.runs", place);
	}
	return plain_queue(p, o, h, &v, e);
}

int publish_note(const struct publish *p, struct outbox *o, const struct publish_note *n,
		 struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_hooks; i++)
		r = note_hook(p, o, n, &p->hooks[i], e);
	return r < 0 ? err_wrap(e, "publish") : 0;
}

/* --- the alarm ------------------------------------------------------------------ */

static bool alarm_is_stuck(const struct publish *p, const struct outbox_entry *t)
{
	return p->now > t->created && p->now - t->created >= p->outbox->alarm_us / USEC_PER_SEC;
}

/* place NULL: all configured destinations. */
static void alarm_find(const struct publish *p, const struct outbox *o, const char *place,
		       struct publish_alarm *ret)
{
	*ret = (struct publish_alarm){0};
	for (size_t i = 0; i < outbox_count(o); i++) {
		const struct outbox_entry *t = outbox_at(o, i);

		if (!alarm_is_stuck(p, t) || (place && strcmp(place, t->place) != 0) ||
		    !publish_has_place(p, t->place))
			continue;
		ret->count++;
		if (ret->oldest && t->created >= ret->oldest)
			continue;
		ret->oldest = t->created;
		snprintf(ret->place, sizeof(ret->place), "%s", t->place);
		snprintf(ret->why, sizeof(ret->why), "%s", t->why);
	}
}

void publish_alarm(const struct publish *p, const struct outbox *o, struct publish_alarm *ret)
{
	alarm_find(p, o, NULL, ret);
}

/* For example "fuzzcell cannot deliver: 2 for github, the oldest since 1d02h ago: ...". */
static void alarm_text(const struct publish *p, const struct publish_alarm *a, char *out, size_t n)
{
	char age[UNITS_MAX];

	snprintf(out, n, "fuzzcell cannot deliver: %zu for %s, the oldest since %s ago%s%s",
		 a->count, a->place, units_time((p->now - a->oldest) * USEC_PER_SEC, age),
		 *a->why ? ": " : "", a->why);
}

static int alarm_hook(const struct publish *p, struct outbox *o, const struct webhook_config *h,
		      const struct publish_alarm *a, uint64_t since, struct err *e)
{
	char place[OUTBOX_PLACE], id[OUTBOX_NAME], chain[OUTBOX_NAME], text[500];
	const struct plain v = {
	    .event = "alarm", .id = id, .chain = chain, .subject = a->place, .text = text};

	publish_hook_place(h, place);
	if (strcmp(place, a->place) == 0)
		return 0;
	alarm_text(p, a, text, sizeof(text));
	snprintf(id, sizeof(id), "%s-alarm-%s-%llu", place, a->place, U(since));
	snprintf(chain, sizeof(chain), "%s-.alarm-%s", place, a->place);
	return plain_queue(p, o, h, &v, e);
}

static int alarm_body(const struct publish *p, const struct publish_alarm *a, struct buf *out,
		      struct err *e)
{
	_autobuf_ struct buf command = BUF_INIT(out->max);
	char date[32];

	buf_printf(out,
		   "Notifications for `%s` cannot be delivered since %s. On the machine that "
		   "fuzzes:\n\n",
		   a->place, render_time(a->oldest, date));
	buf_puts(&command, "fuzzcell outbox list");
	render_options(p->shown_config, p->shown_state, &command);
	buf_puts(&command, "\n");
	out->full |= command.full;
	render_fence(buf_slice(&command), "sh", out);
	return buf_check(out, e);
}

/* A separate issue.  It omits the reason, which may name a private host. */
static int alarm_github(const struct publish *p, struct outbox *o, const struct publish_alarm *a,
			uint64_t since, struct err *e)
{
	_autobuf_ struct buf body = BUF_INIT(RENDER_BODY_MAX);
	char id[OUTBOX_NAME], chain[OUTBOX_NAME];
	_autojson_ json_t *event = NULL;
	struct outbox_item item = {PUBLISH_GITHUB, id, chain, a->place, NULL, NULL};
	bool fresh;
	int r;

	if (!publish_has_github(p) || strcmp(a->place, PUBLISH_GITHUB) == 0)
		return 0;
	snprintf(id, sizeof(id), PUBLISH_GITHUB "-alarm-%s-%llu", a->place, U(since));
	snprintf(chain, sizeof(chain), PUBLISH_GITHUB "-.alarm-%s", a->place);
	r = alarm_body(p, a, &body, e);
	if (r < 0)
		return r;
	event =
	    json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:[], s:s, s:s, s:n}", "event", "alarm",
		      "signature", "", "time", (json_int_t)p->now, "title",
		      "fuzzcell cannot deliver", "body", buf_str(&body), "comment", buf_str(&body),
		      "labels", "repository", p->github->repository, "action", "none", "upload");
	if (!event)
		return err_set(e, EINVAL, "build JSON");
	item.event = event;
	return outbox_queue(o, &item, p->now, &fresh, e);
}

/* A place's number "alarm" is the time since when it is stuck; it is part of the alarm's id. */
static int alarm_place(const struct publish *p, struct outbox *o, const char *place, struct err *e)
{
	uint64_t since = outbox_place_get(o, place, "alarm");
	struct publish_alarm a;
	struct outbox_number v = {"alarm", 0};
	int r = 0;

	alarm_find(p, o, place, &a);
	v.value = a.count == 0 ? 0 : since ? since : p->now;
	if (v.value != since)
		r = outbox_place_set(o, place, &v, 1, e);
	if (a.count == 0)
		return r;
	for (size_t i = 0; r == 0 && i < p->n_hooks; i++)
		r = alarm_hook(p, o, &p->hooks[i], &a, v.value, e);
	return r == 0 ? alarm_github(p, o, &a, v.value, e) : r;
}

int publish_alarm_queue(const struct publish *p, struct outbox *o, struct err *e)
{
	int r = alarm_place(p, o, PUBLISH_GITHUB, e);

	for (size_t i = 0; r == 0 && i < p->n_hooks; i++) {
		char place[OUTBOX_PLACE];

		publish_hook_place(&p->hooks[i], place);
		r = alarm_place(p, o, place, e);
	}
	return r < 0 ? err_wrap(e, "alarm") : 0;
}
