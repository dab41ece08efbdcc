/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/give.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/pack.h"
#include "base/strv.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger/fold.h"
#include "runner/crash/vault.h"
#include "runner/state/change.h"
#include "runner/state/progress.h"
#include "runner/state/slices.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)

#define SHARD	     "shard"
#define SHARD_FILE   "shard.json"
#define SHARD_INPUTS "inputs"
#define DELTAS	     "deltas"

enum { MODE_DIR = 0750, SHARD_FILE_MAX = 4096, INPUTS_FILE_MAX = 256 << 20 };
#define LIVING_UNBACKED (UINT64_C(256) << 20) /* bytes of holes in a cell's files */

/* Replaces <dir>/<path>, with its directories. */
static int put_file(int dirfd, const char *path, struct slice text, struct err *e)
{
	_autofree_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');
	_autoclose_ int dir = -1;
	int r;

	if (slash)
		*slash = '\0';
	r = fs_make_dir(dirfd, slash ? parent : ".", MODE_DIR, &dir, e);
	return r < 0 ? r : fs_replace(dir, slash ? slash + 1 : path, text, e);
}

/* --- which shard it is -------------------------------------------------------------- */

int shard_load(int state_dirfd, struct shard_id *ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	int r = json_load(state_dirfd, SHARD "/" SHARD_FILE, SHARD_FILE_MAX, &j, e);

	if (r < 0)
		return r;
	*ret = (struct shard_id){.round = json_get_u64(j, "round"),
				 .shard = (unsigned)json_get_u64(j, "shard"),
				 .shards = (unsigned)json_get_u64(j, "shards"),
				 .seq = json_get_u64(j, "seq"),
				 .due = json_get_u64(j, "due")};
	snprintf(ret->source, sizeof(ret->source), "%s", json_get_text(j, "source"));
	snprintf(ret->plan, sizeof(ret->plan), "%s", json_get_text(j, "plan"));
	if (strlen(ret->source) != DELTA_SOURCE - 1 || ret->shard == 0)
		return err_set(e, EBADMSG, "'" SHARD "/" SHARD_FILE "' is damaged");
	return 0;
}

static int save_id(int change, const struct shard_id *id, struct err *e)
{
	_autojson_ json_t *j =
	    json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "v", DELTA_VERSION, "source",
		      id->source, "plan", id->plan, "round", (json_int_t)id->round, "shard",
		      (json_int_t)id->shard, "shards", (json_int_t)id->shards, "seq",
		      (json_int_t)id->seq, "due", (json_int_t)id->due);
	_autofree_ char *text = NULL;
	int r = json_print(j, 0, &text, e);

	return r < 0 ? r : put_file(change, SHARD "/" SHARD_FILE, slice_of(text), e);
}

/* --- inputs ------------------------------------------------------------------------- */

/* Paths of files that are named by their content, sorted. */
enum known { KNOWN_BASE, KNOWN_GIVEN, KNOWN_WAITS };
static const char *const known_names[] = {"base", "given", "waits"};

struct inputs {
	struct strv paths;
	enum known *how; /* of each */
};

static void inputs_done(struct inputs *i)
{
	strv_done(&i->paths);
	free(i->how);
	*i = (struct inputs){0};
}

static bool begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

static int by_path(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool has_path(const struct strv *v, const char *path, size_t *ret_at)
{
	char **at = v->n ? bsearch(&path, v->v, v->n, sizeof(char *), by_path) : NULL;

	if (at)
		*ret_at = (size_t)(at - v->v);
	return at;
}

/* A directory of files that are named by their content, or of failures that wait. */
static int list_dir(int state, const char *path, struct strv *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, path);
	bool triage = strncmp(path, "triage/", 7) == 0;
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(e, "open '%s'", path);
	while ((ent = sys_readdir(d))) {
		_autofree_ char *file = xasprintf("%s/%s", path, ent->d_name);
		size_t n = strlen(ent->d_name);
		const char *sha1 = n >= 40 ? ent->d_name + n - 40 : "";

		/* A user may have put files with other names there. */
		if (triage ? delta_file_ok(file, sha1) : candidates_name_ok(ent->d_name))
			strv_push(io, file);
	}
	return errno ? err_sys(e, "list '%s'", path) : 0;
}

