/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_HEALTH_INTERNAL_H
#define RUNNER_STATUS_HEALTH_INTERNAL_H

#include "runner/status/health/health.h"

/* Thresholds; docs/health.md gives the source of each. */
#define AT_EDGES_FEW	   100	 /* OSS-Fuzz's bad_build_check */
#define AT_RATE_LOW	   100.0 /* inputs a CPU-second */
#define AT_RATE_BETTER	   1000.0
#define AT_RATE_CPU_S	   2.0 /* with less CPU time there is no rate */
#define AT_STARVED	   0.5 /* share of its time */
#define AT_STARVED_CELLS_S 5.0
#define AT_IDLE_CELLS_S	   2.0
#define AT_IDLE_SHARE	   0.01
#define AT_MEMORY_NEAR	   (2.0 / 3) /* the engine's own limit is 3/4 */
#define AT_DOMINATE	   3	     /* minimum number of failures, */
#define AT_DOMINATE_S	   10.0	     /* with at most this much fuzzing between two */
#define AT_KEPT_FEW	   50	     /* inputs with a known origin */
#define AT_PLATEAU_EXECS   10000
#define AT_SHARE_COVERED   0.6 /* of the binary's edges */
#define AT_SHARE_DEEP	   0.5
#define AT_SHARE_LOW	   0.25
#define AT_SHARE_BROAD	   0.1
#define AT_EDGES_BROAD	   10000
#define AT_CORPUS_SMALL	   100
#define AT_FLAT		   0.05 /* of its edges, found in the last nine tenths of its time */
#define AT_GROWN_S	   (UINT64_C(2) * 86400)
#define AT_FEATURES_MANY   2.0 /* features an edge */
#define AT_DISK_NEAR	   2   /* multiple of the reserve */
#define AT_OUTBOX_S	   86400
#define AT_FETCHES_FAILED  3
#define AT_FETCH_FAILED_S  3600

/* A target's facts as numbers; negative: unknown. */
struct health_view {
	const struct health_target *t;
	const char *reason, *note, *refused, *forged; /* "": unknown */
	bool known, fuzzed, running, given_up;
	bool has_library; /* code beyond its harness is instrumented */
	double wall, cells, cpu, starved, timeout;
	double execs, rate, cov, cov_before, edges, ft, units;
	double seeds, rss, limit, forks, untriaged, dropped, failures;
	/* by kind; 0: none */
	double crash, leak, timed_out, oom, syscalls;
	double kept, by_dictionary, by_comparison, dictionary;
	/* of this build */
	double build_cpu, burst_cpu, early;
};

/* PRINTF's cold and nonnull(1) are for errors. */
void health_add(struct health *h, enum health_code c, enum health_severity s, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool health_has(const struct health *h, enum health_code c);
/* Foreign text for a reason: printable ASCII, cut. */
enum { HEALTH_TEXT_MAX = 160 };
const char *health_text(const char *s, char out[HEALTH_TEXT_MAX]);
void health_sort(struct health *h);

/* Adds likely causes why the target's coverage stopped growing. */
void health_plateau(const struct health_view *v, struct health *h);

#endif
