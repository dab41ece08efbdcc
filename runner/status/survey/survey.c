/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/survey/survey.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/publish/outbox/outbox.h"
#include "runner/rounds/past.h"
#include "runner/state/fuzzed.h"
#include "runner/state/history.h"
#include "runner/state/lock.h"
#include "runner/trigger/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* --- the newest facts of a target ----------------------------------------- */

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

/* --- did the last run complete? ------------------------------------------- */

static bool survey_is_run(const char *name)
{
	size_t n = strspn(name, "0123456789-");

	return n > 0 && n < SURVEY_RUN_MAX && !name[n];
}

/* The newest run with a working directory: it lives, or was killed and left the directory. */
static void newest_at_work(const struct state *s, char ret[SURVEY_RUN_MAX])
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, "work");
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)))
		if (survey_is_run(ent->d_name) && strcmp(ent->d_name, ret) > 0)
			snprintf(ret, SURVEY_RUN_MAX, "%.31s", ent->d_name);
}

static bool survey_run_ended(const struct state *s, const char *run)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "logs/%s/summary.json", run);
	return fstatat(s->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool survey_run_is_lost(const struct state *s, const json_t *line, char ret[SURVEY_RUN_MAX])
{
	const char *run = json_string_value(json_object_get(line, "run"));
	const char *status = json_string_value(json_object_get(line, "status"));

	if (!run || !survey_is_run(run) || !status || strcmp(status, "lost") != 0 ||
	    survey_run_ended(s, run))
		return false;
	snprintf(ret, SURVEY_RUN_MAX, "%s", run);
	return true;
}

/* A saved run has a line in the history.  True if the n newest lines are of lost runs. */
static bool find_saved(const struct state *s, size_t n, char ret[SURVEY_RUN_MAX])
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_last(s, "run_history.jsonl", n, &lines, &damaged, &e) < 0 ||
	    json_array_size(lines) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!survey_run_is_lost(s, json_array_get(lines, i), ret))
			return false;
	return true;
}

bool survey_run_lives(const struct state *s, const char *run)
{
	char newest[SURVEY_RUN_MAX] = "";
	bool held;
	pid_t pid;
	struct err e;

	newest_at_work(s, newest);
	return *newest && strcmp(newest, run) == 0 &&
	       lock_run_holder(s->dirfd, &held, &pid, &e) == 0 && held;
}

bool survey_lost_run(const struct state *s, char ret[SURVEY_RUN_MAX], bool *ret_left)
{
	bool held;
	pid_t pid;
	struct err e;

	/* The order matters: a run that lived at the first check and ended before the last has a
	 * summary. */
	ret[0] = '\0';
	newest_at_work(s, ret);
	*ret_left = *ret && lock_run_holder(s->dirfd, &held, &pid, &e) == 0 && !held &&
		    !survey_run_ended(s, ret);
	if (*ret_left)
		return true;
	/* A living run may still complete, so the run before it decides, too. */
	if (lock_run_holder(s->dirfd, &held, &pid, &e) < 0)
		held = false;
	return find_saved(s, held ? 2 : 1, ret);
}

/* --- the service ---------------------------------------------------------- */

static void count_entry(const struct outbox_entry *t, struct survey *ret)
{
	struct health_service *v = &ret->service;

	v->outbox.waiting++;
	v->outbox.refused += t->refused;
	if (v->outbox.oldest && t->created >= v->outbox.oldest)
		return;
	v->outbox.oldest = t->created;
	snprintf(ret->place, sizeof(ret->place), "%s", t->place);
	snprintf(ret->why, sizeof(ret->why), "%s", t->why);
}

static void read_outbox(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct outbox *box = NULL;
	struct err e;

	if (outbox_read(s->dirfd, &box, &e) < 0)
		return;
	for (size_t i = 0; i < outbox_count(box); i++)
		if (!o->is_destination || o->is_destination(o->arg, outbox_at(box, i)->place))
			count_entry(outbox_at(box, i), ret);
	outbox_close(box);
	ret->service.outbox.late_s = o->late_s;
	ret->service.outbox.place = ret->service.outbox.waiting ? ret->place : NULL;
	ret->service.outbox.why = ret->why;
}

