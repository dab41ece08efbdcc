/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/spare.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define DIR_MERGED "stats/merged"
enum { MODE_OURS = 0750, NAME_ROOM = 280 };

static const char *spare_name_of(const char *target, const char *ending, char out[NAME_ROOM])
{
	(void)snprintf(out, NAME_ROOM, "%.255s.%s", target, ending);
	return out;
}

static int open_merged(int state_dirfd, int *ret_fd, struct err *e)
{
	return fs_make_dir(state_dirfd, DIR_MERGED, MODE_OURS, ret_fd, e);
}

static int forget(int dir, const char *target, struct err *e)
{
	char name[NAME_ROOM];

	if (sys_unlinkat(dir, spare_name_of(target, "spare", name), 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '" DIR_MERGED "/%s'", name);
	return sys_fsync(dir) < 0 ? err_sys(e, "fsync '" DIR_MERGED "'") : 0;
}

int spare_forget(int state_dirfd, const char *target, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = open_merged(state_dirfd, &dir, e);

	return r == 0 ? forget(dir, target, e) : r;
}

/* This order guarantees that a list of spare inputs is never beside the cover of another merge. */
int spare_save(int state_dirfd, const char *target, const struct candidates *cover,
	       const struct candidates *spare, struct err *e)
{
	_autoclose_ int dir = -1;
	char name[NAME_ROOM];
	int r = open_merged(state_dirfd, &dir, e);

	if (r == 0)
		r = forget(dir, target, e);
	if (r == 0)
		r = candidates_save(dir, spare_name_of(target, "cover", name), cover, e);
	if (r == 0)
		r = candidates_save(dir, spare_name_of(target, "spare", name), spare, e);
	return r;
}

/* 1: the list exists and is undamaged. */
static int spare_load(int state_dirfd, const char *target, const char *ending,
		      struct candidates *ret, struct err *e)
{
	char name[NAME_ROOM], path[NAME_ROOM + sizeof(DIR_MERGED)];
	int r;

	(void)snprintf(path, sizeof(path), DIR_MERGED "/%s", spare_name_of(target, ending, name));
	r = candidates_load(state_dirfd, path, ret, e);
	if (r == 0) {
		candidates_sort(ret);
		return 1;
	}
	return r == -ENOENT || r == -EBADMSG || r == -EFBIG || r == -E2BIG ? 0 : r;
}

static bool has_all(const struct candidates *c, const struct candidates *of)
{
	for (size_t i = 0; i < of->n; i++)
		if (!candidates_find(c, of->v[i].name, of->v[i].size))
			return false;
	return true;
}

/* Moves the inputs that are spare and not in the cover from *io to *out. */
static int spare_part(const struct candidates *spare, const struct candidates *cover,
		      struct candidates *io, struct candidates *out, struct err *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < io->n; i++) {
		const struct candidate c = io->v[i];
		int r = 0;

		if (candidates_find(spare, c.name, c.size) &&
		    !candidates_find(cover, c.name, c.size))
			r = candidates_add(out, c.name, c.size, e);
		else
			io->v[kept++] = c;
		if (r < 0)
			return r;
	}
	io->n = kept;
	return 0;
}

int spare_leave_out(int state_dirfd, const char *target, struct candidates *io,
		    struct candidates *ret, struct err *e)
{
	_autocandidates_ struct candidates cover = {0}, spare = {0};
	int r = spare_load(state_dirfd, target, "spare", &spare, e);

	*ret = (struct candidates){0};
	if (r == 1)
		r = spare_load(state_dirfd, target, "cover", &cover, e);
	if (r < 1 || cover.n == 0 || !has_all(io, &cover))
		return r < 0 ? r : 0;
	r = spare_part(&spare, &cover, io, ret, e);
	if (r < 0)
		candidates_done(ret);
	return r;
}
