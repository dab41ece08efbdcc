/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/vault.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	MODE_DIR = 0750,
	MODE_FILE = 0644,
	HEX = 16,
	CUT = 150, /* bytes of a long name that stay readable */
	ASIDE = VAULT_NAME + 8,
};

static const char dir_name[] = "crashes";

const char *vault_file_name(enum vault_file f)
{
	static const char *const names[] = {
	    [VAULT_INPUT] = "input",	    [VAULT_MINIMIZED] = "minimized",
	    [VAULT_REPORT] = "report.txt",  [VAULT_META] = "meta.json",
	    [VAULT_RECORD] = "record.json",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == VAULT_FILE_, "name every file");
	return f < VAULT_FILE_ ? names[f] : "";
}

static bool is_hex(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return s.n == HEX;
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '.' || c == '_' || c == '-';
}

/* False when it does not fit: then as much as fits is there. */
static bool escape(struct slice s, char out[VAULT_NAME])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 2;

	memcpy(out, "o-", 2);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		out[n] = '\0';
		if (n + 4 > VAULT_NAME)
			return false;
		if (is_plain(s.p[i])) {
			out[n++] = s.p[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = digits[c >> 4];
		out[n++] = digits[c & 15];
	}
	out[n] = '\0';
	return true;
}

int vault_name(struct slice signature, char out[VAULT_NAME], struct err *e)
{
	char sum[DIGEST_SHA1_HEX];

	if (signature.n == 0)
		return err_set(e, EINVAL, "a crash without a signature");
	if (signature.n > VAULT_SIGNATURE_MAX)
		return err_set(e, EINVAL, "a signature of more than %d bytes", VAULT_SIGNATURE_MAX);
	if (is_hex(signature)) {
		memcpy(out, signature.p, HEX);
		out[HEX] = '\0';
	} else if (!escape(signature, out)) {
		digest_sha1_hex(signature, sum);
		snprintf(out + CUT, VAULT_NAME - CUT, "~%s", sum);
	}
	return 0;
}

int vault_path(struct slice signature, enum vault_file f, char out[VAULT_PATH], struct err *e)
{
	char name[VAULT_NAME];
	int r = vault_name(signature, name, e);

	if (r == 0)
		snprintf(out, VAULT_PATH, "%s/%s/%s", dir_name, name, vault_file_name(f));
	return r;
}

static int put_files(int dir, const struct vault_item *item, struct err *e)
{
	int r = 0;

	for (enum vault_file f = 0; f < VAULT_FILE_ && r == 0; f++) {
		if (!item->file[f].p)
			continue;
		r = fs_replace(dir, vault_file_name(f), item->file[f], e);
		/* The cells' users read inputs, through a mount; the directory is ours. */
		if (r == 0 && fchmodat(dir, vault_file_name(f), MODE_FILE, 0) < 0)
			r = err_sys(e, "set the mode of '%s'", vault_file_name(f));
	}
	return r;
}

/* A name begins with a letter or a digit: never that of another crash. */
static void aside(const char *name, const char *why, char out[ASIDE])
{
	snprintf(out, ASIDE, ".%s.%s", name, why);
}

static int write_dir(int crashes, const char *tmp, const struct vault_item *item, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_remove_tree(crashes, tmp, e); /* of a killed writer */

	if (r < 0)
		return r;
	if (sys_mkdirat(crashes, tmp, MODE_DIR) < 0)
		return err_sys(e, "make directory '%s'", tmp);
	r = fs_open_dir(crashes, tmp, &dir, e);
	if (r == 0)
		r = put_files(dir, item, e);
	if (r == 0 && sys_fsync(dir) < 0)
		r = err_sys(e, "fsync directory '%s'", tmp);
	return r;
}

static int make_new(int crashes, const char *name, const struct vault_item *item, struct err *e)
{
	char tmp[ASIDE];
	struct err ignored;
	int r;

	aside(name, "new", tmp);
	r = write_dir(crashes, tmp, item, e);
	if (r == 0 && sys_renameat(crashes, tmp, name) < 0)
		r = err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (r < 0)
		(void)!fs_remove_tree(crashes, tmp, &ignored); /* the next one does it */
	return r;
}

