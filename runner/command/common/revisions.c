/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/revisions.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/command/build/builder.h"
#include "runner/targets/build/build.h"
#include "runner/targets/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG "logs/revision-build.log"

/* --- which source ---------------------------------------------------------------- */

static const struct target *find_named(const struct target_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].name && strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* Whether the source has the target now. */
static bool source_has(struct session *s, const struct config_source *src, size_t i,
		       const char *target)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	const struct discover_built *built =
	    s->common.built && i < s->common.n_built ? &s->common.built[i] : NULL;

	return common_add_source(&s->common, src, built, &l) == EXIT_DONE && find_named(&l, target);
}

/* Of several sources with a build, discovery tells which one has the target. */
static int choose_source(struct session *s, const char *target, const struct config_source **ret)
{
	size_t n, wanted = 0;
	const struct config_source *v = config_sources(s->common.config, &n);

	*ret = NULL;
	if (s->common.targets_dir)
		return fail(EXIT_USAGE,
			    "the targets of --targets have no \"build\": fuzzcell cannot "
			    "build their other commits (docs/bisection.md)");
	for (size_t i = 0; i < n; i++)
		if (build_wanted(&v[i])) {
			*ret = &v[i];
			wanted++;
		}
	if (wanted == 0)
		return fail(EXIT_USAGE, "no source has a \"build\": fuzzcell cannot build other "
					"commits (docs/bisection.md)");
	for (size_t i = 0; !target && i < n; i++)
		if (build_wanted(&v[i])) {
			*ret = &v[i];
			return EXIT_DONE;
		}
	for (size_t i = 0; wanted > 1 && i < n; i++)
		if (build_wanted(&v[i]) && source_has(s, &v[i], i, target)) {
			*ret = &v[i];
			return EXIT_DONE;
		}
	return wanted == 1
		   ? EXIT_DONE
		   : fail(EXIT_USAGE, "no source with a \"build\" has the target '%s'", target);
}

/* git gives the real path of the top; the configuration may lead there through links. */
static char *as_written(const char *dir, const char *top)
{
	char *path = xstrdup(dir);

	for (;;) {
		_autofree_ char *real = realpath(path, NULL); /* allow: the configuration's path */
		char *slash = strrchr(path, '/');

		if (real && strcmp(real, top) == 0)
			return path;
		if (!slash || slash == path)
			break;
		*slash = '\0';
	}
	free(path);
	return xstrdup(top);
}

static int open_tree(struct revisions *r, struct err *e)
{
	const char *dir = r->source->build_dir ? r->source->build_dir : r->source->path;
	_autofree_ char *real = realpath(dir, NULL); /* allow: the configuration's path */
	char instance[STATE_INSTANCE_MAX];
	int x = state_instance(common_state_dir(&r->session->common), instance, e);

	if (x < 0)
		return x;
	if (!real)
		return err_sys(e, "open '%s'", dir);
	r->limits = (struct git_limits){.arg = &r->session->common, .open = common_git};
	x = revision_open(real, instance, &r->limits, &r->tree, e);
	if (x < 0)
		return x;
	r->from = as_written(dir, revision_top(r->tree));
	config_source_how(r->source, r->from, r->how);
	return 0;
}

