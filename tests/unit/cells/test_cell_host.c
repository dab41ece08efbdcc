/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cells/cells.h"

#include "cells/crun.h"
#include "cells/internal.h"
#include "tests/unit/forked.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

static void refused_calls_are_reported(void **state)
{
	(void)state;
	run_sh(&seen, "unshare -U true 2>/dev/null; /usr/sbin/chroot / true 2>/dev/null; echo on");
	assert_string_equal(seen.out, "on\n");
	assert_int_equal(seen.n_refused, 2);
	assert_string_equal(seen.refused[0], "unshare");
	assert_string_equal(seen.refused[1], "chroot");
}

/* The program writes as fast as it can. */
static void a_flood_of_refused_calls_waits(void **state)
{
	uint64_t begin = clock_mono_us(), took;

	(void)state;
	run_sh(&seen, "perl -e 'for (1 .. 1000) { socket(my $s, 2, 1, 0) } print \"done\\n\"'");
	took = clock_mono_us() - begin;
	assert_string_equal(seen.out, "done\n");
	assert_int_equal(seen.n_refused, 1000);
	assert_true(took > 350 * USEC_PER_MSEC); /* 200 per tick */
}

/* Output ------------------------------------------------------------------- */

static void a_flood_is_read_at_the_rate(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "head -c 1000000 /dev/zero; echo end", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {.output_bytes_per_s = 1000000};
	struct world w;
	uint64_t took;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	took = clock_mono_us() - seen.first_us;
	world_close(&w);
	assert_int_equal(seen.total, 1000004);
	/* A full pipe is read at once at the end, and a tick's amount at the start. */
	assert_true(took > 700 * USEC_PER_MSEC);
}

static void a_flood_without_limit_is_whole(void **state)
{
	(void)state;
	run_sh(&seen, "head -c 20000000 /dev/zero");
	assert_int_equal(seen.total, 20000000);
}

/* Many, and crun's own failures -------------------------------------------- */

enum { MANY = 20 };

static void many_at_once(void **state)
{
	static struct seen all[MANY];
	char script[96], id[16];
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_host_opts o = {0};
	struct world w;
	/* Without root all cells have the same user. */
	unsigned step = geteuid() == 0;

	(void)state;
	(void)snprintf(script, sizeof(script),
		       "sleep 0.2; exit $(awk '{ print $2 - %u }' /proc/self/uid_map)",
		       (unsigned)cell_user());
	memset(all, 0, sizeof(all));
	world_open(&w, &o);
	for (unsigned i = 0; i < MANY; i++) {
		struct cell_spec spec;

		(void)snprintf(id, sizeof(id), "cell-%u", i);
		spec = cell_spec_for(id, argv);
		spec.uid += i * step;
		spec.gid += i * step;
		start(&w, &all[i], &spec);
	}
	run(&w);
	world_close(&w);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(all[i].ended, 1);
		if (all[i].end.how != CELL_EXITED || all[i].end.code != (int)(i * step))
			fail_msg("cell %u ended with %d, %d: %s%s", i, (int)all[i].end.how,
				 all[i].end.code, all[i].end.why, all[i].out);
	}
}

static void an_id_is_taken_once(void **state)
{
	const char *argv[] = {"/bin/true", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	static const struct cell_ops ops = {.ended = seen_ended};
	struct cell_host_opts o = {0};
	struct cell *second = NULL;
	struct world w;
	struct err e;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	start(&w, &seen, &spec);
	assert_int_equal(cell_start(w.host, &spec, &ops, NULL, &second, &e), -EEXIST);
	run(&w);
	world_close(&w);
	assert_int_equal(seen.end.how, CELL_EXITED); /* the first cell was not affected */
	assert_int_equal(seen.end.code, 0);
}

/* The host's own program is gone before the first start. */
static void cells_start_from_the_copy_of_crun(void **state)
{
	const char *argv[] = {"/bin/true", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	char dir[] = "/tmp/fuzzcell-crun-XXXXXX", path[64], *program;
	struct cell_host_opts o = {.crun = path};
	struct world w;
	struct err e;
	size_t n;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip(); /* a user's crun copies itself */
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(fs_read(AT_FDCWD, "/usr/bin/crun", 64 << 20, &program, &n, &e), 0);
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/crun", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_int_equal(write(fd, program, n), n);
	close(fd);
	free(program);
	world_open(&w, &o);
	assert_int_equal(unlink(path), 0);
	run_cell(&w, &seen, &spec);
	world_close(&w);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(seen.end.how, CELL_EXITED);
	assert_int_equal(seen.end.code, 0);
}

/* A program with the version of crun that fails to run a container. */
static void run_fake_crun(const char *body, uint64_t start_us)
{
	const char *argv[] = {"/bin/true", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {.start_us = start_us};
	char dir[] = "/tmp/fuzzcell-crun-XXXXXX", text[512], path[64];
	struct world w;

	memset(&seen, 0, sizeof(seen));
	assert_non_null(mkdtemp(dir));
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\ncase $1 in --version) echo crun version 1.9;; *) %s;; esac\n",
		       body);
	make_file(dir, "crun", text);
	(void)snprintf(path, sizeof(path), "%s/crun", dir);
	o.crun = path;
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	world_close(&w);
	remove_file(dir, "crun");
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(seen.end.how, CELL_NOT_STARTED);
}

