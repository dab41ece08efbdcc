/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_GITHUB_INTERNAL_H
#define RUNNER_PUBLISH_GITHUB_INTERNAL_H

/* Between the files github*.c; nobody else includes it. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "runner/publish/github/github.h"
#include "runner/publish/http/token.h"

enum {
	REPLICATION_S = 60,    /* after so long what was done shows in a list */
	SERVER_WAIT_S = 60,    /* when it says no time of its own */
	TOKEN_WAIT_S = 3600,   /* after the server refused it */
	WISH_MAX_S = 86400,    /* no server freezes us for longer */
	WRITE_EVERY_MS = 1000, /* GitHub's own advice */
	KEY_MAX = 192,
	ISO_MAX = 32,
	REPO_MAX = 142, /* 39 of an owner, 100 of a name */
};

/* --- answer.c: what an answer means; pure ----------------------------------- */

enum answer_kind {
	ANSWER_OK,
	ANSWER_MISSING, /* 404, 410 */
	ANSWER_INVALID, /* 422 */
	ANSWER_REFUSED,
	ANSWER_TOO_LARGE,
	ANSWER_TOKEN, /* 401, or we have none */
	ANSWER_LATER,
};

struct answer {
	enum answer_kind kind;
	bool unsure;	 /* not OK, and yet it may have been done */
	unsigned status; /* 0: none came */
	json_t *body;	 /* of OK: never NULL */
	uint64_t wait_s;
	bool whole_host;
	bool unasked; /* TOKEN: there is nothing to show; the server knows nothing of it */
	char why[200];
	char next[HTTP_URL_MAX];
};
#define ANSWER_INIT  ((struct answer){.kind = ANSWER_REFUSED})
#define _autoanswer_ __attribute__((cleanup(answer_done)))

/* t (or NULL): what it was shown, and is not to be repeated. */
void answer_judge(const struct http_reply *reply, const struct token *t, struct answer *out);
/* No whole answer came: code of http_request(). */
void answer_failed(int code, const char *why, struct answer *out);
void answer_done(struct answer *a); /* done is ANSWER_INIT */

/* --- text.c: pure ----------------------------------------------------------- */

/* One line, printable, cut: what a server said. */
void text_clean(const char *from, char *out, size_t n);
bool text_repository_ok(const char *repo);
/* Of a marker's id: letters, digits, ".", "_", "-", ":"; at most 150. */
bool text_id_ok(const char *id);
/* "2026-01-31T12:00:00Z" and back; 0: it is none. */
void text_iso(uint64_t s, char out[ISO_MAX]);
uint64_t text_iso_read(const char *s);
/* The next "<!-- fuzzcell-KEY -->" that has a line of its own; key is "signature: ..."
 * and the like. */
bool text_next_marker(struct slice *io, struct slice *ret_key);
bool text_has_marker(const char *body, const char *key);
/* The reproducer's section with the lines around it (RENDER_INPUT_BEGIN, RENDER_INPUT_END). */
bool text_input(const char *body, struct slice *ret);
MUST_CHECK int text_base64(struct slice data, struct buf *out, struct err *e);
/* The title, and the body with the reproducer's text in its place and its marker at the
 * end if it has none, as GitHub takes them: 256 and 65536 characters. */
MUST_CHECK int text_title(const char *title, struct buf *out, struct err *e);
MUST_CHECK int text_body(const char *body, const char *reproducer, const char *key, struct buf *out,
			 struct err *e);

/* --- call.c, auth.c: requests ---------------------------------------- */

struct index;
struct github {
	const struct github_config *config;
	struct github_options o;
	struct http *http;
	struct token *token; /* NULL: not read yet */
	char login[80];	     /* the token's account; "": GitHub does not say */
	bool login_known;    /* it was asked */
	bool blind;	     /* the server does not say who wrote what */
	int64_t skew_s;	     /* the server's clock is ahead by so much */
	uint64_t wrote_ms;   /* o.now's clock can jump: the monotonic one */
	uint64_t paused_until_s;
	char paused_why[200];
	struct index *index; /* of the repository that was asked for last */
};

uint64_t github_now(const struct github *g);
/* By the server's clock, once it said what that is. */
uint64_t github_server_now(const struct github *g);

/* path: "/repos/...", or a URL that the server gave, which must be of the same origin.
 * body may be NULL.  Fills *a (ANSWER_INIT). */
