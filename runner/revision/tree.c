/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/revision/tree.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Limits of one git command, of its output, and of what a repository may name. */
#define GIT_US (UINT64_C(30) * 60 * USEC_PER_SEC)
enum {
	OUTPUT_MAX = 1 << 16,
	ROW_BYTES_MAX = 16 << 20,
	FILTERS_MAX = 200,
	SUBMODULES_MAX = 1000,
	TREE_BYTES_MAX = 256 << 20,
	DEPTH_MAX = 8,
	PATH_LONGEST = 4096,
};

struct revision_tree {
	struct git source;
	const struct git_limits *limits;
	char *path;	     /* of the work tree */
	char *parent;	     /* <git directory>/fuzzcell */
	const char *name;    /* in path */
	struct strv modules; /* directories of submodules of the user, pruned at the end */
};

/* --- git ------------------------------------------------------------------- */

static void last_line(struct slice output, char out[GIT_WHY])
{
	char shown[ESCAPE_ASCII_MAX];
	struct slice line, last = SLICE("no reason given");

	while (scan_line(&output, &line))
		if (line.n > 0)
			last = line;
	snprintf(out, GIT_WHY, "%.*s", GIT_WHY - 1, escape_ascii(last, shown));
}

/* The configuration of a repository names the commands of filters.  An empty command is none. */
static void add_filter(struct strv *env, struct slice key, unsigned n)
{
	bool required = key.n > 9 && memcmp(key.p + key.n - 9, ".required", 9) == 0;

	strv_pushf(env, "GIT_CONFIG_KEY_%u=%.*s", n, (int)key.n, key.p);
	strv_pushf(env, "GIT_CONFIG_VALUE_%u=%s", n, required ? "false" : "");
}

/* For commands that write files: no filter, and no network, also not for objects that a partial
 * clone lacks.  It is asked in the work tree that is written: the configuration may depend on it,
 * and a submodule has its own. */
static int make_env(const struct git *g, struct strv *env, struct err *e)
{
	static const char *const args[] = {"config",	   "--null",	 "--name-only",
					   "--get-regexp", "^filter\\.", NULL};
	_autobuf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	struct slice rest, key;
	unsigned n = 0;
	int r = git_run(g, args, &out, e);

	if (r < 0)
		return r;
	rest = buf_slice(&out);
	while (scan_until(&rest, '\0', OUTPUT_MAX, &key) && scan_lit(&rest, SLICE("\0"))) {
		if (n == FILTERS_MAX)
			return err_set(e, E2BIG, "'%.200s' configures more than %d filters", g->top,
				       FILTERS_MAX);
		add_filter(env, key, n++);
	}
	strv_pushf(env, "GIT_CONFIG_COUNT=%u", n);
	strv_push(env, "GIT_ALLOW_PROTOCOL=");
	strv_push(env, "GIT_NO_LAZY_FETCH=1");
	return 0;
}

/* Runs a command that writes files. */
static int change(const struct git *g, const char *const *args, struct err *e)
{
	_autobuf_ struct buf output = BUF_INIT(OUTPUT_MAX);
	_autostrv_ struct strv env = {0};
	char why[GIT_WHY];
	int r = make_env(g, &env, e);

	if (r == 0)
		r = git_run_timed(g, args, (const char *const *)env.v, GIT_US, &output, e);
	if (r <= 0)
		return r;
	last_line(buf_slice(&output), why);
	return err_set(e, EPROTO, "git %s: %s", args[0], why);
}

/* --- the repository -------------------------------------------------------- */

static int find_path(struct revision_tree *t, const char *name, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--path-format=absolute",
					   "--git-common-dir", NULL};
	_autofree_ char *dir = NULL;
	int r = git_ask(&t->source, args, &dir, e);

	if (r < 0)
		return r;
	t->parent = xasprintf("%s/fuzzcell", dir);
	t->path = xasprintf("%s/%s", t->parent, name);
	t->name = t->path + strlen(t->parent) + 1;
	return strlen(t->path) < PATH_LONGEST ? 0
					      : err_set(e, ENAMETOOLONG, "'%.200s': too long", dir);
}