static int list_room(int state, const char *room, struct strv *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, room);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", room);
	while (r == 0 && (ent = sys_readdir(d))) {
		_autofree_ char *path = xasprintf("%s/%s", room, ent->d_name);

		if (names_target_ok(slice_of(ent->d_name)))
			r = list_dir(state, path, io, e);
	}
	return r == 0 && errno ? err_sys(e, "list '%s'", room) : r;
}

static int list_all(int state, struct strv *ret, struct err *e)
{
	static const char *const rooms[] = {"corpus", "quarantine", "retry", "regressions",
					    "triage"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rooms) / sizeof(rooms[0]); i++)
		r = list_room(state, rooms[i], ret, e);
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(char *), by_path);
	return r;
}

static int inputs_load(int state, struct inputs *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n, lines = 0;
	int r = fs_read(state, SHARD "/" SHARD_INPUTS, INPUTS_FILE_MAX, &text, &n, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	ret->how = xcalloc(lines + 1, sizeof(*ret->how));
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		ret->how[ret->paths.n] = *line == 'b'	? KNOWN_BASE
					 : *line == 'g' ? KNOWN_GIVEN
							: KNOWN_WAITS;
		strv_push(&ret->paths, line + strcspn(line, " ") + (strchr(line, ' ') != NULL));
	}
	return 0;
}

/* Saves them with the new ones, sorted by path. */
static int inputs_save(int change, const struct inputs *old, const struct inputs *news,
		       struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(INPUTS_FILE_MAX);
	size_t i = 0, k = 0;

	while (i < old->paths.n || k < news->paths.n) {
		int d = i == old->paths.n    ? 1
			: k == news->paths.n ? -1
					     : strcmp(old->paths.v[i], news->paths.v[k]);

		if (d < 0)
			buf_printf(&out, "%s %s\n", known_names[old->how[i]], old->paths.v[i]);
		else
			buf_printf(&out, "%s %s\n", known_names[news->how[k]], news->paths.v[k]);
		i += d <= 0;
		k += d >= 0;
	}
	if (buf_check(&out, e) < 0)
		return err_wrap(e, "list the inputs");
	return put_file(change, SHARD "/" SHARD_INPUTS, buf_slice(&out), e);
}

/* --- what a delta has ------------------------------------------------------------------ */

struct making {
	const struct give *g;
	struct shard_id id;
	int state, then; /* the state directory, and shard/ in it */
	int change, objects;
	struct inputs old, news; /* what was known at the last delta; what is known since */
	struct strv now;	 /* all paths */
	json_t *head;
	struct given *sum;
};

static json_t *part(struct making *m, const char *name)
{
	json_t *j = json_object_get(m->head, name);

	if (j)
		return j;
	(void)json_object_set_new(m->head, name, json_object());
	return json_object_get(m->head, name);
}

/* --- inputs of living cells ------------------------------------------------------------- */

/* A cell may live for a whole turn, and leaves its inputs in work/<run>/<target>/corpus until its
 * end.  They are copied to change/living/<target>, and stand for files of the corpus. */
#define LIVING "change/living"

/* The cell can write the directory: nothing in it is trusted. */
static int list_cell(struct making *m, int corpus, const char *target, struct err *e)
{
	_autofree_ char *path = xasprintf(LIVING "/%s", target);
	CLEANUP(closedir_p) DIR *d = sys_opendirat(corpus, ".");
	struct store_seen seen = {.unbacked_max = LIVING_UNBACKED};
	struct store_sum got = {0};
	const struct dirent *ent;
	_autoclose_ int to = -1;
	int r = fs_make_dir(m->state, path, MODE_DIR, &to, e);

	while (r == 0 && d && (ent = sys_readdir(d))) {
		_autofree_ char *known = xasprintf("corpus/%s/%s", target, ent->d_name);
		char hex[STORE_NAME];
		size_t at;

		if (has_path(&m->old.paths, known, &at))
			continue;
		r = store_entry(corpus, ent->d_name, to, &seen, &got, hex, e);
		if (r == 0 && *hex)
			strv_pushf(&m->now, "corpus/%s/%s", target, hex);
	}
	return r;
}