/* crashes/ itself must be on disk before anything in it can be. */
static int open_crashes(int state_dirfd, int *ret, struct err *e)
{
	int r;

	if (sys_mkdirat(state_dirfd, dir_name, MODE_DIR) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", dir_name);
	r = fs_open_dir(state_dirfd, dir_name, ret, e);
	if (r == 0 && sys_fsync(state_dirfd) < 0)
		r = err_sys(e, "fsync directory of '%s'", dir_name);
	return r;
}

static int save(int state_dirfd, const char *name, const struct vault_item *item, struct err *e)
{
	_autoclose_ int crashes = -1;
	_autoclose_ int dir = -1;
	int r = open_crashes(state_dirfd, &crashes, e);

	if (r < 0)
		return r;
	r = fs_open_dir(crashes, name, &dir, e);
	if (r == 0)
		r = put_files(dir, item, e);
	else if (r == -ENOENT)
		r = make_new(crashes, name, item, e);
	/* Also of an old one: who made it may have failed just here. */
	if (r == 0 && sys_fsync(crashes) < 0)
		r = err_sys(e, "fsync directory '%s'", dir_name);
	return r;
}

int vault_save(int state_dirfd, const struct vault_item *item, struct err *e)
{
	char name[VAULT_NAME];
	int r = vault_name(item->signature, name, e);

	for (enum vault_file f = 0; f < VAULT_FILE_ && r == 0; f++)
		if (item->file[f].n > VAULT_BYTES_MAX)
			r = err_set(e, EFBIG, "'%s' has %zu bytes", vault_file_name(f),
				    item->file[f].n);
	if (r < 0)
		return err_wrap(e, "save a crash");
	r = save(state_dirfd, name, item, e);
	return r < 0 ? err_wrap(e, "save crash '%s'", name) : 0;
}

static int open_crash(int state_dirfd, const char *name, int *ret, struct err *e)
{
	_autoclose_ int crashes = -1;
	int r = fs_open_dir(state_dirfd, dir_name, &crashes, e);

	return r < 0 ? r : fs_open_dir(crashes, name, ret, e);
}

static bool is_there(int dir, const char *name, struct slice text)
{
	_autofree_ char *have = NULL;
	struct err none;
	size_t n;

	return fs_read(dir, name, VAULT_BYTES_MAX, &have, &n, &none) == 0 &&
	       slice_eq((struct slice){have, n}, text);
}

static int replace_unsynced(int dir, const char *name, struct slice text, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.new", name); /* vault_sweep() knows it */
	r = fs_open_file(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &fd, e);
	if (r < 0)
		return r;
	if (sys_write_all(fd, text.p, text.n) < 0)
		return err_sys(e, "write '%s'", tmp);
	return sys_renameat(dir, tmp, name) < 0 ? err_sys(e, "rename '%s' to '%s'", tmp, name) : 0;
}

int vault_copy(int state_dirfd, struct slice signature, enum vault_file f, struct slice text,
	       struct err *e)
{
	_autoclose_ int dir = -1;
	char name[VAULT_NAME];
	int r = vault_name(signature, name, e);

	if (r == 0)
		r = open_crash(state_dirfd, name, &dir, e);
	if (r == 0 && !is_there(dir, vault_file_name(f), text))
		r = replace_unsynced(dir, vault_file_name(f), text, e);
	return r < 0 ? err_wrap(e, "copy into a crash") : 0;
}

int vault_read(int state_dirfd, struct slice signature, enum vault_file f, char **ret,
	       size_t *ret_n, struct err *e)
{
	_autoclose_ int dir = -1;
	char name[VAULT_NAME];
	int r = vault_name(signature, name, e);

	if (r < 0)
		return err_wrap(e, "read of a crash");
	r = open_crash(state_dirfd, name, &dir, e);
	if (r == 0)
		r = fs_read(dir, vault_file_name(f), VAULT_BYTES_MAX, ret, ret_n, e);
	return r < 0 ? err_wrap(e, "crash '%s'", name) : 0;
}

/* By a rename first: a crash is there whole, or not at all. */
static int remove_dir(int crashes, const char *name, struct err *e)
{
	char gone[ASIDE];
	int r;

	aside(name, "gone", gone);
	r = fs_remove_tree(crashes, gone, e);
	if (r < 0)
		return r;
	if (sys_renameat(crashes, name, gone) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "rename to '%s'", gone);
	if (sys_fsync(crashes) < 0)
		return err_sys(e, "fsync directory '%s'", dir_name);
	return fs_remove_tree(crashes, gone, e);
}

int vault_remove(int state_dirfd, struct slice signature, struct err *e)
{
	_autoclose_ int crashes = -1;
	char name[VAULT_NAME];
	int r = vault_name(signature, name, e);

	if (r < 0)
		return err_wrap(e, "remove a crash");
	r = fs_open_dir(state_dirfd, dir_name, &crashes, e);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = remove_dir(crashes, name, e);
	return r < 0 ? err_wrap(e, "remove crash '%s'", name) : 0;
}

/* fs_replace() leaves a file like this when it is killed. */
static int sweep_crash(int crashes, const char *name, struct err *e)
{
	char path[NAME_MAX + 32];

	for (enum vault_file f = 0; f < VAULT_FILE_; f++) {
		snprintf(path, sizeof(path), "%s/.%s.new", name, vault_file_name(f));
		if (sys_unlinkat(crashes, path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
			return err_sys(e, "remove '%s'", path);
	}
	return 0;
}

static int sweep_entry(int crashes, const char *name, struct err *e)
{
	const char *end = strrchr(name, '.');

	if (name[0] != '.')
		return sweep_crash(crashes, name, e);
	if (strcmp(end, ".new") == 0 || strcmp(end, ".gone") == 0)
		return fs_remove_tree(crashes, name, e);
	return 0; /* "." and "..", and a person's own */
}

int vault_sweep(int state_dirfd, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state_dirfd, dir_name);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", dir_name);
	while (r == 0 && (ent = readdir(d)))
		r = sweep_entry(dirfd(d), ent->d_name, e);
	return r < 0 ? err_wrap(e, "sweep '%s'", dir_name) : 0;
}
