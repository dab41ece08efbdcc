/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that process 1 runs one by one (images/init/each.h), as a replay of an engine does that
 * runs one input a process. */
#include "tests/unit/cells/cells.h"

#include "images/init.h"

#include <signal.h>

/* Runs the program with two inputs, the texts a and b: shell scripts for /bin/sh. */
static void run_each(const char *program, const char *a, const char *b)
{
	const char *argv[] = {INIT_EACH, "-", program, "--", "/in/a", "/in/b", NULL};
	struct cell_spec spec = cell_spec_for("each", argv);
	struct cell_mount mount = {NULL, "/in", false, false};
	char dir[96];
	struct world w;

	world_open(&w, &(struct cell_host_opts){0});
	make_dir(&w, "in", CELL_UID, dir);
	make_file(dir, "a", a);
	make_file(dir, "b", b);
	mount.source = dir;
	spec.mounts = &mount;
	spec.n_mounts = 1;
	run_cell(&w, &seen, &spec);
	remove_file(dir, "a");
	remove_file(dir, "b");
	assert_int_equal(rmdir(dir), 0);
	world_close(&w);
}

static void forget(void)
{
	memset(&seen, 0, sizeof(seen));
}

static void check_end(enum cell_how how, int code)
{
	assert_int_equal(seen.ended, 1);
	if (seen.end.how != how || seen.end.code != code)
		fail_msg("%d, %d: %s", seen.end.how, seen.end.code, seen.out);
}

static void check_said(const char *text, bool said)
{
	if (!!strstr(seen.out, text) != said)
		fail_msg("'%s' is %sin: %s", text, said ? "not " : "", seen.out);
}

/* An input is the first argument and standard input. */
static void each_input_has_a_process(void **state)
{
	(void)state;
	forget();
	run_each("/bin/sh", "echo \"$0, $#\"; read x; echo \"got $x\"\n", "echo second $PPID\n");
	check_end(CELL_EXITED, 0);
	check_said("Running: /in/a\n/in/a, 0\ngot echo \"$0, $#\"; read x;", true);
	check_said("Executed /in/a in ", true);
	check_said("Running: /in/b\nsecond ", true);
	check_said("Executed /in/b in ", true);
}

static void the_first_failure_ends_it(void **state)
{
	(void)state;
	forget();
	run_each("/bin/sh", "exit 3\n", "echo second\n");
	check_end(CELL_EXITED, 3);
	check_said("Executed /in/a", false);
	check_said("Running: /in/b", false);
	forget();
	run_each("/bin/sh", "echo first\n", "kill -SEGV $$\n");
	check_end(CELL_SIGNALED, SIGSEGV);
	check_said("Executed /in/a in ", true);
	check_said("Executed /in/b", false);
	forget();
	run_each("/bin/sh", "kill -KILL $$\n", "echo second\n");
	check_end(CELL_SIGNALED, SIGKILL);
}

static void a_program_that_is_missing_is_named(void **state)
{
	(void)state;
	forget();
	run_each("/nowhere", "x", "y");
	check_end(CELL_EXITED, 127);
	check_said("fuzzcell: cannot run the input: No such file or directory", true);
	check_said("Executed", false);
}

static void ask(struct seen *s)
{
	struct err e;

	assert_int_equal(cell_signal(s->cell, EACH_DUMP, &e), 0);
}

/* The program gets SIGABRT, and reports where it is. */
static void a_hanging_input_is_asked_to_report(void **state)
{
	(void)state;
	forget();
	seen.when = "ready\n";
	seen.then = ask;
	run_each("/bin/sh",
		 "trap 'echo asked; exit 9' ABRT; echo ready; while :; do sleep 0.05; done\n",
		 "echo second\n");
	check_end(CELL_EXITED, 9);
	check_said("asked\n", true);
	check_said("Running: /in/b", false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_input_has_a_process),
    cmocka_unit_test(the_first_failure_ends_it),
    cmocka_unit_test(a_program_that_is_missing_is_named),
    cmocka_unit_test(a_hanging_input_is_asked_to_report),
};

UNIT_MAIN(tests)