static int list_cells(struct making *m, const char *run, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(m->state, run);
	const struct dirent *ent;
	int r = 0;

	while (r == 0 && d && (ent = sys_readdir(d))) {
		_autofree_ char *path = xasprintf("%s/%s/corpus", run, ent->d_name);
		_autoclose_ int corpus = -1;
		struct err gone;

		if (names_target_ok(slice_of(ent->d_name)) &&
		    fs_open_dir(m->state, path, &corpus, &gone) == 0)
			r = list_cell(m, corpus, ent->d_name, e);
	}
	return r;
}

static int list_living(struct making *m, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(m->state, "work");
	const struct dirent *ent;
	int r = 0;

	while (r == 0 && d && (ent = sys_readdir(d))) {
		_autofree_ char *run = xasprintf("work/%s", ent->d_name);

		r = list_cells(m, run, e);
	}
	if (m->now.n > 1)
		qsort(m->now.v, m->now.n, sizeof(char *), by_path);
	return r;
}

/* --- files of a delta ------------------------------------------------------------------- */

/* Links a file into objects/, so that it stays while the archive is written.  False: it is gone. */
static int add_object(struct making *m, const char *path, const char *sha1, bool *ret_there,
		      struct err *e)
{
	*ret_there = true;
	if (sys_linkat(m->state, path, m->objects, sha1) == 0 || errno == EEXIST)
		return 0;
	if (errno == ENOENT) {
		_autofree_ char *living = xasprintf(LIVING "%s", path + strcspn(path, "/"));

		*ret_there =
		    begins(path, "corpus/") &&
		    (sys_linkat(m->state, living, m->objects, sha1) == 0 || errno == EEXIST);
		return 0;
	}
	/* Another file system, or a file with too many links. */
	return fs_copy(m->state, path, m->objects, sha1, VAULT_BYTES_MAX, e);
}

static int add_input(struct making *m, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_autofree_ char *dir = xstrndup(path, (size_t)(slash - path));
	json_t *all = part(m, "inputs"), *list;
	bool there;
	int r = add_object(m, path, slash + 1, &there, e);

	if (r < 0 || !there)
		return r;
	list = json_object_get(all, dir);
	if (!list) {
		(void)json_object_set_new(all, dir, json_array());
		list = json_object_get(all, dir);
	}
	(void)json_array_append_new(list, json_string(slash + 1));
	m->sum->inputs++;
	return 0;
}

