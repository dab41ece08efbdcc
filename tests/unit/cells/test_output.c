/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/sys.h"
#include "cells/output.h"

#include <fcntl.h>
#include <stdbool.h>

/* Reads a pipe that is kept full, for some time. */
struct flood {
	struct loop *loop;
	struct output out;
	int write_end;
	uint64_t total;
	size_t largest;
};

static char room[OUTPUT_CHUNK];

static void fill(struct flood *f)
{
	char block[4096] = {0};

	while (write(f->write_end, block, sizeof(block)) > 0)
		;
}

static void got(void *arg, struct slice bytes)
{
	struct flood *f = arg;

	f->total += bytes.n;
	f->largest = bytes.n > f->largest ? bytes.n : f->largest;
	fill(f);
}

static void stop(void *arg)
{
	struct flood *f = arg;

	loop_stop(f->loop);
}

static void run_flood(struct flood *f, uint64_t per_second, uint64_t for_us)
{
	struct source *timer = NULL;
	struct err e;
	int p[2];

	*f = (struct flood){.out = OUTPUT_INIT};
	assert_int_equal(loop_new(&f->loop, &e), 0);
	assert_int_equal(sys_pipe(p), 0);
	f->write_end = p[1];
	assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
	fill(f);
	assert_int_equal(output_start(&f->out, f->loop, p[0], per_second, room, got, f, &e), 0);
	assert_int_equal(loop_add_timer(f->loop, clock_mono_us() + for_us, stop, f, &timer, &e), 0);
	assert_int_equal(loop_run(f->loop, &e), 0);
	source_remove(timer);
}

static void end_flood(struct flood *f)
{
	output_stop(&f->out);
	output_stop(&f->out); /* a second call is allowed */
	close(f->write_end);
	loop_free(f->loop);
}

static void a_rate_is_kept(void **state)
{
	struct flood f;

	(void)state;
	run_flood(&f, 100000, 1000000);
	end_flood(&f);
	/* A second has at most 11 ticks of 10000 bytes; slow machines have fewer. */
	assert_in_range(f.total, 10000, 110000);
	assert_true(f.largest <= 10000);
}

static void no_rate_is_no_limit(void **state)
{
	struct flood f;

	(void)state;
	run_flood(&f, 0, 200000);
	end_flood(&f);
	assert_true(f.total > 110000);
}

static void the_rest_is_read_at_once(void **state)
{
	struct flood f;
	uint64_t before;

	(void)state;
	run_flood(&f, 10, 150000);
	before = f.total;
	close(f.write_end);
	f.write_end = -1;
	assert_true(f.out.fd >= 0);
	output_drain(&f.out);
	assert_true(f.total >= before + 60000);
	assert_int_equal(f.out.fd, -1); /* the end of the pipe was noticed */
	end_flood(&f);
}

/* The watched pipe ends: no busy loop, no further call. */
static void an_end_is_an_end(void **state)
{
	struct output o = OUTPUT_INIT;
	struct flood f = {.write_end = -1};
	struct source *timer = NULL;
	struct err e;
	int p[2];

	(void)state;
	assert_int_equal(loop_new(&f.loop, &e), 0);
	assert_int_equal(sys_pipe(p), 0);
	assert_int_equal(sys_write_all(p[1], "last", 4), 0);
	close(p[1]);
	assert_int_equal(output_start(&o, f.loop, p[0], 0, room, got, &f, &e), 0);
	assert_int_equal(loop_add_timer(f.loop, clock_mono_us() + 10 * OUTPUT_REST_MS * 1000, stop,
					&f, &timer, &e),
			 0);
	assert_int_equal(loop_run(f.loop, &e), 0);
	source_remove(timer);
	assert_int_equal(f.total, 4);
	assert_int_equal(o.fd, -1);
	assert_null(o.io);
	loop_free(f.loop);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_rate_is_kept),
    cmocka_unit_test(no_rate_is_no_limit),
    cmocka_unit_test(the_rest_is_read_at_once),
    cmocka_unit_test(an_end_is_an_end),
};

UNIT_MAIN(tests)
