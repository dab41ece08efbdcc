/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/vault.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	MODE_DIR = 0750,
	MODE_FILE = 0644,
	HEX = 16,
	CUT = 150, /* readable bytes of a long name */
	ASIDE = NAME_MAX + 1,
	META_MAX = 1 << 20, /* bytes */
};

static const char dir_name[] = "crashes";

const char *vault_file_name(enum vault_file f)
{
	static const char *const names[] = {
	    [VAULT_INPUT] = "input",	    [VAULT_MINIMIZED] = "minimized",
	    [VAULT_REPORT] = "report.txt",  [VAULT_META] = "meta.json",
	    [VAULT_RECORD] = "record.json",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == VAULT_FILE_COUNT, "name every file");
	return f < VAULT_FILE_COUNT ? names[f] : "";
}

static bool vault_is_hex(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return s.n == HEX;
}

static bool vault_is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '.' || c == '_' || c == '-';
}

/* False: the name is too long, and out holds as much as fits. */
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
		if (vault_is_plain(s.p[i])) {
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
	if (vault_is_hex(signature)) {
		memcpy(out, signature.p, HEX);
		out[HEX] = '\0';
	} else if (!escape(signature, out)) {
		digest_sha1_hex(signature, sum);
		snprintf(out + CUT, VAULT_NAME - CUT, "~%s", sum);
	}
	return 0;
}

int vault_place(struct slice signature, const char *target, char out[VAULT_PLACE], struct err *e)
{
	char name[VAULT_NAME];
	int r = vault_name(signature, name, e);

	if (r == 0 && *target && (!fs_name_ok(slice_of(target)) || *target == '.'))
		r = err_set(e, EINVAL, "'%.100s' is no target's name", target);
	if (r == 0)
		snprintf(out, VAULT_PLACE, "%s/%s%s%.*s", dir_name, name,
			 *target ? "/" VAULT_BY "/" : "", NAME_MAX, target);
	return r;
}

void vault_path(const char *place, enum vault_file f, char out[VAULT_PATH])
{
	snprintf(out, VAULT_PATH, "%.*s/%s", VAULT_PLACE - 1, place, vault_file_name(f));
}

static int put_files(int dir, const struct vault_item *item, struct err *e)
{
	int r = 0;

	for (enum vault_file f = 0; f < VAULT_FILE_COUNT && r == 0; f++) {
		if (!item->file[f].p)
			continue;
		r = fs_replace(dir, vault_file_name(f), item->file[f], e);
		/* The cells' users read inputs, through a mount; the directory is ours. */
		if (r == 0 && fchmodat(dir, vault_file_name(f), MODE_FILE, 0) < 0)
			r = err_sys(e, "set the mode of '%s'", vault_file_name(f));
	}
	return r;
}

/* The name begins with a dot, unlike every crash's.  It is unique, since writers for two targets
 * may write one new crash at once. */
static void vault_aside(const char *name, const char *target, char out[ASIDE])
{
	char sum[DIGEST_SHA1_HEX];

	digest_sha1_hex(slice_of(target), sum);
	snprintf(out, ASIDE, ".%.*s.%.8s.new", CUT, name, sum);
}

