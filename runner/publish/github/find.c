/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a delivery's issue: by its number, or by its marker in the repository's list of issues. */
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* --- which issue has which marker ----------------------------------------------- */

enum { FILE_MAX = 32 << 20, VERSION = 1, PER_PAGE = 100 };

struct index {
	char name[64]; /* outbox/<name> */
	char repo[REPO_MAX];
	json_t *issues;		 /* marker's key -> number */
	uint64_t since_s;	 /* the list was read up to this time, by the server's clock */
	uint64_t fresh_s;	 /* when the last complete reading began, by our clock; 0: none */
	char next[HTTP_URL_MAX]; /* where an unfinished reading continues */
	uint64_t began_s, began_server_s;
	unsigned per_page;
};

void index_free(struct index *i)
{
	if (!i)
		return;
	json_decref(i->issues);
	free(i);
}

/* Forgets everything: the list is read again from the beginning. */
static void index_reset(struct index *i)
{
	(void)json_object_clear(i->issues);
	i->since_s = i->fresh_s = i->began_s = i->began_server_s = 0;
	i->next[0] = '\0';
}

/* 0: none */
static uint64_t index_get(const struct index *i, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(i->issues, key));

	return v > 0 ? (uint64_t)v : 0;
}

static void index_put(struct index *i, const char *key, uint64_t number)
{
	/* A key that is not UTF-8 is never looked up. */
	(void)json_object_set_new(i->issues, key, json_integer((json_int_t)number));
}

/* --- the index on disk, a cache ------------------------------------------------- */

/* {"version": 1, "since": server's time, "next": URL or "", "began": our
 * time, "began_server": server's time, "issues": {KEY: number, ...}}.  The trusted account is
 * part of its name, so another account reads the list again. */

static bool index_numbers_ok(json_t *issues)
{
	const char *key;
	json_t *v;

	if (!json_is_object(issues))
		return false;
	json_object_foreach(issues, key, v) if (json_integer_value(v) <= 0) return false;
	return true;
}

/* On any error the cache is rebuilt. */
static void index_load(struct index *i, int dirfd)
{
	_autojson_ json_t *j = NULL;
	json_t *issues;
	const char *next;
	struct err e;

	if (json_load(dirfd, i->name, FILE_MAX, &j, &e) < 0)
		return;
	issues = json_object_get(j, "issues");
	next = json_string_value(json_object_get(j, "next"));
	if (json_get_u64(j, "version") != VERSION || !index_numbers_ok(issues) || !next ||
	    strlen(next) >= sizeof(i->next))
		return;
	json_decref(i->issues);
	i->issues = json_incref(issues);
	i->since_s = json_get_u64(j, "since");
	i->began_s = json_get_u64(j, "began");
	i->began_server_s = json_get_u64(j, "began_server");
	memcpy(i->next, next, strlen(next) + 1);
}

static int index_open_dir(const struct work *w, int *ret_fd, struct err *e)
{
	return fs_make_dir(w->d->state_dirfd, "outbox", 0750, ret_fd, e);
}

static int index_write(struct work *w, const struct index *i, struct err *e)
{
	_autoclose_ int dirfd = -1;
	_autofree_ char *text = NULL;
	_autojson_ json_t *j =
	    json_pack("{s:i, s:I, s:s, s:I, s:I, s:O}", "version", VERSION, "since",
		      (json_int_t)i->since_s, "next", i->next, "began", (json_int_t)i->began_s,
		      "began_server", (json_int_t)i->began_server_s, "issues", i->issues);
	int r;

	r = index_open_dir(w, &dirfd, e);
	r = r ? r : json_print(j, 0, &text, e);
	return r ? r : fs_replace(dirfd, i->name, slice_of(text), e);
}

/* Best effort: the file is a cache. */
static void index_save(struct work *w)
{
	struct err e;

	(void)index_write(w, w->g->index, &e); /* without the cache the whole list is read again */
}

/* --- a repository's index ------------------------------------------------------- */

static int index_make_name(const struct work *w, struct index *i, struct err *e)
{
	_autobuf_ struct buf all = BUF_INIT(8192);
	char digest[DIGEST_SHA1_HEX];
	int r;

	buf_printf(&all, "%s\n%s\n%s\n%" PRIu64, w->g->config->api, w->repo, w->g->login,
		   w->g->config->app);
	r = buf_check(&all, e);
	if (r < 0)
		return r;
	digest_sha1_hex(buf_slice(&all), digest);
	(void)snprintf(i->name, sizeof(i->name), "index-%.16s.json", digest);
	(void)snprintf(i->repo, sizeof(i->repo), "%s", w->repo);
	return 0;
}

static int index_make(struct work *w, struct index **ret, struct err *e)
{
	_autoclose_ int dirfd = -1;
	struct index *i = xcalloc(1, sizeof(*i));
	int r;

	i->per_page = PER_PAGE;
	i->issues = json_object();
	r = index_make_name(w, i, e);
	if (r < 0) {
		index_free(i);
		return r;
	}
	if (index_open_dir(w, &dirfd, e) == 0)
		index_load(i, dirfd);
	*ret = i;
	return 0;
}

