/* SPDX-License-Identifier: Apache-2.0 */
/* Shards begin with a base, fuzz and give deltas; whoever collects them in whatever order, in one
 * call or in several, some of them twice, has the same state in the end. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/pack.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/vault.h"
#include "runner/policy/chance.h"
#include "runner/rounds/base.h"
#include "runner/rounds/collect.h"
#include "runner/rounds/give.h"
#include "runner/rounds/past.h"
#include "runner/state/fuzzed.h"
#include "runner/state/progress.h"
#include "tests/unit/scratch.h"

#include <dirent.h>

enum {
	ROUNDS = 60,
	SHARDS = 3,
	STEPS = 3,
	DELTAS = SHARDS * STEPS,
	ORDERS = 4,
	TARGETS = 3,
	NOW_S = 1700000000
};

#define BUILD "da39a3ee5e6b4b0d3255bfef95601890afd80709"

static const char *const targets[TARGETS] = {"a_fuzzer", "b_fuzzer", "b_fuzzer@memory"};
static const char *const signatures[] = {"0000000000000001", "0000000000000002", "odd one"};

static struct scratch dir;
static struct chance chance;
static uint64_t now_s;

static unsigned pick(unsigned n)
{
	return (unsigned)(chance_uniform(&chance) * n) % n;
}

static const char *in_dir(const char *format, unsigned n)
{
	static char paths[4][64];
	static unsigned next;
	char name[24];

	snprintf(name, sizeof(name), "%s%u", format, n);
	snprintf(paths[next %= 4], sizeof(paths[0]), "%s/%s", dir.path, name);
	return paths[next++];
}

static struct state *open_state(const char *path)
{
	struct state *s;
	struct err e;

	if (state_open(path, STATE_LOCK, &s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

/* --- what a shard does ---------------------------------------------------------------- */

/* From a small pool, so that two shards find the same. */
static void add_inputs(struct state *s, const char *target)
{
	int corpus;
	struct err e;

	assert_int_equal(state_open_corpus(s, target, &corpus, &e), 0);
	for (unsigned n = pick(4); n > 0; n--) {
		char text[20], name[DIGEST_SHA1_HEX];

		snprintf(text, sizeof(text), "input %u", pick(40));
		digest_sha1_hex(slice_of(text), name);
		scratch_write(corpus, name, text);
	}
	close(corpus);
}

/* Failures that wait for triage: new ones, and old ones that are triaged now. */
static void wait_for_triage(struct state *s, const char *target)
{
	_autofree_ char *path = xasprintf("triage/%s", target);
	int queue;
	struct err e;

	assert_int_equal(fs_make_dir(s->dirfd, path, 0755, &queue, &e), 0);
	for (unsigned i = 0; i < 6; i++) {
		char text[20], name[sizeof("crash-") + DIGEST_SHA1_HEX] = "crash-";

		snprintf(text, sizeof(text), "failure %u", i);
		digest_sha1_hex(slice_of(text), name + strlen("crash-"));
		if (pick(4) == 0)
			scratch_write(queue, name, text);
		else if (pick(2) == 0)
			(void)unlinkat(queue, name, 0);
	}
	close(queue);
}

static void spend_time(struct state *s, const char *target)
{
	struct progress p;
	char warning[200];
	struct err e;

	progress_load(s->dirfd, target, &p, warning);
	assert_string_equal(warning, "");
	if (!*p.build.id) {
		memcpy(p.build.id, BUILD, sizeof(p.build.id));
		curve_begin(&p.curve, 10);
		p.edges_total = 1000;
	}
	(void)curve_show(&p.curve, p.curve.cov + pick(3));
	curve_spend(&p.curve, (1 + pick(100)) * USEC_PER_SEC, 300 * USEC_PER_SEC);
	curve_count(&p.curve, 1 + pick(1000));
	p.health.turns++;
	assert_int_equal(progress_save(s->dirfd, target, &p, &e), 0);
}

static void save_crash(struct state *s, const char *signature, const char *target,
		       struct crash_sighting *io)
{
	static char input[40], report[80], meta[80], place[VAULT_PLACE], path[VAULT_PATH],
	    sha1[DIGEST_SHA1_HEX];
	struct vault_item item = {.signature = slice_of(signature), .target = target};
	struct err e;

