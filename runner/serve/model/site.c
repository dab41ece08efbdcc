/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/model/site.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/control/client.h"
#include "runner/serve/model/json.h"
#include "runner/state/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static bool site_same_file(const struct stat *a, const struct stat *b)
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
	if (!s->ledger || !site_same_file(&st, &s->ledger_stat)) {
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
	int r = site_runs(s, SITE_RUNS_SEARCHED, &runs, &damaged, e);

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

/* --- histories and logs --------------------------------------------------- */

/* digits and '-' */
static bool site_run_ok(const char *run)
{
	size_t n = strlen(run);

	return n > 0 && n < 64 && strspn(run, "0123456789-") == n;
}

bool site_target_ok(const char *name)
{
	/* The name must also be valid with ".json" and with the prefix of temporary files. */
	return strlen(name) <= 240 && name[0] != '.' && fs_name_ok(slice_of(name));
}

static json_t *newest_first(const json_t *lines)
{
	json_t *all = json_array();

	for (size_t i = json_array_size(lines); i-- > 0;)
		json_array_append(all, json_array_get(lines, i));
	return all;
}

static int site_lines(struct serve_site *s, const char *name, size_t n, json_t **ret,
		      uint64_t *ret_damaged, struct err *e)
{
	_autojson_ json_t *lines = NULL;
	int r = history_last(s->state, name, n, &lines, ret_damaged, e);

	if (r == 0)
		*ret = newest_first(lines);
	return r;
}

int site_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged, struct err *e)
{
	return site_lines(s, "run_history.jsonl", n, ret, ret_damaged, e);
}

