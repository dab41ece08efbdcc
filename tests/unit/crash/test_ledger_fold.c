/* SPDX-License-Identifier: Apache-2.0 */
/* What several machines found is one ledger, in whatever order it comes together. */
#include "tests/unit/crash/ledgers.h"

#include "base/buf.h"
#include "runner/crash/ledger/fold.h"
#include "runner/policy/chance.h"

#include <stdlib.h>

enum { MACHINES = 4, STEPS = 3, DELTAS = MACHINES * STEPS, ROUNDS = 40 };

static struct chance chance;

static unsigned pick(unsigned n)
{
	return (unsigned)(chance_uniform(&chance) * n) % n;
}

/* --- machines that find crashes ----------------------------------------------------- */

/* Signatures 0 to 2 are one bug, and 3 fails at one place in two builds of a target. */
static const char *const signatures[] = {"0000000000000000", "0000000000000001", "0000000000000002",
					 "0000000000000003", "0000000000000004", "0000000000000005",
					 "0000000000000006", "0000000000000007"};
enum { SIGNATURES = sizeof(signatures) / sizeof(signatures[0]) };

/* What the parser reads in a report follows from the signature. */
static void describe(unsigned s, unsigned machine, struct crash_sighting *io)
{
	static const char *const types[] = {"heap-buffer-overflow READ", "use-after-free"};
	static const char *const severities[] = {"low", "high", "critical"};

	io->crash_type = types[s % 2];
	io->bug = s < 3 ? "gate.c:7" : NULL;
	io->place = s == 3 || s == 4 ? "a.c:3" : NULL;
	io->severity = severities[pick(3)];
	io->access_size = machine; /* differs, so the winner's can be seen */
	if (s == 3 || s == 4) {
		io->target = s == 3 ? "b" : "b@memory";
		io->build_of = s == 3 ? NULL : "b";
	}
}

static uint64_t now_s; /* of the machine */

static void find_one(struct ledger *l, unsigned machine, unsigned step)
{
	static const char *const targets[] = {"a", "b", "c"};
	unsigned s = pick(SIGNATURES);
	char run[32], key[32], sha1[41], file[64];
	struct crash_sighting x = {.signature = signatures[s],
				   .target = targets[pick(3)],
				   .run = run,
				   .commit = "c0ffee",
				   .raw_key = key,
				   .time = now_s += pick(30),
				   .count = 1 + pick(9)};
	struct ledger_noted noted;
	struct err e;

	snprintf(run, sizeof(run), "20260101-00000%u-%u", step, machine);
	snprintf(key, sizeof(key), "key-%u", pick(12));
	snprintf(sha1, sizeof(sha1), "%040u", pick(1000000));
	snprintf(file, sizeof(file), "crashes/%s/input", x.signature);
	describe(s, machine, &x);
	if (pick(2)) {
		x.crash_file = file;
		x.input_sha1 = sha1;
		x.input_bytes = 1 + pick(5);
		x.tries = 10;
		x.hits = 1 + pick(10);
	}
	assert_int_equal(ledger_note(l, &x, &noted, &e), 0);
	if (pick(6) == 0)
		assert_int_equal(
		    ledger_fixed(l, x.signature, x.target, x.time + 1 + pick(200), "d00d", run, &e),
		    0);
}

static struct ledger *copy_of(const struct ledger *l)
{
	_autofree_ char *text = NULL;
	struct ledger *ret;
	struct err e;
	size_t n;

