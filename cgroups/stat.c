/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/stat.h"

bool cg_stat_number(struct slice text, uint64_t *ret)
{
	uint64_t v = UINT64_MAX;

	if (!scan_lit(&text, SLICE("max")) && !scan_u64(&text, 10, UINT64_MAX, &v))
		return false;
	(void)scan_lit(&text, SLICE("\n")); /* absent when the buffer was short */
	if (text.n > 0)
		return false;
	*ret = v;
	return true;
}

bool cg_stat_keyed(struct slice text, struct slice key, uint64_t *ret)
{
	struct slice line;
	uint64_t v;

	while (scan_line(&text, &line)) {
		if (!scan_lit(&line, key) || !scan_lit(&line, SLICE(" ")))
			continue;
		if (!scan_u64(&line, 10, UINT64_MAX, &v) || line.n > 0)
			return false;
		*ret = v;
		return true;
	}
	return false;
}

/* The number after " total=" at the end of a line. */
static bool stat_total(struct slice line, uint64_t *ret)
{
	static const char mark[] = " total=";
	const char *at = line.n ? memmem(line.p, line.n, mark, sizeof(mark) - 1) : NULL;
	uint64_t v;

	if (!at)
		return false;
	line.n -= (size_t)(at - line.p) + sizeof(mark) - 1;
	line.p = at + sizeof(mark) - 1;
	if (!scan_u64(&line, 10, UINT64_MAX, &v) || line.n > 0)
		return false;
	*ret = v;
	return true;
}

bool cg_stat_pressure(struct slice text, struct cgroup_stall *ret)
{
	struct cgroup_stall s = {0};
	bool some = false;
	struct slice line;

	while (scan_line(&text, &line)) {
		bool is_some = scan_lit(&line, SLICE("some"));
		uint64_t *to = is_some ? &s.some_us : &s.full_us;

		if (!is_some && !scan_lit(&line, SLICE("full")))
			return false;
		if (!stat_total(line, to))
			return false;
		some |= is_some;
	}
	if (some)
		*ret = s;
	return some;
}
