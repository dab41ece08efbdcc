/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/state.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/state/change.h"
#include "runner/state/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MODE_DIR = 0750 };

static int default_path(char **ret, struct err *e)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");
	const char *home = getenv("HOME");

	if (env && *env)
		*ret = xstrdup(env);
	else if (home && *home == '/')
		*ret = xasprintf("%s/.fuzzcell", home);
	else
		return err_set(
		    e, ENOENT,
		    "no state directory: give --state-dir, or set FUZZCELL_STATE_DIR or HOME");
	return 0;
}

static int state_open_dir(struct state *s, const char *path, enum state_use use, struct err *e)
{
	int r = use == STATE_READ ? 0 : fs_mkdirs(AT_FDCWD, path, MODE_DIR, e);

	if (r < 0)
		return err_wrap(e, "state directory");
	s->dirfd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (s->dirfd < 0 && errno == ENOENT)
		return err_sys(e, "no state directory: '%s'", path);
	if (s->dirfd < 0)
		return err_sys(e, "open state directory '%s'", path);
	s->path = realpath(path, NULL); /* allow: a user's path, not a target's */
	if (!s->path)
		return err_sys(e, "resolve state directory '%s'", path);
	return 0;
}

static int make_layout(struct state *s, struct err *e)
{
	static const char *const dirs[] = {"corpus", "quarantine", "regressions", "triage",
					   "stats",  "logs",	   "work"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int r = fs_mkdirs(s->dirfd, dirs[i], MODE_DIR, e);

		if (r < 0)
			return err_wrap(e, "state directory '%s'", s->path);
	}
	return 0;
}

static void name_instance(const char *path, char ret[STATE_INSTANCE_MAX])
{
	char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex(slice_of(path), hex);
	snprintf(ret, STATE_INSTANCE_MAX, "s-%.16s", hex);
}

int state_instance(const char *path, char ret[STATE_INSTANCE_MAX], struct err *e)
{
	_autofree_ char *def = NULL, *real = NULL;
	int r = path ? 0 : default_path(&def, e);

	if (r < 0)
		return r;
	real = realpath(path ? path : def, NULL); /* allow: a user's path, not a target's */
	name_instance(real ? real : path ? path : def, ret);
	return 0;
}

static int take_lock(struct state *s, enum state_use use, struct err *e)
{
	int r = use == STATE_WAIT ? lock_run_wait(s->dirfd, s->path, &s->lock_fd, e)
				  : lock_run(s->dirfd, s->path, &s->lock_fd, e);

	if (r == 0)
		r = make_layout(s, e);
	return r == 0 ? change_recover(s->dirfd, e) : r;
}

int state_open(const char *path, enum state_use use, struct state **ret, struct err *e)
{
	_autofree_ char *def = NULL;
	struct state *s = xcalloc(1, sizeof(*s));
	int r = 0;

	*s = (struct state){.dirfd = -1, .lock_fd = -1};
	if (!path)
		r = default_path(&def, e);
	if (r == 0)
		r = state_open_dir(s, path ? path : def, use, e);
	if (r == 0 && use >= STATE_WAIT)
		r = take_lock(s, use, e);
	if (r < 0) {
		state_close(s);
		return r;
	}
	name_instance(s->path, s->instance);
	*ret = s;
	return 0;
}

void state_close(struct state *s)
{
	if (!s)
		return;
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->path);
	free(s);
}

/* Finds an id that no earlier run has: the clock may have been set back. */
static int unique_id(struct state *s, uint64_t real_us, char id[32], struct err *e)
{
	time_t t = (time_t)(real_us / USEC_PER_SEC);
	char base[24], path[64];
	struct tm tm;
	size_t n = gmtime_r(&t, &tm) ? strftime(base, sizeof(base), "%Y%m%d-%H%M%S", &tm) : 0;

	if (n == 0)
		return err_set(e, EINVAL, "the clock is out of range");
	if (s->run_tag)
		snprintf(base + n, sizeof(base) - n, "-%u", s->run_tag % 1000000);
	for (unsigned i = 1; i < 1000; i++) {
		snprintf(id, 32, i == 1 ? "%s" : "%s-%u", base, i);
		snprintf(path, sizeof(path), "logs/%s", id);
		if (sys_mkdirat(s->dirfd, path, MODE_DIR) == 0)
			return 0;
		if (errno != EEXIST)
			return err_sys(e, "make directory '%s/%s'", s->path, path);
	}
	return err_set(e, EEXIST, "too many runs named '%s'", base);
}

