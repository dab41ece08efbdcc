/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/checkout.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/git.h"
#include "base/memory.h"
#include "base/strv.h"
#include "base/task.h"
#include "base/units.h"
#include "runner/trigger/growth.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { REMOTE_OUTPUT_MAX = 16384, LEFT_AGE = 3600 };

/* --- error output of git -------------------------------------------------------- */

/* Lines of generic advice, which do not help here. */
static bool remote_is_noise(struct slice line)
{
	static const char *const noise[] = {"Please make sure you have",
					    "and the repository exists", "hint: ", "Aborting"};

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (scan_lit(&line, slice_of(noise[i])))
			return true;
	return line.n == 0;
}

/* Errors of ssh and of the remote precede git's own "fatal:" line, which alone is of little use.
 * The reason becomes one printable line. */
static void remote_reason(struct slice output, char ret[CHECKOUT_WHY])
{
	char shown[ESCAPE_ASCII_MAX];
	struct slice line;
	size_t n = 0;

	*ret = '\0';
	while (n < CHECKOUT_WHY - 80 && scan_line(&output, &line)) {
		while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
			line.n--;
		scan_blanks(&line);
		if (remote_is_noise(line))
			continue;
		(void)(scan_lit(&line, SLICE("fatal: ")) || scan_lit(&line, SLICE("error: ")));
		n += (size_t)snprintf(ret + n, CHECKOUT_WHY - n, "%s%.160s", n ? "; " : "",
				      escape_ascii(line, shown));
	}
	if (n == 0)
		(void)snprintf(ret, CHECKOUT_WHY, "git reports no reason");
}

