/* SPDX-License-Identifier: Apache-2.0 */
/* The pending entries: the list, queueing, attempts and their results. */
#include "runner/publish/outbox/outbox.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- backoff -------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) */
static uint64_t backoff_random(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A pseudorandom number in [0, n); advances the seed.  n 0 gives 0. */
static uint64_t backoff_jitter(uint64_t *seed, uint64_t n)
{
	uint64_t v = backoff_random(seed);

	return n ? v % n : 0;
}

static uint64_t backoff_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t backoff_wait(uint64_t tries, uint64_t wish, uint64_t most, uint64_t *seed)
{
	uint64_t wait = BACKOFF_FIRST_WAIT;

	if (wish > 0) {
		wish = backoff_least(wish, BACKOFF_DAY);
		return wish + backoff_jitter(seed, backoff_least(wish / 8, BACKOFF_FIRST_WAIT) + 1);
	}
	for (uint64_t i = 1; i < tries && wait < most; i++)
		wait *= 2;
	wait = backoff_least(wait, most);
	wait -= backoff_jitter(seed, wait / 4 + 1);
	return wait ? wait : 1;
}

bool backoff_is_due(uint64_t now, uint64_t last_try, uint64_t next_try)
{
	return now >= next_try || now < last_try;
}

enum { MODE_DIR = 0750, MODE_FILE = 0640 };

/* --- the list ------------------------------------------------------------------- */

static int outbox_by_seq(const void *a, const void *b)
{
	const struct outbox_entry *x = *(struct outbox_entry *const *)a;
	const struct outbox_entry *y = *(struct outbox_entry *const *)b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return strcmp(x->id, y->id);
}

static int outbox_by_chain(const void *a, const void *b)
{
	const struct outbox_entry *x = *(struct outbox_entry *const *)a;
	const struct outbox_entry *y = *(struct outbox_entry *const *)b;
	int c = strcmp(x->chain, y->chain);

	return c ? c : outbox_by_seq(a, b);
}

static void outbox_sort(struct outbox *o)
{
	if (o->n == 0)
		return;
	qsort(o->v, o->n, sizeof(struct outbox_entry *), outbox_by_chain);
	for (size_t i = 0; i < o->n; i++)
		o->v[i]->head = i == 0 || strcmp(o->v[i]->chain, o->v[i - 1]->chain) != 0;
	qsort(o->v, o->n, sizeof(struct outbox_entry *), outbox_by_seq);
}

/* Takes ownership of t. */
static void outbox_add(struct outbox *o, struct outbox_entry *t)
{
	if (o->n == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 64;
		o->v = xreallocarray(o->v, o->cap, sizeof(struct outbox_entry *));
	}
	o->v[o->n++] = t;
}

/* Removes t from the list, not from disk. */
static void outbox_forget(struct outbox *o, struct outbox_entry *t)
{
	size_t at = 0;

	while (at < o->n && o->v[at] != t)
		at++;
	if (at == o->n)
		return;
	memmove(&o->v[at], &o->v[at + 1], (o->n - at - 1) * sizeof(struct outbox_entry *));
	o->n--;
	for (; t->head && at < o->n; at++)
		if (strcmp(o->v[at]->chain, t->chain) == 0) {
			o->v[at]->head = true;
			break;
		}
	outbox_entry_free(t);
}

size_t outbox_count(const struct outbox *o)
{
	return o->n;
}

const struct outbox_entry *outbox_at(const struct outbox *o, size_t i)
{
	return i < o->n ? o->v[i] : NULL;
}

const char *outbox_warning(const struct outbox *o)
{
	return o->warning;
}

/* --- opening -------------------------------------------------------------------- */

static int outbox_read_entry(struct outbox *o, const char *name, struct err *e)
{
	struct outbox_full f = {0};
	char id[OUTBOX_NAME];
	struct err why;
	int r;

	snprintf(id, sizeof(id), "%.*s", (int)(strlen(name) - strlen(".json")), name);
	r = outbox_load(o, id, &f, &why);
	if (r == -ENOENT)
		return 0; /* just done by another process */
	if (outbox_damage(r)) {
		outbox_set_aside(o, o->dir, name, why.msg);
		return 0;
	}
	if (r < 0)
		return err_set(e, why.code, "%s", why.msg);
	outbox_add(o, take_ptr(&f.entry));
	outbox_full_done(&f);
	return 0;
}

/* Removes a temporary file of a killed fs_replace().  The lock of outbox_hold() is held, so no
 * process is writing it. */
static void outbox_sweep(const struct outbox *o, int dir, const char *name)
{
	if (o->write_fd >= 0)
		(void)sys_unlinkat(dir, name, 0); /* on failure the next process does it */
}

static bool outbox_ends(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n > m && strcmp(name + n - m, tail) == 0;
}

static bool outbox_is_entry(const char *name)
{
	char id[OUTBOX_NAME];
	size_t n = strlen(name);

	if (!outbox_ends(name, ".json") || n - 5 >= OUTBOX_NAME)
		return false;
	snprintf(id, sizeof(id), "%.*s", (int)(n - 5), name);
	return outbox_name_ok(id);
}

static int outbox_read_names(struct outbox *o, int at,
			     int (*take)(struct outbox *, const char *, struct err *),
			     struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open directory 'outbox'");
	while (r == 0 && (ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.' && outbox_ends(ent->d_name, ".json.new") &&
		    strncmp(ent->d_name, ".index-", 7) != 0)
			outbox_sweep(o, at, ent->d_name);
		else if (take && outbox_is_entry(ent->d_name))
			r = take(o, ent->d_name, e);
	}
	if (r == 0 && !ent && errno)
		r = err_sys(e, "read directory 'outbox'");
	return r;
}

static int outbox_read_all(struct outbox *o, struct err *e)
{
	int r = outbox_places_load(o, e);

	if (r == 0 && o->dir >= 0)
		r = outbox_read_names(o, o->dir, outbox_read_entry, e);
	if (r == 0 && o->write_fd >= 0 && o->done >= 0)
		r = outbox_read_names(o, o->done, NULL, e);
	outbox_sort(o);
	return r;
}

static int outbox_open_dirs(struct outbox *o, struct err *e)
{
	int r = fs_open_dir(o->state, "outbox", &o->dir, e);

	if (r == 0)
		r = fs_open_dir(o->dir, "done", &o->done, e);
	return r;
}

static int outbox_make_dirs(struct outbox *o, struct err *e)
{
	int r = fs_mkdirs(o->state, "outbox/done", MODE_DIR, e);

	if (r == 0)
		r = outbox_open_dirs(o, e);
	/* The directories' names must be on disk before their content. */
	if (r == 0 && (sys_fsync(o->state) < 0 || sys_fsync(o->dir) < 0))
		r = err_sys(e, "fsync directory 'outbox'");
	if (r < 0)
		return r;
	return fs_open_file(o->dir, "lock", O_RDWR | O_CREAT, MODE_FILE, &o->write_fd, e);
}

static struct outbox *outbox_new(int state_dirfd)
{
	struct outbox *o = xcalloc(1, sizeof(*o));

	*o = (struct outbox){.dir = -1,
			     .done = -1,
			     .state = state_dirfd,
			     .deliver_fd = -1,
			     .write_fd = -1,
			     .seed = clock_real_us() ^ (uint64_t)getpid() << 32};
	return o;
}

int outbox_open(int state_dirfd, struct outbox **ret, struct err *e)
{
	struct outbox *o = outbox_new(state_dirfd);
	int r;

	r = outbox_make_dirs(o, e);
	if (r == 0)
		r = outbox_hold(o, e);
	if (r == 0) {
		r = outbox_read_all(o, e);
		outbox_release(o);
	}
	if (r < 0) {
		outbox_close(o);
		return err_wrap(e, "outbox");
	}
	*ret = o;
	return 0;
}

int outbox_read(int state_dirfd, struct outbox **ret, struct err *e)
{
	struct outbox *o = outbox_new(state_dirfd);
	int r;

	r = outbox_open_dirs(o, e);
	if (r == 0 || r == -ENOENT)
		r = outbox_read_all(o, e);
	if (r < 0) {
		outbox_close(o);
		return err_wrap(e, "outbox");
	}
	*ret = o;
	return 0;
}

void outbox_close(struct outbox *o)
{
	const int fds[] = {o ? o->dir : -1, o ? o->done : -1, o ? o->write_fd : -1,
			   o ? o->deliver_fd : -1};

	if (!o)
		return;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (size_t i = 0; i < o->n; i++)
		outbox_entry_free(o->v[i]);
	json_decref(o->places);
	free(o->v);
	free(o);
}

int outbox_lock(struct outbox *o, struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (o->deliver_fd >= 0)
		return 0; /* we hold it */
	r = fs_open_file(o->state, "outbox.lock", O_RDWR | O_CREAT, MODE_FILE, &fd, e);
	if (r < 0)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_set(e, EBUSY, "another process delivers: 'outbox.lock' is held");
		return err_sys(e, "lock 'outbox.lock'");
	}
	o->deliver_fd = take_fd(&fd);
	return 0;
}

