/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a group's counters: CPU time, memory, processes, pressure. */
#include "base/sys.h"
#include "cgroups/internal.h"
#include "cgroups/stat.h"

#include <errno.h>
#include <fcntl.h>

enum { NS_PER_US = 1000, ON_V2_TREE = CG_CONTROLLER_COUNT };

/* The file of each counter; NULL: that version has none. */
static const struct {
	unsigned controller; /* ON_V2_TREE: from the v2 tree in both layouts */
	const char *file[2]; /* by version: v2, v1 */
} files[] = {
    [CG_STAT_CPU] = {ON_V2_TREE, {"cpu.stat", NULL}},
    [CG_STAT_THROTTLED] = {CG_CPU, {NULL, "cpu.stat"}}, /* v2: in the same file */
    [CG_STAT_MEMORY] = {CG_MEMORY, {"memory.current", "memory.usage_in_bytes"}},
    [CG_STAT_MEMORY_PEAK] = {CG_MEMORY, {"memory.peak", "memory.max_usage_in_bytes"}},
    [CG_STAT_MEMORY_EVENTS] = {CG_MEMORY, {"memory.events", "memory.oom_control"}},
    [CG_STAT_PIDS] = {CG_PIDS, {"pids.current", "pids.current"}},
    [CG_STAT_PIDS_EVENTS] = {CG_PIDS, {"pids.events", "pids.events"}},
    [CG_STAT_CPU_PRESSURE] = {ON_V2_TREE, {"cpu.pressure", NULL}},
    [CG_STAT_MEMORY_PRESSURE] = {ON_V2_TREE, {"memory.pressure", NULL}},
    [CG_STAT_IO_PRESSURE] = {ON_V2_TREE, {"io.pressure", NULL}},
    [CG_STAT_EVENTS] = {ON_V2_TREE, {"cgroup.events", NULL}},
};
_Static_assert(sizeof(files) / sizeof(files[0]) == CG_STAT_COUNT, "a file for every counter");

int cg_counters_start(struct cgroup *cg, struct err *e)
{
	const struct cgroup_tree *t = cg->tree;

	for (unsigned i = 0; i < CG_STAT_COUNT; i++) {
		unsigned c = files[i].controller;
		unsigned place =
		    c == ON_V2_TREE ? 0 : (unsigned)(cg_place_of(t, (enum cg_controller)c) - t->at);
		const char *file = files[i].file[place > 0];

		if (!file)
			continue;
		cg->stat[i] = sys_openat(cg->dir[place], file, O_RDONLY | O_NOFOLLOW, 0);
		/* An older kernel lacks some files; cgroup_promises.missing reports this. */
		if (cg->stat[i] < 0 && errno != ENOENT && errno != EOPNOTSUPP)
			return err_sys(e, "open '%s' of '%s'", file, cg->name);
	}
	if (cg->stat[CG_STAT_CPU] < 0 || cg->stat[CG_STAT_EVENTS] < 0)
		return err_set(e, ENOTSUP, "the group '%s' has no cpu.stat or cgroup.events",
			       cg->name);
	return 0;
}

/* Text of a counter file; empty when the machine has none. */
static int counters_text_of(const struct cgroup *cg, enum cg_stat_file i, char buf[CG_TEXT_MAX],
			    struct slice *ret, struct err *e)
{
	*ret = (struct slice){buf, 0};
	if (cg->stat[i] < 0)
		return 0;
	if (cg_file_again(cg->stat[i], buf, CG_TEXT_MAX, ret, e) < 0)
		return err_wrap(e, "'%s' of '%s'",
				files[i].file[0] ? files[i].file[0] : files[i].file[1], cg->name);
	return 0;
}

static int read_cpu(const struct cgroup *cg, struct cgroup_counters *c, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t ns;
	int r = counters_text_of(cg, CG_STAT_CPU, buf, &text, e);

	if (r < 0)
		return r;
	if (!cg_stat_keyed(text, SLICE("usage_usec"), &c->usage_us) ||
	    !cg_stat_keyed(text, SLICE("user_usec"), &c->user_us) ||
	    !cg_stat_keyed(text, SLICE("system_usec"), &c->system_us))
		return err_set(e, EBADMSG, "'cpu.stat' of '%s' has no usage", cg->name);
	(void)cg_stat_keyed(text, SLICE("throttled_usec"), &c->throttled_us); /* not on hybrid */
	r = counters_text_of(cg, CG_STAT_THROTTLED, buf, &text, e);
	if (r == 0 && cg_stat_keyed(text, SLICE("throttled_time"), &ns))
		c->throttled_us = ns / NS_PER_US;
	return r;
}

static int read_memory(struct cgroup *cg, struct cgroup_counters *c, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	int r = counters_text_of(cg, CG_STAT_MEMORY, buf, &text, e);

	if (r < 0)
		return r;
	(void)cg_stat_number(text, &c->mem_now); /* 0 without the controller */
	r = counters_text_of(cg, CG_STAT_MEMORY_PEAK, buf, &text, e);
	if (r < 0)
		return r;
	if (c->mem_now > cg->memory_peak)
		cg->memory_peak = c->mem_now;
	if (!cg_stat_number(text, &c->mem_peak)) /* before Linux 5.19: the highest value read */
		c->mem_peak = cg->memory_peak;
	r = counters_text_of(cg, CG_STAT_MEMORY_EVENTS, buf, &text, e);
	if (r < 0)
		return r;
	(void)cg_stat_keyed(text, SLICE("oom_kill"), &c->oom_kills);
	if (!cg_stat_keyed(text, SLICE("high"), &c->mem_high_events))
		c->mem_high_events = cg->high_events; /* v1: counted by us */
	return 0;
}

static int read_pids(const struct cgroup *cg, struct cgroup_counters *c, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;

	if (counters_text_of(cg, CG_STAT_PIDS, buf, &text, e) < 0)
		return err_code(e);
	(void)cg_stat_number(text, &c->pids_now); /* 0 without the controller */
	if (counters_text_of(cg, CG_STAT_PIDS_EVENTS, buf, &text, e) < 0)
		return err_code(e);
	(void)cg_stat_keyed(text, SLICE("max"), &c->pids_refused);
	return 0;
}

static int counters_read_pressure(const struct cgroup *cg, enum cg_stat_file file,
				  struct cgroup_stall *ret, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	int r = counters_text_of(cg, file, buf, &text, e);

	if (r < 0)
		return r;
	if (text.n > 0 && !cg_stat_pressure(text, ret))
		return err_set(e, EBADMSG, "'%s' of '%s' is not a pressure file",
			       files[file].file[0], cg->name);
	return 0;
}

int cgroup_read(struct cgroup *cg, struct cgroup_counters *ret, struct err *e)
{
	struct cgroup_counters c = {0};
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t populated;

	if (read_cpu(cg, &c, e) < 0 || read_memory(cg, &c, e) < 0 || read_pids(cg, &c, e) < 0 ||
	    counters_read_pressure(cg, CG_STAT_CPU_PRESSURE, &c.cpu, e) < 0 ||
	    counters_read_pressure(cg, CG_STAT_MEMORY_PRESSURE, &c.memory, e) < 0 ||
	    counters_read_pressure(cg, CG_STAT_IO_PRESSURE, &c.io, e) < 0 ||
	    counters_text_of(cg, CG_STAT_EVENTS, buf, &text, e) < 0)
		return err_code(e);
	if (!cg_stat_keyed(text, SLICE("populated"), &populated))
		return err_set(e, EBADMSG, "'cgroup.events' of '%s' has no 'populated'", cg->name);
	c.populated = populated != 0;
	*ret = c;
	return 0;
}