static void crun_that_fails_is_told(void **state)
{
	(void)state;
	run_fake_crun("sleep 1000", 200000 * slow());
	assert_string_equal(seen.end.why, "crun did not start the job before the deadline");
	run_fake_crun("echo 'it broke' > $5; exit 1", 0);
	assert_string_equal(seen.end.why, "it broke");
	run_fake_crun("exit 3", 0);
	assert_string_equal(seen.end.why, "crun ended with status 3 and no message");
	run_fake_crun("kill -9 $$", 0);
	assert_string_equal(seen.end.why, "crun was ended by signal 9");
	run_fake_crun("exit 0", 0); /* and no pid file */
	assert_non_null(strstr(seen.end.why, "pid"));
	run_fake_crun("(sleep 1000 & sleep 1000 & sleep 1000) & sleep 1000 & exit 1", 0);
}

/* Mounts that crun makes at its start, and leaves when it is killed, are removed with the rest:
 * world_close() checks. */
static void what_crun_mounts_does_not_stay(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* a user's crun mounts in its own namespaces only */
	run_fake_crun("f=$_LIBCONTAINER_STATEDIR/crun.x; : > $f; mount --bind $0 $f || exit 3; "
		      "echo mounted > $5; kill -9 $$",
		      0);
	assert_string_equal(seen.end.why, "mounted");
}

static void __attribute__((noreturn)) open_mounts_for_ever(void)
{
	struct err e;
	int fd;

	while (crun_open_mounts(CGROUP_UNIFIED, &fd, &e) == 0 && close(fd) == 0)
		;
	_exit(1);
}

/* The first process of a process namespace: orphans become its children. */
static int kill_at_any_moment(void)
{
	int ws;

	if (!mounts_are_ours() || mount("proc", "/proc", "proc", 0, NULL) < 0)
		return FORKED_SKIP;
	for (long i = 0; i < 20; i++) {
		struct timespec moment = {.tv_nsec = 1000000 + i * 137000};
		pid_t pid = fork();

		if (pid == 0)
			open_mounts_for_ever();
		(void)nanosleep(&moment, NULL); /* at any moment */
		if (pid < 0 || kill(pid, SIGKILL) < 0 || waitpid(pid, &ws, 0) != pid ||
		    !WIFSIGNALED(ws))
			return 1;
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	return 0;
}

static int kill_while_mounts_open(void)
{
	pid_t pid;
	int ws;

	if (unshare(CLONE_NEWPID) < 0)
		return FORKED_SKIP;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(kill_at_any_moment());
	}
	(void)alarm((unsigned)(60 * slow())); /* ends all of them */
	return pid > 0 && waitpid(pid, &ws, 0) == pid && WIFEXITED(ws) ? WEXITSTATUS(ws) : 1;
}

/* A process that stayed would hold the locks of the host that was killed while it started. */
static void killed_while_it_starts_it_leaves_no_process(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* a user has no such namespace */
	forked(kill_while_mounts_open);
}

