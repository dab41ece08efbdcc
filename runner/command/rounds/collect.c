/* SPDX-License-Identifier: Apache-2.0 */
/* `fuzzcell collect`: brings the deltas of shards into a state directory. */
#include "runner/rounds/collect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/notify.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/command/crash/crash.h"
#include "runner/corpus/generation/generation.h"
#include "runner/rounds/delta.h"
#include "runner/rounds/give.h"
#include "runner/rounds/past.h"
#include "runner/rounds/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEND_US (120 * USEC_PER_SEC)

DEFINE_CLEANUP(struct ledger *, ledger_free)

struct collect_args {
	struct session session;
	const char *workers, *time, *plan_path;
	struct round_plan plan;
	struct past_round past; /* of the plan */
	bool *came;		/* of each of its shards: its last delta was in this call */
	bool no_merge, remove, json;
	struct strv paths;
	struct collected sum;
	uint64_t kept; /* new inputs that the merges kept */
	bool collected, merged;
	json_t *deltas; /* for --json */
	char *filter;
};

#define AT(member) OPTION_AT(struct collect_args, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct collect_args, session.common),
    TARGETS_OPTION(struct collect_args, session.common),
    {"plan", "FILE", "its round has ended: name the shards that never came back", AT(plan_path)},
    {"remove", NULL, "remove what was collected, and set damaged deltas aside", AT(remove)},
    {"no-merge", NULL, "do not merge the corpora; a later run does", AT(no_merge)},
    {"workers", "N", "cells at once for the merges (default: one per CPU)", AT(workers)},
    {"time", "TIME", "give the merge of each target this long (default: merge_time)", AT(time)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- which deltas ----------------------------------------------------------------------- */

static bool is_delta(const char *name)
{
	size_t n = strlen(name), m = strlen(DELTA_SUFFIX);

	return n > m && strcmp(name + n - m, DELTA_SUFFIX) == 0 && name[0] != '.';
}

static int by_path(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* A directory stands for the deltas in it. */
static int add_paths(struct collect_args *a, const char *path)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	char shown[ESCAPE_MAX];
	const struct dirent *ent;
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, 0) < 0) {
		if (a->plan_path && errno == ENOENT) { /* the first shard makes the directory */
			printf("%s: not there; no shard delivered to it\n", escape(path, shown));
			return EXIT_DONE;
		}
		return fail(EXIT_USAGE, "collect: '%s': %s", escape(path, shown), strerror(errno));
	}
	if (!S_ISDIR(st.st_mode)) {
		strv_push(&a->paths, path);
		return EXIT_DONE;
	}
	d = sys_opendirat(AT_FDCWD, path);
	while (d && (ent = sys_readdir(d)))
		if (is_delta(ent->d_name))
			strv_pushf(&a->paths, "%s/%s", path, ent->d_name);
	return d ? EXIT_DONE
		 : fail(EXIT_USAGE, "collect: '%s': %s", escape(path, shown), strerror(errno));
}

static int find_paths(struct collect_args *a, char *const *argv)
{
	int r = EXIT_DONE;

	if (!*argv)
		return fail(EXIT_USAGE, "collect: which deltas? name files or directories");
	for (; r == EXIT_DONE && *argv; argv++)
		r = add_paths(a, *argv);
	if (a->paths.n > 1)
		qsort(a->paths.v, a->paths.n, sizeof(char *), by_path);
	return r;
}

/* --- each delta --------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void collect_print(const struct collect_delta *d)
{
	char path[ESCAPE_MAX], why[ESCAPE_MAX], n[2][UNITS_OF_MAX];

	printf("%s: ", escape(base_name(d->path), path));
	if (d->what == COLLECT_DAMAGED) {
		printf("DAMAGED: %s\n", escape(d->why, why));
		return;
	}
	printf("round %llu, shard %llu of %llu on %s: ",
	       (unsigned long long)json_get_u64(d->head, "round"),
	       (unsigned long long)json_get_u64(d->head, "shard"),
	       (unsigned long long)json_get_u64(d->head, "shards"), json_get_text(d->head, "node"));
	if (d->what == COLLECT_AGAIN)
		printf("collected before\n");
	else
		printf("%s, %llu known; %s, %llu sightings%s\n",
		       units_of(d->inputs, "new input", "new inputs", n[0]),
		       (unsigned long long)d->known,
		       units_of(d->crashes, "new crash", "new crashes", n[1]),
		       (unsigned long long)d->sightings,
		       json_is_true(json_object_get(d->head, "last")) ? "; the shard has ended"
								      : "");
}

/* Known also if the history was lost. */
static void note_last(struct collect_args *a, const json_t *head)
{
	uint64_t shard = json_get_u64(head, "shard");

	if (a->came && json_is_true(json_object_get(head, "last")) &&
	    json_get_u64(head, "round") == a->plan.round &&
	    strcmp(json_get_text(head, "plan"), a->plan.id) == 0 && shard <= a->plan.shards)
		a->came[shard - 1] = true;
}