int revisions_open(struct revisions *r, struct session *s, const char *target)
{
	struct config_source there = {0};
	struct err e;
	int x;

	r->session = s;
	r->kept_max = config_bisect(s->common.config)->cache;
	x = choose_source(s, target, &r->source);
	if (x != EXIT_DONE || !r->source)
		return x;
	if (open_tree(r, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (config_source_relocate(r->source, r->from, revision_path(r->tree), &there, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	config_source_relocated_done(&there);
	return EXIT_DONE;
}

void revisions_close(struct revisions *r)
{
	revision_close(r->tree);
	if (r->session) {
		builder_close(r->session->common.builder);
		r->session->common.builder = NULL;
	}
	free(r->from);
	*r = (struct revisions){0};
}

/* --- a build --------------------------------------------------------------------- */

static struct shelf_key key_of(const struct revisions *r, const char *commit, const char *target)
{
	return (struct shelf_key){commit, r->how, target};
}

/* Keeps what the build made of the target. */
static int keep(struct revisions *r, const char *commit, const char *name,
		const struct build_result *built, const struct target_list *l, struct err *e)
{
	const struct shelf_key k = key_of(r, commit, name);
	const struct shelf_key whole = key_of(r, commit, l->n ? name : NULL);
	const struct target *t = find_named(l, name);
	int dirfd = r->session->state->dirfd;

	if (t && !t->unbuilt)
		return shelf_keep(dirfd, &k, l, t, e);
	if (t)
		return shelf_note(dirfd, &k, SHELF_UNBUILT, t->unbuilt, e);
	if (!built->ok)
		return shelf_note(dirfd, &whole, SHELF_UNBUILT, built->why, e);
	return shelf_note(dirfd, &k, SHELF_ABSENT, "", e);
}

static int build_moved(struct revisions *r, const struct config_source *src, const char *commit,
		       const char *name, int log, struct err *e)
{
	struct common *c = &r->session->common;
	CLEANUP(target_list_done) struct target_list l = {0};
	CLEANUP(build_result_done) struct build_result built = {.ok = false};
	const struct tool_group *group;
	int x;

	if (common_group(c, src, &group) != EXIT_DONE)
		return err_set(e, ENOTSUP, "the build has no limits");
	x = build_source(src, group, log, &built, e);
	if (x < 0)
		return x;
	r->builds++;
	r->build_us += built.us;
	/* Also after a failure: a build may make some of its targets. */
	if (access(src->path, F_OK) == 0 &&
	    common_add_source(c, src, &built.failed, &l) != EXIT_DONE && built.ok)
		snprintf(built.why, sizeof(built.why), "its output cannot be read");
	if (access(src->path, F_OK) < 0 && built.ok) {
		built.ok = false;
		snprintf(built.why, sizeof(built.why), "it made no '%.300s'", src->path);
	}
	builder_close(c->builder); /* its processes must not take the memory of cells */
	c->builder = NULL;
	return keep(r, commit, name, &built, &l, e);
}

static int build_commit(struct revisions *r, const char *commit, const char *name, struct err *e)
{
	struct config_source moved = {0};
	_autoclose_ int log = -1;
	struct err no_log;
	int x = config_source_relocate(r->source, r->from, revision_path(r->tree), &moved, e);

	if (x < 0)
		return x;
	if (fs_open_file(r->session->state->dirfd, LOG, O_WRONLY | O_CREAT | O_TRUNC, 0640, &log,
			 &no_log) < 0)
		log = -1;
	x = build_moved(r, &moved, commit, name, log, e);
	config_source_relocated_done(&moved);
	return x;
}

int revisions_target(struct revisions *r, const char *commit, const char *target,
		     struct shelf_item *ret, struct err *e)
{
	const struct state *s = r->session->state;
	const struct shelf_key k = key_of(r, commit, target);
	int x = shelf_load(s->dirfd, s->path, &k, ret, e);

	if (x != -ENOENT)
		return x;
	x = revision_checkout(r->tree, commit, e);
	if (x < 0 && x != -EINTR) {
		ret->kind = SHELF_UNBUILT;
		snprintf(ret->why, sizeof(ret->why), "%s", e->msg);
	}
	if (x == 0)
		x = build_commit(r, commit, target, e);
	if (x == 0)
		x = shelf_load(s->dirfd, s->path, &k, ret, e);
	if (x == 0)
		x = shelf_trim(s->dirfd, r->kept_max, e);
	return x;
}

int revisions_forget(struct revisions *r, const char *commit, const char *target, struct err *e)
{
	const struct state *s = r->session->state;
	const struct shelf_key k = key_of(r, commit, target);
	CLEANUP(shelf_item_done) struct shelf_item i = {0};
	int x = shelf_load(s->dirfd, s->path, &k, &i, e);

	if (x == -ENOENT || (x == 0 && i.kind != SHELF_UNBUILT))
		return 0;
	return x < 0 ? x : shelf_forget(s->dirfd, &k, e);
}