int revision_open(const char *dir, const char *name, const struct git_limits *limits,
		  struct revision_tree **ret, struct err *e)
{
	struct revision_tree *t = xcalloc(1, sizeof(*t));
	char why[GIT_WHY];
	int r;

	t->limits = limits;
	r = git_open(dir, &t->source, why, e);
	if (r == 0)
		r = err_set(e, EINVAL, "'%.200s': %s", dir, why);
	if (r > 0)
		r = git_limit(&t->source, limits, e);
	if (r == 0)
		r = find_path(t, name, e);
	if (r < 0) {
		git_done(&t->source);
		free(t->path);
		free(t->parent);
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

const char *revision_top(const struct revision_tree *t)
{
	return t->source.top;
}

const char *revision_path(const struct revision_tree *t)
{
	return t->path;
}

int revision_find(const struct revision_tree *t, const char *text, char ret[COMMIT_MAX],
		  struct err *e)
{
	_autofree_ char *rev = xasprintf("%.250s^{commit}", text);
	const char *const args[] = {"rev-parse", "--verify", "-q", "--end-of-options", rev, NULL};
	_autofree_ char *answer = NULL;
	char shown[ESCAPE_ASCII_MAX];
	int r = git_ask(&t->source, args, &answer, e);

	if (r < 0 && r != -EPROTO)
		return r;
	if (r >= 0 && commit_ok(answer)) {
		snprintf(ret, COMMIT_MAX, "%s", answer);
		return 0;
	}
	return err_set(e, ENOENT,
		       "'%.200s' has no commit '%.80s': it may have been rewritten, or not be "
		       "fetched (git fetch, for a shallow clone git fetch --unshallow)",
		       t->source.top, escape_ascii(slice_of(text), shown));
}

int revision_dirty(const struct revision_tree *t, struct err *e)
{
	static const char *const args[] = {
	    "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=none",
	    NULL};
	_autobuf_ struct buf out = BUF_INIT(TREE_BYTES_MAX);
	int r = git_run(&t->source, args, &out, e);

	return r < 0 ? r : out.n > 0;
}

int revision_shallow(const struct revision_tree *t, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--is-shallow-repository", NULL};
	_autofree_ char *answer = NULL;
	int r = git_ask(&t->source, args, &answer, e);

	return r < 0 ? r : strcmp(answer, "true") == 0;
}

void revision_row_done(struct revision_row *r)
{
	free(r->v);
	*r = (struct revision_row){0};
}

static void add_commit(struct revision_row *r, struct slice name, size_t *io_cap)
{
	char text[COMMIT_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)(name.n < COMMIT_MAX ? name.n : 0), name.p);
	if (!commit_ok(text))
		return;
	if (r->n == *io_cap) {
		*io_cap = *io_cap ? *io_cap * 2 : 256;
		r->v = xreallocarray(r->v, *io_cap, sizeof(*r->v));
	}
	memcpy(r->v[r->n++], text, COMMIT_MAX);
}

/* Appends the first parents from `newest` back, at most max, without those in the history of
 * `without`. */
static int list_parents(const struct revision_tree *t, const char *newest, const char *without,
			size_t max, struct revision_row *io, size_t *io_cap, struct err *e)
{
	char count[40], not [COMMIT_MAX + 1];
	const char *const args[] = {"rev-list", "--first-parent", count, newest, "--", NULL};
	const char *const some[] = {"rev-list", "--first-parent", count, newest, not, "--", NULL};
	_autobuf_ struct buf out = BUF_INIT(ROW_BYTES_MAX);
	struct slice rest, line;
	int r;

	snprintf(count, sizeof(count), "--max-count=%zu", max);
	snprintf(not, sizeof(not ), "^%s", without ? without : "");
	r = git_run(&t->source, without ? some : args, &out, e);
	if (r < 0)
		return r;
	rest = buf_slice(&out);
	while (scan_line(&rest, &line))
		add_commit(io, line, io_cap);
	return 0;
}

static int is_ancestor(const struct revision_tree *t, const char *a, const char *b, struct err *e)
{
	const char *const args[] = {"merge-base", "--is-ancestor", a, b, NULL};
	int r = git_run(&t->source, args, NULL, e);

	return r < 0 ? r : r == 0;
}

/* Adds the first parent of the last commit, which is in the history of `oldest`. */
static int add_end(const struct revision_tree *t, const char *newest, struct revision_row *io,
		   size_t *io_cap, struct err *e)
{
	char last[COMMIT_MAX];
	size_t n = io->n;
	int r;

	snprintf(last, sizeof(last), "%s", n ? io->v[n - 1] : newest);
	r = list_parents(t, last, NULL, n ? 2 : 1, io, io_cap, e);
	if (r == 0 && n && io->n == n + 2) {
		memcpy(io->v[n], io->v[n + 1], COMMIT_MAX);
		io->n--;
	} else if (r == 0 && n) {
		io->n = n; /* the last commit has no parent */
	}
	return r;
}

int revision_list(const struct revision_tree *t, const char *newest, const char *oldest,
		  struct revision_row *ret, struct err *e)
{
	CLEANUP(revision_row_done) struct revision_row row = {0};
	size_t cap = 0;
	int r = oldest ? is_ancestor(t, oldest, newest, e) : 1;

