/* SPDX-License-Identifier: Apache-2.0 */
/* One cell runs several programs, one after the other. */
#include "tests/unit/cells/cells.h"

#include <signal.h>

static struct {
	unsigned runs, most;
	bool left; /* by the last program */
	int codes[200];
	const char *input; /* host path; its text is the number of the run */
} again;

static void write_number(const char *path, unsigned n)
{
	char text[16], next[160];
	FILE *f;

	(void)snprintf(next, sizeof(next), "%s.next", path);
	(void)snprintf(text, sizeof(text), "%u\n", n);
	f = fopen(next, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(next, 0644), 0);
	assert_int_equal(rename(next, path), 0);
}

static void once_more(struct seen *s, const struct cell_end *end, bool left)
{
	struct err e;

	assert_int_equal(s->ended, 0);
	again.codes[again.runs++] = end->how == CELL_SIGNALED ? -end->code : end->code;
	again.left = left;
	if (left || again.runs == again.most) {
		if (left)
			assert_int_equal(cell_again(s->cell, &e), -EBUSY);
		assert_int_equal(cell_kill(s->cell, &e), 0);
		return;
	}
	if (again.input)
		write_number(again.input, again.runs);
	if (cell_again(s->cell, &e) < 0)
		fail_msg("%s", e.msg);
}

static bool separate; /* cell_spec.separate of the next cell */

static void run_program(const char *const *argv, unsigned most)
{
	struct cell_spec spec = cell_spec_for("again", argv);
	struct cell_mount mount = {NULL, "/in", false, false};
	char dir[96], path[120];
	struct world w;

	memset(&seen, 0, sizeof(seen));
	memset(&again, 0, sizeof(again));
	again.most = most;
	seen.exited = once_more;
	world_open(&w, &(struct cell_host_opts){0});
	make_dir(&w, "in", CELL_UID, dir);
	(void)snprintf(path, sizeof(path), "%s/number", dir);
	again.input = path;
	write_number(path, 0);
	mount.source = dir;
	spec.mounts = &mount;
	spec.n_mounts = 1;
	spec.stays = true;
	spec.separate = separate;
	run_cell(&w, &seen, &spec);
	remove_file(dir, "number");
	assert_int_equal(rmdir(dir), 0);
	world_close(&w);
}

static void run_again(const char *script, unsigned most)
{
	run_program((const char *[]){"/bin/sh", "-c", script, NULL}, most);
}

/* Each program has its own process, status and output, all of it before the next program begins. It
 * sees the input of that moment. */
static void each_run_is_told_apart(void **state)
{
	const char *at;
	char want[64];

	(void)state;
	run_again(
	    "read n < /in/number; head -c 3000 /dev/zero | tr '\\0' x; echo; echo \"run $n\"; "
	    "test $n != 7 || kill -9 $$; test $n != 8 || kill -SEGV $$; exit $n",
	    20);
	assert_int_equal(again.runs, 20);
	assert_false(again.left);
	for (int i = 0; i < 20; i++)
		assert_int_equal(again.codes[i], i == 7 ? -SIGKILL : i == 8 ? -SIGSEGV : i);
	at = seen.out;
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(want, sizeof(want), "xxx\nrun %u\n", i);
		at = strstr(at, want);
		assert_non_null(at);
	}
	assert_int_equal(seen.total, 20 * 3001 + 10 * 6 + 10 * 7);
}

/* A process that a program leaves for the next program is noticed, and ended. */
static void what_is_left_is_seen(void **state)
{
	static const char *const leave[] = {
	    "sleep 1000 &",
	    "(setsid sleep 1000 &)",
	    "(trap '' HUP INT TERM; while :; do :; done) &",
	    "echo x > /tmp/file",
	    "mkdir /tmp/.hidden",
	    "echo x > /tmp/file; rm /tmp/file",
	    "chmod 555 /tmp",
	    "touch -d 2001-01-01 /tmp",
	    "touch -a -d 2001-01-01 /dev/shm",
	    "echo x > /dev/shm/file",
	    "prlimit --pid 1 --nofile=32",
	    "taskset -cp 0 1 && test $(nproc) != 1 || echo one > /tmp/cpu",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
		run_again(leave[i], 3);
		if (again.runs != 1 || !again.left)
			fail_msg("'%s': %u runs", leave[i], again.runs);
	}
}

/* Shared memory without a process that uses it stays, too. */
static void shared_memory_that_is_left_is_seen(void **state)
{
	(void)state;
	separate = true;
	run_again("ipcmk -M 4096", 3);
	separate = false;
	if (again.runs != 1 || !again.left)
		fail_msg("%u runs: %s", again.runs, seen.out);
}

