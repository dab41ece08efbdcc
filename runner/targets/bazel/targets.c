/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz targets of a Bazel workspace: their labels, names, programs and files. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/bazel/bazel.h"
#include "runner/targets/bazel/files.h"
#include "runner/targets/bazel/graph.h"
#include "runner/targets/bazel/label.h"
#include "runner/targets/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes of labels in one query.  An argument has at most 128 KiB (MAX_ARG_STRLEN). */
enum { SET_MAX = 96 * 1024 };

struct entry {
	char *label;			 /* in find.labels */
	char name[NAMES_TARGET_MAX + 1]; /* "": not a valid name */
	char *path;			 /* relative to the execution root, or NULL */
};

struct find {
	const struct discover_source *s;
	struct bazel b;
	struct strv labels; /* sorted */
	struct entry *v;
	struct bazel_graph graph;
	char *root; /* the execution root */
	char error[BAZEL_ERROR_MAX];
	uint64_t searched, steps;
	struct target_list *out;
};

static void find_done(struct find *f)
{
	for (size_t i = 0; f->v && i < f->labels.n; i++)
		free(f->v[i].path);
	free(f->v);
	strv_done(&f->labels);
	bazel_graph_done(&f->graph);
	bazel_done(&f->b);
	free(f->root);
}

static struct place bazel_targets_place(const struct find *f)
{
	return (struct place){.dir = f->s->path};
}

/* --- names ---------------------------------------------------------------------------- */

static int bazel_targets_by_name(const void *a, const void *b)
{
	return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

/* Gives targets with the same name a longer name, with the package.  All of them change, so that
 * the names do not depend on their order. */
static void name_apart(struct find *f, struct entry **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		list_note(f->out, (struct place){.dir = v[i]->label}, true,
			  "%s is named '%s', too: the corpus and the crashes of either are "
			  "under a longer name",
			  v[i == 0 ? 1 : 0]->label, v[i]->name);
		bazel_label_target(v[i]->label, true, v[i]->name);
	}
}

static int bazel_targets_name_all(struct find *f, struct err *e)
{
	_autofree_ struct entry **v = xcalloc(f->labels.n + 1, sizeof(struct entry *));
	size_t n = f->labels.n, same;

	for (size_t i = 0; i < n; i++) {
		bazel_label_target(f->v[i].label, false, f->v[i].name);
		v[i] = &f->v[i];
	}
	qsort(v, n, sizeof(struct entry *), bazel_targets_by_name);
	for (size_t i = 0; i < n; i += same) {
		for (same = 1; i + same < n && strcmp(v[i]->name, v[i + same]->name) == 0; same++)
			;
		if (same > 1 && *v[i]->name)
			name_apart(f, v + i, same);
	}
	qsort(v, n, sizeof(struct entry *), bazel_targets_by_name);
	for (size_t i = 0; i + 1 < n; i++)
		if (*v[i]->name && strcmp(v[i]->name, v[i + 1]->name) == 0)
			return err_set(e, EEXIST,
				       "two targets are named '%s': %s and %s: rename one",
				       v[i]->name, v[i]->label, v[i + 1]->label);
	return 0;
}

/* --- Bazel's answers ------------------------------------------------------------------ */

static int take_xml(void *arg, struct slice block, struct err *e)
{
	return bazel_reader_feed(arg, block, e);
}

static void reader_free_p(struct bazel_reader **r)
{
	bazel_reader_free(*r);
}

/* Queries the targets, their siblings (rules of the same macro call), and the data of all of
 * these. */
static int query_graph(struct find *f, struct err *e)
{
	static const char *const args[] = {"--output=xml", "--keep_going", "--noimplicit_deps",
					   "--order_output=no", "--"};
	_autostrv_ struct strv argv = {0};
	CLEANUP(reader_free_p) struct bazel_reader *reader = bazel_reader_new(&f->graph);
	struct bazel_call c = {.command = "query", .args = &argv, .out = take_xml, .log_fd = -1};
	int r, code = 0;

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		strv_push(&argv, args[i]);
	strv_pushf(&argv,
		   "let t = (%s) in let d = $t + attr(generator_name, \".\", "
		   "siblings($t)) in $d + deps(labels(data, $d) + labels(corpus, $d) + "
		   "labels(dictionary, $d) + labels(dicts, $d), 8)",
		   f->b.query);
	c.arg = reader;
	r = bazel_call(&f->b, &c, &code, f->error, e);
	if (r == 0 && code != 0 && code != 3)
		r = err_set(e, EPROTO, "%s query: %s", f->b.program, f->error);
	return r == 0 ? bazel_reader_end(reader, e) : r;
}

struct answer {
	struct find *f;
	struct buf *text;
	struct lines lines;
};

static int by_entry(const void *key, const void *entry)
{
	return strcmp(key, ((const struct entry *)entry)->label);
}

