/* SPDX-License-Identifier: Apache-2.0 */
/* The files of merge/<target>, and stats/merged/<target>.json with facts from the last merge.  Only
 * child processes use them, because they may block. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/run/job/setup.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE_OURS = 0750, LAST_MAX = 4096, PATH_ROOM = 320 };

void merge_dir_close(struct merge_dir *d)
{
	close_p(&d->dir);
	close_p(&d->stage);
	close_p(&d->corpus);
	*d = MERGE_DIR_NONE;
}

int merge_dir_open(const struct merge *m, struct merge_dir *ret, struct err *e)
{
	int r = fs_open_dir(AT_FDCWD, m->path, &ret->dir, e);

	if (r == 0 && m->direct)
		r = state_open_corpus(m->env.state, m->spec.target->name, &ret->stage, e);
	else if (r == 0)
		r = fs_open_dir(ret->dir, "stage", &ret->stage, e);
	if (r == 0)
		r = state_open_corpus(m->env.state, m->spec.target->name, &ret->corpus, e);
	return r;
}

/* --- the candidates ---------------------------------------------------------------- */

int merge_staged_save(int dir, const struct candidates *all, struct err *e)
{
	return candidates_save(dir, MERGE_FILE_STAGED, all, e);
}

/* Tasks of several cells may do this at the same time: a line is one write. */
int merge_staged_strike(int dir, const char *name, struct err *e)
{
	return fs_append_line(dir, MERGE_FILE_GONE, slice_of(name), e);
}

static int compare_names(const void *a, const void *b)
{
	return memcmp(a, b, STORE_NAME - 1);
}

/* gone: n lines of STORE_NAME bytes each, sorted. */
static void strike_out(struct candidates *c, const char *gone, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (!bsearch(c->v[i].name, gone, n, STORE_NAME, compare_names))
			c->v[kept++] = c->v[i];
	c->n = kept;
}

int merge_staged_load(int dir, struct candidates *ret, struct err *e)
{
	_autocandidates_ struct candidates c = {0};
	_autofree_ char *gone = NULL;
	size_t n = 0;
	int r = candidates_load(dir, MERGE_FILE_STAGED, &c, e);

	if (r < 0)
		return r;
	r = fs_read(dir, MERGE_FILE_GONE, (size_t)CANDIDATES_MAX * STORE_NAME, &gone, &n, e);
	if (r < 0 && r != -ENOENT)
		return r;
	if (n % STORE_NAME != 0)
		return err_set(e, EBADMSG, "list '%s' is cut", MERGE_FILE_GONE);
	if (n > 0) {
		qsort(gone, n / STORE_NAME, STORE_NAME, compare_names);
		strike_out(&c, gone, n / STORE_NAME);
	}
	*ret = c;
	c = (struct candidates){0};
	return 0;
}

/* --- passes ---------------------------------------------------------------------- */

void merge_pass_done(struct merge_pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		control_free(p->controls[i]);
		candidates_done(&p->lists[i]);
	}
	free(p->v);
	free(p->lists);
	free(p->controls);
	*p = (struct merge_pass){0};
}

