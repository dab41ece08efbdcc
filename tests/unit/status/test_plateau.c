/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of a plateau, and the values that exclude each cause. */
#include "tests/unit/unit.h"

#include "runner/status/health/health.h"
#include "tests/unit/status/stats.h"

static struct health judged;

/* At a gate: 40 of 2000 edges since the first tenth of its time. */
static json_t *at_gate(void)
{
	json_t *j = stats_healthy();

	stats_set_text(j, "reason", "plateau");
	stats_set(j, "cov", 40);
	stats_set(j, "ft", 60);
	stats_set(j, "corpus_units", 30);
	stats_in(j, "outlook", "edges_at_tenth_of_burst", 39);
	return j;
}

/* HEALTH_CODE_COUNT: no finding except for missing seeds, which is independent. */
static const struct health_finding *is(json_t *stats, enum health_code want)
{
	struct health_target t = {.stats = stats};

	health_judge(&t, &judged);
	json_decref(stats);
	for (size_t i = 0; i < judged.n; i++)
		if (judged.v[i].code != want && judged.v[i].code != HEALTH_NO_SEEDS)
			fail_msg("%s: %s", health_code_name(judged.v[i].code), judged.v[i].reason);
	if (want != HEALTH_CODE_COUNT && !stats_find(&judged, want))
		fail_msg("finding %s is missing", health_code_name(want));
	return stats_find(&judged, want);
}

static void what_is_covered_is_well(void **state)
{
	json_t *j = stats_healthy();

	(void)state;
	stats_set_text(j, "reason", "plateau");
	stats_set(j, "cov", 1200);
	stats_set(j, "seeds", 0); /* and needs no seeds */
	assert_int_equal(is(j, HEALTH_COVERED)->severity, HEALTH_OK);
	assert_int_equal(judged.n, 1);
	assert_int_equal(health_severity(&judged), HEALTH_OK);
	j = stats_healthy();
	stats_set_text(j, "reason", "plateau");
	stats_set(j, "cov", 1199);
	(void)is(j, HEALTH_CODE_COUNT);
}

static void before_a_gate(void **state)
{
	json_t *j = at_gate();

	(void)state;
	stats_set(j, "seeds", 0);
	assert_string_equal(is(j, HEALTH_MAGIC_BYTES)->reason,
			    "likely magic bytes: 40 of 2000 edges (2%) since its first tenth; no "
			    "seeds, no dictionary, and no comparison showed what it wants");
	(void)is(at_gate(), HEALTH_WEAK_SEEDS);
	j = at_gate();
	stats_set(j, "seeds", 0);
	stats_set(j, "dictionary_entries", 9);
	stats_in(j, "inputs_kept", "total", 20);
	(void)is(j, HEALTH_WEAK_SEEDS);
	j = at_gate();
	stats_in(j, "inputs_kept", "by_comparison", 2);
	(void)is(j, HEALTH_CHECKSUM_GATE);
	j = at_gate();
	stats_set(j, "dictionary_entries", 9);
	stats_in(j, "inputs_kept", "by_dictionary", 2);
	(void)is(j, HEALTH_CHECKSUM_GATE);
}

static void unclear_figures_give_no_finding(void **state)
{
	static const struct {
		const char *object, *key;
		double v;
	} reasons[] = {
	    {NULL, "execs", 9999},			/* it hardly ran */
	    {NULL, "cov", 500},				/* a quarter of its edges, and flat */
	    {NULL, "corpus_units", 100},		/* it has reached some code */
	    {"outlook", "edges_at_tenth_of_burst", 37}, /* it grew */
	    {"outlook", "cpu_seconds_of_burst", 500},	/* a gate has opened */
	    {"outlook", "edges_at_tenth_of_burst", -1}, /* unknown */
	    {"inputs_kept", "total", -1},
	};
	json_t *j;

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		j = at_gate();
		if (reasons[i].object)
			stats_in(j, reasons[i].object, reasons[i].key, reasons[i].v);
		else
			stats_set(j, reasons[i].key, reasons[i].v);
		if (strcmp(reasons[i].key, "cov") == 0)
			stats_in(j, "outlook", "edges_at_tenth_of_burst", 500);
		(void)is(j, HEALTH_CODE_COUNT);
	}
	j = at_gate();
	stats_set_text(j, "reason", "time-limit");
	(void)is(j, HEALTH_CODE_COUNT);
	j = at_gate();
	assert_int_equal(json_object_set_new(j, "outlook", json_null()), 0);
	(void)is(j, HEALTH_CODE_COUNT);
}

/* A fault of the build or the harness explains a plateau better. */
static void another_fault_goes_before(void **state)
{
	json_t *j = at_gate();

	(void)state;
	stats_set(j, "cov_of_build_before", 700);
	(void)is(j, HEALTH_COVERAGE_DROPPED);
	j = at_gate();
	stats_set(j, "edges", 90);
	(void)is(j, HEALTH_FEW_EDGES);
	j = at_gate();
	stats_fail(j, "leak", 500);
	(void)is(j, HEALTH_LEAKS_DOMINATE);
}

static void what_grew_first(void **state)
{
	json_t *j = at_gate();

	(void)state;
	stats_set(j, "edges", 20000);
	stats_set(j, "cov", 1500);
	stats_set(j, "corpus_units", 900);
	stats_in(j, "outlook", "edges_at_tenth_of_burst", 500);
	(void)is(j, HEALTH_TOO_BROAD);
	for (int early = 400; early <= 695; early += 295) { /* a fast target passes it at once */
		j = at_gate();
		stats_set(j, "cov", 700);
		stats_set(j, "ft", 1400);
		stats_set(j, "corpus_units", 900);
		stats_in(j, "outlook", "edges_at_tenth_of_burst", early);
		stats_in(j, "inputs_kept", "by_comparison", 20);
		(void)is(j, HEALTH_STRUCTURE);
	}
	j = at_gate(); /* it has no tokens yet: several measures may help */
	stats_set(j, "cov", 700);
	stats_set(j, "ft", 1400);
	stats_in(j, "outlook", "edges_at_tenth_of_burst", 400);
	(void)is(j, HEALTH_CODE_COUNT);
	j = at_gate(); /* few paths through the reached code */
	stats_set(j, "cov", 700);
	stats_set(j, "ft", 1399);
	stats_in(j, "outlook", "edges_at_tenth_of_burst", 400);
	stats_in(j, "inputs_kept", "by_comparison", 20);
	(void)is(j, HEALTH_CODE_COUNT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_covered_is_well),
    cmocka_unit_test(before_a_gate),
    cmocka_unit_test(unclear_figures_give_no_finding),
    cmocka_unit_test(another_fault_goes_before),
    cmocka_unit_test(what_grew_first),
};

UNIT_MAIN(tests)
