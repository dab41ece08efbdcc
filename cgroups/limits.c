/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/limits.h"

#include "cgroups/stat.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	PERIOD_US = 100000,    /* of the CPU quota; the kernel's own default */
	MILLI_MIN = 10,	       /* the kernel refuses quotas under 1 ms */
	WEIGHT_MAX = 10000,    /* cpu.weight's range is 1..10000, 100 the default */
	SHARES_DEFAULT = 1024, /* the kernel's default for cpu.shares */
	SHARES_MIN = 2,
	SHARES_MAX = 262144,
};

/* v1 shows "no limit" as the largest multiple of a page that fits in a long. */
static const uint64_t NO_BYTES = UINT64_C(1) << 62;

struct list {
	struct cg_setting *at;
	unsigned n;
};

static void __attribute__((format(printf, 5, 6)))
add(struct list *l, enum cg_controller c, const char *file, enum cg_value_kind kind,
    const char *fmt, ...)
{
	struct cg_setting *s = &l->at[l->n++];
	va_list ap;

	assert(l->n <= CG_SETTINGS_MAX);
	*s = (struct cg_setting){.controller = c, .file = file, .kind = kind};
	va_start(ap, fmt);
	(void)vsnprintf(s->value, sizeof(s->value), fmt, ap); /* the longest is two numbers */
	va_end(ap);
}

static void add_bytes(struct list *l, const char *file, uint64_t bytes, const char *none)
{
	if (bytes)
		add(l, CG_MEMORY, file, CG_BYTES, "%" PRIu64, bytes);
	else
		add(l, CG_MEMORY, file, CG_BYTES, "%s", none);
}

int cg_limits_check(const struct cgroup_limits *lim, struct err *e)
{
	if (lim->memory_high && lim->memory_high >= lim->memory_max)
		return err_set(e, EINVAL,
			       "the memory mark of %" PRIu64 " bytes is not below the limit of "
			       "%" PRIu64,
			       lim->memory_high, lim->memory_max);
	if (lim->memory_max >= NO_BYTES)
		return err_set(e, EINVAL, "a memory limit of %" PRIu64 " bytes has no effect",
			       lim->memory_max);
	if (lim->cpu_milli && lim->cpu_milli < MILLI_MIN)
		return err_set(e, EINVAL, "a CPU limit of %u milli is below the kernel's least, %d",
			       lim->cpu_milli, MILLI_MIN);
	if (lim->cpu_weight > WEIGHT_MAX)
		return err_set(e, EINVAL, "a CPU weight of %u is above %d", lim->cpu_weight,
			       WEIGHT_MAX);
	return 0;
}

static void memory_v1(const struct cgroup_limits *lim, bool has_swap, struct list *l)
{
	uint64_t now = lim->memory_high ? lim->memory_high : lim->memory_max;

	/* A new group has no limit.  memory comes first, because memsw may not be below it. */
	add_bytes(l, "memory.limit_in_bytes", now, "-1");
	add_bytes(l, "memory.memsw.limit_in_bytes", now, "-1");
	l->at[l->n - 1].may_lack = !has_swap;
	add(l, CG_MEMORY, "memory.oom_control", CG_SWITCH, "%d", lim->memory_high ? 1 : 0);
}

static void memory_v2(const struct cgroup_limits *lim, bool has_swap, struct list *l)
{
	add_bytes(l, "memory.max", lim->memory_max, "max");
	add_bytes(l, "memory.high", lim->memory_high, "max");
	add(l, CG_MEMORY, "memory.swap.max", CG_BYTES, "%s", lim->memory_max ? "0" : "max");
	l->at[l->n - 1].may_lack = !has_swap;
	add(l, CG_MEMORY, "memory.oom.group", CG_TEXT, "%d", !lim->kills_one);
}

