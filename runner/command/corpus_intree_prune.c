/* SPDX-License-Identifier: Apache-2.0 */
/* What --prune may remove. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/command/corpus_intree.h"
#include "runner/state/history.h"

#include <errno.h>
#include <string.h>

/* --- who else needs it? ------------------------------------------------------------------ */

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

/* Another target may need what this one's corpus does not have. */
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
	_autofree_ char *path = sys_asprintf("pruned/%s", o->target->name);
	int at = o->a->session.state->dirfd;
	int r;

	if (!path)
		return err_sys(e, "allocate a path");
	r = fs_mkdirs(at, path, 0750, e);
	return r == 0 ? fs_open_dir(at, path, ret_fd, e) : r;
}

/* --- was it minimised? ------------------------------------------------------------------ */

static int on_line(void *arg, const json_t *line, struct err *e)
{
	const char *target = json_string_value(json_object_get(line, "target"));
	const char *verdict = json_string_value(json_object_get(line, "verdict"));

	if (target && verdict &&
	    (strcmp(verdict, "replaced") == 0 || strcmp(verdict, "unchanged") == 0) &&
	    json_object_set_new(arg, target, json_true()) < 0)
		return err_set(e, ENOMEM, "build JSON");
	return 0;
}

/* A corpus has what its seeds reach only after a merge, which measures them, too. */
static int check_merged(struct intree_one *o, struct err *e)
{
	struct intree_args *a = o->a;
	uint64_t damaged;
	int r;

	if (!a->merged) {
		a->merged = json_object();
		r = a->merged ? history_each(a->session.state, "corpus_history.jsonl", on_line,
					     a->merged, &damaged, e)
			      : err_set(e, ENOMEM, "build JSON");
		if (r < 0)
			return r;
	}
	if (!json_object_get(a->merged, o->target->name))
		intree_remark(o, "warning: its corpus was never minimised", "",
			      ": what is pruned may reach what nothing else does");
	return 0;
}

int intree_prepare_prune(struct intree_one *o, struct err *e)
{
	const char *other = o->a->prune ? shared_with(o) : NULL;

	o->how.prune = o->a->prune && !other;
	if (other)
		intree_remark(o, "not pruned: target ", other, " starts from that directory, too");
	if (o->how.prune) {
		int r = check_merged(o, e);

		if (r < 0)
			return r;
	}
	if (!o->how.prune || o->a->dry_run || o->a->repos.branch)
		return 0;
	return open_pruned(o, &o->how.pruned, e);
}
