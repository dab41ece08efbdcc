/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* --- opening a file -------------------------------------------------------------- */

static const char *fs_kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symlink";
	default:
		return "a device";
	}
}

/* The directory that a relative path starts from; "" for an absolute path. */
static void name_directory(int dirfd, const char *path, char out[PATH_MAX])
{
	char link[64];
	ssize_t n = -1;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	if (dirfd != AT_FDCWD && path[0] != '/')
		n = readlink(link, out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
}

static int not_regular(int dirfd, const char *path, mode_t mode, struct err *e)
{
	char dir[PATH_MAX];

	name_directory(dirfd, path, dir);
	return err_set(e, EINVAL, "'%.200s' is not a regular file but %s: move it away%s%.200s%s",
		       path, fs_kind_of(mode), *dir ? " from '" : "", dir, *dir ? "'" : "");
}

/* open(2) for writing may already have failed on a file that is not regular. */
static int open_failed(int dirfd, const char *path, int flags, struct err *e)
{
	int code = errno;
	struct stat st;

	if ((code == ENXIO || code == EISDIR || code == ENODEV) &&
	    fstatat(dirfd, path, &st, 0) == 0 && !S_ISREG(st.st_mode))
		return not_regular(dirfd, path, st.st_mode, e);
	errno = code;
	return err_sys(e, "%s '%s'", flags & O_CREAT ? "create" : "open", path);
}

int fs_open_file(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd, struct err *e)
{
	int nofollow = dirfd == AT_FDCWD ? 0 : O_NOFOLLOW;
	_autoclose_ int fd =
	    sys_openat(dirfd, path, flags | O_NONBLOCK | O_NOCTTY | nofollow, mode);
	struct stat st;

	if (fd < 0)
		return open_failed(dirfd, path, flags, e);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return not_regular(dirfd, path, st.st_mode, e);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- replacing and appending ----------------------------------------------------- */

/* The name of the temporary file: ".NAME.new" in the same directory. */
static int temp_name(const char *name, char out[NAME_MAX + 1], struct err *e)
{
	int n = snprintf(out, NAME_MAX + 1, ".%s.new", name);

	if (strchr(name, '/'))
		return err_set(e, EINVAL, "'%s' is not one name", name);
	if (n < 0 || n > NAME_MAX)
		return err_set(e, ENAMETOOLONG, "name '%s'", name);
	return 0;
}

/* Replaces name by the temporary file, and syncs both the file and the directory. */
static int fs_commit(int dirfd, int fd, const char *tmp, const char *name, struct err *e)
{
	if (sys_fsync(fd) < 0)
		return err_sys(e, "fsync '%s'", tmp);
	if (sys_renameat(dirfd, tmp, name) < 0)
		return err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (sys_fsync(dirfd) < 0)
		return err_sys(e, "fsync directory of '%s'", name);
	return 0;
}

static void drop_temp(int dirfd, const char *tmp)
{
	/* allow: best effort, and the earlier error is reported */
	(void)unlinkat(dirfd, tmp, 0);
}

/* Writes the temporary file of name; *ret_fd is its open descriptor. */
static int fs_write_temp(int dirfd, const char *name, struct slice data, char tmp[NAME_MAX + 1],
			 int *ret_fd, struct err *e)
{
	int fd = -1;

	if (temp_name(name, tmp, e) < 0 ||
	    fs_open_file(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0640, &fd, e) < 0)
		return err_code(e);
	if (sys_write_all(fd, data.p, data.n) < 0) {
		err_sys(e, "write '%s'", tmp);
		close(fd);
		drop_temp(dirfd, tmp);
		return err_code(e);
	}
	*ret_fd = fd;
	return 0;
}

int fs_replace(int dirfd, const char *name, struct slice data, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	int r = fs_write_temp(dirfd, name, data, tmp, &fd, e);

	if (r < 0)
		return r;
	r = fs_commit(dirfd, fd, tmp, name, e);
	if (r < 0)
		drop_temp(dirfd, tmp);
	return r;
}

/* 1: the file is not empty, and its last byte is no newline. */
static int ends_cut(int fd, off_t size, const char *name, struct err *e)
{
	char last = '\n';

	if (size > 0 && sys_pread(fd, &last, 1, size - 1) < 0)
		return err_sys(e, "read the end of '%s'", name);
	return last != '\n';
}

/* Appends without a sync; the caller must sync.  *ret_new: the name may be new and needs a sync of
 * the directory, too. */
static int fs_append(int dirfd, const char *name, struct slice line, int *ret_fd, bool *ret_new,
		     struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *text = NULL;
	size_t n = 0;
	off_t size;
	int cut;

	cut = fs_open_file(dirfd, name, O_RDWR | O_CREAT | O_APPEND, 0640, &fd, e);
	if (cut < 0)
		return cut;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return err_sys(e, "find the end of '%s'", name);
	cut = ends_cut(fd, size, name, e);
	if (cut < 0)
		return cut;
	text = xmalloc(line.n + 2);
	if (cut)
		text[n++] = '\n';
	if (line.n > 0)
		memcpy(text + n, line.p, line.n);
	n += line.n;
	text[n++] = '\n';
	if (sys_write_all(fd, text, n) < 0)
		return err_sys(e, "append to '%s'", name);
	*ret_fd = take_fd(&fd);
	*ret_new = size == 0;
	return 0;
}

int fs_append_line(int dirfd, const char *name, struct slice line, struct err *e)
{
	_autoclose_ int fd = -1;
	bool is_new;
	int r = fs_append(dirfd, name, line, &fd, &is_new, e);

	if (r < 0)
		return r;
	if (sys_fsync(fd) < 0)
		return err_sys(e, "fsync '%s'", name);
	if (is_new && sys_fsync(dirfd) < 0)
		return err_sys(e, "fsync directory of '%s'", name);
	return 0;
}

/* --- many files at once ------------------------------------------------------------- */

struct fs_batch_file {
	char *name;
	size_t dir; /* index in dirs */
	bool replaced;
};

struct fs_batch_dir {
	dev_t dev;
	ino_t ino;
	int fd;
};

static int batch_dir(struct fs_batch *b, int dirfd, size_t *ret, struct err *e)
{
	struct fs_batch_dir d;
	struct stat st;

	if (fstat(dirfd, &st) < 0)
		return err_sys(e, "stat a directory");
	for (*ret = 0; *ret < b->n_dirs; ++*ret)
		if (b->dirs[*ret].dev == st.st_dev && b->dirs[*ret].ino == st.st_ino)
			return 0;
	d = (struct fs_batch_dir){st.st_dev, st.st_ino,
				  sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0)};
	if (d.fd < 0)
		return err_sys(e, "open a directory again");
	b->dirs = xreallocarray(b->dirs, b->n_dirs + 1, sizeof(*b->dirs));
	b->dirs[b->n_dirs++] = d;
	return 0;
}

/* Adds a file with its name and directory to the batch. */
static int batch_add(struct fs_batch *b, int dirfd, const char *name, bool replaced, struct err *e)
{
	struct fs_batch_file f = {.replaced = replaced};
	int r = batch_dir(b, dirfd, &f.dir, e);

	if (r < 0)
		return r;
	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 16;
		b->v = xreallocarray(b->v, b->room, sizeof(*b->v));
	}
	f.name = xstrdup(name);
	b->v[b->n++] = f;
	return 0;
}

