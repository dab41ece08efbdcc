/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/strategy.h"

#include "base/clock.h"

static const char *const names[] = {
    [STRATEGY_PLAIN] = "plain",		  [STRATEGY_FEW] = "few-mutations",
    [STRATEGY_EVEN] = "even-choice",	  [STRATEGY_LENGTH] = "any-length",
    [STRATEGY_SHORT] = "short-inputs",	  [STRATEGY_VALUES] = "value-profile",
    [STRATEGY_SUBSET] = "part-of-corpus", [STRATEGY_WORDS] = "program-words",
    [STRATEGY_OTHERS] = "other-corpora",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == STRATEGIES, "name every strategy");

const char *strategy_name(enum strategy s)
{
	return s < STRATEGIES ? names[s] : "unknown";
}

void strategies_forget(struct strategies *s)
{
	*s = (struct strategies){.may = s->may, .first = s->first};
}

void strategies_spend(struct strategies *s, uint64_t us)
{
	s->trial_us += us;
	s->arms[s->now].spent_us += us;
}

void strategies_find(struct strategies *s, uint64_t edges)
{
	s->trial_found += edges;
	s->arms[s->now].found += edges;
}

bool strategy_reads_less(enum strategy s)
{
	return s == STRATEGY_SHORT || s == STRATEGY_SUBSET;
}

/* The edges that a trial of this time must find, to pay. */
static double trial_least(double price, uint64_t us)
{
	double least = price * (double)us / USEC_PER_SEC;

	return least > 1 ? least : 1;
}

void strategies_launched(struct strategies *s)
{
	if (s->next == s->now)
		return;
	if (strategy_reads_less(s->now)) {
		s->owed = s->now;
		s->owed_us = s->trial_us;
	}
	s->now = s->next;
	s->trial_us = s->trial_found = 0;
	s->failures = 0;
}

enum strategy strategies_owed(const struct strategies *s)
{
	return strategy_reads_less(s->now) ? s->now : s->owed;
}

void strategies_failed(struct strategies *s, bool at_once, uint64_t cov)
{
	if (++s->failures < STRATEGY_FAILURES && !at_once)
		return;
	s->arms[s->now].stood = cov + 1;
	s->next = STRATEGY_PLAIN;
	s->again = false;
}

bool strategies_seeded(struct strategies *s, double price, uint64_t more)
{
	struct strategy_arm *owed = &s->arms[s->owed];

	if (strategy_reads_less(s->now))
		return false;
	if (s->now == STRATEGY_OTHERS && more > 0) {
		strategies_find(s, more);
		return true;
	}
	if (s->owed == STRATEGY_PLAIN)
		return false;
	s->owed = STRATEGY_PLAIN;
	owed->found += more;
	if ((double)more >= trial_least(price, s->owed_us)) {
		owed->paid = true;
		owed->stood = 0; /* it is tried again */
	}
	return more > 0;
}

static bool strategy_may(const struct strategies *s, enum strategy i)
{
	return i == STRATEGY_PLAIN || (s->may & 1u << i);
}

/* The number of strategies that may still be tried, or tried again. */
static unsigned strategies_alive(const struct strategies *s)
{
	unsigned n = 0;

	for (enum strategy i = 0; i < STRATEGIES; i++) {
		const struct strategy_arm *a = &s->arms[i];

		n += strategy_may(s, i) && (i == STRATEGY_PLAIN || a->paid || !a->stood);
	}
	return n;
}

static double strategy_rate(const struct strategy_arm *a)
{
	return a->spent_us ? (double)a->found / (double)a->spent_us : 0;
}

/* The next strategy; STRATEGIES: none.  least: edges that make another trial worthwhile. */
static enum strategy strategies_choose(const struct strategies *s, uint64_t cov, double least)
{
	enum strategy best = STRATEGIES;

	for (unsigned k = 0; k < STRATEGIES; k++) {
		enum strategy i = (k + s->first) % STRATEGIES;
		const struct strategy_arm *a = &s->arms[i];

		if (!strategy_may(s, i))
			continue;
		if (!a->stood && i != STRATEGY_PLAIN)
			return i;
		if ((i != STRATEGY_PLAIN && !a->paid) ||
		    (double)(cov + 1) - (double)a->stood < least)
			continue;
		if (best == STRATEGIES || strategy_rate(a) > strategy_rate(&s->arms[best]))
			best = i;
	}
	return best;
}

enum strategy_answer strategies_ask(struct strategies *s, const struct strategy_terms *t)
{
	struct strategy_arm *a = &s->arms[s->now];
	uint64_t trial_us = t->build_us / STRATEGY_TRIAL_PART;
	bool judged = s->now == STRATEGY_PLAIN && !s->again;

	if (trial_us < t->least_us)
		trial_us = t->least_us;
	if (!strategy_reads_less(s->now))
		s->owed = STRATEGY_PLAIN; /* its cell has read everything */
	if (!judged && s->trial_us < trial_us)
		return STRATEGY_GO_ON;
	if (!judged && (double)s->trial_found >= trial_least(t->price, s->trial_us)) {
		a->paid = true;
		s->trial_us = s->trial_found = 0;
		return STRATEGY_GO_ON;
	}
	a->stood = t->cov + 1;
	s->next =
	    strategies_choose(s, t->cov, trial_least(t->price, trial_us) * strategies_alive(s));
	if (s->next == STRATEGIES && strategies_owed(s) != STRATEGY_PLAIN)
		s->next = STRATEGY_PLAIN; /* its cell shows what was found */
	s->again = s->next == STRATEGY_PLAIN;
	if (s->next < STRATEGIES)
		return STRATEGY_NEXT;
	s->next = STRATEGY_PLAIN;
	return STRATEGY_NONE;
}
