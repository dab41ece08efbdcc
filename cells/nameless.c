/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files without a name through the processes that hold them.  A walk of the directory does
 * not find them.  They use disk space until their last descriptor and mapping are gone. */
#include "cells/nameless.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "cells/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* CHECKS_MAX is for one cell.  64 processes with 1,024 descriptors each are a third of it. */
enum { CHECKS_MAX = 200000, CHECKS_PER_CLOCK = 256, FDINFO_MAX = 1024, MAPS_BLOCK = 65536 };

/* The time limit for one cell: the disk check of all cells waits for it. */
#define CHECK_US (500 * USEC_PER_MSEC)

static bool nameless_may_check(struct nameless *l)
{
	if (!l->until_us)
		l->until_us = clock_mono_us() + CHECK_US;
	if (l->checked++ % CHECKS_PER_CLOCK == 0 && clock_mono_us() >= l->until_us)
		l->checked = CHECKS_MAX + 1;
	if (l->checked <= CHECKS_MAX)
		return true;
	l->unsure = true;
	return false;
}

static void nameless_add(struct nameless *l, uint64_t dev, uint64_t ino, uint64_t bytes)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->v = xreallocarray(l->v, l->room, sizeof(*l->v));
	}
	l->v[l->n++] = (struct nameless_file){dev, ino, bytes};
}

/* A file in memory already counts as memory. */
static bool is_in_memory(int dirfd, const char *name)
{
	_autoclose_ int fd = sys_openat(dirfd, name, O_PATH, 0);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

/* dirfd/name is one of the kernel's links to an open file.  False: it cannot be read. */
static bool nameless_check_file(struct nameless *l, int dirfd, const char *name, mode_t *ret_type)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, 0) < 0)
		return errno == ENOENT;
	*ret_type = st.st_mode & S_IFMT;
	if (st.st_nlink == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	    !is_in_memory(dirfd, name))
		nameless_add(l, st.st_dev, st.st_ino, (uint64_t)st.st_blocks * 512);
	return true;
}

/* --- descriptors ------------------------------------------------------------------ */

/* Whether a socket has unreceived descriptors in its queue: "scm_fds:", since Linux 5.11. */
static bool has_in_flight(int task, const char *fd_name)
{
	_autoclose_ int fd = -1;
	char path[64], text[FDINFO_MAX + 1];
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "fdinfo/%.20s", fd_name);
	fd = sys_openat(task, path, O_RDONLY, 0);
	n = fd >= 0 ? sys_read(fd, text, FDINFO_MAX) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strstr(text, "scm_fds:");
	return at && strspn(at + sizeof("scm_fds:") - 1, " \t0\n") <
			 strcspn(at + sizeof("scm_fds:") - 1, "\n");
}

static void nameless_check_descriptors(struct nameless *l, int task)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(task, "fd");
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)) && nameless_may_check(l)) {
		mode_t type = 0;

		if (!nameless_check_file(l, dirfd(d), ent->d_name, &type))
			l->unsure = true;
		if (S_ISSOCK(type) && has_in_flight(task, ent->d_name))
			l->unsure = true;
	}
}

/* --- mappings ----------------------------------------------------------------------- */

/* A line of "maps": "from-to perms offset major:minor inode   path". */
struct mapping {
	uint64_t from, to, major, minor, ino;
};

static bool nameless_parse(struct slice line, struct mapping *m)
{
	static const char deleted[] = " (deleted)";
	struct slice at = line, word;

	if (line.n < sizeof(deleted) ||
	    memcmp(line.p + line.n - sizeof(deleted) + 1, deleted, sizeof(deleted) - 1) != 0)
		return false;
	if (!scan_u64(&at, 16, UINT64_MAX, &m->from) || !scan_lit(&at, SLICE("-")) ||
	    !scan_u64(&at, 16, UINT64_MAX, &m->to) || m->to < m->from)
		return false;
	for (int i = 0; i < 2; i++) /* perms, offset */
		if (!scan_lit(&at, SLICE(" ")) || !scan_until(&at, ' ', 64, &word))
			return false;
	return scan_lit(&at, SLICE(" ")) && scan_u64(&at, 16, UINT32_MAX, &m->major) &&
	       scan_lit(&at, SLICE(":")) && scan_u64(&at, 16, UINT32_MAX, &m->minor) &&
	       scan_lit(&at, SLICE(" ")) && scan_u64(&at, 10, UINT64_MAX, &m->ino) && m->ino != 0;
}