void outbox_seed(struct outbox *o, uint64_t seed)
{
	o->seed = seed;
}

/* --- queueing ------------------------------------------------------------------- */

/* Checks the file first: a done entry is in its chain's record before its file is removed. */
bool outbox_has(struct outbox *o, const char *id, const json_t *record)
{
	return outbox_exists(o, id) || outbox_chain_has(record, id);
}

static int outbox_new_entry(const struct outbox *o, const struct outbox_item *item, uint64_t now,
			    struct outbox_entry **ret, struct err *e)
{
	const char *event = json_string_value(json_object_get(item->event, "event"));
	struct outbox_entry *t;
	uint64_t seq = now * USEC_PER_SEC;

	if (!event || !outbox_name_ok(item->id) || !outbox_name_ok(item->chain) ||
	    strlen(item->place) >= OUTBOX_PLACE)
		return err_set(e, EINVAL, "outbox: '%.80s' is not an entry", item->id);
	t = xcalloc(1, sizeof(*t));
	if (o->n > 0 && o->v[o->n - 1]->seq >= seq)
		seq = o->v[o->n - 1]->seq + 1;
	snprintf(t->id, sizeof(t->id), "%s", item->id);
	snprintf(t->chain, sizeof(t->chain), "%s", item->chain);
	snprintf(t->place, sizeof(t->place), "%s", item->place);
	outbox_line(t->event, sizeof(t->event), event);
	t->seq = seq;
	t->created = now;
	t->subject = xstrdup(item->subject);
	*ret = t;
	return 0;
}