	snprintf(input, sizeof(input), "%.*s%u", (int)pick(6), "longer", pick(3));
	io->crash_type = pick(2) ? "SEGV" : "ABRT"; /* the parser reads it in the report */
	snprintf(report, sizeof(report), "%s %u of %s", io->crash_type, pick(3), input);
	snprintf(meta, sizeof(meta), "{\"target\": \"%s\"}", target);
	item.file[VAULT_INPUT] = slice_of(input);
	item.file[VAULT_META] = slice_of(meta);
	item.file[VAULT_REPORT] = slice_of(report);
	if (vault_save(s->dirfd, &item, place, &e) < 0)
		fail_msg("%s", e.msg);
	vault_path(place, VAULT_INPUT, path);
	digest_sha1_hex(slice_of(input), sha1);
	io->crash_file = path;
	io->input_sha1 = sha1;
	io->input_bytes = strlen(input);
	io->tries = 3;
	io->hits = 1 + pick(3);
}

static void find_crash(struct state *s, struct ledger *l, const char *run, const char *target)
{
	const char *signature = signatures[pick(3)];
	struct crash_sighting x = {.signature = signature,
				   .target = target,
				   .build_of = strchr(target, '@') ? "b_fuzzer" : NULL,
				   .run = run,
				   .time = now_s += pick(20),
				   .count = 1 + pick(5),
				   .severity = "high"};
	const struct known_crash *c = ledger_find(l, signature);
	struct ledger_noted noted;
	bool has = false;
	struct err e;

	for (size_t i = 0; c && i < c->n_by; i++)
		has |= strcmp(c->by[i]->fuzzer, target) == 0;
	if (!has || pick(3) == 0) /* triage keeps the first, or finds a better one */
		save_crash(s, signature, target, &x);
	assert_int_equal(ledger_note(l, &x, &noted, &e), 0);
}

static void write_history(struct state *s, const char *run)
{
	_autojson_ json_t *line =
	    json_pack("{s:s, s:I, s:i}", "run", run, "ended", (json_int_t)now_s, "n", (int)pick(9));
	struct err e;

	assert_int_equal(state_append_history(s, NULL, "run_history.jsonl", line, &e), 0);
	assert_int_equal(state_append_history(s, NULL, "targets/a_fuzzer.jsonl", line, &e), 0);
}

static void fuzz(struct state *s, unsigned machine, unsigned step)
{
	struct fuzzed_target fuzzed[TARGETS];
	struct ledger *l;
	char run[40];
	struct err e;

	snprintf(run, sizeof(run), "20260101-00000%u-%u", step, machine);
	assert_int_equal(ledger_load(s->dirfd, &l, &e), 0);
	for (unsigned i = 0; i < TARGETS; i++) {
		fuzzed[i] = (struct fuzzed_target){.name = targets[i], .fuzzed = pick(2) > 0};
		if (pick(3) == 0)
			continue;
		add_inputs(s, targets[i]);
		wait_for_triage(s, targets[i]);
		spend_time(s, targets[i]);
		for (unsigned n = pick(3); n > 0; n--)
			find_crash(s, l, run, targets[i]);
	}
	if (ledger_dirty(l) && ledger_save(l, s->dirfd, &e) < 0)
		fail_msg("%s", e.msg);
	ledger_free(l);
	write_history(s, run);
	assert_int_equal(fuzzed_note(s, fuzzed, TARGETS, now_s, &e), 0);
}

static void make_base(const char *path, unsigned round)
{
	struct state *s = open_state(path);

	chance_seed(&chance, round);
	now_s = NOW_S;
	if (pick(3) > 0)
		fuzz(s, 9, 0);
	state_close(s);
}

static struct round_plan make_plan(void)
{
	struct round_plan p = {.round = 1, .workers = 1, .time_us = USEC_PER_SEC, .shards = SHARDS};

