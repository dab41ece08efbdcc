/* SPDX-License-Identifier: Apache-2.0 */
/* Git fast-import(1) writes the commit.  It stores content byte for byte, without filters and
 * line-end conversion, and makes the branch at its end or not at all. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/intree/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
		intree_tell(how, INTREE_TAKEN, name);
		return 0;
	}
	if (there) { /* the new content replaces it: it must not be removed later */
		there->known = true;
		t->sum->removed++;
		intree_tell(how, INTREE_REMOVED, name);
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
			intree_tell(t->corpus.t, INTREE_KEPT, x->path + skip);
			continue;
		}
		t->sum->removed++;
		intree_tell(t->corpus.t, INTREE_REMOVED, x->path + skip);
		if (!t->corpus.t->dry_run)
			r = send_change(t, "D", x->path, NULL, e);
	}
	return r;
}

static int update(struct target *t, struct err *e)
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
	r = update(&t, e);
	intree_corpus_close(&t.corpus);
	return r < 0 ? err_wrap(e, "repository '%s'", b->git->top) : 0;
}
