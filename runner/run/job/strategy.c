/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing strategies: what each of them changes in a job's cell. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/corpus/pick.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_BYTES = 64, OTHERS_MODE = 0755, PATH_ROOM = 320 };

/* The engine flag that each strategy sets; NULL: none. */
static const char *const flags[STRATEGIES] = {
    [STRATEGY_FEW] = "-mutate_depth=",	       [STRATEGY_EVEN] = "-entropic=",
    [STRATEGY_LENGTH] = "-len_control=",       [STRATEGY_SHORT] = "-max_len=",
    [STRATEGY_VALUES] = "-use_value_profile=",
};

/* Whether the user has set the strategy's flag: then it stays as it is. */
static bool strategy_is_set(const struct target *t, const struct target_config *cfg,
			    const char *flag)
{
	for (size_t i = 0; i < t->flags.n; i++)
		if (strncmp(t->flags.v[i], flag, strlen(flag)) == 0 &&
		    setup_flag_holds(cfg, t->flags.v[i]))
			return true;
	for (size_t i = 0; i < cfg->flags.n; i++)
		if (strncmp(cfg->flags.v[i], flag, strlen(flag)) == 0)
			return true;
	return false;
}

unsigned job_strategies(const struct target *t, const struct target_config *cfg, bool alone)
{
	bool has_dictionary = cfg->dictionary ? *cfg->dictionary : t->dict != NULL;
	unsigned may = 0;

	if (!cfg->strategies || t->of || !t->engine->strategies)
		return 0;
	for (enum strategy i = STRATEGY_PLAIN + 1; i < STRATEGIES; i++)
		if (!flags[i] || !strategy_is_set(t, cfg, flags[i]))
			may |= 1u << i;
	if (cfg->max_len && cfg->max_len <= SHORT_BYTES)
		may &= ~(1u << STRATEGY_SHORT);
	/* Without a given dictionary a target has the program's words anyway. */
	if (!has_dictionary || cfg->auto_dictionary != WORDS_ALONE)
		may &= ~(1u << STRATEGY_WORDS);
	if (alone)
		may &= ~(1u << STRATEGY_OTHERS);
	return may;
}

void job_strategy_apply(const struct job *j, struct engine_fuzz *io)
{
	enum strategy next = j->fleet->strategies.next;

	io->few_mutations = next == STRATEGY_FEW;
	io->even_choice = next == STRATEGY_EVEN;
	io->any_length = next == STRATEGY_LENGTH;
	io->value_profile = next == STRATEGY_VALUES;
	if (next == STRATEGY_SHORT)
		io->max_len = SHORT_BYTES;
}

static int strategy_open(const struct job *j, const char *sub, int *ret_fd, struct err *e)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%s", j->target->name, sub);
	return fs_open_dir(j->env->dirs->work, path, ret_fd, e);
}

bool job_strategy_has_others(const struct job *j)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/others", j->target->name);
	return j->fleet->strategies.next == STRATEGY_OTHERS &&
	       faccessat(j->env->dirs->work, path, F_OK, 0) == 0;
}

static int strategy_lay_others(const struct job *j, struct err *e)
{
	_autoclose_ int corpora = -1;
	_autoclose_ int others = -1;
	char path[PATH_ROOM];
	int r = fs_open_dir(j->env->state->dirfd, "corpus", &corpora, e);

	snprintf(path, sizeof(path), "%s/others", j->target->name);
	if (r == 0)
		r = fs_make_dir(j->env->dirs->work, path, OTHERS_MODE, &others, e);
	if (r == 0 && fchmod(others, OTHERS_MODE) < 0) /* the cell reads it, whatever the umask */
		r = err_sys(e, "set the mode of '%s'", path);
	return r == 0 ? pick_others(corpora, j->target->name, others, e) : r;
}

int job_strategy_prepare(const struct job *j, struct err *e)
{
	enum strategy next = j->fleet->strategies.next;
	_autoclose_ int seeds = -1;
	int r;

	if (next == STRATEGY_OTHERS)
		return strategy_lay_others(j, e);
	if (next != STRATEGY_SUBSET)
		return 0;
	r = strategy_open(j, "seeds", &seeds, e);
	return r == 0 ? pick_part(seeds, j->cells, e) : r;
}

int job_strategy_collect(const struct job *j, int corpus, struct err *e)
{
	_autoclose_ int others = -1;
	int r;

	if (!j->others_help)
		return 0;
	r = strategy_open(j, "others", &others, e);
	return r == 0 ? pick_keep(others, corpus, e) : r;
}
