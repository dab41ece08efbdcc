/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/corpus/corpus.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/command/build/cell.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/repos.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Shared by the files of `corpus update-intree`. */
struct intree_args {
	struct session session;
	struct repos repos;
	const char *filter;
	bool all, prune, dry_run, json;
	json_t *targets;
	size_t with_dirs;
	int worst;
};

struct intree_one {
	struct intree_args *a;
	const struct target *target;
	struct strv dirs; /* the target's own, then those of the configuration */
	const char *dir;  /* the chosen one */
	struct repo *repo;
	struct intree how;
	struct candidates unneeded; /* the inputs that --prune may remove */
	char unlisted[300];	    /* why `unneeded` is unknown; "": it is known */
	struct intree_sum sum;
	json_t *removed, *taken, *kept, *notes;
};

#define AT(member) OPTION_AT(struct intree_args, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct intree_args, session.common),
    TARGETS_OPTION(struct intree_args, session.common),
    /* Kept apart: shared directories depend on all targets. */
    {"filter", "GLOB", "only targets with a matching name", AT(filter)},
    {"all", NULL, "also spare inputs: the others reach the same without them", AT(all)},
    {"prune", NULL, "also remove files that a merge found to add nothing", AT(prune)},
    {"branch", "NAME", "make a branch and commit on it, and leave the work tree alone",
     AT(repos.branch)},
    {"dry-run", NULL, "only print what would be done", AT(dry_run)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- remarks -------------------------------------------------------------- */

/* "<target>: <what><name><then>" */
static void intree_print(const struct intree_one *o, const char *what, const char *name,
			 const char *then)
{
	char shown[ESCAPE_MAX];

	if (!o->a->json)
		printf("%s: %s%s%s\n", o->target->name, what, escape(name, shown), then);
}

/* Prints the line "<target>: <what><name><then>", and adds the text to the notes of the JSON
 * answer. */
static void intree_remark(const struct intree_one *o, const char *what, const char *name,
			  const char *then)
{
	char shown[ESCAPE_MAX];
	_autofree_ char *text = xasprintf("%s%s%s", what, escape(name, shown), then);

	intree_print(o, what, name, then);
	(void)json_array_append_new(o->notes, answer_text(text));
}

/* --- --prune: other targets with the same directory ----------------------- */

static bool same_or_below(const char *a, const char *b)
{
	size_t n = strlen(a);

	return strncmp(a, b, n) == 0 && (b[n] == '\0' || b[n] == '/');
}

static bool overlap(const struct strv *dirs, const char *dir)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (same_or_below(dirs->v[i], dir) || same_or_below(dir, dirs->v[i]))
			return true;
	return false;
}

/* Returns another target with this directory; it may need inputs that are not in this target's
 * corpus. */
static const char *shared_with(const struct intree_one *o)
{
	const struct target_list *l = &o->a->session.common.targets;
	const struct plan *p = &o->a->session.plan;

	for (size_t i = 0; i < l->n; i++)
		if (&l->v[i] != o->target && overlap(&l->v[i].seed_dirs, o->dir))
			return l->v[i].name;
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].target != o->target && overlap(&p->v[i].cfg.seeds, o->dir))
			return p->v[i].target->name;
	return NULL;
}

static int open_pruned(const struct intree_one *o, int *ret_fd, struct err *e)
{
	_autofree_ char *path = xasprintf("pruned/%s", o->target->name);

	return fs_make_dir(o->a->session.state->dirfd, path, 0750, ret_fd, e);
}

/* --- --prune: inputs that add no coverage --------------------------------- */

/* Loads the inputs that the target's last successful merge measured and did not need. Call it
 * before opening the corpus: a corpus that replaces it meanwhile has at least the same coverage. */
static int intree_read_unneeded(struct intree_one *o, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/merged/%s.unneeded", o->target->name);
	struct err why;
	int r = candidates_load(o->a->session.state->dirfd, path, &o->unneeded, &why);

	switch (r) {
	case 0:
		return 0;
	case -ENOENT:
		snprintf(o->unlisted, sizeof(o->unlisted),
			 "no merge has measured the inputs yet (run corpus minimize)");
		return 0;
	case -EBADMSG:
	case -EFBIG:
	case -E2BIG:
		snprintf(o->unlisted, sizeof(o->unlisted), "%.200s (corpus minimize repairs it)",
			 why.msg);
		return 0;
	default:
		*e = why;
		return r;
	}
}

