/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what --prune may remove. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/command/corpus/intree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- other targets with the same directory ------------------------------------------------ */

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
	int at = o->a->session.state->dirfd;
	int r = fs_mkdirs(at, path, 0750, e);

	return r == 0 ? fs_open_dir(at, path, ret_fd, e) : r;
}

/* --- inputs that add no coverage ----------------------------------------------------------- */

int intree_read_unneeded(struct intree_one *o, struct err *e)
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

int intree_prepare_prune(struct intree_one *o, struct err *e)
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
