/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include "base/clock.h"

#include <stdio.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"B", 1},
};

static const struct unit times[] = {
    {"ms", USEC_PER_MSEC},	{"us", 1},
    {"s", USEC_PER_SEC},	{"m", 60 * USEC_PER_SEC},
    {"h", 3600 * USEC_PER_SEC}, {"d", 86400 * USEC_PER_SEC},
};

static bool scan_unit(struct slice *in, const struct unit *u, size_t n, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (!scan_lit(in, slice_of(u[i].name)))
			continue;
		*ret = u[i].factor;
		return true;
	}
	return false;
}

bool units_parse_size(struct slice text, uint64_t *ret_bytes)
{
	uint64_t v, factor = 1;

	if (!scan_u64(&text, 10, UINT64_MAX, &v))
		return false;
	if (text.n > 0) {
		scan_blanks(&text);
		if (!scan_unit(&text, sizes, sizeof(sizes) / sizeof(sizes[0]), &factor))
			return false;
	}
	if (text.n > 0 || __builtin_mul_overflow(v, factor, &v))
		return false;
	*ret_bytes = v;
	return true;
}

/* Reads one field like "12m".  A single number may have no unit. */
static bool scan_time_field(struct slice *in, bool first, uint64_t *sum)
{
	uint64_t v, factor = USEC_PER_SEC;

	if (!scan_u64(in, 10, UINT64_MAX, &v))
		return false;
	if (!first || in->n > 0) {
		scan_blanks(in);
		if (!scan_unit(in, times, sizeof(times) / sizeof(times[0]), &factor))
			return false;
	}
	return !__builtin_mul_overflow(v, factor, &v) && !__builtin_add_overflow(*sum, v, sum);
}

bool units_parse_time(struct slice text, uint64_t *ret_us)
{
	uint64_t sum = 0;
	bool first = true;

	if (text.n == 0)
		return false;
	for (; text.n > 0; first = false)
		if (!scan_time_field(&text, first, &sum))
			return false;
	*ret_us = sum;
	return true;
}

const char *units_size(uint64_t bytes, char out[UNITS_MAX])
{
	static const char *const name[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	const size_t last = sizeof(name) / sizeof(name[0]) - 1;
	double v = (double)bytes;
	size_t u = 0;

	/* A value that would print as 1024.0 is printed as 1.0 of the next unit. */
	for (; u < last && v >= (u ? 1023.95 : 1024); u++)
		v /= 1024;
	if (bytes % (UINT64_C(1) << (10 * u)) == 0)
		snprintf(out, UNITS_MAX, "%llu%s", (unsigned long long)(bytes >> (10 * u)),
			 name[u]);
	else
		snprintf(out, UNITS_MAX, "%.1f%s", v, name[u]);
	return out;
}

const char *units_time(uint64_t us, char out[UNITS_MAX])
{
	unsigned long long s = us / USEC_PER_SEC;

	if (us < USEC_PER_SEC)
		snprintf(out, UNITS_MAX, "%llums", (unsigned long long)(us / USEC_PER_MSEC));
	else if (s < 60)
		snprintf(out, UNITS_MAX, "%llus", s);
	else if (s < 3600)
		snprintf(out, UNITS_MAX, "%llum%02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, UNITS_MAX, "%lluh%02llum", s / 3600, s % 3600 / 60);
	else
		snprintf(out, UNITS_MAX, "%llud%02lluh", s / 86400, s % 86400 / 3600);
	return out;
}

const char *units_of(uint64_t n, const char *one, const char *more, char out[UNITS_OF_MAX])
{
	snprintf(out, UNITS_OF_MAX, "%llu %s", (unsigned long long)n, n == 1 ? one : more);
	return out;
}

const char *units_count(uint64_t n, char out[UNITS_MAX])
{
	static const char suffix[] = {'\0', 'k', 'M', 'G', 'T'};
	double v = (double)n;
	size_t u = 0;

	while (v >= 999.95 && u + 1 < sizeof(suffix)) {
		v /= 1000;
		u++;
	}
	if (u == 0)
		snprintf(out, UNITS_MAX, "%llu", (unsigned long long)n);
	else
		snprintf(out, UNITS_MAX, "%.1f%c", v, suffix[u]);
	return out;
}
