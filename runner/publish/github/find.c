/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* Finds a delivery's issue. */

static bool has_label(const json_t *issue, const char *want)
{
	const json_t *labels = json_object_get(issue, "labels");

	for (size_t i = 0; i < json_array_size(labels); i++) {
		const json_t *one = json_array_get(labels, i);
		const char *name = json_is_string(one)
				       ? json_string_value(one)
				       : json_string_value(json_object_get(one, "name"));

		if (name && strcasecmp(name, want) == 0)
			return true;
	}
	return false;
}

static const char *github_find_text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* Accepts only characters that are safe in a URL and in texts: no blanks, brackets or quotes. */
static bool url_clean(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("<>\"'`()[]{}\\|^", *p))
			return false;
	return true;
}

/* A moved issue, or an issue of a moved repository, has a new URL, which has to be used. */
static bool github_find_read_url(struct work *w, const json_t *j)
{
	const char *url = github_find_text_of(j, "url");
	int n;

	if (*url && url_clean(url) && http_same_origin(url, w->g->config->api) &&
	    strlen(url) < sizeof(w->issue.url) && strstr(url, "/issues/"))
		n = snprintf(w->issue.url, sizeof(w->issue.url), "%s", url);
	else
		n = snprintf(w->issue.url, sizeof(w->issue.url), "/repos/%s/issues/%" PRIu64,
			     w->repo, w->issue.number);
	return n > 0 && (size_t)n < sizeof(w->issue.url);
}

static bool read_issue(struct work *w, const json_t *j)
{
	const char *html = github_find_text_of(j, "html_url"),
		   *reason = github_find_text_of(j, "state_reason");
	json_int_t number = json_integer_value(json_object_get(j, "number"));

	w->issue = (struct issue){.number = number > 0 ? (uint64_t)number : 0};
	if (w->issue.number == 0 || !github_find_read_url(w, j))
		return work_later(w, SERVER_WAIT_S, "the answer is not an issue");
	if (url_clean(html) && strlen(html) < sizeof(w->issue.html))
		memcpy(w->issue.html, html, strlen(html) + 1);
	token_hide(w->g->token, w->issue.html);
	(void)snprintf(w->d->url, sizeof(w->d->url), "%s", w->issue.html);
	w->issue.open = strcmp(github_find_text_of(j, "state"), "open") == 0;
	w->issue.set_aside = strcmp(reason, "not_planned") == 0 || strcmp(reason, "duplicate") == 0;
	w->issue.closed_s = text_iso_read(github_find_text_of(j, "closed_at"));
	w->issue.ignore = has_label(j, "ignore");
	w->issue.wrong = has_label(j, "wrong");
	return true;
}

/* Loads an issue; with `marked`, only if it (still) has our marker.  w->issue.number 0: it has
 * not, or the issue is gone. */
static bool github_find_load(struct work *w, uint64_t number, bool marked)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	char path[REPO_MAX + 48];

	w->issue = (struct issue){0};
	(void)snprintf(path, sizeof(path), "/repos/%s/issues/%" PRIu64, w->repo, number);
	github_call(w->g, "GET", path, NULL, &a);
	if (a.kind == ANSWER_MISSING)
		return true;
	if (!work_ok(w, &a, "read the issue"))
		return false;
	if (marked && (!text_has_marker(github_find_text_of(a.body, "body"), w->key) ||
		       !auth_trusts(w->g, a.body)))
		return true;
	return read_issue(w, a.body);
}

/* The number in ".../owner/name/issues/12" of this repository; 0: another URL. */
static uint64_t hint_of(const struct work *w, const json_t *from)
{
	const char *url = github_find_text_of(from, "issue_url"), *hit = NULL, *next = url;
	char want[REPO_MAX + 16];
	struct slice rest;
	uint64_t number;

	(void)snprintf(want, sizeof(want), "/%s/issues/", w->repo);
	while ((next = strcasestr(next, want)))
		hit = next++;
	if (!hit)
		return 0;
	rest = slice_of(hit + strlen(want));
	return scan_u64(&rest, 10, INT64_MAX, &number) && rest.n == 0 ? number : 0;
}

/* Searches the list of issues, which is read up to now, or at least up to a minute after an
 * issue was requested. */
static bool github_find_search(struct work *w)
{
	uint64_t posting = work_get(w, "posting"), number;

	if (!index_refresh(w, posting ? posting + REPLICATION_S : 0))
		return false;
	number = index_get(w->g->index, w->key);
	return number == 0 || github_find_load(w, number, true);
}

static bool github_find_find(struct work *w)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	uint64_t number = work_get(w, "issue");

	if (number != 0) { /* our issue; if it was deleted, there is nothing to send */
		if (!github_find_load(w, number, false))
			return false;
		w->deleted = w->issue.number == 0;
		return true;
	}
	number = hint_of(w, w->d->progress);
	number = number ? number : hint_of(w, w->d->event);
	if (number != 0 && (!github_find_load(w, number, false) || w->issue.number != 0))
		return w->issue.number != 0;
	/* The issue is not at its known place.  The list shows whether the repository exists,
	 * and whether a user moved the marker to another issue. */
	w->deleted = number != 0;
	if (!work_settled(w, "posting"))
		return false;
	if (!auth_login(w->g, &a))
		return work_ok(w, &a, "get the token's account");
	if (!index_open(w) || !github_find_search(w))
		return false;
	if (w->issue.number != 0 || index_get(w->g->index, w->key) == 0)
		return true;
	/* The cached list is out of date: read all of it. */
	index_reset(w->g->index);
	return github_find_search(w);
}

bool issue_find(struct work *w)
{
	if (!github_find_find(w))
		return false;
	w->deleted = w->deleted && w->issue.number == 0;
	return true;
}
