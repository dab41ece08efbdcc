/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a webhook's body; no network. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/publish/render/render.h"
#include "runner/publish/webhook/webhook.h"

#include <errno.h>
#include <string.h>

/* Slack's limits: 3000 characters for a section's text, 2000 for a field, 150 for a header, and
 * 50 blocks a message.  Texts here are short lines, which are cut well below. */
enum { TEXT_MAX = 2800, FIELD_MAX = 900, HEADER_MAX = 140, PART_MAX = 300, ROOM = 64 << 10 };

bool webhook_wants(const struct webhook_config *c, const char *event)
{
	if (c->events.n == 0 || strcmp(event, "alarm") == 0)
		return true;
	for (size_t i = 0; i < c->events.n; i++)
		if (strcmp(c->events.v[i], event) == 0)
			return true;
	return false;
}

/* Plain text, one line. */
static void webhook_payload_plain(const char *text, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(ROOM);

	render_clean((struct slice){text, strnlen(text, max + 1)}, RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	buf_put(out, render_cut(buf_slice(&clean), max));
}

/* Slack's markup has three characters to escape.  Within code nothing is markup, but a backtick
 * ends it. */
static void mrkdwn(const char *text, bool code, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(ROOM);

	webhook_payload_plain(text, PART_MAX, &clean);
	out->full |= clean.full;
	buf_puts(out, code ? "`" : "");
	for (size_t i = 0; i < clean.n; i++) {
		struct slice c = {clean.p + i, 1};

		if (*c.p == '&')
			c = SLICE("&amp;");
		else if (*c.p == '<')
			c = SLICE("&lt;");
		else if (*c.p == '>')
			c = SLICE("&gt;");
		else if (*c.p == '`')
			c = SLICE("'");
		buf_put(out, c);
	}
	buf_puts(out, code ? "`" : "");
}

/* How names are written: unchanged, or as Slack's code. */
typedef void write_fn(const char *text, struct buf *out);

static void as_plain(const char *text, struct buf *out)
{
	webhook_payload_plain(text, PART_MAX, out);
}

static void as_code(const char *text, struct buf *out)
{
	mrkdwn(*text ? text : "?", true, out);
}

static const char *verb(const char *event)
{
	static const char *const verbs[][2] = {
	    {"new", "New crash"}, {"fixed", "Fixed"}, {"regressed", "Came back"}};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(event, verbs[i][0]) == 0)
			return verbs[i][1];
	return "Crash";
}

static void reliability(const struct known_crash *c, struct buf *out)
{
	unsigned long long tries = c->reproduction.tries, hits = c->reproduction.hits;

	if (!tries)
		return;
	if (hits)
		buf_printf(out, "; fails %llu of %llu times", hits, tries);
	else
		buf_printf(out, "; never in %llu replays", tries);
}

/* "New crash in png_fuzzer: Heap-use-after-free READ 4 in f (security-relevant); fails 3 of
 * 3 times; 0123456789abcdef" */
static void crash_line(const struct webhook_message *m, write_fn *write, struct buf *out)
{
	const struct known_crash *c = m->crash;

	buf_printf(out, "%s in ", verb(m->event));
	write(c->fuzzer, out);
	buf_puts(out, ": ");
	write(*c->crash_type ? c->crash_type : "crash", out);
	if (*c->top_frame) {
		buf_puts(out, " in ");
		write(c->top_frame, out);
	}
	if (c->security)
		buf_puts(out, " (security-relevant)");
	reliability(c, out);
	buf_puts(out, "; ");
	write(c->signature, out);
}

static int line(const struct webhook_message *m, bool slack, struct buf *out, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(ROOM);

	if (m->crash)
		crash_line(m, slack ? as_code : as_plain, &text);
	else if (slack)
		mrkdwn(m->text ? m->text : "", false, &text);
	else
		webhook_payload_plain(m->text ? m->text : "", PART_MAX, &text);
	out->full |= text.full;
	buf_put(out, render_cut(buf_slice(&text), TEXT_MAX));
	return buf_check(out, e);
}

/* --- Slack --------------------------------------------------------------------- */