bool outbox_chain_waits(const struct outbox *o, const char *chain)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->v[i]->chain, chain) == 0)
			return true;
	return false;
}

static int outbox_queue_new(struct outbox *o, const struct outbox_item *item, uint64_t now,
			    struct err *e)
{
	_autojson_ json_t *progress = json_object();
	struct outbox_entry *t = NULL;
	int r = outbox_new_entry(o, item, now, &t, e);

	if (r < 0)
		return r;
	if (item->url && *item->url &&
	    json_object_set_new(progress, "issue_url", json_string(item->url)) < 0)
		r = err_set(e, EINVAL, "build JSON");
	if (r == 0)
		r = outbox_write(o, t, item->event, progress, e);
	if (r < 0) {
		outbox_entry_free(t);
		return r;
	}
	t->head = !outbox_chain_waits(o, t->chain);
	outbox_add(o, t);
	return 0;
}

int outbox_queue(struct outbox *o, const struct outbox_item *item, uint64_t now, bool *ret_new,
		 struct err *e)
{
	_autojson_ json_t *record = NULL;
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	*ret_new = false;
	if (!outbox_exists(o, item->id)) {
		r = outbox_chain(o, item->chain, &record, e);
		if (r == 0 && !outbox_chain_has(record, item->id)) {
			r = o->n < OUTBOX_ENTRIES_MAX
				? outbox_queue_new(o, item, now, e)
				: err_set(e, ENOSPC, "outbox: %d entries wait already",
					  (int)OUTBOX_ENTRIES_MAX);
			*ret_new = r == 0;
		}
	}
	outbox_release(o);
	return r;
}

