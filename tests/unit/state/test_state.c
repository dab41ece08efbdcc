/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runner/state/state.h"
#include "tests/unit/scratch.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static struct scratch dir;
static char path[64]; /* of the state directory, which does not exist yet */

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	snprintf(path, sizeof(path), "%s/a/state", dir.path);
	umask(022);
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static struct state *opened(enum state_use use)
{
	struct state *s = NULL;
	struct err e = {0};

	if (state_open(path, use, &s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

static void is_dir(int at, const char *name, mode_t mode)
{
	struct stat st;

	assert_int_equal(fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_layout(void **state)
{
	static const char *const dirs[] = {"corpus", "quarantine", "stats", "logs", "work"};
	struct state *s = opened(STATE_LOCK), *again;
	char pid[32], want[64];
	struct stat st;
	struct err e;

	(void)state;
	is_dir(dir.fd, "a", 0750);
	is_dir(s->dirfd, ".", 0750);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		is_dir(s->dirfd, dirs[i], 0750);
	assert_int_equal(fstatat(s->dirfd, "lock", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	snprintf(want, sizeof(want), "%d\n", (int)getpid());
	assert_string_equal(scratch_text(s->dirfd, "lock", pid, sizeof(pid)), want);
	assert_string_equal(s->path, path);
	state_close(s);
	state_close(NULL);

	/* Existing files stay, also through another name, which is the same instance. */
	s = opened(STATE_LOCK);
	scratch_write(s->dirfd, "corpus/x", "kept");
	assert_int_equal(symlinkat("a/state", dir.fd, "link"), 0);
	snprintf(want, sizeof(want), "%s/link", dir.path);
	assert_int_equal(state_open(want, STATE_READ, &again, &e), 0);
	assert_string_equal(again->path, path);
	assert_string_equal(again->instance, s->instance);
	assert_int_equal(strlen(again->instance), 18);
	assert_memory_equal(again->instance, "s-", 2);
	assert_int_equal(strspn(again->instance + 2, "0123456789abcdef"), 16);
	assert_int_equal(again->lock_fd, -1);
	state_close(again);
	assert_string_equal(scratch_text(s->dirfd, "corpus/x", pid, sizeof(pid)), "kept");
	state_close(s);
	assert_int_equal(state_open(dir.path, STATE_READ, &again, &e), 0);
	assert_string_not_equal(again->instance, "");
	assert_false(scratch_has(again->dirfd, "corpus")); /* no file is made without the lock */
	state_close(again);
}

static void test_open_fails(void **state)
{
	struct state *s = NULL;
	struct err e;
	char p[80];

	(void)state;
	scratch_write(dir.fd, "file", "");
	snprintf(p, sizeof(p), "%s/file", dir.path);
	assert_int_equal(state_open(p, STATE_LOCK, &s, &e), -ENOTDIR);
	assert_non_null(strstr(e.msg, "file"));
	snprintf(p, sizeof(p), "%s/file/x", dir.path);
	assert_int_equal(state_open(p, STATE_LOCK, &s, &e), -ENOTDIR);
	/* Reading makes no directory: the name may be mistyped. */
	snprintf(p, sizeof(p), "%s/none", dir.path);
	assert_int_equal(state_open(p, STATE_READ, &s, &e), -ENOENT);
	assert_non_null(strstr(e.msg, p));
	assert_false(scratch_has(dir.fd, "none"));
	/* A lock that is a link is not followed. */
	assert_int_equal(mkdirat(dir.fd, "b", 0700), 0);
	assert_int_equal(symlinkat("../victim", dir.fd, "b/lock"), 0);
	snprintf(p, sizeof(p), "%s/b", dir.path);
	assert_int_equal(state_open(p, STATE_LOCK, &s, &e), -ELOOP);
	assert_false(scratch_has(dir.fd, "victim"));
	assert_null(s);
}

static void test_default_path(void **state)
{
	_autofree_ char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
	struct state *s;
	struct err e;
	char want[80];

	(void)state;
	assert_int_equal(setenv("HOME", dir.path, 1), 0);
	assert_int_equal(setenv("FUZZCELL_STATE_DIR", path, 1), 0);
	assert_int_equal(state_open(NULL, STATE_MAKE, &s, &e), 0);
	assert_string_equal(s->path, path);
	state_close(s);
	assert_int_equal(setenv("FUZZCELL_STATE_DIR", "", 1), 0); /* as if it was unset */
	snprintf(want, sizeof(want), "%s/.fuzzcell", dir.path);
	assert_int_equal(state_open(NULL, STATE_MAKE, &s, &e), 0);
	assert_string_equal(s->path, want);
	state_close(s);
	assert_int_equal(unsetenv("FUZZCELL_STATE_DIR"), 0);
	assert_int_equal(setenv("HOME", "relative", 1), 0);
	assert_int_equal(state_open(NULL, STATE_READ, &s, &e), -ENOENT);
	assert_int_equal(unsetenv("HOME"), 0);
	assert_int_equal(state_open(NULL, STATE_READ, &s, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "--state-dir")); /* what to do */
	assert_int_equal(setenv("HOME", home, 1), 0);
}

/* Holds the lock until it is killed; reports this through a pipe. */
static pid_t holder(void)
{
	struct state *s;
	struct err e;
	int p[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (state_open(path, STATE_LOCK, &s, &e) < 0 || write(p[1], "x", 1) != 1)
			_exit(1);
		while (pause() < 0)
			;
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	return pid;
}

static void test_lock(void **state)
{
	pid_t pid = holder();
	struct state *s = NULL;
	char who[64], text[64];
	struct err e;

	(void)state;
	assert_int_equal(state_open(path, STATE_LOCK, &s, &e), -EBUSY);
	snprintf(who, sizeof(who), "(process %d)", (int)pid);
	assert_non_null(strstr(e.msg, who));
	assert_non_null(strstr(e.msg, path));
	assert_null(s);
	s = opened(STATE_READ); /* reading needs no lock */
	/* The refused process did not overwrite the holder's number. */
	snprintf(who, sizeof(who), "%d\n", (int)pid);
	assert_string_equal(scratch_text(s->dirfd, "lock", text, sizeof(text)), who);
	state_close(s);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	s = opened(STATE_LOCK); /* however it died */
	snprintf(who, sizeof(who), "%d\n", (int)getpid());
	assert_string_equal(scratch_text(s->dirfd, "lock", text, sizeof(text)), who);
	state_close(s);
	s = opened(STATE_LOCK); /* and by one process after the other */
	state_close(s);
}

/* 2021-03-04 05:06:07 UTC */
#define WHEN (UINT64_C(1614834367) * USEC_PER_SEC)

static void test_ids(void **state)
{
	static const char *const want[] = {"20210304-050607", "20210304-050607-2",
					   "20210304-050607-3"};
	struct state *s = opened(STATE_LOCK);
	struct run_dirs r[3];
	struct err e;
	char text[64], p[96];

	(void)state;
	setenv("TZ", "Pacific/Auckland", 1); /* the names are UTC everywhere */
	tzset();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(state_run_begin(s, WHEN + i, &r[i], &e), 0);
		assert_string_equal(r[i].id, want[i]);
		snprintf(p, sizeof(p), "logs/%s/crashes", want[i]);
		is_dir(s->dirfd, p, 0750);
		snprintf(p, sizeof(p), "%s/work/%s", path, want[i]);
		assert_string_equal(r[i].work_path, p);
		is_dir(AT_FDCWD, p, 0750);
		scratch_write(r[i].logs, "l", "");
		scratch_write(r[i].crashes, "c", "");
		scratch_write(r[i].work, "w", "");
	}
	unsetenv("TZ");
	assert_string_equal(scratch_text(s->dirfd, "last_run_timestamp", text, sizeof(text)),
			    "1614834367\n");
	assert_false(scratch_has(s->dirfd, "last_run_commit")); /* none of the runs has ended */
	for (unsigned i = 0; i < 3; i++) {
		state_run_end(s, &r[i], false);
		snprintf(p, sizeof(p), "work/%s", want[i]);
		assert_false(scratch_has(s->dirfd, p));
		snprintf(p, sizeof(p), "logs/%s/l", want[i]);
		assert_true(scratch_has(s->dirfd, p));
		snprintf(p, sizeof(p), "logs/%s/crashes/c", want[i]);
		assert_true(scratch_has(s->dirfd, p));
		assert_int_equal(r[i].logs + r[i].crashes + r[i].work, -3);
		assert_null(r[i].work_path);
	}
	/* A name is never used again, also when the clock was set back. */
	assert_int_equal(state_run_begin(s, WHEN, &r[0], &e), 0);
	assert_string_equal(r[0].id, "20210304-050607-4");
	state_run_end(s, &r[0], false);
	state_close(s);
}

/* The commit of a started run is not done; the commit of a completed run is. */
static void test_done(void **state)
{
	struct state *s = opened(STATE_LOCK);
	struct run_dirs r;
	char text[64];
	struct err e;

	(void)state;
	assert_int_equal(state_run_done(s, "abc123", &e), 0);
	assert_int_equal(state_run_begin(s, WHEN, &r, &e), 0);
	state_run_end(s, &r, false);
	assert_string_equal(scratch_text(s->dirfd, "last_run_commit", text, sizeof(text)),
			    "abc123");
	assert_int_equal(state_run_done(s, NULL, &e), 0); /* without a commit */
	assert_string_equal(scratch_text(s->dirfd, "last_run_commit", text, sizeof(text)),
			    "abc123");
	fault_arm(1, FAULT_FAIL);
	assert_true(state_run_done(s, "def456", &e) < 0);
	fault_arm(0, FAULT_FAIL);
	assert_string_equal(scratch_text(s->dirfd, "last_run_commit", text, sizeof(text)),
			    "abc123");
	state_close(s);
}

/* A run that cannot begin reports the reason, and holds no descriptor.  It leaves at most an empty
 * directory, which the next start sweeps. */
static void test_run_faults(void **state)
{
	struct state *s = opened(STATE_LOCK);
	int before = dup(0), after;
	unsigned at = 1;

	(void)state;
	close(before);
	for (;; at++) {
		struct run_dirs r = {.logs = 77};
		struct err e = {0};
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = state_run_begin(s, WHEN + at * USEC_PER_SEC, &r, &e);
		fault_arm(0, FAULT_FAIL);
		if (rc == 0) {
			state_run_end(s, &r, false);
			break;
		}
		assert_int_equal(rc, -e.code);
		assert_true(*e.msg);
		assert_int_equal(r.logs, 77);
		after = dup(0);
		close(after);
		assert_int_equal(after, before);
	}
	assert_true(at > 8);
	state_close(s);
}

static void test_open_faults(void **state)
{
	int before = dup(0), after;
	unsigned at = 1;

	(void)state;
	close(before);
	for (;; at++) {
		struct state *s = NULL;
		struct err e = {0};
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = state_open(path, STATE_LOCK, &s, &e);
		fault_arm(0, FAULT_FAIL);
		if (rc == 0) {
			state_close(s);
			break;
		}
		assert_int_equal(rc, -e.code);
		assert_null(s);
		after = dup(0);
		close(after);
		assert_int_equal(after, before);
	}
	assert_true(at > 8);
}

static void test_corpus(void **state)
{
	struct state *s = opened(STATE_LOCK);
	_autoclose_ int fd = -1;
	struct err e;

	(void)state;
	assert_int_equal(state_open_corpus(s, "png", &fd, &e), 0);
	is_dir(s->dirfd, "corpus/png", 0750);
	scratch_write(fd, "x", "y");
	close(take_fd(&fd));
	assert_int_equal(state_open_corpus(s, "png", &fd, &e), 0);
	assert_true(scratch_has(fd, "x"));
	close(take_fd(&fd));
	/* A link in its place is the user's choice, but is not written through. */
	assert_int_equal(symlinkat("png", s->dirfd, "corpus/link"), 0);
	assert_int_equal(state_open_corpus(s, "link", &fd, &e), -ENOTDIR);
	state_close(s);
}

static void append(struct state *s, json_int_t n)
{
	_autojson_ json_t *j = json_pack("{s:I, s:s}", "n", n, "text", "a\nb");
	struct err e;

	assert_non_null(j);
	assert_int_equal(state_append_history(s, NULL, "h.jsonl", j, &e), 0);
}

static void test_history(void **state)
{
	struct state *s = opened(STATE_LOCK);
	_autojson_ json_t *j = json_object();
	char text[256];
	struct err e;

	(void)state;
	append(s, 1);
	append(s, 2);
	scratch_text(s->dirfd, "stats/h.jsonl", text, sizeof(text));
	assert_string_equal(text, "{\"n\": 1, \"text\": \"a\\nb\"}\n"
				  "{\"n\": 2, \"text\": \"a\\nb\"}\n");
	/* The machine died in the middle of a line: it stays one line, and the next line is
	 * complete. */
	scratch_write(s->dirfd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\": 2, \"te");
	append(s, 3);
	scratch_text(s->dirfd, "stats/h.jsonl", text, sizeof(text));
	assert_string_equal(text, "{\"n\": 1}\n{\"n\": 2, \"te\n{\"n\": 3, \"text\": \"a\\nb\"}\n");

	assert_int_equal(unlinkat(s->dirfd, "stats/h.jsonl", 0), 0);
	assert_int_equal(symlinkat("../lock", s->dirfd, "stats/h.jsonl"), 0);
	assert_int_equal(state_append_history(s, NULL, "h.jsonl", j, &e), -ELOOP);
	assert_non_null(strstr(e.msg, "stats/h.jsonl"));
	/* A target's own file. */
	assert_int_equal(state_append_history(s, NULL, "targets/a.jsonl", j, &e), 0);
	assert_int_equal(state_append_history(s, NULL, "targets/a.jsonl", j, &e), 0);
	scratch_text(s->dirfd, "stats/targets/a.jsonl", text, sizeof(text));
	assert_string_equal(text, "{}\n{}\n");
	state_close(s);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_layout),	CASE(test_open_fails), CASE(test_default_path), CASE(test_lock),
    CASE(test_ids),	CASE(test_run_faults), CASE(test_open_faults),	CASE(test_corpus),
    CASE(test_history), CASE(test_done),
};

UNIT_MAIN(tests)
