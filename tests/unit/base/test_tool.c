/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/each.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/tool.h"

#include <linux/keyctl.h>
#include <pty.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int add(void *arg, struct slice block, struct err *e)
{
	buf_put(arg, block);
	return buf_check(arg, e);
}

/* Runs sh -c SCRIPT in the test's directory; its output is in out (NULL: ignored). */
static int sh(const char *script, struct buf *out, struct tool t, struct tool_end *end,
	      struct err *e)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	t.argv = argv;
	t.dir = dir.fd;
	if (out) {
		t.out = add;
		t.arg = out;
	}
	return tool_run(&t, end, e);
}

static const struct tool plain = {.log_fd = -1};

static bool has_errors(const struct tool_end *end, const char *text)
{
	return slice_eq((struct slice){end->errors, end->errors_n}, slice_of(text));
}

static void test_ends(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(100);
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("echo out; echo err >&2; exit 3", &out, plain, &end, &e), 0);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 3);
	assert_string_equal(buf_str(&out), "out\n");
	assert_true(has_errors(&end, "err\n"));
	assert_int_equal(end.signo, 0);
	/* Without a sink for stderr, both streams are the output.  A death by a signal is an end,
	 * too. */
	assert_int_equal(sh("echo out; echo err >&2; kill -9 $$", NULL, plain, &end, &e), 0);
	assert_true(WIFSIGNALED(end.status));
	assert_true(has_errors(&end, "out\nerr\n"));
}

static void test_where(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(1000);
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("pwd", &out, plain, &end, &e), 0);
	assert_int_equal(strncmp(buf_str(&out), dir.path, strlen(dir.path)), 0);
}

/* A token in our environment is not passed to the tool. */
static void test_environment(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(10000);
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(setenv("UNIT_TEST_TOKEN", "secret", 1), 0);
	assert_int_equal(setenv("CC", "our-cc", 1), 0);
	assert_int_equal(setenv("HOME", "/our/home", 1), 0);
	assert_int_equal(sh("env", &out, plain, &end, &e), 0);
	assert_null(strstr(buf_str(&out), "secret"));
	assert_non_null(strstr(buf_str(&out), "CC=our-cc\n"));
	assert_non_null(strstr(buf_str(&out), "HOME=/our/home\n"));
	assert_non_null(strstr(buf_str(&out), "PATH="));
}

/* More variables come on top of ours, and of the owner's. */
static void test_more_environment(void **state)
{
	static char name[] = "user", home[] = "/their/home";
	_autostrv_ struct strv env = {0};
	const struct owner them = {.other = true, .name = name, .home = home};
	CLEANUP(tool_env_done) struct tool_env filled = {.n = 0};
	_autobuf_ struct buf out = BUF_INIT(10000);
	struct tool t = plain;
	struct tool_end end;
	size_t n;
	struct err e;

	(void)state;
	strv_push(&env, "CC=clang");
	strv_push(&env, "OUT=/a=b");
	assert_int_equal(setenv("CC", "our-cc", 1), 0);
	t.env = &env;
	assert_int_equal(sh("env; echo $CC", &out, t, &end, &e), 0);
	assert_non_null(strstr(buf_str(&out), "CC=clang\n"));
	assert_non_null(strstr(buf_str(&out), "\nclang\n"));
	assert_non_null(strstr(buf_str(&out), "OUT=/a=b\n"));
	assert_null(strstr(buf_str(&out), "our-cc"));
	tool_env_fill(&filled, &them, &env);
	n = filled.n;
	assert_string_equal(filled.v[n - 1], "OUT=/a=b");
	tool_env_set(&filled, "OUT=/c");
	assert_int_equal(filled.n, n);
	assert_string_equal(filled.v[n - 1], "OUT=/c");
	tool_env_set(&filled, "OU=/d"); /* another name */
	assert_int_equal(filled.n, n + 1);
	assert_null(filled.v[n + 1]);
}

static void own(struct owner *o)
{
	_autoclose_ int fd = -1;
	struct err e;

	owner_done(o);
	if (owner_open(dir.path, o, &fd, &e) < 0)
		fail_msg("%s", e.msg);
}

