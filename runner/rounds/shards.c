/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/shards.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60 }; /* of a bisection: more than the digits of a double */

static double weight_of(const struct shards_target *t)
{
	return t->weight > 0 ? t->weight : 1;
}

double shards_edges(const struct shards_target *t, double seconds)
{
	return t->found * log1p(seconds / t->age_s) + t->gate * log1p(seconds / t->build_age_s);
}

/* The weighted rate after so much more time. */
static double rate_after(const struct shards_target *t, double seconds)
{
	return weight_of(t) *
	       (t->found / (t->age_s + seconds) + t->gate / (t->build_age_s + seconds));
}

/* --- how long ---------------------------------------------------------------- */

/* The time after which the target's rate is down to `rate`: between least and most. */
static double time_until(const struct shards_target *t, double rate, double least, double most)
{
	double low = least, high = most;

	if (rate_after(t, most) >= rate)
		return most;
	for (int i = 0; i < ROUNDS && high - low > 1e-3; i++) {
		double middle = (low + high) / 2;

		if (rate_after(t, middle) >= rate)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double time_of_all(const struct shards_spec *s)
{
	return s->seconds * s->workers * s->shards;
}

static double least_of(const struct shards_spec *s, const struct shards_target *t)
{
	double equal = time_of_all(s) / (double)s->n;

	return fmin(s->least, t->had_s < s->least ? equal : equal / 4);
}

static double fill(const struct shards_spec *s, double rate, double *ret)
{
	double most = s->seconds * s->shards, sum = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct shards_target *t = &s->targets[i];

		ret[i] = time_until(t, rate, fmin(least_of(s, t), most), most);
		sum += ret[i];
	}
	return sum;
}

static double highest_rate(const struct shards_spec *s)
{
	double high = 0;

	for (size_t i = 0; i < s->n; i++)
		high = fmax(high, rate_after(&s->targets[i], 0));
	return high;
}

/* Finds the rate at which all time is used, by halving its logarithm. */
static double divide_time(const struct shards_spec *s, double *ret)
{
	double high = highest_rate(s), low = high * 1e-12, all = time_of_all(s);

	for (int i = 0; i < ROUNDS && high > 0; i++) {
		double middle = sqrt(low * high);

		if (fill(s, middle, ret) > all)
			low = middle;
		else
			high = middle;
	}
	(void)fill(s, high, ret);
	return high;
}

/* --- where ------------------------------------------------------------------- */

struct laying {
	const struct shards_spec *spec;
	struct shards *to;
	unsigned lane;	 /* in work */
	double used;	 /* of it */
	double sliver;	 /* a shorter piece is not worth its start */
	unsigned *parts; /* of each target */
};

static void add_piece(struct shards_one *s, size_t target, double seconds)
{
	struct shards_piece *last = s->n ? &s->v[s->n - 1] : NULL;

	s->seconds += seconds;
	if (last && last->target == target) { /* it has come round to the shard where it began */
		last->seconds += seconds;
		return;
	}
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = (struct shards_piece){.target = target, .seconds = seconds};
}

static struct shards_one *least_busy(struct shards *s)
{
	struct shards_one *least = &s->v[0];

	for (unsigned i = 1; i < s->n; i++)
		if (s->v[i].seconds < least->seconds)
			least = &s->v[i];
	return least;
}

static void next_lane(struct laying *l)
{
	l->lane++;
	l->used = 0;
}

/* Lays one target's time.  What slivers shifted behind the last lane goes where there is least. */
static void lay_target(struct laying *l, size_t target)
{
	const struct shards_spec *s = l->spec;
	double left = l->to->seconds[target];

	while (left > 0) {
		double room = s->seconds - l->used, take = fmin(left, room);

		if (l->lane >= s->shards * s->workers) {
			add_piece(least_busy(l->to), target, left);
			return;
		}
		if (left - take < l->sliver)
			take = left;
		if (take < left && room < l->sliver) {
			next_lane(l);
			continue;
		}
		add_piece(&l->to->v[l->lane % s->shards], target, take);
		left -= take;
		l->used += take;
		if (l->used >= s->seconds)
			next_lane(l);
	}
}

/* Longest first; of the same length by name. */
static int by_time(const void *x, const void *y, void *arg)
{
	size_t a = *(const size_t *)x, b = *(const size_t *)y;
	const struct laying *l = arg;
	double s = l->to->seconds[a], t = l->to->seconds[b];

	if (s < t || s > t)
		return s > t ? -1 : 1;
	return strcmp(l->spec->targets[a].name, l->spec->targets[b].name);
}

static int by_target(const void *x, const void *y)
{
	const struct shards_piece *a = x, *b = y;

	return (a->target > b->target) - (a->target < b->target);
}

static void lay_all(struct laying *l)
{
	size_t n = l->spec->n;
	size_t *order = xcalloc(n + 1, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	if (n > 0)
		qsort_r(order, n, sizeof(*order), by_time, l);
	for (size_t i = 0; i < n; i++)
		lay_target(l, order[i]);
	free(order);
}

/* Numbers the parts of each target by shard.  Its pieces share what it is expected to find. */
static void number_parts(struct laying *l, struct shards_one *s)
{
	if (s->n > 0)
		qsort(s->v, s->n, sizeof(*s->v), by_target);
	for (size_t i = 0; i < s->n; i++) {
		struct shards_piece *p = &s->v[i];
		double all = l->to->seconds[p->target];

		p->part = l->parts[p->target]++;
		s->edges += shards_edges(&l->spec->targets[p->target], all) * p->seconds / all;
	}
}

static void count_parts(const struct laying *l, struct shards_one *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->v[i].parts = l->parts[s->v[i].target];
}

void shards_divide(const struct shards_spec *spec, struct shards *ret)
{
	struct laying l = {.spec = spec, .to = ret};

	*ret = (struct shards){.n = spec->shards};
	ret->v = xcalloc(spec->shards, sizeof(*ret->v));
	ret->seconds = xcalloc(spec->n + 1, sizeof(*ret->seconds));
	l.parts = xcalloc(spec->n + 1, sizeof(*l.parts));
	l.sliver = fmin(spec->least, spec->seconds / 20) / 2;
	if (spec->n > 0) {
		ret->rate = divide_time(spec, ret->seconds);
		lay_all(&l);
	}
	for (unsigned i = 0; i < spec->shards; i++)
		number_parts(&l, &ret->v[i]);
	for (unsigned i = 0; i < spec->shards; i++)
		count_parts(&l, &ret->v[i]);
	free(l.parts);
}

void shards_done(struct shards *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->v[i].v);
	free(s->v);
	free(s->seconds);
	*s = (struct shards){0};
}