	snprintf(p.id, sizeof(p.id), "0123456789abcdef");
	p.v = xcalloc(SHARDS, sizeof(*p.v));
	for (unsigned i = 0; i < SHARDS; i++) {
		p.v[i].v = xcalloc(TARGETS, sizeof(*p.v[i].v));
		for (; p.v[i].n < 2; p.v[i].n++) /* names of main builds: partners come with them */
			p.v[i].v[p.v[i].n].target = xstrdup(targets[p.v[i].n]);
	}
	return p;
}

static void run_shard(const struct round_plan *p, unsigned number)
{
	struct state *s = open_state(in_dir("shard-", number));
	struct base_sum got;
	struct err e;
	uint64_t n;

	if (base_copy(s, in_dir("base-", 0), p, number, &got, &e) < 0)
		fail_msg("%s", e.msg);
	now_s = NOW_S + 1000 + pick(50);
	for (unsigned step = 0; step < STEPS; step++) {
		struct give g = {.state = s, .last = step == STEPS - 1, .now_us = 0};
		struct given given;

		fuzz(s, number, step);
		g.now_us = now_s * USEC_PER_SEC;
		if (give_delta(&g, &given, &e) < 0)
			fail_msg("%s", e.msg);
	}
	assert_int_equal(give_deliver(s, in_dir("deltas-", 0), &n, &e), 0);
	state_close(s);
}

/* --- what a state has ------------------------------------------------------------------ */

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static void sort(struct strv *v)
{
	if (v->n > 1)
		qsort(v->v, v->n, sizeof(char *), by_text);
}

/* And the directories that have none, which end in '/'. */
static void list_files(int dirfd, const char *path, struct strv *ret)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t before = ret->n;
	DIR *d = fdopendir(fd);
	const struct dirent *ent;

	assert_non_null(d);
	while ((ent = readdir(d))) {
		_autofree_ char *file = NULL;

		if (ent->d_name[0] == '.')
			continue;
		file = xasprintf("%s%s%s", *path == '.' ? "" : path, *path == '.' ? "" : "/",
				 ent->d_name);
		if (ent->d_type == DT_DIR)
			list_files(dirfd, file, ret);
		else
			strv_push(ret, file);
	}
	if (ret->n == before)
		strv_pushf(ret, "%s/", path);
	(void)closedir(d);
}

static void put_file(int dirfd, const char *path, struct buf *out)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	assert_int_equal(fs_read(dirfd, path, 1 << 20, &text, &n, &e), 0);
	buf_printf(out, "%s: %s\n", path, text);
}

static bool is_directory(const char *path)
{
	return path[strlen(path) - 1] == '/';
}

/* The target's files, wherever they are: the first target that came has the crash's own place. */
static void put_entry(int dirfd, const struct known_crash *c, struct buf *out)
{
	static const enum vault_file files[] = {VAULT_INPUT, VAULT_MINIMIZED, VAULT_REPORT};

	buf_printf(out, "  %s %s count %llu first %llu %s last %llu %s, %s, %llu/%llu, sha1 %s\n",
		   c->fuzzer, ledger_state_name(c->state), (unsigned long long)c->count,
		   (unsigned long long)c->first_seen.time, c->first_seen.run,
		   (unsigned long long)c->last_seen.time, c->last_seen.run, c->build_of,
		   (unsigned long long)c->reproduction.hits,
		   (unsigned long long)c->reproduction.tries, c->input_sha1);
	for (size_t i = 0; i < c->n_runs; i++)
		buf_printf(out, "    %s %llu\n", c->runs[i].run,
			   (unsigned long long)c->runs[i].count);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_autofree_ char *text = NULL;
		struct err none;
		size_t n;

		if (vault_read(dirfd, slice_of(c->signature), c->fuzzer, files[i], &text, &n,
			       &none) == 0)
			buf_printf(out, "    %s: %s\n", vault_file_name(files[i]), text);
	}
}