static void cpu_v1(const struct cgroup_limits *lim, unsigned weight, struct list *l)
{
	uint64_t shares = (uint64_t)weight * SHARES_DEFAULT / 100;

	if (shares < SHARES_MIN)
		shares = SHARES_MIN;
	if (shares > SHARES_MAX)
		shares = SHARES_MAX;
	add(l, CG_CPU, "cpu.cfs_period_us", CG_TEXT, "%d", PERIOD_US);
	if (lim->cpu_milli)
		add(l, CG_CPU, "cpu.cfs_quota_us", CG_TEXT, "%" PRIu64,
		    (uint64_t)lim->cpu_milli * (PERIOD_US / 1000));
	else
		add(l, CG_CPU, "cpu.cfs_quota_us", CG_TEXT, "-1");
	add(l, CG_CPU, "cpu.shares", CG_TEXT, "%" PRIu64, shares);
}

static void cpu_v2(const struct cgroup_limits *lim, unsigned weight, struct list *l)
{
	if (lim->cpu_milli)
		add(l, CG_CPU, "cpu.max", CG_TEXT, "%" PRIu64 " %d",
		    (uint64_t)lim->cpu_milli * (PERIOD_US / 1000), PERIOD_US);
	else
		add(l, CG_CPU, "cpu.max", CG_TEXT, "max %d", PERIOD_US);
	add(l, CG_CPU, "cpu.weight", CG_TEXT, "%u", weight);
}

unsigned cg_limits_settings(const struct cgroup_limits *lim, unsigned on_v1, bool has_swap,
			    struct cg_setting ret[CG_SETTINGS_MAX])
{
	unsigned weight = lim->cpu_weight ? lim->cpu_weight : 100;
	struct list l = {.at = ret};

	(on_v1 & 1u << CG_MEMORY ? memory_v1 : memory_v2)(lim, has_swap, &l);
	(on_v1 & 1u << CG_CPU ? cpu_v1 : cpu_v2)(lim, weight, &l);
	if (lim->pids_max)
		add(&l, CG_PIDS, "pids.max", CG_TEXT, "%u", lim->pids_max);
	else
		add(&l, CG_PIDS, "pids.max", CG_TEXT, "max");
	return l.n;
}

unsigned cg_limits_open(const struct cgroup_limits *lim, unsigned on_v1,
			struct cg_setting ret[CG_SETTINGS_MAX])
{
	struct list l = {.at = ret};

	if (!(on_v1 & 1u << CG_MEMORY)) {
		add_bytes(&l, "memory.high", 0, "max");
		return l.n;
	}
	/* When limits are raised, memsw comes first, because memory may not be above it. */
	add_bytes(&l, "memory.memsw.limit_in_bytes", lim->memory_max, "-1");
	l.at[0].may_lack = true; /* if it is missing, cgroup_new() has accepted that */
	add_bytes(&l, "memory.limit_in_bytes", lim->memory_max, "-1");
	add(&l, CG_MEMORY, "memory.oom_control", CG_SWITCH, "0");
	return l.n;
}

static bool same_bytes(struct slice want, struct slice got, uint64_t page_size)
{
	uint64_t w, g;

	if (!cg_stat_number(got, &g))
		return false;
	if (slice_eq(want, SLICE("max")) || slice_eq(want, SLICE("-1")))
		return g >= NO_BYTES;
	return cg_stat_number(want, &w) && g == w - w % page_size;
}

bool cg_limits_same(const struct cg_setting *s, struct slice got, uint64_t page_size)
{
	struct slice want = slice_of(s->value), line;
	uint64_t w, g;

	switch (s->kind) {
	case CG_BYTES:
		return same_bytes(want, got, page_size);
	case CG_SWITCH:
		return cg_stat_number(want, &w) &&
		       cg_stat_keyed(got, SLICE("oom_kill_disable"), &g) && w == g;
	case CG_TEXT:
		return scan_line(&got, &line) && slice_eq(line, want);
	}
	return false;
}
