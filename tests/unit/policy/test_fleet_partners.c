/* SPDX-License-Identifier: Apache-2.0 */
/* Builds of one target that fuzz in turns with its main build. */
#include "tests/unit/unit.h"

#include "tests/unit/policy/fleet.h"

enum { MAIN, PARTNER, SECOND };

/* The first target is a main build, the others are its partners. */
static void begin_group(struct sim *m, size_t n)
{
	struct fleet_member rest = {.rule = rule_preset(0.05, 1), .main = &m->v[MAIN]};

	begin(m, 1, n, nothing);
	for (size_t i = PARTNER; i < n; i++)
		fleet_join(&m->v[i], &rest);
}

/* --- who found it -------------------------------------------------------------- */

static uint64_t read_cov, each_finds;

/* The main build reads what partners gave: each gift reaches each_finds new edges. */
static void reads(struct sim *m, size_t i)
{
	uint64_t gifts = 0;

	if (i != MAIN)
		return;
	for (const struct fleet_target *p = m->v[MAIN].partners; p; p = p->next_partner)
		gifts += p->reads;
	read_cov += gifts * each_finds;
	(void)fleet_seeded(&m->v[MAIN], read_cov);
}

static void gives(struct sim *m, size_t i)
{
	if (i != MAIN)
		fleet_gave(&m->f, &m->v[i], 1);
}

static void its_finds_are_those_of_the_main_build(void **state)
{
	struct sim m;

	(void)state;
	begin_group(&m, 2);
	m.begins = reads;
	m.ends = gives;
	m.edges[PARTNER] = grows; /* its own edges do not count */
	read_cov = 10;
	each_finds = 100;
	run(&m, 3000);
	assert_true(m.v[PARTNER].curve.cov >= 500);
	assert_int_equal(m.v[PARTNER].curve.cov % 100, 0);
	assert_int_equal(m.v[PARTNER].edges_total, 0);
	/* The main build has these edges, and has found none of them. */
	assert_int_equal(m.v[MAIN].curve.cov, 10 + m.v[PARTNER].curve.cov);
	assert_int_equal(m.v[MAIN].curve.cov, m.v[MAIN].curve.base);
	assert_true(m.v[PARTNER].spent_us > m.v[MAIN].spent_us);
}

/* What an earlier run left unread is read first, by the main build. */
static void the_main_build_begins(void **state)
{
	struct sim m;

	(void)state;
	begin_group(&m, 2);
	m.v[MAIN].curve.build_us = 1000 * S; /* not fresh, as its partner is */
	m.v[MAIN].known = true;
	fleet_gave(&m.f, &m.v[PARTNER], 1);
	m.begins = reads;
	read_cov = 0;
	each_finds = 30;
	run(&m, 1);
	assert_int_equal(m.v[PARTNER].curve.cov, 30);
	m.v[PARTNER].known = false; /* it is identified, and then its first statistics come */
	fleet_rebuilt(&m.v[PARTNER]);
	run(&m, 900);
	assert_true(m.v[PARTNER].known);
	assert_int_equal(m.v[PARTNER].curve.cov, 30);
}

static void finds_are_shared_by_inputs(void **state)
{
	struct fleet_target *t;
	struct fleet_news n = {.fuzzes = true, .cov = 50, .edges_total = 500};
	struct sim m;

	(void)state;
	begin_group(&m, 3);
	t = &m.v[MAIN];
	(void)fleet_take_stats(t, &n);
	fleet_gave(&m.f, &m.v[PARTNER], 3);
	fleet_gave(&m.f, &m.v[SECOND], 1);
	fleet_gave(&m.f, t, 7); /* a main build gives nothing */
	m.v[PARTNER].reads = 3;
	m.v[SECOND].reads = 1;
	assert_true(fleet_seeded(t, 150));
	assert_int_equal(m.v[PARTNER].curve.cov, 75);
	assert_int_equal(m.v[SECOND].curve.cov, 25);
	assert_int_equal(t->curve.cov, 150);
	assert_int_equal(m.v[PARTNER].given + m.v[SECOND].given, 0);
	assert_false(t->measures);
	/* The next cell reads the same inputs.  What it reaches now, a user brought. */
	assert_false(fleet_seeded(t, 170));
	assert_int_equal(m.v[PARTNER].curve.cov, 75);
	/* What came after the turn began is read in the next one. */
	fleet_gave(&m.f, &m.v[SECOND], 5);
	assert_false(fleet_seeded(t, 170));
	assert_true(t->measures);
	m.v[SECOND].reads = 5;
	assert_true(fleet_seeded(t, 171));
	assert_int_equal(m.v[SECOND].curve.cov, 26);
}

/* A main build with 50 edges, which reads nine inputs of its partner. */
static struct fleet_target *begin_gift(struct sim *m)
{
	struct fleet_news n = {.fuzzes = true, .cov = 50, .edges_total = 500};

	begin_group(m, 2);
	(void)fleet_take_stats(&m->v[MAIN], &n);
	fleet_gave(&m->f, &m->v[PARTNER], 9);
	m->v[PARTNER].reads = 9;
	return &m->v[MAIN];
}

