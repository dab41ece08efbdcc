/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and commits a directory of inputs on a git branch, without a work tree. */
#include "runner/corpus/intree/internal.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the name ------------------------------------------------------------- */

/* Names of branches, by the rules of git-check-ref-format(1). */

static bool has_odd_byte(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f || strchr(" ~^:?*[\\", *name))
			return true;
	return false;
}

static bool intree_name_ends(const char *s, size_t n, const char *with)
{
	size_t k = strlen(with);

	return n >= k && memcmp(s + n - k, with, k) == 0;
}

/* Checks the parts between slashes. */
static const char *part_is_wrong(const char *name)
{
	for (;;) {
		size_t n = strcspn(name, "/");

		if (n == 0)
			return "a part of it is empty";
		if (name[0] == '.')
			return "a part of it begins with '.'";
		if (intree_name_ends(name, n, ".lock"))
			return "a part of it ends in '.lock'";
		if (name[n] == '\0')
			return NULL;
		name += n + 1;
	}
}

static const char *is_wrong(const char *name)
{
	size_t n = strlen(name);

	if (n == 0)
		return "it is empty";
	if (n > INTREE_NAME_MAX)
		return "it is too long";
	if (name[0] == '-')
		return "it begins with '-'";
	if (strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0)
		return "git reserves this name";
	/* The branch would be refs/heads/refs/heads/x, which is surely a mistake. */
	if (strncmp(name, "refs/", 5) == 0)
		return "give it without 'refs/heads/'";
	if (strstr(name, ".."))
		return "'..' is in it";
	if (strstr(name, "@{"))
		return "'@{' is in it";
	if (name[n - 1] == '.')
		return "it ends in '.'";
	if (has_odd_byte(name))
		return "a blank, a control character or one of ~^:?*[\\ is in it";
	return part_is_wrong(name);
}

int intree_branch_name(const char *name, struct err *e)
{
	const char *why = is_wrong(name);

	return why ? err_set(e, EINVAL, "'%.200s' is not a valid branch name: %s", name, why) : 0;
}

/* --- the files of a commit below a directory ------------------------------ */

/* HEAD's tree below a directory, read by git ls-tree(1). */

struct intree_entry {
	const char *oid;  /* 40 digits, then something else */
	const char *path; /* from the work tree's top */
	bool input;	  /* the file may be an input */
	bool known;	  /* it is an input of the corpus */
	bool unneeded;	  /* prune may remove it */
};
struct intree_tree {
	struct buf text; /* the memory of the entries' texts */
	struct intree_entry *by_path;
	struct intree_entry **by_oid; /* inputs only */
	size_t n, n_inputs;
};

enum intree_at {
	INTREE_AT_NOTHING,
	INTREE_AT_INPUT, /* *ret */
	INTREE_AT_OTHER, /* a directory, a link, a dot file */
};

enum { LIST_MAX = 64 << 20, TREE_DEPTH = 8 };

static void intree_tree_done(struct intree_tree *t)
{
	buf_done(&t->text);
	free(t->by_path);
	free(t->by_oid);
	*t = (struct intree_tree){0};
}

