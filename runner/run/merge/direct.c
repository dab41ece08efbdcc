/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether cells can read the corpus itself.  Then no stage is made and removed, which for
 * small inputs takes a third of a merge's time. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/generation/retry.h"
#include "runner/corpus/workdir.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READABLE = 0444,
	READABLE_DIR = 0005,
	MODE_MADE = 0750, /* as state_open_corpus() makes it */
	MODE_OPEN = 0755,
};

/* Whether the file is a candidate under its name, and a cell can read it. */
static bool merge_direct_is_plain(const char *name, const struct stat *st)
{
	return candidates_name_ok(name) && S_ISREG(st->st_mode) &&
	       (st->st_mode & READABLE) == READABLE && (uint64_t)st->st_size <= WORKDIR_INPUT_MAX;
}

/* *ret_plain false: the directory has other files, too. */
static int list_plain(int dir, struct candidates *to, bool *ret_plain, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;
	struct stat st;
	int r = 0;

	if (!d)
		return err_sys(e, "open the inputs");
	*ret_plain = true;
	while (r == 0 && *ret_plain && (ent = sys_readdir(d))) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		if (fstatat(dir, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "look at '%s'", ent->d_name);
		*ret_plain = merge_direct_is_plain(ent->d_name, &st);
		if (*ret_plain)
			r = candidates_add(to, ent->d_name, (uint64_t)st.st_size, e);
	}
	if (r == 0 && *ret_plain && errno)
		r = err_sys(e, "list the inputs");
	candidates_sort(to);
	return r;
}

/* Whether the corpus has all seeds.  The seeds of a job are in one directory, which is read here.
 * Other seeds need a stage: they are a user's files, or in an archive. */
static int seeds_are_in(const struct merge *m, const struct candidates *corpus, bool *ret,
			struct err *e)
{
	const struct target *t = m->spec.target;
	_autocandidates_ struct candidates seeds = {0};
	_autoclose_ int fd = -1;
	int r;

	if (!m->seeds) {
		*ret = !t->seed_archive && t->seed_dirs.n == 0 && m->spec.cfg->seeds.n == 0;
		return 0;
	}
	r = fs_open_dir(AT_FDCWD, m->seeds, &fd, e);
	if (r == 0)
		r = list_plain(fd, &seeds, ret, e);
	for (size_t i = 0; r == 0 && *ret && i < seeds.n; i++)
		*ret = candidates_find(corpus, seeds.v[i].name, seeds.v[i].size) != NULL;
	return r;
}

/* A cell has its own user, which needs the mode bits for others.  They are set only if the
 * directory of all corpora keeps others out.  A mode that a user chose stays. */
static bool is_open_to_cells(int corpus)
{
	struct stat st, all;

	if (fstat(corpus, &st) < 0)
		return false;
	if ((st.st_mode & READABLE_DIR) == READABLE_DIR)
		return true;
	return (st.st_mode & 07777) == MODE_MADE && st.st_uid == geteuid() &&
	       fstatat(corpus, "..", &all, 0) == 0 && !(all.st_mode & S_IXOTH) &&
	       fchmod(corpus, MODE_OPEN) == 0;
}

int merge_list_direct(const struct merge *m, int corpus, struct candidates *all, bool *ret,
		      struct err *e)
{
	bool waits = false;
	int r = retry_waits(m->env.state->dirfd, m->spec.target->name, &waits, e);

	*ret = false;
	if (r == 0 && !waits)
		r = list_plain(corpus, all, ret, e);
	if (r == 0 && *ret)
		r = seeds_are_in(m, all, ret, e);
	if (r < 0 || (*ret && !is_open_to_cells(corpus)))
		*ret = false;
	if (!*ret)
		candidates_done(all);
	return r;
}

void merge_mount_inputs(struct setup *s, const struct merge *m)
{
	if (m->direct)
		setup_mount(s, SETUP_DIR_INPUTS, false, "%s/corpus/%s", m->env.state->path,
			    m->spec.target->name);
	else
		setup_mount(s, SETUP_DIR_INPUTS, false, "%s/stage", m->path);
}
