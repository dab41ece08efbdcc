/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/control/client.h"
#include "runner/run/run.h"
#include "tests/unit/scratch.h"

#include <errno.h>

static unsigned events;

static void on_event(void *arg, const struct run_view *v, size_t row, const char *what)
{
	(void)arg;
	assert_string_equal(v->id, "r");
	assert_true(row >= v->n_rows);
	assert_null(strstr(what, "no control socket"));
	events++;
}

/* After its end a run saves its results and notifies, which may take minutes.  A client of the
 * control socket must not wait for an answer during this time. */
static void a_socket_without_a_listener_is_an_error(void **state)
{
	const struct run_config cfg = {.workers = 1};
	struct scratch dir = SCRATCH_INIT;
	struct state s = {.lock_fd = -1};
	struct run_dirs dirs = {.id = "r"};
	struct run_opts o = {
	    .state = &s,
	    .dirs = &dirs,
	    .cfg = &cfg,
	    .pressure = "/nonexistent",
	    .workers = 1,
	    .places = 64,
	    .layout = "unified",
	    .control = -1,
	    .listen = true,
	    .event = on_event,
	};
	struct plan plan = {.n = 0};
	struct run *r = NULL;
	json_t *answer;
	struct err e;

	(void)state;
	scratch_make(&dir);
	s.dirfd = dirs.work = dirs.logs = dirs.crashes = dir.fd;
	assert_int_equal(mkdirat(dir.fd, "quarantine", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "triage", 0755), 0);
	assert_int_equal(loop_new(&o.loop, &e), 0);
	assert_int_equal(run_all(&o, &plan, &r, &e), 0);
	assert_int_equal(events, 1); /* no pressure */
	assert_int_equal(control_status(dir.fd, USEC_PER_SEC / 2, &answer, &e), -ENOENT);
	assert_int_equal(run_result(r)->n_rows, 0);
	run_free(r);
	loop_free(o.loop);
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_socket_without_a_listener_is_an_error)};

UNIT_MAIN(tests)
