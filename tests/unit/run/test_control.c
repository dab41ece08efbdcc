/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/sys.h"
#include "runner/run/control.h"

#include <unistd.h>

/* Lines on a pipe, in pieces, mixed with other lines. */

struct seen {
	struct loop *loop;
	unsigned v[16], n, want;
};

static void on_workers(void *arg, unsigned n)
{
	struct seen *s = arg;

	assert_true(s->n < 16);
	s->v[s->n++] = n;
	if (s->n == s->want)
		loop_stop(s->loop);
}

static void on_late(void *arg)
{
	loop_stop(arg);
}

/* Writes text, hangs up, and waits for this many numbers, or for a moment if it is 0. */
static struct seen said(const char *text, unsigned want)
{
	struct seen s = {.want = want};
	struct control *c = NULL;
	struct source *late = NULL;
	struct err e;
	int p[2];

	assert_int_equal(sys_pipe(p), 0);
	assert_int_equal(loop_new(&s.loop, &e), 0);
	assert_int_equal(control_open(s.loop, p[0], on_workers, &s, &c, &e), 0);
	assert_int_equal(loop_add_timer(s.loop,
					clock_mono_us() + (want ? 60 : 1) * USEC_PER_SEC / 4,
					on_late, s.loop, &late, &e),
			 0);
	assert_int_equal(sys_write_all(p[1], text, strlen(text)), 0);
	close(p[1]);
	assert_int_equal(loop_run(s.loop, &e), 0);
	control_close(c);
	source_remove(late);
	loop_free(s.loop);
	close(p[0]);
	return s;
}

static void numbers_arrive(void **state)
{
	struct seen s = said("workers 3\nworkers 1\nworkers 1024\n", 3);

	(void)state;
	assert_int_equal(s.n, 3);
	assert_int_equal(s.v[0], 3);
	assert_int_equal(s.v[1], 1);
	assert_int_equal(s.v[2], 1024);
}

static void other_lines_are_passed_over(void **state)
{
	struct seen s =
	    said("workers 0\nworkers 1025\nworkers -1\nworkers 2 \nworkers\n\n\xff\nwork"
		 "ers 99999999999999999999\nworkers 7\n",
		 1);

	(void)state;
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0], 7);
}

static void the_end_of_it_changes_nothing(void **state)
{
	struct seen s = said("workers 5", 0); /* a line without its end is ignored */

	(void)state;
	assert_int_equal(s.n, 0);
}

static void what_cannot_be_watched_is_refused(void **state)
{
	struct control *c = NULL;
	struct loop *l = NULL;
	struct err e;

	(void)state;
	assert_int_equal(loop_new(&l, &e), 0);
	assert_true(control_open(l, 9999, on_workers, NULL, &c, &e) < 0);
	assert_null(c);
	loop_free(l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_arrive),
    cmocka_unit_test(other_lines_are_passed_over),
    cmocka_unit_test(the_end_of_it_changes_nothing),
    cmocka_unit_test(what_cannot_be_watched_is_refused),
};

UNIT_MAIN(tests)
