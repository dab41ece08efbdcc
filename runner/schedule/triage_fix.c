/* SPDX-License-Identifier: Apache-2.0 */
/* Who must still pass before a crash is fixed, and what is kept when it is. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger_fix.h"
#include "runner/crash/ledger_input.h"
#include "runner/crash/odds.h"
#include "runner/schedule/triage_internal.h"

#include <stdio.h>
#include <string.h>

const char *triage_commit(const struct triage *t)
{
	return t->spec.rebuilt ? NULL : t->env->commit;
}

/* Where the commit is not known, passes count within one run. */
const char *triage_build(const struct triage *t, char out[128])
{
	if (triage_commit(t))
		return triage_commit(t);
	snprintf(out, 128, "run %.100s", t->env->run);
	return out;
}

uint64_t triage_needed(const struct known_crash *part)
{
	unsigned n = odds_passes(part->reproduction.tries, part->reproduction.hits);

	return n > 0 ? n : 1;
}

static bool has_passed(const struct triage *t, const struct known_crash *part, const char *target)
{
	char buf[128];
	const char *build = triage_build(t, buf);
	uint64_t need = triage_needed(part);

	return ledger_passes(part, target, build, false) >= need &&
	       (!*part->minimized || ledger_passes(part, target, build, true) >= need);
}

bool triage_is_here(const struct triage *t, const char *target)
{
	return !t->env->has_target || t->env->has_target(t->env->arg, target);
}

/* The target that a part still depends on; NULL: all that were asked say that it passes. */
static const char *part_waits_for(const struct triage *t, const struct known_crash *c,
				  const struct known_crash *part)
{
	const char *target, *waits = NULL;

	for (size_t at = 0; (target = ledger_next_asked(c, part, &at));) {
		if (has_passed(t, part, target))
			continue;
		if (!triage_is_here(t, target))
			return target; /* one that will not come is worth a word */
		waits = target;
	}
	return waits;
}

const char *triage_waits_for(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *part;
	const char *waits = NULL;

	for (size_t at = 0; (part = ledger_next_part(l, c, &at));) {
		const char *target = part_waits_for(t, c, part);

		if (target && !triage_is_here(t, target))
			return target;
		waits = target ? target : waits;
	}
	return waits;
}

const struct known_crash *triage_never_told(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *part;
	size_t at = 0;

	while ((part = ledger_next_part(l, c, &at)))
		if (odds_passes(part->reproduction.tries, part->reproduction.hits) == 0)
			break;
	return part;
}

/* --- regressions ---------------------------------------------------------- */

static int keep_in(const struct triage *t, const struct known_crash *c, const char *target,
		   struct err *e)
{
	const char *files[] = {c->crash_file, c->minimized};
	_autoclose_ int dir = -1;
	struct store_sum sum = {0};
	char path[300], hex[STORE_NAME];
	int r;

	snprintf(path, sizeof(path), "regressions/%s", target);
	r = fs_mkdirs(t->env->state->dirfd, path, 0755, e);
	if (r == 0)
		r = fs_open_dir(t->env->state->dirfd, path, &dir, e);
	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		if (*files[i])
			r = store_file(t->env->state->dirfd, files[i], dir, NULL, &sum, hex, e);
	if (r == 0 && sys_syncfs(dir) < 0)
		r = err_sys(e, "sync '%s'", path);
	return r;
}

/* For each target that was asked: any of them may be the one where it comes back. */
static int keep_part(const struct triage *t, const struct known_crash *c,
		     const struct known_crash *part, struct err *e)
{
	const char *target;
	int r = ledger_input_check_all(t->env->state->dirfd, part, e);

	for (size_t at = 0; r == 0 && (target = ledger_next_asked(c, part, &at));)
		if (fs_name_ok(slice_of(target))) /* the ledger may say anything */
			r = keep_in(t, part, target, e);
	return r;
}

int triage_keep(const struct triage *t, const struct known_crash *c, struct err *e)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *part;
	int r = 0;

	for (size_t at = 0; r == 0 && (part = ledger_next_part(l, c, &at));)
		r = keep_part(t, c, part, e);
	return r;
}
