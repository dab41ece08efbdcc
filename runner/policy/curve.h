/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_CURVE_H
#define RUNNER_POLICY_CURVE_H

#include <stdbool.h>
#include <stdint.h>

/* How the coverage of one build of a target grew with its effective time, and a forecast from
 * that.  The points are at ages that double every fourth step.
 *
 * If edges were independent species, each found at its own rate, then in expectation
 *
 *	d edges / d ln(age)  =  f1, the number of edges that were reached exactly once
 *
 * so the edges of the last e-fold of age estimate f1.  The probability that the next input finds
 * an edge is f1 / inputs (Good and Turing).  A further time h finds f1 ln(1 + h / age) edges.
 * docs/scheduling.md describes how well that holds.
 *
 * Coverage counts only beyond the maximum that this build ever reached: edges that a restart
 * reaches again are not new.  The functions are pure. */

enum { CURVE_POINTS = 104 }; /* 2^(103/4) s: a year and a half of CPU time */
/* A double represents integers exactly up to here.  No engine runs so many inputs, but an engine
 * may claim it. */
#define CURVE_RUNS_MAX (UINT64_C(1) << 53)
/* Larger numbers of edges are cut to this. */
#define CURVE_EDGES_MAX ((uint64_t)UINT32_MAX)

struct curve {
	uint64_t build_us; /* effective time that this build got */
	uint64_t age_us;   /* the part of build_us since the present burst began */
	uint64_t cov;	   /* maximum number of edges */
	uint64_t base;	   /* edges when the burst began */
	uint64_t gain_us;  /* build_us at the last new edge */
	uint64_t runs;	   /* inputs, CURVE_RUNS_MAX at most */
	uint32_t n;
	uint32_t points[CURVE_POINTS]; /* edges at age 2^(i/4) s */
	/* At the end of a window curve_spend() decides whether it was a burst. */
	uint64_t window_us, window_cov; /* age and edges at its beginning */
	double window_f1;
};

/* Starts the curve of a build that was never run.  edges: the coverage of its seeds. */
void curve_begin(struct curve *c, uint64_t edges);
/* Adds effective time.  A window with far more new edges than expected begins a new burst, as if
 * the target were new: a gate has opened.  window_us: the length of a window, above 0. */
void curve_spend(struct curve *c, uint64_t us, uint64_t window_us);
/* Takes the present coverage.  True: it is a new maximum. */
bool curve_show(struct curve *c, uint64_t edges);

/* Takes the coverage of the seeds.  If it exceeds the maximum, new inputs were added from outside:
 * the whole curve moves up, and nothing counts as found. */
void curve_raise(struct curve *c, uint64_t edges);
/* Voids all finds, because they cannot be believed: as if the target had found nothing in all its
 * time. */
void curve_void(struct curve *c);
/* The age of a point, in microseconds, rounded up. */
uint64_t curve_point_us(unsigned point);
/* Adds inputs that were run. */
void curve_count(struct curve *c, uint64_t inputs);

/* The edges that were found in the last e-fold of age. */
double curve_f1(const struct curve *c);
/* The edges at this part of the present age.  part: 0..1. */
uint64_t curve_early(const struct curve *c, double part);
/* The expected number of new edges in `further` seconds. */
double curve_forecast(const struct curve *c, double further);
/* The probability that the next input finds an edge; 1 when nothing is known. */
double curve_discovery(const struct curve *c);

/* Whether these functions can have made the curve.  It checks a curve that was read from disk. */
bool curve_sane(const struct curve *c);

#endif