static bool remote_contains(struct slice text, const char *word)
{
	return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* --- the remote ----------------------------------------------------------------- */

/* The remote is untrusted: its text is cut and made printable. */
struct remote_answer {
	enum checkout_kind kind;
	char why[CHECKOUT_WHY];
	char head[COMMIT_MAX]; /* set by ask_only */
};

/* Sets GIT_SSH_COMMAND: the user's ssh command, with options that disable prompts. */
static int remote_add_ssh(const struct git *g, struct strv *env, struct err *e)
{
	static const char *const args[] = {"config", "--get", "core.sshCommand", NULL};
	_autofree_ char *set = NULL;
	const char *ssh = g->owner.other ? NULL : getenv("GIT_SSH_COMMAND");
	int r = 0;

	if (!ssh || !*ssh) {
		r = git_ask(g, args, &set, e);
		if (r < 0)
			return r;
		ssh = r == 0 && *set ? set : "ssh";
	}
	strv_pushf(env,
		   "GIT_SSH_COMMAND=%s -oBatchMode=yes -oConnectTimeout=30 "
		   "-oServerAliveInterval=30",
		   ssh);
	return 0;
}

static int remote_make_env(const struct git *g, struct strv *env, struct err *e)
{
	static const char *const passed[] = {
	    "http_proxy", "https_proxy", "HTTPS_PROXY",	  "all_proxy",	  "ALL_PROXY",
	    "no_proxy",	  "NO_PROXY",	 "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"};
	const char *v;
	int r = remote_add_ssh(g, env, e);

	if (r < 0)
		return r;
	strv_push(env, "GIT_ASKPASS="); /* no password window */
	if (!g->owner.other && (v = getenv("SSH_AUTH_SOCK")))
		strv_pushf(env, "SSH_AUTH_SOCK=%s", v);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if ((v = getenv(passed[i])))
			strv_pushf(env, "%s=%s", passed[i], v);
	return 0;
}

/* Finds the line "<commit>\t<ref>"; warnings may precede it. */
static bool remote_find_head(struct slice output, const char *ref, char ret[COMMIT_MAX])
{
	struct slice line, name;

	while (scan_line(&output, &line)) {
		if (!scan_until(&line, '\t', COMMIT_MAX - 1, &name) ||
		    !scan_lit(&line, SLICE("\t")) || !slice_eq(line, slice_of(ref)))
			continue;
		(void)snprintf(ret, COMMIT_MAX, "%.*s", (int)name.n, name.p);
		if (commit_ok(ret))
			return true;
	}
	*ret = '\0';
	return false;
}

static int remote_no_branch(const struct checkout_opts *o, struct remote_answer *ret)
{
	ret->kind = CHECKOUT_BROKEN;
	(void)snprintf(ret->why, sizeof(ret->why),
		       "remote '%.60s' has no branch '%.100s': check trigger.branch in the "
		       "configuration",
		       o->remote, o->branch);
	return 0;
}

/* A push that exceeds a limit exceeds it in each fetch, so a user must act: CHECKOUT_BROKEN. */
static int remote_did_not_end(int r, struct remote_answer *ret, const struct err *e)
{
	if (r != -ETIMEDOUT && r != -EPROTO && r != -EDQUOT)
		return r;
	ret->kind = r == -EDQUOT ? CHECKOUT_BROKEN : CHECKOUT_NETWORK;
	(void)snprintf(ret->why, sizeof(ret->why), "%.*s", CHECKOUT_WHY - 1, e->msg);
	return 0;
}

/* git keeps unfinished packs of a failed or killed fetch for weeks. */
static void remote_remove_leftovers(const struct git *g, int failed)
{
	struct err ignored;

	(void)!git_remove_unfinished(g, failed ? 0 : LEFT_AGE,
				     &ignored); /* the next fetch does it again */
}

/* Fetches the branch into refs/remotes/; ask_only: only asks for its head.  The caller must have
 * checked the names.  A fetch that exceeds a limit of g is CHECKOUT_BROKEN.  Negative: git could
 * not be started. */
static int remote_ask(const struct git *g, const struct checkout_opts *o, bool ask_only,
		      struct remote_answer *ret, struct err *e)
{
	_autostrv_ struct strv env = {0};
	_autobuf_ struct buf output = BUF_INIT(REMOTE_OUTPUT_MAX);
	_autofree_ char *ref = xasprintf("refs/heads/%s", o->branch);
	_autofree_ char *spec =
	    xasprintf("+refs/heads/%s:refs/remotes/%s/%s", o->branch, o->remote, o->branch);
	const char *const fetch[] = {"fetch", "-q",	 "--no-tags", "--no-recurse-submodules",
				     "--",    o->remote, spec,	      NULL};
	const char *const list[] = {"ls-remote", "-q", "--exit-code", "--", o->remote, ref, NULL};
	int r = remote_make_env(g, &env, e);

	*ret = (struct remote_answer){.kind = CHECKOUT_OK};
	if (r == 0)
		r = git_run_timed(g, ask_only ? list : fetch, (const char *const *)env.v,
				  o->fetch_us, &output, e);
	if (!ask_only)
		remote_remove_leftovers(g, r);
	if (r < 0)
		return remote_did_not_end(r, ret, e);
	if (ask_only ? r == 2 : r != 0 && remote_contains(buf_slice(&output), "find remote ref"))
		return remote_no_branch(o, ret);
	if (r == 0 && (!ask_only || remote_find_head(buf_slice(&output), ref, ret->head)))
		return 0;
	ret->kind = CHECKOUT_NETWORK;
	remote_reason(buf_slice(&output), ret->why);
	return 0;
}

/* --- the work tree -------------------------------------------------------------- */

struct work {
	const struct checkout_opts *o;
	struct git git;
	struct checkout *c;
	char as[72]; /* how a user calls git in the work tree */
};

static void checkout_work_done(struct work *w)
{
	git_done(&w->git);
	if (w->o->limits)
		w->o->limits->close(w->o->limits->arg);
}

/* git refuses to work for any user but the owner, root included ("dubious ownership"). */
static void checkout_as_owner(struct work *w)
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
static int __attribute__((format(printf, 2, 3)))
checkout_print(char to[CHECKOUT_WHY], const char *fmt, ...)
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

/* The name of a revision's commit, or "" if there is none. */
static int checkout_ask_commit(const struct work *w, const char *rev, char ret[COMMIT_MAX],
			       struct err *e)
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

static int checkout_ask_tracking(const struct work *w, char ret[COMMIT_MAX], struct err *e)
{
	char ref[600];

	(void)snprintf(ref, sizeof(ref), "refs/remotes/%.250s/%.250s^{commit}", w->o->remote,
		       w->o->branch);
	return checkout_ask_commit(w, ref, ret, e);
}

/* 1: a is an ancestor of b. */
static int checkout_is_ancestor(const struct work *w, const char *a, const char *b, struct err *e)
{
	const char *const args[] = {"merge-base", "--is-ancestor", a, b, NULL};
	int r = git_run(&w->git, args, NULL, e);

	return r < 0 ? r : r == 0;
}

/* Checks for uncommitted changes.  The message names only the first changed file. */
static int checkout_check_clean(const struct work *w, struct err *e)
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
	return checkout_print(
	    w->c->blocked,
	    "the work tree has changes that are not committed (%u file%s, '%.60s'): "
	    "commit them elsewhere, or '%s -C %.60s checkout -f'",
	    n, n == 1 ? "" : "s", name.n > 3 ? name.p + 3 : "", w->as, w->git.top);
}

