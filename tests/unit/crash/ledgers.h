/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CRASH_LEDGERS_H
#define TESTS_UNIT_CRASH_LEDGERS_H

/* A ledger from a text, and the checks of the tests. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/odds.h"

#include <errno.h>
#include <stdio.h>

static struct ledger *ledger;

static inline int each_teardown(void **state)
{
	(void)state;
	ledger_free(ledger);
	ledger = NULL;
	return 0;
}

static inline void parse(const char *text)
{
	struct err e = {0};

	ledger_free(ledger);
	ledger = NULL;
	if (ledger_parse(slice_of(text), &ledger, &e) < 0)
		fail_msg("'%s': %s", text, e.msg);
}

static inline const struct known_crash *crash(const char *signature)
{
	const struct known_crash *c = ledger_find(ledger, signature);

	if (!c)
		fail_msg("no crash '%s'", signature);
	return c;
}

static inline struct ledger_noted note(const struct crash_sighting *s)
{
	struct ledger_noted n = {0};
	struct err e = {0};

	if (ledger_note(ledger, s, &n, &e) < 0)
		fail_msg("%s", e.msg);
	return n;
}

#define NOTE(...) note(&(struct crash_sighting){__VA_ARGS__})

/* A call on the ledger that must succeed; its error goes to oops. */
static struct err oops;
#define OK(call)                                             \
	do {                                                 \
		if ((call) < 0)                              \
			fail_msg("%s: %s", #call, oops.msg); \
	} while (0)

static inline void check_state(const char *signature, enum ledger_state want)
{
	const struct known_crash *c = crash(signature);

	if (c->state != want)
		fail_msg("'%s' is %s, not %s", signature, ledger_state_name(c->state),
			 ledger_state_name(want));
}

/* A written ledger is read as the same, without repairs. */
static inline void check_text(void)
{
	_autofree_ char *text = NULL, *again = NULL;
	struct ledger *l = NULL;
	size_t n, n_again;
	struct err e = {0};

	assert_int_equal(ledger_print(ledger, &text, &n, &e), 0);
	if (ledger_parse((struct slice){text, n}, &l, &e) < 0)
		fail_msg("%s: %s", e.msg, text);
	assert_string_equal(ledger_warning(l), "");
	assert_false(ledger_dirty(l));
	assert_int_equal(ledger_print(l, &again, &n_again, &e), 0);
	assert_string_equal(again, text);
	ledger_free(l);
}

#endif