/* Counts newlines from *at to the end of the file, and advances *at to the end. */
static int site_count_lines(int fd, off_t *at, uint64_t *lines, struct err *e)
{
	char buf[65536];
	ssize_t n;

	while ((n = sys_pread(fd, buf, sizeof(buf), *at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			*lines += buf[i] == '\n';
		*at += n;
	}
	return n < 0 ? err_sys(e, "read the history of runs") : 0;
}

/* Reads only the data appended since the last call. */
int site_runs_total(struct serve_site *s, uint64_t *ret, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;
	int r = fs_open_file(s->state->dirfd, "stats/run_history.jsonl", O_RDONLY, 0, &fd, e);

	*ret = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat the history of runs");
	if (s->counted.inode != st.st_ino || s->counted.size > st.st_size) {
		s->counted.inode = st.st_ino;
		s->counted.size = 0;
		s->counted.lines = 0;
	}
	r = site_count_lines(fd, &s->counted.size, &s->counted.lines, e);
	if (r == 0)
		*ret = s->counted.lines;
	return r;
}

/* The newest summary of a run, with all of its targets: *ret is borrowed.  NULL: there is none. */
static int newest_summary(struct serve_site *s, const json_t **ret, struct err *e)
{
	_autojson_ json_t *runs = NULL;
	uint64_t damaged;
	int r = site_runs(s, SITE_RUNS_SEARCHED, &runs, &damaged, e);

	*ret = NULL;
	for (size_t i = 0; r == 0 && i < json_array_size(runs); i++) {
		const char *run = get_text(json_array_get(runs, i), "run");
		json_t *summary;
		struct err why;

		/* It is written once, at the end of its run. */
		if (s->summary && strcmp(get_text(s->summary, "run"), run) == 0) {
			*ret = s->summary;
			return 0;
		}
		if (site_log(s, run, "summary.json", &summary, &why) < 0)
			continue;
		json_decref(s->summary);
		*ret = s->summary = summary;
		return 0;
	}
	return r;
}

/* A target's object in a summary, in the form of a line of the target's history. */
static json_t *line_of_summary(const json_t *summary, const char *target)
{
	static const char *const keys[] = {"run", "ended", "commit"};
	const json_t *all = json_object_get(summary, "targets");
	json_t *found = json_array(), *one = NULL;

	for (size_t i = 0; !one && i < json_array_size(all); i++)
		if (strcmp(get_text(json_array_get(all, i), "name"), target) == 0)
			one = json_copy(json_array_get(all, i));
	for (size_t i = 0; one && i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *v = json_object_get(summary, keys[i]);

		if (v)
			json_object_set(one, keys[i], v);
	}
	if (one)
		json_array_append_new(found, one);
	return found;
}

int site_target_lines(struct serve_site *s, const char *target, size_t n, json_t **ret,
		      struct err *e)
{
	_autofree_ char *name = NULL;
	_autojson_ json_t *lines = NULL;
	const json_t *summary = NULL;
	uint64_t damaged = 0;
	int r = history_target_name(target, &name, e);

	if (r == -EINVAL)
		return err_set(e, ENOENT, "no such target");
	if (r == 0)
		r = site_lines(s, name, n, &lines, &damaged, e);
	if (r < 0)
		return r;
	if (json_array_size(lines) > 0) {
		*ret = json_incref(lines);
		return 0;
	}
	if (damaged > 0)
		return err_set(e, EBADMSG, "stats/%s: none of its lines can be read", name);
	/* The target only waited. */
	r = newest_summary(s, &summary, e);
	if (r == 0)
		*ret = line_of_summary(summary, target);
	return r;
}

int site_log(struct serve_site *s, const char *run, const char *file, json_t **ret, struct err *e)
{
	_autofree_ char *path = NULL;

	if (!site_run_ok(run) || !fs_name_ok(slice_of(file)))
		return err_set(e, ENOENT, "no such run");
	path = xasprintf("logs/%s/%s", run, file);
	return json_load(s->state->dirfd, path, SITE_STATS_MAX, ret, e);
}

bool site_run_kept(struct serve_site *s, const char *run)
{
	char path[96];
	struct stat st;

	if (!site_run_ok(run))
		return false;
	if (strcmp(run, site_live_run(s)) == 0)
		return true;
	snprintf(path, sizeof(path), "logs/%s", run);
	return fstatat(s->state->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* --- the list of targets ---------------------------------------------------- */

/* Skips names that are not UTF-8, which JSON cannot represent and no valid target has. */
static void site_add_name(json_t *names, const char *name)
{
	if (site_target_ok(name) && json_object_size(names) < SITE_TARGETS_MAX)
		(void)json_object_set_new(names, name, json_true());
}

/* Adds the names in a list of targets, from a run's line or the living run. */
static void add_listed(json_t *names, const json_t *all)
{
	for (size_t i = 0; i < json_array_size(all); i++)
		site_add_name(names, get_text(json_array_get(all, i), "name"));
}

static int site_add_files(struct serve_site *s, json_t *names, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->state->dirfd, "stats/targets");
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open stats/targets");
	while ((ent = sys_readdir(d))) {
		size_t n = strlen(ent->d_name);
		char name[NAME_MAX + 1];

		if (n <= 6 || strcmp(ent->d_name + n - 6, ".jsonl") != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(n - 6), ent->d_name);
		site_add_name(names, name);
	}
	return 0;
}

static int site_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* names: an object that has the names as keys. */
static json_t *sorted(json_t *names)
{
	size_t n = json_object_size(names), i = 0;
	_autofree_ const char **v = xcalloc(n + 1, sizeof(*v));
	json_t *all = json_array();
	const char *key;
	json_t *value;

	json_object_foreach(names, key, value) v[i++] = key;
	qsort(v, n, sizeof(*v), site_by_name);
	for (i = 0; i < n; i++)
		json_array_append_new(all, json_string(v[i]));
	return all;
}

json_t *site_times(struct serve_site *s)
{
	json_t *all = json_incref(s->snapshot.fuzzed);
	struct err ignored;

	if (all)
		return all;
	if (json_load(s->state->dirfd, "stats/last_fuzzed.json", SITE_STATS_MAX, &all, &ignored) <
	    0)
		return NULL;
	if (s->snapshot.on)
		s->snapshot.fuzzed = json_incref(all);
	return all;
}

/* Adds targets of stats/last_fuzzed.json, also those that only waited so far. */
static void site_add_seen(struct serve_site *s, json_t *names)
{
	_autojson_ json_t *all = site_times(s);
	const char *name;
	json_t *value;

	json_object_foreach(all, name, value) site_add_name(names, name);
}

static int site_add_all(struct serve_site *s, json_t *names, struct err *e)
{
	const json_t *summary = NULL;
	int r;

	add_listed(names, json_object_get(site_live(s), "targets"));
	site_add_seen(s, names);
	r = site_add_files(s, names, e);
	if (r == 0)
		r = newest_summary(s, &summary, e);
	if (r == 0)
		add_listed(names, json_object_get(summary, "targets"));
	return r;
}

int site_targets(struct serve_site *s, json_t **ret, struct err *e)
{
	_autojson_ json_t *names = json_object();
	int r = site_add_all(s, names, e);

	if (r == 0)
		*ret = sorted(names);
	return r;
}

int site_target_pages(struct serve_site *s, json_t **ret, struct err *e)
{
	_autojson_ json_t *names = json_object();
	const struct ledger *l;
	int r = site_add_all(s, names, e);

	if (r == 0)
		r = site_ledger(s, &l, e);
	for (size_t i = 0; r == 0 && i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_at(l, i);

		site_add_name(names, c->fuzzer);
		for (size_t k = 0; k < c->targets.n; k++)
			site_add_name(names, c->targets.v[k]);
	}
	if (r == 0)
		*ret = sorted(names);
	return r;
}

static bool has_history(const struct serve_site *s, const char *name)
{
	_autofree_ char *path = xasprintf("stats/targets/%s.jsonl", name);

	return faccessat(s->state->dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool was_seen(struct serve_site *s, const char *name)
{
	_autojson_ json_t *all = site_times(s);

	return json_object_get(all, name);
}

static bool found_a_crash(struct serve_site *s, const char *name)
{
	const struct ledger *l;
	struct err ignored;

	if (site_ledger(s, &l, &ignored) < 0)
		return false;
	for (size_t i = 0; i < ledger_count(l); i++)
		if (ledger_entry(ledger_at(l, i), name))
			return true;
	return false;
}

bool site_knows_target(struct serve_site *s, const char *name)
{
	_autojson_ json_t *lines = NULL;
	const json_t *summary = NULL;
	struct err ignored;

	if (!site_target_ok(name))
		return false;
	if (site_live_target(s, name) || has_history(s, name) || was_seen(s, name) ||
	    found_a_crash(s, name))
		return true;
	if (newest_summary(s, &summary, &ignored) < 0)
		return false;
	lines = line_of_summary(summary, name);
	return json_array_size(lines) > 0;
}