/* Sets g->index to the index of w->repo, from the cache. */
static bool index_open(struct work *w)
{
	struct github *g = w->g;
	struct index *i = NULL;
	struct err e;

	if (g->index && strcasecmp(g->index->repo, w->repo) == 0)
		return true;
	if (index_make(w, &i, &e) < 0)
		return work_error(w, &e);
	index_free(g->index);
	g->index = i;
	return true;
}

void issue_remember(struct work *w)
{
	if (!index_open(w))
		return;
	index_put(w->g->index, w->key, w->issue.number);
	index_save(w);
}

/* --- reading the list of issues ------------------------------------------------- */

/* Reads a repository's issues into the index: first all, later the changed ones.  They are read
 * in the order of creation.  In the order of changes, an issue that changes during the reading
 * could move another one to a page that was already read. */

enum {
	PAGES_MAX = 100, /* in one delivery; the next delivery continues */
	FRESH_S = 300,
	SLACK_S = 600, /* changes up to this time before a reading are read again */
	SMALL_PAGE = 10,
	MARKERS_MAX = 16, /* in one issue */
	KEYS_MAX = 200000,
};

static void scan_remember(struct work *w, const json_t *issue)
{
	struct index *i = w->g->index;
	const char *body = json_string_value(json_object_get(issue, "body"));
	json_int_t number = json_integer_value(json_object_get(issue, "number"));
	struct slice rest, one;

	if (!body || number <= 0 || json_object_get(issue, "pull_request") ||
	    !auth_trusts(w->g, issue))
		return;
	rest = slice_of(body);
	for (int n = 0; n < MARKERS_MAX && text_next_marker(&rest, &one); n++) {
		char key[KEY_MAX + 1];
		uint64_t before;

		(void)snprintf(key, sizeof(key), "%.*s", (int)one.n, one.p);
		before = index_get(i, key);
		/* Of several issues the oldest counts. */
		if ((before == 0 && json_object_size(i->issues) < KEYS_MAX) ||
		    before > (uint64_t)number)
			index_put(i, key, (uint64_t)number);
	}
}

static bool scan_begin(struct work *w)
{
	struct index *i = w->g->index;
	char since[ISO_MAX + 8] = "", iso[ISO_MAX];
	int n;

	if (i->since_s != 0) {
		text_iso(i->since_s, iso);
		(void)snprintf(since, sizeof(since), "&since=%s", iso);
	}
	n = snprintf(i->next, sizeof(i->next),
		     "/repos/%s/issues?state=all&sort=created&direction=asc&per_page=%u%s", w->repo,
		     i->per_page, since);
	if (n < 0 || (size_t)n >= sizeof(i->next)) {
		i->next[0] = '\0';
		return work_refuse(w, "the URL of the issues is too long");
	}
	i->began_s = github_now(w->g);
	i->began_server_s = 0; /* from the first answer */
	return true;
}

/* Issues of full length can make a page too large: use smaller pages. */
static bool scan_smaller_page(struct index *i, const struct answer *a)
{
	if (a->kind != ANSWER_TOO_LARGE || i->per_page == SMALL_PAGE)
		return false;
	i->per_page = SMALL_PAGE;
	i->next[0] = '\0';
	return true;
}

/* The server no longer knows the URL to continue from: start at the beginning. */
static bool scan_restart(struct index *i, const struct answer *a, bool resumed)
{
	if (!resumed ||
	    (a->kind != ANSWER_INVALID && a->kind != ANSWER_MISSING && a->kind != ANSWER_REFUSED))
		return false;
	index_reset(i);
	return true;
}

static bool scan_take_page(struct work *w, const struct answer *a)
{
	struct index *i = w->g->index;

	if (!json_is_array(a->body))
		return work_later(w, SERVER_WAIT_S, "read the issues: the answer is not a list");
	if (i->began_server_s == 0)
		i->began_server_s = github_server_now(w->g);
	for (size_t n = 0; n < json_array_size(a->body); n++)
		scan_remember(w, json_array_get(a->body, n));
	memcpy(i->next, a->next, sizeof(i->next));
	if (i->next[0])
		return true;
	i->fresh_s = i->began_s;
	i->since_s = i->began_server_s > SLACK_S ? i->began_server_s - SLACK_S : 1;
	return true;
}

/* Reads one page, or restarts from the beginning. */
static bool scan_step(struct work *w, bool resumed)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	struct index *i = w->g->index;

	if (!i->next[0] && !scan_begin(w))
		return false;
	github_call(w->g, "GET", i->next, NULL, &a);
	if (scan_smaller_page(i, &a) || scan_restart(i, &a, resumed))
		return true;
	return work_ok(w, &a, "read the issues") && scan_take_page(w, &a);
}

static bool index_is_fresh(const struct work *w, uint64_t not_before_s)
{
	const struct index *i = w->g->index;
	uint64_t now = github_now(w->g);

	return i->fresh_s != 0 && !i->next[0] && i->fresh_s >= not_before_s && i->fresh_s <= now &&
	       now - i->fresh_s < FRESH_S;
}

/* Reads the list of issues again, unless the last complete reading began after not_before_s (by our
 * clock) and less than FRESH_S ago. */
