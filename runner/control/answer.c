/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to peers: JSON lines.  A fresh status answer is shared by all peers. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/control/internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Answers up to this size are exempt from CONTROL_PENDING_MAX, so errors are always sent. */
enum { ERROR_MAX = 4096 };

static int answer_make(struct control_server *s, const json_t *o, struct control_answer **ret,
		       struct err *e)
{
	_autofree_ char *text = NULL;
	struct control_answer *a;
	int r = json_print(o, 0, &text, e);
	size_t n;

	if (r < 0)
		return r;
	n = strlen(text) + 1;
	if (n > CONTROL_ANSWER_MAX)
		return err_set(e, EMSGSIZE, "the answer is too long: ask for one target");
	if (n > ERROR_MAX && s->pending + n > CONTROL_PENDING_MAX)
		return err_set(e, EBUSY, "too many answers are pending: try again later");
	a = xmalloc(sizeof(*a) + n);
	*a = (struct control_answer){.refs = 1, .n = n};
	memcpy(a->text, text, n - 1);
	a->text[n - 1] = '\n';
	s->pending += n;
	*ret = a;
	return 0;
}

struct control_answer *control_answer_error(struct control_server *s, const char *why)
{
	_autojson_ json_t *o = json_pack("{s:b, s:s}", "ok", 0, "error", why);
	struct control_answer *a = NULL;
	struct err ignored;

	/* json_pack() fails if why is not UTF-8. */
	if (!o)
		o = json_pack("{s:b, s:s}", "ok", 0, "error", "the request failed");
	return answer_make(s, o, &a, &ignored) == 0 ? a : NULL;
}

void control_answer_drop(struct control_server *s, struct control_answer *a)
{
	if (!a || --a->refs > 0)
		return;
	s->pending -= a->n;
	free(a);
}

/* {"ok": true} and the members of the callback's object. */
static int answer_ask(struct control_server *s, const struct control_request *q,
		      struct control_answer **ret, struct err *e)
{
	_autojson_ json_t *o = json_pack("{s:b}", "ok", 1);
	_autojson_ json_t *got = NULL;
	int r = s->fn(s->arg, q, &got, e);

	if (r < 0)
		return r;
	if (got)
		json_object_update(o, got);
	return answer_make(s, o, ret, e);
}

static int ask_status(struct control_server *s, const struct control_request *q,
		      struct control_answer **ret, struct err *e)
{
	uint64_t now = clock_mono_us();
	int r = 0;

	if (!s->status || now - s->status_us >= CONTROL_STATUS_FRESH_US) {
		control_answer_drop(s, s->status);
		s->status = NULL;
		s->status_us = now;
		r = answer_ask(s, q, &s->status, e);
	}
	if (r < 0)
		return r;
	assert(s->status);
	s->status->refs++;
	*ret = s->status;
	return 0;
}

static int answer(struct control_server *s, enum control_right right, struct slice line,
		  struct control_answer **ret, struct err *e)
{
	struct control_request q;
	int r = control_request_parse(line, &q, e);

	if (r < 0)
		return r;
	if (q.cmd == CONTROL_STATUS)
		return ask_status(s, &q, ret, e);
	if (!control_looks(q.cmd)) {
		if (right != CONTROL_MAY_ALL)
			return err_set(e, EPERM,
				       "permission denied: you may only look, not change the run");
		control_answer_drop(s, s->status); /* the request changes it */
		s->status = NULL;
	}
	return answer_ask(s, &q, ret, e);
}

struct control_answer *control_answer_to(struct control_server *s, enum control_right right,
					 struct slice line)
{
	struct control_answer *a = NULL;
	struct err e;

	return answer(s, right, line, &a, &e) < 0 ? control_answer_error(s, e.msg) : a;
}