/* Decides whether to prune o's directory. If not, prints the reason. */
static int intree_prepare_prune(struct intree_one *o, struct err *e)
{
	const char *other = o->a->prune ? shared_with(o) : NULL;

	if (other)
		intree_remark(o, "not pruned: target ", other, " starts from that directory, too");
	else if (o->a->prune && *o->unlisted)
		intree_remark(o, "not pruned: ", o->unlisted, "");
	o->how.prune = o->a->prune && !other && !*o->unlisted;
	o->how.unneeded = &o->unneeded;
	if (!o->how.prune || o->a->dry_run || o->a->repos.branch)
		return 0;
	return open_pruned(o, &o->how.pruned, e);
}

/* --- one target -------------------------------------------------------------------- */

static void worse(struct intree_args *a, int code)
{
	if (code > a->worst)
		a->worst = code;
}

/* Prints the error. The caller continues with the next target. */
static void problem(struct intree_one *o, int code, const char *text)
{
	char shown[ESCAPE_MAX];

	(void)fail(code, "%s: %s", o->target->name, escape(text, shown));
	worse(o->a, code);
}

static void on_name(void *arg, enum intree_what what, const char *name)
{
	struct intree_one *o = arg;

	switch (what) {
	case INTREE_REMOVED:
		intree_print(o, o->a->dry_run ? "would remove " : "removed ", name,
			     o->how.pruned >= 0 ? " (its content is kept in pruned/)" : "");
		(void)json_array_append_new(o->removed, answer_text(name));
		break;
	case INTREE_TAKEN:
		intree_print(o, "left alone: ", name, " exists with other content");
		(void)json_array_append_new(o->taken, answer_text(name));
		break;
	case INTREE_KEPT:
		intree_print(o, "kept: ", name, ": not measured yet, or it failed");
		(void)json_array_append_new(o->kept, answer_text(name));
		break;
	}
}

/* Checks whether .gitattributes would change the inputs. */
static int check_attributes(struct intree_one *o, const struct git *g, struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%040d", g->prefix, *g->prefix ? "/" : "", 0);
	char changes[64];
	int r = git_changes(g, path, changes, e);

	if (r == 0 && strcmp(changes, "text") == 0)
		intree_remark(o, "warning: .gitattributes lets git change line ends in ", g->prefix,
			      ": '** -text' in a .gitattributes there keeps inputs as they are");
	else if (r == 0 && *changes && o->a->repos.branch)
		r = err_set(e, ENOTSUP,
			    "'%s' goes through %s, which --branch would go past: use the commands",
			    g->prefix, changes);
	return r;
}

/* Takes g. */
static int prepare_repo(struct intree_one *o, struct git *g, char **ret_prefix, struct err *e)
{
	_autofree_ char *prefix = xstrdup(g->prefix);
	int r = check_attributes(o, g, e);

	if (r < 0) {
		git_done(g);
		return r;
	}
	r = repos_get(&o->a->repos, g, &o->repo, e);
	if (r == 0)
		r = repo_check(o->repo, prefix, e);
	if (r == 0)
		*ret_prefix = take_ptr(&prefix);
	return r;
}

static int update_in(struct intree_one *o, const char *prefix, struct err *e)
{
	int r = intree_prepare_prune(o, e);

	if (r < 0)
		return r;
	if (o->repo->branch)
		r = intree_branch_update(o->repo->branch, &o->how, prefix, &o->sum, e);
	else
		r = intree_update(&o->how, o->dir, &o->sum, e);
	if (r == 0 && o->sum.added + o->sum.removed > 0)
		repo_changed(o->repo, prefix);
	if (r < 0 && o->repo->branch)
		o->repo->failed = true; /* an incomplete update is not committed */
	return r;
}

/* Returns 0 when done, or when there is nothing to do and the reason was printed. */
static int update_one(struct intree_one *o, struct err *e)
{
	_autofree_ char *prefix = NULL;
	char why[GIT_WHY], link[GIT_WHY];
	const struct git_limits limits = {.arg = &o->a->session.common, .open = common_git};
	struct git g = {0};
	size_t at;
	int r = intree_choose(&o->dirs, &limits, &g, &at, why, link, e);

	if (r < 0)
		return r;
	if (at == o->dirs.n) {
		intree_remark(o, "none of its in-tree directories exists: ", o->dirs.v[0], "");
		return 0;
	}
	if (r == 0)
		return err_set(e, EINVAL,
			       "'%.200s' is in no git work tree (%s): nothing is written; name a "
			       "directory of the repository with \"targets\": {\"%.60s\": "
			       "{\"seeds\": [DIR]}}",
			       o->dirs.v[at], why, o->target->name);
	if (*link)
		intree_remark(o, "passed over: ", link, "");
	o->dir = o->dirs.v[at];
	r = builder_check_repository(o->a->session.common.config, g.top, e);
	if (r < 0) {
		git_done(&g);
		return r;
	}
	r = prepare_repo(o, &g, &prefix, e);
	return r == 0 ? update_in(o, prefix, e) : r;
}

