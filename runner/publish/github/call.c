/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to GitHub: what an answer means, authorization, pauses and retries. */
#include "base/clock.h"
#include "base/sys.h"
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

/* --- an answer's reason --------------------------------------------------------- */

void answer_done(struct answer *a)
{
	json_decref(a->body);
	*a = ANSWER_INIT;
}

/* An element of "errors": {"resource", "field", "code", "message"}, or a text. */
static void answer_add_error(const json_t *one, char *out, size_t n)
{
	size_t at = strlen(out);
	const char *message =
	    json_is_string(one) ? json_string_value(one) : json_get_text(one, "message");

	if (at + 4 >= n)
		return;
	if (*message)
		(void)snprintf(out + at, n - at, "; %s", message);
	else
		(void)snprintf(out + at, n - at, "; %s %s", json_get_text(one, "field"),
			       json_get_text(one, "code"));
}

/* Secrets are hidden before the text is cut, because a cut secret is not recognised. */
static void answer_set_reason(const struct http_reply *reply, const json_t *body,
			      const struct token *t, struct answer *out)
{
	const json_t *errors = json_object_get(body, "errors");
	char raw[2048];
	const char *text = json_get_text(body, "message");

	if (reply->elsewhere) /* the answer's text has no more information */
		text = "it points to another host, and was not followed";
	(void)snprintf(raw, sizeof(raw), "%u: %s", reply->status, *text ? text : "no reason given");
	for (size_t i = 0; i < json_array_size(errors) && i < 8; i++)
		answer_add_error(json_array_get(errors, i), raw, sizeof(raw));
	token_hide(t, raw);
	text_clean(raw, out->why, sizeof(out->why));
}

/* --- an answer's meaning -------------------------------------------------------- */

/* The meaning of GitHub's answers.  From its documentation, "Rate limits for the REST API" and
 * "Best practices": obey retry-after.  Else, if no requests remain, wait until
 * x-ratelimit-reset.  Else, for a secondary limit, wait at least a minute. */

static void answer_later(struct answer *a, uint64_t wait_s, bool whole_host)
{
	a->kind = ANSWER_LATER;
	a->wait_s = wait_s < WISH_MAX_S ? wait_s : WISH_MAX_S;
	a->whole_host = whole_host;
}

/* The wait until x-ratelimit-reset, and one second more because both times are truncated to
 * seconds. */
static uint64_t answer_until_reset(const struct http_headers *h)
{
	if (h->date_s == 0 || h->reset_s <= h->date_s)
		return SERVER_WAIT_S;
	return h->reset_s - h->date_s + 1;
}

static bool answer_is_limit(const struct answer *a)
{
	return strcasestr(a->why, "rate limit") || strcasestr(a->why, "abuse");
}

/* 403 and 429: a limit, or no permission. */
static void answer_judge_limit(const struct http_headers *h, struct answer *a)
{
	if (h->has_retry_after)
		answer_later(a, h->retry_after_s ? h->retry_after_s : 1, true);
	else if (h->has_remaining && h->remaining == 0 && h->reset_s > 0)
		answer_later(a, answer_until_reset(h), true);
	else if (a->status == 429 || answer_is_limit(a))
		answer_later(a, SERVER_WAIT_S, true);
	else
		a->kind = ANSWER_REFUSED;
}

static void answer_judge_server(const struct http_headers *h, struct answer *a)
{
	bool all = a->status >= 502 && a->status <= 504;

	a->unsure = true;
	answer_later(a, SERVER_WAIT_S, all);
	if (h->has_retry_after && h->retry_after_s > SERVER_WAIT_S)
		answer_later(a, h->retry_after_s, all);
}

static void answer_judge_status(const struct http_headers *h, struct answer *a)
{
	switch (a->status) {
	case 401:
		answer_later(a, TOKEN_WAIT_S, true);
		a->kind = ANSWER_TOKEN;
		break;
	case 403:
	case 429:
		answer_judge_limit(h, a);
		break;
	case 404:
	case 410:
		a->kind = ANSWER_MISSING;
		break;
	case 422:
		a->kind = ANSWER_INVALID;
		break;
	case 408:
	case 409:
	case 423:
	case 425:
		answer_later(a, SERVER_WAIT_S, false);
		break;
	default:
		if (a->status >= 500)
			answer_judge_server(h, a);
		else
			a->kind = ANSWER_REFUSED;
	}
}

