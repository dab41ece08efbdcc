/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_GITHUB_INTERNAL_H
#define RUNNER_PUBLISH_GITHUB_INTERNAL_H

/* Internal to runner/publish/github/. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "runner/publish/github/github.h"
#include "runner/publish/http/token.h"

enum {
	REPLICATION_S = 60,    /* after this time a change shows in a list */
	SERVER_WAIT_S = 60,    /* when the server names no time */
	TOKEN_WAIT_S = 3600,   /* after the server refused it */
	WISH_MAX_S = 86400,    /* the longest wait that a server can ask for */
	WRITE_EVERY_MS = 1000, /* GitHub's recommendation */
	KEY_MAX = 192,
	ISO_MAX = 32,
	REPO_MAX = 142, /* 39 of an owner, 100 of a name */
};

/* --- call.c: what an answer means; pure ----------------------------------------- */

enum answer_kind {
	ANSWER_OK,
	ANSWER_MISSING, /* 404, 410 */
	ANSWER_INVALID, /* 422 */
	ANSWER_REFUSED,
	ANSWER_TOO_LARGE,
	ANSWER_TOKEN, /* 401, or no token is available */
	ANSWER_LATER,
};

struct answer {
	enum answer_kind kind;
	bool unsure;	 /* not OK, but the request may have been carried out */
	unsigned status; /* 0: there was no answer */
	json_t *body;	 /* never NULL if OK */
	uint64_t wait_s;
	bool whole_host;
	bool unasked; /* TOKEN: no token is available, so no request was sent */
	char why[200];
	char next[HTTP_URL_MAX];
};
#define ANSWER_INIT  ((struct answer){.kind = ANSWER_REFUSED})
#define _autoanswer_ __attribute__((cleanup(answer_done)))

/* t (or NULL): the secrets that the server got; the text must not repeat them. */
void answer_judge(const struct http_reply *reply, const struct token *t, struct answer *out);
/* There was no complete answer; code: the result of http_request(). */
void answer_failed(int code, const char *why, struct answer *out);
void answer_done(struct answer *a); /* leaves ANSWER_INIT */

/* --- text.c: pure --------------------------------------------------------------- */

/* A server's text as one printable line, cut to n bytes. */
void text_clean(const char *from, char *out, size_t n);
bool text_repository_ok(const char *repo);
/* Checks a marker's id: letters, digits, ".", "_", "-", ":"; at most 150. */
bool text_id_ok(const char *id);
/* "2026-01-31T12:00:00Z" from Unix seconds, and back; 0: the text is not a time. */
void text_iso(uint64_t s, char out[ISO_MAX]);
uint64_t text_iso_read(const char *s);
/* Finds the next "<!-- fuzzcell-KEY -->" on a line of its own; KEY is "signature: ..." and the
 * like. */
bool text_next_marker(struct slice *io, struct slice *ret_key);
bool text_has_marker(const char *body, const char *key);
/* The reproducer's section, including the lines RENDER_INPUT_BEGIN and RENDER_INPUT_END. */
bool text_input(const char *body, struct slice *ret);
void text_base64(struct slice data, struct buf *out);
/* The title, cut to GitHub's limit of 256 characters, and the body, cut to fit 65536.  In the
 * body, `reproducer` replaces its placeholder, and a missing marker is appended. */
void text_title(const char *title, struct buf *out);
MUST_CHECK int text_body(const char *body, const char *reproducer, const char *key, struct buf *out,
			 struct err *e);

/* --- call.c: requests ----------------------------------------------------------- */

struct index;
struct github {
	const struct github_config *config;
	struct github_options o;
	struct http *http;
	struct token *token; /* NULL: not yet read */
	char login[80];	     /* the token's account; "": GitHub did not name it */
	bool login_known;    /* login was requested */
	bool blind;	     /* the server does not name the authors of issues */
	int64_t skew_s;	     /* how far the server's clock is ahead */
	uint64_t wrote_ms;   /* monotonic, because o.now's clock can jump */
	uint64_t paused_until_s;
	char paused_why[200];
	struct index *index; /* of the repository used last (find.c) */
};

uint64_t github_now(const struct github *g);
/* By the server's clock, once its offset is known. */
uint64_t github_server_now(const struct github *g);

/* path: "/repos/...", or a URL from the server, which must be of the same origin.  body may be
 * NULL.  Fills *a (ANSWER_INIT). */
void github_call(struct github *g, const char *method, const char *path, const json_t *body,
		 struct answer *a);
/* Fills g->login, once. */
bool auth_login(struct github *g, struct answer *a);
/* Do markers in this issue or comment count, by its author? */
bool auth_trusts(struct github *g, const json_t *item);

/* --- github.c: one delivery ----------------------------------------------------- */

enum event_kind {
	EVENT_NEW,
	EVENT_AGAIN,
	EVENT_REGRESSED,
	EVENT_FIXED,
	EVENT_FOUND,
	EVENT_PARTLY,
	EVENT_SMALLER,
	EVENT_BISECTED,
	EVENT_OTHER
};

struct issue {
	uint64_t number; /* 0: none */
	char url[HTTP_URL_MAX];
	char html[512];
	bool open, set_aside; /* closed as not planned or as a duplicate */
	bool ignore, wrong;   /* the labels that users set */
	uint64_t closed_s;
};

struct work {
	struct github *g;
	struct delivery *d;
	enum event_kind kind;
	const char *event, *repo, *action;
	char key[KEY_MAX];
	struct issue issue;
	bool deleted; /* its issue was deleted, and no other issue has its marker */
};

/* The functions below that return bool: true to continue, false when the delivery's result is
 * set. */

/* Is a OK?  If not, a becomes the delivery's result, as "what: why". */
bool work_ok(struct work *w, const struct answer *a, const char *what);
bool work_refuse(struct work *w, const char *why);    /* always false */
bool work_error(struct work *w, const struct err *e); /* always false; LATER */
bool work_later(struct work *w, uint64_t wait_s, const char *why);
/* A number in the delivery's progress; 0: not set. */
uint64_t work_get(const struct work *w, const char *name);
bool work_set(struct work *w, const char *name, uint64_t v); /* and saves */
bool work_unset(struct work *w, const char *name);
/* The request that began at `name` may have been carried out.  True: it is time to check. */
bool work_settled(struct work *w, const char *name);

/* --- find.c, upload.c: the issue --------------------------------------- */

bool issue_find(struct work *w); /* w->issue.number 0: no issue exists (any more) */
/* Puts the issue into the index of its repository, for later deliveries. */
void issue_remember(struct work *w);
void index_free(struct index *i); /* NULL is fine */

/* Sets the text for %REPRODUCER% in progress.  Without an upload the text begins with
 * UPLOAD_NOT. */
#define UPLOAD_NOT "It is not attached"
bool upload_reproducer(struct work *w);

#endif