static void a_missing_or_old_crun_is_refused(void **state)
{
	struct cell_host_opts none = {0}, o = {.runtime_dir = "/tmp/fuzzcell-never-made",
					       .crun = "/no/such/crun"};
	struct cell_host *h = NULL;
	struct world w;
	struct err e;

	(void)state;
	world_open(&w, &none);
	o.tree = w.tree;
	assert_int_equal(cell_host_new(&o, &h, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "apt-get install crun"));
	o.crun = "/bin/echo"; /* prints --version */
	assert_int_equal(cell_host_new(&o, &h, &e), -EPROTONOSUPPORT);
	assert_null(h);
	world_close(&w);
}

/* A shell's limit is a thousand descriptors, which 40 cells use up. */
static void it_takes_the_files_that_it_may_have(void **state)
{
	struct cell_host_opts none = {0};
	struct rlimit before, low, now;
	struct world w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	world_open(&w, &none);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	world_close(&w);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(now.rlim_cur, before.rlim_max);
}

static struct source *look_timer;
static uint64_t usage_before;
static bool looked;

/* The cell stands still at the latest at the first check, and uses no CPU time from then on.  True:
 * the second check saw this. */
static bool stood(struct seen *s)
{
	struct cgroup_counters now;
	struct err e;

	assert_int_equal(cell_read(s->cell, &now, &e), 0);
	if (!looked) {
		looked = true;
		usage_before = now.usage_us;
		assert_int_equal(loop_set_timer(look_timer, clock_mono_us() + 300000 * slow(), &e),
				 0);
		return false;
	}
	assert_in_range(now.usage_us, usage_before, usage_before + 20000 * slow());
	assert_int_equal(s->ended, 0);
	source_remove(look_timer);
	return true;
}

static void look_soon(struct seen *s, void (*look)(void *arg))
{
	struct err e;

	looked = false;
	assert_int_equal(
	    loop_add_timer(s->w->loop, clock_mono_us() + 300000 * slow(), look, s, &look_timer, &e),
	    0);
}

static void look_frozen(void *arg)
{
	struct seen *s = arg;
	struct err e;

	if (!stood(s))
		return;
	assert_int_equal(cell_freeze(s->cell, false, &e), 0);
	assert_int_equal(cell_kill(s->cell, &e), 0);
}

static void freeze_it(struct seen *s)
{
	struct err e;

	assert_int_equal(cell_freeze(s->cell, true, &e), 0);
	look_soon(s, look_frozen);
}

static void a_frozen_cell_stands(void **state)
{
	(void)state;
	run_until("echo ready; while :; do :; done", "ready", freeze_it);
	assert_int_equal(seen.end.how, CELL_SIGNALED);
}

/* A process of the cell passed the mark: nothing in the cell runs before there is memory.  Then the
 * first thread's handler runs. */
static void look_halted(void *arg)
{
	struct seen *s = arg;
	struct err e;

	if (!stood(s))
		return;
	assert_int_equal(cell_signal(s->cell, SIGTERM, &e), 0);
	assert_int_equal(cell_memory_open(s->cell, CELL_FIRST_THREAD, 500 * USEC_PER_MSEC, &e), 0);
}

static bool is_halted;

static void at_mark(struct seen *s, bool halted)
{
	struct err e;

	s->memory = NULL;
	is_halted = halted;
	if (halted)
		look_soon(s, look_halted);
	else /* only reclaimable pages */
		assert_int_equal(cell_kill(s->cell, &e), 0);
}

static struct source *take_timer;

static void take(void *arg)
{
	struct seen *s = arg;
	struct err e;

	assert_int_equal(cell_signal(s->cell, SIGUSR1, &e), 0);
	source_remove(take_timer);
}

/* The first process is not frozen before its number is known. */
static void let_it_take(struct seen *s)
{
	struct err e;

	assert_int_equal(
	    loop_add_timer(s->w->loop, clock_mono_us() + 200000 * slow(), take, s, &take_timer, &e),
	    0);
}

static void pass_mark(const char *on_term)
{
	char script[160];
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;

	(void)snprintf(script, sizeof(script),
		       "trap '%s' TERM; trap 'tail /dev/zero &' USR1; echo ready; "
		       "while :; do :; done",
		       on_term);
	memset(&seen, 0, sizeof(seen));
	seen.when = "ready";
	seen.then = let_it_take;
	seen.memory = at_mark;
	spec.limits.memory_high = 48 << 20;
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	world_close(&w);
}

