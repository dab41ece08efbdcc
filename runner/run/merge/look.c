/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a shard after its cell has ended, and puts bad inputs away. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/generation/retry.h"
#include "runner/run/job/setup.h"
#include "runner/run/merge/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

DEFINE_CLEANUP(struct control *, control_free)

enum { MODE_OURS = 0750 };

/* A control file is full within this share of its maximum size: the next record may not fit.  The
 * maximum is at most FULL_BYTES, because each restart reads the file again. */
enum { FULL_SHARE = 8 };
#define FULL_BYTES (UINT64_C(64) << 20)
#define LEAST_FREE (UINT64_C(1) << 20)

enum merge_act merge_judge(const struct merge_facts *f, const struct control *c, bool full)
{
	if (c->next == c->n)
		return MERGE_DONE;
	if (!f->ran || f->ours)
		return MERGE_RUN;
	if (full)
		return c->next > 0 ? MERGE_FULL : MERGE_STRIKE;
	/* If many inputs may have caused the end, the input is run once more, as the first. */
	if (c->started)
		return f->accumulates && c->next > f->first ? MERGE_RUN : MERGE_BLAME;
	if (*c->why)
		return c->next > f->first ? MERGE_RUN : MERGE_BLAME;
	return c->next > f->first ? MERGE_RUN : MERGE_STRIKE;
}

/* --- bad inputs ------------------------------------------------------------------- */

/* Queues the input as triage/<target>/<kind>-<sha1>, as after fuzzing. */
static int merge_look_queue_triage(const struct merge_slot *s, int stage, const char *name,
				   struct err *e)
{
	const struct merge_env *env = &s->m->env;
	const char *target = s->m->spec.target->name;
	_autoclose_ int to = -1;
	char as[16 + STORE_NAME], hex[STORE_NAME];
	struct store_sum sum = {0};
	int r = fs_make_dir(env->triage, target, MODE_OURS, &to, e);

	if (r < 0)
		return r;
	snprintf(as, sizeof(as), "%s-%s", s->kind, name);
	if (sys_linkat(stage, name, to, as) == 0 || errno == EEXIST)
		return 0;
	if (errno != EXDEV && errno != EMLINK && errno != EPERM)
		return err_sys(e, "queue '%s' for triage", as);
	return store_file(stage, name, to, s->kind, &sum, hex, e);
}

/* Moves a bad input out of the corpus.  It is first in the queue, then in the quarantine and on
 * disk, and only then out of the corpus, so that a kill loses nothing. */
static int merge_look_put_away(const struct merge_slot *s, const char *name, struct merge_bad *ret,
			       struct err *e)
{
	const struct merge *m = s->m;
	const char *target = m->spec.target->name;
	bool again = retry_has(m->env.state->dirfd, target, name);
	_automergedir_ struct merge_dir d = MERGE_DIR_NONE;
	int r;