/* Starts writing to disk, so that fs_batch_end() waits less. */
static void begin_writing(int fd)
{
	(void)!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only a hint */
	close(fd);
}

int fs_batch_replace(struct fs_batch *b, int dirfd, const char *name, struct slice data,
		     struct err *e)
{
	char tmp[NAME_MAX + 1];
	int fd, r = fs_write_temp(dirfd, name, data, tmp, &fd, e);

	if (r < 0)
		return r;
	begin_writing(fd);
	r = batch_add(b, dirfd, name, true, e);
	if (r < 0)
		drop_temp(dirfd, tmp);
	return r;
}

int fs_batch_append(struct fs_batch *b, int dirfd, const char *name, struct slice line,
		    struct err *e)
{
	bool is_new;
	int fd, r = fs_append(dirfd, name, line, &fd, &is_new, e);

	if (r < 0)
		return r;
	begin_writing(fd);
	return batch_add(b, dirfd, name, false, e);
}

static int batch_sync(const struct fs_batch *b, const struct fs_batch_file *f, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	const char *name = f->name;
	int r;

	if (f->replaced) {
		(void)!temp_name(f->name, tmp, e); /* the same name fitted before */
		name = tmp;
	}
	r = fs_open_file(b->dirs[f->dir].fd, name, O_WRONLY, 0, &fd, e);
	if (r == 0 && sys_fsync(fd) < 0)
		r = err_sys(e, "fsync '%s'", name);
	if (r < 0 && f->replaced)
		drop_temp(b->dirs[f->dir].fd, tmp);
	return r;
}