/* A success with an unreadable body: the request was carried out. */
static void answer_judge_success(struct answer *a)
{
	if (a->body) {
		a->kind = ANSWER_OK;
		return;
	}
	answer_later(a, SERVER_WAIT_S, false);
	a->unsure = true;
	(void)snprintf(a->why, sizeof(a->why), "%u: the answer is not JSON", a->status);
}

void answer_judge(const struct http_reply *reply, const struct token *t, struct answer *out)
{
	struct err e;

	*out = ANSWER_INIT;
	out->status = reply->status;
	if (reply->body.n == 0 || json_parse(buf_slice(&reply->body), &out->body, &e) < 0)
		out->body = NULL;
	memcpy(out->next, reply->headers.next, sizeof(out->next));
	token_hide(t, out->next); /* the URL is stored on disk */
	if (reply->status >= 200 && reply->status < 300) {
		answer_judge_success(out);
		return;
	}
	answer_set_reason(reply, out->body, t, out);
	answer_judge_status(&reply->headers, out);
}

void answer_failed(int code, const char *why, struct answer *out)
{
	*out = ANSWER_INIT;
	text_clean(why, out->why, sizeof(out->why));
	if (code == -EINVAL)
		return; /* refused: a user must correct the URL */
	out->unsure = http_may_be_done(code);
	answer_later(out, SERVER_WAIT_S, true);
	if (code == -EMSGSIZE)
		out->kind = ANSWER_TOO_LARGE;
}

/* --- time ----------------------------------------------------------------------- */

uint64_t github_now(const struct github *g)
{
	return g->o.now ? g->o.now(g->o.arg) : clock_real_us() / USEC_PER_SEC;
}

uint64_t github_server_now(const struct github *g)
{
	int64_t t = (int64_t)github_now(g) + g->skew_s;

	return t > 0 ? (uint64_t)t : 0;
}

static void call_rest(struct github *g, uint64_t ms)
{
	struct timespec ts = {.tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000};

	if (g->o.wait)
		g->o.wait(g->o.arg, ms);
	else /* a signal may shorten the pause; the request is then a moment early */
		(void)nanosleep(&ts, NULL); /* allow: the sending child has no loop */
}

/* GitHub recommends a second between requests that change something. */
static void call_pace(struct github *g)
{
	uint64_t now = clock_mono_us() / USEC_PER_MSEC;

	if (g->wrote_ms != 0 && (g->o.wait || now < g->wrote_ms + WRITE_EVERY_MS))
		call_rest(g, g->o.wait ? WRITE_EVERY_MS : g->wrote_ms + WRITE_EVERY_MS - now);
}

/* --- one request ---------------------------------------------------------------- */

static void call_learn_time(struct github *g, const struct http_headers *h)
{
	if (h->date_s != 0)
		g->skew_s = (int64_t)h->date_s - (int64_t)github_now(g);
}

static int call_url(const struct github *g, const char *path, char out[HTTP_URL_MAX], struct err *e)
{
	const char *api = path[0] == '/' ? g->config->api : "";
	size_t len = strlen(api);
	int n;

	while (len > 0 && api[len - 1] == '/') /* users may write ".../api/v3/" */
		len--;
	n = snprintf(out, HTTP_URL_MAX, "%.*s%s", (int)len, api, path);
	if (n < 0 || n >= HTTP_URL_MAX)
		return err_set(e, EINVAL, "a URL of %d bytes", n);
	if (!http_same_origin(g->config->api, out))
		return err_set(e, EINVAL, "the server names a URL of another host");
	return 0;
}

static int call_send(struct github *g, const struct http_request *like, const char *path,
		     const json_t *body, struct http_reply *reply, struct err *e)
{
	_autofree_ char *text = NULL;
	struct http_request q = *like;
	char url[HTTP_URL_MAX];
	int r = call_url(g, path, url, e);

	if (r == 0 && body)
		r = json_print(body, 0, &text, e);
	if (r < 0)
		return r;
	q.url = url;
	q.body = text ? slice_of(text) : (struct slice){NULL, 0};
	return http_request(g->http, &q, reply, e);
}

