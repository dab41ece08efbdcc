/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/build/limits.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const struct limit_names limits_of_builds = {"the build", "build_memory", "build_pids",
					     "build_disk"};
const struct limit_names limits_of_git = {"git", "git.memory", "git.pids", "git.disk"};

enum { MEMINFO_MAX = 4096, RESERVE_PART = 16, LAST_PART = 32, FILES_PART = 16 };

/* --- file systems ------------------------------------------------------------------ */

static bool limits_has(const struct limits *w, dev_t dev)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].dev == dev)
			return true;
	return false;
}

/* The free bytes that must stay: a file system may lose `disk` bytes, but not its reserve.  If
 * it has less than the reserve at the start (a small /tmp), it may lose half of it. */
static uint64_t floor_of(uint64_t free, uint64_t disk, uint64_t reserve)
{
	uint64_t spare, floor;

	if (reserve > free / 2)
		reserve = free / 2;
	spare = free - reserve;
	if (!disk)
		return reserve + spare / 4;
	floor = disk < free ? free - disk : 0;
	return floor > reserve ? floor : reserve;
}

void limits_add(struct limits *w, const char *path, uint64_t disk_reserve)
{
	struct limits_fs *fs = &w->v[w->n];
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
	struct statvfs vfs;
	struct stat st;

	if (fd < 0 || w->n == LIMITS_FS_MAX || fstat(fd, &st) < 0 || limits_has(w, st.st_dev) ||
	    fstatvfs(fd, &vfs) < 0)
		return;
	*fs = (struct limits_fs){.dev = st.st_dev,
				 .free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize,
				 .free_files = vfs.f_favail};
	fs->floor_bytes = floor_of(fs->free_bytes, w->disk, disk_reserve);
	fs->floor_files = fs->free_files / FILES_PART; /* 0: the file system has no inode limit */
	snprintf(fs->path, sizeof(fs->path), "%.119s", path);
	fs->fd = take_fd(&fd);
	w->n++;
}

/* Adds the home directory of dir's owner. */
static void add_home(struct limits *w, const char *dir, uint64_t reserve)
{
	const struct passwd *pw;
	struct stat st;

	pw = stat(dir, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	if (pw && pw->pw_dir)
		limits_add(w, pw->pw_dir, reserve);
}

static void add_bazel(struct limits *w, const struct config_source *s, uint64_t reserve)
{
	static const char *const options[] = {"--output_user_root=", "--output_base="};

	for (size_t i = 0; i < s->bazel_startup.n; i++)
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
			size_t n = strlen(options[k]);

			if (strncmp(s->bazel_startup.v[i], options[k], n) == 0)
				limits_add(w, s->bazel_startup.v[i] + n, reserve);
		}
}

static int limits_begin(struct limits *w, const struct limit_names *names, uint64_t disk,
			struct err *e)
{
	*w = (struct limits){.names = names, .disk = disk};
	w->meminfo = sys_openat(AT_FDCWD, "/proc/meminfo", O_RDONLY | O_NONBLOCK, 0);
	return w->meminfo < 0 ? err_sys(e, "open '/proc/meminfo'") : 0;
}

int limits_open_git(struct limits *w, uint64_t disk, struct err *e)
{
	return limits_begin(w, &limits_of_git, disk, e);
}

int limits_open(struct limits *w, const struct config_source *s, uint64_t disk_reserve,
		struct err *e)
{
	const char *dir = s->build_dir ? s->build_dir : s->build.n > 0 ? "." : s->path;
	int r = limits_begin(w, &limits_of_builds, s->build_disk, e);

	if (r < 0)
		return r;
	limits_add(w, dir, disk_reserve);
	limits_add(w, s->builds_dir ? s->builds_dir : s->path, disk_reserve);
	for (size_t i = 0; i < s->build_writable.n; i++)
		limits_add(w, s->build_writable.v[i], disk_reserve);
	add_bazel(w, s, disk_reserve);
	add_home(w, dir, disk_reserve);
	limits_add(w, "/tmp", disk_reserve);
	limits_add(w, "/var/tmp", disk_reserve);
	return 0;
}

void limits_close(struct limits *w)
{
	for (size_t i = 0; i < w->n; i++)
		close(w->v[i].fd);
	if (w->n > 0 || w->meminfo > 0)
		close_p(&w->meminfo);
	*w = (struct limits){.meminfo = -1};
}

static int check_fs(const struct limit_names *names, const struct limits_fs *fs, struct err *e)
{
	char took[UNITS_MAX], left[UNITS_MAX], limit[UNITS_MAX];
	struct statvfs vfs;
	uint64_t bytes;

	if (fstatvfs(fs->fd, &vfs) < 0)
		return 0; /* unmounted: the build cannot write to it */
	bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (bytes < fs->floor_bytes)
		return err_set(e, EDQUOT,
			       "%s passed its disk limit of %s (%s): the file system of '%s' has "
			       "%s less free, %s are left",
			       names->program, units_size(fs->free_bytes - fs->floor_bytes, limit),
			       names->disk, fs->path, units_size(fs->free_bytes - bytes, took),
			       units_size(bytes, left));
	if (vfs.f_favail < fs->floor_files)
		return err_set(e, EDQUOT,
			       "%s passed its disk limit (%s): the file system of '%s' has %llu "
			       "inodes left, of %llu at the start",
			       names->program, names->disk, fs->path,
			       (unsigned long long)vfs.f_favail,
			       (unsigned long long)fs->free_files);
	return 0;
}

/* --- memory -------------------------------------------------------------------------- */

static bool find_kib(struct slice text, struct slice key, uint64_t *ret_bytes)
{
	struct slice line;
	uint64_t kib;

	while (scan_line(&text, &line)) {
		if (!scan_lit(&line, key))
			continue;
		scan_blanks(&line);
		if (!scan_u64(&line, 10, UINT64_MAX >> 10, &kib))
			return false;
		*ret_bytes = kib << 10;
		return true;
	}
	return false;
}

bool limits_starves(struct slice meminfo, uint64_t memory, uint64_t *ret_left)
{
	uint64_t total = 0, left = 0;

	if (!find_kib(meminfo, SLICE("MemTotal:"), &total) ||
	    !find_kib(meminfo, SLICE("MemAvailable:"), &left))
		return false;
	*ret_left = left;
	/* While some memory is left, ending a build that uses less than the rest would free too
	 * little.  The last part ends it in any case, because some kernel memory (such as locks) is
	 * not charged to the build. */
	return left < total / RESERVE_PART && (memory > left || left < total / LAST_PART);
}

int limits_check(const struct limits *w, uint64_t memory, struct err *e)
{
	char text[MEMINFO_MAX], used[UNITS_MAX], free[UNITS_MAX];
	ssize_t n = sys_pread(w->meminfo, text, sizeof(text), 0);
	uint64_t left;

	if (n > 0 && limits_starves((struct slice){text, (size_t)n}, memory, &left))
		return err_set(e, EDQUOT,
			       "the machine ran short of memory (%s are left) while %s used %s: "
			       "lower %s, or run fewer other programs",
			       units_size(left, free), w->names->program, units_size(memory, used),
			       w->names->memory);
	for (size_t i = 0; i < w->n; i++) {
		int r = check_fs(w->names, &w->v[i], e);

		if (r < 0)
			return r;
	}
	return 0;
}
