/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/output.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static void cell_output_on_readable(void *arg, uint32_t events);

static uint64_t output_allowance(struct output *o)
{
	uint64_t now = clock_mono_us();

	if (o->per_tick == 0)
		return OUTPUT_CHUNK;
	if (now - o->tick_at >= OUTPUT_TICK_MS * USEC_PER_MSEC) {
		o->tick_at = now;
		o->taken = 0;
	}
	return o->per_tick - o->taken;
}

/* Stops reading the pipe until at_us. */
static void rest_until(struct output *o, uint64_t at_us)
{
	struct err e;

	if (loop_set_timer(o->timer, at_us, &e) < 0)
		return; /* reading continues, too fast */
	source_remove(take_ptr(&o->io));
}

static void on_rested(void *arg)
{
	struct output *o = arg;
	struct err e;

	if (o->fd < 0 || o->io)
		return;
	/* Memory is short: the next tick repeats it. */
	if (loop_add_io(o->loop, o->fd, EPOLLIN, cell_output_on_readable, o, &o->io, &e) < 0 &&
	    loop_set_timer(o->timer, clock_mono_us() + OUTPUT_TICK_MS * USEC_PER_MSEC, &e) < 0)
		output_stop(o);
}

/* Returns the number of bytes read; 0 at the end, or when the pipe is empty. */
static size_t cell_output_take(struct output *o, size_t max)
{
	ssize_t n = sys_read(o->fd, o->room, max < OUTPUT_CHUNK ? max : OUTPUT_CHUNK);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		output_stop(o);
		return 0;
	}
	o->taken += (uint64_t)n;
	o->fn(o->arg, (struct slice){o->room, (size_t)n});
	return (size_t)n;
}

static void cell_output_on_readable(void *arg, uint32_t events)
{
	struct output *o = arg;
	uint64_t max = output_allowance(o);

	(void)events;
	if (max == 0) {
		rest_until(o, o->tick_at + OUTPUT_TICK_MS * USEC_PER_MSEC);
		return;
	}
	/* A writer of many short lines would wake us for each line, so wait for more bytes. */
	if (cell_output_take(o, max) < OUTPUT_FEW && o->fd >= 0)
		rest_until(o, clock_mono_us() + OUTPUT_REST_MS * USEC_PER_MSEC);
}

int output_start(struct output *o, struct loop *l, int fd, uint64_t per_second, char *room,
		 output_fn *fn, void *arg, struct err *e)
{
	int r;

	*o = (struct output){.loop = l, .fd = fd, .room = room, .fn = fn, .arg = arg};
	if (per_second) {
		o->per_tick = per_second * OUTPUT_TICK_MS / 1000;
		o->per_tick = o->per_tick ? o->per_tick : 1;
	}
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "make the output pipe non-blocking");
	r = loop_add_timer(l, UINT64_MAX, on_rested, o, &o->timer, e);
	if (r < 0)
		return r;
	return loop_add_io(l, fd, EPOLLIN, cell_output_on_readable, o, &o->io, e);
}

void output_now(struct output *o)
{
	uint64_t max = o->fd >= 0 ? output_allowance(o) : 0;

	if (max > 0)
		(void)cell_output_take(o, max);
}

void output_drain(struct output *o)
{
	while (o->fd >= 0 && cell_output_take(o, OUTPUT_CHUNK) > 0)
		;
}

void output_stop(struct output *o)
{
	source_remove(take_ptr(&o->io));
	source_remove(take_ptr(&o->timer));
	close_p(&o->fd);
}