/* A file with a name of its own. */
static int add_file(struct making *m, int dirfd, const char *at, const char *path, struct err *e)
{
	_autofree_ char *text = NULL;
	char sha1[DIGEST_SHA1_HEX];
	size_t n = 0;
	int r = fs_read(dirfd, at, VAULT_BYTES_MAX, &text, &n, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	digest_sha1_hex((struct slice){text, n}, sha1);
	if (!delta_file_ok(path, sha1))
		return 0;
	r = fs_replace(m->objects, sha1, (struct slice){text, n}, e);
	if (r == 0)
		(void)json_object_set_new(part(m, "files"), path, json_string(sha1));
	return r;
}

/* Whether a path goes into the delta, and what is known of it then.  A failure that waits for
 * triage is given when it has waited for a whole interval: the shard triages most of them itself,
 * and none is to count twice. */
static bool is_due(const struct making *m, const char *path, enum known *ret)
{
	size_t at;
	bool old = has_path(&m->old.paths, path, &at);
	enum known how = old ? m->old.how[at] : KNOWN_WAITS;

	*ret = KNOWN_GIVEN;
	if (begins(path, "triage/")) {
		if (!old && !m->g->last)
			*ret = KNOWN_WAITS;
		return how == KNOWN_WAITS && (old || m->g->last);
	}
	return !old || (how == KNOWN_GIVEN && m->g->last && begins(path, "corpus/"));
}

static int add_new_paths(struct making *m, struct err *e)
{
	int r = 0;

	m->news.how = xcalloc(m->now.n + 1, sizeof(*m->news.how));
	for (size_t i = 0; r == 0 && i < m->now.n; i++) {
		const char *path = m->now.v[i];
		enum known how;
		bool due = is_due(m, path, &how);
		size_t at;

		if ((!due && has_path(&m->old.paths, path, &at)) ||
		    (i > 0 && strcmp(path, m->now.v[i - 1]) == 0))
			continue; /* known, or listed twice */
		if (due && m->sum->inputs >= DELTA_INPUTS_MAX / 2) {
			/* a collector would refuse more: the next delta has them */
			m->sum->more |= !has_path(&m->old.paths, path, &at);
			continue;
		}
		m->news.how[m->news.paths.n] = how;
		strv_push(&m->news.paths, path);
		if (due)
			r = begins(path, "triage/") ? add_file(m, m->state, path, path, e)
						    : add_input(m, path, e);
	}
	return r;
}

/* Failures that earlier deltas had, and that wait no longer: each delta says it again, in case one
 * is lost. */
static void add_triaged(struct making *m)
{
	_autojson_ json_t *all = json_array();

	for (size_t i = 0; i < m->old.paths.n && json_array_size(all) < DELTA_INPUTS_MAX; i++) {
		const char *path = m->old.paths.v[i];
		size_t at;

		if (m->old.how[i] == KNOWN_GIVEN && delta_triaged_ok(path) &&
		    !has_path(&m->now, path, &at))
			(void)json_array_append_new(all, json_string(path));
	}
	if (json_array_size(all) > 0)
		(void)json_object_set(m->head, "triaged", all);
}

/* --- crashes -------------------------------------------------------------------------- */

static int add_place(struct making *m, const char *place, struct err *e)
{
	int r = 0;

	for (enum vault_file f = 0; r == 0 && f < VAULT_FILE_COUNT; f++) {
		_autofree_ char *path = xasprintf("%s/%s", place, vault_file_name(f));

		r = add_file(m, m->state, path, path, e);
	}
	return r;
}

static int add_crash(struct making *m, const struct known_crash *c, struct err *e)
{
	_autofree_ char *name = xcalloc(VAULT_NAME, 1);
	_autofree_ char *by = NULL, *own = NULL;
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	int r = vault_name(slice_of(c->signature), name, e);

	if (r < 0)
		return r;
	own = xasprintf("crashes/%s", name);
	r = add_place(m, own, e);
	by = xasprintf("%s/" VAULT_BY, own);
	d = sys_opendirat(m->state, by);
	while (r == 0 && d && (ent = sys_readdir(d))) {
		_autofree_ char *place = xasprintf("%s/%s", by, ent->d_name);

		r = add_place(m, place, e);
	}
	return r;
}

/* The next delta is compared with it. */
static int keep_ledger(const struct making *m, const struct ledger *now, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n = 0;
	int r = ledger_print(now, &text, &n, e);

	return r < 0 ? r : put_file(m->change, SHARD "/" LEDGER_NAME, (struct slice){text, n}, e);
}

static int add_ledger(struct making *m, const struct ledger *news, struct err *e)
{
	_autofree_ char *text = NULL;
	char sha1[DIGEST_SHA1_HEX];
	size_t n = 0;
	int r = ledger_print(news, &text, &n, e);

	if (r < 0)
		return r;
	digest_sha1_hex((struct slice){text, n}, sha1);
	(void)json_object_set_new(part(m, "files"), LEDGER_NAME, json_string(sha1));
	return fs_replace(m->objects, sha1, (struct slice){text, n}, e);
}

static int add_crashes(struct making *m, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *now = NULL, *then = NULL, *news = NULL;
	int r = ledger_load(m->state, &now, e);

	if (r == 0)
		r = ledger_load(m->then, &then, e);
	if (r == 0)
		r = ledger_since(now, then, &news, e);
	for (size_t i = 0; r == 0 && i < ledger_count(news); i++)
		r = add_crash(m, ledger_at(news, i), e);
	m->sum->crashes = r == 0 ? ledger_count(news) : 0;
	if (r == 0 && m->sum->crashes > 0)
		r = add_ledger(m, news, e);
	return r == 0 ? keep_ledger(m, now, e) : r;
}

/* --- progress and histories -------------------------------------------------------------- */

static int list_files(int state, const char *path, const char *ending, struct strv *ret,
		      struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", path);
	while ((ent = sys_readdir(d))) {
		size_t n = strlen(ent->d_name), m = strlen(ending);

		if (n > m && strcmp(ent->d_name + n - m, ending) == 0 && ent->d_name[0] != '.')
			strv_push(ret, ent->d_name);
	}
	if (errno)
		return err_sys(e, "list '%s'", path);
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(char *), by_path);
	return 0;
}