static int path_order(const void *a, const void *b)
{
	const struct intree_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int oid_order(const void *a, const void *b)
{
	const struct intree_entry *const *x = a, *const *y = b;

	return memcmp((*x)->oid, (*y)->oid, 40);
}

/* The rules of a work tree: no dot file, not too deep. */
static bool may_be_input(const char *path, size_t prefix, struct slice mode)
{
	unsigned depth = 0;

	if (!slice_eq(mode, SLICE("100644")) && !slice_eq(mode, SLICE("100755")))
		return false;
	for (path += prefix; *path; path += strcspn(path, "/")) {
		path += *path == '/';
		if (*path == '.' || depth++ > TREE_DEPTH)
			return false;
	}
	return true;
}

/* "<mode> <type> <oid>\t<path>\0" */
static int intree_tree_read_entry(struct slice *rest, size_t prefix, struct intree_entry *ret,
				  struct err *e)
{
	struct slice mode, type, oid, path;

	if (!scan_until(rest, ' ', 10, &mode) || !scan_lit(rest, SLICE(" ")) ||
	    !scan_until(rest, ' ', 10, &type) || !scan_lit(rest, SLICE(" ")) ||
	    !scan_until(rest, '\t', 40, &oid) || oid.n != 40 || !scan_lit(rest, SLICE("\t")) ||
	    !scan_until(rest, '\0', LIST_MAX, &path) || !scan_lit(rest, SLICE("\0")))
		return err_set(e, EBADMSG, "git ls-tree: unexpected output");
	*ret = (struct intree_entry){
	    .oid = oid.p, .path = path.p, .input = may_be_input(path.p, prefix, mode)};
	return 0;
}

static int index_tree(struct intree_tree *t, size_t prefix, struct err *e)
{
	struct slice rest = buf_slice(&t->text);
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < rest.n; i++)
		n += rest.p[i] == '\0';
	t->by_path = xcalloc(n + 1, sizeof(*t->by_path));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
	t->by_oid = xcalloc(n + 1, sizeof(*t->by_oid));
	while (r == 0 && rest.n > 0 && t->n < n)
		r = intree_tree_read_entry(&rest, prefix, &t->by_path[t->n++], e);
	if (r < 0)
		return r;
	qsort(t->by_path, t->n, sizeof(*t->by_path), path_order);
	for (size_t i = 0; i < t->n; i++)
		if (t->by_path[i].input)
			t->by_oid[t->n_inputs++] = &t->by_path[i];
	qsort(t->by_oid, t->n_inputs, sizeof(struct intree_entry *), oid_order);
	return 0;
}

/* 1: the first n bytes of path are a directory in the commit; 0: they do not exist. */
static int intree_tree_is_dir(const struct git *g, const char *base, const char *path, size_t n,
			      struct err *e)
{
	_autofree_ char *object = xasprintf("%s:%.*s", base, (int)n, path);
	const char *const args[] = {"cat-file", "-t", object, NULL};
	_autofree_ char *type = NULL;
	int r = git_ask(g, args, &type, e);

	if (r == -EPROTO || r == 1)
		return 0;
	if (r == 0 && strcmp(type, "tree") != 0)
		return err_set(e, ENOTDIR, "'%.*s' is no directory in HEAD", (int)n, path);
	return r < 0 ? r : 1;
}

/* A directory of the work tree may be a file in HEAD: the commit would remove that file. */
static int check_prefix(const struct git *g, const char *base, const char *prefix, struct err *e)
{
	size_t n = strcspn(prefix, "/");
	int r = 1;

	while (n > 0 && r == 1) {
		r = intree_tree_is_dir(g, base, prefix, n, e);
		n = prefix[n] ? n + 1 + strcspn(prefix + n + 1, "/") : 0;
	}
	return r < 0 ? r : 0;
}

/* Call intree_tree_done(ret) also after a failure. */
static int intree_tree_read(const struct git *g, const char *base, const char *prefix,
			    struct intree_tree *ret, struct err *e)
{
	const char *const args[] = {
	    "ls-tree", "-r", "-z", "--full-tree", base, *prefix ? "--" : NULL, prefix, NULL};
	int r = check_prefix(g, base, prefix, e);

	*ret = (struct intree_tree){.text = BUF_INIT(LIST_MAX)};
	if (r == 0)
		r = git_run(g, args, &ret->text, e);
	return r < 0 ? r : index_tree(ret, strlen(prefix), e);
}

