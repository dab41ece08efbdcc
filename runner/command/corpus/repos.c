/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/corpus/repos.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/shell.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TITLE "fuzzing: update corpus from continuous fuzzing run"
#define BODY  "Inputs that fuzzcell found and its merged corpora keep."

enum { NAMES_TRIED = 100, COMMAND_MAX = 1 << 20 };

static void repo_free(struct repo *r)
{
	intree_branch_free(r->branch);
	git_done(&r->git);
	strv_done(&r->dirs);
	free(r);
}

void repos_done(struct repos *r)
{
	for (size_t i = 0; i < r->n; i++)
		repo_free(r->v[i]);
	free(r->v);
	*r = (struct repos){0};
}

/* --- one repository ---------------------------------------------------------------- */

/* Finds an unused branch name: two updates on one day need two branches. */
static int find_name(struct repo *r, struct err *e)
{
	time_t t = (time_t)(clock_real_us() / USEC_PER_SEC);
	char day[16] = "", ref[300];
	const char *const exists[] = {"show-ref", "--verify", "-q", ref, NULL};
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(day, sizeof(day), "%Y%m%d", &tm);
	for (unsigned i = 1; i < NAMES_TRIED; i++) {
		int found;

		snprintf(r->name, sizeof(r->name), "fuzzing/corpus-update-%s", day);
		if (i > 1)
			snprintf(r->name + strlen(r->name), 8, "-%u", i);
		snprintf(ref, sizeof(ref), "refs/heads/%s", r->name);
		found = git_run(&r->git, exists, NULL, e);
		if (found != 0)
			return found < 0 ? found : 0;
	}
	return err_set(e, EEXIST, "too many branches are called '%s'", r->name);
}

static int find_branch(const struct repos *all, struct repo *r, struct err *e)
{
	if (!all->branch)
		return find_name(r, e);
	if (strlen(all->branch) >= sizeof(r->name))
		return err_set(e, ENAMETOOLONG, "--branch: the name is too long");
	snprintf(r->name, sizeof(r->name), "%s", all->branch);
	return intree_branch_open(&r->git, r->name, TITLE "\n\n" BODY "\n", &r->branch, e);
}

static struct repo *corpus_repos_find(const struct repos *all, const char *top)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i]->git.top, top) == 0)
			return all->v[i];
	return NULL;
}

/* Takes g. */
static struct repo *corpus_repos_add(struct repos *all, struct git *g)
{
	struct repo *r = xcalloc(1, sizeof(*r));

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
	all->v = xreallocarray(all->v, all->n + 1, sizeof(*all->v));
	all->v[all->n++] = r;
	r->git = *g;
	*g = (struct git){0};
	return r;
}

int repos_get(struct repos *all, struct git *g, struct repo **ret, struct err *e)
{
	struct repo *r = corpus_repos_find(all, g->top);
	int found = 0;

	if (!r) {
		r = corpus_repos_add(all, g);
		found = find_branch(all, r, e);
		r->failed = found < 0;
	} else if (r->failed) {
		found = err_set(e, EALREADY, "repository '%s': see above", r->git.top);
	}
	git_done(g);
	if (found == 0)
		*ret = r;
	return found;
}

void repo_changed(struct repo *r, const char *dir)
{
	for (size_t i = 0; i < r->dirs.n; i++)
		if (strcmp(r->dirs.v[i], dir) == 0)
			return;
	strv_push(&r->dirs, dir);
}

int repo_check(struct repo *r, const char *dir, struct err *e)
{
	int dirty = r->branch ? 0 : git_dirty(&r->git, dir, e);

	if (dirty <= 0)
		return dirty;
	r->dirty = true;
	repo_changed(r, dir);
	return 0;
}

int repo_commit(struct repo *r, struct err *e)
{
	return r->branch && !r->failed ? intree_branch_commit(r->branch, r->commit, e) : 0;
}

