/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_CURVE_H
#define RUNNER_POLICY_CURVE_H

#include <stdbool.h>
#include <stdint.h>

/* How the coverage of one build of a target grew with the effective time that it got, in
 * points at ages that double every fourth step; and what that says of the next hour.
 *
 * Were edges independent species, each found at its own rate, then in expectation
 *
 *	d edges / d ln(age)  =  f1, the number that was reached exactly once
 *
 * so the edges of the last e-fold of age estimate f1; f1 / inputs is the probability that
 * the next input finds one (Good and Turing), and f1 ln(1 + h / age) what a further time h
 * finds.  docs/scheduling.md says how well that holds.
 *
 * Coverage counts only beyond the most that this build ever showed: what a restart finds
 * again is nothing new.  Pure. */

enum { CURVE_POINTS = 104 }; /* 2^(103/4) s: a year and a half of CPU time */
/* What a double has exactly: no engine comes so far, but one may say so. */
#define CURVE_RUNS_MAX (UINT64_C(1) << 53)
/* More edges count as so many. */
#define CURVE_EDGES_MAX ((uint64_t)UINT32_MAX)

struct curve {
	uint64_t build_us; /* effective time that this build got */
	uint64_t age_us;   /* of it, since the present burst began */
	uint64_t cov;	   /* the most edges */
	uint64_t base;	   /* when the burst began */
	uint64_t gain_us;  /* build_us at the last new edge */
	uint64_t runs;	   /* inputs, CURVE_RUNS_MAX at most */
	uint32_t n;
	uint32_t points[CURVE_POINTS]; /* edges at age 2^(i/4) s */
	/* Whether the present window is a burst is judged at its end. */
	uint64_t window_us, window_cov; /* age and edges at its beginning */
	double window_f1;
};

/* A build that was never run; edges: what its seeds reach. */
void curve_begin(struct curve *c, uint64_t edges);
/* It ran so much longer.  A window in which it found far more than
 * was to be expected begins a new burst, as if the target were new: a gate has opened.
 * window_us: how long such a window is, above 0. */
void curve_spend(struct curve *c, uint64_t us, uint64_t window_us);
/* The coverage that it shows now.  True: more than ever. */
bool curve_show(struct curve *c, uint64_t edges);

/* Its seeds reach so many edges.  When that is more than ever, somebody brought inputs: the
 * whole curve moves, nothing was found. */
void curve_raise(struct curve *c, uint64_t edges);
/* Makes all finds void, because they cannot be believed: the target found nothing in all its
 * time. */
void curve_void(struct curve *c);
/* So many inputs more. */
void curve_count(struct curve *c, uint64_t inputs);

/* Edges of the last e-fold of age. */
double curve_f1(const struct curve *c);
/* Edges when it was so much of its age, 0..1. */
uint64_t curve_early(const struct curve *c, double part);
/* New edges to be expected in so many further seconds. */
double curve_forecast(const struct curve *c, double further);
/* The probability that the next input finds one; 1 when nothing is known. */
double curve_discovery(const struct curve *c);

/* Whether it can have been made by these functions: of what was read from a disk. */
bool curve_sane(const struct curve *c);

#endif
