/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* The cache on disk: {"version": 1, "since": server's time, "next": URL or "", "began": our
 * time, "began_server": server's time, "issues": {KEY: number, ...}}.  The trusted account is
 * part of its name, so another account reads the list again. */

enum { FILE_MAX = 32 << 20, VERSION = 1, PER_PAGE = 100 };

void index_free(struct index *i)
{
	if (!i)
		return;
	json_decref(i->issues);
	free(i);
}

void index_reset(struct index *i)
{
	(void)json_object_clear(i->issues);
	i->since_s = i->fresh_s = i->began_s = i->began_server_s = 0;
	i->next[0] = '\0';
}

uint64_t index_get(const struct index *i, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(i->issues, key));

	return v > 0 ? (uint64_t)v : 0;
}

void index_put(struct index *i, const char *key, uint64_t number)
{
	/* A key that is not UTF-8 is never looked up. */
	(void)json_object_set_new(i->issues, key, json_integer((json_int_t)number));
}

/* --- on disk --------------------------------------------------------------------- */

static uint64_t github_index_number_of(const json_t *j, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(j, key));

	return v > 0 ? (uint64_t)v : 0;
}

static bool numbers_ok(json_t *issues)
{
	const char *key;
	json_t *v;

	if (!json_is_object(issues))
		return false;
	json_object_foreach(issues, key, v) if (json_integer_value(v) <= 0) return false;
	return true;
}

/* On any error the cache is rebuilt. */
static void github_index_load(struct index *i, int dirfd)
{
	_autojson_ json_t *j = NULL;
	json_t *issues;
	const char *next;
	struct err e;

	if (json_load(dirfd, i->name, FILE_MAX, &j, &e) < 0)
		return;
	issues = json_object_get(j, "issues");
	next = json_string_value(json_object_get(j, "next"));
	if (github_index_number_of(j, "version") != VERSION || !numbers_ok(issues) || !next ||
	    strlen(next) >= sizeof(i->next))
		return;
	json_decref(i->issues);
	i->issues = json_incref(issues);
	i->since_s = github_index_number_of(j, "since");
	i->began_s = github_index_number_of(j, "began");
	i->began_server_s = github_index_number_of(j, "began_server");
	memcpy(i->next, next, strlen(next) + 1);
}

static int github_index_open_dir(const struct work *w, int *ret_fd, struct err *e)
{
	int r = fs_mkdirs(w->d->state_dirfd, "outbox", 0750, e);

	return r < 0 ? r : fs_open_dir(w->d->state_dirfd, "outbox", ret_fd, e);
}

static int github_index_save(struct work *w, const struct index *i, struct err *e)
{
	_autoclose_ int dirfd = -1;
	_autofree_ char *text = NULL;
	_autojson_ json_t *j =
	    json_pack("{s:i, s:I, s:s, s:I, s:I, s:O}", "version", VERSION, "since",
		      (json_int_t)i->since_s, "next", i->next, "began", (json_int_t)i->began_s,
		      "began_server", (json_int_t)i->began_server_s, "issues", i->issues);
	int r;

	r = github_index_open_dir(w, &dirfd, e);
	r = r ? r : json_print(j, 0, &text, e);
	return r ? r : fs_replace(dirfd, i->name, slice_of(text), e);
}

void index_save(struct work *w)
{
	struct err e;

	(void)github_index_save(w, w->g->index,
				&e); /* without the cache the whole list is read again */
}

/* --- of a repository ------------------------------------------------------------- */

static int make_name(const struct work *w, struct index *i, struct err *e)
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

static int github_index_make(struct work *w, struct index **ret, struct err *e)
{
	_autoclose_ int dirfd = -1;
	struct index *i = xcalloc(1, sizeof(*i));
	int r;

	i->per_page = PER_PAGE;
	i->issues = json_object();
	r = make_name(w, i, e);
	if (r < 0) {
		index_free(i);
		return r;
	}
	if (github_index_open_dir(w, &dirfd, e) == 0)
		github_index_load(i, dirfd);
	*ret = i;
	return 0;
}

bool index_open(struct work *w)
{
	struct github *g = w->g;
	struct index *i = NULL;
	struct err e;

	if (g->index && strcasecmp(g->index->repo, w->repo) == 0)
		return true;
	if (github_index_make(w, &i, &e) < 0)
		return work_error(w, &e);
	index_free(g->index);
	g->index = i;
	return true;
}