/* --- what is checked out -------------------------------------------------------- */

static int checkout_check_branch(const struct work *w, struct err *e)
{
	static const char *const args[] = {"symbolic-ref", "-q", "--short", "HEAD", NULL};
	_autofree_ char *at = NULL;
	int r = git_ask(&w->git, args, &at, e);

	if (r < 0)
		return r;
	if (r == 1)
		return checkout_print(
		    w->c->blocked,
		    "no branch is checked out (a detached HEAD): '%s -C %.100s checkout "
		    "%.60s'",
		    w->as, w->git.top, w->o->branch);
	if (strcmp(at, w->o->branch) != 0)
		return checkout_print(
		    w->c->blocked,
		    "branch '%.60s' is checked out, not '%.60s': '%s -C %.60s checkout "
		    "%.60s'",
		    at, w->o->branch, w->as, w->git.top, w->o->branch);
	return 0;
}

/* Checks that the work tree can be fast-forwarded to head. */
static int checkout_check_forward(const struct work *w, const char *head, struct err *e)
{
	const char *tree = w->c->tree;
	int r = checkout_is_ancestor(w, tree, head, e);

	if (r != 0)
		return r < 0 ? r : 0;
	r = checkout_is_ancestor(w, head, tree, e);
	if (r < 0)
		return r;
	if (r == 1)
		return checkout_print(
		    w->c->blocked,
		    "the work tree has commits that '%.60s' of '%.60s' has not: push them, "
		    "or '%s -C %.60s reset --hard %.30s/%.30s'",
		    w->o->branch, w->o->remote, w->as, w->git.top, w->o->remote, w->o->branch);
	return checkout_print(
	    w->c->blocked,
	    "the branch was rewritten: %.12s does not come after %.12s, which is checked "
	    "out; when that is right: '%s -C %.60s reset --hard %.30s/%.30s'",
	    head, tree, w->as, w->git.top, w->o->remote, w->o->branch);
}

/* Sets blocked if the work tree cannot be updated to head, or has changed files. */
static int checkout_check_tree(const struct work *w, const char *head, struct err *e)
{
	int r;

	*w->c->blocked = '\0';
	r = checkout_check_branch(w, e);
	if (r == 0 && !*w->c->blocked && !*w->c->tree)
		r = checkout_print(w->c->blocked,
				   "nothing is checked out yet: '%s -C %.100s checkout %.60s'",
				   w->as, w->git.top, w->o->branch);
	if (r == 0 && !*w->c->blocked && *head)
		r = checkout_check_forward(w, head, e);
	/* Even at head: a run is recorded under its commit, so it must not have other changes. */
	if (r == 0 && !*w->c->blocked)
		r = checkout_check_clean(w, e);
	return r;
}

