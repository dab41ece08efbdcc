/* SPDX-License-Identifier: Apache-2.0 */
/* A list of targets, written by a user or a build.  A path in it may name any file that
 * the manifest's owner can read (discover.c checks this).  Every mistake is an error with its
 * place. */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/names.h"
#include "runner/targets/source.h"
#include "runner/targets/tests.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The state while one entry is read. */
struct reading {
	const char *dir; /* the manifest's directory, absolute; relative paths start there */
	struct target_list *list;
	struct target t;
	struct optfile options;
	struct tests tests; /* of a program that has several */
	size_t item;	    /* index in the current list, for errors; or NO_ITEM */
	uint64_t searched;
};

#define NO_ITEM SIZE_MAX

typedef int key_fn(struct reading *m, json_t *v, struct err *e);
static key_fn manifest_read_name, read_binary, read_test, read_files, read_seeds, read_dict,
    read_options, read_flags, read_env;

/* The keys are read in this order, not in the file's order.  The engine is known only after the
 * binary.  flags and dict override the options file. */
static const struct {
	const char *name;
	key_fn *fn;
	bool required;
} keys[] = {
    {"name", manifest_read_name, true}, {"binary", read_binary, true},
    {"test", read_test, false},		{"files", read_files, false},
    {"options", read_options, false},	{"flags", read_flags, false},
    {"dict", read_dict, false},		{"seeds", read_seeds, false},
    {"env", read_env, false},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* "'text'", printable and not too long for an error. */
struct quoted {
	char text[ESCAPE_ASCII_MAX];
};

static const char *manifest_quote(const char *s, struct quoted *q)
{
	return escape_ascii(slice_of(s), q->text);
}

/* NULL with an error: v is no text, or empty. */
static const char *manifest_get_text(const json_t *v, struct err *e)
{
	const char *text = json_string_value(v);

	if (text && text[0])
		return text;
	err_set(e, EINVAL, "must be a text that is not empty");
	return NULL;
}

/* --- paths ------------------------------------------------------------------ */

/* Makes v an absolute path and opens it.  It must be a directory or a regular file. */
static int manifest_open_path(const struct reading *m, json_t *v, char **ret_path, int *ret_fd,
			      struct stat *st, struct err *e)
{
	_autofree_ char *path = NULL;
	_autoclose_ int fd = -1;
	const char *text = manifest_get_text(v, e);
	struct quoted q;

	if (!text)
		return err_code(e);
	path = text[0] == '/' ? xstrdup(text) : xasprintf("%s/%s", m->dir, text);
	/* Opening a device may have side effects. */
	if (fstatat(AT_FDCWD, path, st, 0) < 0)
		return err_sys(e, "'%.300s'", manifest_quote(path, &q));
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return err_set(e, EINVAL, "'%.300s' is neither a file nor a directory",
			       manifest_quote(path, &q));
	fd = rights_open_named(NULL, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(e, "'%.300s'", manifest_quote(path, &q));
	*ret_path = take_ptr(&path);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_typed(const struct reading *m, json_t *v, bool dir, char **ret_path, int *ret_fd,
		      struct err *e)
{
	struct stat st = {0};
	struct quoted q;
	int r = manifest_open_path(m, v, ret_path, ret_fd, &st, e);

	if (r == 0 && S_ISDIR(st.st_mode) != dir)
		return err_set(e, dir ? ENOTDIR : EISDIR, "'%.300s' is %s",
			       manifest_quote(*ret_path, &q),
			       dir ? "not a directory" : "a directory");
	return r;
}

/* --- keys ------------------------------------------------------------------- */

static int manifest_read_name(struct reading *m, json_t *v, struct err *e)
{
	const char *text = manifest_get_text(v, e);

	if (!text)
		return err_code(e);
	if (!names_target_ok(slice_of(text)))
		return err_set(
		    e, EINVAL,
		    "must have at most %d letters, digits and @ _ . -, and not begin with . or -",
		    NAMES_TARGET_MAX);
	m->t.name = xstrdup(text);
	return 0;
}

static int find_tests(struct reading *m, int fd, const char *path, struct err *e)
{
	const char *why = *m->t.engine->tests ? tests_in(fd, m->t.engine->tests, &m->tests) : NULL;

	if (why)
		return err_set(e, ENOEXEC, "'%.300s' %s", path, why);
	m->t.sanitized = m->tests.sanitized;
	return 0;
}

static int read_binary(struct reading *m, json_t *v, struct err *e)
{
	_autoclose_ int fd = -1;
	struct quoted q;
	struct binary b = {0};
	int r = open_typed(m, v, false, &m->t.binary, &fd, e);

	if (r == 0)
		r = binary_probe(fd, &m->searched, &b, e);
	if (r < 0)
		return r;
	manifest_quote(m->t.binary, &q);
	if (!b.executable)
		return err_set(e, EACCES, "'%.300s' has no permission to execute", q.text);
	if (!b.elf && !b.script)
		return err_set(e, ENOEXEC, "'%.300s' is neither an ELF program nor a script",
			       q.text);
	if (b.changed)
		return err_set(e, EBUSY, "'%.300s' changed while it was read", q.text);
	if (!b.engine)
		return err_set(e, ENOEXEC, "'%.300s' has no fuzzing entry point", q.text);
	m->t.engine = b.engine;
	m->t.size = b.size;
	return b.engine->tests ? find_tests(m, fd, q.text, e) : 0;
}

static int read_test(struct reading *m, json_t *v, struct err *e)
{
	const char *text = manifest_get_text(v, e);
	struct quoted q;

	if (!text)
		return err_code(e);
	if (!m->t.engine->tests)
		return err_set(e, EINVAL, "a program of %s has no tests", m->t.engine->name);
	if (*m->t.engine->tests ? !tests_has(&m->tests, text) : !tests_name_ok(slice_of(text)))
		return err_set(e, EINVAL, "the program has no fuzz test '%.100s'",
			       manifest_quote(text, &q));
	m->t.test = xstrdup(text);
	return 0;
}

static int read_files(struct reading *m, json_t *v, struct err *e)
{
	_autoclose_ int fd = -1;

	return json_is_null(v) ? 0 : open_typed(m, v, true, &m->t.dir, &fd, e);
}

static int read_options(struct reading *m, json_t *v, struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *path = NULL;
	int r = open_typed(m, v, false, &path, &fd, e);

	if (r == 0)
		r = source_options(m->list, (struct place){.dir = path}, fd, m->t.engine,
				   &m->options, e);
	if (r < 0 || !m->options.dict)
		return r;
	free(m->options.dict);
	m->options.dict = NULL;
	list_note(m->list, (struct place){.dir = path}, true,
		  "its dict is not used: name it in the manifest, as \"dict\"");
	return 0;
}

static int read_flag(struct reading *m, const char *text, struct err *e)
{
	struct slice flag = slice_of(text), key;
	char why[OPTFILE_WHY_MAX];
	struct quoted q;

	if (!scan_lit(&flag, SLICE("-")) || !scan_until(&flag, '=', OPTFILE_KEY_MAX, &key) ||
	    !scan_lit(&flag, SLICE("=")))
		return err_set(e, EINVAL, "'%.100s': write -name=value", manifest_quote(text, &q));
	if (slice_eq(key, SLICE("dict")))
		return err_set(e, EINVAL, "'%.100s': use the key \"dict\"",
			       manifest_quote(text, &q));
	if (!optfile_flag(&m->options, m->t.engine, key, flag, why))
		return err_set(e, EINVAL, "'%.100s': %s", manifest_quote(text, &q), why);
	return 0;
}

static int read_flags(struct reading *m, json_t *v, struct err *e)
{
	if (!json_is_array(v))
		return err_set(e, EINVAL, "must be a list of texts");
	for (m->item = 0; m->item < json_array_size(v); m->item++) {
		const char *text = manifest_get_text(json_array_get(v, m->item), e);

		if (!text || read_flag(m, text, e) < 0)
			return err_code(e);
	}
	m->item = NO_ITEM;
	return 0;
}

static int read_dict(struct reading *m, json_t *v, struct err *e)
{
	_autoclose_ int fd = -1;

	return json_is_null(v) ? 0 : open_typed(m, v, false, &m->t.dict, &fd, e);
}

static int read_seed(struct reading *m, json_t *v, struct err *e)
{
	_autofree_ char *path = NULL;
	_autoclose_ int fd = -1;
	struct stat st = {0};
	int r = manifest_open_path(m, v, &path, &fd, &st, e);

	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode)) {
		strv_push(&m->t.seed_dirs, path);
		return 0;
	}
	if (m->t.seed_archive)
		return err_set(e, EINVAL,
			       "a second file: seeds are directories, and at most one archive");
	m->t.seed_archive = take_ptr(&path);
	return 0;
}

static int read_seeds(struct reading *m, json_t *v, struct err *e)
{
	if (!json_is_array(v))
		return err_set(e, EINVAL, "must be a list of directories and at most one archive");
	for (m->item = 0; m->item < json_array_size(v); m->item++)
		if (read_seed(m, json_array_get(v, m->item), e) < 0)
			return err_code(e);
	m->item = NO_ITEM;
	return 0;
}

static int read_env(struct reading *m, json_t *v, struct err *e)
{
	const char *name;
	json_t *value;

	if (!json_is_object(v))
		return err_set(e, EINVAL, "must be an object of texts");
	json_object_foreach(v, name, value)
	{
		const char *text = json_string_value(value);
		struct quoted q;

		if (!optfile_env_name_ok(slice_of(name)))
			return err_set(e, EINVAL, "'%.100s' is not a variable's name",
				       manifest_quote(name, &q));
		if (!text || !optfile_value_ok(slice_of(text)))
			return err_set(e, EINVAL,
				       "%s must be a text of at most %d bytes without control "
				       "characters",
				       name, OPTFILE_VALUE_MAX);
		strv_pushf(&m->options.env, "%s=%s", name, text);
	}
	return 0;
}

/* --- entries ---------------------------------------------------------------- */

static int check_key(const char *name, struct err *e)
{
	const char *known[KEYS], *near;
	struct quoted q;

	for (size_t i = 0; i < KEYS; i++) {
		known[i] = keys[i].name;
		if (strcmp(keys[i].name, name) == 0)
			return 0;
	}
	near = names_near(slice_of(name), known, KEYS);
	return err_set(e, EINVAL, "unknown key \"%.100s\"%s%s%s", manifest_quote(name, &q),
		       near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static int manifest_read_key(struct reading *m, size_t key, json_t *v, struct err *e)
{
	int r = keys[key].fn(m, v, e);

	if (r < 0 && m->item != NO_ITEM)
		return err_wrap(e, "%s[%zu]", keys[key].name, m->item);
	return r < 0 ? err_wrap(e, "%s", keys[key].name) : 0;
}

static int check_keys(json_t *entry, struct err *e)
{
	const char *name;
	json_t *v;

	if (!json_is_object(entry))
		return err_set(e, EINVAL, "must be an object");
	json_object_foreach(entry, name, v)
	{
		if (check_key(name, e) < 0)
			return err_code(e);
	}
	return 0;
}

static int read_keys(struct reading *m, json_t *entry, struct err *e)
{
	int r = check_keys(entry, e);

	for (size_t i = 0; r == 0 && i < KEYS; i++) {
		json_t *v = json_object_get(entry, keys[i].name);

		if (!v && keys[i].required)
			return err_set(e, EINVAL, "\"%s\" is missing", keys[i].name);
		if (v && (keys[i].required || !json_is_null(v)))
			r = manifest_read_key(m, i, v, e);
	}
	return r;
}

static void manifest_reading_done(struct reading *m)
{
	target_done(&m->t);
	optfile_done(&m->options);
	strv_done(&m->tests.names);
}

/* Reads one entry.  Errors have its number, and its name if there is one. */
static int manifest_read_entry(struct target_list *out, const char *dir, size_t i, json_t *entry,
			       uint64_t *io_searched, struct err *e)
{
	CLEANUP(manifest_reading_done)
	struct reading m = {.dir = dir, .list = out, .item = NO_ITEM, .searched = *io_searched};
	const char *name = json_string_value(json_object_get(entry, "name"));
	struct quoted q;
	int r = read_keys(&m, entry, e);

	*io_searched = m.searched;
	if (r < 0 && name)
		return err_wrap(e, "targets[%zu] (\"%.128s\")", i, manifest_quote(name, &q));
	if (r < 0)
		return err_wrap(e, "targets[%zu]", i);
	if (m.t.engine && m.t.engine->tests && !m.t.test)
		return err_set(e, EINVAL,
			       "targets[%zu]: \"test\" is missing: it names a fuzz test "
			       "of the program",
			       i);
	source_use_options(&m.t, &m.options);
	return list_add_target(out, &m.t, e);
}

int manifest_parse(struct slice text, const char *dir, struct target_list *out, struct err *e)
{
	_autojson_ json_t *root = NULL;
	const char *name;
	uint64_t searched = 0;
	json_t *targets, *v;
	int r = json_parse(text, &root, e);

	if (r < 0)
		return r;
	json_object_foreach(root, name, v)
	{
		struct quoted q;

		if (strcmp(name, "targets") != 0)
			return err_set(e, EINVAL, "unknown key \"%.100s\" (there is \"targets\")",
				       manifest_quote(name, &q));
	}
	targets = json_object_get(root, "targets");
	if (!json_is_array(targets))
		return err_set(e, EINVAL, "must be {\"targets\": [...]}");
	for (size_t i = 0; r == 0 && i < json_array_size(targets); i++)
		r = manifest_read_entry(out, dir, i, json_array_get(targets, i), &searched, e);
	return r;
}

int discover_manifest(const struct discover_source *s, struct target_list *out, struct err *e)
{
	_autofree_ char *text = NULL, *real = NULL;
	_autoclose_ int fd = -1;
	const char *path = s->path, *slash = strrchr(path, '/');
	_autofree_ char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	size_t n;
	int r;

	r = fs_read(AT_FDCWD, path, DISCOVER_MAX_MANIFEST, &text, &n, e);
	if (r < 0)
		return r;
	fd = sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return err_sys(e, "open directory '%s'", dir);
	r = source_fd_path(fd, &real, e);
	return r < 0 ? r : manifest_parse((struct slice){text, n}, real, out, e);
}
