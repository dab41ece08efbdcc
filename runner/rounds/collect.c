/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/collect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/crash/ledger/fold.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/vault.h"
#include "runner/rounds/delta.h"
#include "runner/rounds/lines.h"
#include "runner/rounds/past.h"
#include "runner/state/change.h"
#include "runner/state/fuzzed.h"
#include "runner/state/slices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)

#define UNPACKED "change/unpacked"

enum { MODE_DIR = 0750, IDS_MAX = 1 << 30, ID_LINE = 41 };
enum { TRIAGED_MAX = 64 << 20, TRIAGED_S = 86400 };

struct collecting {
	const struct collect *c;
	struct collected *sum;
	int state, to;	       /* the state directory; the files that change */
	struct ledger *ledger; /* as it will be */
	json_t *ids;	       /* of all collected deltas */
	bool changes;	       /* there is something to change */
	/* To be added: of each target, of each history, of last_fuzzed.json. */
	json_t *slices, *histories, *fuzzed;
	json_t *triaged;     /* stats/triaged.json as it will be */
	struct strv dropped; /* what the deltas of this call say of it */
	/* Of the delta in work. */
	struct delta delta;
	int news; /* its crashes, laid out like a state directory */
	struct collect_delta *one;
	size_t seen; /* its crashes, also known ones */
	/* Of all paths: what is reported when the change is made. */
	struct collect_delta *v;
	char **refused; /* of each path: why its content cannot be collected; or NULL */
};

/* What a delta says of itself. */
static const char *const facts[] = {"id",     "source", "seq",	 "plan", "round", "shard",
				    "shards", "node",	"until", "due",	 "last"};
enum { FACTS = sizeof(facts) / sizeof(facts[0]) };

void collected_done(struct collected *c)
{
	strv_done(&c->fresh);
	strv_done(&c->old);
	*c = (struct collected){0};
}

/* --- inputs and other files ------------------------------------------------------------ */

