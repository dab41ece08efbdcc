/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/machine.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/units.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

/* A cell's output is read no faster than this: a flood costs us little CPU. */
#define OUTPUT_BYTES_PER_S (UINT64_C(64) << 20)

#define RUNTIME_PARENT "/run/fuzzcell"

unsigned machine_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

static uint64_t usable_memory(void)
{
	struct sysinfo si;

	if (sysinfo(&si) < 0)
		return 0;
	/* A sixteenth stays with the kernel and ourselves. */
	return (uint64_t)si.totalram * si.mem_unit / 16 * 15;
}

int machine_open(const struct config *c, const struct state *s, struct machine *ret)
{
	struct cgroup_tree_opts t = {
	    .path = config_cgroup(c), .instance = s->instance, .keeper = true};
	struct cell_host_opts h = {.crun = config_crun(c),
				   .best_effort = config_best_effort(c),
				   .output_bytes_per_s = OUTPUT_BYTES_PER_S};
	struct err e;

	ret->memory = usable_memory();
	ret->runtime_dir = sys_asprintf(RUNTIME_PARENT "/%s", s->instance);
	if (!ret->runtime_dir || loop_new(&ret->loop, &e) < 0)
		return fail(EXIT_INTERNAL, "cannot make the event loop");
	if (cgroup_tree_open(&t, &ret->tree, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	h.loop = ret->loop;
	h.tree = ret->tree;
	h.runtime_dir = ret->runtime_dir;
	if (cell_host_new(&h, &ret->host, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (cgroup_tree_swept(ret->tree))
		printf("killed %u processes that an earlier run had left\n",
		       cgroup_tree_swept(ret->tree));
	return EXIT_DONE;
}

void machine_close(struct machine *m)
{
	cell_host_free(m->host);
	cgroup_tree_close(m->tree);
	loop_free(m->loop);
	free(m->runtime_dir);
	*m = (struct machine){0};
}

static int check_promises(const struct config *c, const struct machine *m)
{
	const struct cgroup_promises *p = cgroup_tree_promises(m->tree);

	printf("cells: %s cgroups at %s; kept:%s%s%s%s%s%s%s\n",
	       cgroup_layout_name(cgroup_tree_layout(m->tree)), cgroup_tree_path(m->tree),
	       p->memory ? " memory" : "", p->swap_off ? " no-swap" : "",
	       p->memory_high ? " memory-mark" : "", p->cpu ? " cpu" : "", p->pids ? " pids" : "",
	       p->pressure ? " pressure" : "", p->kill ? " kill" : "");
	if (!*p->missing)
		return EXIT_DONE;
	if (config_best_effort(c)) {
		printf("best effort: this machine cannot keep: %s\n", p->missing);
		return EXIT_DONE;
	}
	return fail(EXIT_MACHINE,
		    "this machine cannot keep: %s (enable the controller, or accept it with "
		    "\"enforcement\": \"best-effort\")",
		    p->missing);
}

static int check_memory(const struct config *c, const struct machine *m, const struct plan *plan)
{
	char limit[UNITS_MAX], have[UNITS_MAX];

	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *p = &plan->v[i];

		if (p->cfg.memory <= m->memory)
			continue;
		units_size(p->cfg.memory, limit);
		units_size(m->memory, have);
		if (!config_best_effort(c))
			return fail(EXIT_MACHINE,
				    "%s: its memory limit of %s is more than this machine has for "
				    "cells (%s): lower targets.\"%s\".memory",
				    p->target->name, limit, have, p->target->name);
		printf("best effort: %s may use more memory than there is\n", p->target->name);
	}
	return EXIT_DONE;
}

static int check_disk(const struct config *c, const struct state *s)
{
	char have[UNITS_MAX], want[UNITS_MAX];
	struct statvfs v;
	uint64_t avail;

	if (fstatvfs(s->dirfd, &v) < 0)
		return EXIT_DONE; /* it will be noticed when something is written */
	avail = (uint64_t)v.f_bavail * v.f_frsize;
	if (avail >= config_run(c)->disk_reserve)
		return EXIT_DONE;
	return fail(EXIT_MACHINE,
		    "only %s are free below '%s', run.disk_reserve is %s: make room, or lower it",
		    units_size(avail, have), s->path,
		    units_size(config_run(c)->disk_reserve, want));
}

int machine_check(const struct config *c, const struct state *s, const struct machine *m,
		  const struct plan *plan)
{
	int r = check_promises(c, m);

	if (r == EXIT_DONE)
		r = check_memory(c, m, plan);
	if (r == EXIT_DONE)
		r = check_disk(c, s);
	return r;
}
