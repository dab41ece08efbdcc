/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/generation/retry.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_DIR = 0755, PATH_ROOM = 300 };

static int open_room(int state, const char *room, const char *target, int *ret_fd, struct err *e)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%s", room, target);
	return fs_open_dir(state, path, ret_fd, e);
}

static int generation_retry_make_room(int state, const char *room, const char *target, int *ret_fd,
				      struct err *e)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%s", room, target);
	return fs_make_dir(state, path, MODE_DIR, ret_fd, e);
}

/* Handles an entry of a room.  Returns 1 to continue, 0 to end the walk, < 0 on failure. */
typedef int name_fn(int dir, const char *name, void *arg, struct err *e);

static int generation_retry_each_name(int dir, name_fn *fn, void *arg, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;
	int r = 1;

	if (!d)
		return err_sys(e, "open the inputs to retry");
	while (r > 0 && (ent = sys_readdir(d)))
		if (candidates_name_ok(ent->d_name))
			r = fn(dir, ent->d_name, arg, e);
	if (r < 0)
		return r;
	return r > 0 && errno ? err_sys(e, "list the inputs to retry") : 0;
}

/* --- another build ------------------------------------------------------------------ */

/* The unlink is needed because a rename between two names of the same file does nothing. */
static int move_name(int dir, const char *name, void *arg, struct err *e)
{
	const int *to = arg;

	if (sys_rename_to(dir, name, *to, name) < 0)
		return err_sys(e, "move '%s'", name);
	if (sys_unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", name);
	return 1;
}

int retry_turn(int state, const char *target, struct err *e)
{
	_autoclose_ int from = -1;
	_autoclose_ int to = -1;
	int r = open_room(state, "quarantine", target, &from, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = generation_retry_make_room(state, "retry", target, &to, e);
	if (r == 0)
		r = generation_retry_each_name(from, move_name, &to, e);
	return r < 0 ? err_wrap(e, "quarantine of '%s'", target) : 0;
}

/* --- replays in a merge ---------------------------------------------------------------- */

struct staging {
	int stage;
	unsigned left;
};

static int stage_name(int dir, const char *name, void *arg, struct err *e)
{
	struct staging *s = arg;
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	int r = 0;

	if (s->left == 0)
		return 0;
	if (sys_linkat(dir, name, s->stage, name) < 0) {
		if (errno != EEXIST && errno != EXDEV && errno != EMLINK && errno != EPERM)
			return err_sys(e, "link '%s' into the stage", name);
		r = errno == EEXIST ? 0 : store_file(dir, name, s->stage, NULL, &sum, hex, e);
	}
	s->left--;
	return r < 0 ? r : 1;
}

int retry_stage(int state, const char *target, unsigned max, int stage, struct err *e)
{
	struct staging s = {.stage = stage, .left = max};
	_autoclose_ int dir = -1;
	int r = open_room(state, "retry", target, &dir, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = generation_retry_each_name(dir, stage_name, &s, e);
	return r < 0 ? err_wrap(e, "inputs of '%s' to retry", target) : 0;
}

static int see_name(int dir, const char *name, void *arg, struct err *e)
{
	bool *seen = arg;

	(void)dir;
	(void)name;
	(void)e;
	*seen = true;
	return 0;
}

int retry_waits(int state, const char *target, bool *ret, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = open_room(state, "retry", target, &dir, e);

	*ret = false;
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = generation_retry_each_name(dir, see_name, ret, e);
	return r < 0 ? err_wrap(e, "inputs of '%s' to retry", target) : 0;
}

/* --- results -------------------------------------------------------------------------- */

bool retry_has(int state, const char *target, const char *name)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "retry/%s/%s", target, name);
	return faccessat(state, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int retry_failed(int state, const char *target, const char *name, struct err *e)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "retry/%s/%s", target, name);
	if (sys_unlinkat(state, path, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", path);
	return 0;
}

static int forget_name(int dir, const char *name, void *arg, struct err *e)
{
	const struct candidates *const *ran = arg;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat '%s'", name);
	if (!candidates_find(*ran, name, (uint64_t)st.st_size))
		return 1;
	return sys_unlinkat(dir, name, 0) < 0 ? err_sys(e, "remove '%s'", name) : 1;
}

int retry_passed(int state, const char *target, const struct candidates *ran, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = open_room(state, "retry", target, &dir, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = generation_retry_each_name(dir, forget_name, &ran, e);
	return r < 0 ? err_wrap(e, "inputs of '%s' to retry", target) : 0;
}

static int restore(int from, int corpus, char (*names)[STORE_NAME], size_t n, struct err *e)
{
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (faccessat(from, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			r = store_file(from, names[i], corpus, NULL, &sum, hex, e);
	if (r == 0 && sys_syncfs(corpus) < 0)
		r = err_sys(e, "sync the corpus");
	for (size_t i = 0; r == 0 && i < n; i++)
		if (sys_unlinkat(from, names[i], 0) < 0 && errno != ENOENT)
			r = err_sys(e, "remove '%s'", names[i]);
	return r;
}

int retry_restore(int state, const char *target, char (*names)[STORE_NAME], size_t n, struct err *e)
{
	_autoclose_ int from = -1;
	_autoclose_ int corpus = -1;
	int r = open_room(state, "quarantine", target, &from, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = generation_retry_make_room(state, "corpus", target, &corpus, e);
	if (r == 0)
		r = restore(from, corpus, names, n, e);
	return r < 0 ? err_wrap(e, "put failing inputs of '%s' back", target) : 0;
}