/* --- the repository ------------------------------------------------------------- */

static int checkout_broken(const struct work *w, const char *why)
{
	w->c->kind = CHECKOUT_BROKEN;
	return checkout_print(w->c->why, "%s", why);
}

static int checkout_check_shallow(const struct work *w, struct err *e)
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
	return checkout_broken(w, why);
}

static int checkout_check_remote(const struct work *w, struct err *e)
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
	return checkout_broken(w, why);
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
	return checkout_broken(w, why);
}

static int checkout_check_repository(const struct work *w, struct err *e)
{
	int r = checkout_check_names(w, e);

	if (r == 0 && w->c->kind == CHECKOUT_OK)
		r = checkout_check_shallow(w, e);
	if (r == 0 && w->c->kind == CHECKOUT_OK)
		r = checkout_check_remote(w, e);
	return r;
}

/* --- actions -------------------------------------------------------------------- */

/* Each fetch leaves a file of objects.  If they cannot be packed, fuzzing continues. */
static int checkout_pack(const struct work *w, struct err *e)
{
	static const char *const args[] = {"gc", "--auto", "-q", NULL};
	_autobuf_ struct buf output = BUF_INIT(8192);
	char why[CHECKOUT_WHY];
	int r = git_run_timed(&w->git, args, NULL, w->o->fetch_us, &output, e);

	if (r == -ETIMEDOUT || r == -EPROTO || r == -EDQUOT)
		return checkout_print(w->c->why, "the repository cannot be packed: %s", e->msg);
	if (r <= 0)
		return r;
	remote_reason(buf_slice(&output), why);
	return checkout_print(w->c->why, "the repository cannot be packed: git gc: %.200s", why);
}

static int checkout_poll(const struct work *w, bool ask_only, struct err *e)
{
	struct remote_answer a = {0};
	int r = checkout_ask_commit(w, "HEAD^{commit}", w->c->tree, e);

	if (r == 0)
		r = checkout_ask_tracking(w, w->c->head, e);
	if (r == 0)
		r = remote_ask(&w->git, w->o, ask_only, &a, e);
	if (r < 0)
		return r;
	w->c->kind = a.kind;
	if (a.kind != CHECKOUT_OK)
		return checkout_print(w->c->why, "%s", a.why);
	if (ask_only)
		memcpy(w->c->head, a.head, sizeof(w->c->head));
	else
		r = checkout_ask_tracking(w, w->c->head, e);
	if (r == 0 && !ask_only)
		r = checkout_pack(w, e);
	if (r == 0 && !*w->c->head)
		return checkout_broken(w, "the branch's head is not a commit");
	return r;
}

/* Whether the commit is in the repository.  A head from CHECKOUT_ASK may not be fetched yet. */
static int checkout_has(const struct work *w, const char *head, struct err *e)
{
	char rev[COMMIT_MAX + 16], found[COMMIT_MAX];
	int r;

	(void)snprintf(rev, sizeof(rev), "%s^{commit}", head);
	r = checkout_ask_commit(w, rev, found, e);
	return r < 0 ? r : *found != '\0';
}

static int checkout_compare(const struct work *w, bool ask_only, struct err *e)
{
	int r = checkout_poll(w, ask_only, e);

	if (r < 0)
		return r;
	r = *w->c->head ? checkout_has(w, w->c->head, e) : 0;
	return r < 0 ? r : checkout_check_tree(w, r == 1 ? w->c->head : "", e);
}

