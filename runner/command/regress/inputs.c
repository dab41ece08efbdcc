/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/regress/inputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/spare.h"
#include "runner/corpus/workdir.h"
#include "runner/crash/ledger/input.h"
#include "runner/targets/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_DIR = 0755, DEPTH = 8, LIST_MAX = 256 << 20, NAME = 300 };

const char *regress_from_name(enum regress_from f)
{
	static const char *const names[] = {
	    [REGRESS_CRASH] = "crash",	   [REGRESS_REGRESSION] = "regression",
	    [REGRESS_TREE] = "in-tree",	   [REGRESS_SEEDS] = "seeds",
	    [REGRESS_ARCHIVE] = "archive", [REGRESS_CORPUS] = "corpus",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == REGRESS_FROM_COUNT, "name every place");
	return f < REGRESS_FROM_COUNT ? names[f] : "";
}

void regress_inputs_done(struct regress_inputs *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].source);
	free(r->v);
	*r = (struct regress_inputs){0};
}

/* Takes source. */
static void regress_inputs_add(struct regress_inputs *r, const char *name, enum regress_from from,
			       char *source)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->v = xreallocarray(r->v, r->cap, sizeof(*r->v));
	}
	r->v[r->n] = (struct regress_input){.from = from, .source = source};
	snprintf(r->v[r->n++].name, STORE_NAME, "%s", name);
}

/* --- collecting ----------------------------------------------------------- */

struct lay {
	const struct regress_sources *s;
	struct regress_inputs all;
	int to;
	struct regress_left left;
	enum regress_from from;
	const struct rights *as; /* NULL: ours */
	struct candidates spare; /* while `from` is the corpus */
};

/* Counts an input that is left out. The first one is named. */
static void regress_inputs_leave_out(struct lay *l, const char *what, const char *why)
{
	struct regress_left *left = &l->left;

	if (left->n++ == 0)
		snprintf(left->why, sizeof(left->why), "%.180s%s%.60s", what, *why ? ": " : "",
			 why);
}

/* A file that cannot be an input is counted, and named once. */
static int regress_inputs_take_file(struct lay *l, int at, const char *name, const char *source,
				    struct err *e)
{
	struct stage_sum linked = {0};
	struct store_sum copied = {0};
	char hex[STORE_NAME];
	int r;

	if (l->from == REGRESS_CORPUS) /* our own files, and many */
		r = shard_stage_file(at, name, l->to, &linked, hex, e);
	else
		r = store_file_as(l->as, at, name, l->to, &copied, hex, e);
	if (r < 0)
		return r;
	if (*hex)
		regress_inputs_add(&l->all, hex, l->from, xstrdup(source));
	else
		regress_inputs_leave_out(l, source, "not a regular file, or too large");
	return 0;
}

static int regress_inputs_take_dir(struct lay *l, int at, const char *dir, const char *source,
				   unsigned depth, struct err *e);

static int regress_inputs_take_entry(struct lay *l, int at, const char *name, const char *dir,
				     unsigned depth, struct err *e)
{
	_autofree_ char *source = xasprintf("%s/%s", dir, name);
	struct stat st;

	if (l->all.n > WORKDIR_FILES_MAX) {
		regress_inputs_leave_out(l, source, "too many inputs");
		return 0;
	}
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (candidates_find(&l->spare, name, (uint64_t)st.st_size)) {
		l->left.spare++;
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return regress_inputs_take_file(l, at, name, source, e);
	if (depth < DEPTH)
		return regress_inputs_take_dir(l, at, name, source, depth + 1, e);
	regress_inputs_leave_out(l, source, "too deep");
	return 0;
}

/* An unreadable directory counts as left out and is reported. */
static int regress_inputs_take_dir(struct lay *l, int at, const char *dir, const char *source,
				   unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	int fd = rights_open(l->as, at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0));
	const struct dirent *ent;
	int r = 0;

	if (fd < 0) {
		regress_inputs_leave_out(l, source, strerror(errno));
		return 0;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(e, ENOMEM, "open directory '%s'", source);
	}
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.')
			r = regress_inputs_take_entry(l, fd, ent->d_name, source, depth, e);
	return r == 0 && errno ? err_sys(e, "list directory '%s'", source) : r;
}

static int take_dirs(struct lay *l, enum regress_from from, const struct strv *dirs,
		     const struct rights *as, struct err *e)
{
	int r = 0;

	l->from = from;
	for (size_t i = 0; r == 0 && i < dirs->n; i++) {
		struct rights both;

		r = rights_of_named(as, dirs->v[i], &both, e);
		l->as = &both;
		if (r == 0)
			r = regress_inputs_take_dir(l, AT_FDCWD, dirs->v[i], dirs->v[i], 0, e);
	}
	l->as = NULL;
	return r;
}

/* A reproducer is left out if it is not the noted one, or if the build cannot report its failure:
 * it would pass. */
