/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/sys.h"
#include "runner/publish/github/internal.h"

#include <stdio.h>
#include <time.h>

/* --- time ------------------------------------------------------------------------ */

uint64_t github_now(const struct github *g)
{
	return g->o.now ? g->o.now(g->o.arg) : clock_real_us() / USEC_PER_SEC;
}

uint64_t github_server_now(const struct github *g)
{
	int64_t t = (int64_t)github_now(g) + g->skew_s;

	return t > 0 ? (uint64_t)t : 0;
}

static void github_call_rest(struct github *g, uint64_t ms)
{
	struct timespec ts = {.tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000};

	if (g->o.wait)
		g->o.wait(g->o.arg, ms);
	else /* a signal may shorten the pause; the request is then a moment early */
		(void)nanosleep(&ts, NULL); /* allow: the sending child has no loop */
}

/* GitHub recommends a second between requests that change something. */
static void pace(struct github *g)
{
	uint64_t now = clock_mono_us() / USEC_PER_MSEC;

	if (g->wrote_ms != 0 && (g->o.wait || now < g->wrote_ms + WRITE_EVERY_MS))
		github_call_rest(g,
				 g->o.wait ? WRITE_EVERY_MS : g->wrote_ms + WRITE_EVERY_MS - now);
}

/* --- one request ----------------------------------------------------------------- */

static void github_call_learn(struct github *g, const struct http_headers *h)
{
	if (h->date_s != 0)
		g->skew_s = (int64_t)h->date_s - (int64_t)github_now(g);
}

static int full_url(const struct github *g, const char *path, char out[HTTP_URL_MAX], struct err *e)
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

static int github_call_ask(struct github *g, const struct http_request *like, const char *path,
			   const json_t *body, struct http_reply *reply, struct err *e)
{
	_autofree_ char *text = NULL;
	struct http_request q = *like;
	char url[HTTP_URL_MAX];
	int r = full_url(g, path, url, e);

	if (r == 0 && body)
		r = json_print(body, 0, &text, e);
	if (r < 0)
		return r;
	q.url = url;
	q.body = text ? slice_of(text) : (struct slice){NULL, 0};
	return http_request(g->http, &q, reply, e);
}

void github_ask(struct github *g, const char *method, const char *path, const char *bearer,
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
	int r = github_call_ask(g, &q, path, body, &reply, &e);

	answer_done(a);
	if (r < 0) {
		answer_failed(r, e.msg, a);
	} else {
		github_call_learn(g, &reply.headers);
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

/* --- a request with pauses and retries -------------------------------------------- */

/* True while the host is in backoff: then no request is sent. */
static bool github_call_paused(struct github *g, struct answer *a)
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

void github_remember(struct github *g, const struct answer *a)
{
	if (a->kind == ANSWER_OK || !a->whole_host || a->kind == ANSWER_TOO_LARGE)
		return;
	g->paused_until_s = github_now(g) + a->wait_s;
	memcpy(g->paused_why, a->why, sizeof(g->paused_why));
}

static bool once(struct github *g, const char *method, const char *path, const json_t *body,
		 struct answer *a)
{
	bool writes = strcmp(method, "GET") != 0;
	const char *bearer;

	if (!auth_bearer(g, &bearer, a))
		return false;
	if (writes)
		pace(g);
	github_ask(g, method, path, bearer, body, a);
	if (writes)
		g->wrote_ms = clock_mono_us() / USEC_PER_MSEC;
	return a->kind == ANSWER_TOKEN;
}

void github_call(struct github *g, const char *method, const char *path, const json_t *body,
		 struct answer *a)
{
	if (github_call_paused(g, a))
		return;
	/* An installation's token may have expired early: retry once with a new one. */
	if (once(g, method, path, body, a) && token_is_app(g->token)) {
		token_drop(g->token);
		(void)once(g, method, path, body, a);
	}
	github_remember(g, a);
}
