/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/checkout.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/git.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/trigger/growth.h"
#include "runner/trigger/remote.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct work {
	const struct checkout_opts *o;
	struct git git;
	struct checkout *c;
	char as[72]; /* how a user calls git in the work tree */
};

static void work_done(struct work *w)
{
	git_done(&w->git);
	if (w->o->limits)
		w->o->limits->close(w->o->limits->arg);
}

/* git refuses to work for any user but the owner, root included ("dubious ownership"). */
static void as_owner(struct work *w)
{
	const struct passwd *pw = w->git.owner.other ? getpwuid(w->git.owner.uid) : NULL;

	if (pw)
		(void)snprintf(w->as, sizeof(w->as), "runuser -u %.40s -- git", pw->pw_name);
	else if (w->git.owner.other)
		(void)snprintf(w->as, sizeof(w->as),
			       "setpriv --reuid=%u --regid=%u --clear-groups git", w->git.owner.uid,
			       w->git.owner.gid);
	else
		(void)snprintf(w->as, sizeof(w->as), "git");
}

/* Formats into why or blocked, printable.  Returns 0. */
static int __attribute__((format(printf, 2, 3))) tell(char to[CHECKOUT_WHY], const char *fmt, ...)
{
	char text[CHECKOUT_WHY], shown[ESCAPE_ASCII_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* for users: may be cut */
	va_end(ap);
	(void)snprintf(to, CHECKOUT_WHY, "%.*s", CHECKOUT_WHY - 1,
		       escape_ascii(slice_of(text), shown));
	return 0;
}

/* --- questions to the work tree ------------------------------------------------------ */

/* The name of a revision's commit, or "" if there is none. */
static int ask_commit(const struct work *w, const char *rev, char ret[COMMIT_MAX], struct err *e)
{
	const char *const args[] = {"rev-parse", "--verify", "-q", "--end-of-options", rev, NULL};
	_autofree_ char *answer = NULL;
	int r = git_ask(&w->git, args, &answer, e);

	*ret = '\0';
	if (r < 0)
		return r;
	if (commit_ok(answer))
		(void)snprintf(ret, COMMIT_MAX, "%s", answer);
	return 0;
}

static int ask_tracking(const struct work *w, char ret[COMMIT_MAX], struct err *e)
{
	char ref[600];

	(void)snprintf(ref, sizeof(ref), "refs/remotes/%.250s/%.250s^{commit}", w->o->remote,
		       w->o->branch);
	return ask_commit(w, ref, ret, e);
}

/* 1: a is an ancestor of b. */
static int is_ancestor(const struct work *w, const char *a, const char *b, struct err *e)
{
	const char *const args[] = {"merge-base", "--is-ancestor", a, b, NULL};
	int r = git_run(&w->git, args, NULL, e);

	return r < 0 ? r : r == 0;
}

/* Checks for uncommitted changes.  The message names only the first changed file. */
static int check_clean(const struct work *w, struct err *e)
{
	static const char *const args[] = {
	    "status",	    "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all",
	    "--no-renames", NULL};
	_autobuf_ struct buf out = BUF_INIT((size_t)16 << 20);
	struct slice rest, name;
	int r = git_run(&w->git, args, &out, e);
	unsigned n = 0;

	if (r < 0)
		return r;
	rest = buf_slice(&out);
	for (size_t i = 0; i < rest.n; i++)
		n += rest.p[i] == '\0';
	if (n == 0)
		return 0;
	name = (struct slice){rest.p, strnlen(rest.p, rest.n)};
	return tell(w->c->blocked,
		    "the work tree has changes that are not committed (%u file%s, '%.60s'): "
		    "commit them elsewhere, or '%s -C %.60s checkout -f'",
		    n, n == 1 ? "" : "s", name.n > 3 ? name.p + 3 : "", w->as, w->git.top);
}

/* --- what is checked out --------------------------------------------------------------- */

static int check_branch(const struct work *w, struct err *e)
{
	static const char *const args[] = {"symbolic-ref", "-q", "--short", "HEAD", NULL};
	_autofree_ char *at = NULL;
	int r = git_ask(&w->git, args, &at, e);

	if (r < 0)
		return r;
	if (r == 1)
		return tell(w->c->blocked,
			    "no branch is checked out (a detached HEAD): '%s -C %.100s checkout "
			    "%.60s'",
			    w->as, w->git.top, w->o->branch);
	if (strcmp(at, w->o->branch) != 0)
		return tell(w->c->blocked,
			    "branch '%.60s' is checked out, not '%.60s': '%s -C %.60s checkout "
			    "%.60s'",
			    at, w->o->branch, w->as, w->git.top, w->o->branch);
	return 0;
}

/* Checks that the work tree can be fast-forwarded to head. */
static int check_forward(const struct work *w, const char *head, struct err *e)
{
	const char *tree = w->c->tree;
	int r = is_ancestor(w, tree, head, e);

	if (r != 0)
		return r < 0 ? r : 0;
	r = is_ancestor(w, head, tree, e);
	if (r < 0)
		return r;
	if (r == 1)
		return tell(w->c->blocked,
			    "the work tree has commits that '%.60s' of '%.60s' has not: push them, "
			    "or '%s -C %.60s reset --hard %.30s/%.30s'",
			    w->o->branch, w->o->remote, w->as, w->git.top, w->o->remote,
			    w->o->branch);
	return tell(w->c->blocked,
		    "the branch was rewritten: %.12s does not come after %.12s, which is checked "
		    "out; when that is right: '%s -C %.60s reset --hard %.30s/%.30s'",
		    head, tree, w->as, w->git.top, w->o->remote, w->o->branch);
}

/* Sets blocked if the work tree cannot be updated to head, or has changed files. */
static int checkout_check_tree(const struct work *w, const char *head, struct err *e)
{
	int r;

	*w->c->blocked = '\0';
	r = check_branch(w, e);
	if (r == 0 && !*w->c->blocked && !*w->c->tree)
		r = tell(w->c->blocked, "nothing is checked out yet: '%s -C %.100s checkout %.60s'",
			 w->as, w->git.top, w->o->branch);
	if (r == 0 && !*w->c->blocked && *head)
		r = check_forward(w, head, e);
	/* Even at head: a run is recorded under its commit, so it must not have other changes. */
	if (r == 0 && !*w->c->blocked)
		r = check_clean(w, e);
	return r;
}

/* --- the repository --------------------------------------------------------------------- */

static int broken(const struct work *w, const char *why)
{
	w->c->kind = CHECKOUT_BROKEN;
	return tell(w->c->why, "%s", why);
}

static int check_shallow(const struct work *w, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--is-shallow-repository", NULL};
	_autofree_ char *answer = NULL;
	char why[CHECKOUT_WHY];
	int r = git_ask(&w->git, args, &answer, e);

	if (r < 0 || strcmp(answer, "true") != 0)
		return r < 0 ? r : 0;
	(void)snprintf(why, sizeof(why),
		       "it is a shallow clone, where a rewritten branch looks the same as a "
		       "longer branch: '%s -C %.100s fetch --unshallow'",
		       w->as, w->git.top);
	return broken(w, why);
}

static int check_remote(const struct work *w, struct err *e)
{
	_autofree_ char *key = NULL;
	_autofree_ char *url = NULL;
	const char *args[] = {"config", "--get", NULL, NULL};
	char why[CHECKOUT_WHY];
	int r;

	key = xasprintf("remote.%s.url", w->o->remote);
	args[2] = key;
	r = git_ask(&w->git, args, &url, e);
	if (r != 1)
		return r < 0 ? r : 0;
	(void)snprintf(why, sizeof(why),
		       "it has no remote '%.60s': '%s -C %.60s remote add %.60s URL'", w->o->remote,
		       w->as, w->git.top, w->o->remote);
	return broken(w, why);
}

/* Refuses names that git would interpret as something else. */
static int checkout_check_names(const struct work *w, struct err *e)
{
	const char *const args[] = {"check-ref-format", "--branch", w->o->branch, NULL};
	char why[CHECKOUT_WHY];
	int r = *w->o->branch == '-' || *w->o->remote == '-' || !*w->o->remote ||
		strpbrk(w->o->remote, " /:\\\t\n");

	if (r == 0)
		r = git_run(&w->git, args, NULL, e);
	if (r == 0)
		return 0;
	(void)snprintf(why, sizeof(why), "'%.60s' of '%.60s' cannot be a branch of a remote",
		       w->o->branch, w->o->remote);
	return broken(w, why);
}

static int checkout_check_repository(const struct work *w, struct err *e)
{
	int r = checkout_check_names(w, e);

	if (r == 0 && w->c->kind == CHECKOUT_OK)
		r = check_shallow(w, e);
	if (r == 0 && w->c->kind == CHECKOUT_OK)
		r = check_remote(w, e);
	return r;
}

/* --- actions ------------------------------------------------------------------------------- */

/* Each fetch leaves a file of objects.  If they cannot be packed, fuzzing continues. */
static int pack(const struct work *w, struct err *e)
{
	static const char *const args[] = {"gc", "--auto", "-q", NULL};
	_autobuf_ struct buf said = BUF_INIT(8192);
	char why[CHECKOUT_WHY];
	int r = git_run_timed(&w->git, args, NULL, w->o->fetch_us, &said, e);

	if (r == -ETIMEDOUT || r == -EPROTO || r == -EDQUOT)
		return tell(w->c->why, "the repository cannot be packed: %s", e->msg);
	if (r <= 0)
		return r;
	remote_words(buf_slice(&said), why);
	return tell(w->c->why, "the repository cannot be packed: git gc: %.200s", why);
}

static int checkout_look(const struct work *w, bool peek, struct err *e)
{
	struct remote_answer a = {0};
	int r = ask_commit(w, "HEAD^{commit}", w->c->tree, e);

	if (r == 0)
		r = ask_tracking(w, w->c->head, e);
	if (r == 0)
		r = remote_ask(&w->git, w->o, peek, &a, e);
	if (r < 0)
		return r;
	w->c->kind = a.kind;
	if (a.kind != CHECKOUT_OK)
		return tell(w->c->why, "%s", a.why);
	if (peek)
		memcpy(w->c->head, a.head, sizeof(w->c->head));
	else
		r = ask_tracking(w, w->c->head, e);
	if (r == 0 && !peek)
		r = pack(w, e);
	if (r == 0 && !*w->c->head)
		return broken(w, "the branch's head is not a commit");
	return r;
}

/* Whether the commit is in the repository.  A head from CHECKOUT_PEEK may not be fetched yet. */
static int checkout_have(const struct work *w, const char *head, struct err *e)
{
	char rev[COMMIT_MAX + 16], found[COMMIT_MAX];
	int r;

	(void)snprintf(rev, sizeof(rev), "%s^{commit}", head);
	r = ask_commit(w, rev, found, e);
	return r < 0 ? r : *found != '\0';
}

static int look_and_compare(const struct work *w, bool peek, struct err *e)
{
	int r = checkout_look(w, peek, e);

	if (r < 0)
		return r;
	r = *w->c->head ? checkout_have(w, w->c->head, e) : 0;
	return r < 0 ? r : checkout_check_tree(w, r == 1 ? w->c->head : "", e);
}

/* Refuses a commit that would fill the disk or the memory. */
static int check_growth(const struct work *w, const char *head, struct err *e)
{
	char bytes[UNITS_MAX], files[UNITS_MAX];
	struct growth more;
	int r = growth_check(&w->git, w->c->tree, head, &more, e);

	if (r == -EPROTO)
		return tell(w->c->blocked, "%s", e->msg);
	if (r != 1)
		return r;
	return tell(
	    w->c->blocked,
	    "%.12s needs at least %s more in %s more files: over an eighth of the free disk "
	    "space or of the memory; if that is right: '%s -C %.60s merge --ff-only %.12s'",
	    head, units_size(more.bytes, bytes), units_count(more.files, files), w->as, w->git.top,
	    head);
}

static int limit_anew(struct work *w, struct err *e)
{
	const struct git_limits *l = w->o->limits;

	w->git.group = NULL;
	if (l)
		l->close(l->arg);
	return git_limit(&w->git, l, e);
}

/* Restores the tracked files that a killed merge changed: the tree was clean before.  New files
 * stay, because untracked files are never removed.  The limits are measured again without the
 * commit's new files, else git could do nothing. */
static int go_back(struct work *w, const struct err *why)
{
	static const char *const args[] = {"reset", "-q", "--hard", "HEAD", NULL};
	struct err e;
	int r = limit_anew(w, &e);

	if (r == 0)
		r = git_unlock(&w->git, &e);
	if (r == 0)
		r = git_run(&w->git, args, NULL, &e);
	if (r == 0)
		return tell(w->c->blocked, "%s", why->msg);
	return tell(w->c->blocked,
		    "%.180s; and the work tree could not be restored: '%s -C %.60s status'",
		    why->msg, w->as, w->git.top);
}

static int checkout_update(struct work *w, const char *head, struct err *e)
{
	const char *const args[] = {"merge",	 "-q",	      "--ff-only", "--no-verify",
				    "--no-stat", "--no-edit", head,	   NULL};
	_autobuf_ struct buf said = BUF_INIT(8192);
	char why[CHECKOUT_WHY];
	int r = ask_commit(w, "HEAD^{commit}", w->c->tree, e);

	memcpy(w->c->head, head, strlen(head) + 1);
	if (r == 0)
		r = checkout_check_tree(w, head, e);
	if (r < 0 || *w->c->blocked || strcmp(w->c->tree, head) == 0)
		return r;
	r = check_growth(w, head, e);
	if (r < 0 || *w->c->blocked)
		return r;
	r = git_run_timed(&w->git, args, NULL, w->o->fetch_us, &said, e);
	if (r == -ETIMEDOUT || r == -EPROTO || r == -EDQUOT)
		return go_back(w, e);
	if (r < 0)
		return r;
	if (r > 0) {
		remote_words(buf_slice(&said), why);
		return tell(w->c->blocked, "git cannot bring the work tree to %.12s: %.200s", head,
			    why);
	}
	r = ask_commit(w, "HEAD^{commit}", w->c->tree, e);
	if (r == 0 && strcmp(w->c->tree, head) != 0)
		r = tell(w->c->blocked, "git left the work tree at %.12s instead of %.12s",
			 w->c->tree, head);
	return r;
}

static int do_limited(struct work *w, enum checkout_what what, const char *head, struct err *e)
{
	int r = git_limit(&w->git, w->o->limits, e);

	if (r == 0)
		r = checkout_check_repository(w, e);
	if (r < 0 || w->c->kind != CHECKOUT_OK)
		return r;
	if (what == CHECKOUT_UPDATE)
		return checkout_update(w, head, e);
	return look_and_compare(w, what == CHECKOUT_PEEK, e);
}

int checkout_do(const struct checkout_opts *o, enum checkout_what what, const char *head,
		struct checkout *ret, struct err *e)
{
	CLEANUP(work_done) struct work w = {.o = o, .c = ret};
	char why[GIT_WHY];
	int r;

	*ret = (struct checkout){.kind = CHECKOUT_OK};
	r = git_open(o->dir, &w.git, why, e);
	as_owner(&w);
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -EPERM)
		return broken(&w, e->msg);
	if (r == 0)
		return broken(&w, why);
	if (r == 1)
		r = do_limited(&w, what, head, e);
	if (r != -EDQUOT)
		return r;
	return what == CHECKOUT_UPDATE ? tell(ret->blocked, "%s", e->msg) : broken(&w, e->msg);
}