static int write_dir(int crashes, const char *tmp, const struct vault_item *item, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_remove_tree(crashes, tmp, e); /* a killed writer may have left it */

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

/* -EEXIST: another process made the crash meanwhile. */
static int make_new(int in, const char *name, const struct vault_item *item, struct err *e)
{
	char tmp[ASIDE];
	struct err ignored;
	int r;

	vault_aside(name, item->target, tmp);
	r = write_dir(in, tmp, item, e);
	if (r == 0 && sys_renameat(in, tmp, name) < 0)
		r = errno == ENOTEMPTY ? err_set(e, EEXIST, "'%s' is there", name)
				       : err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (r < 0)
		(void)!fs_remove_tree(in, tmp, &ignored); /* the next writer removes it */
	return r;
}

/* A directory must be on disk before a file in it can be. */
static int vault_open_made(int in, const char *name, int *ret, struct err *e)
{
	int r;

	if (sys_mkdirat(in, name, MODE_DIR) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", name);
	r = fs_open_dir(in, name, ret, e);
	if (r == 0 && sys_fsync(in) < 0)
		r = err_sys(e, "fsync directory of '%s'", name);
	return r;
}

static int save_in(int in, const char *name, const struct vault_item *item, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(in, name, &dir, e);

	if (r == 0)
		r = put_files(dir, item, e);
	else if (r == -ENOENT)
		r = make_new(in, name, item, e);
	/* Also for an existing directory: the writer that made it may have failed before its
	 * sync. */
	if (r == 0 && sys_fsync(in) < 0)
		r = err_sys(e, "fsync the directory of '%s'", name);
	return r;
}

static int save_by(int crashes, const char *name, const struct vault_item *item, struct err *e)
{
	_autoclose_ int dir = -1, by = -1;
	int r = fs_open_dir(crashes, name, &dir, e);

	if (r == 0)
		r = vault_open_made(dir, VAULT_BY, &by, e);
	return r < 0 ? r : save_in(by, item->target, item, e);
}

/* Whether the crash's own directory belongs to the target; -ENOENT: there is none. */
static int is_own(int crashes, const char *name, const char *target, bool *ret, struct err *e)
{
	_autoclose_ int dir = -1;
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = NULL;
	struct err why;
	const char *owner;
	size_t n;
	int r = fs_open_dir(crashes, name, &dir, e);

	if (r < 0)
		return r;
	*ret = !*target;
	if (*ret)
		return 0;
	r = fs_read(dir, vault_file_name(VAULT_META), META_MAX, &text, &n, &why);
	if (r == -ENOENT) {
		*ret = true; /* without meta.json the directory is free */
		return 0;
	}
	if (r == 0)
		r = json_parse((struct slice){text, n}, &j, &why);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EIO)
		return err_set(e, -r, "%s", why.msg);
	owner = json_string_value(json_object_get(j, "target"));
	*ret = owner && strcmp(owner, target) == 0;
	return 0;
}

/* Saves to the target's place.  A new crash, or a crash of this target, uses the crash's own
 * directory. */
static int save_auto(int crashes, const char *name, const struct vault_item *item, bool *ret_own,
		     struct err *e)
{
	int r = is_own(crashes, name, item->target, ret_own, e);

	if (r == -ENOENT) {
		*ret_own = true;
		r = make_new(crashes, name, item, e);
		if (r == 0 && sys_fsync(crashes) < 0)
			r = err_sys(e, "fsync directory '%s'", dir_name);
		if (r != -EEXIST)
			return r;
		r = is_own(crashes, name, item->target, ret_own, e);
	}
	if (r < 0)
		return r;
	return *ret_own ? save_in(crashes, name, item, e) : save_by(crashes, name, item, e);
}

static int save(int state_dirfd, const char *name, const struct vault_item *item,
		char place[VAULT_PLACE], struct err *e)
{
	_autoclose_ int crashes = -1;
	bool own = false;
	int r = vault_open_made(state_dirfd, dir_name, &crashes, e);

	if (r < 0)
		return r;
	if (!item->place)
		r = save_auto(crashes, name, item, &own, e);
	else if (vault_place(item->signature, "", place, e) == 0 && strcmp(item->place, place) == 0)
		r = save_in(crashes, name, item, e);
	else
		r = save_by(crashes, name, item, e);
	if (r == 0 && item->place)
		snprintf(place, VAULT_PLACE, "%s", item->place);
	return r < 0 || item->place
		   ? r
		   : vault_place(item->signature, own ? "" : item->target, place, e);
}

int vault_save(int state_dirfd, const struct vault_item *item, char ret_place[VAULT_PLACE],
	       struct err *e)
{
	char name[VAULT_NAME], place[VAULT_PLACE];
	struct vault_item v = *item;
	int r = vault_name(v.signature, name, e);

	if (!v.target)
		v.target = "";
	if (r == 0)
		r = vault_place(v.signature, v.target, place, e);
	for (enum vault_file f = 0; f < VAULT_FILE_COUNT && r == 0; f++)
		if (v.file[f].n > VAULT_BYTES_MAX)
			r = err_set(e, EFBIG, "'%s' has %zu bytes", vault_file_name(f),
				    v.file[f].n);
	if (r < 0)
		return err_wrap(e, "save a crash");
	r = save(state_dirfd, name, &v, place, e);
	if (r == 0 && ret_place)
		memcpy(ret_place, place, sizeof(place));
	return r < 0 ? err_wrap(e, "save crash '%s'", name) : 0;
}

static int open_target(int state_dirfd, const char *name, const char *target, int *ret,
		       struct err *e)
{
	_autoclose_ int crashes = -1, dir = -1, by = -1;
	bool own = false;
	int r = fs_open_dir(state_dirfd, dir_name, &crashes, e);

	if (r == 0)
		r = is_own(crashes, name, target, &own, e);
	if (r == 0)
		r = fs_open_dir(crashes, name, &dir, e);
	if (r < 0)
		return r;
	if (own) {
		*ret = take_fd(&dir);
		return 0;
	}
	r = fs_open_dir(dir, VAULT_BY, &by, e);
	return r < 0 ? r : fs_open_dir(by, target, ret, e);
}

/* The directory with the target's files; name: the crash's, for messages. */
static int open_place(int state_dirfd, struct slice signature, const char *target,
		      char name[VAULT_NAME], int *ret, struct err *e)
{
	char place[VAULT_PLACE];
	int r = vault_name(signature, name, e);

	if (r == 0)
		r = vault_place(signature, target, place, e);
	if (r < 0)
		return err_wrap(e, "read of a crash");
	r = open_target(state_dirfd, name, target, ret, e);
	return r < 0 ? err_wrap(e, "crash '%s'", name) : 0;
}

int vault_read(int state_dirfd, struct slice signature, const char *target, enum vault_file f,
	       char **ret, size_t *ret_n, struct err *e)
{
	_autoclose_ int dir = -1;
	char name[VAULT_NAME];
	int r = open_place(state_dirfd, signature, target, name, &dir, e);

	if (r < 0)
		return r;
	r = fs_read(dir, vault_file_name(f), VAULT_BYTES_MAX, ret, ret_n, e);
	return r < 0 ? err_wrap(e, "crash '%s'", name) : 0;
}

int vault_open(int state_dirfd, struct slice signature, const char *target, enum vault_file f,
	       int *ret_fd, struct err *e)
{
	_autoclose_ int dir = -1;
	char name[VAULT_NAME];
	int r = open_place(state_dirfd, signature, target, name, &dir, e);

	if (r < 0)
		return r;
	r = fs_open_file(dir, vault_file_name(f), O_RDONLY, 0, ret_fd, e);
	return r < 0 ? err_wrap(e, "crash '%s'", name) : 0;
}

/* Removes the files that a killed fs_replace() leaves. */
static int sweep_files(int in, const char *name, struct err *e)
{
	char path[NAME_MAX + 32];

	for (enum vault_file f = 0; f < VAULT_FILE_COUNT; f++) {
		snprintf(path, sizeof(path), "%s/.%s.new", name, vault_file_name(f));
		if (sys_unlinkat(in, path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
			return err_sys(e, "remove '%s'", path);
	}
	return 0;
}

static int sweep_dir(int in, const char *name, bool is_crash, struct err *e);

static int sweep_entry(int in, const char *name, bool is_crash, struct err *e)
{
	const char *end = strrchr(name, '.');
	char by[NAME_MAX + 8];
	int r;

	if (name[0] == '.' && strcmp(end, ".new") == 0)
		return fs_remove_tree(in, name, e);
	if (name[0] == '.')
		return 0; /* skips ".", ".." and users' own files */
	r = sweep_files(in, name, e);
	if (r < 0 || !is_crash)
		return r;
	snprintf(by, sizeof(by), "%s/" VAULT_BY, name);
	return sweep_dir(in, by, false, e);
}

static int sweep_dir(int in, const char *name, bool is_crash, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(in, name);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT || (!is_crash && (errno == ENOTDIR || errno == ELOOP))
			   ? 0
			   : err_sys(e, "open directory '%s'", name);
	while (r == 0 && (ent = readdir(d)))
		r = sweep_entry(dirfd(d), ent->d_name, is_crash, e);
	return r;
}

int vault_sweep(int state_dirfd, struct err *e)
{
	int r = sweep_dir(state_dirfd, dir_name, true, e);

	return r < 0 ? err_wrap(e, "sweep '%s'", dir_name) : 0;
}
