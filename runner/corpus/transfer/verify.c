/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/transfer/verify.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/generation/generation.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"
#include "runner/state/state.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct verifying {
	const struct verify *v;
	struct verify_sum *sum;
};

/* The location of a file or directory. */
struct verify_at {
	int dir;
	const char *name;
	const char *path; /* relative to the state directory */
};

enum verify_rule {
	RULE_INPUT = 0,	   /* <sha1> */
	RULE_ARTIFACT = 1, /* <kind>-<sha1> */
	RULE_READABLE = 2, /* flag: readable for all users */
};

/* --- findings, and their repair if that was requested --------------------- */

enum { MODE_FILE = 0644 };

static void verify_report(struct verifying *w, struct verify_finding f)
{
	w->sum->wrong++;
	w->sum->repaired += f.fix != VERIFY_LEFT;
	w->v->found(w->v->arg, &f);
}

static void verify_left(struct verifying *w, const char *path, const char *what, const char *why)
{
	verify_report(w, (struct verify_finding){path, what, VERIFY_LEFT, why});
}

static void verify_mended(struct verifying *w, const char *path, const char *what)
{
	verify_report(w, (struct verify_finding){path, what, VERIFY_MENDED, NULL});
}

static void verify_set_aside(struct verifying *w, struct verify_at at, const char *what)
{
	_autofree_ char *to = NULL;
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
		return;
	}
	if (state_set_aside(w->v->state_dirfd, at.dir, at.name, at.path, &to, &e) < 0)
		verify_left(w, at.path, what, e.msg);
	else
		verify_report(w, (struct verify_finding){at.path, what, VERIFY_ASIDE, to});
}

/* Renames the file to its content's name, if that is free.  A file of that name has the same
 * content, or is damaged itself. */
static void verify_rename(struct verifying *w, struct verify_at at, const char *hex,
			  const char *what)
{
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
	} else if (faccessat(at.dir, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		verify_set_aside(w, at, what);
	} else if (sys_renameat(at.dir, at.name, hex) < 0) {
		(void)err_sys(&e, "rename it to '%s'", hex);
		verify_left(w, at.path, what, e.msg);
	} else {
		verify_report(w, (struct verify_finding){at.path, what, VERIFY_RENAMED, hex});
	}
}

static void verify_set_mode(struct verifying *w, struct verify_at at, const char *what)
{
	_autoclose_ int fd = -1;
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
		return;
	}
	fd = sys_openat(at.dir, at.name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0 || fchmod(fd, MODE_FILE) < 0) {
		(void)err_sys(&e, "set its mode");
		verify_left(w, at.path, what, e.msg);
	} else {
		verify_mended(w, at.path, what);
	}
}

/* --- one file ------------------------------------------------------------- */

enum { READABLE = 0444, NOT_WANTED = 07022 }; /* set-user-ID and the like; writable for others */

/* The digits that its name ends with: "<sha1>", "<kind>-<sha1>"; NULL: none. */
static const char *digits_of(const char *name, unsigned rule)
{
	size_t n = strlen(name), hex = STORE_NAME - 1;

	if (!(rule & RULE_ARTIFACT))
		return candidates_name_ok(name) ? name : NULL;
	if (n < hex + 2 || name[n - hex - 1] != '-' || !candidates_name_ok(name + n - hex))
		return NULL;
	return name + n - hex;
}

/* ".<name>.new": an incomplete file of ours. */
static bool verify_is_rest(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 5 && strcmp(name + n - 4, ".new") == 0;
}

static bool is_twin(const struct stat *st, const char *name, int twin)
{
	struct stat other;

	return twin >= 0 && fstatat(twin, name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st->st_ino == other.st_ino && st->st_dev == other.st_dev;
}

static bool bad_mode(const struct stat *st, unsigned rule)
{
	return (rule & RULE_READABLE) &&
	       ((st->st_mode & READABLE) != READABLE || (st->st_mode & NOT_WANTED));
}

static void check_content(struct verifying *w, struct verify_at at, unsigned rule,
			  const struct stat *st, const char *hex)
{
	const char *digits = digits_of(at.name, rule);
	char what[STORE_NAME + 48];

	if (digits && strcmp(digits, hex) == 0) {
		if (bad_mode(st, rule))
			verify_set_mode(w, at,
					"not readable for all users, or writable for others");
		return;
	}
	snprintf(what, sizeof(what), "%s%s",
		 digits			? "damaged: its content is "
		 : rule & RULE_ARTIFACT ? "its name should end with "
					: "its name should be ",
		 hex);
	if (digits || (rule & RULE_ARTIFACT))
		verify_set_aside(w, at, what);
	else
		verify_rename(w, at, hex, what);
}

static int verify_read(struct verifying *w, struct verify_at at, unsigned rule, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(at.dir, at.name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	char hex[STORE_NAME];
	struct stat st;
	struct err why;

	if (fd < 0 && errno == ENOENT)
		return 0; /* this repair has just renamed it */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return err_sys(e, "open '%s'", at.path);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)err_sys(&why, "open it");
		verify_left(w, at.path, "cannot be read", why.msg);
	} else if (digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, &why) < 0) {
		verify_left(w, at.path, "cannot be read", why.msg);
	} else {
		check_content(w, at, rule, &st, hex);
	}
	return 0;
}

/* The output of the cell that found an artifact is kept beside it.  After a kill it may be without
 * its artifact; the next triage removes it (run/triage/kept.h). */
static bool is_report(const char *name, unsigned rule, const struct stat *st)
{
	return (rule & RULE_ARTIFACT) && S_ISREG(st->st_mode) && strncmp(name, ".report-", 8) == 0;
}

/* twin: a directory with files that were checked already.  If it has the same file under the same
 * name, the file is not read again.  -1: none. */
static int verify_file(struct verifying *w, struct verify_at at, unsigned rule, int twin,
		       struct err *e)
{
	struct stat st;

	if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", at.path);
	if (is_report(at.name, rule, &st))
		return 0;
	if (verify_is_rest(at.name))
		verify_set_aside(w, at, "the rest of a write that was cut");
	else if (at.name[0] == '.')
		verify_set_aside(w, at, "hidden, so it is no input");
	else if (!S_ISREG(st.st_mode))
		verify_set_aside(w, at, "not a regular file");
	else if (st.st_size == 0 && !(rule & RULE_ARTIFACT)) /* an empty input is a possible
							      * artifact */
		verify_set_aside(w, at, "empty");
	else if ((uint64_t)st.st_size > WORKDIR_INPUT_MAX)
		verify_set_aside(w, at, "larger than any input");
	else if (!is_twin(&st, at.name, twin)) {
		w->sum->files++;
		if (w->v->progress)
			w->v->progress(w->v->arg, w->sum->files);
		return verify_read(w, at, rule, e);
	}
	return 0;
}

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
	(void)arg;
	(void)e;
	at.path += 2; /* "./" */
	if (verify_is_rest(at.name))
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