/* A process that inherits a session keyring may read its keys, whichever user owns them. */
static void test_keyring(void **state)
{
	static const char look[] = "grep -c fuzzcell-test-key /proc/keys";
	CLEANUP(owner_done) struct owner o = {0};
	const struct tool them = {.log_fd = -1, .owner = &o};
	_autobuf_ struct buf ours = BUF_INIT(100);
	_autobuf_ struct buf theirs = BUF_INIT(100);
	struct tool_end end;
	struct err e;

	(void)state;
	if (geteuid() != 0 || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
	    syscall(SYS_add_key, "user", "fuzzcell-test-key", "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
		skip();
	assert_int_equal(chown(dir.path, 65534, 65534), 0);
	own(&o);
	assert_int_equal(sh(look, &ours, plain, &end, &e), 0);
	assert_string_equal(buf_str(&ours), "1\n");
	assert_int_equal(sh(look, &theirs, them, &end, &e), 0);
	assert_string_equal(buf_str(&theirs), "0\n");
}

static void test_owner(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(1000);
	CLEANUP(owner_done) struct owner o = {0};
	struct tool t = {.log_fd = -1, .owner = &o};
	struct tool_end end;
	struct err e;

	(void)state;
	own(&o);
	assert_false(o.other); /* the directory is our own */
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(dir.path, 65534, 65534), 0);
	own(&o);
	assert_true(o.other);
	assert_string_equal(o.name, "nobody");
	assert_int_equal(sh("id -u; id -G; echo $USER; echo > made; kill -0 $PPID || echo no", &out,
			    t, &end, &e),
			 0);
	assert_string_equal(buf_str(&out), "65534\n65534\nnobody\nno\n");
	assert_true(scratch_has(dir.fd, "made"));
	/* The directory's group does not apply when the user is no member of it. */
	buf_clear(&out);
	assert_int_equal(chown(dir.path, 65534, 42), 0);
	own(&o);
	assert_int_equal(sh("id -G", &out, t, &end, &e), 0);
	assert_string_equal(buf_str(&out), "65534\n");
	/* A user without an account, and a directory that still has root's group. */
	buf_clear(&out);
	assert_int_equal(chown(dir.path, 4321, 0), 0);
	own(&o);
	assert_int_equal(sh("id -u; id -g; id -G", &out, t, &end, &e), 0);
	assert_string_equal(buf_str(&out), "4321\n65534\n65534\n");
}

/* Runs the tool in a session with root's terminal: 'y' when the tool could open the terminal. */
static char opens_terminal(const struct tool *t)
{
	_autobuf_ struct buf out = BUF_INIT(100);
	struct tool_end end;
	struct err e;

	if (sh("if (: </dev/tty) 2>/dev/null; then echo y; else echo n; fi", &out, *t, &end, &e) <
	    0)
		return 'e';
	return buf_str(&out)[0];
}

/* A process that shares our terminal can type into it. */
static void test_terminal(void **state)
{
	CLEANUP(owner_done) struct owner o = {0};
	const struct tool us = {.log_fd = -1}, them = {.log_fd = -1, .owner = &o};
	_autoclose_ int leader = -1;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(dir.path, 4321, 4321), 0);
	own(&o);
	pid = forkpty(&leader, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0) {
		/* The same with permissions for every user. */
		bool open = fchmod(STDIN_FILENO, 0666) == 0;

		_exit(!open			     ? 1
		      : opens_terminal(&us) != 'y'   ? 2
		      : opens_terminal(&them) != 'n' ? 3
						     : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool is_gone(pid_t pid)
{
	char path[40], text[400] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	scratch_text(AT_FDCWD, path, text, sizeof(text));
	return !*text || strstr(text, ") Z ");
}

static void gone_soon(pid_t pid)
{
	uint64_t end = clock_mono_us() + 5 * USEC_PER_SEC;

	while (!is_gone(pid) && clock_mono_us() < end)
		usleep(10000); /* allow: a test */
	assert_true(is_gone(pid));
}

static void test_time(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(100);
	struct tool t = {.log_fd = -1, .time_us = 300000};
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("sleep 100 & echo $!; wait", &out, t, &end, &e), -ETIMEDOUT);
	assert_string_equal(e.msg, "sh: took more than 300ms");
	assert_true(end.us >= 300000 && end.us < 5 * USEC_PER_SEC);
	gone_soon((pid_t)atol(buf_str(&out))); /* allow: a test */
}

/* Processes that stay in the tool's process group are ended.  A daemon that left the group is not
 * waited for, although it holds the pipes. */
static void test_left_behind(void **state)
{
	_autobuf_ struct buf out = BUF_INIT(100);
	struct tool_end end;
	struct err e;
	pid_t pid;

	(void)state;
	assert_int_equal(sh("sleep 100 & echo $!", &out, plain, &end, &e), 0);
	assert_true(end.us < 10 * USEC_PER_SEC);
	gone_soon((pid_t)atol(buf_str(&out))); /* allow: a test */
	buf_clear(&out);
	assert_int_equal(sh("trap 'echo $!; exit' USR1; "
			    "setsid sh -c 'kill -USR1 $PPID; exec sleep 60' & wait; wait",
			    &out, plain, &end, &e),
			 0);
	assert_true(end.us < 30 * USEC_PER_SEC);
	pid = (pid_t)atol(buf_str(&out)); /* allow: a test */
	assert_true(pid > 0);
	assert_false(is_gone(pid));
	assert_int_equal(kill(pid, SIGKILL), 0);
	gone_soon(pid);
}

static int refuse(void *arg, struct slice block, struct err *e)
{
	*(size_t *)arg += block.n;
	return err_set(e, EFBIG, "too much");
}

static void test_sink_fails(void **state)
{
	static const char *const argv[] = {"yes", NULL};
	size_t n = 0;
	struct tool t = {.argv = argv, .dir = dir.fd, .out = refuse, .arg = &n, .log_fd = -1};
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(tool_run(&t, &end, &e), -EFBIG);
	assert_string_equal(e.msg, "yes: too much");
	assert_true(n > 0 && n <= 65536); /* the tool is run once */
}

static void test_log(void **state)
{
	_autoclose_ int log = openat(dir.fd, "log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct tool t = {.log_fd = log, .log_max = 6};
	char text[100];
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("echo 12345678 >&2", NULL, t, &end, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "log", text, sizeof(text)), "123456");
	assert_int_equal(end.log_lost, 3);
	assert_true(has_errors(&end, "12345678\n"));
	/* Of much output the end is kept. */
	assert_int_equal(sh("seq 100000; echo last", NULL, t, &end, &e), 0);
	assert_int_equal(end.errors_n, TOOL_ERRORS_MAX);
	assert_int_equal(memcmp(end.errors + end.errors_n - 12, "100000\nlast\n", 12), 0);
}

/* A full disk for the log does not end the build. */
static void test_full_disk(void **state)
{
	_autoclose_ int log = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct tool t = {.log_fd = log, .log_max = 1000};
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("echo text", NULL, t, &end, &e), 0);
	assert_int_equal(end.status, 0);
	assert_int_equal(end.log_lost, 5);
}

static void test_signal(void **state)
{
	struct tool_end end;
	sigset_t before, after;
	struct err e;

	(void)state;
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
	assert_int_equal(sh("kill -TERM $PPID; sleep 100", NULL, plain, &end, &e), -EINTR);
	assert_int_equal(end.signo, SIGTERM);
	assert_string_equal(e.msg, "sh: stopped by signal 15");
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
	for (int i = 1; i < 32; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	/* A command that ignores the first signal is killed at the second. */
	assert_int_equal(sh("trap '' INT; trap 'kill -INT $PPID' TERM; kill -INT $PPID; "
			    "while :; do sleep 0.1; done",
			    NULL, plain, &end, &e),
			 -EINTR);
	assert_true(end.us < 5 * USEC_PER_SEC);
}

static void test_no_program(void **state)
{
	static const char *const argv[] = {"no-such-program", NULL};
	struct tool t = {.argv = argv, .dir = dir.fd, .log_fd = -1};
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(tool_run(&t, &end, &e), -ENOENT);
	assert_string_equal(e.msg,
			    "no-such-program: start 'no-such-program': No such file or directory");
}

/* Every call that can fail fails once: an error, and no process is left. */
static void test_faults(void **state)
{
	struct tool_end end;
	struct err e;
	unsigned n, failed = 0;

	(void)state;
	for (n = 1; n < 500; n++) {
		_autobuf_ struct buf out = BUF_INIT(100);
		int r;

		fault_arm(n, FAULT_FAIL);
		r = sh("echo text", &out, plain, &end, &e);
		if (!fault_hit("unit", EIO)) { /* the run got through: is the fault still armed? */
			failed += r < 0;
			assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
			if (r == 0)
				assert_true(out.n == 0 || !strcmp(buf_str(&out), "text\n"));
			continue;
		}
		break;
	}
	assert_true(n < 500);
	assert_true(failed >= 4); /* three pipes, and the end of the start */
}

/* A group that only counts its calls. */
struct counting {
	int checks, kills, ends;
	int passed_at; /* the check that reports a passed limit; 0: none */
};

static int enter_it(void *arg)
{
	(void)arg;
	return 0;
}

static int check_it(void *arg, struct err *e)
{
	struct counting *c = arg;

	return ++c->checks == c->passed_at ? err_set(e, EDQUOT, "passed its limit") : 0;
}

static int kill_it(void *arg, struct err *e)
{
	(void)e;
	((struct counting *)arg)->kills++;
	return 0;
}

static int end_it(void *arg, struct err *e)
{
	struct counting *c = arg;

	return ++c->ends == 3 ? err_set(e, EBUSY, "something still lives") : 0;
}

static void test_group(void **state)
{
	struct counting c = {.passed_at = 3};
	const struct tool_group g = {
	    .arg = &c, .enter = enter_it, .check = check_it, .kill = kill_it, .end = end_it};
	struct tool t = {.log_fd = -1, .group = &g};
	struct tool_end end;
	struct err e;

	(void)state;
	/* A passed limit ends a program that ignores every signal. */
	assert_int_equal(sh("trap '' TERM INT; while :; do sleep 0.1; done", NULL, t, &end, &e),
			 -EDQUOT);
	assert_string_equal(e.msg, "sh: passed its limit");
	assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL);
	assert_true(c.kills >= 1);
	assert_int_equal(c.ends, 1);
	/* The last check comes after the end of the program, and still reports the limit. */
	c = (struct counting){.passed_at = 1};
	assert_int_equal(sh("true", NULL, t, &end, &e), -EDQUOT);
	/* Processes that the tool leaves are ended, or stay.  If they cannot be ended, that is
	 * an error. */
	c = (struct counting){0};
	assert_int_equal(sh("true", NULL, t, &end, &e), 0);
	assert_true(c.kills == 1 && c.ends == 1);
	t.stays = true;
	assert_int_equal(sh("true", NULL, t, &end, &e), 0);
	assert_true(c.kills == 1 && c.ends == 1);
	t.time_us = 100000;
	assert_int_equal(sh("sleep 100", NULL, t, &end, &e), -ETIMEDOUT);
	assert_true(c.kills >= 1 && c.ends == 2);
	t.stays = false;
	t.time_us = 0;
	assert_int_equal(sh("true", NULL, t, &end, &e), -EBUSY);
	assert_string_equal(e.msg, "sh: something still lives");
}

/* 64 MiB/s are read: a flood of output is slowed down. */
static void test_flood(void **state)
{
	struct tool_end end;
	struct err e;

	(void)state;
	assert_int_equal(sh("head -c 40000000 /dev/zero", NULL, plain, &end, &e), 0);
	assert_true(end.us > 400000);
	assert_int_equal(end.log_lost, 0); /* there is no log */
}

static const struct CMUnitTest tests[] = {
    CASE(test_ends),	   CASE(test_where),	CASE(test_environment), CASE(test_more_environment),
    CASE(test_owner),	   CASE(test_terminal), CASE(test_time),	CASE(test_left_behind),
    CASE(test_sink_fails), CASE(test_log),	CASE(test_full_disk),	CASE(test_signal),
    CASE(test_no_program), CASE(test_faults),	CASE(test_group),	CASE(test_flood),
    CASE(test_keyring),
};

UNIT_MAIN(tests)