/* One request with this authorization, without pauses, retries and pacing. */
static void call_ask(struct github *g, const char *method, const char *path, const char *bearer,
		     const json_t *body, struct answer *a)
{
	static const char *const headers[] = {"Accept: application/vnd.github+json",
					      "X-GitHub-Api-Version: 2022-11-28",
					      "Content-Type: application/json", NULL};
	static const char *const bare[] = {"Accept: application/vnd.github+json",
					   "X-GitHub-Api-Version: 2022-11-28", NULL};
	__attribute__((cleanup(http_reply_done))) struct http_reply reply = HTTP_REPLY_INIT;
	struct http_request q = {
	    .method = method, .headers = body ? headers : bare, .authorization = bearer};
	struct err e;
	int r = call_send(g, &q, path, body, &reply, &e);

	answer_done(a);
	if (r < 0) {
		answer_failed(r, e.msg, a);
	} else {
		call_learn_time(g, &reply.headers);
		answer_judge(&reply, g->token, a);
		/* No requests remain: the next request waits, this one was answered. */
		if (a->kind == ANSWER_OK && reply.headers.has_remaining &&
		    reply.headers.remaining == 0 && reply.headers.reset_s > reply.headers.date_s) {
			g->paused_until_s =
			    github_now(g) + reply.headers.reset_s - reply.headers.date_s + 1;
			g->paused_why[0] = '\0';
		}
	}
}

/* --- authorization -------------------------------------------------------------- */

/* The user repairs the token without notice to us: retry, with a long interval. */
static bool auth_no_token(const struct err *e, struct answer *a)
{
	answer_done(a);
	a->kind = ANSWER_TOKEN;
	a->wait_s = TOKEN_WAIT_S;
	a->whole_host = true;
	text_clean(e->msg, a->why, sizeof(a->why));
	return false;
}

/* Only this process has no token; the next one may have it. */
static bool auth_unasked(const struct err *e, struct answer *a)
{
	(void)auth_no_token(e, a);
	a->wait_s = 0;
	a->whole_host = false;
	a->unasked = true;
	return false;
}

static bool auth_has_token(struct github *g, struct err *e)
{
	return g->token || token_new(g->config, &g->token, e) == 0;
}

uint64_t github_token(struct github *g)
{
	struct err e;

	return auth_has_token(g, &e) ? token_number(g->token) : 0;
}

/* Sends a request as an App.  A JWT with a wrong time is refused.  The refusal contains the
 * right time, so a second attempt uses it. */
static bool auth_ask_as_app(struct github *g, const char *method, const char *path,
			    struct answer *a)
{
	for (int i = 0; i < 2; i++) {
		int64_t skew = g->skew_s;
		const char *bearer;
		struct err e;

		if (token_app_bearer(g->token, github_server_now(g), &bearer, &e) < 0)
			return auth_unasked(&e, a);
		call_ask(g, method, path, bearer, NULL, a);
		if (a->kind != ANSWER_TOKEN || skew == g->skew_s)
			break;
	}
	return a->kind == ANSWER_OK;
}

/* A failure of the token affects all deliveries. */
static void auth_holds_for_all(struct answer *a)
{
	if (a->kind == ANSWER_LATER || a->unasked)
		return;
	a->kind = ANSWER_TOKEN;
	a->wait_s = TOKEN_WAIT_S;
	a->whole_host = true;
}

static bool auth_exchange(struct github *g, struct answer *a)
{
	char path[96];
	const char *text, *expires;
	uint64_t expires_s;
	struct err e;

	(void)snprintf(path, sizeof(path), "/app/installations/%" PRIu64 "/access_tokens",
		       g->config->installation);
	if (!auth_ask_as_app(g, "POST", path, a)) {
		auth_holds_for_all(a);
		return false;
	}
	text = json_string_value(json_object_get(a->body, "token"));
	expires = json_string_value(json_object_get(a->body, "expires_at"));
	expires_s = expires ? text_iso_read(expires) : 0;
	if (!text || expires_s == 0) {
		(void)err_set(&e, EINVAL, "no token in the answer for the installation");
		return auth_no_token(&e, a);
	}
	if (token_keep(g->token, slice_of(text), expires_s, &e) < 0)
		return auth_no_token(&e, a);
	answer_done(a);
	return true;
}

/* *ret: the Authorization value of a request.  False: *a has the reason why there is none. */
static bool auth_bearer(struct github *g, const char **ret, struct answer *a)
{
	struct err e;

	if (!auth_has_token(g, &e))
		return auth_unasked(&e, a);
	*ret = token_bearer(g->token, github_server_now(g));
	if (*ret)
		return true;
	if (!auth_exchange(g, a))
		return false;
	*ret = token_bearer(g->token, github_server_now(g));
	if (*ret)
		return true;
	(void)err_set(&e, EINVAL, "the installation's token has already expired");
	return auth_no_token(&e, a);
}

