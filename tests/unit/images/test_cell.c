/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/images/cells.h"

static struct seen seen;

static void exit_codes_and_output_arrive(void **state)
{
	static const struct {
		const char *script;
		int code;
		const char *out;
	} t[] = {
	    {"true", 0, ""},
	    {"exit 77", 77, ""},
	    {"echo a; echo b >&2; echo c", 0, "a\nb\nc\n"},
	    {"printf 'no newline'", 0, "no newline"},
	    {"echo $0 $HOME-$PATH; pwd", 0, "/bin/sh /tmp-/usr/bin:/bin\n/tmp\n"},
	    {"cat", 0, ""},
	    {"id -u; id -un; hostname", 0, "0\nroot\ncell\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		run_sh(&seen, t[i].script);
		assert_string_equal(seen.out, t[i].out);
		assert_int_equal(seen.end.how, CELL_EXITED);
		assert_int_equal(seen.end.code, t[i].code);
		assert_string_equal(seen.end.why, "");
		assert_int_equal(seen.n_refused, 0);
	}
}

/* Each script says what it finds; a wall that is missing changes the text. */
static void walls_hold(void **state)
{
	static const struct {
		const char *script;
		const char *out;
	} t[] = {
	    {"grep -c : /proc/net/dev; grep -o 'lo:' /proc/net/dev", "1\nlo:\n"},
	    {"cat /proc/self/uid_map | tr -s ' '", " 0 1700000 1\n"},
	    {"cat /proc/self/gid_map | tr -s ' '", " 0 1700000 1\n"},
	    {"grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status | tr '\\t' ' '",
	     "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
	     "CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"},
	    {"for d in / /etc /dev /usr /proc /sys; do touch $d/x 2>/dev/null && echo $d; done",
	     ""},
	    {"echo $$; ls /proc | grep -c '^[0-9]'", "1\n3\n"},
	    {"cat /proc/kcore /proc/timer_list /proc/keys /proc/kallsyms 2>/dev/null | wc -c",
	     "0\n"},
	    {"(echo 1 > /proc/sys/vm/drop_caches) 2>/dev/null || echo ro", "ro\n"},
	    {"ls /sys /run | tr '\\n' ' '", "/run:  /sys: "},
	    {"ls /etc | tr '\\n' ' '; cat /etc/passwd",
	     "alternatives group ld.so.cache ld.so.conf ld.so.conf.d passwd "
	     "root:x:0:0:root:/tmp:/bin/sh\n"},
	    {"ls / | tr '\\n' ' ' | sed 's/lib[0-9a-z]* //g'",
	     "bin dev etc proc run sbin sys tmp usr "},
	    {"for d in null zero full random urandom; do test -c /dev/$d && echo -n $d' '; done",
	     "null zero full random urandom "},
	    {"for d in mem kmsg sda vda ptmx pts mqueue console fuse kvm; do test -e /dev/$d && "
	     "echo $d; done",
	     ""},
	    {"ls -l /proc/self/fd | grep -c -- '->'; ls /proc/1/fd | tr '\\n' ' '", "4\n0 1 2 "},
	    {"readlink /proc/self/fd/0", "/dev/null\n"},
	    {"ulimit -c; ulimit -n; ulimit -f; cat /proc/self/oom_score_adj",
	     "0\n64\n131072\n1000\n"},
	    {"cp /bin/true /tmp/t; chmod +x /tmp/t; /tmp/t 2>/dev/null; echo $?", "126\n"},
	    {"mkdir /dev/shm/d && echo shm", "shm\n"},
	    {"cat /proc/self/cgroup | sed 's/.*://' | sort -u", "/\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		run_sh(&seen, t[i].script);
		assert_string_equal(seen.out, t[i].out);
	}
}

static void limits_hold(void **state)
{
	(void)state;
	run_sh(&seen, "dd if=/dev/zero of=/tmp/x bs=1M count=8 2>/dev/null; stat -c %s /tmp/x");
	assert_string_equal(seen.out, "4194304\n");

	run_sh(&seen, "ulimit -c; x=/tmp/f; i=0; while mkdir $x$i 2>/dev/null; do i=$((i+1)); "
		      "done; test $i -lt 1100 && echo bounded");
	assert_string_equal(seen.out, "0\nbounded\n");
}

static void memory_is_limited_and_counted(void **state)
{
	(void)state;
	run_sh(&seen, "tail /dev/zero; echo $?");
	/* The kernel ends tail alone, or with it the whole cell. */
	assert_true(seen.end.how == CELL_SIGNALED ? seen.end.code == 9
						  : strcmp(seen.out, "Killed\n137\n") == 0);
	assert_true(seen.end.last.oom_kills >= 1);
	assert_in_range(seen.end.last.mem_peak, 32 << 20, 64 << 20);
}

static void processes_are_limited_and_counted(void **state)
{
	(void)state;
	run_sh(&seen, "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done; wait");
	assert_int_not_equal(seen.end.code, 0);
	assert_true(seen.end.last.pids_refused >= 1);
}

static void signals_end_it(void **state)
{
	(void)state;
	run_sh(&seen, "ulimit -v 4000; exec /bin/sh -c 'kill -9 $$; echo first process'");
	assert_string_equal(seen.out, "first process\n"); /* PID 1 cannot kill itself */
}

static void kill_it(struct seen *s)
{
	struct err e;

	assert_int_equal(cell_kill(s->cell, &e), 0);
}

static void term_it(struct seen *s)
{
	struct err e;

	assert_int_equal(cell_signal(s->cell, 15, &e), 0);
}

static void run_until(const char *script, const char *when, void (*then)(struct seen *s))
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;

	memset(&seen, 0, sizeof(seen));
	seen.when = when;
	seen.then = then;
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	world_close(&w);
}

static void kill_ends_all(void **state)
{
	(void)state;
	run_until("trap '' 1 2 3 15; (trap '' 15; sleep 1000) & echo ready; while :; do :; done",
		  "ready", kill_it);
	assert_int_equal(seen.end.how, CELL_SIGNALED);
	assert_int_equal(seen.end.code, 9);
}

static void a_signal_reaches_its_handler(void **state)
{
	(void)state;
	run_until("trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
		  "ready", term_it);
	assert_string_equal(seen.out, "ready\ncaught\n");
	assert_int_equal(seen.end.code, 3);
}

static void kill_while_starting(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "echo x; sleep 1000", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;
	struct err e;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	start(&w, &seen, &spec);
	assert_int_equal(cell_signal(seen.cell, 15, &e), -ESRCH);
	assert_int_equal(cell_kill(seen.cell, &e), 0);
	run(&w);
	world_close(&w);
	assert_int_equal(seen.ended, 1);
	assert_int_equal(seen.end.how, CELL_NOT_STARTED);
	assert_string_equal(seen.end.why, "killed while it was starting");
}

struct delayed {
	struct seen *seen;
	struct source *timer;
};

static void kill_later(void *arg)
{
	struct delayed *d = arg;
	struct err e;

	if (d->seen->cell)
		assert_int_equal(cell_kill(d->seen->cell, &e), 0);
}

/* Through all that crun does: every 500 us of its start, and beyond. */
static void kill_at_any_moment(void **state)
{
	enum { N = 40, STEP_US = 500 };
	const char *argv[] = {"/bin/sh", "-c", "sleep 0.01; sleep 1000", NULL};
	unsigned hows[3] = {0};

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		struct cell_spec spec = cell_spec_for("one", argv);
		struct cell_host_opts o = {0};
		struct delayed d = {.seen = &seen};
		struct world w;
		struct err e;

		memset(&seen, 0, sizeof(seen));
		world_open(&w, &o);
		start(&w, &seen, &spec);
		assert_int_equal(loop_add_timer(w.loop, clock_mono_us() + i * STEP_US * slow(),
						kill_later, &d, &d.timer, &e),
				 0);
		run(&w);
		source_remove(d.timer);
		world_close(&w);
		hows[seen.end.how]++;
	}
	print_message("# killed at %u moments: %u before, %u after the start\n", N,
		      hows[CELL_NOT_STARTED], hows[CELL_SIGNALED]);
	assert_int_equal(hows[CELL_EXITED], 0);
	assert_true(hows[CELL_NOT_STARTED] > 0 && hows[CELL_SIGNALED] > 0);
}

static void what_cannot_start_says_why(void **state)
{
	static const char *const argv[] = {"/no/such/program", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	world_close(&w);
	assert_int_equal(seen.end.how, CELL_NOT_STARTED);
	assert_non_null(strstr(seen.end.why, "/no/such/program"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exit_codes_and_output_arrive),
	    cmocka_unit_test(walls_hold),
	    cmocka_unit_test(limits_hold),
	    cmocka_unit_test(memory_is_limited_and_counted),
	    cmocka_unit_test(processes_are_limited_and_counted),
	    cmocka_unit_test(signals_end_it),
	    cmocka_unit_test(kill_ends_all),
	    cmocka_unit_test(a_signal_reaches_its_handler),
	    cmocka_unit_test(kill_while_starting),
	    cmocka_unit_test(kill_at_any_moment),
	    cmocka_unit_test(what_cannot_start_says_why),
	};

	alarm(UNIT_WATCHDOG_S);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