/* --- due times ------------------------------------------------------------------ */

static bool outbox_place_free(const struct outbox *o, const char *place, uint64_t now)
{
	return backoff_is_due(now, outbox_place_get(o, place, "asked"),
			      outbox_place_get(o, place, "until"));
}

bool outbox_due(const struct outbox *o, const struct outbox_entry *t, uint64_t now)
{
	return t->head && backoff_is_due(now, t->last_try, t->next_try) &&
	       outbox_place_free(o, t->place, now);
}

uint64_t outbox_due_at(const struct outbox *o, const struct outbox_entry *t)
{
	uint64_t until = outbox_place_get(o, t->place, "until");

	return until > t->next_try ? until : t->next_try;
}

/* --- attempts, and decisions of the user ---------------------------------------- */

void outbox_work_done(struct outbox_work *w)
{
	json_decref(w->event);
	json_decref(w->progress);
	*w = (struct outbox_work){0};
}

/* Reads the entry's file again, because the copy in memory may be out of date. */
static int outbox_reload(struct outbox *o, struct outbox_entry *t, struct outbox_work *ret,
			 struct err *e)
{
	_autojson_ json_t *record = NULL;
	struct outbox_full f = {0};
	int r = outbox_chain(o, t->chain, &record, e);

	if (r < 0)
		return r;
	if (outbox_chain_has(record, t->id)) { /* killed before the file was removed */
		r = outbox_unlink(o, t->id, e);
		return r < 0 ? r : err_set(e, ENOENT, "'%s' was sent", t->id);
	}
	r = outbox_load(o, t->id, &f, e);
	if (r < 0)
		return r;
	t->next_try = f.entry->next_try;
	*ret = (struct outbox_work){t, take_ptr(&f.event), take_ptr(&f.progress)};
	outbox_full_done(&f);
	return 0;
}

int outbox_begin(struct outbox *o, size_t i, struct outbox_work *ret, struct err *e)
{
	struct outbox_entry *t = o->v[i];
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_reload(o, t, ret, e);
	outbox_release(o);
	if (r == -ENOENT)
		outbox_forget(o, t);
	return r;
}

/* The caller holds the lock of outbox_hold(). */
static int outbox_rewrite(struct outbox *o, const struct outbox_work *w, struct err *e)
{
	if (!outbox_exists(o, w->entry->id))
		return err_set(e, ENOENT, "'%s' was dropped", w->entry->id);
	return outbox_write(o, w->entry, w->event, w->progress, e);
}

int outbox_progress(struct outbox *o, const struct outbox_work *w, struct err *e)
{
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_rewrite(o, w, e);
	outbox_release(o);
	return r;
}

static const char *outbox_how(const struct outbox_outcome *c)
{
	if (c->ignored)
		return "ignored";
	return c->deleted ? "deleted" : "told";
}

static int outbox_calm_place(struct outbox *o, const char *place, struct err *e)
{
	const struct outbox_number calm[] = {
	    {"until", 0}, {"asked", 0}, {"failed", 0}, {"token", 0}};

	return outbox_place_set(o, place, calm, 4, e);
}