static void put_crashes(int dirfd, struct buf *out)
{
	struct ledger *l;
	struct err e;

	assert_int_equal(ledger_load(dirfd, &l, &e), 0);
	assert_string_equal(ledger_warning(l), "");
	for (size_t s = 0; s < sizeof(signatures) / sizeof(signatures[0]); s++) {
		const struct known_crash *c = ledger_find(l, signatures[s]);

		if (c)
			buf_printf(out, "%s: %llu, %s, led by %s, %s\n", signatures[s],
				   (unsigned long long)c->count, ledger_state_name(c->state),
				   c->fuzzer, c->crash_type);
		for (size_t i = 0; c && i < c->n_by; i++)
			put_entry(dirfd, c->by[i], out);
	}
	ledger_free(l);
}

static char *describe(const char *path)
{
	_autobuf_ struct buf out = BUF_INIT(1 << 22);
	_autostrv_ struct strv files = {0};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list_files(fd, ".", &files);
	sort(&files);
	for (size_t i = 0; i < files.n; i++)
		if (is_directory(files.v[i]))
			buf_printf(&out, "%s\n", files.v[i]);
		else if (strcmp(files.v[i], "lock") != 0 && strcmp(files.v[i], LEDGER_NAME) != 0 &&
			 strncmp(files.v[i], "crashes/", 8) != 0)
			put_file(fd, files.v[i], &out);
	put_crashes(fd, &out);
	close(fd);
	return xstrdup(buf_str(&out));
}

/* --- collecting -------------------------------------------------------------------------- */