static int regress_inputs_take_crash(struct lay *l, const struct known_crash *c, struct err *e)
{
	const char *missing = sanitizer_missing(l->s->target->target, c->kind);
	char no[80] = "";
	int r = 0;

	if (missing)
		snprintf(no, sizeof(no), "the build has no %s", missing);

	for (enum ledger_input i = 0; r == 0 && i < LEDGER_INPUT_COUNT; i++) {
		const char *path = ledger_input_path(c, i);
		struct err why;

		if (!*path)
			continue;
		if (missing)
			regress_inputs_leave_out(l, path, no);
		else if (ledger_input_check(l->s->state->dirfd, c, i, &why) < 0)
			regress_inputs_leave_out(l, why.msg, "");
		else
			r = regress_inputs_take_file(l, l->s->state->dirfd, path, path, e);
	}
	return r;
}

/* Takes the target's own reproducers; if it has none of a crash, that of another target. */
static int take_crashes(struct lay *l, struct err *e)
{
	const struct ledger *g = l->s->ledger;
	int r = 0;

	l->from = REGRESS_CRASH;
	for (size_t i = 0; r == 0 && i < ledger_count(g); i++) {
		const struct known_crash *c = ledger_at(g, i);
		struct ledger_asked a;

		if (ledger_find(g, c->signature) != c)
			continue; /* a part of another crash */
		for (size_t at = 0;
		     r == 0 && ledger_next_asked(g, c, l->s->target->target->name, &at, &a);)
			r = regress_inputs_take_crash(l, a.input, e);
	}
	return r;
}

/* Takes <in>/<name>/ of the state; it may be missing. */
static int take_own(struct lay *l, enum regress_from from, const char *in, const char *name,
		    struct err *e)
{
	char dir[NAME];

	l->from = from;
	snprintf(dir, sizeof(dir), "%s/%.200s", in, name);
	if (faccessat(l->s->state->dirfd, dir, F_OK, 0) < 0)
		return 0;
	return regress_inputs_take_dir(l, l->s->state->dirfd, dir, dir, 0, e);
}

/* All builds of a target share the corpus of the main build. */
static const char *corpus_name(const struct lay *l)
{
	const struct target *t = l->s->target->target;

	return t->of ? t->of : t->name;
}

static int list_spare(struct lay *l, struct err *e)
{
	const char *target = corpus_name(l);
	_autocandidates_ struct candidates all = {0};
	_autoclose_ int corpus = -1;
	char dir[NAME];
	int r;

	snprintf(dir, sizeof(dir), "corpus/%.200s", target);
	r = fs_open_dir(l->s->state->dirfd, dir, &corpus, e);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = shard_list(corpus, &all, e);
	return r == 0 ? spare_leave_out(l->s->state->dirfd, target, &all, &l->spare, e) : r;
}

static int regress_inputs_take_corpus(struct lay *l, struct err *e)
{
	int r = l->s->all ? 0 : list_spare(l, e);

	if (r == 0)
		r = take_own(l, REGRESS_CORPUS, "corpus", corpus_name(l), e);
	candidates_done(&l->spare);
	return r;
}

static const char *regress_inputs_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* failed NULL: the archive was read, but entries may have been skipped. */
static void leave_out_of_archive(struct lay *l, const char *failed, const struct seeds_result *sum)
{
	if (failed || sum->skipped)
		regress_inputs_leave_out(l, failed ? failed : sum->why, "");
	if (!failed && sum->skipped)
		l->left.n += sum->skipped - 1; /* the first is counted */
}

/* Must run first, into the empty directory: entries of archives have no names. */
static int take_archive(struct lay *l, struct err *e)
{
	const char *archive = l->s->target->target->seed_archive;
	const struct seeds_to to = {.dirfd = l->to, .rights = &l->s->target->target->rights};
	CLEANUP(closedir_p) DIR *d = NULL;
	struct seeds_result sum;
	const struct dirent *ent;
	int r;

	if (!archive)
		return 0;
	l->from = REGRESS_ARCHIVE;
	r = discover_unpack(archive, &to, &sum, e);
	if (r < 0 && r != -EBADMSG && r != -EACCES)
		return r;
	leave_out_of_archive(l, r < 0 ? e->msg : NULL, &sum);
	d = sys_opendirat(l->to, ".");
	if (!d)
		return err_sys(e, "list the inputs");
	while ((ent = sys_readdir(d)))
		if (ent->d_name[0] != '.')
			regress_inputs_add(
			    &l->all, ent->d_name, REGRESS_ARCHIVE,
			    xasprintf("%s: %s", regress_inputs_base_name(archive), ent->d_name));
	return errno ? err_sys(e, "list the inputs") : 0;
}

static int regress_inputs_by_name(const void *a, const void *b)
{
	const struct regress_input *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	if (r == 0)
		r = (int)x->from - (int)y->from;
	return r ? r : strcmp(x->source, y->source);
}