/* "LABEL<tab>PATH" */
static void on_path(void *arg, struct slice line)
{
	struct answer *a = arg;
	_autofree_ char *text = xstrndup(line.p, line.n);
	char *tab = strchr(text, '\t');
	const char *plain;
	struct entry *entry;

	if (!tab || tab[1] == '/' || !tab[1] || strstr(tab + 1, ".."))
		return;
	*tab = '\0';
	plain = bazel_label_plain(text);
	entry = plain ? bsearch(plain, a->f->v, a->f->labels.n, sizeof(*a->f->v), by_entry) : NULL;
	if (!entry || entry->path)
		return;
	entry->path = xstrdup(tab + 1);
}

static int take_paths(void *arg, struct slice block, struct err *e)
{
	struct answer *a = arg;

	lines_feed(&a->lines, block, on_path, a);
	(void)e;
	return 0;
}

static int bazel_targets_take_text(void *arg, struct slice block, struct err *e)
{
	struct buf *text = ((struct answer *)arg)->text;

	buf_put(text, block);
	return buf_check(text, e);
}

/* Queries the programs' paths with the flags of the build, because flags may change the output
 * directory.  Bazel before 5.3 has no --output=files. */
static int query_paths_of(struct find *f, const char *set, int *ret_code, struct err *e)
{
	static const char expr[] =
	    "--starlark:expr=str(target.label) + '\\t' + (target.files_to_run.executable.path if "
	    "target.files_to_run and target.files_to_run.executable else '')";
	static const char *const args[] = {"--keep_going", "--output=starlark", expr, "--"};
	_autostrv_ struct strv argv = {0};
	_autofree_ struct answer *a = xcalloc(1, sizeof(*a));
	struct bazel_call c = {
	    .command = "cquery", .args = &argv, .out = take_paths, .arg = a, .log_fd = -1};
	int r;

	a->f = f;
	for (size_t i = 0; i < f->b.flags.n; i++)
		strv_push(&argv, f->b.flags.v[i]);
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		strv_push(&argv, args[i]);
	strv_pushf(&argv, "set(%s)", set);
	r = bazel_call(&f->b, &c, ret_code, f->error, e);
	if (r == 0)
		lines_end(&a->lines, on_path, a);
	return r;
}

static int query_paths(struct find *f, struct err *e)
{
	_autobuf_ struct buf set = BUF_INIT(SET_MAX + BAZEL_LABEL_MAX + 8);
	bool any = false;
	int r = 0, code = 0;

	for (size_t i = 0; r == 0 && i < f->labels.n; i++) {
		buf_printf(&set, "%s\"%s\"", set.n ? " " : "", f->labels.v[i]);
		if (set.n < SET_MAX && i + 1 < f->labels.n)
			continue;
		r = buf_check(&set, e);
		if (r == 0)
			r = query_paths_of(f, buf_str(&set), &code, e);
		buf_clear(&set);
	}
	for (size_t i = 0; i < f->labels.n; i++)
		any = any || f->v[i].path;
	if (r == 0 && !any)
		r = err_set(e, EPROTO, "%s cquery: %s", f->b.program,
			    *f->error ? f->error : "no target has a program");
	return r;
}

static int query_root(struct find *f, struct err *e)
{
	_autostrv_ struct strv argv = {0};
	_autobuf_ struct buf text = BUF_INIT(8192);
	struct answer a = {.text = &text};
	struct bazel_call c = {.command = "info",
			       .args = &argv,
			       .out = bazel_targets_take_text,
			       .arg = &a,
			       .log_fd = -1};
	int code = 0, r;

	strv_push(&argv, "execution_root");
	r = bazel_call(&f->b, &c, &code, f->error, e);
	if (r < 0)
		return r;
	if (text.n > 0 && text.p[text.n - 1] == '\n')
		text.p[--text.n] = '\0';
	if (code != 0 || *buf_str(&text) != '/' || strchr(buf_str(&text), '\n'))
		return err_set(e, EPROTO, "%s info: %s", f->b.program,
			       *f->error ? f->error : "it printed no execution root");
	f->root = xstrdup(buf_str(&text));
	return 0;
}

/* --- targets -------------------------------------------------------------------------- */

static const char *why_unbuilt(const struct find *f, const char *label)
{
	const struct discover_built *b = f->s->built;

	for (size_t i = 0; b && i < b->labels.n && i < b->whys.n; i++)
		if (strcmp(b->labels.v[i], label) == 0)
			return b->whys.v[i];
	return NULL;
}

/* Appends a word for a shell, in single quotes if needed. */
static void bazel_targets_add_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_=/:.,+@%";
	if (*word && word[strspn(word, plain)] == '\0') {
		buf_printf(out, " %s", word);
		return;
	}
	buf_puts(out, " '");
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_put(out, (struct slice){word, 1});
	buf_puts(out, "'");
}

/* Writes the build command as a user would type it in the workspace.  The flags are words of the
 * configuration. */
static int bazel_targets_set_build(const struct find *f, struct target *t, const char *label,
				   struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(65536);

	buf_puts(&text, "bazel build");
	for (size_t i = 0; i < f->b.flags.n; i++)
		bazel_targets_add_word(&text, f->b.flags.v[i]);
	bazel_targets_add_word(&text, label);
	t->build = xstrdup(buf_str(&text));
	return buf_check(&text, e);
}