	assert_int_equal(ledger_print(l, &text, &n, &e), 0);
	if (ledger_parse((struct slice){text, n}, &ret, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(ledger_warning(ret), "");
	return ret;
}

/* --- folding ------------------------------------------------------------------------ */

static int files_there(void *arg, const struct known_crash *entry, bool same,
		       struct ledger_files *ret, struct err *e)
{
	static char path[100];

	(void)arg;
	if (same)
		return err_set(e, EALREADY, "it is there");
	snprintf(path, sizeof(path), "crashes/%s/by/%s/input", entry->signature, entry->fuzzer);
	*ret = (struct ledger_files){.crash_file = path};
	return 0;
}

static void fold(struct ledger *l, const struct ledger *from)
{
	struct ledger_fold_sum sum = {0};
	struct err e;

	if (ledger_fold(l, from, files_there, NULL, &sum, &e) < 0)
		fail_msg("%s", e.msg);
}

/* --- what must be equal --------------------------------------------------------------- */

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Appends lines in the order of their text. */
static void put_sorted(char **lines, size_t n, struct buf *out)
{
	qsort(lines, n, sizeof(char *), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_puts(out, lines[i]);
		free(lines[i]);
	}
}

static char *entry_text(const struct known_crash *c, bool own)
{
	char text[2000];
	int n = snprintf(text, sizeof(text),
			 "  %s: %s count %llu, first %llu %s, last %llu %s, fixed %llu, %s, %s\n",
			 c->fuzzer, ledger_state_name(c->state), (unsigned long long)c->count,
			 (unsigned long long)c->first_seen.time, c->first_seen.run,
			 (unsigned long long)c->last_seen.time, c->last_seen.run,
			 (unsigned long long)c->fixed.time, c->severity, c->build_of);

	for (size_t i = 0; i < c->n_runs; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "    %s %llu\n", c->runs[i].run,
			      (unsigned long long)c->runs[i].count);
	if (own) { /* of its own record, whatever the crash is called */
		n = snprintf(text, sizeof(text), "  %s %s: %s %llu %llu/%llu %s\n", c->signature,
			     c->fuzzer, c->input_sha1, (unsigned long long)c->access_size,
			     (unsigned long long)c->reproduction.hits,
			     (unsigned long long)c->reproduction.tries, c->crash_type);
		if (c->raw_keys.n > 1)
			qsort(c->raw_keys.v, c->raw_keys.n, sizeof(char *), by_text);
		for (size_t i = 0; i < c->raw_keys.n; i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "    %s\n",
				      c->raw_keys.v[i]);
	}
	return strdup(text);
}

static void put_entries(const struct known_crash *c, bool own, struct buf *out)
{
	char *lines[16];
	size_t n = 0;

	for (size_t i = 0; i < c->n_by; i++)
		if (!own || *c->by[i]->crash_file)
			lines[n++] = entry_text(c->by[i], own);
	put_sorted(lines, n, out);
}

/* A crash without its name: its signatures, what its targets saw, and each record's own data. */
static char *crash_text(const struct ledger *l, const struct known_crash *c)
{
	_autobuf_ struct buf out = BUF_INIT(1 << 20);
	char *names[SIGNATURES + 1];
	size_t n = 0;

	names[n++] = strdup(c->signature);
	for (size_t i = 0; i < c->aliases.n; i++)
		names[n++] = strdup(c->aliases.v[i]);
	put_sorted(names, n, &out);
	buf_puts(&out, "\n");
	put_entries(c, false, &out);
	for (size_t i = 0; i < SIGNATURES; i++) {
		const struct known_crash *r = ledger_record(l, signatures[i]);

		if (r && ledger_find(l, signatures[i]) == c)
			put_entries(r, true, &out);
	}
	return strdup(buf_str(&out));
}

static char *ledger_text(const struct ledger *l)
{
	_autobuf_ struct buf out = BUF_INIT(1 << 20);
	char *crashes[SIGNATURES];
	size_t n = 0;

	for (size_t i = 0; i < ledger_count(l); i++)
		if (!*ledger_at(l, i)->merged_into)
			crashes[n++] = crash_text(l, ledger_at(l, i));
	put_sorted(crashes, n, &out);
	return strdup(buf_str(&out));
}

/* --- tests ---------------------------------------------------------------------------- */

/* Makes the deltas of machines that all begin with the base. */
static void fuzz_everywhere(const struct ledger *base, struct ledger *deltas[DELTAS])
{
	struct err e;

	for (unsigned m = 0; m < MACHINES; m++) {
		struct ledger *now = copy_of(base);

		now_s = 2000 + pick(100);
		for (unsigned s = 0; s < STEPS; s++) {
			struct ledger *then = copy_of(now), *news;

			for (unsigned k = pick(6); k > 0; k--)
				find_one(now, m, s);
			assert_int_equal(ledger_since(now, then, &news, &e), 0);
			deltas[m * STEPS + s] = copy_of(news); /* over the network */
			ledger_free(news);
			ledger_free(then);
		}
		ledger_free(now);
	}
}

static void shuffle(unsigned order[DELTAS])
{
	for (unsigned i = 0; i < DELTAS; i++)
		order[i] = i;
	for (unsigned i = DELTAS; i > 1; i--) {
		unsigned at = pick(i), last = order[i - 1];

		order[i - 1] = order[at];
		order[at] = last;
	}
}

static void differ(unsigned round, const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	while (n > 0 && a[n - 1] != '\n')
		n--;
	fail_msg("round %u: %.*s is not %.*s", round, (int)strcspn(a + n, "\n"), a + n,
		 (int)strcspn(b + n, "\n"), b + n);
}

/* In random orders, and with a save in between or not. */
static void the_order_does_not_matter(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ledger *base, *deltas[DELTAS];
		_autofree_ char *want = NULL;
		struct err e;

		chance_seed(&chance, round);
		now_s = 1000;
		assert_int_equal(ledger_parse(SLICE("{}"), &base, &e), 0);
		for (unsigned k = pick(4); k > 0; k--)
			find_one(base, 9, 0);
		fuzz_everywhere(base, deltas);
		for (unsigned i = 0; i < 10; i++) {
			struct ledger *l = copy_of(base);
			_autofree_ char *text = NULL;
			unsigned order[DELTAS];

			shuffle(order);
			for (unsigned k = 0; k < DELTAS; k++) {
				fold(l, deltas[order[k]]);
				if (pick(2)) {
					struct ledger *again = copy_of(l);

					ledger_free(l);
					l = again;
				}
			}
			text = ledger_text(l);
			if (!want)
				want = strdup(text);
			if (strcmp(text, want) != 0)
				differ(round, text, want);
			ledger_free(l);
		}
		for (unsigned i = 0; i < DELTAS; i++)
			ledger_free(deltas[i]);
		ledger_free(base);
	}
}

/* One machine's deltas give what it has itself. */
static void one_machine_is_as_it_was(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ledger *now, *then, *news, *l;
		struct err e;

		chance_seed(&chance, round);
		now_s = 1000;
		assert_int_equal(ledger_parse(SLICE("{}"), &now, &e), 0);
		l = copy_of(now);
		for (unsigned s = 0; s < 3; s++) {
			then = copy_of(now);
			for (unsigned k = 0; k < 5; k++)
				find_one(now, 1, s);
			assert_int_equal(ledger_since(now, then, &news, &e), 0);
			fold(l, news);
			ledger_free(then);
			ledger_free(news);
		}
		for (size_t i = 0; i < ledger_count(now); i++) {
			const struct known_crash *a = ledger_at(now, i),
						 *b = ledger_record(l, a->signature);

			assert_non_null(b);
			assert_int_equal(ledger_find(now, a->signature)->count,
					 ledger_find(l, a->signature)->count);
		}
		ledger_free(now);
		ledger_free(l);
	}
}