void github_call(struct github *g, const char *method, const char *path, const json_t *body,
		 struct answer *a);
/* One request with this authorization; github_call() without all that is around it. */
void github_ask(struct github *g, const char *method, const char *path, const char *bearer,
		const json_t *body, struct answer *a);
/* An answer that holds for the whole host: until its time nothing is asked. */
void github_remember(struct github *g, const struct answer *a);
/* *ret: what to send with a request; false: *a says why there is none. */
bool auth_bearer(struct github *g, const char **ret, struct answer *a);
/* Fills g->login, once. */
bool auth_login(struct github *g, struct answer *a);
/* Who wrote this issue or comment is somebody whose markers count. */
bool auth_trusts(struct github *g, const json_t *item);

/* --- work.c: one delivery --------------------------------------------------- */

enum event_kind {
	EVENT_NEW,
	EVENT_AGAIN,
	EVENT_REGRESSED,
	EVENT_FIXED,
	EVENT_FOUND,
	EVENT_PARTLY,
	EVENT_SMALLER,
	EVENT_OTHER
};

struct issue {
	uint64_t number; /* 0: none */
	char url[HTTP_URL_MAX];
	char html[512];
	bool open, set_aside; /* closed as not planned or as a duplicate */
	bool ignore, wrong;   /* a person's labels */
	uint64_t closed_s;
};

struct work {
	struct github *g;
	struct delivery *d;
	enum event_kind kind;
	const char *event, *repo, *action;
	char key[KEY_MAX];
	struct issue issue;
	bool deleted; /* it had an issue, which is gone, and no other one has its marker */
};

/* All of these: true, go on; false: the delivery's result is set. */
bool work_init(struct work *w, struct github *g, struct delivery *d);
/* a is OK?  If not, it is what the delivery came to: "what: why". */
bool work_ok(struct work *w, const struct answer *a, const char *what);
bool work_refuse(struct work *w, const char *why);    /* always false */
bool work_error(struct work *w, const struct err *e); /* always false; LATER */
bool work_later(struct work *w, uint64_t wait_s, const char *why);
void work_end(struct work *w); /* DONE */
/* Progress: 0 is "not there". */
uint64_t work_get(const struct work *w, const char *name);
bool work_set(struct work *w, const char *name, uint64_t v); /* and saves */
bool work_unset(struct work *w, const char *name);
/* What began at `name` may have been done: true when it is time to look for it. */
bool work_settled(struct work *w, const char *name);

bool issue_find(struct work *w); /* find.c; w->issue.number 0: surely none (any more) */
bool issue_open(struct work *w); /* issue.c */
bool issue_set_state(struct work *w, bool open);
/* Puts the event's reproducer in the place of the issue's, if that is still marked. */
bool issue_edit(struct work *w);
bool comment_once(struct work *w); /* comment.c */
/* The text for %REPRODUCER%, in progress: upload.c.  Without an upload it begins so. */
#define UPLOAD_NOT "It is not attached"
bool upload_reproducer(struct work *w);
bool upload_branch(struct work *w, struct answer *a); /* branch.c */

/* --- index.c, scan.c: which issue has which marker ------------------- */

struct index {
	char name[64]; /* outbox/<name> */
	char repo[REPO_MAX];
	json_t *issues;		 /* marker's key -> number */
	uint64_t since_s;	 /* the list is known up to here, by the server's clock */
	uint64_t fresh_s;	 /* of the last whole reading: when it began, by ours; 0: none */
	char next[HTTP_URL_MAX]; /* of a reading that was not finished */
	uint64_t began_s, began_server_s;
	unsigned per_page;
};

/* g->index becomes that of w->repo, as the cache has it. */
bool index_open(struct work *w);
void index_free(struct index *i);			    /* NULL is fine */
uint64_t index_get(const struct index *i, const char *key); /* 0: none */
MUST_CHECK int index_put(struct index *i, const char *key, uint64_t number, struct err *e);
/* All is to be read again. */
void index_reset(struct index *i);
/* Best effort: it is a cache. */
void index_save(struct work *w);
/* Brings it up to date with a reading that began not before not_before_s (by our
 * clock), nor long ago. */
bool index_refresh(struct work *w, uint64_t not_before_s);

#endif
