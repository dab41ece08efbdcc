/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/pressure.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The trigger fires when all tasks waited for a tenth of a window.  Without CAP_SYS_RESOURCE a
 * window must be a multiple of two seconds (since Linux 6.4; EINVAL). */
static const char *const triggers[] = {"full 100000 1000000", "full 200000 2000000"};

enum { TEXT_MAX = 512 };

struct pressure {
	int cpu, memory, trigger; /* trigger -1: none */
	struct source *source;
	pressure_fn *fn;
	void *arg;
};

static void on_trigger(void *arg, uint32_t events)
{
	struct pressure *p = arg;

	if (events & EPOLLERR) { /* the trigger is gone: only the periodic readings go on */
		source_remove(p->source);
		p->source = NULL;
		return;
	}
	p->fn(p->arg);
}

static int pressure_open_one(const char *dir, const char *name, int flags, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s", dir, name);
	int fd = path ? sys_openat(AT_FDCWD, path, flags | O_NONBLOCK, 0) : -1;

	return fd >= 0 ? fd : err_sys(e, "open '%s/%s'", dir, name);
}

/* The trigger is optional: the reading of each second sees the same, later. */
static void set_trigger(struct pressure *p, struct loop *l, const char *dir)
{
	struct err ignored;
	struct statfs fs;
	size_t i = 0;

	p->trigger = pressure_open_one(dir, "memory", O_RDWR, &ignored);
	if (p->trigger < 0 || fstatfs(p->trigger, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return; /* write only to a file of the kernel */
	while (i < 2 && write(p->trigger, triggers[i], strlen(triggers[i]) + 1) < 0)
		i++;
	if (i < 2)
		(void)!loop_add_io(l, p->trigger, EPOLLPRI, on_trigger, p, &p->source, &ignored);
}

int pressure_open(struct loop *l, const char *dir, pressure_fn *fn, void *arg,
		  struct pressure **ret, struct err *e)
{
	struct pressure *p = xcalloc(1, sizeof(*p));
	struct workers_reading first;
	int r;

	*p = (struct pressure){.cpu = -1, .memory = -1, .trigger = -1, .fn = fn, .arg = arg};
	r = p->cpu = pressure_open_one(dir, "cpu", O_RDONLY, e);
	if (r >= 0)
		r = p->memory = pressure_open_one(dir, "memory", O_RDONLY, e);
	if (r >= 0) /* with psi=0 the files exist, and reading fails */
		r = pressure_look(p, &first, e);
	if (r < 0) {
		pressure_close(p);
		return r;
	}
	set_trigger(p, l, dir);
	*ret = p;
	return 0;
}

void pressure_close(struct pressure *p)
{
	if (!p)
		return;
	source_remove(p->source);
	close_p(&p->cpu);
	close_p(&p->memory);
	close_p(&p->trigger);
	free(p);
}

static int look(int fd, struct cgroup_stall *ret, struct err *e)
{
	char text[TEXT_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	if (n < 0)
		return err_sys(e, "read the machine's pressure");
	if (!cg_stat_pressure((struct slice){text, (size_t)n}, ret))
		return err_set(e, EBADMSG, "the machine's pressure (PSI) has an unknown format");
	return 0;
}

int pressure_look(const struct pressure *p, struct workers_reading *ret, struct err *e)
{
	struct cgroup_stall cpu, memory;
	int r = look(p->cpu, &cpu, e);

	if (r == 0)
		r = look(p->memory, &memory, e);
	if (r < 0)
		return r;
	*ret =
	    (struct workers_reading){.cpu_some_us = cpu.some_us, .memory_full_us = memory.full_us};
	return 0;
}
