/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/machine.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/build/builder.h"
#include "runner/run/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Limits how fast a cell's output is read, so that a flood of output costs little CPU time. */
#define OUTPUT_BYTES_PER_S (UINT64_C(64) << 20)

#define RUNTIME_PARENT "/run/fuzzcell"

unsigned machine_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* Descriptors beside those of the cells: files that are open now, connections of the control
 * socket, the notifier, and files that a working process opens. */
enum { SPARE_FILES = 64 };
/* Descriptors of a job beside its cell: its log, pipe and handle of a working process. */
enum { JOB_FILES = 4 };

static unsigned open_files(void)
{
	DIR *d = sys_opendirat(AT_FDCWD, "/proc/self/fd");
	unsigned n = 0;

	while (d && sys_readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

unsigned machine_places(uint64_t *ret_limit)
{
	uint64_t taken = open_files() + SPARE_FILES, n;
	struct rlimit files;

	*ret_limit = UINT64_MAX;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return UINT_MAX;
	*ret_limit = files.rlim_cur;
	n = files.rlim_cur > taken ? (files.rlim_cur - taken) / (CELL_DESCRIPTORS + JOB_FILES) : 0;
	return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

int machine_workers(unsigned wanted, unsigned *ret)
{
	uint64_t limit;
	unsigned places = machine_places(&limit);

	*ret = wanted ? wanted : machine_cpus();
	if (places == 0)
		return fail(EXIT_MACHINE,
			    "the limit of open files (%llu) is too low for a single cell: raise it "
			    "(ulimit -Hn, or LimitNOFILE= of the service)",
			    (unsigned long long)limit);
	if (places < *ret) {
		warn("%u workers instead of %u: the limit of open files is %llu; raise it "
		     "(ulimit -Hn, or LimitNOFILE= of the service), or lower run.workers",
		     places, *ret, (unsigned long long)limit);
		*ret = places;
	}
	return EXIT_DONE;
}

uint64_t machine_usable_memory(const struct cgroup_tree *t)
{
	uint64_t ours = cgroup_tree_memory(t), all;
	struct sysinfo si;

	if (sysinfo(&si) < 0)
		return 0;
	all = (uint64_t)si.totalram * si.mem_unit;
	/* A sixteenth is left to the kernel and to fuzzcell. */
	return (all < ours ? all : ours) / 16 * 15;
}

/* Root uses /run; a user uses XDG_RUNTIME_DIR of the login. That directory must belong to the user
 * and be writable by no other user. Otherwise another user could replace the program in a cell. */
int machine_runtime_dir(const char *instance, char **ret, struct err *e)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (geteuid() == 0) {
		*ret = xasprintf(RUNTIME_PARENT "/%s", instance);
		return 0;
	}
	if (!dir || *dir != '/')
		return err_set(e, ENOENT,
			       "XDG_RUNTIME_DIR is not set: cells of an ordinary user need the "
			       "runtime directory of a login (loginctl enable-linger makes one "
			       "without a login)");
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, EPERM,
			       "XDG_RUNTIME_DIR: '%s' is no directory that only user %u can write",
			       dir, (unsigned)geteuid());
	*ret = xasprintf("%s/fuzzcell/%s", dir, instance);
	return 0;
}

int machine_try(const struct config *c, const char *instance, bool keeper, struct machine *ret,
		struct err *e)
{
	struct cgroup_tree_opts t = {
	    .path = config_cgroup(c), .instance = instance, .keeper = keeper};
	struct cell_host_opts h = {.crun = config_crun(c),
				   .best_effort = config_best_effort(c),
				   .output_bytes_per_s = OUTPUT_BYTES_PER_S};
	int r = machine_runtime_dir(instance, &ret->runtime_dir, e);

	if (r == 0)
		r = loop_new(&ret->loop, e);
	if (r == 0)
		r = cgroup_tree_open(&t, &ret->tree, e);
	if (r < 0)
		return r;
	ret->memory = machine_usable_memory(ret->tree);
	h.loop = ret->loop;
	h.tree = ret->tree;
	h.runtime_dir = ret->runtime_dir;
	return cell_host_new(&h, &ret->host, e);
}

int machine_open(const struct config *c, const struct state *s, struct machine *ret)
{
	char n[UNITS_OF_MAX];
	struct err e;

	if (machine_try(c, s->instance, true, ret, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	builder_sweep(c, s->instance, ret->tree);
	if (cgroup_tree_swept(ret->tree))
		printf("killed %s that an earlier run had left\n",
		       units_of(cgroup_tree_swept(ret->tree), "process", "processes", n));
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

/* Explains what the user and the administrator can do (systemd.resource-control(5)). */
static void undelegated(const struct cgroup_promises *p, struct buf *out)
{
	buf_printf(
	    out,
	    "%s\n"
	    "  fuzzcell needs a group of its own: systemd-run --user --scope -p Delegate=yes "
	    "fuzzcell ...\n"
	    "  an administrator delegates the controllers that are missing there, too (%s): "
	    "/etc/systemd/system/user@.service.d/delegate.conf with the two lines\n"
	    "    [Service]\n"
	    "    Delegate=cpu cpuset io memory pids\n"
	    "  then systemctl daemon-reload, and log in again\n"
	    "  or go on without: \"enforcement\": \"best-effort\"",
	    p->missing, p->undelegated);
}

void machine_missing(const struct machine *m, struct buf *out)
{
	const struct cgroup_promises *p = cgroup_tree_promises(m->tree);

	if (*p->missing && *p->undelegated && geteuid() != 0)
		undelegated(p, out);
	else if (*p->missing)
		buf_printf(out,
			   "%s (enable the controller, or accept it with "
			   "\"enforcement\": \"best-effort\")",
			   p->missing);
}

void machine_kept(const struct machine *m, struct buf *out)
{
	const struct cgroup_promises *p = cgroup_tree_promises(m->tree);

	buf_printf(out, "%s cgroups at %s; kept:%s%s%s%s%s%s%s",
		   cgroup_layout_name(cgroup_tree_layout(m->tree)), cgroup_tree_path(m->tree),
		   p->memory ? " memory" : "", p->swap_off ? " no-swap" : "",
		   p->memory_high ? " memory-mark" : "", p->cpu ? " cpu" : "",
		   p->pids ? " pids" : "", p->pressure ? " pressure" : "", p->kill ? " kill" : "");
}

enum { PROMISES_MAX = 8192 };

static int machine_check_promises(const struct config *c, const struct machine *m)
{
	const struct cgroup_promises *p = cgroup_tree_promises(m->tree);
	_autobuf_ struct buf kept = BUF_INIT(PROMISES_MAX), missing = BUF_INIT(PROMISES_MAX);
	struct err e;
	size_t first;

	machine_kept(m, &kept);
	machine_missing(m, &missing);
	if (buf_check(&kept, &e) < 0 || buf_check(&missing, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	printf("cells: %s\n", buf_str(&kept));
	if (geteuid() != 0)
		printf("cells: without root: on the host, every cell is user %u, as you are; a "
		       "program that breaks out of a cell can do what you can\n",
		       (unsigned)geteuid());
	if (!*p->missing)
		return EXIT_DONE;
	if (config_best_effort(c)) {
		printf("best effort: this machine cannot keep: %s\n", p->missing);
		return EXIT_DONE;
	}
	first = strcspn(buf_str(&missing), "\n");
	(void)fail(EXIT_MACHINE, "this machine cannot keep: %.*s", (int)first, buf_str(&missing));
	if (buf_str(&missing)[first])
		fprintf(stderr, "%s\n", buf_str(&missing) + first + 1);
	return EXIT_MACHINE;
}

int machine_memory(const struct machine *m, const struct plan_entry *p, struct err *e)
{
	char limit[UNITS_MAX], have[UNITS_MAX];

	if (p->cfg.memory <= m->memory)
		return 0;
	return err_set(e, ENOMEM,
		       "%s: its memory limit of %s is more than this machine has for cells (%s): "
		       "lower targets.\"%s\".memory",
		       p->target->name, units_size(p->cfg.memory, limit),
		       units_size(m->memory, have), p->target->name);
}

static int machine_check_memory(const struct config *c, const struct machine *m,
				const struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *p = &plan->v[i];
		struct err e;

		if (machine_memory(m, p, &e) == 0)
			continue;
		if (!config_best_effort(c))
			return fail(EXIT_MACHINE, "%s", e.msg);
		printf("best effort: %s may use more memory than there is\n", p->target->name);
	}
	return EXIT_DONE;
}

static int machine_check_disk(const struct config *c, const struct state *s)
{
	uint64_t reserve = config_run(c)->disk_reserve;
	char have[UNITS_MAX], want[UNITS_MAX];
	struct fs_room room;
	struct err ignored;

	if (fs_room(s->dirfd, &room, &ignored) < 0)
		return EXIT_DONE; /* a later write reports the error */
	if (room.bytes < reserve)
		return fail(EXIT_MACHINE,
			    "only %s are free below '%s', run.disk_reserve is %s: make room, or "
			    "lower it",
			    units_size(room.bytes, have), s->path, units_size(reserve, want));
	if (room.files < disk_files_reserve(reserve, room.files_total))
		return fail(EXIT_MACHINE,
			    "only %llu inodes are free below '%s', run.disk_reserve of %s asks for "
			    "%llu: remove files, or lower it",
			    (unsigned long long)room.files, s->path, units_size(reserve, want),
			    (unsigned long long)disk_files_reserve(reserve, room.files_total));
	return EXIT_DONE;
}

int machine_check(const struct config *c, const struct state *s, const struct machine *m,
		  const struct plan *plan)
{
	int r = machine_check_promises(c, m);

	if (r == EXIT_DONE)
		r = machine_check_memory(c, m, plan);
	if (r == EXIT_DONE)
		r = machine_check_disk(c, s);
	return r;
}