int repo_super(const struct repo *r, char **ret, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--show-superproject-working-tree", NULL};
	char *top;
	int found = git_ask(&r->git, args, &top, e);

	if (found < 0)
		return found;
	*ret = *top ? top : NULL;
	if (!*top)
		free(top);
	return 0;
}

/* --- what to type ------------------------------------------------------------------- */

/* Reports whether git would read a directory name as a pattern: "-- a[b]" matches other names. */
static bool is_pattern(const struct repo *r)
{
	for (size_t i = 0; i < r->dirs.n; i++)
		if (r->dirs.v[i][0] == ':' || strpbrk(r->dirs.v[i], "*?[\\"))
			return true;
	return false;
}

/* "git -C TOP WHAT[ NAME]" */
static void corpus_repos_begin(const struct repo *r, const char *what, const char *name,
			       struct buf *out)
{
	buf_printf(out, "git %s-C ", is_pattern(r) ? "--literal-pathspecs " : "");
	shell_quote(r->git.top, out);
	buf_printf(out, " %s%s", what, name ? " " : "");
	if (name)
		shell_quote(name, out);
}

static void dirs(const struct repo *r, struct buf *out)
{
	buf_puts(out, " --");
	for (size_t i = 0; i < r->dirs.n; i++) {
		buf_puts(out, " ");
		shell_quote(*r->dirs.v[i] ? r->dirs.v[i] : ".", out);
	}
}

static void pull_request(const struct repo *r, struct buf *out)
{
	buf_puts(out, "(cd ");
	shell_quote(r->git.top, out);
	buf_puts(out, " && gh pr create --head ");
	shell_quote(r->name, out);
	buf_puts(out, " --title '" TITLE "' --body '" BODY "')");
}

enum command { CHECKOUT, ADD, COMMIT, PUSH, PULL_REQUEST, COMMANDS };

static void corpus_repos_command(const struct repo *r, enum command c, struct buf *out)
{
	switch (c) {
	case CHECKOUT:
		corpus_repos_begin(r, "checkout -b", r->name, out);
		break;
	case ADD:
		corpus_repos_begin(r, "add", NULL, out);
		dirs(r, out);
		break;
	case COMMIT:
		corpus_repos_begin(r, "commit -m '" TITLE "'", NULL, out);
		dirs(r, out);
		break;
	case PUSH:
		corpus_repos_begin(r, "push -u origin", r->name, out);
		break;
	case PULL_REQUEST:
		pull_request(r, out);
		break;
	case COMMANDS:
		break;
	}
}

int repo_commands(const struct repo *r, struct strv *out, struct err *e)
{
	int x = 0;

	for (enum command c = r->branch ? PUSH : CHECKOUT; x == 0 && c < COMMANDS; c++) {
		_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX);

		corpus_repos_command(r, c, &text);
		strv_push(out, buf_str(&text));
		x = buf_check(&text, e);
	}
	return x;
}

/* --- for programs -------------------------------------------------------------------- */

static int repo_json(const struct repo *r, json_t *to, struct err *e)
{
	_autojson_ json_t *list = json_array();
	_autostrv_ struct strv all = {0};
	int x = repo_commands(r, &all, e);

	if (x < 0)
		return x;
	for (size_t i = 0; i < all.n; i++)
		(void)json_array_append_new(list, answer_text(all.v[i]));
	(void)json_array_append_new(
	    to, json_pack("{s:o, s:o, s:s*, s:b, s:O}", "path", answer_text(r->git.top), "branch",
			  answer_text(r->name), "commit", *r->commit ? r->commit : NULL,
			  "uncommitted_changes", r->dirty, "commands", list));
	return 0;
}

int repos_json(const struct repos *all, json_t **ret, struct err *e)
{
	_autojson_ json_t *list = json_array();
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n; i++)
		if (all->v[i]->dirs.n > 0)
			r = repo_json(all->v[i], list, e);
	if (r == 0)
		*ret = json_incref(list);
	return r;
}
