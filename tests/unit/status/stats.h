/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STATUS_STATS_H
#define TESTS_STATUS_STATS_H

#include "runner/status/health/health.h"

/* The statistics of a target without findings; each test changes its own values. */
static inline json_t *stats_healthy(void)
{
	json_t *j =
	    json_pack("{s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:f}", "reason", "time-limit", "fuzzed",
		      1, "note", "", "wall_seconds", 600.0, "cell_seconds", 590.0, "cpu_seconds",
		      580.0, "starved_share", 0.01, "input_timeout_seconds", 25.0);

	assert_non_null(j);
	assert_int_equal(
	    json_object_update_new(
		j, json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I}", "execs",
			     (json_int_t)5000000, "execs_per_cpu_second", 8600, "cov", 900, "edges",
			     2000, "ft", 3000, "corpus_units", 400, "seeds", 20,
			     "dictionary_entries", 0, "untriaged", 0, "rss_peak_bytes",
			     (json_int_t)100 << 20, "memory_limit_bytes", (json_int_t)1 << 30)),
	    0);
	assert_int_equal(
	    json_object_update_new(
		j, json_pack("{s:{s:i, s:i, s:i}, s:{s:f, s:f, s:i}, s:{}, s:i}", "inputs_kept",
			     "total", 300, "by_dictionary", 0, "by_comparison", 0, "outlook",
			     "cpu_seconds_of_build", 580.0, "cpu_seconds_of_burst", 580.0,
			     "edges_at_tenth_of_burst", 600, "failures", "failures_total", 0)),
	    0);
	return j;
}

static inline void stats_set(json_t *j, const char *key, double v)
{
	assert_int_equal(json_object_set_new(j, key, json_real(v)), 0);
}

static inline void stats_in(json_t *j, const char *object, const char *key, double v)
{
	stats_set(json_object_get(j, object), key, v);
}

static inline void stats_set_text(json_t *j, const char *key, const char *v)
{
	assert_int_equal(json_object_set_new(j, key, json_string(v)), 0);
}

/* Sets the number of failures of a kind. */
static inline void stats_fail(json_t *j, const char *kind, double n)
{
	stats_in(j, "failures", kind, n);
	stats_set(j, "failures_total", n);
}

static inline const struct health_finding *stats_find(const struct health *h, enum health_code c)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].code == c)
			return &h->v[i];
	return NULL;
}

#endif