/* What is kept is what is compared: the run may write the file meanwhile.  ret: the directory with
 * the kept file; -ENOENT: there is no file. */
static int keep_progress(const struct making *m, const char *path, int *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n = 0;
	int r = fs_read(m->state, path, PROGRESS_FILE_MAX, &text, &n, e);

	if (r == 0)
		r = fs_make_dir(m->change, SHARD, MODE_DIR, ret, e);
	return r < 0 ? r : put_file(*ret, path, (struct slice){text, n}, e);
}

static int add_progress(struct making *m, const char *file, struct err *e)
{
	_autofree_ char *target = xstrndup(file, strlen(file) - strlen(".json"));
	_autofree_ char *path = xasprintf("stats/progress/%s", file);
	_autofree_ struct progress *now = xcalloc(1, sizeof(*now)),
				   *then = xcalloc(1, sizeof(*now));
	_autoclose_ int kept = -1;
	_autojson_ json_t *slices = NULL;
	char warning[200];
	int r = keep_progress(m, path, &kept, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	progress_load(kept, target, now, warning);
	progress_load(m->then, target, then, warning);
	slices = slices_since(then, now, m->g->now_us);
	if (json_array_size(slices) > 0)
		(void)json_object_set(part(m, "slices"), target, slices);
	return 0;
}

static int add_all_progress(struct making *m, struct err *e)
{
	_autostrv_ struct strv files = {0};
	int r = list_files(m->state, "stats/progress", ".json", &files, e);

	for (size_t i = 0; r == 0 && i < files.n; i++)
		r = add_progress(m, files.v[i], e);
	return r;
}

static int add_history(struct making *m, const char *name, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/%s", name), *text = NULL;
	_autojson_ json_t *lines = json_array();
	struct slice in, line;
	struct err ignored;
	size_t n = 0;
	int r = fs_read(m->state, path, INPUTS_FILE_MAX, &text, &n, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	in = (struct slice){text, n};
	while (scan_until(&in, '\n', n, &line)) {
		json_t *j;

		if (json_parse(line, &j, &ignored) == 0)
			(void)json_array_append_new(lines, j);
	}
	if (json_array_size(lines) > 0 && json_array_size(lines) <= DELTA_LINES_MAX)
		(void)json_object_set(part(m, "histories"), name, lines);
	return 0;
}

/* All lines: a shard has few, and a collector knows those that it has. */
static int add_histories(struct making *m, struct err *e)
{
	_autostrv_ struct strv files = {0};
	_autojson_ json_t *fuzzed = NULL;
	struct err none;
	int r = add_history(m, "run_history.jsonl", e);

	if (r == 0)
		r = add_history(m, "corpus_history.jsonl", e);
	if (r == 0)
		r = list_files(m->state, "stats/targets", ".jsonl", &files, e);
	for (size_t i = 0; r == 0 && i < files.n; i++) {
		_autofree_ char *name = xasprintf("targets/%s", files.v[i]);

		r = add_history(m, name, e);
	}
	if (r == 0 && json_load(m->state, "stats/last_fuzzed.json", 4 << 20, &fuzzed, &none) == 0)
		(void)json_object_set(m->head, "fuzzed", fuzzed);
	return r;
}

/* --- the archive --------------------------------------------------------------------------- */

static int add_objects(struct pack *p, int objects, struct err *e)
{
	_autostrv_ struct strv names = {0};
	int r = list_files(objects, ".", "", &names, e);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		_autofree_ char *name = xasprintf(DELTA_OBJECTS "%s", names.v[i]);
		_autoclose_ int fd = -1;

		r = fs_open_file(objects, names.v[i], O_RDONLY, 0, &fd, e);
		if (r == 0)
			r = pack_add_file(p, name, 0644, fd, e);
	}
	return r;
}

static int write_archive(struct making *m, int fd, struct err *e)
{
	_autofree_ char *text = NULL;
	struct pack *p = NULL;
	int r = delta_identify(m->head, e);

	if (r == 0)
		r = json_print(m->head, 0, &text, e);
	if (r == 0)
		r = pack_open(fd, &p, e);
	if (r == 0)
		r = pack_add(p, DELTA_HEAD, 0644, slice_of(text), e);
	if (r == 0)
		r = add_objects(p, m->objects, e);
	if (r == 0)
		r = pack_close(p, e);
	pack_free(p);
	return r;
}

static int make_archive(struct making *m, struct err *e)
{
	_autoclose_ int dir = -1, fd = -1;
	int r = fs_make_dir(m->change, DELTAS, MODE_DIR, &dir, e);

	snprintf(m->sum->name, sizeof(m->sum->name), "r%llu-s%u-%s-%04llu%s" DELTA_SUFFIX,
		 (unsigned long long)m->id.round, m->id.shard, m->id.source,
		 (unsigned long long)m->id.seq, m->g->last ? "-last" : "");
	if (r == 0)
		r = fs_open_file(dir, m->sum->name, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, e);
	return r < 0 ? r : write_archive(m, fd, e);
}

/* As the batch engine calls the machine, else as it calls itself. */
static const char *name_node(struct utsname *u)
{
	static const char *const variables[] = {"FUZZCELL_NODE", "SLURMD_NODENAME"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *name = getenv(variables[i]);

		if (name && names_target_ok(slice_of(name)))
			return name;
	}
	return uname(u) == 0 && names_target_ok(slice_of(u->nodename)) ? u->nodename : "node";
}

static void fill_facts(struct making *m)
{
	struct utsname u;

	m->head =
	    json_pack("{s:i, s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:b, s:{}, s:{}}",
		      "v", DELTA_VERSION, "id", "", "source", m->id.source, "seq",
		      (json_int_t)m->id.seq, "plan", m->id.plan, "round", (json_int_t)m->id.round,
		      "shard", (json_int_t)m->id.shard, "shards", (json_int_t)m->id.shards, "node",
		      name_node(&u), "until", (json_int_t)(m->g->now_us / USEC_PER_SEC), "due",
		      (json_int_t)m->id.due, "last", (int)m->g->last, "inputs", "files");
}

/* Whether there is something to give.  The last delta says at least that the shard has ended. */
static bool is_worth_it(const struct making *m)
{
	return m->g->last || m->sum->inputs + m->sum->crashes > 0 || m->news.paths.n > 0 ||
	       json_object_size(json_object_get(m->head, "slices")) > 0;
}

static int make_delta(struct making *m, struct err *e)
{
	int r = inputs_load(m->state, &m->old, e);

	if (r == 0)
		r = list_all(m->state, &m->now, e);
	if (r == 0)
		r = list_living(m, e);
	if (r == 0)
		r = add_new_paths(m, e);
	if (r == 0 && m->g->last && m->sum->more) {
		*m->sum = (struct given){.more = true};
		return 0;
	}
	if (r == 0)
		r = add_crashes(m, e);
	if (r == 0)
		r = add_all_progress(m, e);
	if (r == 0)
		r = add_histories(m, e);
	add_triaged(m);
	if (r < 0 || !is_worth_it(m))
		return r;
	r = make_archive(m, e);
	if (r == 0)
		r = inputs_save(m->change, &m->old, &m->news, e);
	if (r == 0)
		r = save_id(m->change, &m->id, e);
	return r == 0 ? change_commit(m->state, e) : r;
}

int give_delta(const struct give *g, struct given *ret, struct err *e)
{
	struct making m = {
	    .g = g, .state = g->state->dirfd, .then = -1, .change = -1, .objects = -1, .sum = ret};
	struct err none;
	int r;

	*ret = (struct given){0};
	r = shard_load(m.state, &m.id, e);
	if (r == 0)
		r = fs_open_dir(m.state, SHARD, &m.then, e);
	if (r == 0)
		r = change_begin(m.state, &m.change, e);
	if (r == 0)
		r = fs_make_dir(m.state, "change/objects", MODE_DIR, &m.objects, e);
	m.id.seq++;
	fill_facts(&m);
	if (r == 0)
		r = make_delta(&m, e);
	(void)!change_recover(m.state, &none); /* drops what was not worth it, or failed */
	json_decref(m.head);
	inputs_done(&m.old);
	inputs_done(&m.news);
	strv_done(&m.now);
	close_p(&m.then);
	close_p(&m.change);
	close_p(&m.objects);
	return r < 0 ? err_wrap(e, "a delta of shard %u", m.id.shard) : 0;
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int make_source(char source[DELTA_SOURCE], struct err *e)
{
	unsigned char bytes[(DELTA_SOURCE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(e, "get random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(source + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* What the shard got from the base: of crashes the records, from which the ledger is made. */
static int keep_all(const struct making *m, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *now = NULL;
	_autostrv_ struct strv files = {0};
	int r = ledger_load(m->state, &now, e);

	if (r == 0 && ledger_dirty(now))
		r = ledger_save(now, m->state, e);
	if (r == 0)
		r = keep_ledger(m, now, e);
	if (r == 0)
		r = list_files(m->state, "stats/progress", ".json", &files, e);
	for (size_t i = 0; r == 0 && i < files.n; i++) {
		_autofree_ char *path = xasprintf("stats/progress/%s", files.v[i]);
		_autoclose_ int kept = -1;

		r = keep_progress(m, path, &kept, e);
	}
	return r;
}

int shard_begin(struct state *s, struct shard_id *io, struct err *e)
{
	struct making m = {.state = s->dirfd, .then = -1, .change = -1, .objects = -1};
	int r = make_source(io->source, e);

	io->seq = 0;
	if (r == 0)
		r = change_begin(s->dirfd, &m.change, e);
	if (r == 0)
		r = keep_all(&m, e);
	if (r == 0)
		r = list_all(s->dirfd, &m.now, e);
	m.news = (struct inputs){m.now, xcalloc(m.now.n + 1, sizeof(*m.news.how))}; /* all: base */
	if (r == 0)
		r = inputs_save(m.change, &m.old, &m.news, e);
	if (r == 0)
		r = save_id(m.change, io, e);
	if (r == 0)
		r = change_commit(s->dirfd, e);
	inputs_done(&m.news); /* and `now` */
	close_p(&m.change);
	return r;
}

/* --- delivering -------------------------------------------------------------------------- */

int give_deliver(struct state *s, const char *dir, uint64_t *ret_n, struct err *e)
{
	_autoclose_ int to = -1, from = -1;
	_autostrv_ struct strv names = {0};
	int r = fs_make_dir(s->dirfd, DELTAS, MODE_DIR, &from, e);

	*ret_n = 0;
	if (r == 0)
		r = fs_mkdirs(AT_FDCWD, dir, 0755, e);
	if (r < 0)
		return r;
	to = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (to < 0)
		return err_sys(e, "open directory '%s'", dir);
	r = list_files(from, ".", DELTA_SUFFIX, &names, e);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		r = fs_copy(from, names.v[i], to, names.v[i], SIZE_MAX, e);
		if (r == 0 && sys_unlinkat(from, names.v[i], 0) < 0)
			r = err_sys(e, "remove '" DELTAS "/%s'", names.v[i]);
		*ret_n += r == 0;
	}
	return r < 0 ? err_wrap(e, "deliver deltas to '%s'", dir) : 0;
}