static void read_disk(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct statvfs v;

	if (!o->disk_reserve || fstatvfs(s->dirfd, &v) < 0)
		return;
	ret->service.disk.known = true;
	ret->service.disk.free = (uint64_t)v.f_bavail * v.f_frsize;
	ret->service.disk.reserve = o->disk_reserve;
}

static int read_moment(const struct survey_opts *o, struct moment *ret, struct err *e)
{
	if (!o->boot)
		return moment_read(ret, e);
	*ret = *o->boot;
	return moment_renew(ret, e);
}

static void read_trigger(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct trigger_record r = {0};
	char why[RECORD_WHY];
	struct moment now;
	struct err e;

	if (read_moment(o, &now, &e) < 0 || record_load(s->dirfd, true, &now, &r, why, &e) < 0)
		return;
	ret->service.trigger.fetch_failures = r.fetch_failures;
	ret->service.trigger.fetch_since =
	    o->now - since_age(&r.fetch_failing, &now) / USEC_PER_SEC;
	ret->service.trigger.run_failures = r.failures;
	snprintf(ret->trigger_why, sizeof(ret->trigger_why), "%s",
		 r.fetch_failures ? r.fetch_error : r.why);
	ret->service.trigger.why = ret->trigger_why;
}

/* Keeps the worst problem, and the first among equals. */
static void unreadable(struct survey *ret, enum health_severity is, const char *why)
{
	if (is <= ret->service.unreadable.is)
		return;
	ret->service.unreadable.is = is;
	ret->service.unreadable.why = ret->unreadable;
	snprintf(ret->unreadable, sizeof(ret->unreadable), "%.*s", (int)sizeof(ret->unreadable) - 1,
		 why);
}

/* An unreadable ledger is an error, because crashes cannot be handled.  A damaged one is
 * recreated, so it is a warning. */
static void read_ledger(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct ledger *own = NULL;
	struct err e;

	if (!o->ledger && ledger_load(s->dirfd, &own, &e) < 0)
		unreadable(ret, HEALTH_ERROR, e.msg);
	else if (*ledger_warning(o->ledger ? o->ledger : own))
		unreadable(ret, HEALTH_WARNING, ledger_warning(o->ledger ? o->ledger : own));
	ledger_free(own);
}

static void read_runs(const struct state *s, struct survey *ret)
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_last(s, "run_history.jsonl", 1, &lines, &damaged, &e) < 0)
		unreadable(ret, HEALTH_WARNING, e.msg);
	else if (damaged > 0 && json_array_size(lines) == 0)
		unreadable(ret, HEALTH_WARNING,
			   "stats/run_history.jsonl: none of its lines can be read");
}

static void note_damaged(struct survey *ret, const char *where, const char *name)
{
	if (ret->service.damaged_n++ == 0)
		snprintf(ret->damaged, sizeof(ret->damaged), "%s%.200s", where, name);
}

/* Counts files with mark in their names; "": all files. */
static void count_damaged(const struct state *s, const char *path, const char *where,
			  const char *mark, struct survey *ret)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, path);
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && strstr(ent->d_name, mark))
			note_damaged(ret, where, ent->d_name);
}

static void read_fleet(const struct state *s, struct survey *ret)
{
	struct past_round r;
	struct err ignored;

	if (past_newest(s, &r, &ignored) < 0)
		return;
	ret->service.fleet.round = r.round;
	ret->service.fleet.over = r.over > 0;
	ret->service.fleet.due = r.due;
	ret->service.fleet.shards = r.shards;
	for (unsigned i = 0; i < r.shards; i++)
		ret->service.fleet.lost += past_is_lost(&r, &r.v[i], ret->service.now);
	past_round_done(&r);
}

void survey_service(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	ret->service = (struct health_service){.now = o->now};
	read_outbox(s, o, ret);
	read_disk(s, o, ret);
	if (survey_lost_run(s, ret->lost, &ret->service.lost_left))
		ret->service.lost_run = ret->lost;
	read_fleet(s, ret);
	read_trigger(s, o, ret);
	read_ledger(s, o, ret);
	read_runs(s, ret);
	count_damaged(s, ".", "", ".damaged", ret);
	count_damaged(s, "damaged", "damaged/", "", ret);
	count_damaged(s, "outbox/damaged", "outbox/damaged/", "", ret);
	ret->service.damaged = ret->service.damaged_n ? ret->damaged : NULL;
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