	if (r == 0)
		return err_set(e, EINVAL, "%.12s is not in the history of %.12s", oldest, newest);
	if (r > 0)
		r = list_parents(t, newest, oldest, REVISION_ROW_MAX + 1, &row, &cap, e);
	if (r < 0)
		return r;
	row.cut = row.n > REVISION_ROW_MAX;
	if (row.cut)
		row.n = REVISION_ROW_MAX;
	else if (oldest)
		r = add_end(t, newest, &row, &cap, e);
	if (r == 0 && row.n == 0)
		r = err_set(e, EPROTO, "git names no commit of %.12s", newest);
	if (r < 0)
		return r;
	*ret = row;
	row = (struct revision_row){0};
	return 0;
}

int revision_fork(const struct revision_tree *t, const char *a, const char *b, char ret[COMMIT_MAX],
		  struct err *e)
{
	const char *const args[] = {"merge-base", a, b, NULL};
	_autofree_ char *answer = NULL;
	int r = git_ask(&t->source, args, &answer, e);

	if (r < 0)
		return r;
	if (!commit_ok(answer))
		return err_set(e, ENOENT,
			       "%.12s and %.12s have no common commit here (a shallow clone needs "
			       "git fetch --unshallow)",
			       a, b);
	snprintf(ret, COMMIT_MAX, "%s", answer);
	return 0;
}

int revision_diff(const struct revision_tree *t, const char *from, const char *to, struct buf *out,
		  struct err *e)
{
	const char *const args[] = {"diff",
				    "--unified=0",
				    "--no-color",
				    "--no-ext-diff",
				    "--no-textconv",
				    "--no-prefix",
				    "--text",
				    "--inter-hunk-context=0",
				    "--submodule=short",
				    "--ignore-submodules=none",
				    "--end-of-options",
				    from,
				    to,
				    "--",
				    NULL};
	int r = git_run(&t->source, args, out, e);

	return r < 0 ? r : 0;
}

static void put_text(struct slice text, char out[REVISION_TEXT])
{
	char shown[ESCAPE_MAX];
	char *copy = xstrndup(text.p, text.n);

	snprintf(out, REVISION_TEXT, "%.*s", REVISION_TEXT - 1, escape(copy, shown));
	free(copy);
}

int revision_describe(struct revision_tree *t, const char *commit, struct revision_info *ret,
		      struct err *e)
{
	const char *const args[] = {"show",
				    "-s",
				    "--no-show-signature",
				    "--no-mailmap",
				    "--format=%ct%n%P%n%an%n%s",
				    "--end-of-options",
				    commit,
				    NULL};
	_autofree_ char *answer = NULL;
	struct slice rest, line, word;
	int r = git_limit(&t->source, t->limits, e);