	*ret = (struct merge_bad){.slow = again && strcmp(s->kind, "timeout") == 0};
	if (m->spec.what == MERGE_MEASURE)
		return 0;
	r = merge_dir_open(m, &d, e);
	if (r == 0 && faccessat(d.corpus, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		snprintf(ret->lost, sizeof(ret->lost), "%s", name);
	if (r == 0 && !ret->slow) /* it was queued before, and each replay takes that long */
		r = merge_look_queue_triage(s, d.stage, name, e);
	if (r == 0 && sys_syncfs(m->env.triage) < 0)
		r = err_sys(e, "sync the triage queue");
	if (r == 0)
		r = shard_quarantine(d.stage, d.corpus, m->env.quarantine, target, name, e);
	if (r == 0)
		r = merge_staged_strike(d.dir, name, e);
	return r == 0 ? retry_failed(m->env.state->dirfd, target, name, e) : r;
}

int merge_task_leak(void *arg, struct buf *out, struct err *e)
{
	const struct merge_slot *s = arg;
	struct merge_bad bad;
	int r = merge_look_put_away(s, s->blamed, &bad, e);

	if (r == 0)
		buf_put(out, (struct slice){(const char *)&bad, sizeof(bad)});
	return r;
}

/* --- a shard ---------------------------------------------------------------------- */

static int open_shard(const struct merge_slot *s, int *ret_fd, struct candidates *list,
		      struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(AT_FDCWD, s->m->path, &dir, e);

	return r == 0 ? merge_shard_open(dir, s->m->pass, s->shard, ret_fd, list, e) : r;
}

static bool is_full(const struct merge_slot *s, const struct control *c)
{
	uint64_t disk = s->m->spec.cfg->disk, most = disk < FULL_BYTES ? disk : FULL_BYTES;
	struct stat st;

	return fstat(c->fd, &st) == 0 && (uint64_t)st.st_size >= most - most / FULL_SHARE;
}

/* On a full disk the engine cannot write, and the input in work looks bad. */
static int merge_look_check_disk(const struct merge_slot *s, const struct control *c, struct err *e)
{
	uint64_t least = s->m->env.disk_reserve > LEAST_FREE ? s->m->env.disk_reserve : LEAST_FREE;
	struct statvfs v;

	if (fstatvfs(c->fd, &v) < 0)
		return err_sys(e, "look for free space");
	if ((uint64_t)v.f_bavail * v.f_frsize < least)
		return err_set(e, ENOSPC, "no room for what the inputs reach: the disk is full");
	return 0;
}

/* Passes over inputs that a user removed from the corpus while cells read it directly.  All removed
 * inputs in a row are passed over at once, because a cell that opens no input writes nothing. */
static int pass_removed(const struct merge_slot *s, struct control *c,
			const struct candidates *list, bool *ret, struct err *e)
{
	_automergedir_ struct merge_dir d = MERGE_DIR_NONE;
	int r = merge_dir_open(s->m, &d, e);

	while (r == 0 && c->next < c->n) {
		const char *name;

		assert(list->v && c->next < list->n);
		name = list->v[c->next].name;
		if (faccessat(d.stage, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
			break;
		r = merge_staged_strike(d.dir, name, e);
		if (r == 0)
			r = control_repair(c, list, true, e);
		*ret = true;
	}
	return r;
}

static enum merge_act after_removed(const struct merge_slot *s, const struct control *c)
{
	if (c->next == c->n)
		return MERGE_DONE;
	return c->next > s->facts.first ? MERGE_RUN : MERGE_STRIKE;
}

static int merge_look_act(const struct merge_slot *s, struct control *c,
			  const struct candidates *list, struct merge_looked *io, struct err *e)
{
	bool removed = false;
	int r = 0;

	io->act = merge_judge(&s->facts, c, is_full(s, c));
	if (s->m->direct && (io->act == MERGE_STRIKE || io->act == MERGE_BLAME))
		r = pass_removed(s, c, list, &removed, e);
	if (r == 0 && removed)
		io->act = after_removed(s, c);
	if (r == 0 && (io->act == MERGE_BLAME || io->act == MERGE_STRIKE))
		r = merge_look_check_disk(s, c, e);
	if (r == 0 && io->act == MERGE_BLAME) {
		assert(list->v && c->next < list->n);
		r = merge_look_put_away(s, list->v[c->next].name, &io->bad, e);
	}
	/* After the last whole record the file may contain anything. */
	if (r == 0 && s->facts.ran && !removed)
		r = control_repair(c, list, io->act == MERGE_BLAME, e);
	io->next = c->next;
	io->n = c->n;
	return r;
}

/* The cell damaged the control file beyond repair: a strike, and the shard is measured anew. */
static int write_anew(int fd, const struct candidates *list, struct merge_looked *io, struct err *e)
{
	*io = (struct merge_looked){.act = MERGE_STRIKE, .n = list->n, .damaged = true};
	return control_write(fd, MERGE_FILE_CONTROL, SETUP_DIR_INPUTS, list, geteuid(), getegid(),
			     e);
}

static int merge_look_look(const struct merge_slot *s, struct merge_looked *io, struct err *e)
{
	_autocandidates_ struct candidates list = {0};
	CLEANUP(control_free_p) struct control *c = NULL;
	_autoclose_ int fd = -1;
	uid_t uid = setup_uid(s->m->spec.index + s->number);
	int r = open_shard(s, &fd, &list, e);

	if (r < 0)
		return r;
	r = control_read(fd, MERGE_FILE_CONTROL, SETUP_DIR_INPUTS, &list, &c, e);
	if (r == -EBADMSG)
		r = write_anew(fd, &list, io, e);
	if (r == 0 && c && s->facts.ran)
		control_rewind(c, s->facts.first);
	if (r == 0 && c)
		r = merge_look_act(s, c, &list, io, e);
	if (r == 0 &&
	    fchownat(fd, MERGE_FILE_CONTROL, uid, setup_gid(uid), AT_SYMLINK_NOFOLLOW) < 0)
		r = err_sys(e, "give a control file to user %u", (unsigned)uid);
	return r;
}

int merge_task_look(void *arg, struct buf *out, struct err *e)
{
	struct merge_looked l = {0};
	int r = merge_look_look(arg, &l, e);

	if (r == 0)
		buf_put(out, (struct slice){(const char *)&l, sizeof(l)});
	return r;
}

/* --- a spoiled shard ------------------------------------------------------------------ */

static int halve(const struct merge_slot *s, int dir, const struct candidates *list, struct err *e)
{
	struct candidates first = {.v = list->v, .n = list->n / 2};
	struct candidates second = {.v = list->v + first.n, .n = list->n - first.n};
	int r = merge_shard_make(dir, s->m->pass, s->half, &second, e);

	return r == 0 ? merge_shard_make(dir, s->m->pass, s->shard, &first, e) : r;
}

static int merge_look_blame(const struct merge_slot *s, int fd, const struct candidates *list,
			    struct buf *out, struct err *e)
{
	CLEANUP(control_free_p) struct control *c = NULL;
	struct merge_bad bad;

	if (merge_look_put_away(s, list->v[0].name, &bad, e) < 0 ||
	    control_read(fd, MERGE_FILE_CONTROL, SETUP_DIR_INPUTS, list, &c, e) < 0 ||
	    control_repair(c, list, true, e) < 0)
		return err_code(e);
	buf_put(out, (struct slice){(const char *)&bad, sizeof(bad)});
	return 0;
}

int merge_task_halve(void *arg, struct buf *out, struct err *e)
{
	const struct merge_slot *s = arg;
	_autocandidates_ struct candidates list = {0};
	_autoclose_ int dir = -1;
	_autoclose_ int fd = -1;
	int r = open_shard(s, &fd, &list, e);

	if (r == 0)
		r = fs_open_dir(AT_FDCWD, s->m->path, &dir, e);
	if (r < 0)
		return r;
	if (list.n == 0)
		return err_set(e, EBADMSG, "a shard without inputs was spoiled");
	return list.n == 1 ? merge_look_blame(s, fd, &list, out, e) : halve(s, dir, &list, e);
}

/* --- names for the search for leaks ----------------------------------------------------------- */

static void merge_look_add_names(const struct merge_slot *s, int stage,
				 const struct candidates *list, struct buf *out)
{
	size_t end = s->leaks.at + MERGE_LEAK_CHUNK;

	if (end > s->leaks.end)
		end = s->leaks.end;
	for (size_t i = s->leaks.at; i < end && i < list->n; i++)
		if (faccessat(stage, list->v[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			buf_put(out, (struct slice){list->v[i].name, STORE_NAME});
}

int merge_task_names(void *arg, struct buf *out, struct err *e)
{
	const struct merge_slot *s = arg;
	_automergedir_ struct merge_dir d = MERGE_DIR_NONE;
	_autocandidates_ struct candidates list = {0};
	_autoclose_ int fd = -1;
	int r = open_shard(s, &fd, &list, e);

	if (r == 0)
		r = merge_dir_open(s->m, &d, e);
	if (r == 0)
		merge_look_add_names(s, d.stage, &list, out);
	return r;
}