/* Refuses a commit that would fill the disk or the memory. */
static int checkout_check_growth(const struct work *w, const char *head, struct err *e)
{
	char bytes[UNITS_MAX], files[UNITS_MAX];
	struct growth more;
	int r = growth_check(&w->git, w->c->tree, head, &more, e);

	if (r == -EPROTO)
		return checkout_print(w->c->blocked, "%s", e->msg);
	if (r != 1)
		return r;
	return checkout_print(
	    w->c->blocked,
	    "%.12s needs at least %s more in %s more files: over an eighth of the free disk "
	    "space or of the memory; if that is right: '%s -C %.60s merge --ff-only %.12s'",
	    head, units_size(more.bytes, bytes), units_count(more.files, files), w->as, w->git.top,
	    head);
}

static int checkout_limit_anew(struct work *w, struct err *e)
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
static int checkout_go_back(struct work *w, const struct err *why)
{
	static const char *const args[] = {"reset", "-q", "--hard", "HEAD", NULL};
	struct err e;
	int r = checkout_limit_anew(w, &e);

	if (r == 0)
		r = git_unlock(&w->git, &e);
	if (r == 0)
		r = git_run(&w->git, args, NULL, &e);
	if (r == 0)
		return checkout_print(w->c->blocked, "%s", why->msg);
	return checkout_print(
	    w->c->blocked, "%.180s; and the work tree could not be restored: '%s -C %.60s status'",
	    why->msg, w->as, w->git.top);
}

static int checkout_update(struct work *w, const char *head, struct err *e)
{
	const char *const args[] = {"merge",	 "-q",	      "--ff-only", "--no-verify",
				    "--no-stat", "--no-edit", head,	   NULL};
	_autobuf_ struct buf output = BUF_INIT(8192);
	char why[CHECKOUT_WHY];
	int r = checkout_ask_commit(w, "HEAD^{commit}", w->c->tree, e);

	memcpy(w->c->head, head, strlen(head) + 1);
	if (r == 0)
		r = checkout_check_tree(w, head, e);
	if (r < 0 || *w->c->blocked || strcmp(w->c->tree, head) == 0)
		return r;
	r = checkout_check_growth(w, head, e);
	if (r < 0 || *w->c->blocked)
		return r;
	r = git_run_timed(&w->git, args, NULL, w->o->fetch_us, &output, e);
	if (r == -ETIMEDOUT || r == -EPROTO || r == -EDQUOT)
		return checkout_go_back(w, e);
	if (r < 0)
		return r;
	if (r > 0) {
		remote_reason(buf_slice(&output), why);
		return checkout_print(w->c->blocked,
				      "git cannot bring the work tree to %.12s: %.200s", head, why);
	}
	r = checkout_ask_commit(w, "HEAD^{commit}", w->c->tree, e);
	if (r == 0 && strcmp(w->c->tree, head) != 0)
		r = checkout_print(w->c->blocked,
				   "git left the work tree at %.12s instead of %.12s", w->c->tree,
				   head);
	return r;
}

static int checkout_do_limited(struct work *w, enum checkout_what what, const char *head,
			       struct err *e)
{
	int r = git_limit(&w->git, w->o->limits, e);

	if (r == 0)
		r = checkout_check_repository(w, e);
	if (r < 0 || w->c->kind != CHECKOUT_OK)
		return r;
	if (what == CHECKOUT_UPDATE)
		return checkout_update(w, head, e);
	return checkout_compare(w, what == CHECKOUT_ASK, e);
}

int checkout_do(const struct checkout_opts *o, enum checkout_what what, const char *head,
		struct checkout *ret, struct err *e)
{
	CLEANUP(checkout_work_done) struct work w = {.o = o, .c = ret};
	char why[GIT_WHY];
	int r;

	*ret = (struct checkout){.kind = CHECKOUT_OK};
	r = git_open(o->dir, &w.git, why, e);
	checkout_as_owner(&w);
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -EPERM)
		return checkout_broken(&w, e->msg);
	if (r == 0)
		return checkout_broken(&w, why);
	if (r == 1)
		r = checkout_do_limited(&w, what, head, e);
	if (r != -EDQUOT)
		return r;
	return what == CHECKOUT_UPDATE ? checkout_print(ret->blocked, "%s", e->msg)
				       : checkout_broken(&w, e->msg);
}

