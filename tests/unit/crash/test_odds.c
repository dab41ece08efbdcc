/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/odds.h"

#include <stdbool.h>

static double power(double x, unsigned n)
{
	double r = 1;

	while (n-- > 0)
		r *= x;
	return r;
}

static bool near(double a, double b, double error)
{
	return a - b <= error && b - a <= error;
}

/* Every number of hits for every number of replays that the rule can reach. */
static void test_verdicts(void **state)
{
	static const struct {
		uint64_t tries, hits;
		enum odds_verdict want;
	} t[] = {
	    {0, 0, ODDS_UNDECIDED},	 {1, 0, ODDS_UNDECIDED},
	    {1, 1, ODDS_UNDECIDED},	 {2, 2, ODDS_UNDECIDED},
	    {3, 3, ODDS_REPRODUCES},	 {3, 2, ODDS_UNDECIDED},
	    {4, 3, ODDS_UNDECIDED},	 {5, 4, ODDS_UNDECIDED},
	    {5, 0, ODDS_UNDECIDED},	 {6, 0, ODDS_NOT},
	    {6, 1, ODDS_UNDECIDED},	 {6, 5, ODDS_REPRODUCES},
	    {7, 1, ODDS_FLAKY},		 {8, 2, ODDS_FLAKY},
	    {9, 4, ODDS_UNDECIDED},	 {9, 3, ODDS_FLAKY},
	    {10, 4, ODDS_FLAKY},	 {10, 5, ODDS_REPRODUCES},
	    {10, 0, ODDS_NOT},		 {11, 5, ODDS_FLAKY},
	    {12, 6, ODDS_REPRODUCES},	 {1000, 0, ODDS_NOT},
	    {1000, 1, ODDS_FLAKY},	 {3, 9, ODDS_REPRODUCES},
	    {UINT64_MAX, 7, ODDS_FLAKY}, {2, UINT64_MAX, ODDS_UNDECIDED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (odds_reproduce(t[i].tries, t[i].hits) != t[i].want)
			fail_msg("%u of %u gives '%s'", (unsigned)t[i].hits, (unsigned)t[i].tries,
				 odds_verdict_name(odds_reproduce(t[i].tries, t[i].hits)));
	for (enum odds_verdict v = 0; v < ODDS_VERDICT_COUNT; v++)
		assert_true(odds_verdict_name(v)[0]);
}

/* Ten replays always decide, and later replays do not change this verdict. */
static void test_ten_decide(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 1U << ODDS_TRIES_MAX; bits++) {
		unsigned hits = 0, tries = 0;
		enum odds_verdict v = ODDS_UNDECIDED;

		while (v == ODDS_UNDECIDED) {
			assert_in_range(tries, 0, ODDS_TRIES_MAX - 1);
			hits += bits >> tries & 1;
			v = odds_reproduce(++tries, hits);
		}
		/* Early verdicts: the only guess is after three hits in a row. */
		if (v == ODDS_REPRODUCES && tries > 3)
			assert_true(hits * 2 >= ODDS_TRIES_MAX);
		else if (v != ODDS_REPRODUCES)
			assert_true(tries - hits > ODDS_TRIES_MAX / 2);
		assert_int_equal(v == ODDS_NOT, hits == 0);
	}
}

/* Compares with the closed forms and with external values (from exact binomials). */
static void test_known_bounds(void **state)
{
	static const struct {
		unsigned tries, hits;
		double want;
	} t[] = {
	    {1, 1, 0.05},
	    {2, 2, 0.223606797750},
	    {3, 3, 0.368403149864},
	    {10, 10, 0.741134449107},
	    {20, 20, 0.860891659332},
	    {10, 5, 0.222441101008},
	    {10, 3, 0.087264433914},
	    {20, 1, 0.002561378777},
	    {1000, 1, 0.0000512919789},
	    {1000, 999, 0.995265006425},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (!near(odds_lower(t[i].tries, t[i].hits), t[i].want, 1e-11))
			fail_msg("%u of %u: %.12f", t[i].hits, t[i].tries,
				 odds_lower(t[i].tries, t[i].hits));
	for (unsigned n = 1; n <= 1000; n++) {
		assert_true(near(power(odds_lower(n, n), n), 0.05, 1e-9));
		assert_true(near(power(1 - odds_lower(n, 1), n), 0.95, 1e-9));
	}
	assert_true(odds_lower(0, 0) == 0 && odds_lower(7, 0) == 0 && odds_lower(1000, 0) == 0);
	assert_true(odds_lower(3, 9) == odds_lower(3, 3));
}

/* The probability of k or more of n by counting: row n of Pascal's triangle. */
static double tail(unsigned n, unsigned k, double p)
{
	long double row[65] = {1}, sum = 0;

	for (unsigned i = 1; i <= n; i++)
		for (unsigned j = i; j > 0; j--)
			row[j] += row[j - 1];
	for (unsigned i = k; i <= n; i++)
		sum += row[i] * (long double)(power(p, i) * power(1 - p, n - i));
	return (double)sum;
}

static void test_bound_is_the_bound(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 64; n++)
		for (unsigned k = 1; k <= n; k++) {
			double p = odds_lower(n, k);

			assert_true(tail(n, k, p) <= 0.05 + 1e-11);
			assert_true(tail(n, k, p + 2e-12) >= 0.05 - 1e-11);
			assert_true(p > odds_lower(n, k - 1));
			assert_true(n == k || p > odds_lower(n + 1, k));
		}
	/* Many replays: the bound approaches the share from below, without overflow or NaN. */
	assert_true(odds_lower(1000000, 500000) == odds_lower(1000, 500));
	assert_true(odds_lower(UINT64_MAX, UINT64_MAX) == odds_lower(1000, 1000));
	assert_true(odds_lower(UINT64_MAX, 1) == 0);
	assert_true(near(odds_lower(1000, 500), 0.4735177312357, 1e-11));
}

static void test_passes(void **state)
{
	static const struct {
		uint64_t tries, hits;
		unsigned want;
	} t[] = {
	    {3, 3, 11},	 {10, 10, 4}, {10, 5, 19}, {10, 4, 29},	 {9, 3, 45},
	    {8, 2, 97},	 {7, 1, 0},   {6, 0, 0},   {0, 0, 0},	 {1, 1, 90},
	    {30, 30, 3}, {6, 5, 9},   {9, 5, 16},  {1000, 1, 0}, {1000, 1000, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (odds_passes(t[i].tries, t[i].hits) != t[i].want)
			fail_msg("%u of %u: %u", (unsigned)t[i].hits, (unsigned)t[i].tries,
				 odds_passes(t[i].tries, t[i].hits));
	for (unsigned n = 1; n <= 64; n++)
		for (unsigned k = 1; k <= n; k++) {
			unsigned need = odds_passes(n, k);
			double miss = 1 - odds_lower(n, k);

			assert_true(power(miss, need ? need : ODDS_PASSES_MAX) <= 0.01 || !need);
			assert_true(need <= ODDS_PASSES_MIN || power(miss, need - 1) > 0.01);
			assert_true(need || power(miss, ODDS_PASSES_MAX) > 0.01);
		}
}

/* The exact outcomes of rule 1 at a rate: f is called with each outcome and its probability. */
struct outcomes {
	double verdict[ODDS_VERDICT_COUNT]; /* probability of each */
	double tries;			    /* mean number */
	double fixed; /* probability of a false "fixed" by passes at this rate */
	double above; /* probability of a bound above the rate */
};

static struct outcomes outcomes_at(double p)
{
	double at[ODDS_TRIES_MAX + 2][ODDS_TRIES_MAX + 2] = {{1}};
	struct outcomes o = {.tries = 0};

	for (unsigned n = 0; n <= ODDS_TRIES_MAX; n++)
		for (unsigned k = 0; k <= n; k++) {
			enum odds_verdict v = odds_reproduce(n, k);
			unsigned need = odds_passes(n, k);

			if (v == ODDS_UNDECIDED) {
				at[n + 1][k] += at[n][k] * (1 - p);
				at[n + 1][k + 1] += at[n][k] * p;
				continue;
			}
			o.verdict[v] += at[n][k];
			o.tries += at[n][k] * n;
			o.fixed += need ? at[n][k] * power(1 - p, need) : 0;
			o.above += odds_lower(n, k) > p ? at[n][k] : 0;
		}
	return o;
}

/* The numbers of the header. */
static void test_errors(void **state)
{
	double fixed = 0, above = 0, tries = 0;

	(void)state;
	for (unsigned i = 1; i <= 1000; i++) {
		struct outcomes o = outcomes_at(i / 1000.0);

		assert_true(
		    near(o.verdict[ODDS_REPRODUCES] + o.verdict[ODDS_FLAKY] + o.verdict[ODDS_NOT],
			 1, 1e-9));
		fixed = o.fixed > fixed ? o.fixed : fixed;
		above = o.above > above ? o.above : above;
		tries = o.tries > tries ? o.tries : tries;
	}
	print_message("# fixed in error: %.4f %% at most; bound above the rate: %.2f %%; "
		      "tries in the mean: %.2f\n",
		      fixed * 100, above * 100, tries);
	assert_true(fixed > 0.0016 && fixed < 0.0017);
	assert_true(above > 0.070 && above < 0.073);
	assert_true(tries > 8.0 && tries < 8.2);
	assert_true(outcomes_at(0.9).verdict[ODDS_REPRODUCES] > 0.9998);
	assert_true(near(outcomes_at(0.5).verdict[ODDS_REPRODUCES], 0.63, 0.005));
	assert_true(near(outcomes_at(0.3).verdict[ODDS_REPRODUCES], 0.16, 0.005));
	assert_true(near(outcomes_at(0.3).verdict[ODDS_NOT], 0.12, 0.005));
}

static uint64_t random_next(uint64_t *x) /* xorshift64* */
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return *x * UINT64_C(2685821657736338717);
}

/* True if the input fails in this replay. */
static bool fails(uint64_t *x, double p)
{
	return (double)(random_next(x) >> 11) / 9007199254740992.0 < p;
}

static bool called_fixed(uint64_t *x, double p)
{
	unsigned tries = 0, hits = 0, need;

	while (odds_reproduce(tries, hits) == ODDS_UNDECIDED) {
		tries++;
		hits += fails(x, p);
	}
	need = odds_passes(tries, hits);
	for (unsigned i = 0; i < need; i++)
		if (fails(x, p))
			return false;
	return need > 0;
}

/* The same by simulation: an existing crash is hardly ever called fixed. */
static void test_simulated(void **state)
{
	static const double rates[] = {0.01, 0.05, 0.1, 0.15, 0.21, 0.3, 0.5, 0.9};
	enum { CRASHES = 200000 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t seed = 0x9e3779b97f4a7c15 + i;
		double want = outcomes_at(rates[i]).fixed * CRASHES;
		double n = 0;

		for (unsigned k = 0; k < CRASHES; k++)
			n += called_fixed(&seed, rates[i]);
		print_message("# rate %.2f: %.0f of %d called fixed, %.1f expected\n", rates[i], n,
			      CRASHES, want);
		assert_true(n <= CRASHES * 0.0017 + 80); /* four standard deviations */
		assert_true((n - want) * (n - want) <= 16 * want + 16);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_verdicts),	 cmocka_unit_test(test_ten_decide),
    cmocka_unit_test(test_known_bounds), cmocka_unit_test(test_bound_is_the_bound),
    cmocka_unit_test(test_passes),	 cmocka_unit_test(test_errors),
    cmocka_unit_test(test_simulated),
};

UNIT_MAIN(tests)