static int by_place(const void *a, const void *b)
{
	const struct regress_input *x = a, *y = b;
	int r = (int)x->from - (int)y->from;

	return r ? r : strcmp(x->name, y->name);
}

/* Keeps one of several equal inputs. A path in the source tree is the most useful name. */
static void regress_inputs_sort(struct regress_inputs *r)
{
	size_t n = 0;

	if (r->n > 0)
		qsort(r->v, r->n, sizeof(*r->v), regress_inputs_by_name);
	for (size_t i = 0; i < r->n; i++) {
		struct regress_input *kept = n > 0 ? &r->v[n - 1] : NULL;
		char *source = r->v[i].source;

		if (!kept || strcmp(kept->name, r->v[i].name) != 0) {
			r->v[n++] = r->v[i];
			continue;
		}
		if (r->v[i].from == REGRESS_TREE && kept->from < REGRESS_TREE) {
			r->v[i].source = kept->source;
			kept->source = source;
		}
		free(r->v[i].source);
	}
	r->n = n;
	if (n > 0)
		qsort(r->v, n, sizeof(*r->v), by_place);
}

/* --- the list ------------------------------------------------------------- */

/* Each record is "<sha1><digit><source>" and a NUL. */
static int regress_inputs_save(const struct regress_inputs *r, int dirfd, const char *file,
			       struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(LIST_MAX);
	int rc;

	for (size_t i = 0; i < r->n; i++) {
		buf_printf(&b, "%s%u%s", r->v[i].name, (unsigned)r->v[i].from, r->v[i].source);
		buf_put(&b, (struct slice){"", 1});
	}
	rc = buf_check(&b, e);
	return rc < 0 ? rc : fs_replace(dirfd, file, buf_slice(&b), e);
}

static int load_one(struct regress_inputs *r, const char *record, struct err *e)
{
	char name[STORE_NAME];
	unsigned from;

	if (strlen(record) <= STORE_NAME)
		return err_set(e, EBADMSG, "the list of inputs is damaged");
	memcpy(name, record, STORE_NAME - 1);
	name[STORE_NAME - 1] = '\0';
	from = (unsigned)(record[STORE_NAME - 1] - '0');
	if (from >= REGRESS_FROM_COUNT)
		return err_set(e, EBADMSG, "the list of inputs is damaged");
	regress_inputs_add(r, name, (enum regress_from)from, xstrdup(record + STORE_NAME));
	return 0;
}

int regress_inputs_load(int dirfd, const char *name, struct regress_inputs *ret, struct err *e)
{
	struct regress_inputs all = {0};
	_autofree_ char *text = NULL;
	char file[NAME];
	size_t n = 0;
	int r;

	snprintf(file, sizeof(file), "%.200s.list", name);
	r = fs_read(dirfd, file, LIST_MAX, &text, &n, e);
	for (size_t at = 0; r == 0 && at < n; at += strlen(text + at) + 1)
		r = load_one(&all, text + at, e);
	if (r < 0)
		regress_inputs_done(&all);
	else
		*ret = all;
	return r;
}

/* seeds: also in-tree inputs, seeds, archive and corpus. */
static int take_all(struct lay *l, bool seeds, struct err *e)
{
	const struct plan_entry *t = l->s->target;
	int r = seeds ? take_archive(l, e) : 0;

	if (r == 0 && seeds)
		r = take_dirs(l, REGRESS_TREE, &t->target->seed_dirs, &t->target->rights, e);
	if (r == 0 && seeds)
		r = take_dirs(l, REGRESS_SEEDS, &t->cfg.seeds, NULL, e);
	if (r == 0)
		r = take_crashes(l, e);
	if (r == 0)
		r = take_own(l, REGRESS_REGRESSION, "regressions", t->target->name, e);
	return r == 0 && seeds ? regress_inputs_take_corpus(l, e) : r;
}

int regress_inputs_lay(const struct regress_sources *s, int dirfd, const char *name,
		       struct regress_left *ret_left, struct err *e)
{
	struct lay l = {.s = s, .to = -1};
	char file[NAME];
	int r = fs_remove_tree(dirfd, name, e);

	if (r == 0 && sys_mkdirat(dirfd, name, MODE_DIR) < 0)
		r = err_sys(e, "make directory '%s'", name);
	if (r == 0)
		r = fs_open_dir(dirfd, name, &l.to, e);
	if (r == 0 && fchmod(l.to, MODE_DIR) < 0) /* independent of the umask */
		r = err_sys(e, "set the mode of '%s'", name);
	if (r == 0)
		r = take_all(&l, s->all || !s->target->target->of, e);
	if (r == 0) {
		regress_inputs_sort(&l.all);
		snprintf(file, sizeof(file), "%.200s.list", name);
		r = regress_inputs_save(&l.all, dirfd, file, e);
	}
	*ret_left = l.left;
	if (l.to >= 0)
		close(l.to);
	regress_inputs_done(&l.all);
	return r < 0 ? err_wrap(e, "the inputs of '%s'", name) : 0;
}