int merge_pass_count(int dir, const char *name, size_t *ret, struct err *e)
{
	char path[PATH_ROOM];
	size_t n = 0;

	for (;; n++) {
		snprintf(path, sizeof(path), "%s/%zu", name, n);
		if (faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (errno != ENOENT)
			return err_sys(e, "look for '%s'", path);
		*ret = n;
		return 0;
	}
}

int merge_shard_open(int dir, const char *name, size_t k, int *ret_fd, struct candidates *ret,
		     struct err *e)
{
	_autoclose_ int fd = -1;
	char path[PATH_ROOM];
	int r;

	snprintf(path, sizeof(path), "%s/%zu", name, k);
	r = fs_open_dir(dir, path, &fd, e);
	if (r == 0)
		r = candidates_load(fd, MERGE_FILE_LIST, ret, e);
	if (r < 0)
		return err_wrap(e, "shard '%s'", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

static void merge_files_make_room(struct merge_pass *p, size_t more)
{
	size_t n = p->n + more;

	p->v = xreallocarray(p->v, n, sizeof(*p->v));
	p->lists = xreallocarray(p->lists, n, sizeof(*p->lists));
	p->controls = xreallocarray(p->controls, n, sizeof(struct control *));
	for (size_t i = 0; i < p->n; i++)
		p->v[i].list = &p->lists[i];
}

/* Drops the results of inputs that are no longer candidates.  True: they had coverage. */
static bool merge_files_forget(struct control *c, const struct candidates *list,
			       const struct candidates *only)
{
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		if (candidates_find(only, list->v[i].name, list->v[i].size))
			continue;
		any = any || c->inputs[i].features || c->inputs[i].edges;
		c->inputs[i] = (struct control_input){.state = CONTROL_WAITS};
	}
	return any;
}

static int load_shard(int dir, const char *name, size_t k, const struct candidates *only,
		      struct merge_pass *io, struct err *e)
{
	_autocandidates_ struct candidates list = {0};
	_autoclose_ int fd = -1;
	struct control *c = NULL;
	int r = merge_shard_open(dir, name, k, &fd, &list, e);

	if (r == 0)
		r = control_read(fd, MERGE_FILE_CONTROL, SETUP_DIR_INPUTS, &list, &c, e);
	if (r == -ENOENT || r == -EBADMSG)
		return 0; /* a kill interrupted the dealing, or a cell spoiled the file */
	if (r < 0)
		return r;
	if (list.n > 0 && merge_files_forget(c, &list, only))
		io->holes = true;
	io->lists[io->n] = list;
	io->controls[io->n] = c;
	io->v[io->n] = (struct cover_shard){.control = c, .list = &io->lists[io->n]};
	io->n++;
	list = (struct candidates){0};
	return 0;
}

int merge_pass_load(int dir, const char *name, const struct candidates *only, struct merge_pass *io,
		    struct err *e)
{
	size_t n;
	int r = merge_pass_count(dir, name, &n, e);

	if (r < 0)
		return r;
	merge_files_make_room(io, n);
	for (size_t k = 0; r == 0 && k < n; k++)
		r = load_shard(dir, name, k, only, io, e);
	return r;
}

/* The list is written first: a control file without a list is ignored. */
int merge_shard_make(int dir, const char *name, size_t k, const struct candidates *list,
		     struct err *e)
{
	_autoclose_ int fd = -1;
	char path[PATH_ROOM];
	int r;

	snprintf(path, sizeof(path), "%s/%zu", name, k);
	r = fs_make_dir(dir, path, MODE_OURS, &fd, e);
	if (r == 0)
		r = candidates_save(fd, MERGE_FILE_LIST, list, e);
	if (r == 0)
		r = control_write(fd, MERGE_FILE_CONTROL, SETUP_DIR_INPUTS, list, geteuid(),
				  getegid(), e);
	return r < 0 ? err_wrap(e, "shard '%s'", path) : 0;
}

int merge_pass_deal(int dir, const char *name, size_t from, const struct candidates *list,
		    unsigned shards, struct err *e)
{
	_autofree_ struct candidates *v = xcalloc(shards, sizeof(*v));
	int r;

	if (!shards)
		return 0;
	r = shard_split(list, shards, v, e);
	for (unsigned k = 0; r == 0 && k < shards; k++)
		r = merge_shard_make(dir, name, from + k, &v[k], e);
	for (unsigned k = 0; k < shards; k++)
		candidates_done(&v[k]);
	return r;
}

/* --- what was reached -------------------------------------------------------------- */

/* The file has two counts of words, then the words of features and of edges. */
struct reach_head {
	uint64_t features, edges;
};
enum { REACH_MAX = (CONTROL_FEATURES + CONTROL_EDGES) / 8 + sizeof(struct reach_head) };

static void merge_files_add_words(struct buf *to, const struct bits *b)
{
	buf_put(to, (struct slice){(const char *)b->word, b->words * sizeof(*b->word)});
}

int merge_reach_save(int dir, const struct reach *r, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT((size_t)REACH_MAX + 1);
	struct reach_head head = {r->features.words, r->edges.words};
	int rc;

	buf_put(&text, (struct slice){(const char *)&head, sizeof(head)});
	merge_files_add_words(&text, &r->features);
	merge_files_add_words(&text, &r->edges);
	rc = buf_check(&text, e);
	return rc < 0 ? rc : fs_replace(dir, "reach", buf_slice(&text), e);
}

static void take_bits(const char *p, uint64_t words, struct bits *ret)
{
	if (words == 0)
		return;
	ret->word = xmalloc(words * 8);
	memcpy(ret->word, p, words * 8);
	ret->words = words;
	for (uint64_t i = 0; i < words; i++)
		ret->count += (unsigned)__builtin_popcountll(ret->word[i]);
}

int merge_reach_load(int dir, struct reach *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	struct reach_head head;
	size_t n;
	int r = fs_read(dir, "reach", REACH_MAX, &text, &n, e);

	if (r < 0)
		return r;
	if (n < sizeof(head))
		return err_set(e, EBADMSG, "'reach' is cut");
	memcpy(&head, text, sizeof(head));
	if (head.features > n / 8 || head.edges > n / 8 ||
	    sizeof(head) + (head.features + head.edges) * 8 != n)
		return err_set(e, EBADMSG, "'reach' has another length");
	take_bits(text + sizeof(head), head.features, &ret->features);
	take_bits(text + sizeof(head) + head.features * 8, head.edges, &ret->edges);
	return 0;
}

/* --- facts from the last merge --------------------------------------------- */

void merge_last_load(const struct merge *m, struct merge_last *ret)
{
	_autojson_ json_t *j = NULL;
	char path[PATH_ROOM];
	const char *build;
	struct err e;

	*ret = (struct merge_last){0};
	snprintf(path, sizeof(path), "stats/merged/%s.json", m->spec.target->name);
	if (json_load(m->env.state->dirfd, path, LAST_MAX, &j, &e) < 0)
		return; /* no file, or a damaged file: as before the first merge */
	build = json_string_value(json_object_get(j, "build"));
	snprintf(ret->build, sizeof(ret->build), "%s", build ? build : "");
	ret->unsteady = json_is_true(json_object_get(j, "unsteady"));
	ret->slow = json_is_true(json_object_get(j, "slow"));
	ret->edges = json_get_u64(j, "edges");
	ret->features = json_get_u64(j, "features");
}

int merge_last_save(const struct merge *m, const struct merge_last *last, struct err *e)
{
	_autojson_ json_t *j =
	    json_pack("{s:i, s:s, s:b, s:b, s:I, s:I}", "v", 1, "build", last->build, "unsteady",
		      last->unsteady, "slow", last->slow, "edges", (json_int_t)last->edges,
		      "features", (json_int_t)last->features);
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	char name[PATH_ROOM];
	int r = j ? json_print(j, 0, &text, e) : err_set(e, EINVAL, "build JSON");

	if (r == 0)
		r = fs_make_dir(m->env.state->dirfd, "stats/merged", MODE_OURS, &dir, e);
	snprintf(name, sizeof(name), "%s.json", m->spec.target->name);
	return r == 0 ? fs_replace(dir, name, slice_of(text), e) : r;
}