static void on_delta(void *arg, const struct collect_delta *d)
{
	static const char *const names[] = {"collected", "again", "damaged"};
	struct collect_args *a = arg;
	const json_t *h = d->head;

	collect_print(d);
	note_last(a, h);
	(void)json_array_append_new(
	    a->deltas, json_pack("{s:o, s:s, s:o, s:s, s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:I}",
				 "path", answer_text(d->path), "result", names[d->what], "why",
				 d->why ? answer_text(d->why) : json_null(), "source",
				 json_get_text(h, "source"), "node", json_get_text(h, "node"),
				 "round", (json_int_t)json_get_u64(h, "round"), "shard",
				 (json_int_t)json_get_u64(h, "shard"), "last",
				 json_is_true(json_object_get(h, "last")), "inputs",
				 (json_int_t)d->inputs, "known", (json_int_t)d->known, "crashes",
				 (json_int_t)d->crashes, "sightings", (json_int_t)d->sightings));
}

/* A name of at most NAME_MAX bytes that no entry of the directory has, also not with ".why". */
static char *free_name(int dir, const char *name)
{
	for (unsigned i = 1;; i++) {
		_autofree_ char *end = i > 1 ? xasprintf("~%u", i) : xstrdup("");
		_autofree_ char *ret = xasprintf("%.200s%s", name, end);
		_autofree_ char *why = xasprintf("%s.why", ret);

		if (faccessat(dir, ret, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    faccessat(dir, why, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return take_ptr(&ret);
	}
}

/* Copies the delta to damaged/deltas/, with the reason beside it. */
static int set_aside(const struct collect_args *a, const char *path, const char *why, struct err *e)
{
	_autofree_ char *name = NULL, *note = NULL;
	_autoclose_ int dir = -1;
	int r = fs_make_dir(a->session.state->dirfd, "damaged/deltas", 0750, &dir, e);

	if (r < 0)
		return r;
	name = free_name(dir, base_name(path));
	note = xasprintf("%s.why", name);
	r = fs_copy(AT_FDCWD, path, dir, name, SIZE_MAX, e);
	return r < 0 ? r : fs_replace(dir, note, slice_of(why), e);
}

/* What cannot be set aside or removed stays, and does not stop the others. */
static int remove_collected(const struct collect_args *a)
{
	int status = EXIT_DONE;
	const json_t *d;
	size_t i;

	json_array_foreach(a->deltas, i, d)
	{
		const char *path = a->paths.v[i];
		char shown[ESCAPE_MAX];
		struct err e;
		int r = 0;

		if (strcmp(json_get_text(d, "result"), "damaged") == 0)
			r = set_aside(a, path, json_get_text(d, "why"), &e);
		if (r == -ENOENT) /* it was named twice */
			continue;
		if (r == 0 && sys_unlinkat(AT_FDCWD, path, 0) < 0 && errno != ENOENT)
			r = err_sys(&e, "remove it");
		if (r < 0)
			status = fail(EXIT_MACHINE, "collect: '%s' stays: %s", escape(path, shown),
				      e.msg);
	}
	return status;
}

/* --- merges --------------------------------------------------------------------------------- */

/* The names of the targets with new inputs, with commas between them: a filter. */
static char *name_targets(const struct collect_args *a)
{
	_autostrv_ struct strv names = {0}, all = {0};
	size_t n = 0;
	char *ret;

	for (size_t i = 0; i < a->sum.fresh.n; i++)
		strv_push(&all, a->sum.fresh.v[i]);
	for (size_t i = 0; a->remove && i < a->sum.old.n; i++)
		strv_push(&all, a->sum.old.v[i]);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof(char *), by_path);
	for (size_t i = 0; i < all.n; i++) {
		const char *name = all.v[i] + strlen("corpus/");
		_autofree_ char *target = xstrndup(name, strcspn(name, "@/"));

		if (names.n == 0 || strcmp(names.v[names.n - 1], target) != 0) {
			strv_push(&names, target);
			n += strlen(target) + 1;
		}
	}
	ret = xcalloc(n + 1, 1);
	for (size_t i = 0; i < names.n; i++)
		snprintf(ret + strlen(ret), n + 1 - strlen(ret), "%s%s", i ? "," : "", names.v[i]);
	return ret;
}

static bool knows_targets(const struct collect_args *a)
{
	size_t n;

	(void)config_sources(a->session.common.config, &n);
	return n > 0 || a->session.common.targets_dir;
}

static int collect_merge(struct collect_args *a)
{
	struct corpus_merge m = {.session = &a->session};
	int r = session_recall(&a->session);

	if (r != EXIT_DONE)
		return r;
	if (!knows_targets(a)) {
		printf("the corpora are not merged: no targets are known here (--targets)\n");
		return EXIT_DONE;
	}
	a->filter = name_targets(a);
	a->session.common.filter = a->filter;
	r = session_plan(&a->session);
	if (r == EXIT_DONE)
		r = session_open(&a->session);
	m.targets = json_array();
	if (r == EXIT_DONE)
		r = corpus_merge_all(&m);
	json_decref(m.targets);
	for (size_t i = 0; i < a->sum.fresh.n; i++)
		a->kept += faccessat(a->session.state->dirfd, a->sum.fresh.v[i], F_OK,
				     AT_SYMLINK_NOFOLLOW) == 0;
	a->merged = r == EXIT_DONE;
	return r;
}

/* --- the end ------------------------------------------------------------------------------------
 */

static int collect_notify(struct collect_args *a)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	struct notify t = common_notify(&a->session.common, a->session.state);
	struct err e;

	t.targets = &a->session.common.targets;
	t.send_us = SEND_US;
	if (ledger_load(a->session.state->dirfd, &l, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	common_notify_last(&t, l);
	if (ledger_dirty(l) && ledger_save(l, a->session.state->dirfd, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	return EXIT_DONE;
}

static void collect_print_sum(const struct collect_args *a)
{
	const struct collected *s = &a->sum;
	char n[4][UNITS_OF_MAX];

	printf("%s collected, %llu collected before, %llu damaged: %s, %llu known already; %s, "
	       "%llu sightings\n",
	       units_of(s->deltas, "delta", "deltas", n[0]), (unsigned long long)s->again,
	       (unsigned long long)s->damaged, units_of(s->inputs, "new input", "new inputs", n[1]),
	       (unsigned long long)s->known, units_of(s->crashes, "new crash", "new crashes", n[2]),
	       (unsigned long long)s->sightings);
	if (a->merged && s->fresh.n > 0)
		printf("duplicate work: of %zu inputs for corpora the merges kept %llu, the "
		       "others reach nothing more (%.0f %%)\n",
		       s->fresh.n, (unsigned long long)a->kept,
		       100.0 * (double)(s->fresh.n - a->kept) / (double)s->fresh.n);
	if (s->damaged > 0)
		printf("what is in %s is lost unless the shard gave it again%s\n",
		       units_of(s->damaged, "damaged delta", "damaged deltas", n[3]),
		       a->remove ? "; see damaged/deltas/ of the state directory" : "");
}

/* --- shards that never came back ----------------------------------------------------------- */

static void print_lost(const struct past_round *p, unsigned number)
{
	const struct past_shard *s = &p->v[number - 1];
	char at[32];

	printf("round %llu, shard %u of %u never came back", (unsigned long long)p->round, number,
	       p->shards);
	if (s->deltas > 0)
		printf(": what it found after %s on %s is lost\n", crash_time(s->until, at),
		       s->node);
	else
		printf(", and gave nothing\n");
}

static bool is_lost(const struct collect_args *a, unsigned i)
{
	return a->past.v && !a->past.v[i].ended && !(a->came && a->came[i]);
}

static int collect_lost(struct collect_args *a)
{
	int status = EXIT_DONE;
	struct err e;

	if (!a->plan_path)
		return EXIT_DONE;
	if (past_of_plan(a->session.state, &a->plan, &a->past, &e) < 0)
		return fail(EXIT_MACHINE, "collect: %s", e.msg);
	for (unsigned i = 0; i < a->past.shards; i++) {
		if (is_lost(a, i)) {
			print_lost(&a->past, i + 1);
			status = EXIT_NOT_FUZZED;
		}
	}
	return status;
}

static json_t *lost_json(const struct collect_args *a)
{
	json_t *all = a->past.v ? json_array() : json_null();

	for (unsigned i = 0; i < a->past.shards; i++)
		if (is_lost(a, i))
			(void)json_array_append_new(all, json_integer((json_int_t)i + 1));
	return all;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int collect_work(struct collect_args *a)
{
	struct collect c = {.state = a->session.state,
			    .paths = &a->paths,
			    .over = a->plan_path ? &a->plan : NULL,
			    .report = on_delta,
			    .arg = a};
	struct generation_sum swapped = {0};
	unsigned keep = config_run(a->session.common.config)->generations;
	struct err e;
	int r = EXIT_DONE, removed = EXIT_DONE, status;

	if (generation_recover_all(a->session.state->dirfd, keep, &swapped, &e) < 0 ||
	    collect_deltas(&c, &a->sum, &e) < 0)
		return fail(EXIT_MACHINE, "collect: %s", e.msg);
	a->collected = true;
	if (!a->no_merge && (a->sum.fresh.n > 0 || (a->remove && a->sum.old.n > 0)))
		r = collect_merge(a);
	if (a->remove)
		removed = remove_collected(a);
	/* Again, too: a collector that was killed may not have come so far. */
	status = a->sum.deltas + a->sum.again > 0 ? collect_notify(a) : EXIT_DONE;
	collect_print_sum(a);
	if (r == EXIT_DONE)
		r = status != EXIT_DONE ? status : removed;
	status = collect_lost(a);
	if (r == EXIT_DONE)
		r = status;
	return r == EXIT_DONE && a->sum.damaged > 0 ? EXIT_NOT_FUZZED : r;
}

static json_t *collect_json(const struct collect_args *a)
{
	const struct collected *s = &a->sum;

	return json_pack(
	    "{s:O, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "deltas", a->deltas, "collected",
	    (json_int_t)s->deltas, "again", (json_int_t)s->again, "damaged", (json_int_t)s->damaged,
	    "inputs", (json_int_t)s->inputs, "known", (json_int_t)s->known, "crashes",
	    (json_int_t)s->crashes, "sightings", (json_int_t)s->sightings, "kept",
	    a->merged ? json_integer((json_int_t)a->kept) : json_null(), "lost", lost_json(a));
}

/* While this collector waited for the lock, another may have taken some. */
static void drop_gone(struct collect_args *a)
{
	_autostrv_ struct strv all = a->paths;

	a->paths = (struct strv){0};
	for (size_t i = 0; i < all.n; i++) {
		char shown[ESCAPE_MAX];

		if (faccessat(AT_FDCWD, all.v[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			strv_push(&a->paths, all.v[i]);
		else
			printf("%s: gone; another collector has taken it\n",
			       escape(base_name(all.v[i]), shown));
	}
}

/* In a shard's own state all of its counts would double. */
static int refuse_shard(const struct collect_args *a)
{
	const struct state *s = a->session.state;
	struct shard_id id;
	struct err none;

	if (shard_load(s->dirfd, &id, &none) == -ENOENT)
		return EXIT_DONE;
	return fail(EXIT_USAGE,
		    "collect: '%s' is the state directory of a shard: collect into its base",
		    s->path);
}

static int load_plan(struct collect_args *a)
{
	char shown[ESCAPE_MAX];
	struct err e;

	if (a->plan_path && round_plan_load(a->plan_path, &a->plan, &e) < 0)
		return fail(EXIT_USAGE, "collect: --plan %s: %s", escape(a->plan_path, shown),
			    e.msg);
	if (a->plan_path)
		a->came = xcalloc(a->plan.shards, sizeof(*a->came));
	return EXIT_DONE;
}

static int collect_load(struct collect_args *a, char *const *argv)
{
	struct session *s = &a->session;
	int r = find_paths(a, argv);

	if (r == EXIT_DONE)
		r = load_plan(a);
	if (r == EXIT_DONE)
		r = session_load(s);
	if (r == EXIT_DONE)
		r = session_set(s, "run.workers", a->workers, "--workers");
	if (r == EXIT_DONE)
		r = session_set(s, "defaults.merge_time", a->time, "--time");
	if (r == EXIT_DONE)
		r = session_wait(s);
	if (r == EXIT_DONE)
		r = refuse_shard(a);
	if (r == EXIT_DONE)
		drop_gone(a);
	return r;
}

int command_collect(int argc, char **argv)
{
	struct collect_args a = {0};
	int at = options_parse(argc, argv, "collect [OPTION]... DELTA...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	begun = answer_begin(a.json);
	a.deltas = json_array();
	r = collect_load(&a, argv + at);
	if (r == EXIT_DONE) {
		r = collect_work(&a);
		j = a.collected ? collect_json(&a) : NULL;
	}
	json_decref(a.deltas);
	strv_done(&a.paths);
	collected_done(&a.sum);
	round_plan_done(&a.plan);
	past_round_done(&a.past);
	free(a.came);
	session_close(&a.session);
	free(a.filter);
	return answer_end(begun, j, r);
}