static int open_run(struct state *s, struct run_dirs *r, struct err *e)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "logs/%s", r->id);
	rc = fs_make_dir(s->dirfd, path, MODE_DIR, &r->logs, e);
	if (rc == 0)
		rc = fs_make_dir(r->logs, "crashes", MODE_DIR, &r->crashes, e);
	snprintf(path, sizeof(path), "work/%s", r->id);
	if (rc == 0)
		rc = fs_make_dir(s->dirfd, path, MODE_DIR, &r->work, e);
	if (rc < 0)
		return rc;
	r->work_path = xasprintf("%s/%s", s->path, path);
	return 0;
}

static int note_start(struct state *s, uint64_t real_us, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(real_us / USEC_PER_SEC));
	return fs_replace(s->dirfd, "last_run_timestamp", slice_of(text), e);
}

int state_run_begin(struct state *s, uint64_t real_us, struct run_dirs *ret, struct err *e)
{
	struct run_dirs d = {.logs = -1, .crashes = -1, .work = -1};
	int r = unique_id(s, real_us, d.id, e);

	if (r == 0)
		r = open_run(s, &d, e);
	if (r == 0)
		r = note_start(s, real_us, e);
	if (r < 0) {
		state_run_end(s, &d, false);
		return r;
	}
	*ret = d;
	return 0;
}

int state_run_done(struct state *s, const char *commit, struct err *e)
{
	return commit ? fs_replace(s->dirfd, "last_run_commit", slice_of(commit), e) : 0;
}

void state_run_end(struct state *s, struct run_dirs *r, bool keep_work)
{
	char path[64];
	struct err e;

	if (r->work >= 0) {
		snprintf(path, sizeof(path), "work/%s", r->id);
		if (!keep_work)
			(void)!fs_remove_tree(s->dirfd, path, &e); /* the next start sweeps it */
		close(r->work);
	}
	if (r->crashes >= 0)
		close(r->crashes);
	if (r->logs >= 0)
		close(r->logs);
	free(r->work_path);
	*r = (struct run_dirs){.logs = -1, .crashes = -1, .work = -1};
}

int state_open_corpus(struct state *s, const char *target, int *ret_fd, struct err *e)
{
	_autofree_ char *path = xasprintf("corpus/%s", target);

	return fs_make_dir(s->dirfd, path, MODE_DIR, ret_fd, e);
}

uint64_t state_waiting(const struct state *s, const char *target)
{
	_autofree_ char *path = xasprintf("triage/%s", target);
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	uint64_t n = 0;

	if (!fs_name_ok(slice_of(target)))
		return 0;
	d = sys_opendirat(s->dirfd, path);
	while (d && (ent = sys_readdir(d)))
		n += ent->d_name[0] != '.'; /* dot files are reports of the other artifacts */
	return n + (d ? errno != 0 : errno != ENOENT);
}

int state_append_history(struct state *s, struct fs_batch *batch, const char *name,
			 const json_t *line, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/%s", name);
	char *slash = strrchr(path, '/'); /* at least that behind "stats" */
	_autoclose_ int dir = -1;
	_autofree_ char *text = NULL;
	int r;

	*slash = '\0'; /* a target's history may be the first in its directory */
	r = fs_make_dir(s->dirfd, path, MODE_DIR, &dir, e);
	if (r == 0)
		r = json_print(line, 0, &text, e);
	if (r == 0)
		r = batch ? fs_batch_append(batch, dir, slash + 1, slice_of(text), e)
			  : fs_append_line(dir, slash + 1, slice_of(text), e);
	return r < 0 ? err_wrap(e, "history 'stats/%s'", name) : 0;
}

/* --- damaged entries ----------------------------------------------------------- */

#define ASIDE "damaged"

enum { NAMES_MAX = 1000 };

/* Finds a free name "damaged/<path>", and makes its directories. */
static int find_place(int at, const char *path, char **ret, struct err *e)
{
	for (unsigned i = 1; i < NAMES_MAX; i++) {
		_autofree_ char *to =
		    i == 1 ? xasprintf(ASIDE "/%s", path) : xasprintf(ASIDE "/%s~%u", path, i);
		char *slash = strrchr(to, '/'); /* at least that behind ASIDE */
		int r;

		*slash = '\0';
		r = fs_mkdirs(at, to, MODE_DIR, e);
		*slash = '/';
		if (r < 0)
			return r;
		if (faccessat(at, to, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
			*ret = take_ptr(&to);
			return 0;
		}
	}
	return err_set(e, EEXIST, "too many entries were set aside as '" ASIDE "/%s'", path);
}

int state_set_aside(int state_dirfd, int dir, const char *name, const char *path, char **ret_to,
		    struct err *e)
{
	_autofree_ char *to = NULL;
	int r = find_place(state_dirfd, path, &to, e);

	if (r < 0)
		return r;
	if (sys_rename_to(dir, name, state_dirfd, to) < 0)
		return err_sys(e, "move it to '%s'", to);
	*ret_to = take_ptr(&to);
	return 0;
}