/* A process that ends with the program, as a symbolizer does, does not count as left. */
static void what_ends_with_it_is_not_left(void **state)
{
	static const char *const ends[] = {"sleep 0.01 & wait", "true & kill -9 $$",
					   "cat <&0 & exit 3"};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		run_again(ends[i], 3);
		if (again.runs != 3 || again.left)
			fail_msg("'%s': %u runs", ends[i], again.runs);
	}
}

/* Each program prints what it finds, and leaves something for the next program. */
static void streams_are_its_own(void **state)
{
	static const char *const leave[] = {
	    "$f = fcntl(STDERR, 3, 0); print 'met' if $f & 2048; fcntl(STDERR, 4, $f | 2048)",
	    "print 'met' if fcntl(STDERR, 1032, 0) < 65536; fcntl(STDERR, 1031, 4096)",
	    "print 'met' if ((stat STDOUT)[2] & 0777) == 0; chmod 0, *STDOUT",
	    "print 'met' if sysread STDIN, $b, 1; open F, '+</proc/self/fd/0'; syswrite F, 'x'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
		run_program((const char *[]){"/usr/bin/perl", "-e", leave[i], NULL}, 3);
		assert_int_equal(again.runs, 3);
		assert_string_equal(seen.out, "");
	}
}

/* Fast, as in triage; process numbers are never reused. */
static void many_runs_end(void **state)
{
	(void)state;
	run_again("exit 3", 200);
	assert_int_equal(again.runs, 200);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(again.codes[i], 3);
}

static void once_and_end(struct seen *s, const struct cell_end *end, bool left)
{
	(void)end;
	(void)left;
	assert_int_equal(cell_pid(s->cell), 0);
	again.runs++;
	s->exited = NULL;
}

static struct source *kill_timer;

static void kill_now(void *arg)
{
	struct seen *s = arg;
	struct err e;

	if (!cell_pid(s->cell)) {
		assert_int_equal(loop_set_timer(kill_timer, clock_mono_us() + 10000, &e), 0);
		return;
	}
	source_remove(kill_timer);
	assert_int_equal(cell_signal(s->cell, SIGKILL, &e), 0);
}

/* The program may print before crun has ended.  Until then its number is not known. */
static void kill_the_program(struct seen *s)
{
	struct err e;

	s->when = "again";
	assert_int_equal(loop_add_timer(s->w->loop, clock_mono_us(), kill_now, s, &kill_timer, &e),
			 0);
}

/* Our signal goes to the program; the cell stays. */
static void a_signal_ends_the_program_alone(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "sleep 1000 & echo up; wait", NULL};
	struct cell_spec spec = cell_spec_for("signal", argv);
	struct world w;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(&again, 0, sizeof(again));
	again.most = 1;
	seen.when = "up";
	seen.then = kill_the_program;
	seen.exited = once_more;
	spec.stays = true;
	world_open(&w, &(struct cell_host_opts){0});
	run_cell(&w, &seen, &spec);
	world_close(&w);
	assert_int_equal(again.runs, 1);
	assert_int_equal(again.codes[0], -SIGKILL);
	assert_true(again.left); /* sleep */
}

static void kill_when_it_waits(void *arg)
{
	struct err e;

	(void)arg;
	if (seen.cell)
		assert_int_equal(cell_kill(seen.cell, &e), 0);
}

/* A cell without a program ends as any other cell. */
static void a_waiting_cell_ends(void **state)
{
	const char *argv[] = {"/bin/true", NULL};
	struct cell_spec spec = cell_spec_for("waits", argv);
	struct source *timer = NULL;
	struct world w;
	struct err e;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(&again, 0, sizeof(again));
	seen.exited = once_and_end;
	spec.stays = true;
	world_open(&w, &(struct cell_host_opts){0});
	start(&w, &seen, &spec);
	assert_int_equal(loop_add_timer(w.loop, clock_mono_us() + 2 * slow() * USEC_PER_SEC,
					kill_when_it_waits, NULL, &timer, &e),
			 0);
	run(&w);
	source_remove(timer);
	world_close(&w);
	assert_int_equal(again.runs, 1);
	assert_int_equal(seen.end.how, CELL_EXITED);
	assert_int_equal(seen.end.code, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(streams_are_its_own),
    cmocka_unit_test(what_ends_with_it_is_not_left),
    cmocka_unit_test(each_run_is_told_apart),
    cmocka_unit_test(what_is_left_is_seen),
    cmocka_unit_test(shared_memory_that_is_left_is_seen),
    cmocka_unit_test(many_runs_end),
    cmocka_unit_test(a_waiting_cell_ends),
    cmocka_unit_test(a_signal_ends_the_program_alone),
};

UNIT_MAIN(tests)
