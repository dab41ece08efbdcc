/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cells/cells.h"

#include "cells/cpus.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>

static unsigned ours(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return (unsigned)CPU_COUNT(&set);
}

static void needs_two(void)
{
	if (ours() < 2)
		skip(); /* one CPU: there is nothing to choose */
}

/* Each CPU that we may use is given once before one is given twice. */
static void each_cpu_gets_its_share(void **state)
{
	static struct cpus c = {.begun = true, .next = UINT_MAX - 1};
	unsigned n = ours();
	int first;

	(void)state;
	needs_two();
	first = cpus_take(&c);
	for (unsigned i = 1; i < 3 * n; i++)
		assert_in_range(cpus_take(&c), 0, CPU_SETSIZE - 1);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		assert_true(c.cells[i] == 0 || c.cells[i] == 3);
	cpus_give(&c, first);
	assert_int_equal(cpus_take(&c), first);
	cpus_give(&c, CPUS_ALL);
}

/* A host begins with a CPU that no other program has alone.  Other tests may run programs, too: so
 * many of ours decide. */
static void hosts_begin_apart(void **state)
{
	static struct cpus before, after;
	pid_t pids[24];
	cpu_set_t one;
	int taken, other;

	(void)state;
	needs_two();
	taken = cpus_take(&before);
	CPU_ZERO(&one);
	CPU_SET((size_t)taken, &one);
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void)pause();
		}
		assert_true(pids[i] > 0);
		assert_int_equal(sched_setaffinity(pids[i], sizeof(one), &one), 0);
	}
	other = cpus_take(&after);
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	assert_int_not_equal(other, taken);
}

/* A process that has one CPU leaves the choice to the kernel. */
static void one_cpu_is_no_choice(void **state)
{
	static struct cpus c;
	cpu_set_t before, one;
	int got;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	got = cpus_take(&c);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(got, CPUS_ALL);
}

/* Two cells have different CPUs, one each, with all their processes; a third has all CPUs. */
static void cells_get_one_cpu(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "nproc; taskset -cp $$ | sed 's/.* //'; read never",
			      NULL};
	static struct seen of[3];
	struct cell_spec spec[3];
	char want[16];
	struct world w;

	(void)state;
	needs_two();
	world_open(&w, &(struct cell_host_opts){0});
	for (unsigned i = 0; i < 3; i++) {
		spec[i] = cell_spec_for((const char *[]){"one", "two", "three"}[i], argv);
		spec[i].one_cpu = i < 2;
		start(&w, &of[i], &spec[i]);
	}
	run(&w);
	world_close(&w);
	(void)snprintf(want, sizeof(want), "%u\n", ours());
	assert_true(strncmp(of[0].out, "1\n", 2) == 0);
	assert_true(strncmp(of[1].out, "1\n", 2) == 0);
	assert_true(strncmp(of[2].out, want, strlen(want)) == 0);
	assert_string_not_equal(of[0].out, of[1].out);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_cpu_gets_its_share),
    cmocka_unit_test(hosts_begin_apart),
    cmocka_unit_test(one_cpu_is_no_choice),
    cmocka_unit_test(cells_get_one_cpu),
};

UNIT_MAIN(tests)
