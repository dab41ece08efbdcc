/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/curve.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

static double curve_seconds(uint64_t us)
{
	return (double)us / (double)USEC_PER_SEC;
}

static uint64_t bounded(uint64_t edges)
{
	return edges < CURVE_EDGES_MAX ? edges : CURVE_EDGES_MAX;
}

static double age_of(unsigned point)
{
	return exp2(point / 4.0);
}

uint64_t curve_point_us(unsigned point)
{
	return (uint64_t)ceil(age_of(point) * (double)USEC_PER_SEC);
}

void curve_begin(struct curve *c, uint64_t edges)
{
	edges = bounded(edges);
	*c = (struct curve){.cov = edges, .base = edges, .window_cov = edges};
}

bool curve_show(struct curve *c, uint64_t edges)
{
	edges = bounded(edges);
	if (edges <= c->cov)
		return false;
	c->cov = edges;
	c->gain_us = c->build_us;
	return true;
}

void curve_raise(struct curve *c, uint64_t edges)
{
	uint64_t more = bounded(edges) > c->cov ? bounded(edges) - c->cov : 0;

	c->cov += more;
	c->base += more;
	c->window_cov += more;
	for (uint32_t i = 0; i < c->n; i++)
		c->points[i] += (uint32_t)more;
}

static void add_points(struct curve *c)
{
	while (c->n < CURVE_POINTS && age_of(c->n) <= curve_seconds(c->age_us))
		c->points[c->n++] = (uint32_t)c->cov;
}

void curve_void(struct curve *c)
{
	*c = (struct curve){.build_us = c->build_us, .age_us = c->build_us};
	c->window_us = c->age_us;
	add_points(c);
}

void curve_count(struct curve *c, uint64_t inputs)
{
	uint64_t room = CURVE_RUNS_MAX > c->runs ? CURVE_RUNS_MAX - c->runs : 0;

	c->runs += inputs < room ? inputs : room;
}

/* Edges at an age up to the present age, by linear interpolation between points. */
static double edges_at(const struct curve *c, double age)
{
	double from = 0, below = (double)c->base;
	double to = curve_seconds(c->age_us), above = (double)c->cov;
	int i = age >= 1 ? (int)floor(log2(age) * 4) : -1;

	if (i >= (int)c->n)
		i = (int)c->n - 1;
	if (i >= 0) {
		from = age_of((unsigned)i);
		below = (double)c->points[i];
	}
	if (i + 1 < (int)c->n) {
		to = age_of((unsigned)i + 1);
		above = (double)c->points[i + 1];
	}
	if (to <= from || age >= to)
		return above;
	return age <= from ? below : below + (above - below) * (age - from) / (to - from);
}

uint64_t curve_early(const struct curve *c, double part)
{
	return (uint64_t)edges_at(c, curve_seconds(c->age_us) * part);
}

double curve_f1(const struct curve *c)
{
	return fmax(0, (double)c->cov - edges_at(c, curve_seconds(c->age_us) / M_E)); /* rounded */
}

/* Whether the window's finds exceed what Poisson noise explains: by four deviations, and a constant
 * for small numbers. */
static bool is_burst(const struct curve *c)
{
	double age = curve_seconds(c->window_us), q = curve_seconds(c->age_us - c->window_us);
	double mean, found = (double)(c->cov - c->window_cov);

	if (age < q)
		return false; /* a young build is all burst */
	mean = c->window_f1 * log1p(q / age);
	return found > mean + 4 * sqrt(mean + 1) + 8;
}

/* The points of the new age are on a straight line, because nothing else is known of them. */
static void start_burst(struct curve *c)
{
	uint64_t age = c->age_us - c->window_us;
	double found = (double)(c->cov - c->window_cov);

	c->base = c->window_cov;
	c->age_us = age;
	for (c->n = 0; c->n < CURVE_POINTS && age_of(c->n) <= curve_seconds(age); c->n++)
		c->points[c->n] =
		    (uint32_t)(c->base + (uint64_t)(found * age_of(c->n) / curve_seconds(age)));
}

void curve_spend(struct curve *c, uint64_t us, uint64_t window_us)
{
	c->build_us += us;
	c->age_us += us;
	add_points(c);
	if (c->age_us - c->window_us < window_us)
		return;
	if (is_burst(c))
		start_burst(c);
	c->window_us = c->age_us;
	c->window_cov = c->cov;
	c->window_f1 = curve_f1(c);
}

double curve_forecast(const struct curve *c, double further)
{
	double age = curve_seconds(c->age_us);

	return age > 0 ? curve_f1(c) * log1p(further / age) : 0;
}

double curve_discovery(const struct curve *c)
{
	double p = c->runs ? curve_f1(c) / (double)c->runs : 1;

	return p < 1 ? p : 1;
}

bool curve_sane(const struct curve *c)
{
	uint64_t least = c->base;

	if (c->n > CURVE_POINTS || c->cov > CURVE_EDGES_MAX || c->age_us > c->build_us ||
	    c->gain_us > c->build_us || c->window_us > c->age_us || c->window_cov > c->cov ||
	    c->window_cov < c->base || !(c->window_f1 >= 0 && c->window_f1 <= (double)c->cov))
		return false;
	for (unsigned i = 0; i < c->n; i++) {
		if (c->points[i] < least)
			return false;
		least = c->points[i];
	}
	return least <= c->cov && (c->n == 0 || age_of(c->n - 1) <= curve_seconds(c->age_us));
}