static void at_its_memory_mark_all_of_a_cell_stands(void **state)
{
	(void)state;
	pass_mark("echo open; exit 7");
	assert_string_equal(seen.out, is_halted ? "ready\nopen\n" : "ready\n");
	assert_int_equal(seen.end.how, is_halted ? CELL_EXITED : CELL_SIGNALED);
	assert_int_equal(seen.end.code, is_halted ? 7 : SIGKILL);
}

/* A further child takes the rest of the memory.  The group's next event comes while the first
 * thread still runs, and must not keep the loop from the cell's end. */
static void an_event_after_the_memory_mark_does_not_hide_the_end(void **state)
{
	(void)state;
	alarm((unsigned)(60 * slow())); /* a loop that never sees the end fails the test */
	pass_mark("tail /dev/zero & sleep 2; exit 7");
	alarm(0);
	assert_true(seen.end.how == CELL_EXITED || seen.end.how == CELL_SIGNALED);
}

static struct source *open_timer;

static void open_now(void *arg)
{
	struct seen *s = arg;
	struct err e;

	if (s->cell->state < RUNNING) {
		assert_int_equal(loop_set_timer(open_timer, clock_mono_us() + 10000, &e), 0);
		return;
	}
	source_remove(open_timer);
	assert_int_equal(cell_signal(s->cell, SIGTERM, &e), 0);
	assert_int_equal(cell_memory_open(s->cell, CELL_FIRST_THREAD, 500 * USEC_PER_MSEC, &e), 0);
}

/* The cell may print before crun has ended.  Until then the call chooses no thread. */
static void open_it(struct seen *s)
{
	struct err e;

	assert_int_equal(loop_add_timer(s->w->loop, clock_mono_us(), open_now, s, &open_timer, &e),
			 0);
}

/* The shell takes the signal when its child has ended, as the parent of a vfork(2) does. */
static void its_memory_opened_without_a_halt_the_first_thread_is_alone(void **state)
{
	(void)state;
	alarm((unsigned)(60 * slow())); /* otherwise the child would continue to sleep */
	run_until("trap 'echo open; exit 7' TERM; sh -c 'echo ready; sleep 1000'; :", "ready",
		  open_it);
	alarm(0);
	assert_non_null(strstr(seen.out, "open\n"));
	assert_int_equal(seen.end.how, CELL_EXITED);
	assert_int_equal(seen.end.code, 7);
}

static uid_t null_owner(void)
{
	struct stat st;

	assert_int_equal(stat("/dev/null", &st), 0);
	return st.st_uid;
}

/* crun gives its own standard streams to the cell's user. */
static void the_machines_null_stays_roots(void **state)
{
	struct cell_host_opts o = {0};
	struct world w;

	(void)state;
	if (geteuid() != 0 || chown("/dev/null", CELL_UID, CELL_UID) < 0)
		skip();
	world_open(&w, &o); /* removes the remains of an older version */
	world_close(&w);
	assert_int_equal(null_owner(), 0);
	run_sh(&seen, "echo >/dev/null; chmod 666 /dev/null 2>/dev/null || echo refused");
	assert_string_equal(seen.out, "refused\n");
	assert_int_equal(null_owner(), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_machines_null_stays_roots),
    cmocka_unit_test(refused_calls_are_reported),
    cmocka_unit_test(a_flood_of_refused_calls_waits),
    cmocka_unit_test(a_flood_is_read_at_the_rate),
    cmocka_unit_test(a_flood_without_limit_is_whole),
    cmocka_unit_test(many_at_once),
    cmocka_unit_test(an_id_is_taken_once),
    cmocka_unit_test(cells_start_from_the_copy_of_crun),
    cmocka_unit_test(crun_that_fails_is_told),
    cmocka_unit_test(what_crun_mounts_does_not_stay),
    cmocka_unit_test(killed_while_it_starts_it_leaves_no_process),
    cmocka_unit_test(a_missing_or_old_crun_is_refused),
    cmocka_unit_test(it_takes_the_files_that_it_may_have),
    cmocka_unit_test(a_frozen_cell_stands),
    cmocka_unit_test(at_its_memory_mark_all_of_a_cell_stands),
    cmocka_unit_test(an_event_after_the_memory_mark_does_not_hide_the_end),
    cmocka_unit_test(its_memory_opened_without_a_halt_the_first_thread_is_alone),
};

UNIT_MAIN(tests)
