/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <stdio.h>

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

static void github_scan_remember(struct work *w, const json_t *issue)
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

static bool github_scan_begin(struct work *w)
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
static bool smaller(struct index *i, const struct answer *a)
{
	if (a->kind != ANSWER_TOO_LARGE || i->per_page == SMALL_PAGE)
		return false;
	i->per_page = SMALL_PAGE;
	i->next[0] = '\0';
	return true;
}

/* The server no longer knows the URL to continue from: start at the beginning. */
static bool forgotten(struct index *i, const struct answer *a, bool resumed)
{
	if (!resumed ||
	    (a->kind != ANSWER_INVALID && a->kind != ANSWER_MISSING && a->kind != ANSWER_REFUSED))
		return false;
	index_reset(i);
	return true;
}

static bool take_page(struct work *w, const struct answer *a)
{
	struct index *i = w->g->index;

	if (!json_is_array(a->body))
		return work_later(w, SERVER_WAIT_S, "read the issues: the answer is not a list");
	if (i->began_server_s == 0)
		i->began_server_s = github_server_now(w->g);
	for (size_t n = 0; n < json_array_size(a->body); n++)
		github_scan_remember(w, json_array_get(a->body, n));
	memcpy(i->next, a->next, sizeof(i->next));
	if (i->next[0])
		return true;
	i->fresh_s = i->began_s;
	i->since_s = i->began_server_s > SLACK_S ? i->began_server_s - SLACK_S : 1;
	return true;
}

/* Reads one page, or restarts from the beginning. */
static bool github_scan_step(struct work *w, bool resumed)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	struct index *i = w->g->index;

	if (!i->next[0] && !github_scan_begin(w))
		return false;
	github_call(w->g, "GET", i->next, NULL, &a);
	if (smaller(i, &a) || forgotten(i, &a, resumed))
		return true;
	return work_ok(w, &a, "read the issues") && take_page(w, &a);
}

static bool fresh(const struct work *w, uint64_t not_before_s)
{
	const struct index *i = w->g->index;
	uint64_t now = github_now(w->g);

	return i->fresh_s != 0 && !i->next[0] && i->fresh_s >= not_before_s && i->fresh_s <= now &&
	       now - i->fresh_s < FRESH_S;
}

bool index_refresh(struct work *w, uint64_t not_before_s)
{
	bool resumed = w->g->index->next[0] != '\0', ok = true;
	int pages = 0;

	while (!fresh(w, not_before_s)) {
		ok = pages < PAGES_MAX && github_scan_step(w, resumed);
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