/* Records a mapped file.  True: another mapping of this file was checked before. */
static bool was_mapped(struct nameless *l, const struct mapping *m)
{
	struct nameless_file f = {.dev = makedev((unsigned)m->major, (unsigned)m->minor),
				  .ino = m->ino};
	struct nameless_file *seen = &l->seen[(f.ino ^ f.ino >> 6) % NAMELESS_SEEN];

	if (seen->dev == f.dev && seen->ino == f.ino)
		return true;
	*seen = f;
	return false;
}

/* "(deleted)" may be part of a name: the file's link count shows whether it has a name. */
static void nameless_check_mapping(struct nameless *l, uint64_t pid, struct slice line)
{
	_autoclose_ int files = -1;
	struct mapping m;
	char path[96];
	mode_t type;

	if (!nameless_parse(line, &m) || was_mapped(l, &m))
		return;
	(void)snprintf(path, sizeof(path), "/proc/%llu/map_files", (unsigned long long)pid);
	files = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	(void)snprintf(path, sizeof(path), "%llx-%llx", (unsigned long long)m.from,
		       (unsigned long long)m.to);
	if (files >= 0 && faccessat(files, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	    nameless_check_file(l, files, path, &type))
		return;
	/* Without privileges, or with a dead first thread, the file's size is unknown, so the
	 * mapping's size counts.  Without a block device (major 0) the file may be in memory. */
	if (m.major != 0) {
		nameless_add(l, makedev((unsigned)m.major, (unsigned)m.minor), m.ino,
			     m.to - m.from);
		l->unsure = true;
	}
}

/* True: the process's mappings can be read through this thread. */
static bool nameless_check_mappings(struct nameless *l, uint64_t pid, int task)
{
	_autoclose_ int maps = sys_openat(task, "maps", O_RDONLY, 0);
	_autofree_ char *block = maps >= 0 ? xmalloc(MAPS_BLOCK) : NULL;
	size_t kept = 0;
	bool any = false;
	ssize_t n;

	while (block && (n = sys_read(maps, block + kept, MAPS_BLOCK - kept)) > 0) {
		struct slice text = {block, kept + (size_t)n}, line;

		any = true;
		while (memchr(text.p, '\n', text.n) && scan_line(&text, &line) &&
		       nameless_may_check(l))
			nameless_check_mapping(l, pid, line);
		if (l->checked > CHECKS_MAX || text.n == MAPS_BLOCK)
			break; /* no line is that long */
		memmove(block, text.p, text.n);
		kept = text.n;
	}
	return any;
}

/* --- all processes -------------------------------------------------------------------- */

/* Each thread may have its own table of descriptors and its own current directory.  The first
 * thread may have ended. */
void nameless_check_process(struct nameless *l, uint64_t pid)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	bool mapped = false;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%llu/task", (unsigned long long)pid);
	d = sys_opendirat(AT_FDCWD, path);
	while (d && (ent = sys_readdir(d)) && nameless_may_check(l)) {
		mode_t type;
		_autoclose_ int task =
		    sys_openat(dirfd(d), ent->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

		if (task < 0)
			continue;
		nameless_check_descriptors(l, task);
		(void)nameless_check_file(l, task, "cwd", &type);
		mapped = mapped || nameless_check_mappings(l, pid, task);
	}
}

static int by_file(const void *a, const void *b)
{
	const struct nameless_file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

void nameless_sum(struct nameless *l, struct cell_nameless *ret)
{
	*ret = (struct cell_nameless){.unsure = l->unsure};
	if (l->n > 0)
		qsort(l->v, l->n, sizeof(*l->v), by_file);
	for (size_t i = 0; i < l->n; i++) {
		if (i > 0 && by_file(&l->v[i - 1], &l->v[i]) == 0)
			continue;
		ret->files++;
		ret->bytes += l->v[i].bytes;
	}
	free(l->v);
	*l = (struct nameless){0};
}

static void nameless_check(uint64_t pid, void *arg)
{
	nameless_check_process(arg, pid);
}

int cell_nameless(const struct cell *c, struct cell_nameless *ret, struct err *e)
{
	struct nameless l = {0};
	int r = c->group ? cgroup_each_process(c->group, nameless_check, &l, e) : 0;

	nameless_sum(&l, ret);
	return r;
}