static bool index_refresh(struct work *w, uint64_t not_before_s)
{
	bool resumed = w->g->index->next[0] != '\0', ok = true;
	int pages = 0;

	while (!index_is_fresh(w, not_before_s)) {
		ok = pages < PAGES_MAX && scan_step(w, resumed);
		if (!ok)
			break;
		pages++;
		resumed = false;
	}
	if (pages > 0)
		index_save(w);
	if (!ok && pages == PAGES_MAX)
		return work_later(w, SERVER_WAIT_S, "still reading the repository's issues");
	return ok;
}

/* --- the issue ------------------------------------------------------------------ */

static bool find_has_label(const json_t *issue, const char *want)
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

/* Accepts only characters that are safe in a URL and in texts: no blanks, brackets or quotes. */
static bool find_url_is_clean(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("<>\"'`()[]{}\\|^", *p))
			return false;
	return true;
}

/* A moved issue, or an issue of a moved repository, has a new URL, which has to be used. */
static bool find_read_url(struct work *w, const json_t *j)
{
	const char *url = json_get_text(j, "url");
	int n;

	if (*url && find_url_is_clean(url) && http_same_origin(url, w->g->config->api) &&
	    strlen(url) < sizeof(w->issue.url) && strstr(url, "/issues/"))
		n = snprintf(w->issue.url, sizeof(w->issue.url), "%s", url);
	else
		n = snprintf(w->issue.url, sizeof(w->issue.url), "/repos/%s/issues/%" PRIu64,
			     w->repo, w->issue.number);
	return n > 0 && (size_t)n < sizeof(w->issue.url);
}

static bool find_read_issue(struct work *w, const json_t *j)
{
	const char *html = json_get_text(j, "html_url"), *reason = json_get_text(j, "state_reason");
	json_int_t number = json_integer_value(json_object_get(j, "number"));

	w->issue = (struct issue){.number = number > 0 ? (uint64_t)number : 0};
	if (w->issue.number == 0 || !find_read_url(w, j))
		return work_later(w, SERVER_WAIT_S, "the answer is not an issue");
	if (find_url_is_clean(html) && strlen(html) < sizeof(w->issue.html))
		memcpy(w->issue.html, html, strlen(html) + 1);
	token_hide(w->g->token, w->issue.html);
	(void)snprintf(w->d->url, sizeof(w->d->url), "%s", w->issue.html);
	w->issue.open = strcmp(json_get_text(j, "state"), "open") == 0;
	w->issue.set_aside = strcmp(reason, "not_planned") == 0 || strcmp(reason, "duplicate") == 0;
	w->issue.closed_s = text_iso_read(json_get_text(j, "closed_at"));
	w->issue.ignore = find_has_label(j, "ignore");
	w->issue.wrong = find_has_label(j, "wrong");
	return true;
}

/* Loads an issue; with `marked`, only if it (still) has our marker.  w->issue.number 0: it has
 * not, or the issue is gone. */
static bool find_load(struct work *w, uint64_t number, bool marked)
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
	if (marked &&
	    (!text_has_marker(json_get_text(a.body, "body"), w->key) || !auth_trusts(w->g, a.body)))
		return true;
	return find_read_issue(w, a.body);
}

/* The number in ".../owner/name/issues/12" of this repository; 0: another URL. */
static uint64_t find_hint(const struct work *w, const json_t *from)
{
	const char *url = json_get_text(from, "issue_url"), *hit = NULL, *next = url;
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

/* Searches the list of issues.  It must be fresh.  If an issue was requested and may have been
 * made, its reading must begin at least a minute after the request. */
static bool find_search(struct work *w)
{
	uint64_t posting = work_get(w, "posting"), number;

	if (!index_refresh(w, posting ? posting + REPLICATION_S : 0))
		return false;
	number = index_get(w->g->index, w->key);
	return number == 0 || find_load(w, number, true);
}

static bool find_issue(struct work *w)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	uint64_t number = work_get(w, "issue");

	if (number != 0) { /* our issue; if it was deleted, there is nothing to send */
		if (!find_load(w, number, false))
			return false;
		w->deleted = w->issue.number == 0;
		return true;
	}
	number = find_hint(w, w->d->progress);
	number = number ? number : find_hint(w, w->d->event);
	if (number != 0 && (!find_load(w, number, false) || w->issue.number != 0))
		return w->issue.number != 0;
	/* The issue is not at its known place.  The list shows whether the repository exists,
	 * and whether a user moved the marker to another issue. */
	w->deleted = number != 0;
	if (!work_settled(w, "posting"))
		return false;
	if (!auth_login(w->g, &a))
		return work_ok(w, &a, "get the token's account");
	if (!index_open(w) || !find_search(w))
		return false;
	if (w->issue.number != 0 || index_get(w->g->index, w->key) == 0)
		return true;
	/* The cached list is out of date: read all of it. */
	index_reset(w->g->index);
	return find_search(w);
}

bool issue_find(struct work *w)
{
	if (!find_issue(w))
		return false;
	w->deleted = w->deleted && w->issue.number == 0;
	return true;
}