static void nothing_new_is_nothing(void **state)
{
	struct ledger *then, *news;
	struct err e;

	(void)state;
	parse("{}");
	chance_seed(&chance, 3);
	for (unsigned k = 0; k < 9; k++)
		find_one(ledger, 0, 1);
	then = copy_of(ledger);
	assert_int_equal(ledger_since(ledger, then, &news, &e), 0);
	assert_int_equal(ledger_count(news), 0);
	ledger_free(news);
	ledger_free(then);
}

static void users_decide(void **state)
{
	struct ledger *then, *news;
	struct err e;

	(void)state;
	parse("{}");
	NOTE(.signature = "s", .target = "a", .run = "1", .time = 5, .count = 2);
	then = copy_of(ledger);
	NOTE(.signature = "s", .target = "a", .run = "2", .time = 9, .count = 3);
	assert_int_equal(ledger_since(ledger, then, &news, &e), 0);
	/* Ignored since. */
	ledger_free(ledger);
	ledger = copy_of(then);
	OK(ledger_ignore(ledger, "s", NULL, 9, "known", &oops));
	OK(ledger_issue(ledger, "s", "https://example.org/1", &oops));
	fold(ledger, news);
	check_state("s", LEDGER_IGNORED);
	assert_int_equal(crash("s")->count, 5);
	assert_string_equal(crash("s")->note, "known");
	assert_string_equal(crash("s")->issue_url, "https://example.org/1");
	/* Fixed since, before the other machine saw it, and after that. */
	for (uint64_t fixed = 8; fixed <= 10; fixed += 2) {
		ledger_free(ledger);
		ledger = copy_of(then);
		OK(ledger_fixed(ledger, "s", "a", fixed, "c", "3", &oops));
		fold(ledger, news);
		check_state("s", fixed == 8 ? LEDGER_REGRESSED : LEDGER_FIXED);
	}
	ledger_free(then);
	ledger_free(news);
}

static int files_lost(void *arg, const struct known_crash *entry, bool same,
		      struct ledger_files *ret, struct err *e)
{
	(void)arg;
	(void)same;
	(void)ret;
	return err_set(e, ENOENT, "no input of %s", entry->fuzzer);
}

/* A crash counts, though its input did not arrive. */
static void a_lost_input_loses_no_crash(void **state)
{
	struct ledger *news;
	struct ledger_fold_sum sum = {0};
	struct err e;

	(void)state;
	parse("{}");
	assert_int_equal(ledger_parse(SLICE("{}"), &news, &e), 0);
	ledger_free(ledger);
	ledger = news;
	NOTE(.signature = "s", .target = "a", .run = "1", .time = 5, .crash_type = "x",
	     .crash_file = "crashes/s/input", .tries = 3, .hits = 3);
	news = ledger;
	ledger = NULL;
	parse("{}");
	assert_int_equal(ledger_fold(ledger, news, files_lost, NULL, &sum, &e), 0);
	assert_int_equal(sum.crashes, 1);
	assert_string_equal(crash("s")->crash_file, "");
	assert_string_equal(crash("s")->crash_type, "x");
	ledger_free(news);
}

#define EACH(test) cmocka_unit_test_teardown(test, each_teardown)
static const struct CMUnitTest tests[] = {
    EACH(the_order_does_not_matter),   EACH(one_machine_is_as_it_was),
    EACH(nothing_new_is_nothing),      EACH(users_decide),
    EACH(a_lost_input_loses_no_crash),
};

UNIT_MAIN(tests)
