/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/control.h"

#include "base/lines.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct control {
	int fd;
	struct source *io;
	struct lines lines;
	control_workers_fn *fn;
	void *arg;
};

static void control_on_line(void *arg, struct slice line)
{
	const struct control *c = arg;
	uint64_t n;

	if (scan_lit(&line, SLICE("workers ")) && scan_u64(&line, 10, CONTROL_WORKERS_MAX, &n) &&
	    line.n == 0 && n > 0)
		c->fn(c->arg, (unsigned)n);
}

/* Reads one block per turn of the loop, so that a flood does not block the run. */
static void control_on_io(void *arg, uint32_t events)
{
	struct control *c = arg;
	char block[1024];
	ssize_t n = sys_read(c->fd, block, sizeof(block));

	(void)events;
	if (n > 0) {
		lines_feed(&c->lines, (struct slice){block, (size_t)n}, control_on_line, c);
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	source_remove(c->io);
	c->io = NULL;
}

int control_open(struct loop *l, int fd, control_workers_fn *fn, void *arg, struct control **ret,
		 struct err *e)
{
	int flags = fcntl(fd, F_GETFL);
	struct control *c;
	int r;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(e, "watch descriptor %d", fd);
	c = xcalloc(1, sizeof(*c));
	if (!c)
		return err_sys(e, "watch descriptor %d", fd);
	c->fd = fd;
	c->fn = fn;
	c->arg = arg;
	r = loop_add_io(l, fd, EPOLLIN, control_on_io, c, &c->io, e);
	if (r < 0)
		control_close(c);
	else
		*ret = c;
	return r;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	source_remove(c->io);
	free(c);
}