static bool there(int dirfd, const char *path)
{
	return faccessat(dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Links an object to its place below dirfd. */
static int place_object(const struct collecting *k, const char *sha1, int dirfd, const char *path,
			struct err *e)
{
	_autofree_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');
	int r = 0;

	if (sys_linkat(k->delta.objects, sha1, dirfd, path) == 0)
		return 0;
	if (errno == ENOENT && slash) {
		*slash = '\0';
		r = fs_mkdirs(dirfd, parent, MODE_DIR, e);
		if (r < 0 || sys_linkat(k->delta.objects, sha1, dirfd, path) == 0)
			return r;
	}
	return errno == EEXIST ? 0 : err_sys(e, "stage '%s'", path);
}

static int stage_input(struct collecting *k, const char *path, const char *sha1, struct err *e)
{
	_autofree_ char *file = xasprintf("%s/%s", path, sha1);
	int r;

	if (there(k->state, file) || there(k->to, file)) {
		k->one->known++;
		return 0;
	}
	r = place_object(k, sha1, k->to, file, e);
	if (r < 0)
		return r;
	k->one->inputs++;
	if (strncmp(file, "corpus/", 7) == 0)
		strv_push(&k->sum->fresh, file);
	return 0;
}

/* Whether the file has this digest, or a smaller one: of two reports on a failure one stays. */
static bool has_smaller(int dirfd, const char *path, const char *sha1)
{
	_autofree_ char *text = NULL;
	char hex[DIGEST_SHA1_HEX];
	struct err none;
	size_t n;

	if (fs_read(dirfd, path, VAULT_BYTES_MAX, &text, &n, &none) < 0)
		return false;
	digest_sha1_hex((struct slice){text, n}, hex);
	return strcmp(hex, sha1) <= 0;
}

static int stage_one(void *arg, const char *path, const char *sha1, bool is_input, struct err *e)
{
	struct collecting *k = arg;

	if (is_input)
		return stage_input(k, path, sha1, e);
	if (strncmp(path, "triage/", 7) != 0) /* for the ledger */
		return place_object(k, sha1, k->news, path, e);
	if (json_object_get(k->triaged, path)) /* a later delta came before this one */
		return 0;
	if (has_smaller(k->to, path, sha1) || has_smaller(k->state, path, sha1))
		return 0;
	(void)unlinkat(k->to, path, 0); /* allow: it may not be there */
	return place_object(k, sha1, k->to, path, e);
}

/* --- crashes ------------------------------------------------------------------------------ */

/* Links the present files of a crash into the change, so that new ones find their places. */
static int link_files(int from, int to, const char *path, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(from, path);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", path);
	r = fs_mkdirs(to, path, MODE_DIR, e);
	while (r == 0 && (ent = sys_readdir(d))) {
		_autofree_ char *file = xasprintf("%s/%s", path, ent->d_name);
		struct stat st;

		if (fstatat(from, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			r = link_files(from, to, file, depth - 1, e);
		else if (S_ISREG(st.st_mode) && sys_linkat(from, file, to, file) < 0 &&
			 errno != EEXIST)
			r = err_sys(e, "stage '%s'", file);
	}
	return r;
}

static int prepare_crash(const struct collecting *k, const char *signature, struct err *e)
{
	char name[VAULT_NAME], path[VAULT_PLACE];
	int r = vault_name(slice_of(signature), name, e);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "crashes/%s", name);
	return there(k->to, path) ? 0 : link_files(k->state, k->to, path, 2, e);
}

/* The files of one entry. */
struct bringing {
	struct collecting *k;
	char place[VAULT_PLACE], input[VAULT_PATH], minimized[VAULT_PATH];
	json_t *reports;
};

static int read_files(const struct collecting *k, const struct known_crash *c,
		      char *text[VAULT_RECORD], size_t n[VAULT_RECORD], struct err *e)
{
	for (enum vault_file f = 0; f < VAULT_RECORD; f++) {
		int r =
		    vault_read(k->news, slice_of(c->signature), c->fuzzer, f, &text[f], &n[f], e);

		if (r < 0 && (r != -ENOENT || f == VAULT_INPUT))
			return r;
	}
	return 0;
}

/* Whether the file is that of the entry: a shard gives both at nearly the same time. */
static bool is_file_of(const char *text, size_t n, const char *sha1)
{
	char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex((struct slice){text, n}, hex);
	return !*sha1 || strcmp(hex, sha1) == 0;
}

static int bring_files(struct bringing *b, const struct known_crash *c, struct ledger_files *ret,
		       struct err *e)
{
	struct collecting *k = b->k;
	struct vault_item item = {.signature = slice_of(c->signature), .target = c->fuzzer};
	char *text[VAULT_RECORD] = {NULL};
	size_t n[VAULT_RECORD] = {0};
	int r = read_files(k, c, text, n, e);

	if (r == 0 && !is_file_of(text[VAULT_INPUT], n[VAULT_INPUT], c->input_sha1))
		r = err_set(e, ENOENT, "the input of '%.100s' is another one", c->signature);
	for (enum vault_file f = 0; r == 0 && f < VAULT_RECORD; f++)
		item.file[f] = (struct slice){text[f], n[f]};
	if (r == 0)
		r = vault_save(k->to, &item, b->place, e);
	if (r == 0) {
		vault_path(b->place, VAULT_INPUT, b->input);
		vault_path(b->place, VAULT_MINIMIZED, b->minimized);
		*ret = (struct ledger_files){b->input, NULL, NULL};
		if (text[VAULT_MINIMIZED] && *c->minimized &&
		    is_file_of(text[VAULT_MINIMIZED], n[VAULT_MINIMIZED], c->minimized_sha1))
			ret->minimized = b->minimized;
	}
	for (enum vault_file f = 0; f < VAULT_RECORD; f++)
		free(text[f]);
	return r;
}

/* Whether the report in the delta has the smaller digest: one of two has to stay. */
static bool report_wins(const struct collecting *k, const struct known_crash *c)
{
	const int dirs[2] = {k->news, k->to};
	char hex[2][DIGEST_SHA1_HEX];

	for (size_t i = 0; i < 2; i++) {
		_autofree_ char *text = NULL;
		struct err none;
		size_t n;

		if (vault_read(dirs[i], slice_of(c->signature), c->fuzzer, VAULT_REPORT, &text, &n,
			       &none) < 0)
			return i > 0;
		digest_sha1_hex((struct slice){text, n}, hex[i]);
	}
	return strcmp(hex[0], hex[1]) < 0;
}

static int on_files(void *arg, const struct known_crash *c, bool same, struct ledger_files *ret,
		    struct err *e)
{
	struct bringing *b = arg;
	struct err none;
	int r;

	if (same && !report_wins(b->k, c))
		return err_set(e, EALREADY, "its files are there");
	r = bring_files(b, c, ret, e);
	if (r < 0)
		return r;
	json_decref(b->reports);
	b->reports = NULL;
	if (parsed_load(b->k->news, c->signature, &b->reports, &none) == 0)
		ret->report = json_object_get(b->reports, c->fuzzer);
	return 0;
}

static int stage_crashes(struct collecting *k, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *from = NULL;
	_autofree_ char *text = NULL;
	struct ledger_fold_sum sum = {0};
	struct bringing b = {.k = k};
	size_t n;
	int r = fs_read(k->news, LEDGER_NAME, LEDGER_FILE_MAX, &text, &n, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = ledger_parse((struct slice){text, n}, &from, e);
	for (size_t i = 0; r == 0 && i < ledger_count(from); i++)
		r = prepare_crash(k, ledger_at(from, i)->signature, e);
	if (r == 0)
		r = ledger_fold(k->ledger, from, on_files, &b, &sum, e);
	json_decref(b.reports);
	k->seen = r == 0 ? ledger_count(from) : 0;
	k->one->crashes = sum.crashes;
	k->one->sightings = sum.sightings;
	return r;
}

/* --- progress, histories -------------------------------------------------------------------- */

/* Appends what each key of `from` has to the list of that key. */
static void append_lists(json_t *to, json_t *from)
{
	const char *key;
	json_t *list;

	json_object_foreach(from, key, list)
	{
		if (!json_object_get(to, key))
			(void)json_object_set_new(to, key, json_array());
		(void)json_array_extend(json_object_get(to, key), list);
	}
}

/* By how many edges a target's coverage grew. */
static uint64_t edges_of(const json_t *slices)
{
	size_t n = json_array_size(slices);
	uint64_t from = json_get_u64(json_array_get(slices, 0), "from");
	uint64_t cov = n ? json_get_u64(json_array_get(slices, n - 1), "cov") : 0;

	return cov > from ? cov - from : 0;
}

/* What the delta says, whatever came before it. */
static json_t *history_line(const struct collecting *k)
{
	json_t *line = json_pack("{s:i}", "v", 1), *slices;
	uint64_t us = 0, edges = 0, inputs = k->one->inputs + k->one->known;
	const char *target;
	json_t *list;

	for (size_t i = 0; i < FACTS; i++)
		(void)json_object_set(line, facts[i], json_object_get(k->delta.head, facts[i]));
	slices = json_object_get(k->delta.head, "slices");
	json_object_foreach(slices, target, list)
	{
		for (size_t i = 0; i < json_array_size(list); i++)
			us += json_get_u64(json_array_get(list, i), "us");
		edges += edges_of(list);
	}
	(void)json_object_set_new(line, "cpu_seconds", json_real((double)us / 1e6));
	(void)json_object_set_new(line, "edges", json_integer((json_int_t)edges));
	(void)json_object_set_new(line, "inputs", json_integer((json_int_t)inputs));
	(void)json_object_set_new(line, "crashes", json_integer((json_int_t)k->seen));
	(void)json_object_set_new(line, "sightings", json_integer((json_int_t)k->one->sightings));
	return line;
}

/* A line of the history of rounds. */
static void add_line(struct collecting *k, json_t *line)
{
	_autojson_ json_t *all = json_pack("{s:[o]}", ROUND_HISTORY, line);

	append_lists(k->histories, all);
}

static void note_triaged(struct collecting *k, const json_t *head)
{
	const json_t *list = json_object_get(head, "triaged");
	uint64_t until = json_get_u64(head, "until");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *path = json_string_value(json_array_get(list, i));

		strv_push(&k->dropped, path);
		if (json_get_u64(k->triaged, path) < until)
			(void)json_object_set_new(k->triaged, path,
						  json_integer((json_int_t)until));
	}
}

static void stage_facts(struct collecting *k)
{
	json_t *head = k->delta.head;
	const char *id = json_get_text(head, "id");

	append_lists(k->slices, json_object_get(head, "slices"));
	append_lists(k->histories, json_object_get(head, "histories"));
	add_line(k, history_line(k));
	fuzzed_fold(k->fuzzed, json_object_get(head, "fuzzed"));
	(void)json_object_set_new(k->ids, id, json_true());
	k->changes = true;
	note_triaged(k, head);
}

/* When the newest delta of the round was made, of those that were collected before or are now. */
static uint64_t newest_delta(const struct collecting *k, const struct past_round *past)
{
	const json_t *lines = json_object_get(k->histories, ROUND_HISTORY);
	uint64_t ret = past->until;

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *j = json_array_get(lines, i);
		uint64_t until = json_get_u64(j, "until");

		if (past_is_of(j, past) && until > ret)
			ret = until;
	}
	return ret;
}

/* A line of the round itself, which has no shard.  Who is told again, without a delta in between,
 * adds none. */
static int stage_over(struct collecting *k, struct err *e)
{
	const struct round_plan *p = k->c->over;
	uint64_t now = clock_real_us() / USEC_PER_SEC, newest;
	CLEANUP(past_round_done) struct past_round past = {0};
	int r = p ? past_of_plan(k->c->state, p, &past, e) : 0;

	if (r < 0 || !p)
		return r;
	newest = newest_delta(k, &past);
	if (past.over > 0 && past.over >= newest)
		return 0;
	add_line(k, json_pack("{s:i, s:s, s:I, s:i, s:I, s:I}", "v", 1, "plan", p->id, "round",
			      (json_int_t)p->round, "shard", 0, "shards", (json_int_t)p->shards,
			      "until", (json_int_t)(now > newest ? now : newest)));
	k->changes = true;
	return 0;
}

/* --- one delta ---------------------------------------------------------------------------------
 */

static int stage_delta(struct collecting *k, struct err *e)
{
	int r = fs_make_dir(k->delta.dir, "state", MODE_DIR, &k->news, e);

	if (r == 0)
		r = delta_each(k->delta.head, stage_one, k, e);
	if (r == 0)
		r = stage_crashes(k, e);
	if (r == 0)
		stage_facts(k);
	close_p(&k->news);
	return r;
}

/* Errors of a delta's content; others are those of the machine, or of the state. */
static bool is_of_content(int code)
{
	static const int codes[] = {EBADMSG, EINVAL, EMLINK,	   ELOOP, ENOTDIR,
				    EISDIR,  EFBIG,  ENAMETOOLONG, E2BIG};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (code == -codes[i])
			return true;
	return false;
}

/* The corpora to which a delta gave something: a merge that was cut off is made up for. */
static void note_rooms(struct collecting *k)
{
	const char *room;
	const json_t *inputs;

	json_object_foreach(json_object_get(k->delta.head, "inputs"), room, inputs)
	{
		if (strncmp(room, "corpus/", 7) == 0)
			strv_push(&k->sum->old, room);
	}
}

static bool was_collected(const struct collecting *k, const json_t *head)
{
	return json_object_get(k->ids, json_get_text(head, "id"));
}

/* Of what was collected before, only the head is read.  A damaged delta is no error, and leaves
 * nothing in the change. */
static int open_delta(struct collecting *k, const char *path, int dirfd, struct err *e)
{
	struct err none;
	int r = delta_read_head(path, dirfd, &k->delta.head, &none);

	if (r < 0 || !was_collected(k, k->delta.head)) {
		json_decref(k->delta.head);
		k->delta.head = NULL;
		r = delta_open(path, dirfd, &k->delta, e);
	}
	if (is_of_content(r) || r == -ENOENT || r == -EACCES || r == -ENXIO) {
		k->one->what = COLLECT_DAMAGED;
		k->one->why = xstrdup(e->msg);
		return 0;
	}
	if (r < 0)
		return r;
	k->one->head = json_object();
	for (size_t i = 0; i < FACTS; i++)
		(void)json_object_set(k->one->head, facts[i],
				      json_object_get(k->delta.head, facts[i]));
	if (was_collected(k, k->delta.head)) {
		k->one->what = COLLECT_AGAIN;
		note_rooms(k);
	}
	return 0;
}

static void add_sums(struct collecting *k)
{
	const struct collect_delta *one = k->one;
	struct collected *sum = k->sum;

	sum->deltas += one->what == COLLECT_NEW;
	sum->again += one->what == COLLECT_AGAIN;
	sum->damaged += one->what == COLLECT_DAMAGED;
	sum->inputs += one->inputs;
	sum->known += one->known;
	sum->crashes += one->crashes;
	sum->sightings += one->sightings;
}

/* -ERESTART: its content cannot be collected, and is in the change in part. */
static int stage_whole(struct collecting *k, struct err *e)
{
	int r = stage_delta(k, e);

	if (!is_of_content(r))
		return r;
	k->refused[k->one - k->v] = xstrdup(e->msg);
	return -ERESTART;
}

static int take_delta(struct collecting *k, const char *path, struct err *e)
{
	const char *refused = k->refused[k->one - k->v];
	_autoclose_ int dir = -1;
	int r = fs_remove_tree(k->state, UNPACKED, e);

	*k->one = (struct collect_delta){.path = path};
	k->seen = 0;
	if (r == 0 && refused) {
		k->one->what = COLLECT_DAMAGED;
		k->one->why = xstrdup(refused);
		add_sums(k);
		return 0;
	}
	if (r == 0)
		r = fs_make_dir(k->state, UNPACKED, MODE_DIR, &dir, e);
	if (r == 0)
		r = open_delta(k, path, dir, e);
	if (r == 0 && k->one->what == COLLECT_NEW)
		r = stage_whole(k, e);
	if (r == 0)
		add_sums(k);
	delta_close(&k->delta);
	return r < 0 && r != -ERESTART ? err_wrap(e, "collect '%s'", path) : r;
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* Puts a file into the change. */
static int stage_text(const struct collecting *k, const char *path, struct slice text,
		      struct err *e)
{
	_autofree_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');
	_autoclose_ int dir = -1;
	int r;

	*slash = '\0';
	r = fs_make_dir(k->to, parent, MODE_DIR, &dir, e);
	return r < 0 ? r : fs_replace(dir, slash + 1, text, e);
}

static int end_slices(const struct collecting *k, struct err *e)
{
	const char *target;
	json_t *list;
	int r = 0;

	json_object_foreach(k->slices, target, list)
	{
		_autofree_ char *path = xasprintf("stats/progress/%s.json", target), *text = NULL;

		if (r == 0)
			r = slices_add(k->state, target, list, &text, e);
		if (r == 0)
			r = stage_text(k, path, slice_of(text), e);
	}
	return r;
}

static int end_histories(const struct collecting *k, struct err *e)
{
	const char *name;
	json_t *list;
	int r = 0;

	json_object_foreach(k->histories, name, list)
	{
		_autofree_ char *path = xasprintf("stats/%s", name), *text = NULL;
		bool ours = strcmp(name, ROUND_HISTORY) == 0;
		size_t n;

		if (r == 0)
			r = lines_join(k->state, path, list, ours ? ROUND_HISTORY_LINES : SIZE_MAX,
				       &text, &n, e);
		if (r == 0)
			r = stage_text(k, path, (struct slice){text, n}, e);
	}
	return r;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static int end_ids(const struct collecting *k, struct err *e)
{
	_autofree_ char *text = xcalloc(json_object_size(k->ids) * ID_LINE + 1, 1);
	_autostrv_ struct strv all = {0};
	const char *id;
	json_t *v;

	json_object_foreach(k->ids, id, v) strv_push(&all, id);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof(char *), by_text);
	for (size_t i = 0; i < all.n; i++)
		snprintf(text + i * ID_LINE, ID_LINE + 1, "%.40s\n", all.v[i]);
	return stage_text(k, "stats/deltas", slice_of(text), e);
}

static int end_triaged(const struct collecting *k, struct err *e)
{
	_autofree_ char *text = NULL;
	uint64_t newest = 0;
	const char *path;
	json_t *until;
	void *next;

	json_object_foreach(k->triaged, path, until)
	{
		uint64_t t = (uint64_t)json_integer_value(until);

		newest = t > newest ? t : newest;
	}
	json_object_foreach_safe(k->triaged, next, path, until)
	{
		if ((uint64_t)json_integer_value(until) + TRIAGED_S < newest)
			(void)json_object_del(k->triaged, path);
	}
	if (json_object_size(k->triaged) == 0)
		return 0;
	text = json_dumps(k->triaged, JSON_INDENT(1) | JSON_SORT_KEYS);
	return text ? stage_text(k, "stats/triaged.json", slice_of(text), e)
		    : err_set(e, ENOMEM, "list the triaged failures");
}

static int end_all(struct collecting *k, struct err *e)
{
	_autofree_ char *text = NULL;
	int r = end_slices(k, e);

	if (r == 0)
		r = end_histories(k, e);
	if (r == 0)
		r = json_print(k->fuzzed, 1, &text, e);
	if (r == 0)
		r = stage_text(k, "stats/last_fuzzed.json", slice_of(text), e);
	if (r == 0)
		r = end_ids(k, e);
	if (r == 0)
		r = end_triaged(k, e);
	if (r == 0 && ledger_dirty(k->ledger))
		r = ledger_save(k->ledger, k->to, e);
	if (r == 0)
		r = fs_remove_tree(k->state, UNPACKED, e);
	if (r == 0) /* whether they came in this call or before */
		r = change_remove(k->state, &k->dropped, e);
	return r < 0 ? r : change_commit(k->state, e);
}

static int load_ids(int state, json_t **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = fs_read(state, "stats/deltas", IDS_MAX, &text, &n, e);

	*ret = json_object();
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (candidates_name_ok(line))
			(void)json_object_set_new(*ret, line, json_true());
	}
	return 0;
}

/* A damaged file is replaced: then a failure may be triaged twice. */
static int load_triaged(int state, json_t **ret, struct err *e)
{
	const char *path;
	json_t *until;
	void *next;
	int r = json_load(state, "stats/triaged.json", TRIAGED_MAX, ret, e);

	if (r < 0 && r != -ENOENT && r != -EBADMSG && r != -EFBIG)
		return r;
	if (r < 0 || !json_is_object(*ret)) {
		json_decref(*ret);
		*ret = json_object();
	}
	json_object_foreach_safe(*ret, next, path, until)
	{
		if (!delta_triaged_ok(path) || !json_is_integer(until))
			(void)json_object_del(*ret, path);
	}
	return 0;
}

static int begin(struct collecting *k, struct err *e)
{
	int r = change_begin(k->state, &k->to, e);

	k->slices = json_object();
	k->histories = json_object();
	if (r == 0)
		r = load_ids(k->state, &k->ids, e);
	if (r == 0)
		r = ledger_load(k->state, &k->ledger, e);
	if (r == 0)
		r = load_triaged(k->state, &k->triaged, e);
	return r == 0 ? fuzzed_all(k->c->state, &k->fuzzed, e) : r;
}

static void forget(struct collecting *k)
{
	for (size_t i = 0; i < k->c->paths->n; i++) {
		json_decref(k->v[i].head);
		free(k->v[i].why);
		k->v[i] = (struct collect_delta){0};
	}
	close_p(&k->to);
	ledger_free(k->ledger);
	json_decref(k->ids);
	json_decref(k->slices);
	json_decref(k->histories);
	json_decref(k->fuzzed);
	json_decref(k->triaged);
	strv_done(&k->dropped);
	k->dropped = (struct strv){0};
	k->changes = false;
	k->ledger = NULL;
	k->ids = k->slices = k->histories = k->fuzzed = k->triaged = NULL;
}

static int collect_once(struct collecting *k, struct err *e)
{
	struct err none;
	int r = begin(k, e);

	for (size_t i = 0; r == 0 && i < k->c->paths->n; i++) {
		k->one = &k->v[i];
		r = take_delta(k, k->c->paths->v[i], e);
	}
	if (r == 0)
		r = stage_over(k, e);
	if (r == 0 && k->changes)
		r = end_all(k, e);
	if (r < 0 || !k->changes)
		(void)!change_recover(k->state, &none);
	for (size_t i = 0; r == 0 && k->c->report && i < k->c->paths->n; i++)
		k->c->report(k->c->arg, &k->v[i]);
	forget(k);
	return r;
}

/* What a refused delta has put into the change cannot be told from the rest of it, so all begins
 * again without that delta. */
int collect_deltas(const struct collect *c, struct collected *ret, struct err *e)
{
	struct collecting k = {.c = c,
			       .sum = ret,
			       .state = c->state->dirfd,
			       .to = -1,
			       .news = -1,
			       .delta = {.dir = -1, .objects = -1},
			       .v = xcalloc(c->paths->n + 1, sizeof(*k.v)),
			       .refused = xcalloc(c->paths->n + 1, sizeof(*k.refused))};
	int r;

	*ret = (struct collected){0};
	while ((r = collect_once(&k, e)) == -ERESTART)
		collected_done(ret);
	for (size_t i = 0; i < c->paths->n; i++)
		free(k.refused[i]);
	free(k.refused);
	free(k.v);
	return r;
}