/* --- what was done --------------------------------------------------------------------- */

static void print_sum(const struct intree_one *o)
{
	const struct intree_sum *s = &o->sum;
	char bytes[UNITS_MAX], shown[ESCAPE_MAX];

	if (!o->dir || o->a->json)
		return;
	printf("%s: %s%llu added (%s), %llu known", o->target->name,
	       o->a->dry_run ? "would be: " : "", (unsigned long long)s->added,
	       units_size(s->bytes, bytes), (unsigned long long)s->known);
	if (s->spare)
		printf(", %llu spare ones left out (--all)", (unsigned long long)s->spare);
	if (s->removed)
		printf(", %llu removed", (unsigned long long)s->removed);
	if (s->skipped)
		printf(", %llu skipped", (unsigned long long)s->skipped);
	if (s->kept)
		printf(", %llu kept", (unsigned long long)s->kept);
	printf(": %s\n", escape(o->dir, shown));
}

static void note_sum(const struct intree_one *o)
{
	const struct intree_sum *s = &o->sum;
	json_t *j = json_pack(
	    "{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:O, s:O, s:O, s:O}", "name",
	    answer_text(o->target->name), "directory", o->dir ? answer_text(o->dir) : json_null(),
	    "repository", o->repo ? answer_text(o->repo->git.top) : json_null(), "added",
	    (json_int_t)s->added, "bytes", (json_int_t)s->bytes, "known", (json_int_t)s->known,
	    "spare", (json_int_t)s->spare, "skipped", (json_int_t)s->skipped, "removed", o->removed,
	    "taken", o->taken, "kept", o->kept, "notes", o->notes);

	(void)json_array_append_new(o->a->targets, j);
}

/* What a build of ours made is no part of the repository: the next build replaces it. */
static bool is_of_build(const char *dir)
{
	return strstr(dir, "/" CONFIG_BUILDS_DIR "/") != NULL;
}

static void add_dirs(struct intree_one *o, const struct plan_entry *p)
{
	const struct strv *all[] = {&p->target->seed_dirs, &p->cfg.seeds};

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (size_t i = 0; i < all[k]->n; i++)
			if (is_of_build(all[k]->v[i]))
				intree_remark(
				    o, "passed over, because a build made it: ", all[k]->v[i],
				    " (name a directory of the repository in \"seeds\")");
			else
				strv_push(&o->dirs, all[k]->v[i]);
}

static int open_corpus(struct intree_one *o, struct err *e)
{
	_autofree_ char *path = xasprintf("corpus/%s", o->target->name);

	return fs_open_dir(o->a->session.state->dirfd, path, &o->how.corpus, e);
}

static bool was_merged(const struct intree_one *o)
{
	_autofree_ char *path = xasprintf("stats/merged/%s.cover", o->target->name);

	return faccessat(o->a->session.state->dirfd, path, F_OK, 0) == 0;
}

static int update_target(struct intree_one *o, const struct plan_entry *p, struct err *e)
{
	int r = 0;

	add_dirs(o, p);
	if (o->dirs.n == 0) {
		intree_remark(o, "no in-tree directory", "", "");
		return 0;
	}
	o->a->with_dirs++;
	if (o->a->prune)
		r = intree_read_unneeded(o, e);
	if (r < 0)
		return r;
	r = open_corpus(o, e);
	if (r == -ENOENT) {
		intree_remark(o, "no corpus yet", "", "");
		return 0;
	}
	if (r == 0 && !o->a->all && !o->a->prune && !was_merged(o))
		intree_remark(o, "its corpus was never merged, so all of it counts: ",
			      "'fuzzcell corpus minimize' chooses", "");
	return r == 0 ? update_one(o, e) : r;
}

/* Errors that a user can repair are usage errors. */
static int status_of(int r)
{
	switch (-r) {
	case EINVAL:
	case EEXIST:
	case EALREADY:
	case EPROTO:
	case ENOTSUP:
	case ENOTDIR:
		return EXIT_USAGE;
	default:
		return EXIT_INTERNAL;
	}
}