/* --- in a child, so that the loop never waits for a network --------------------- */

struct checkout_job {
	struct checkout_opts o;
	char *dir, *remote, *branch;
	enum checkout_what what;
	char head[COMMIT_MAX];
	uint64_t began_us;
	checkout_done_fn *done;
	void *arg;
};

static void checkout_job_free(struct checkout_job *j)
{
	free(j->dir);
	free(j->remote);
	free(j->branch);
	free(j);
}

DEFINE_CLEANUP(struct checkout_job *, checkout_job_free)

/* Time for local work of git, in addition to the limits for the remote; a disk may hang. */
#define LOCAL (120 * USEC_PER_SEC)

/* Deadline of the job: a fetch, packing, and local work. */
static uint64_t checkout_job_total_us(const struct checkout_job *j)
{
	return 2 * j->o.fetch_us + LOCAL;
}

/* In the child.  If the job exceeds the sum of its own limits, SIGALRM ends it.  Its git dies with
 * it, because git dies with its parent. */
static int checkout_job_limit_time(uint64_t us, struct err *e)
{
	struct itimerval t = {
	    .it_value = {(time_t)(us / USEC_PER_SEC), (suseconds_t)(us % USEC_PER_SEC)}};
	sigset_t alarm_only;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	if (sigprocmask(SIG_UNBLOCK, &alarm_only, NULL) < 0 || setitimer(ITIMER_REAL, &t, NULL) < 0)
		return err_sys(e, "limit the time of git");
	return 0;
}

static int checkout_job_work(void *arg, struct buf *out, struct err *e)
{
	const struct checkout_job *j = arg;
	struct checkout c;
	int r = checkout_job_limit_time(checkout_job_total_us(j), e);

	if (r == 0)
		r = checkout_do(&j->o, j->what, j->head, &c, e);
	if (r < 0)
		return r;
	buf_put(out, (struct slice){(const char *)&c, sizeof(c)});
	return buf_check(out, e);
}

static void checkout_job_on_done(void *arg, struct slice result, const char *failed)
{
	struct checkout_job *j = arg;
	struct checkout c = {.kind = CHECKOUT_NETWORK};
	char time[UNITS_MAX];

	if (!failed && result.n == sizeof(c))
		memcpy(&c, result.p, sizeof(c));
	else if (clock_mono_us() - j->began_us >= checkout_job_total_us(j))
		(void)snprintf(c.why, sizeof(c.why), "git was not done after %s",
			       units_time(checkout_job_total_us(j), time));
	else
		(void)snprintf(c.why, sizeof(c.why), "%s", failed ? failed : "no answer");
	if (*c.why && j->what == CHECKOUT_UPDATE && !*c.blocked)
		memcpy(c.blocked, c.why, sizeof(c.blocked));
	j->done(j->arg, &c);
	checkout_job_free(j);
}

int checkout_start(struct loop *l, const struct checkout_opts *o, enum checkout_what what,
		   const char *head, checkout_done_fn *done, void *arg, struct err *e)
{
	__attribute__((cleanup(checkout_job_free_p))) struct checkout_job *j =
	    xcalloc(1, sizeof(*j));
	struct task *task;
	int r;

	j->dir = xstrdup(o->dir);
	j->remote = xstrdup(o->remote);
	j->branch = xstrdup(o->branch);
	j->o = (struct checkout_opts){j->dir, j->remote, j->branch, o->fetch_us, o->limits};
	j->what = what;
	(void)snprintf(j->head, sizeof(j->head), "%s", head ? head : "");
	j->began_us = clock_mono_us();
	j->done = done;
	j->arg = arg;
	r = task_start(l, checkout_job_work, j, checkout_job_on_done, j, &task, e);
	if (r == 0)
		(void)take_ptr(&j); /* checkout_job_on_done() frees it */
	return r;
}