int outbox_place_token(struct outbox *o, const char *place, uint64_t token, struct err *e)
{
	uint64_t refused = outbox_place_get(o, place, "token");

	return refused && token && token != refused ? outbox_calm_place(o, place, e) : 0;
}

int outbox_sent(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
		struct err *e)
{
	const char *place = w->entry->place;
	int r = 0;

	if (outbox_place_get(o, place, "failed") || outbox_place_get(o, place, "until"))
		r = outbox_calm_place(o, place, e);
	if (r == 0)
		r = outbox_hold(o, e);
	if (r < 0)
		return r;
	r = outbox_record(o, w->entry, w->event, outbox_how(c), c, e);
	if (r == 0)
		r = outbox_unlink(o, w->entry->id, e);
	outbox_release(o);
	if (r == 0)
		outbox_forget(o, w->entry);
	return r;
}

/* Starts or extends the backoff of the whole destination. */
static int outbox_put_off_place(struct outbox *o, const char *place, const struct outbox_outcome *c,
				struct err *e)
{
	uint64_t failed = outbox_place_get(o, place, "failed") + 1;
	const struct outbox_number v[] = {
	    {"until", c->now + backoff_wait(failed, c->wait_s, c->retry_max_s, &o->seed)},
	    {"asked", c->now},
	    {"failed", failed},
	    {"token", c->refused_token},
	};

	return outbox_place_set(o, place, v, 4, e);
}

/* If a user dropped the entry meanwhile, removes it from the list. */
static int outbox_keep_waiting(struct outbox *o, struct outbox_work *w, struct err *e)
{
	int r = outbox_progress(o, w, e);

	if (r != -ENOENT)
		return r;
	outbox_forget(o, w->entry);
	return 0;
}

int outbox_unasked(struct outbox *o, struct outbox_work *w, const char *why, struct err *e)
{
	outbox_line(w->entry->why, sizeof(w->entry->why), why);
	return outbox_keep_waiting(o, w, e);
}

int outbox_later(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
		 struct err *e)
{
	struct outbox_entry *t = w->entry;
	uint64_t most = c->refused ? BACKOFF_DAY : c->retry_max_s;
	int r = 0;

	t->tries++;
	t->last_try = c->now;
	t->refused = c->refused;
	if (t->created > c->now)
		t->created = c->now; /* the clock was ahead */
	/* A refusal rarely goes away by itself, so the entry is tried daily.  A refused token is
	 * a matter of the destination, not of the entry. */
	if (!c->refused_token)
		t->next_try =
		    c->now +
		    (c->refused ? BACKOFF_DAY : backoff_wait(t->tries, c->wait_s, most, &o->seed));
	outbox_line(t->why, sizeof(t->why), c->why);
	if (c->whole_place)
		r = outbox_put_off_place(o, t->place, c, e);
	return r == 0 ? outbox_keep_waiting(o, w, e) : r;
}

int outbox_retry(struct outbox *o, size_t i, struct err *e)
{
	const struct outbox_number calm[] = {{"until", 0}, {"asked", 0}};
	struct outbox_work w = {0};
	int r = outbox_begin(o, i, &w, e);

	if (r < 0)
		return r;
	w.entry->next_try = 0;
	r = outbox_progress(o, &w, e);
	if (r == 0 && outbox_place_get(o, w.entry->place, "until"))
		r = outbox_place_set(o, w.entry->place, calm, 2, e);
	outbox_work_done(&w);
	return r;
}

int outbox_drop(struct outbox *o, size_t i, uint64_t now, struct err *e)
{
	const struct outbox_outcome c = {.now = now};
	struct outbox_entry *t = o->v[i];
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_record(o, t, NULL, "dropped", &c, e);
	if (r == 0)
		r = outbox_unlink(o, t->id, e);
	outbox_release(o);
	if (r == 0)
		outbox_forget(o, t);
	return r;
}
