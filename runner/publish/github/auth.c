/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* The user repairs the token without notice to us: retry, with a long interval. */
static bool no_token(const struct err *e, struct answer *a)
{
	answer_done(a);
	a->kind = ANSWER_TOKEN;
	a->wait_s = TOKEN_WAIT_S;
	a->whole_host = true;
	text_clean(e->msg, a->why, sizeof(a->why));
	return false;
}

/* Only this process has no token; the next one may have it. */
static bool nothing_to_show(const struct err *e, struct answer *a)
{
	(void)no_token(e, a);
	a->wait_s = 0;
	a->whole_host = false;
	a->unasked = true;
	return false;
}

static bool have_token(struct github *g, struct err *e)
{
	return g->token || token_new(g->config, &g->token, e) == 0;
}

uint64_t github_token(struct github *g)
{
	struct err e;

	return have_token(g, &e) ? token_number(g->token) : 0;
}

/* Sends a request as an App.  A JWT with a wrong time is refused.  The refusal contains the
 * right time, so a second attempt uses it. */
static bool ask_as_app(struct github *g, const char *method, const char *path, struct answer *a)
{
	for (int try = 0; try < 2; try++) {
		int64_t skew = g->skew_s;
		const char *bearer;
		struct err e;

		if (token_app_bearer(g->token, github_server_now(g), &bearer, &e) < 0)
			return nothing_to_show(&e, a);
		github_ask(g, method, path, bearer, NULL, a);
		if (a->kind != ANSWER_TOKEN || skew == g->skew_s)
			break;
	}
	return a->kind == ANSWER_OK;
}

/* A failure of the token affects all deliveries. */
static void holds_for_all(struct answer *a)
{
	if (a->kind == ANSWER_LATER || a->unasked)
		return;
	a->kind = ANSWER_TOKEN;
	a->wait_s = TOKEN_WAIT_S;
	a->whole_host = true;
}

static bool github_auth_exchange(struct github *g, struct answer *a)
{
	char path[96];
	const char *text, *expires;
	uint64_t expires_s;
	struct err e;

	(void)snprintf(path, sizeof(path), "/app/installations/%" PRIu64 "/access_tokens",
		       g->config->installation);
	if (!ask_as_app(g, "POST", path, a)) {
		holds_for_all(a);
		return false;
	}
	text = json_string_value(json_object_get(a->body, "token"));
	expires = json_string_value(json_object_get(a->body, "expires_at"));
	expires_s = expires ? text_iso_read(expires) : 0;
	if (!text || expires_s == 0) {
		(void)err_set(&e, EINVAL, "no token in the answer for the installation");
		return no_token(&e, a);
	}
	if (token_keep(g->token, slice_of(text), expires_s, &e) < 0)
		return no_token(&e, a);
	answer_done(a);
	return true;
}

bool auth_bearer(struct github *g, const char **ret, struct answer *a)
{
	struct err e;

	if (!have_token(g, &e))
		return nothing_to_show(&e, a);
	*ret = token_bearer(g->token, github_server_now(g));
	if (*ret)
		return true;
	if (!github_auth_exchange(g, a))
		return false;
	*ret = token_bearer(g->token, github_server_now(g));
	if (*ret)
		return true;
	(void)err_set(&e, EINVAL, "the installation's token has already expired");
	return no_token(&e, a);
}

/* --- accounts -------------------------------------------------------------------- */

static void keep_login(struct github *g, const struct answer *a, const char *key, const char *after)
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
		(void)ask_as_app(g, "GET", "/app", a);
	else
		github_call(g, "GET", "/user", NULL, a);
	github_remember(g, a);
	if (a->kind == ANSWER_LATER || a->kind == ANSWER_TOKEN || a->kind == ANSWER_TOO_LARGE)
		return false;
	/* Not every token may request this.  Then only members of the repository are trusted. */
	if (a->kind == ANSWER_OK && token_is_app(g->token))
		keep_login(g, a, "slug", "[bot]");
	else if (a->kind == ANSWER_OK)
		keep_login(g, a, "login", "");
	g->login_known = true;
	answer_done(a);
	return true;
}

static bool github_auth_is_text(const json_t *j, const char *key, const char *want)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strcasecmp(s, want) == 0;
}

/* On a server other than GitHub that gives neither an account nor an association, every marker
 * counts.  A stranger's marker, which a user can remove, is better than a second issue of each
 * crash. */
static bool github_auth_is_blind(struct github *g, const json_t *item)
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

	if (github_auth_is_text(item, "author_association", "OWNER") ||
	    github_auth_is_text(item, "author_association", "MEMBER") ||
	    github_auth_is_text(item, "author_association", "COLLABORATOR"))
		return true;
	if (g->login[0])
		return github_auth_is_text(user, "login", g->login) ||
		       (g->config->app != 0 && json_integer_value(json_object_get(app, "id")) ==
						   (json_int_t)g->config->app);
	return github_auth_is_text(user, "type", "Bot") || github_auth_is_blind(g, item);
}
