/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/sidefiles.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 4, MODE = 0644, MODE_EXEC = 0755 };
/* The rest of a name in an archive is for its prefix. */
enum { SIDEFILES_PATH_MAX = PACK_NAME_MAX - 301 };

static bool ends_in(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && strcmp(s + n - m, tail) == 0;
}

static const char *sidefiles_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libx.so", "libx.so.1.2" */
static bool is_library(const char *name)
{
	const char *so = strstr(name, ".so");

	return so && (so[3] == '\0' || so[3] == '.');
}

static bool is_binary_of(const struct target *t, const char *dir, const char *path)
{
	size_t n = strlen(dir);

	return strncmp(t->binary, dir, n) == 0 && t->binary[n] == '/' &&
	       strcmp(t->binary + n + 1, path) == 0;
}

/* Of the side files, only the target's own options are needed. */
static bool is_side_file(const struct target *t, const char *name)
{
	return ends_in(name, ".dict") || strstr(name, "_seed_corpus") ||
	       (ends_in(name, ".options") &&
		(strlen(name) != strlen(t->name) + strlen(".options") ||
		 strncmp(name, t->name, strlen(t->name)) != 0));
}

bool sidefiles_wanted(const struct target_list *all, const struct target *t, const char *path,
		      uint64_t bytes, bool *ret_too_large)
{
	const char *name = sidefiles_base_name(path);
	uint64_t max = is_library(name) ? SIDEFILES_LIBRARY_MAX : SIDEFILES_FILE_MAX;

	*ret_too_large = false;
	if (is_side_file(t, name) || strncmp(name, "llvm-symbolizer", 15) == 0)
		return false;
	for (size_t i = 0; i < all->n; i++)
		if (is_binary_of(&all->v[i], t->dir, path))
			return false;
	*ret_too_large = bytes > max;
	return bytes <= max;
}

struct walk {
	const struct target_list *all;
	const struct target *t;
	sidefiles_take *take;
	void *arg;
	struct sidefiles *sum;
};

static void sidefiles_leave_out(struct walk *w, const char *path)
{
	char shown[ESCAPE_MAX];

	w->sum->left_out++;
	if (!*w->sum->largest)
		snprintf(w->sum->largest, sizeof(w->sum->largest), "%.*s",
			 (int)sizeof(w->sum->largest) - 1, escape(path, shown));
}

/* Follows links only within the directory: a library's short name is a link to its long name. */
static int sidefiles_open_file(const struct rights *as, int at, const char *name, struct stat *ret)
{
	char to[NAME_MAX + 1], link[NAME_MAX + 1];
	int fd = -1;

	snprintf(to, sizeof(to), "%s", name);
	for (unsigned i = 0; i < LINKS_MAX; i++) {
		ssize_t n = readlinkat(at, to, link, sizeof(link) - 1);

		if (n < 0)
			break;
		link[n] = '\0';
		if (strchr(link, '/'))
			return -1;
		memcpy(to, link, (size_t)n + 1);
	}
	fd = rights_open(as, at, to, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int sidefiles_take_file(struct walk *w, int at, const char *name, const char *path,
			       struct err *e)
{
	struct stat st;
	_autoclose_ int fd = sidefiles_open_file(&w->t->rights, at, name, &st);
	bool too_large;

	if (fd < 0)
		return 0;
	if (!sidefiles_wanted(w->all, w->t, path, (uint64_t)st.st_size, &too_large)) {
		if (too_large)
			sidefiles_leave_out(w, path);
		return 0;
	}
	if (w->sum->files >= SIDEFILES_MAX || strlen(path) > SIDEFILES_PATH_MAX ||
	    w->sum->bytes + (uint64_t)st.st_size > SIDEFILES_BYTES_MAX) {
		sidefiles_leave_out(w, path);
		return 0;
	}
	w->sum->files++;
	w->sum->bytes += (uint64_t)st.st_size;
	return w->take(w->arg, path, st.st_mode & S_IXUSR ? MODE_EXEC : MODE, fd, e);
}

static int sidefiles_walk_dir(struct walk *w, int at, const char *dir, const char *path,
			      unsigned depth, struct err *e);

static int sidefiles_walk_entry(struct walk *w, int at, const char *name, const char *dir,
				unsigned depth, struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%s", dir, *dir ? "/" : "", name);
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* removed meanwhile */
	if (!S_ISDIR(st.st_mode))
		return sidefiles_take_file(w, at, name, path, e);
	return depth < SIDEFILES_DEPTH ? sidefiles_walk_dir(w, at, name, path, depth + 1, e) : 0;
}

static int sidefiles_walk_dir(struct walk *w, int at, const char *dir, const char *path,
			      unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	int fd =
	    rights_open(&w->t->rights, at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0));
	const struct dirent *ent;
	int r = 0;

	if (fd < 0)
		return depth ? 0 : err_sys(e, "open directory '%s'", dir);
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(e, ENOMEM, "open directory '%s'", dir);
	}
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && !strstr(ent->d_name, "_seed_corpus"))
			r = sidefiles_walk_entry(w, dirfd(d), ent->d_name, path, depth, e);
	return r == 0 && errno ? err_sys(e, "list directory '%s'", dir) : r;
}

int sidefiles_each(const struct target_list *all, const struct target *t, sidefiles_take *take,
		   void *arg, struct sidefiles *ret, struct err *e)
{
	struct walk w = {.all = all, .t = t, .take = take, .arg = arg, .sum = ret};

	*ret = (struct sidefiles){0};
	return t->dir ? sidefiles_walk_dir(&w, AT_FDCWD, t->dir, "", 0, e) : 0;
}

struct packing {
	const char *prefix;
	struct pack *p;
};

static int sidefiles_add(void *arg, const char *path, mode_t mode, int fd, struct err *e)
{
	const struct packing *a = arg;
	char full[PACK_NAME_MAX + 1];

	snprintf(full, sizeof(full), "%.300s/%s", a->prefix, path);
	return pack_add_file(a->p, full, mode, fd, e);
}

int sidefiles_pack(const struct target_list *all, const struct target *t, const char *prefix,
		   struct pack *p, struct sidefiles *ret, struct err *e)
{
	struct packing a = {prefix, p};

	return sidefiles_each(all, t, sidefiles_add, &a, ret, e);
}
