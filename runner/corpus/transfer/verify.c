/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/transfer/verify.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/generation/generation.h"
#include "runner/corpus/transfer/internal.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* --- walking -------------------------------------------------------------------------- */

/* One entry of directory `dir`; that path is relative to the state directory. */
typedef int entry_fn(struct verifying *w, struct verify_at at, void *arg, struct err *e);

static int each_entry(struct verifying *w, const char *dir, entry_fn *fn, void *arg, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(w->v->state_dirfd, dir);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", dir);
	while ((ent = sys_readdir(d))) {
		_autofree_ char *path = xasprintf("%s/%s", dir, ent->d_name);
		struct verify_at at = {dirfd(d), ent->d_name, path};
		int r = fn(w, at, arg, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list directory '%s'", dir) : 0;
}

static bool verify_is_dir(struct verify_at at)
{
	struct stat st;

	return fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* --- <room>/<target>/<name> ------------------------------------------------------------- */

struct files {
	unsigned rule;
	int twin;
};

static int on_file(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	const struct files *f = arg;

	return verify_file(w, at, f->rule, f->twin, e);
}

static int verify_on_target(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	struct files f = {.rule = *(unsigned *)arg, .twin = -1};

	if (strcmp(at.path, "corpus/.generations") == 0 && verify_is_dir(at))
		return 0;
	if (!names_target_ok(slice_of(at.name)) || !verify_is_dir(at)) {
		verify_set_aside(w, at, "no target's directory");
		return 0;
	}
	w->sum->targets += strncmp(at.path, "corpus/", 7) == 0;
	return each_entry(w, at.path, on_file, &f, e);
}

static int check_room(struct verifying *w, const char *room, unsigned rule, struct err *e)
{
	return each_entry(w, room, verify_on_target, &rule, e);
}

static int verify_on_run(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	_autofree_ char *crashes = xasprintf("%s/crashes", at.path);

	(void)arg;
	return verify_is_dir(at) ? check_room(w, crashes, RULE_ARTIFACT, e) : 0;
}

/* --- generations -------------------------------------------------------------------------- */

static bool verify_is_number(const char *name)
{
	struct slice s = slice_of(name);
	uint64_t n;

	return s.p[0] != '0' && scan_u64(&s, 10, UINT32_MAX, &n) && s.n == 0;
}

struct generations {
	bool files;	   /* the second pass: read the files */
	int corpus;	   /* -1: there is none */
	bool is_unsettled; /* an exchange was killed */
};

static int on_generation(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	struct generations *g = arg;
	struct files f = {.rule = RULE_INPUT, .twin = g->corpus};

	if (verify_is_number(at.name) && verify_is_dir(at))
		return g->files ? each_entry(w, at.path, on_file, &f, e) : 0;
	if (strcmp(at.name, "next") == 0 || strcmp(at.name, "pending") == 0)
		g->is_unsettled = true;
	else if (g->files)
		return 0;
	else if (strcmp(at.name, "trash") == 0)
		verify_left(w, at.path, "half removed", "the next merge removes the rest");
	else
		verify_set_aside(w, at, "no generation");
	return 0;
}

/* Recovers as each start does. */
static void end_exchange(struct verifying *w, const char *target, const char *path)
{
	static const char what[] = "a corpus was being replaced when fuzzcell was killed";
	struct generation g = {.corpora = -1, .dir = -1};
	enum generation_found found;
	struct err e;
	int r;

	if (!w->v->repair) {
		verify_left(w, path, what, "the next run ends it");
		return;
	}
	r = generation_open(w->v->state_dirfd, target, &g, &e);
	if (r == 0) {
		r = generation_recover(&g, w->v->keep, &found, &e);
		generation_close(&g);
	}
	if (r < 0)
		verify_left(w, path, what, e.msg);
	else
		verify_mended(w, path, what);
}

static int on_generations(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	_autofree_ char *path = xasprintf("corpus/%s", at.name);
	_autoclose_ int corpus = -1;
	struct generations g = {.files = *(const bool *)arg, .corpus = -1};
	struct err none;
	int r;

	if (!names_target_ok(slice_of(at.name)) || !verify_is_dir(at)) {
		if (!g.files)
			verify_set_aside(w, at, "no target's directory");
		return 0;
	}
	if (fs_open_dir(w->v->state_dirfd, path, &corpus, &none) < 0 && !g.files)
		verify_left(w, at.path, "generations of a target that has no corpus",
			    "the last generation may be the only copy of the corpus");
	g.corpus = corpus;
	r = each_entry(w, at.path, on_generation, &g, e);
	if (r == 0 && g.is_unsettled && !g.files)
		end_exchange(w, at.name, at.path);
	return r;
}

static int check_generations(struct verifying *w, bool files, struct err *e)
{
	int r = each_entry(w, "generations", on_generations, &files, e);

	return r < 0 ? r : each_entry(w, "corpus/.generations", on_generations, &files, e);
}

/* --- unexpected files ------------------------------------------------------------------------ */

static int on_merge(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	_autofree_ char *corpus = xasprintf("corpus/%s", at.name);

	(void)arg;
	(void)e;
	if (!names_target_ok(slice_of(at.name)) || !verify_is_dir(at) ||
	    faccessat(w->v->state_dirfd, corpus, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		verify_set_aside(w, at, "left by the merge of a target that has no corpus");
	return 0;
}

static int on_work(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	verify_left(w, at.path, "left by a run that was killed",
		    "the next run saves what is in it");
	return 0;
}

/* An entry of the state directory itself. */
static int on_top(struct verifying *w, struct verify_at at, void *arg, struct err *e)
{
	size_t n = strlen(at.name);

	(void)arg;
	(void)e;
	at.path += 2; /* "./" */
	if (at.name[0] == '.' && n > 5 && strcmp(at.name + n - 4, ".new") == 0)
		verify_set_aside(w, at, "the rest of a write that was cut");
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

int verify_state(const struct verify *v, struct verify_sum *ret, struct err *e)
{
	struct verifying w = {.v = v, .sum = ret};
	int r;

	*ret = (struct verify_sum){0};
	/* Exchanges first: completing one changes the corpus. */
	r = check_generations(&w, false, e);
	if (r == 0)
		r = check_room(&w, "corpus", RULE_INPUT | RULE_READABLE, e);
	if (r == 0)
		r = check_generations(&w, true, e);
	if (r == 0)
		r = check_room(&w, "quarantine", RULE_INPUT, e);
	if (r == 0)
		r = check_room(&w, "retry", RULE_INPUT, e);
	if (r == 0)
		r = check_room(&w, "regressions", RULE_INPUT, e);
	if (r == 0)
		r = check_room(&w, "triage", RULE_ARTIFACT, e);
	if (r == 0)
		r = each_entry(&w, "logs", verify_on_run, NULL, e);
	if (r == 0)
		r = each_entry(&w, "merge", on_merge, NULL, e);
	if (r == 0)
		r = each_entry(&w, "work", on_work, NULL, e);
	if (r == 0)
		r = each_entry(&w, ".", on_top, NULL, e);
	if (ret->repaired > 0 && sys_syncfs(v->state_dirfd) < 0 && r == 0)
		r = err_sys(e, "sync the repairs");
	return r;
}