	*ret = (struct revision_info){.time = 0};
	if (r < 0 || git_ask(&t->source, args, &answer, e) < 0)
		return err_code(e);
	rest = slice_of(answer);
	if (scan_line(&rest, &line))
		(void)scan_u64(&line, 10, INT64_MAX, &ret->time);
	if (scan_line(&rest, &line))
		for (; line.n > 0; ret->parents++)
			if (!scan_until(&line, ' ', line.n, &word) || !scan_lit(&line, SLICE(" ")))
				line.n = 0;
	if (scan_line(&rest, &line))
		put_text(line, ret->author);
	if (scan_line(&rest, &line))
		put_text(line, ret->subject);
	return 0;
}

/* --- the work tree --------------------------------------------------------- */

/* Opens the work tree at path as a repository of its own. */
static int open_tree(const struct revision_tree *t, const char *path, struct git *ret,
		     struct err *e)
{
	char why[GIT_WHY];
	int r = git_open(path, ret, why, e);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(e, EINVAL, "'%.200s': %s", path, why);
	if (strcmp(ret->top, path) != 0) {
		r = err_set(e, EINVAL, "'%.200s' is in the work tree of '%.200s'", path, ret->top);
		git_done(ret);
		return r;
	}
	return git_limit(ret, t->limits, e);
}

static const char *const prune[] = {"worktree", "prune", NULL};

/* What git knows of the work trees of submodules. */
static void prune_modules(const struct revision_tree *t)
{
	struct err ignored;

	for (size_t i = 0; i < t->modules.n; i++) {
		CLEANUP(git_done) struct git g = {0};

		if (open_tree(t, t->modules.v[i], &g, &ignored) == 0)
			(void)!change(&g, prune, &ignored);
	}
}

static void remove_tree(const struct revision_tree *t)
{
	const char *const args[] = {"worktree", "remove", "--force", "--force", t->path, NULL};
	_autoclose_ int parent = -1;
	_autorights_ struct rights_back ours = {.on = false};
	struct rights owners;
	struct err ignored;

	(void)!change(&t->source, args, &ignored);
	/* What git leaves: directories that a build made unreadable, half of a checkout. */
	if (rights_of(t->parent, &owners, &ignored) == 0 &&
	    rights_take(&owners, &ours, &ignored) == 0 &&
	    fs_open_dir(AT_FDCWD, t->parent, &parent, &ignored) == 0)
		(void)!fs_remove_tree(parent, t->name, &ignored);
	rights_give_back(&ours);
	(void)!change(&t->source, prune, &ignored);
	prune_modules(t);
}

void revision_close(struct revision_tree *t)
{
	struct err ignored;

	if (!t)
		return;
	if (git_limit(&t->source, t->limits, &ignored) == 0)
		remove_tree(t);
	(void)rmdir(t->parent); /* allow: another tree may be in it */
	git_done(&t->source);
	free(t->path);
	free(t->parent);
	strv_done(&t->modules);
	free(t);
}

static int checkout_at(const struct git *g, const char *commit, struct err *e)
{
	static const char *const clean[] = {"clean", "-q", "-ffdx", NULL};
	const char *const args[] = {
	    "checkout", "-q", "--force", "--detach", "--no-recurse-submodules", commit, "--", NULL};
	struct err ignored;
	int r;

	(void)!git_unlock(g, &ignored);
	r = change(g, args, e);
	return r == 0 ? change(g, clean, e) : r;
}

static int add_tree(const struct git *source, const char *path, const char *commit, struct err *e)
{
	const char *const args[] = {"worktree",	     "add", "--force", "--force", "--detach",
				    "--no-checkout", path,  commit,    NULL};

	return change(source, args, e);
}

/* --- submodules ------------------------------------------------------------ */

struct submodules {
	struct strv paths, commits;
	struct buf rest; /* the incomplete last entry */
	bool many;
};

static void submodules_done(struct submodules *s)
{
	strv_done(&s->paths);
	strv_done(&s->commits);
	buf_done(&s->rest);
}

/* An entry of git-ls-tree(1) with -z: "<mode> <type> <object>\t<path>". */
static void take_entry(struct submodules *s, struct slice entry)
{
	struct slice commit, path;
	char name[COMMIT_MAX];

	if (!scan_lit(&entry, SLICE("160000 commit ")) ||
	    !scan_until(&entry, '\t', COMMIT_MAX - 1, &commit) || !scan_lit(&entry, SLICE("\t")))
		return;
	path = entry;
	snprintf(name, sizeof(name), "%.*s", (int)commit.n, commit.p);
	if (!commit_ok(name) || s->paths.n == SUBMODULES_MAX) {
		s->many = true;
		return;
	}
	strv_push(&s->commits, name);
	strv_pushf(&s->paths, "%.*s", (int)path.n, path.p);
}

static int take_block(void *arg, struct slice block, struct err *e)
{
	struct submodules *s = arg;
	const char *end;

	while (block.n > 0 && (end = memchr(block.p, '\0', block.n))) {
		buf_put(&s->rest, (struct slice){block.p, (size_t)(end - block.p)});
		take_entry(s, buf_slice(&s->rest));
		buf_clear(&s->rest);
		block.n -= (size_t)(end - block.p) + 1;
		block.p = end + 1;
	}
	buf_put(&s->rest, block);
	return buf_check(&s->rest, e);
}

static int checkout_tree(struct revision_tree *t, const char *source, const char *path,
			 const char *commit, unsigned depth, struct err *e);

static bool is_repository(const char *dir)
{
	_autofree_ char *path = xasprintf("%s/.git", dir);

	return access(path, F_OK) == 0;
}

static void note_module(struct revision_tree *t, const char *dir)
{
	for (size_t i = 0; i < t->modules.n; i++)
		if (strcmp(t->modules.v[i], dir) == 0)
			return;
	strv_push(&t->modules, dir);
}

static int checkout_submodules(struct revision_tree *t, const struct git *tree, const char *source,
			       unsigned depth, struct err *e)
{
	static const char *const args[] = {"ls-tree", "-r", "-z", "HEAD", NULL};
	CLEANUP(submodules_done) struct submodules s = {.rest = BUF_INIT((size_t)2 * PATH_LONGEST)};
	int r = git_stream(tree, args, (struct slice){0}, take_block, &s, e);

	if (r >= 0 && (s.many || (s.paths.n > 0 && depth == DEPTH_MAX)))
		r = err_set(e, E2BIG, "'%.200s' has too many submodules", tree->top);
	for (size_t i = 0; r >= 0 && i < s.paths.n; i++) {
		_autofree_ char *from = xasprintf("%s/%s", source, s.paths.v[i]);
		_autofree_ char *to = xasprintf("%s/%s", tree->top, s.paths.v[i]);
		char shown[ESCAPE_MAX];

		if (!is_repository(from))
			continue; /* as in the user's work tree, its directory stays empty */
		note_module(t, from);
		r = checkout_tree(t, from, to, s.commits.v[i], depth + 1, e);
		if (r < 0)
			return err_wrap(e,
					"submodule '%.100s' at %.12s (git submodule update --init "
					"in the source brings it)",
					escape(s.paths.v[i], shown), s.commits.v[i]);
	}
	return r < 0 ? r : 0;
}

/* Brings the work tree at path to a commit of the repository that has the work tree source. */
static int checkout_tree(struct revision_tree *t, const char *source, const char *path,
			 const char *commit, unsigned depth, struct err *e)
{
	CLEANUP(git_done) struct git from = {0}, to = {0};
	struct err why;
	int r = open_tree(t, source, &from, e);

	if (r == 0 && open_tree(t, path, &to, &why) < 0) {
		r = add_tree(&from, path, commit, e);
		if (r == 0)
			r = open_tree(t, path, &to, e);
	}
	if (r == 0)
		r = checkout_at(&to, commit, e);
	return r == 0 ? checkout_submodules(t, &to, source, depth, e) : r;
}

int revision_checkout(struct revision_tree *t, const char *commit, struct err *e)
{
	int r = git_limit(&t->source, t->limits, e); /* a build had the group meanwhile */

	if (r == 0)
		r = checkout_tree(t, t->source.top, t->path, commit, 0, e);
	/* A killed checkout or a build may have left anything. */
	if (r < 0 && r != -EINTR) {
		remove_tree(t);
		r = checkout_tree(t, t->source.top, t->path, commit, 0, e);
	}
	return r;
}
