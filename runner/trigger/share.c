/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/share.h"

static uint64_t total_of(const struct share *v, size_t n, uint32_t cpus)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].wanted == 0)
			return cpus;
		sum += v[i].wanted;
	}
	return sum;
}

static struct share *longest(struct share *v, size_t n)
{
	struct share *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (v[i].is == SHARE_WANTS && v[i].given == 0 &&
		    (!best || v[i].waited_us > best->waited_us))
			best = &v[i];
	return best;
}

static uint32_t cap(const struct share *s, uint64_t total, uint64_t part)
{
	uint64_t most = s->wanted ? s->wanted : total;

	return (uint32_t)(part < 1 ? 1 : part < most ? part : most);
}

void share_workers(struct share *v, size_t n, uint32_t cpus)
{
	uint64_t total = total_of(v, n, cpus ? cpus : 1), active = 0, left;
	struct share *s;

	for (size_t i = 0; i < n; i++) {
		v[i].given = v[i].is == SHARE_RUNS;
		active += v[i].given;
	}
	while (active < total && (s = longest(v, n))) {
		s->given = 1;
		active++;
	}
	left = active ? total % active : 0; /* one more worker for each of the first */
	for (size_t i = 0; i < n; i++)
		if (v[i].given) {
			v[i].given = cap(&v[i], total, total / active + (left > 0));
			left -= left > 0;
		}
}
