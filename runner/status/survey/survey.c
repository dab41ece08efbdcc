/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/survey/survey.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/state/fuzzed.h"
#include "runner/state/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- a target's newest object ---------------------------------------------------- */

/* The newest line.  *ret_damaged: the history's problem (it cannot be read, or none of its lines
 * can), or NULL; free() it. */
static json_t *newest_line(const struct state *s, const char *target, char **ret_damaged)
{
	_autofree_ char *name = NULL;
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	*ret_damaged = NULL;
	if (history_target_name(target, &name, &e) < 0)
		return NULL;
	if (history_last(s, name, 1, &lines, &damaged, &e) < 0)
		*ret_damaged = xstrdup(e.msg);
	else if (damaged > 0 && json_array_size(lines) == 0)
		*ret_damaged = xasprintf("stats/%s: none of its lines can be read", name);
	return json_incref(json_array_get(lines, 0));
}

void survey_untriaged(const struct state *s, const char *target, json_t *stats)
{
	json_int_t n = (json_int_t)state_waiting(s, target);
	json_int_t undecided = json_integer_value(json_object_get(stats, "timeouts_undecided"));

	if (undecided > 0) /* these wait for lower CPU pressure */
		n = n > undecided ? n - undecided : 0;
	json_object_set_new(stats, "untriaged", json_integer(n)); /* NULL: does nothing */
}

/* --- all targets -------------------------------------------------------------------- */

struct reading {
	const struct state *state;
	const struct survey_opts *opts;
	struct survey *survey;
};

struct survey_target *survey_add(struct survey *s, const struct survey_opts *o, const char *name)
{
	struct survey_target *t;

	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	t = &s->v[s->n++];
	*t = (struct survey_target){.name = xstrdup(name),
				    .facts = {.now = o->now, .silent_s = o->silent_s}};
	return t;
}

static void survey_add_times(struct reading *a, const struct fuzzed_times *t)
{
	struct survey_target *to = survey_add(a->survey, a->opts, t->target);

	to->facts.fuzzed = t->fuzzed;
	to->facts.first = t->first;
	to->facts.grown = t->grown;
	to->facts.waited = t->turn < t->seen;
	to->seen = t->seen;
	to->stats = newest_line(a->state, t->target, &to->damaged);
	if (!to->stats && state_waiting(a->state, t->target) > 0)
		to->stats = json_object(); /* survey_untriaged() counts waiting artifacts in it */
	survey_untriaged(a->state, t->target, to->stats);
	to->facts.stats = to->stats;
	to->facts.damaged = to->damaged;
}

static int survey_add_known(void *arg, const struct fuzzed_times *t, struct err *e)
{
	(void)e;
	survey_add_times(arg, t);
	return 0;
}

/* Adds a target that has a history but is missing in last_fuzzed.json, which may have been
 * damaged. */
static void survey_add_file(struct reading *a, int dirfd, const char *file)
{
	size_t n = strlen(file), end = strlen(".jsonl");
	struct fuzzed_times t = {0};
	char name[NAME_MAX + 1];
	struct stat st;

	if (file[0] == '.' || n <= end || strcmp(file + n - end, ".jsonl") != 0 ||
	    fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(n - end), file);
	if (survey_find(a->survey, name))
		return;
	t.target = name;
	t.seen = t.turn = (uint64_t)st.st_mtim.tv_sec;
	survey_add_times(a, &t);
}

static void survey_add_files(struct reading *a)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(a->state->dirfd, "stats/targets");
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)))
		survey_add_file(a, dirfd(d), ent->d_name);
}

static int survey_by_name(const void *a, const void *b)
{
	const struct survey_target *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int survey_read(const struct state *s, const struct survey_opts *o, struct survey *ret,
		struct err *e)
{
	struct survey all = {0};
	struct reading a = {s, o, &all};
	int r = fuzzed_each(s, survey_add_known, &a, e);

	if (r < 0) {
		survey_done(&all);
		return r;
	}
	survey_add_files(&a);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof(*all.v), survey_by_name);
	*ret = all;
	survey_service(s, o, ret);
	return 0;
}

void survey_done(struct survey *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		free(s->v[i].damaged);
		json_decref(s->v[i].stats);
	}
	free(s->v);
	*s = (struct survey){0};
}

struct survey_target *survey_find(struct survey *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, name) == 0)
			return &s->v[i];
	return NULL;
}
