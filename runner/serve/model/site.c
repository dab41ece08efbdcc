/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/model/site.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/control/client.h"
#include "runner/serve/model/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct serve_site *serve_open(const struct state *s)
{
	struct serve_site *site = xcalloc(1, sizeof(*site));
	struct err why;

	site->state = s;
	if (moment_read(&site->boot, &why) < 0)
		site->boot = (struct moment){0}; /* then the trigger's facts are unknown */
	site->limits = (struct serve_limits){
	    .disk_reserve = UINT64_C(1) << 30, .silent_s = UINT64_C(7) * 86400, .downloads = true};
	return site;
}

void serve_close(struct serve_site *site)
{
	if (!site)
		return;
	json_decref(site->live);
	json_decref(site->summary);
	json_decref(site->trends);
	ledger_free(site->ledger);
	free(site);
}

void serve_set_limits(struct serve_site *site, const struct serve_limits *l)
{
	site->limits = *l;
}

void serve_set_now(struct serve_site *site, uint64_t now)
{
	site->now = now;
}

uint64_t site_now(const struct serve_site *s)
{
	return s->now ? s->now : clock_real_us() / USEC_PER_SEC;
}

/* False if the directory cannot be accessed: then nothing can be compared. */
static bool moved(const struct state *s)
{
	struct stat open, named;

	if (fstat(s->dirfd, &open) < 0)
		return false;
	if (open.st_nlink == 0)
		return true;
	if (fstatat(AT_FDCWD, s->path, &named, 0) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

int site_there(const struct serve_site *s, struct err *e)
{
	return moved(s->state)
		   ? err_set(
			 e, ESTALE,
			 "the state directory was replaced or removed: start fuzzcell serve again")
		   : 0;
}

void site_begin(struct serve_site *s)
{
	uint64_t now = clock_mono_us();
	json_t *live = NULL;
	struct err why;
	int r;

	if (now < s->live_until_us)
		return;
	r = control_status(s->state->dirfd, SITE_ASK_MS * USEC_PER_MSEC, &live, &why);
	now = clock_mono_us();
	s->live_until_us = now + USEC_PER_MSEC * (r == -ETIMEDOUT ? (uint64_t)SITE_DEAF_MS
								  : (uint64_t)SITE_LIVE_MS);
	/* The run lives but is slow to answer.  Keep its last status: showing the previous run's
	 * figures would be wrong. */
	if (r == -ETIMEDOUT && now - s->heard_us < (uint64_t)SITE_STALE_MS * USEC_PER_MSEC)
		return;
	if (r == 0)
		s->heard_us = now;
	json_decref(s->live);
	s->live = live;
}

const json_t *site_live(const struct serve_site *s)
{
	return s->live;
}

json_t *site_live_target(const struct serve_site *s, const char *target)
{
	const json_t *all = json_object_get(site_live(s), "targets");

	for (size_t i = 0; i < json_array_size(all); i++)
		if (strcmp(get_text(json_array_get(all, i), "name"), target) == 0)
			return json_array_get(all, i);
	return NULL;
}

const char *site_live_run(const struct serve_site *s)
{
	return get_text(json_object_get(site_live(s), "run"), "run");
}

static bool model_site_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int site_ledger(struct serve_site *s, const struct ledger **ret, struct err *e)
{
	struct stat st = {0};
	struct ledger *l;
	int r = site_there(s, e);

	if (r < 0)
		return r;
	/* A missing file is an empty ledger; st stays zero. */
	if (fstatat(s->state->dirfd, "known_crashes.json", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != ENOENT)
		return err_sys(e, "stat known_crashes.json");
	if (!s->ledger || !model_site_same_file(&st, &s->ledger_stat)) {
		r = ledger_load(s->state->dirfd, &l, e);
		if (r < 0)
			return r;
		ledger_free(s->ledger);
		s->ledger = l;
		s->ledger_stat = st;
	}
	*ret = s->ledger;
	return 0;
}

/* A killed run has no "ended". */
int site_last_end(struct serve_site *s, uint64_t *ret, struct err *e)
{
	_autojson_ json_t *runs = NULL;
	uint64_t damaged;
	int r = site_runs(s, SITE_RUNS_LOOKED_AT, &runs, &damaged, e);

	*ret = 0;
	for (size_t i = 0; r == 0 && *ret == 0 && i < json_array_size(runs); i++)
		*ret = get_time(json_array_get(runs, i), "ended");
	return r;
}

int site_updated(struct serve_site *s, uint64_t *ret, struct err *e)
{
	*ret = site_now(s);
	return site_live(s) ? 0 : site_last_end(s, ret, e);
}