static int batch_rename(const struct fs_batch *b, const struct fs_batch_file *f, struct err *e)
{
	char tmp[NAME_MAX + 1];
	int r;

	(void)!temp_name(f->name, tmp, e);
	if (sys_renameat(b->dirs[f->dir].fd, tmp, f->name) == 0)
		return 0;
	r = err_sys(e, "rename '%s' to '%s'", tmp, f->name);
	drop_temp(b->dirs[f->dir].fd, tmp);
	return r;
}

static void keep_first(int r, const struct err *e, int *io_r, struct err *first)
{
	if (r < 0 && *io_r == 0) {
		*io_r = r;
		*first = *e;
	}
}

int fs_batch_end(struct fs_batch *b, struct err *e)
{
	struct err one;
	int r = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct fs_batch_file *f = &b->v[i];
		int s = batch_sync(b, f, &one);

		keep_first(s, &one, &r, e);
		f->replaced = f->replaced && s == 0;
	}
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].replaced)
			keep_first(batch_rename(b, &b->v[i], &one), &one, &r, e);
		free(b->v[i].name);
	}
	for (size_t i = 0; i < b->n_dirs; i++) {
		if (sys_fsync(b->dirs[i].fd) < 0)
			keep_first(err_sys(&one, "fsync a directory"), &one, &r, e);
		close(b->dirs[i].fd);
	}
	free(b->v);
	free(b->dirs);
	*b = (struct fs_batch){0};
	return r;
}

/* --- reading and copying --------------------------------------------------------- */

/* Opens a regular file of at most max bytes. */
static int open_small(int dirfd, const char *path, size_t max, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;
	int r = fs_open_file(dirfd, path, O_RDONLY, 0, &fd, e);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if ((uint64_t)st.st_size > max)
		return err_set(e, EFBIG, "'%s' has more than %zu bytes", path, max);
	*ret_fd = take_fd(&fd);
	return 0;
}

int fs_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	_autoclose_ int fd = -1;
	_autobuf_ struct buf text = BUF_INIT(max);
	char block[16384];
	ssize_t n;
	int r = open_small(dirfd, path, max, &fd, e);

	if (r < 0)
		return r;
	do { /* to the end: the file may have grown, and files of the kernel report size 0 */
		n = sys_read(fd, block, sizeof(block));
		if (n < 0)
			return err_sys(e, "read '%s'", path);
		buf_put(&text, (struct slice){block, (size_t)n});
		if (buf_check(&text, e) < 0)
			return err_wrap(e, "read '%s'", path);
	} while (n > 0);
	*ret_n = text.n;
	*ret = take_ptr(&text.p);
	return 0;
}

static int copy_bytes(int from, int to, size_t max, const char *name, struct err *e)
{
	char block[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = sys_read(from, block, sizeof(block));

		if (n < 0)
			return err_sys(e, "read '%s'", name);
		if (n == 0)
			return 0;
		total += (size_t)n; /* it may grow while we read */
		if (total > max)
			return err_set(e, EFBIG, "'%s' has more than %zu bytes", name, max);
		if (sys_write_all(to, block, (size_t)n) < 0)
			return err_sys(e, "write the copy of '%s'", name);
	}
}

int fs_copy(int from_dirfd, const char *from, int to_dirfd, const char *to, size_t max,
	    struct err *e)
{
	_autoclose_ int in = -1;
	_autoclose_ int out = -1;
	char tmp[NAME_MAX + 1];

	if (temp_name(to, tmp, e) < 0 || open_small(from_dirfd, from, max, &in, e) < 0 ||
	    fs_open_file(to_dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0640, &out, e) < 0)
		return err_code(e);
	if (copy_bytes(in, out, max, from, e) == 0 && fs_commit(to_dirfd, out, tmp, to, e) == 0)
		return 0;
	drop_temp(to_dirfd, tmp);
	return err_code(e);
}

/* --- directories ----------------------------------------------------------------- */