static int bazel_targets_set_corpus(const struct find *f, struct target *t, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(65536);
	size_t n = strlen(f->b.dir);

	for (size_t i = 0; i < t->seed_dirs.n; i++)
		if (strncmp(t->seed_dirs.v[i], f->b.dir, n) == 0 && t->seed_dirs.v[i][n] == '/')
			buf_printf(&text, "%s%s", text.n ? " " : "", t->seed_dirs.v[i] + n + 1);
	if (text.n > 0)
		t->corpus = xstrdup(buf_str(&text));
	return buf_check(&text, e);
}

/* Examines the program: sets its engine and size, or the reason why it is not usable. */
static int bazel_targets_examine(struct find *f, struct target *t, int fd, const char *label,
				 struct err *e)
{
	struct binary b = {0};
	char *real;
	int r = binary_probe(fd, &f->searched, &b, e);

	if (r < 0)
		return err_wrap(e, "%s", label);
	t->size = b.size;
	if (b.changed) {
		source_unbuilt(t, "%s changed while it was read: is a build running?", label);
		return 0;
	}
	if (!b.engine || !b.executable) {
		source_unbuilt(t, "%s: its program has no fuzzing entry point", label);
		return 0;
	}
	if (b.engine->tests) {
		source_unbuilt(t, "%s: a program with several fuzz tests: name them in a manifest",
			       label);
		return 0;
	}
	t->engine = b.engine;
	r = source_fd_path(fd, &real, e);
	if (r < 0)
		return r;
	free(t->binary);
	t->binary = real;
	return 0;
}

static int bazel_targets_examine_program(struct find *f, struct target *t, const char *label,
					 struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;

	/* Opening a device may have side effects. */
	if (fstatat(AT_FDCWD, t->binary, &st, 0) < 0) {
		source_unbuilt(t, "%s is not built (fuzzcell build)", label);
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		source_unbuilt(t, "%s: its program is not a regular file", label);
		return 0;
	}
	fd = sys_openat(AT_FDCWD, t->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0) {
		source_unbuilt(t, "%s: %s", label, strerror(errno));
		return 0;
	}
	return bazel_targets_examine(f, t, fd, label, e);
}

static int bazel_targets_add_entry(struct find *f, const struct entry *entry, struct err *e)
{
	CLEANUP(target_done) struct target t = {.engine = engine_at(0)};
	const char *why = why_unbuilt(f, entry->label);
	int r;

	if (!*entry->name) {
		list_note(f->out, (struct place){.dir = entry->label}, true,
			  "its name is too long for a target");
		return 0;
	}
	t.name = xstrdup(entry->name);
	t.binary = xasprintf("%s/%s", f->root, entry->path ? entry->path : entry->name);
	t.label = xstrdup(entry->label);
	t.made = entry->path ? xstrdup(entry->path) : NULL;
	r = bazel_targets_set_build(f, &t, entry->label, e);
	if (r < 0)
		return r;
	if (why)
		source_unbuilt(&t, "%s did not build: %s", entry->label, why);
	else if (!entry->path)
		source_unbuilt(&t, "Bazel reports no program of %s: %s", entry->label, f->error);
	else
		r = bazel_targets_examine_program(f, &t, entry->label, e);
	if (r == 0)
		r = bazel_files(&f->b, &f->graph, entry->label, &t, f->out, &f->steps, e);
	if (r == 0)
		r = bazel_targets_set_corpus(f, &t, e);
	if (r < 0)
		return r;
	if (t.unbuilt)
		list_note(f->out, bazel_targets_place(f), true, "%s", t.unbuilt);
	return list_add_target(f->out, &t, e);
}

int discover_bazel(const struct discover_source *s, struct target_list *out, struct err *e)
{
	CLEANUP(find_done) struct find f = {.s = s, .b = BAZEL_INIT, .out = out};
	int r = bazel_open(s, &f.b, e);

	if (r == 0)
		r = bazel_labels(&f.b, &f.labels, f.error, e);
	if (r < 0)
		return r;
	out->partial = *f.error;
	if (out->partial)
		list_note(out, bazel_targets_place(&f), true, "there may be more targets: %s",
			  f.error);
	if (f.labels.n == 0) {
		list_note(out, bazel_targets_place(&f), true, "the query finds no target: %s",
			  f.b.query);
		return 0;
	}
	f.v = xcalloc(f.labels.n, sizeof(*f.v));
	for (size_t i = 0; i < f.labels.n; i++)
		f.v[i].label = f.labels.v[i];
	r = bazel_targets_name_all(&f, e);
	if (r == 0)
		r = query_graph(&f, e);
	if (r == 0)
		r = query_paths(&f, e);
	if (r == 0)
		r = query_root(&f, e);
	for (size_t i = 0; r == 0 && i < f.labels.n; i++)
		r = bazel_targets_add_entry(&f, &f.v[i], e);
	return r;
}