/* Marks the inputs with this object name as known; false: there is none. */
static bool intree_tree_know(struct intree_tree *t, const char *oid)
{
	size_t lo = 0, hi = t->n_inputs, at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (memcmp(t->by_oid[mid]->oid, oid, 40) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (at = lo; at < t->n_inputs && memcmp(t->by_oid[at]->oid, oid, 40) == 0; at++)
		t->by_oid[at]->known = true;
	return at > lo;
}

/* The first entry that is not before path. */
static size_t lower_bound(const struct intree_tree *t, const char *path)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(t->by_path[mid].path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static enum intree_at intree_tree_at(const struct intree_tree *t, const char *path,
				     struct intree_entry **ret)
{
	_autofree_ char *below = xasprintf("%s/", path);
	size_t at = lower_bound(t, path);

	if (at < t->n && strcmp(t->by_path[at].path, path) == 0) {
		*ret = &t->by_path[at];
		return (*ret)->input ? INTREE_AT_INPUT : INTREE_AT_OTHER;
	}
	at = lower_bound(t, below);
	if (at < t->n && strncmp(t->by_path[at].path, below, strlen(below)) == 0)
		return INTREE_AT_OTHER;
	return INTREE_AT_NOTHING;
}

/* --- files that prune may remove ------------------------------------------ */

/* The content of a commit's files, read by git cat-file(1).  Git's object names are not the SHA-1
 * of the content alone. */

enum { HEAD_MAX = 100, OID = 40 };

struct reader {
	struct intree_tree *t;
	const struct intree_corpus *c;
	size_t at; /* the current input, in the order of the requests to git */
	char head[HEAD_MAX];
	size_t n; /* of head */
	bool is_body;
	uint64_t size, left; /* left: includes the newline behind the content */
	struct buf body;     /* stays empty if the content is too large for an input */
};

static int bad_answer(struct err *e)
{
	return err_set(e, EBADMSG, "git cat-file: unexpected output");
}

/* "<oid> blob <size>" */
static int begin_body(struct reader *rd, struct err *e)
{
	struct slice head = {rd->head, rd->n}, oid;

	if (rd->at >= rd->t->n_inputs || !scan_until(&head, ' ', OID, &oid) || oid.n != OID ||
	    memcmp(oid.p, rd->t->by_oid[rd->at]->oid, OID) != 0 ||
	    !scan_lit(&head, SLICE(" blob ")) || !scan_u64(&head, 10, INT64_MAX, &rd->size) ||
	    head.n > 0)
		return bad_answer(e);
	rd->is_body = true;
	rd->left = rd->size + 1;
	rd->n = 0;
	buf_clear(&rd->body);
	return 0;
}

static void end_body(struct reader *rd)
{
	struct intree_entry *x = rd->t->by_oid[rd->at++];
	char hex[DIGEST_SHA1_HEX];

	rd->is_body = false;
	if (rd->size > WORKDIR_INPUT_MAX)
		return;
	digest_sha1_hex((struct slice){buf_str(&rd->body), rd->size}, hex);
	x->unneeded = intree_corpus_unneeded(rd->c, hex, rd->size);
}

static void intree_take_body(struct reader *rd, struct slice *block)
{
	struct slice part = {block->p, block->n < rd->left ? block->n : (size_t)rd->left};

	if (rd->size <= WORKDIR_INPUT_MAX) /* the body has room for it */
		buf_put(&rd->body, part);
	block->p += part.n;
	block->n -= part.n;
	rd->left -= part.n;
	if (rd->left == 0)
		end_body(rd);
}

static int take_head(struct reader *rd, struct slice *block, struct err *e)
{
	char c = *block->p++;

	block->n--;
	if (c == '\n')
		return begin_body(rd, e);
	if (rd->n == sizeof(rd->head))
		return bad_answer(e);
	rd->head[rd->n++] = c;
	return 0;
}

static int intree_on_block(void *arg, struct slice block, struct err *e)
{
	struct reader *rd = arg;
	int r = 0;

	while (r == 0 && block.n > 0) {
		if (rd->is_body)
			intree_take_body(rd, &block);
		else
			r = take_head(rd, &block, e);
	}
	return r;
}

/* Sets `unneeded` of the inputs: reads the content of each from git. */
static int intree_tree_unneeded(struct intree_tree *t, const struct git *g,
				const struct intree_corpus *c, struct err *e)
{
	static const char *const args[] = {"cat-file", "--batch", NULL};
	struct reader rd = {.t = t, .c = c, .body = BUF_INIT(WORKDIR_INPUT_MAX + 1)};
	_autobuf_ struct buf asked = BUF_INIT((size_t)64 << 20);
	int r;

	for (size_t i = 0; i < t->n_inputs; i++)
		buf_printf(&asked, "%.*s\n", OID, t->by_oid[i]->oid);
	r = buf_check(&asked, e);
	if (r == 0 && t->n_inputs > 0)
		r = git_stream(g, args, buf_slice(&asked), intree_on_block, &rd, e);
	if (r == 1 || (r == 0 && (rd.at != t->n_inputs || rd.is_body || rd.n > 0)))
		r = bad_answer(e);
	buf_done(&rd.body);
	return r;
}

/* --- writing the commit --------------------------------------------------- */

/* Git fast-import(1) writes the commit.  It stores content byte for byte, without filters and
 * line-end conversion, and makes the branch at its end or not at all. */

struct intree_branch {
	const struct git *git;
	char *name; /* refs/heads/... */
	char *message;
	char *base, *author, *committer;
	struct git_writer out; /* pid 0: not started, since nothing has changed so far */
};

static const char *const head[] = {"rev-parse", "--verify", "-q", "HEAD^{commit}", NULL};
static const char *const format[] = {"rev-parse", "--show-object-format", NULL};
static const char *const author[] = {"var", "GIT_AUTHOR_IDENT", NULL};
static const char *const committer[] = {"var", "GIT_COMMITTER_IDENT", NULL};

/* --- begin and end ------------------------------------------------------------------ */

/* A branch "a" excludes a branch "a/b". */
static int intree_branch_check_above(const struct git *g, const char *name, struct err *e)
{
	const char *slash = name;
	int r = 1;

	while (r == 1 && (slash = strchr(slash, '/'))) {
		_autofree_ char *ref = xasprintf("refs/heads/%.*s", (int)(slash++ - name), name);
		const char *const exists[] = {"show-ref", "--verify", "-q", ref, NULL};

		r = git_run(g, exists, NULL, e);
		if (r == 0)
			return err_set(e, EEXIST,
				       "there is a branch '%s', so there can be none called '%s'",
				       ref + strlen("refs/heads/"), name);
	}
	return r < 0 ? r : 0;
}

static int check_below(const struct git *g, const char *name, struct err *e)
{
	_autofree_ char *ref = xasprintf("refs/heads/%s/", name);
	const char *const below[] = {"for-each-ref", "--count=1", "--format=%(refname:short)", ref,
				     NULL};
	_autofree_ char *found = NULL;
	int r = git_ask(g, below, &found, e);

	if (r == 0 && *found)
		return err_set(e, EEXIST,
			       "there is a branch '%.200s', so there can be none called '%s'",
			       found, name);
	return r < 0 ? r : 0;
}

static int check_name(const struct git *g, const char *ref, const char *name, struct err *e)
{
	const char *const exists[] = {"show-ref", "--verify", "-q", ref, NULL};
	int r = intree_branch_name(name, e);

	if (r < 0)
		return r;
	r = git_run(g, exists, NULL, e);
	if (r == 0)
		return err_set(e, EEXIST, "there is a branch '%s' already", name);
	if (r == 1)
		r = intree_branch_check_above(g, name, e);
	return r == 0 ? check_below(g, name, e) : r;
}

static int intree_branch_check_repository(struct intree_branch *b, struct err *e)
{
	_autofree_ char *algorithm = NULL;
	int r = git_ask(b->git, format, &algorithm, e);

	if (r < 0)
		return r;
	if (strcmp(algorithm, "sha1") != 0)
		return err_set(e, ENOTSUP, "its object format is %s; only sha1 is supported",
			       algorithm);
	r = git_ask(b->git, head, &b->base, e);
	if (r == 1)
		return err_set(e, EINVAL,
			       "it has no commit to branch from: commit "
			       "something first, or update without --branch");
	if (r == 0)
		r = git_ask(b->git, author, &b->author, e);
	if (r == 0)
		r = git_ask(b->git, committer, &b->committer, e);
	return r < 0 ? r : 0;
}

int intree_branch_open(const struct git *g, const char *name, const char *message,
		       struct intree_branch **ret, struct err *e)
{
	struct intree_branch *b = xcalloc(1, sizeof(*b));
	int r;

	b->git = g;
	b->out = (struct git_writer){.in = -1, .errors = -1};
	b->name = xasprintf("refs/heads/%s", name);
	b->message = xstrdup(message);
	r = check_name(g, b->name, name, e);
	if (r == 0)
		r = intree_branch_check_repository(b, e);
	if (r < 0)
		intree_branch_free(b);
	else
		*ret = b;
	return r < 0 ? err_wrap(e, "repository '%s'", g->top) : 0;
}

void intree_branch_free(struct intree_branch *b)
{
	struct err e;

	if (!b)
		return;
	(void)!git_writer_end(&b->out, &e); /* without "done" fast-import makes no branch, and
					     * reports an error */
	free(b->name);
	free(b->message);
	free(b->base);
	free(b->author);
	free(b->committer);
	free(b);
}

/* Reports why git ended, instead of a broken pipe. */
static int intree_branch_put(struct intree_branch *b, struct slice text, struct err *e)
{
	if (sys_write_all(b->out.in, text.p, text.n) == 0)
		return 0;
	if (errno != EPIPE)
		return err_sys(e, "write to git fast-import");
	return git_writer_end(&b->out, e) < 0 ? err_code(e)
					      : err_set(e, EPROTO, "git fast-import ended");
}

static int intree_branch_begin(struct intree_branch *b, struct err *e)
{
	static const char *const args[] = {"fast-import", "--quiet", "--done", NULL};
	_autobuf_ struct buf text = BUF_INIT(1 << 20);
	int r;

	if (b->out.pid > 0)
		return 0;
	buf_printf(&text, "commit %s\nauthor %s\ncommitter %s\ndata %zu\n%s\nfrom %s\n", b->name,
		   b->author, b->committer, strlen(b->message), b->message, b->base);
	r = buf_check(&text, e);
	if (r == 0)
		r = git_begin(b->git, args, &b->out, e);
	return r == 0 ? intree_branch_put(b, buf_slice(&text), e) : r;
}

int intree_branch_commit(struct intree_branch *b, char commit[INTREE_OID], struct err *e)
{
	const char *const ask[] = {"rev-parse", "--verify", "-q", b->name, NULL};
	_autofree_ char *oid = NULL;
	int r;

	*commit = '\0';
	if (b->out.pid <= 0)
		return 0;
	r = intree_branch_put(b, SLICE("\ndone\n"), e);
	if (r == 0)
		r = git_writer_end(&b->out, e);
	if (r == 0)
		r = git_ask(b->git, ask, &oid, e);
	if (r == 1)
		r = err_set(e, EPROTO, "git made no branch");
	if (r < 0)
		return err_wrap(e, "repository '%s'", b->git->top);
	snprintf(commit, INTREE_OID, "%s", oid);
	return 0;
}

/* --- one target ------------------------------------------------------------------------ */

struct target {
	struct intree_branch *b;
	struct intree_corpus corpus;
	struct intree_tree tree;
	const char *prefix;
	struct intree_sum *sum;
};

/* Quotes a path for fast-import: it may hold any bytes. */
static void intree_branch_add_path(struct buf *to, const char *path)
{
	buf_puts(to, "\"");
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			buf_printf(to, "\\%03o", c);
		else
			buf_put(to, (struct slice){path, 1});
	}
	buf_puts(to, "\"");
}

static int send_change(struct target *t, const char *what, const char *path, struct slice *data,
		       struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(1 << 20);
	int r = intree_branch_begin(t->b, e);

	buf_printf(&text, "%s ", what);
	intree_branch_add_path(&text, path);
	buf_puts(&text, "\n");
	if (data)
		buf_printf(&text, "data %zu\n", data->n);
	if (r == 0)
		r = buf_check(&text, e);
	if (r == 0)
		r = intree_branch_put(t->b, buf_slice(&text), e);
	if (r == 0 && data)
		r = intree_branch_put(t->b, *data, e);
	if (r == 0 && data)
		r = intree_branch_put(t->b, SLICE("\n"), e);
	return r;
}

static int add_input(struct target *t, const char *name, struct slice data, struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%s", t->prefix, *t->prefix ? "/" : "", name);
	const struct intree *how = t->corpus.t;
	struct intree_entry *there = NULL;
	enum intree_at taken = intree_tree_at(&t->tree, path, &there);

	if (taken == INTREE_AT_OTHER || (taken == INTREE_AT_INPUT && !there->unneeded)) {
		t->sum->skipped++;
		intree_report(how, INTREE_TAKEN, name);
		return 0;
	}
	if (there) { /* the new content replaces it: it must not be removed later */
		there->known = true;
		t->sum->removed++;
		intree_report(how, INTREE_REMOVED, name);
	}
	t->sum->added++;
	t->sum->bytes += data.n;
	return how->dry_run ? 0 : send_change(t, "M 100644 inline", path, &data, e);
}

/* The SHA-1 that git gives a blob: of "blob <size>\0" and the content. */
static void object_id(struct slice data, char oid[DIGEST_SHA1_HEX])
{
	_autofree_ char *all = xmalloc(data.n + 32);
	int n = snprintf(all, 32, "blob %zu", data.n) + 1;

	memcpy(all + n, data.p, data.n);
	digest_sha1_hex((struct slice){all, (size_t)n + data.n}, oid);
}

static int take_input(struct target *t, size_t i, struct err *e)
{
	_autofree_ char *text = NULL;
	char oid[DIGEST_SHA1_HEX];
	size_t n = 0;
	int r = intree_corpus_read(&t->corpus, i, &text, &n, e);

	if (r < 0)
		return r;
	if (r == 0) {
		t->sum->skipped++;
		return 0;
	}
	object_id((struct slice){text, n}, oid);
	if (intree_tree_know(&t->tree, oid)) {
		t->sum->known++;
		return 0;
	}
	return add_input(t, t->corpus.all.v[i].name, (struct slice){text, n}, e);
}

static int intree_branch_prune(struct target *t, struct err *e)
{
	size_t skip = *t->prefix ? strlen(t->prefix) + 1 : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->tree.n; i++) {
		const struct intree_entry *x = &t->tree.by_path[i];

		if (!x->input || x->known)
			continue;
		if (!x->unneeded) {
			t->sum->kept++;
			intree_report(t->corpus.t, INTREE_KEPT, x->path + skip);
			continue;
		}
		t->sum->removed++;
		intree_report(t->corpus.t, INTREE_REMOVED, x->path + skip);
		if (!t->corpus.t->dry_run)
			r = send_change(t, "D", x->path, NULL, e);
	}
	return r;
}

static int branch_update(struct target *t, struct err *e)
{
	int r = intree_tree_read(t->b->git, t->b->base, t->prefix, &t->tree, e);

	if (r == 0 && intree_corpus_prunes(&t->corpus))
		r = intree_tree_unneeded(&t->tree, t->b->git, &t->corpus, e);
	for (size_t i = 0; r == 0 && i < t->corpus.all.n; i++)
		r = take_input(t, i, e);
	if (r == 0 && intree_corpus_prunes(&t->corpus))
		r = intree_branch_prune(t, e);
	intree_tree_done(&t->tree);
	return r;
}

int intree_branch_update(struct intree_branch *b, const struct intree *how, const char *prefix,
			 struct intree_sum *ret, struct err *e)
{
	struct target t = {.b = b, .prefix = prefix, .sum = ret};
	int r = intree_corpus_open(how, &t.corpus, e);

	*ret = (struct intree_sum){0};
	if (r < 0)
		return r;
	ret->spare = t.corpus.spare.n;
	r = branch_update(&t, e);
	intree_corpus_close(&t.corpus);
	return r < 0 ? err_wrap(e, "repository '%s'", b->git->top) : 0;
}