/* --- a request with pauses and retries ------------------------------------------ */

/* True while the host is in backoff: then no request is sent. */
static bool call_is_paused(struct github *g, struct answer *a)
{
	uint64_t now = github_now(g);

	if (now >= g->paused_until_s)
		return false;
	answer_done(a);
	a->kind = ANSWER_LATER;
	a->whole_host = true;
	a->wait_s = g->paused_until_s - now;
	if (a->wait_s > WISH_MAX_S) /* the clock went back */
		a->wait_s = WISH_MAX_S;
	(void)snprintf(a->why, sizeof(a->why), "%s",
		       g->paused_why[0] ? g->paused_why : "the rate limit is reached");
	return true;
}

/* Remembers an answer that applies to the whole host: no request is sent until the time that it
 * names. */
static void call_remember(struct github *g, const struct answer *a)
{
	if (a->kind == ANSWER_OK || !a->whole_host || a->kind == ANSWER_TOO_LARGE)
		return;
	g->paused_until_s = github_now(g) + a->wait_s;
	memcpy(g->paused_why, a->why, sizeof(g->paused_why));
}

static bool call_once(struct github *g, const char *method, const char *path, const json_t *body,
		      struct answer *a)
{
	bool writes = strcmp(method, "GET") != 0;
	const char *bearer;

	if (!auth_bearer(g, &bearer, a))
		return false;
	if (writes)
		call_pace(g);
	call_ask(g, method, path, bearer, body, a);
	if (writes)
		g->wrote_ms = clock_mono_us() / USEC_PER_MSEC;
	return a->kind == ANSWER_TOKEN;
}

void github_call(struct github *g, const char *method, const char *path, const json_t *body,
		 struct answer *a)
{
	if (call_is_paused(g, a))
		return;
	/* An installation's token may have expired early: retry once with a new one. */
	if (call_once(g, method, path, body, a) && token_is_app(g->token)) {
		token_drop(g->token);
		(void)call_once(g, method, path, body, a);
	}
	call_remember(g, a);
}

/* --- accounts ------------------------------------------------------------------- */

static void auth_keep_login(struct github *g, const struct answer *a, const char *key,
			    const char *after)
{
	const char *name = json_string_value(json_object_get(a->body, key));

	if (name && text_id_ok(name))
		(void)snprintf(g->login, sizeof(g->login), "%.64s%s", name, after);
}

bool auth_login(struct github *g, struct answer *a)
{
	const char *bearer;

	if (g->login_known)
		return true;
	if (!auth_bearer(g, &bearer, a))
		return false;
	if (token_is_app(g->token))
		(void)auth_ask_as_app(g, "GET", "/app", a);
	else
		github_call(g, "GET", "/user", NULL, a);
	call_remember(g, a);
	if (a->kind == ANSWER_LATER || a->kind == ANSWER_TOKEN || a->kind == ANSWER_TOO_LARGE)
		return false;
	/* Not every token may request this.  Then only members of the repository are trusted. */
	if (a->kind == ANSWER_OK && token_is_app(g->token))
		auth_keep_login(g, a, "slug", "[bot]");
	else if (a->kind == ANSWER_OK)
		auth_keep_login(g, a, "login", "");
	g->login_known = true;
	answer_done(a);
	return true;
}

static bool auth_is_text(const json_t *j, const char *key, const char *want)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strcasecmp(s, want) == 0;
}

/* On a server other than GitHub that gives neither an account nor an association, every marker
 * counts.  A stranger's marker, which a user can remove, is better than a second issue of each
 * crash. */
static bool auth_is_blind(struct github *g, const json_t *item)
{
	if (g->login[0] || json_is_string(json_object_get(item, "author_association")) ||
	    strcmp(g->config->api, "https://api.github.com") == 0)
		return false;
	g->blind = true;
	return true;
}

bool auth_trusts(struct github *g, const json_t *item)
{
	const json_t *user = json_object_get(item, "user");
	const json_t *app = json_object_get(item, "performed_via_github_app");

	if (auth_is_text(item, "author_association", "OWNER") ||
	    auth_is_text(item, "author_association", "MEMBER") ||
	    auth_is_text(item, "author_association", "COLLABORATOR"))
		return true;
	if (g->login[0])
		return auth_is_text(user, "login", g->login) ||
		       (g->config->app != 0 && json_integer_value(json_object_get(app, "id")) ==
						   (json_int_t)g->config->app);
	return auth_is_text(user, "type", "Bot") || auth_is_blind(g, item);
}
