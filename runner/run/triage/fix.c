/* SPDX-License-Identifier: Apache-2.0 */
/* The passes that make a crash fixed in a target, and the files that are kept then. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/odds.h"
#include "runner/run/triage/internal.h"

#include <stdio.h>
#include <string.h>

const char *triage_commit(const struct triage *t)
{
	return t->spec.rebuilt ? NULL : t->env->commit;
}

/* If the commit is not known, passes count within one run. */
const char *triage_build(const struct triage *t, char out[128])
{
	if (triage_commit(t))
		return triage_commit(t);
	snprintf(out, 128, "run %.100s", t->env->run);
	return out;
}

uint64_t triage_needed(const struct known_crash *entry)
{
	unsigned n = odds_passes(entry->reproduction.tries, entry->reproduction.hits);

	return n > 0 ? n : 1;
}

bool triage_is_here(const struct triage *t, const char *target)
{
	return !t->env->has_target || t->env->has_target(t->env->arg, target);
}

bool triage_has_passed(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	struct ledger_asked a;
	char buf[128];
	const char *build = triage_build(t, buf);

	for (size_t at = 0; ledger_next_asked(l, c, t->spec.target->name, &at, &a);) {
		uint64_t need = triage_needed(a.input);

		if (ledger_passes(a.count, build, false) < need ||
		    (*a.input->minimized && ledger_passes(a.count, build, true) < need))
			return false;
	}
	return true;
}

const struct known_crash *triage_never_told(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	struct ledger_asked a;

	for (size_t at = 0; ledger_next_asked(l, c, t->spec.target->name, &at, &a);)
		if (odds_passes(a.input->reproduction.tries, a.input->reproduction.hits) == 0)
			return a.input;
	return NULL;
}

const char *triage_missing(const struct triage *t, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by; i++)
		if (ledger_state_open(c->by[i]->state) && !triage_is_here(t, c->by[i]->fuzzer))
			return c->by[i]->fuzzer;
	return NULL;
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

int triage_keep(const struct triage *t, const struct known_crash *c, struct err *e)
{
	const struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	struct ledger_asked a;
	int r = 0;

	if (!fs_name_ok(slice_of(target))) /* the ledger may contain any name */
		return 0;
	for (size_t at = 0; r == 0 && ledger_next_asked(l, c, target, &at, &a);) {
		r = ledger_input_check_all(t->env->state->dirfd, a.input, e);
		if (r == 0)
			r = keep_in(t, a.input, target, e);
	}
	return r;
}
