/* SPDX-License-Identifier: Apache-2.0 */
/* The table of states in ledger.h. */
#include "runner/crash/ledger/internal.h"
#include "runner/crash/odds.h"

static const char *const names[] = {
    [LEDGER_NEW] = "new",     [LEDGER_KNOWN] = "known",
    [LEDGER_FIXED] = "fixed", [LEDGER_REGRESSED] = "regressed",
    [LEDGER_FLAKY] = "flaky", [LEDGER_IGNORED] = "ignored",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == LEDGER_STATE_COUNT, "name every state");

/* clang-format off */
#define ROW(new, known, fixed, regressed, flaky, ignored) {	\
	[LEDGER_NEW] = LEDGER_##new,				\
	[LEDGER_KNOWN] = LEDGER_##known,			\
	[LEDGER_FIXED] = LEDGER_##fixed,			\
	[LEDGER_REGRESSED] = LEDGER_##regressed,		\
	[LEDGER_FLAKY] = LEDGER_##flaky,			\
	[LEDGER_IGNORED] = LEDGER_##ignored}

static const unsigned char next[][LEDGER_STATE_COUNT] = {
	[EVENT_SEEN_WELL]  = ROW(NEW,     KNOWN,   REGRESSED, REGRESSED, KNOWN,   IGNORED),
	[EVENT_SEEN]       = ROW(NEW,     KNOWN,   REGRESSED, REGRESSED, FLAKY,   IGNORED),
	[EVENT_SEEN_FLAKY] = ROW(FLAKY,   FLAKY,   REGRESSED, REGRESSED, FLAKY,   IGNORED),
	[EVENT_NEXT_RUN]   = ROW(KNOWN,   KNOWN,   FIXED,     REGRESSED, FLAKY,   IGNORED),
	[EVENT_FIXED]      = ROW(FIXED,   FIXED,   FIXED,     FIXED,     FIXED,   IGNORED),
	[EVENT_IGNORE]     = ROW(IGNORED, IGNORED, IGNORED,   IGNORED,   IGNORED, IGNORED),
	[EVENT_UNIGNORE]   = ROW(NEW,     KNOWN,   FIXED,     REGRESSED, FLAKY,   KNOWN),
};
/* clang-format on */
_Static_assert(sizeof(next) / sizeof(next[0]) == EVENT_COUNT, "a row for every event");

const char *ledger_state_name(enum ledger_state s)
{
	return s < LEDGER_STATE_COUNT ? names[s] : "";
}

bool ledger_state_of(struct slice name, enum ledger_state *ret)
{
	for (enum ledger_state s = 0; s < LEDGER_STATE_COUNT; s++)
		if (slice_eq(name, slice_of(names[s]))) {
			*ret = s;
			return true;
		}
	return false;
}

bool ledger_state_open(enum ledger_state s)
{
	return s != LEDGER_FIXED && s != LEDGER_IGNORED;
}

enum ledger_state ledger_worst(enum ledger_state a, enum ledger_state b)
{
	static const enum ledger_state order[] = {LEDGER_REGRESSED, LEDGER_NEW,	    LEDGER_KNOWN,
						  LEDGER_FLAKY,	    LEDGER_IGNORED, LEDGER_FIXED};
	size_t i = 0;

	_Static_assert(sizeof(order) / sizeof(order[0]) == LEDGER_STATE_COUNT, "rank every state");
	while (order[i] != a && order[i] != b)
		i++;
	return order[i];
}

enum ledger_state ledger_next(enum ledger_state s, enum ledger_event ev)
{
	return next[ev][s];
}

enum ledger_state ledger_first(enum ledger_event ev)
{
	return ev == EVENT_SEEN_FLAKY ? LEDGER_FLAKY : LEDGER_NEW;
}

enum ledger_event ledger_sighting_of(const struct known_crash *c)
{
	switch (odds_reproduce(c->reproduction.tries, c->reproduction.hits)) {
	case ODDS_REPRODUCES:
		return EVENT_SEEN_WELL;
	case ODDS_FLAKY:
	case ODDS_NOT:
		return EVENT_SEEN_FLAKY;
	case ODDS_UNDECIDED:
	case ODDS_VERDICT_COUNT:
		break;
	}
	return EVENT_SEEN;
}
