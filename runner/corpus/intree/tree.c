/* SPDX-License-Identifier: Apache-2.0 */
/* HEAD's tree below a directory, read by git ls-tree(1). */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/corpus/intree/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 64 << 20, TREE_DEPTH = 8 };

void intree_tree_done(struct intree_tree *t)
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

int intree_tree_read(const struct git *g, const char *base, const char *prefix,
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

bool intree_tree_know(struct intree_tree *t, const char *oid)
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

enum intree_at intree_tree_at(const struct intree_tree *t, const char *path,
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