static int make_one_dir(int dirfd, const char *path, mode_t mode, struct err *e)
{
	struct stat st;

	if (sys_mkdirat(dirfd, path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(e, "make directory '%s'", path);
	if (fstatat(dirfd, path, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "'%s' is there and is not a directory", path);
	return 0;
}

int fs_mkdirs(int dirfd, const char *path, mode_t mode, struct err *e)
{
	_autofree_ char *p = xstrdup(path);
	char *at;
	int r;

	if (!*p)
		return err_set(e, ENOENT, "make a directory without a name");
	for (at = p + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		r = make_one_dir(dirfd, p, mode, e);
		if (r < 0)
			return r;
		*at = '/';
	}
	return make_one_dir(dirfd, p, mode, e);
}

int fs_open_dir(int dirfd, const char *path, int *ret_fd, struct err *e)
{
	int fd = sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0)
		return err_sys(e, "open directory '%s'", path);
	*ret_fd = fd;
	return 0;
}

int fs_make_dir(int dirfd, const char *path, mode_t mode, int *ret_fd, struct err *e)
{
	int r = fs_mkdirs(dirfd, path, mode, e);

	return r < 0 ? r : fs_open_dir(dirfd, path, ret_fd, e);
}

char *fs_find_above(const char *dir, const char *name)
{
	_autofree_ char *path = xstrdup(dir);
	struct stat st;

	for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
		_autofree_ char *entry = NULL;

		*slash = '\0';
		entry = xasprintf("%s/%s", path, name);
		if (fstatat(AT_FDCWD, entry, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return take_ptr(&path);
	}
	return NULL;
}

bool fs_name_ok(struct slice name)
{
	if (name.n == 0 || name.n > NAME_MAX)
		return false;
	if (name.p[0] == '.' && (name.n == 1 || (name.n == 2 && name.p[1] == '.')))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f || name.p[i] == '/')
			return false;
	return true;
}

/* --- removing and measuring a hostile tree ------------------------------------- */

/* Two walks over a directory tree.  The number of open descriptors is bounded, links are not
 * followed, and mounts are not entered. */

/* Each level of a walk costs a descriptor and a stack frame. */
enum { TREE_MAX_DEPTH = 128 };

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

struct removal {
	int root;	/* descriptor of the tree's top directory */
	uint64_t tag;	/* unpredictable part of new names in root */
	uint64_t moved; /* number of subtrees that were too deep and moved to root */
};

static int remove_below(struct removal *rm, int at, const char *path, unsigned depth,
			struct err *e);

/* The depth of directories is unlimited, but our descriptors are not.  So a subtree that is too
 * deep moves up to the tree's root, and a later round removes it.  As it stays in the tree, it is
 * also found if we die before that. */
static int move_up(struct removal *rm, int at, const char *name, struct err *e)
{
	char up[64];

	snprintf(up, sizeof(up), "deep.%llu.%llu", (unsigned long long)rm->tag,
		 (unsigned long long)rm->moved);
	if (sys_rename_to(at, name, rm->root, up) < 0)
		return err_sys(e, "move '%s' up", name);
	rm->moved++;
	return 0;
}

static int tree_remove_dir(struct removal *rm, int at, const char *name, unsigned depth,
			   struct err *e)
{
	int r;

	if (depth >= TREE_MAX_DEPTH)
		return move_up(rm, at, name, e);
	r = remove_below(rm, at, name, depth, e);
	if (r < 0)
		return r;
	if (sys_unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "remove directory '%s'", name);
	return 0;
}

/* Adds bits to the mode of the file behind fd (O_PATH). */
static int tree_unlock(int fd, mode_t was, mode_t bits, const char *path, struct err *e)
{
	char same[64];

	if ((was & bits) == bits)
		return 0;
	/* fchmod(2) does not accept an O_PATH descriptor. */
	snprintf(same, sizeof(same), "/proc/self/fd/%d", fd);
	if (chmod(same, (was & 07777) | bits) < 0)
		return err_sys(e, "set the mode of '%s'", path);
	return 0;
}

int fs_unlock_dir(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open directory '%s'", path);
	return tree_unlock(fd, st.st_mode, S_IRWXU, path, e);
}

int fs_unlock_file(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & S_IRUSR))
		return 0; /* most files: nothing is opened */
	fd = sys_openat(dirfd, path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", path);
	return S_ISREG(st.st_mode) ? tree_unlock(fd, st.st_mode, S_IRUSR, path, e) : 0;
}

/* 1: a directory that is no mount point; 0: another file type, or no such entry.  st_dev would not
 * show a bind mount of the same file system. */
static int tree_is_dir(int at, const char *name, struct err *e)
{
	struct err ignored;
	struct statx sx;

	if (statx(at, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_MODE, &sx) <
	    0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	if (!S_ISDIR(sx.stx_mode))
		return 0;
	if (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return err_set(e, EXDEV, "'%s' is a mount point", name);
	/* Without root, the directory's mode may prevent its removal.  If the mode cannot be
	 * changed, the removal reports the error. */
	if ((sx.stx_mode & S_IRWXU) != S_IRWXU)
		(void)!fs_unlock_dir(at, name, &ignored);
	return 1;
}

/* Most entries are files.  The listing has the type, which saves a statx(2). */
static bool is_listed_as_other(const struct dirent *ent)
{
	return ent->d_type != DT_DIR && ent->d_type != DT_UNKNOWN;
}

static int remove_entry(struct removal *rm, int at, const struct dirent *ent, unsigned depth,
			struct err *e)
{
	const char *name = ent->d_name;
	int r = is_listed_as_other(ent) ? 0 : tree_is_dir(at, name, e);

	if (r < 0)
		return r;
	if (r > 0)
		return tree_remove_dir(rm, at, name, depth, e);
	if (sys_unlinkat(at, name, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", name);
	return 0;
}

static int remove_below(struct removal *rm, int at, const char *path, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", path);
	while ((ent = readdir(d))) {
		int r = is_dots(ent->d_name) ? 0 : remove_entry(rm, dirfd(d), ent, depth + 1, e);

		if (r < 0)
			return r;
	}
	return 0;
}

static int remove_all(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int root = sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct removal rm = {.root = root, .tag = clock_real_us()};
	uint64_t before;

	if (root < 0)
		return err_sys(e, "open directory '%s'", path);
	do {
		int r;

		before = rm.moved;
		r = remove_below(&rm, root, ".", 0, e);
		if (r < 0)
			return r;
	} while (rm.moved > before);
	if (sys_unlinkat(dirfd, path, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove directory '%s'", path);
	return 0;
}

int fs_remove_tree(int dirfd, const char *path, struct err *e)
{
	int r = tree_is_dir(dirfd, path, e);

	if (r > 0)
		r = remove_all(dirfd, path, e);
	else if (r == 0 && sys_unlinkat(dirfd, path, 0) < 0 && errno != ENOENT)
		r = err_sys(e, "unlink");
	return r < 0 ? err_wrap(e, "remove '%s'", path) : 0;
}

struct walk {
	struct fs_usage sum;
	uint64_t stop_bytes, stop_files;
};

static bool usage_is_enough(const struct walk *w)
{
	return (w->stop_bytes && w->sum.bytes >= w->stop_bytes) ||
	       (w->stop_files && w->sum.files >= w->stop_files);
}

/* The owner may change the tree meanwhile: between two of our calls a directory may disappear, or
 * become a file or a link. */
static bool tree_is_gone(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

static int usage_below(int at, const char *path, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d && tree_is_gone(errno)) {
		w->sum.moved = true;
		return 0;
	}
	if (!d)
		return err_sys(e, "open directory '%s'", path);
	while (!usage_is_enough(w) && (ent = readdir(d))) {
		struct stat st;
		int r = 0;

		if (is_dots(ent->d_name))
			continue;
		if (fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			w->sum.moved |= ent->d_type == DT_DIR; /* engines remove files */
			continue;
		}
		w->sum.files++;
		w->sum.bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < TREE_MAX_DEPTH)
			r = usage_below(dirfd(d), ent->d_name, depth + 1, w, e);
		else if (S_ISDIR(st.st_mode))
			r = -ELOOP;
		if (r < 0)
			return r;
	}
	return 0;
}

int fs_room(int dirfd, struct fs_room *ret, struct err *e)
{
	struct statvfs v;

	if (fstatvfs(dirfd, &v) < 0)
		return err_sys(e, "read the free space");
	*ret = (struct fs_room){.bytes = (uint64_t)v.f_bavail * v.f_frsize,
				.files = v.f_files ? v.f_favail : UINT64_MAX,
				.files_total = v.f_files ? v.f_files : UINT64_MAX};
	return 0;
}

int fs_usage(int dirfd, uint64_t stop_bytes, uint64_t stop_files, struct fs_usage *ret,
	     struct err *e)
{
	struct walk w = {.stop_bytes = stop_bytes, .stop_files = stop_files};
	struct stat st;
	int r = usage_below(dirfd, ".", 0, &w, e);

	/* The directory itself counts: it grows with its names and never shrinks. */
	if (r == 0 && fstat(dirfd, &st) == 0)
		w.sum.bytes += (uint64_t)st.st_blocks * 512;
	if (r == -ELOOP) /* only from the depth limit; ELOOP of an open means "gone" */
		w.sum = (struct fs_usage){UINT64_MAX, UINT64_MAX, true};
	else if (r < 0)
		return r;
	*ret = w.sum;
	return 0;
}