/* A turn that leaves gifts for later counts nothing, and another gift brings the next turn. */
static void gifts_are_put_off(void **state)
{
	struct sim m;
	struct fleet_target *t = begin_gift(&m);

	(void)state;
	fleet_put_off(t);
	assert_false(fleet_seeded(t, 60));
	assert_false(t->measures || t->cut);
	assert_int_equal(m.v[PARTNER].given, 9);
	assert_int_equal(m.v[PARTNER].curve.cov, 0);
	fleet_gave(&m.f, &m.v[PARTNER], 1);
	assert_true(t->measures);
	/* A cell that reads a part of the corpus does not show what they reach. */
	t->put_off = false;
	t->strategies.now = STRATEGY_SUBSET;
	m.v[PARTNER].reads = 10;
	assert_false(fleet_seeded(t, 80));
	assert_int_equal(m.v[PARTNER].given, 10);
}

/* Nothing counts for a partner of a main build that forges its numbers, and nothing waits. */
static void a_forging_main_build_measures_nothing(void **state)
{
	struct sim m;
	struct fleet_target *t = begin_gift(&m);

	(void)state;
	fleet_forged(t);
	assert_false(fleet_seeded(t, 90));
	assert_int_equal(m.v[PARTNER].curve.cov, 0);
	fleet_gave(&m.f, &m.v[PARTNER], 9);
	assert_false(t->measures);
}

/* --- turns --------------------------------------------------------------------- */

static uint64_t grows_evenly(double seconds)
{
	return 10 + (uint64_t)seconds;
}

/* A main build that rests is only woken to read. */
static void a_resting_main_build_only_reads(void **state)
{
	uint64_t before;
	struct sim m;

	(void)state;
	begin_group(&m, 3);
	m.v[SECOND] = (struct fleet_target){.rule = rule_preset(0.05, 1)}; /* another target */
	m.v[MAIN].partners = &m.v[PARTNER];
	m.v[PARTNER].next_partner = NULL;
	m.edges[SECOND] = grows_evenly;
	m.f.rules.continuous = m.f.rules.share.idle = true;
	m.f.rules.share.floor = 0;
	read_cov = 10;
	each_finds = 0;
	m.begins = reads;
	run(&m, 20000);
	assert_true(m.v[MAIN].unpaying && m.v[PARTNER].unpaying);
	before = m.v[MAIN].spent_us;
	for (unsigned i = 0; i < 10; i++) {
		fleet_gave(&m.f, &m.v[PARTNER], 1);
		run(&m, 1200); /* the other target wins four turns of 300 s in a row at most */
		assert_int_equal(m.v[PARTNER].given, 0);
	}
	assert_true(m.v[MAIN].unpaying);
	assert_true(m.v[MAIN].spent_us - before < 30 * S);
}

/* A main build that wins turn after turn reads what partners gave in another cell. */
static void a_winning_main_build_reads_too(void **state)
{
	struct sim m;

	(void)state;
	begin_group(&m, 2);
	m.edges[MAIN] = grows;
	m.does[PARTNER] = FLEET_OUT;
	m.begins = reads;
	read_cov = 0;
	run(&m, 500);
	assert_int_equal(m.does[MAIN], FLEET_RUNS);
	assert_int_equal(m.orders[FLEET_START], 1);
	fleet_gave(&m.f, &m.v[PARTNER], 1);
	run(&m, 300);
	assert_int_equal(m.orders[FLEET_START], 2);
	assert_int_equal(m.v[PARTNER].given, 0);
	run(&m, 900);
	assert_int_equal(m.orders[FLEET_START], 2);
}

/* --- the end ------------------------------------------------------------------- */

static uint64_t grows_for_long(double seconds)
{
	return 10 + (uint64_t)(seconds < 20000 ? seconds : 20000);
}

static void they_leave_together(void **state)
{
	struct sim m;

	(void)state;
	begin_group(&m, 2);
	m.f.rules.share.floor = 0;
	run(&m, 20000);
	assert_int_equal(m.left[MAIN], FLEET_PLATEAU);
	assert_int_equal(m.left[PARTNER], FLEET_PLATEAU);
	assert_int_equal(m.orders[FLEET_REST], 2);
	/* As long as one pays, the other rests. */
	begin_group(&m, 2);
	m.f.rules.share.floor = 0;
	m.edges[MAIN] = grows_for_long;
	run(&m, 20000);
	assert_int_equal(m.left[MAIN], FLEET_NOTHING);
	assert_int_equal(m.left[PARTNER], FLEET_NOTHING);
	assert_true(m.v[PARTNER].unpaying);
	run(&m, 40000);
	assert_int_equal(m.left[MAIN], FLEET_PLATEAU);
	assert_int_equal(m.left[PARTNER], FLEET_PLATEAU);
}

/* When the main build has ended for another reason, nothing that a partner finds counts. */
static void it_ends_without_its_main_build(void **state)
{
	struct sim m;

	(void)state;
	begin_group(&m, 2);
	m.does[MAIN] = FLEET_OUT;
	m.ends = gives;
	run(&m, 20000);
	assert_int_equal(m.left[PARTNER], FLEET_PLATEAU);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(its_finds_are_those_of_the_main_build),
    cmocka_unit_test(the_main_build_begins),
    cmocka_unit_test(finds_are_shared_by_inputs),
    cmocka_unit_test(gifts_are_put_off),
    cmocka_unit_test(a_forging_main_build_measures_nothing),
    cmocka_unit_test(a_resting_main_build_only_reads),
    cmocka_unit_test(a_winning_main_build_reads_too),
    cmocka_unit_test(they_leave_together),
    cmocka_unit_test(it_ends_without_its_main_build),
};

UNIT_MAIN(tests)
