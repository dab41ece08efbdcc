/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cells/cells.h"

#include <signal.h>

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

/* Each script prints what it finds; a missing isolation changes the text. */
static void walls_hold(void **state)
{
	static const struct {
		const char *script;
		const char *out;
	} t[] = {
	    {"grep -c : /proc/net/dev; grep -o 'lo:' /proc/net/dev", "1\nlo:\n"},
	    {"grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status | tr '\\t' ' '",
	     "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
	     "CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"},
	    {"for d in / /etc /dev /usr /proc /sys; do touch $d/x 2>/dev/null && echo $d; done",
	     ""},
	    {"set -- /proc/[0-9]*; echo $#", "2\n"},
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
	    {"ls -l /proc/self/fd | grep -c -- '->'", "4\n"},
	    /* Process 1 is fuzzcell's, and has the same user. */
	    {"cd /proc/1; for f in fd/3 exe cwd; do readlink $f && echo $f; done; cat mem environ "
	     "2>/dev/null",
	     ""},
	    {"kill -9 1; kill -STOP 1; kill -TERM 1; kill 0; echo on", ""},
	    {"trap '' TERM; kill -9 1; kill -STOP 1; kill -TERM 1; kill 0; echo on", "on\n"},
	    {"readlink /proc/self/fd/0 | sed 's/:.*//'", "pipe\n"},
	    {"chmod 666 /dev/null 2>&1 || stat -c %u /dev/null",
	     "chmod: changing permissions of '/dev/null': Operation not permitted\n65534\n"},
	    {"ulimit -c; ulimit -n; ulimit -f; cat /proc/self/oom_score_adj",
	     "0\n64\n131072\n1000\n"},
	    {"(echo 0 > /proc/self/oom_score_adj) 2>/dev/null || echo kept", "kept\n"},
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

static void root_inside_is_one_user_outside(void **state)
{
	char want[64];

	(void)state;
	run_sh(&seen, "cat /proc/self/uid_map /proc/self/gid_map | tr -s ' '");
	(void)snprintf(want, sizeof(want), " 0 %u 1\n 0 %u 1\n", (unsigned)cell_user(),
		       (unsigned)cell_group());
	assert_string_equal(seen.out, want);
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

/* The kernel's own limit: it holds even if fuzzcell and its keeper are stopped. */
static void cpu_time_is_limited(void **state)
{
	static const char *const argv[] = {"/bin/sh", "-c", "trap '' XCPU; while :; do :; done",
					   NULL};
	struct cell_spec spec = cell_spec_for("cpu", argv);
	struct world w = {0};

	(void)state;
	world_open(&w, &(struct cell_host_opts){0});
	memset(&seen, 0, sizeof(seen));
	spec.cpu_s = 1;
	run_cell(&w, &seen, &spec);
	assert_int_equal(seen.end.how, CELL_SIGNALED);
	assert_int_equal(seen.end.code, SIGKILL);
	assert_in_range(seen.end.last.usage_us, 500 * USEC_PER_MSEC, 3 * USEC_PER_SEC);
	assert_false(seen.end.overdue);
	world_close(&w);
}

static unsigned most_fds;

static void count_fds(struct seen *s)
{
	(void)s;
	if (open_fds() > most_fds)
		most_fds = open_fds();
}

/* The admission of cells uses this number. */
static void a_cell_holds_few_descriptors(void **state)
{
	static const char *const argv[] = {"/bin/sh", "-c", "echo up; sleep 1; echo more", NULL};
	struct cell_spec spec = cell_spec_for("fds", argv);
	struct world w = {0};
	unsigned before;

	(void)state;
	world_open(&w, &(struct cell_host_opts){0});
	spec.limits.memory_high = 56 << 20; /* the cell's memory mark is watched, too */
	memset(&seen, 0, sizeof(seen));
	seen.when = "up";
	seen.then = count_fds;
	before = open_fds();
	start(&w, &seen, &spec);
	count_fds(&seen);
	run(&w);
	print_message("# a cell: %u descriptors\n", most_fds - before);
	assert_in_range(most_fds - before, 1, CELL_DESCRIPTORS);
	assert_in_range(open_fds(), before,
			before + 2); /* the loop opens descriptors of its own when needed */
	world_close(&w);
}

static void memory_is_limited_and_counted(void **state)
{
	(void)state;
	run_sh(&seen, "tail /dev/zero; echo $?");
	/* The kernel kills tail alone, or the whole cell. */
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

/* The kernel drops such a signal for process 1, but not for the program. */
static void a_signal_of_its_own_ends_it(void **state)
{
	static const int signals[] = {SIGHUP,  SIGINT,	SIGKILL, SIGPIPE, SIGALRM,
				      SIGTERM, SIGXCPU, SIGSEGV, SIGBUS,  SIGABRT,
				      SIGILL,  SIGFPE,	SIGTRAP, SIGSYS,  SIGUSR1};
	char script[96];

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		(void)snprintf(script, sizeof(script), "trap - %d; kill -%d $$; echo lives",
			       signals[i] == SIGKILL ? SIGTERM : signals[i], signals[i]);
		run_sh(&seen, script);
		assert_string_equal(seen.out, "");
		assert_int_equal(seen.end.how, CELL_SIGNALED);
		assert_int_equal(seen.end.code, signals[i]);
	}
	run_sh(&seen, "exit 137");
	assert_int_equal(seen.end.how, CELL_EXITED);
	assert_int_equal(seen.end.code, 137);
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

static void kill_ends_all(void **state)
{
	(void)state;
	run_until("trap '' 1 2 3 15; (trap '' 15; sleep 1000) & echo ready; while :; do :; done",
		  "ready", kill_it);
	/* crun may still run when the program's first output arrives. */
	assert_true(seen.end.how == CELL_NOT_STARTED ||
		    (seen.end.how == CELL_SIGNALED && seen.end.code == 9));
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
	assert_int_equal(cell_signal(seen.cell, 15, &e), 0);
	assert_int_equal(cell_kill(seen.cell, &e), 0);
	run(&w);
	world_close(&w);
	assert_int_equal(seen.ended, 1);
	if (seen.end.how == CELL_SIGNALED) /* crun was faster than this test */
		assert_int_equal(seen.end.code, 9);
	else
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

/* The time from the start of a cell to its first output, without other load. */
static uint64_t usual_start_us(void)
{
	const char *argv[] = {"/bin/echo", "up", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;
	uint64_t begin;

	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	begin = clock_mono_us();
	run_cell(&w, &seen, &spec);
	world_close(&w);
	return seen.first_us - begin;
}

static enum cell_how killed_after(uint64_t us)
{
	const char *argv[] = {"/bin/sh", "-c", "sleep 0.01; sleep 1000", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct delayed d = {.seen = &seen};
	struct world w;
	struct err e;

	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	start(&w, &seen, &spec);
	assert_int_equal(loop_add_timer(w.loop, clock_mono_us() + us, kill_later, &d, &d.timer, &e),
			 0);
	run(&w);
	source_remove(d.timer);
	world_close(&w);
	return seen.end.how;
}

/* The signal comes at any step of crun, or after it; a late timer misses the start. */
static void kill_at_any_moment(void **state)
{
	enum { N = 40 };
	uint64_t last = usual_start_us() * 3;
	unsigned hows[3] = {0};

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		hows[killed_after(last * i / N)]++;
	for (unsigned i = 0; i < N && hows[CELL_NOT_STARTED] == 0; i++)
		hows[killed_after(0)]++;
	print_message("# killed at %u moments: %u before, %u after the start\n", (unsigned)N,
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
	assert_string_equal(seen.end.why, "execute '/no/such/program': No such file or directory");
}

/* Mounts ------------------------------------------------------------------ */

struct dirs {
	char in[96], out[96], tool[96];
};

static const char mounts_script[] = "cat /in/text; echo new > /out/deep/file && echo written; "
				    "(echo no > /in/new) 2>/dev/null || echo ro; "
				    "/in/tool 2>/dev/null || echo noexec; /tool/tool; cat /tmp/one";

static void mounts_are_as_told(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", mounts_script, NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;
	struct dirs d;
	char file[160];

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	make_dir(&w, "in", CELL_UID, d.in);
	make_dir(&w, "out", CELL_UID, d.out);
	make_dir(&w, "tool", 0, d.tool);
	make_file(d.in, "text", "text\n");
	make_file(d.in, "tool", "#!/bin/sh\necho ran\n");
	make_file(d.tool, "tool", "#!/bin/sh\necho ran\n");
	(void)snprintf(file, sizeof(file), "%s/text", d.in);
	spec.mounts = (const struct cell_mount[]){{d.in, "/in", false, false},
						  {d.out, "/out/deep", true, false},
						  {d.tool, "/tool", false, true},
						  {file, "/tmp/one", false, false}};
	spec.n_mounts = 4;
	run_cell(&w, &seen, &spec);
	remove_file(d.in, "text");
	remove_file(d.in, "tool");
	remove_file(d.tool, "tool");
	remove_file(d.out, "file"); /* fails unless the program wrote the file */
	assert_int_equal(rmdir(d.in) + rmdir(d.out) + rmdir(d.tool), 0);
	world_close(&w);
	assert_string_equal(seen.out, "text\nwritten\nro\nnoexec\nran\ntext\n");
}

/* Compares the stack addresses of two runs: the chance of equal ones is 2^-30. */
static void addresses_are_fixed_when_told(void **state)
{
	const char *argv[] = {"/usr/bin/sed", "-n", "s/ .*stack.*//p", "/proc/self/maps", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	char first[64];
	struct world w;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		spec.fixed_addresses = i >= 2;
		memset(&seen, 0, sizeof(seen));
		world_open(&w, &o);
		run_cell(&w, &seen, &spec);
		world_close(&w);
		assert_true(strlen(seen.out) > 16 && strlen(seen.out) < sizeof(first));
		if (i % 2 == 0)
			memcpy(first, seen.out, strlen(seen.out) + 1);
		else
			assert_int_equal(strcmp(first, seen.out) == 0, spec.fixed_addresses);
	}
}

/* A root directory of the test: two directories, a link, and no mount points. */
static void any_directory_can_be_the_root(void **state)
{
	const char *argv[] = {"/usr/bin/ls", "/", "/etc", "/lib64/", "/new/deep", NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_mount usr_mount = {"/usr", "/new/deep", false, true};
	struct cell_host_opts o = {0};
	char root[96], etc[120], link[120];
	struct world w;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	world_open(&w, &o);
	make_dir(&w, "root", 0, root);
	make_dir(&w, "root/etc", 0, etc);
	make_file(etc, "only", "x");
	(void)snprintf(link, sizeof(link), "%s/usr", root);
	assert_int_equal(symlink("new/deep", link), 0);
	(void)snprintf(link, sizeof(link), "%s/lib64", root);
	assert_int_equal(symlink("usr/lib64", link), 0);
	(void)snprintf(link, sizeof(link), "%s/lib", root);
	assert_int_equal(symlink("usr/lib", link), 0);
	spec.rootfs = root;
	spec.mounts = &usr_mount;
	spec.n_mounts = 1;
	run_cell(&w, &seen, &spec);
	remove_file(etc, "only");
	remove_file(root, "lib64");
	remove_file(root, "lib");
	remove_file(root, "usr");
	assert_int_equal(rmdir(etc) + rmdir(root), 0);
	world_close(&w);
	assert_non_null(
	    strstr(seen.out, "/:\ndev\netc\nlib\nlib64\nnew\nproc\nrun\nsys\ntmp\nusr\n"));
	assert_non_null(strstr(seen.out, "/etc:\nonly\n"));
}

static void wrong_specs_are_refused(void **state)
{
	static const char *const argv[] = {"/bin/true", NULL};
	static const struct cell_mount in_proc[] = {{"/usr", "/proc/x", false, false}};
	static const struct cell_mount dots[] = {{"/usr", "/a/../b", false, false}};
	static const struct cell_mount in_link[] = {{"/usr", "/lib/x", false, false}};
	static const struct cell_mount in_usr[] = {{"/usr", "/usr/no-such", false, false}};
	static const struct cell_mount no_source[] = {{"/no-such", "/x", false, false}};
	const struct {
		const char *id;
		uid_t uid;
		const struct cell_mount *mount;
		int want;
		const char *message;
	} t[] = {
	    {"", 1, NULL, -EINVAL, "id"},
	    {"-a", 1, NULL, -EINVAL, "id"},
	    {"a/b", 1, NULL, -EINVAL, "id"},
	    {"root", 0, NULL, -EINVAL, "root"},
	    {"a", 1, in_proc, -EINVAL, "/proc/x"},
	    {"a", 1, dots, -EINVAL, "/a/../b"},
	    {"a", 1, in_link, -EINVAL, "link"},
	    {"a", 1, in_usr, -ENOENT, "/usr/no-such"},
	    {"a", 1, no_source, -ENOENT, "/no-such"},
	};
	static const struct cell_ops ops = {.ended = seen_ended};
	struct cell_host_opts o = {0};
	struct world w;

	(void)state;
	world_open(&w, &o);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cell_spec spec = cell_spec_for(t[i].id, argv);
		struct cell *c = NULL;
		struct err e;

		if (t[i].uid == 0)
			spec.uid = 0;
		spec.mounts = t[i].mount;
		spec.n_mounts = t[i].mount ? 1 : 0;
		assert_int_equal(cell_start(w.host, &spec, &ops, NULL, &c, &e), t[i].want);
		if (!strstr(e.msg, t[i].message))
			fail_msg("'%s' does not contain '%s'", e.msg, t[i].message);
		assert_null(c);
	}
	world_close(&w);
}

/* System calls ------------------------------------------------------------- */

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(exit_codes_and_output_arrive),
    cmocka_unit_test(walls_hold),
    cmocka_unit_test(root_inside_is_one_user_outside),
    cmocka_unit_test(limits_hold),
    cmocka_unit_test(cpu_time_is_limited),
    cmocka_unit_test(a_cell_holds_few_descriptors),
    cmocka_unit_test(memory_is_limited_and_counted),
    cmocka_unit_test(processes_are_limited_and_counted),
    cmocka_unit_test(a_signal_of_its_own_ends_it),
    cmocka_unit_test(kill_ends_all),
    cmocka_unit_test(a_signal_reaches_its_handler),
    cmocka_unit_test(kill_while_starting),
    cmocka_unit_test(kill_at_any_moment),
    cmocka_unit_test(what_cannot_start_says_why),
    cmocka_unit_test(mounts_are_as_told),
    cmocka_unit_test(addresses_are_fixed_when_told),
    cmocka_unit_test(any_directory_can_be_the_root),
    cmocka_unit_test(wrong_specs_are_refused),
};

UNIT_MAIN(tests)