static void take_target(struct intree_args *a, const struct plan_entry *p)
{
	struct intree_one o = {.a = a,
			       .target = p->target,
			       .removed = json_array(),
			       .taken = json_array(),
			       .kept = json_array(),
			       .notes = json_array(),
			       .how = {.corpus = -1,
				       .target = a->all ? NULL : p->target->name,
				       .state_dirfd = a->session.state->dirfd,
				       .pruned = -1,
				       .dry_run = a->dry_run,
				       .report = on_name,
				       .arg = &o}};
	struct err e;
	int r = update_target(&o, p, &e);

	if (r < 0)
		problem(&o, status_of(r), e.msg);
	else
		print_sum(&o);
	note_sum(&o);
	json_decref(o.removed);
	json_decref(o.taken);
	json_decref(o.kept);
	candidates_done(&o.unneeded);
	json_decref(o.notes);
	strv_done(&o.dirs);
	close_p(&o.how.corpus);
	close_p(&o.how.pruned);
}

/* --- all of them ------------------------------------------------------------------------ */

static void print_repo(const struct intree_args *a, const struct repo *r)
{
	_autofree_ char *super = NULL;
	struct strv all = {0};
	char shown[ESCAPE_MAX];
	struct err e;

	if (*r->commit)
		printf("\n%s: commit %.12s on the new branch %s\n", escape(r->git.top, shown),
		       r->commit, r->name);
	if (r->dirty)
		printf("\nThere are changes there that are not committed; these commands would "
		       "commit them, too.\n--branch NAME commits the inputs only.\n");
	if (repo_commands(r, &all, &e) == 0) {
		printf("\nFor a pull request%s:\n", a->dry_run ? " (after the real run)" : "");
		for (size_t i = 0; i < all.n; i++)
			printf("  %s\n", all.v[i]);
	}
	strv_done(&all);
	if (repo_super(r, &super, &e) >= 0 && super)
		printf("It is a submodule: then commit its new state in %s, too.\n",
		       escape(super, shown));
}

static void commit_all(struct intree_args *a)
{
	for (size_t i = 0; i < a->repos.n; i++) {
		struct repo *r = a->repos.v[i];
		char shown[ESCAPE_MAX];
		struct err e;

		int x = a->dry_run ? 0 : repo_commit(r, &e);

		if (x < 0) {
			(void)fail(status_of(x), "%s", escape(e.msg, shown));
			worse(a, status_of(x));
			continue;
		}
		if (r->dirs.n > 0 && !r->failed && !a->json)
			print_repo(a, r);
	}
}

static int print_json(const struct intree_args *a)
{
	_autojson_ json_t *repositories = NULL, *all = NULL;
	struct err e;

	if (repos_json(&a->repos, &repositories, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	all = json_pack("{s:b, s:O, s:O}", "dry_run", a->dry_run, "targets", a->targets,
			"repositories", repositories);
	return answer_print(all);
}

static int update_all(struct intree_args *a)
{
	const struct plan *p = &a->session.plan;
	size_t taken = 0;

	a->targets = json_array();
	for (size_t i = 0; i < p->n; i++)
		if (!a->filter || fnmatch(a->filter, p->v[i].target->name, 0) == 0) {
			take_target(a, &p->v[i]);
			taken++;
		}
	if (taken == 0)
		return fail(EXIT_USAGE, "no target matches %s", a->filter ? a->filter : "");
	commit_all(a);
	if (a->json && print_json(a) != EXIT_DONE)
		return EXIT_INTERNAL;
	if (a->with_dirs == 0)
		return fail(EXIT_USAGE,
			    "no target has an in-tree directory (docs/discovery.md, \"seeds\")");
	return a->worst;
}

static int intree_load(struct intree_args *a)
{
	struct common *c = &a->session.common;
	struct err e;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = common_find_targets(c);
	if (r != EXIT_DONE)
		return r;
	if (plan_make(c->config, &c->targets, NULL, &a->session.plan, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	return session_read(&a->session);
}

int corpus_intree(int argc, char **argv)
{
	struct intree_args a = {.worst = EXIT_DONE};
	char shown[ESCAPE_MAX];
	struct err e;
	int at = options_parse(argc, argv, "corpus update-intree [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "corpus update-intree: unexpected '%s'", argv[at]);
	if (a.repos.branch && intree_branch_name(a.repos.branch, &e) < 0)
		return fail(EXIT_USAGE, "--branch: %s", escape(e.msg, shown));
	r = intree_load(&a);
	if (r == EXIT_DONE)
		r = update_all(&a);
	repos_done(&a.repos);
	json_decref(a.targets);
	session_close(&a.session);
	return r;
}