static void collect(const char *path, const struct strv *paths)
{
	struct state *s = open_state(path);
	struct collect c = {.state = s, .paths = paths};
	struct collected got;
	struct err e;

	if (collect_deltas(&c, &got, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(got.damaged, 0);
	collected_done(&got);
	state_close(s);
}

/* In a random order, in several calls, and some of them twice. */
static void collect_all(const char *path, const struct strv *all)
{
	unsigned order[DELTAS];
	_autostrv_ struct strv call = {0};

	assert_true(all->n <= DELTAS);
	for (unsigned i = 0; i < all->n; i++)
		order[i] = i;
	for (unsigned i = (unsigned)all->n; i > 1; i--) {
		unsigned at = pick(i), last = order[i - 1];

		order[i - 1] = order[at];
		order[at] = last;
	}
	for (unsigned i = 0; i < all->n; i++) {
		strv_push(&call, all->v[order[i]]);
		if (pick(4) == 0)
			strv_push(&call, all->v[order[pick(i + 1)]]);
		if (pick(3) > 0 && i + 1 < all->n)
			continue;
		collect(path, &call);
		strv_done(&call);
		call = (struct strv){0};
	}
}

static void differ(unsigned round, const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	while (n > 0 && a[n - 1] != '\n')
		n--;
	fail_msg("round %u: '%.*s' is not '%.*s'", round, (int)strcspn(a + n, "\n"), a + n,
		 (int)strcspn(b + n, "\n"), b + n);
}

static void one_round(unsigned round)
{
	_autofree_ char *want = NULL;
	_autostrv_ struct strv deltas = {0}, names = {0};
	struct round_plan p = make_plan();
	struct err e;

	make_base(in_dir("base-", 0), round);
	assert_int_equal(fs_mkdirs(AT_FDCWD, in_dir("deltas-", 0), 0700, &e), 0);
	for (unsigned i = 1; i <= SHARDS; i++)
		run_shard(&p, i);
	list_files(dir.fd, "deltas-0", &names);
	sort(&names);
	assert_true(names.n >= SHARDS);
	for (size_t i = 0; i < names.n; i++)
		strv_pushf(&deltas, "%s/%s", dir.path, names.v[i]);
	for (unsigned i = 1; i <= ORDERS; i++) {
		_autofree_ char *got = NULL;

		make_base(in_dir("base-", i), round);
		chance_seed(&chance, round * 100 + i);
		collect_all(in_dir("base-", i), &deltas);
		got = describe(in_dir("base-", i));
		if (!want)
			want = xstrdup(got);
		if (strcmp(got, want) != 0)
			differ(round, got, want);
	}
	round_plan_done(&p);
}

/* In memory if possible: all that states write is synchronised to the disk. */
static void the_order_does_not_matter(void **state)
{
	const char *rounds = getenv("FUZZCELL_TEST_ROUNDS");
	unsigned n = rounds ? (unsigned)strtoul(rounds, NULL, 10) : ROUNDS;

	(void)state;
	for (unsigned round = 0; round < n; round++) {
		dir = (struct scratch)SCRATCH_INIT;
		if (access("/dev/shm", W_OK) == 0)
			snprintf(dir.path, sizeof(dir.path), "/dev/shm/fuzzcell-unit.XXXXXX");
		scratch_make(&dir);
		one_round(round);
		scratch_remove(&dir);
	}
}

#define FAILURE "triage/a_fuzzer/crash-356a192b7913b04c54574d18c28d46e6395428ab" /* of "1" */

static void give_one(struct state *s, bool last)
{
	struct give g = {.state = s, .last = last, .now_us = (now_s += 300) * USEC_PER_SEC};
	struct given given;
	struct err e;

	if (give_delta(&g, &given, &e) < 0)
		fail_msg("%s", e.msg);
}

/* The second delta has a failure that waits; then the shard triages it itself. */
static void a_triaged_failure_waits_no_longer(void **state)
{
	struct round_plan p = make_plan();
	_autostrv_ struct strv names = {0};
	struct state *s;
	struct base_sum got;
	struct err e;
	uint64_t n;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	now_s = NOW_S;
	state_close(open_state(in_dir("base-", 0)));
	s = open_state(in_dir("shard-", 1));
	assert_int_equal(base_copy(s, in_dir("base-", 0), &p, 1, &got, &e), 0);
	assert_int_equal(fs_mkdirs(s->dirfd, "triage/a_fuzzer", 0755, &e), 0);
	scratch_write(s->dirfd, FAILURE, "1");
	give_one(s, false);
	give_one(s, false);
	assert_int_equal(unlinkat(s->dirfd, FAILURE, 0), 0);
	give_one(s, true);
	assert_int_equal(give_deliver(s, in_dir("deltas-", 0), &n, &e), 0);
	state_close(s);
	list_files(dir.fd, "deltas-0", &names);
	sort(&names);
	assert_int_equal(names.n, 3);
	assert_non_null(names.v);
	for (unsigned order = 0; order < 2; order++) {
		const char *base = in_dir("base-", 1 + order);

		for (unsigned i = 0; i < 3; i++) {
			_autostrv_ struct strv one = {0};
			_autofree_ char *file = NULL;

			strv_pushf(&one, "%s/%s", dir.path, names.v[order ? 2 - i : i]);
			collect(base, &one);
			file = xasprintf("%s/" FAILURE, base);
			/* In the first order it waits until the last delta comes. */
			assert_int_equal(faccessat(AT_FDCWD, file, F_OK, 0) == 0,
					 order == 0 && i == 1);
			/* What a run here finds later is its own. */
			if (i == 2) {
				_autofree_ char *queue = xasprintf("%s/triage/a_fuzzer", base);

				assert_int_not_equal(faccessat(AT_FDCWD, queue, F_OK, 0), 0);
				assert_int_equal(fs_mkdirs(AT_FDCWD, queue, 0755, &e), 0);
				scratch_write(AT_FDCWD, file, "1");
				collect(base, &one);
				assert_int_equal(faccessat(AT_FDCWD, file, F_OK, 0), 0);
			}
		}
	}
	round_plan_done(&p);
	scratch_remove(&dir);
}

/* A shard that gives nothing is known, and being told twice changes nothing. */
static void a_round_has_an_end(void **state)
{
	struct round_plan p = make_plan();
	_autostrv_ struct strv none = {0};
	_autofree_ char *before = NULL, *after = NULL;
	struct collect c = {.paths = &none, .over = &p};
	struct past_round past;
	struct collected got;
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	for (unsigned i = 0; i < 2; i++) {
		c.state = open_state(in_dir("base-", 0));
		assert_int_equal(collect_deltas(&c, &got, &e), 0);
		assert_int_equal(got.deltas, 0);
		collected_done(&got);
		assert_int_equal(past_of_plan(c.state, &p, &past, &e), 0);
		assert_true(past.over > 0 && past.ended == 0 && past.shards == SHARDS);
		past_round_done(&past);
		state_close(c.state);
		free(before);
		before = after;
		after = describe(in_dir("base-", 0));
	}
	assert_string_equal(before, after);
	round_plan_done(&p);
	scratch_remove(&dir);
}

/* --- what is wrong ------------------------------------------------------------------------ */

/* An archive of one input and of this ledger; all its sums are right. */
static void put_delta(const char *path, unsigned number, const char *ledger)
{
	_autofree_ char *text = NULL, *object = NULL;
	char input[20], sha1[2][DIGEST_SHA1_HEX], source[DELTA_SOURCE];
	json_t *head;
	struct pack *p;
	struct err e;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	snprintf(input, sizeof(input), "of delta %u", number);
	snprintf(source, sizeof(source), "%016u", number);
	digest_sha1_hex(slice_of(input), sha1[0]);
	digest_sha1_hex(slice_of(ledger), sha1[1]);
	head = json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:s, s:i, s:i, s:b, s:{s:[s]}, "
			 "s:{s:s}, s:{}, s:{}}",
			 "v", 1, "id", "", "source", source, "seq", 1, "plan", "0123456789abcdef",
			 "round", 1, "shard", number, "shards", 9, "node", "n1", "until", NOW_S,
			 "due", NOW_S, "last", 1, "inputs", "corpus/a_fuzzer", sha1[0], "files",
			 LEDGER_NAME, sha1[1], "slices", "histories");
	assert_int_equal(delta_identify(head, &e), 0);
	assert_int_equal(json_print(head, 0, &text, &e), 0);
	assert_int_equal(pack_open(fd, &p, &e), 0);
	assert_int_equal(pack_add(p, DELTA_HEAD, 0644, slice_of(text), &e), 0);
	for (unsigned i = 0; i < 2; i++) {
		free(object);
		object = xasprintf(DELTA_OBJECTS "%s", sha1[i]);
		assert_int_equal(pack_add(p, object, 0644, slice_of(i ? ledger : input), &e), 0);
	}
	assert_int_equal(pack_close(p, &e), 0);
	pack_free(p);
	close(fd);
	json_decref(head);
}

/* Its error has a hundred bytes of the name, and half a character at their end. */
#define E8 "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
#define CUT_IN_A_CHARACTER                                                                       \
	"{\"0123456789abcdef\": {\"crash_file\": \"x\", \"fuzzer\": \"/" E8 E8 E8 E8 E8 E8 E8 E8 \
	"\"}}"
enum { WRONG = 4 };
static unsigned reported[COLLECT_DAMAGED + 1];

static void count_reports(void *arg, const struct collect_delta *d)
{
	(void)arg;
	reported[d->what]++;
	if (d->what == COLLECT_DAMAGED)
		assert_non_null(d->why);
}

/* Deltas 1 and 3 have ledgers that cannot be read; nothing of them stays, and the others come. */
static void wrong_content_stops_no_other(void **state)
{
	static const char *const ledgers[WRONG] = {"{}", "garbage", "{}", CUT_IN_A_CHARACTER};
	_autostrv_ struct strv paths = {0}, files = {0};
	struct collect c = {.paths = &paths, .report = count_reports};
	struct collected got;
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	for (unsigned i = 0; i < WRONG; i++) {
		strv_push(&paths, in_dir("d\xff", i)); /* not UTF-8 */
		put_delta(paths.v[i], i + 1, ledgers[i]);
	}
	c.state = open_state(in_dir("base-", 0));
	assert_int_equal(collect_deltas(&c, &got, &e), 0);
	assert_int_equal(got.deltas, 2);
	assert_int_equal(got.damaged, 2);
	assert_int_equal(got.inputs, 2);
	assert_int_equal(reported[COLLECT_NEW], 2);
	assert_int_equal(reported[COLLECT_DAMAGED], 2);
	collected_done(&got);
	state_close(c.state);
	list_files(dir.fd, "base-0/corpus", &files);
	assert_int_equal(files.n, 2);
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_order_does_not_matter),
    cmocka_unit_test(a_triaged_failure_waits_no_longer),
    cmocka_unit_test(a_round_has_an_end),
    cmocka_unit_test(wrong_content_stops_no_other),
};

UNIT_MAIN(tests)