static int add_field(json_t *fields, const char *name, const char *value, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(ROOM);
	struct slice s;
	int r;

	if (!value || !*value)
		return 0;
	buf_printf(&text, "*%s*\n", name);
	as_code(value, &text);
	r = buf_check(&text, e);
	if (r < 0)
		return r;
	s = render_cut(buf_slice(&text), FIELD_MAX);
	json_array_append_new(fields, json_pack("{s:s, s:s%}", "type", "mrkdwn", "text", s.p, s.n));
	return 0;
}

static int add_fields(const struct webhook_message *m, json_t *fields, struct err *e)
{
	char date[32];
	int r = 0;

	if (m->crash) {
		r = add_field(fields, "Severity", m->crash->severity, e);
		if (r == 0)
			r = add_field(fields, "Issue", m->crash->issue_url, e);
	} else {
		r = add_field(fields, "Target", m->target, e);
	}
	if (r == 0)
		r = add_field(fields, "Commit", m->commit, e);
	if (r == 0)
		r = add_field(fields, "Run", m->run, e);
	return r == 0 ? add_field(fields, "Time", render_time(m->time, date), e) : r;
}

static int slack(const struct webhook_message *m, json_t **ret, struct err *e)
{
	_autobuf_ struct buf marked = BUF_INIT(ROOM), text = BUF_INIT(ROOM);
	_autojson_ json_t *fields = json_array();
	int r = line(m, true, &marked, e);

	if (r == 0)
		r = line(m, false, &text, e);
	if (r == 0)
		r = add_fields(m, fields, e);
	if (r < 0)
		return r;
	/* "text" is shown in notifications, and is markup, too. */
	*ret = json_pack("{s:s, s:[{s:s, s:{s:s, s:s}}, {s:s, s:O}]}", "text", buf_str(&marked),
			 "blocks", "type", "section", "text", "type", "mrkdwn", "text",
			 buf_str(&marked), "type", "section", "fields", fields);
	return 0;
}

/* --- generic ------------------------------------------------------------------- */

static json_t *webhook_payload_text_json(const char *s)
{
	_autobuf_ struct buf clean = BUF_INIT(ROOM);

	if (!s || !*s)
		return json_null();
	webhook_payload_plain(s, PART_MAX, &clean);
	return clean.full ? NULL : json_string(buf_str(&clean));
}

static json_t *webhook_payload_crash_json(const struct webhook_message *m)
{
	const struct known_crash *c = m->crash;

	if (!c)
		return json_null();
	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:{s:I, s:I}, s:I, s:I, s:I, s:o}", "signature",
	    webhook_payload_text_json(c->signature), "target", webhook_payload_text_json(c->fuzzer),
	    "crash_type", webhook_payload_text_json(c->crash_type), "top_frame",
	    webhook_payload_text_json(c->top_frame), "severity",
	    webhook_payload_text_json(c->severity), "state", ledger_state_name(c->state),
	    "security", c->security, "reproduces", "hits", (json_int_t)c->reproduction.hits,
	    "tries", (json_int_t)c->reproduction.tries, "count", (json_int_t)c->count, "first_seen",
	    (json_int_t)c->first_seen.time, "last_seen", (json_int_t)c->last_seen.time, "issue_url",
	    webhook_payload_text_json(m->issue_url));
}

static int generic(const struct webhook_message *m, json_t **ret, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(ROOM);
	int r = line(m, false, &text, e);

	if (r < 0)
		return r;
	*ret =
	    json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "event", m->event, "id", m->id,
		      "time", (json_int_t)m->time, "text", buf_str(&text), "target",
		      webhook_payload_text_json(m->crash ? m->crash->fuzzer : m->target), "run",
		      webhook_payload_text_json(m->run), "commit",
		      webhook_payload_text_json(m->commit), "crash", webhook_payload_crash_json(m));
	return *ret ? 0 : err_set(e, EINVAL, "build JSON");
}

int webhook_payload(enum webhook_format format, const struct webhook_message *m, json_t **ret,
		    struct err *e)
{
	return format == WEBHOOK_SLACK ? slack(m, ret, e) : generic(m, ret, e);
}
