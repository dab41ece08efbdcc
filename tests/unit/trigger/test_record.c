/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/proc.h"
#include "runner/state/holder.h"
#include "runner/trigger/record.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/wait.h>

#define HOUR (3600 * USEC_PER_SEC)
#define A    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct scratch dir;
static struct moment now;
static char said[RECORD_WHY];

static int setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	now = (struct moment){.real_us = 500000 * HOUR, .boot_us = 50 * HOUR, .boot = "this"};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static struct trigger_record loaded(void)
{
	struct trigger_record r;
	struct err e = {0};

	if (record_load(dir.fd, false, &now, &r, said, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

static struct trigger_record full(void)
{
	struct trigger_record r = {.start = since_now(&now),
				   .commit = A,
				   .outcome = OUTCOME_FAILED,
				   .why = "status 6, \"nothing\" could be built\\",
				   .pid = 4711,
				   .pid_start = INT64_MAX,
				   .failed = A,
				   .failures = UINT32_MAX,
				   .head = B,
				   .head_seen = since_now(&now),
				   .fetch_failures = 3,
				   .fetch_failing = since_now(&now),
				   .fetch_error = "no route",
				   .busy = since_now(&now)};

	r.start.age_us = 7;
	return r;
}

static void assert_same(const struct since *a, const struct since *b)
{
	assert_int_equal(a->known, b->known);
	assert_int_equal(a->age_us, b->age_us);
	assert_int_equal(a->at.real_us, b->at.real_us);
	assert_int_equal(a->at.boot_us, b->at.boot_us);
	assert_string_equal(a->at.boot, b->at.boot);
}

static void test_round(void **state)
{
	struct trigger_record r = full(), back;
	struct err e;

	(void)state;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	back = loaded();
	assert_string_equal(said, "");
	assert_same(&back.start, &r.start);
	assert_same(&back.busy, &r.busy);
	assert_same(&back.head_seen, &r.head_seen);
	assert_same(&back.fetch_failing, &r.fetch_failing);
	assert_string_equal(back.commit, A);
	assert_string_equal(back.failed, A);
	assert_string_equal(back.head, B);
	assert_string_equal(back.why, r.why);
	assert_string_equal(back.fetch_error, "no route");
	assert_int_equal(back.outcome, OUTCOME_FAILED);
	assert_int_equal(back.pid, 4711);
	assert_true(back.pid_start == INT64_MAX && back.failures == UINT32_MAX &&
		    back.fetch_failures == 3);
	r = (struct trigger_record){0};
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	back = loaded();
	assert_false(back.start.known || back.busy.known);
	/* A record that is read later is older. */
	r = full();
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	now.boot_us += HOUR;
	back = loaded();
	assert_true(back.start.age_us == HOUR + 7 && back.start.at.boot_us == now.boot_us);
	/* The same after a boot with a clock that was set back. */
	now = (struct moment){.real_us = HOUR, .boot_us = 2 * HOUR, .boot = "other"};
	back = loaded();
	assert_true(back.start.age_us == 2 * HOUR + 7);
	assert_non_null(strstr(said, "clock is behind"));
}

static void test_clock_set(void **state)
{
	struct trigger_record r = {0};

	(void)state;
	assert_false(record_clock_set(&r, &now));
	r = full();
	now.boot_us += HOUR;
	now.real_us += HOUR;
	assert_false(record_clock_set(&r, &now));
	now.real_us += 2 * USEC_PER_SEC;
	assert_true(record_clock_set(&r, &now));
	now.real_us = 0;
	assert_true(record_clock_set(&r, &now));
}

/* The files of versions without this record. */
static void test_older(void **state)
{
	struct trigger_record r = loaded();
	char done[COMMIT_MAX];

	(void)state;
	assert_false(r.start.known);
	record_done(dir.fd, done);
	assert_string_equal(done, "");
	scratch_write(dir.fd, "last_run_timestamp", "1799990000\n"); /* 10000 s ago */
	scratch_write(dir.fd, "last_run_commit", A);
	r = loaded();
	assert_true(r.start.known && since_age(&r.start, &now) == 10000 * USEC_PER_SEC);
	assert_string_equal(said, "");
	record_done(dir.fd, done);
	assert_string_equal(done, A);
	scratch_write(dir.fd, "last_run_commit", B "\n");
	record_done(dir.fd, done);
	assert_string_equal(done, B);
	scratch_write(dir.fd, "last_run_commit", "v1.2-dirty");
	record_done(dir.fd, done);
	assert_string_equal(done, "");
	scratch_write(dir.fd, "last_run_timestamp", "1900000000\n"); /* in the future */
	r = loaded();
	assert_true(r.start.known && since_age(&r.start, &now) == 0);
	scratch_write(dir.fd, "last_run_timestamp", "soon");
	assert_false(loaded().start.known);
}

static void damaged(const char *text)
{
	struct trigger_record r;
	char kept[200];

	scratch_write(dir.fd, "trigger.json", text);
	r = loaded();
	if (!strstr(said, "set aside"))
		fail_msg("%s: '%s'", text, said);
	assert_true(r.start.known);
	assert_true(since_age(&r.start, &now) == 0); /* to be safe */
	assert_string_equal(r.commit, "");
	assert_int_equal(r.outcome, OUTCOME_NONE);
	assert_false(scratch_has(dir.fd, "trigger.json"));
	if (strlen(text) < sizeof(kept))
		assert_string_equal(
		    scratch_text(dir.fd, "trigger.json.damaged", kept, sizeof(kept)), text);
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "[]",
	    "null",
	    "\xff\xfe",
	    "{\"version\": 2}",
	    "{\"version\": 1}",
	    "{\"version\": 1, \"pid\": -1}",
	};
	struct trigger_record r = full();
	char text[4096], large[70000];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		damaged(bad[i]);
	memset(large, ' ', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	damaged(large);
	/* Every key is required, with its own type. */
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	for (const char *at = strstr(text, "\n  \""); at; at = strstr(at + 1, "\n  \"")) {
		char one[4096];

		memcpy(one, text, sizeof(one));
		one[at - text + 5] = '~'; /* another key */
		damaged(one);
	}
	/* The older version's file has the later start. */
	scratch_write(dir.fd, "last_run_timestamp", "1799990000\n");
	scratch_write(dir.fd, "trigger.json", "{");
	r = loaded();
	assert_true(since_age(&r.start, &now) == 10000 * USEC_PER_SEC);
	/* Reading changes nothing. */
	scratch_write(dir.fd, "trigger.json", "{");
	assert_int_equal(record_load(dir.fd, true, &now, &r, said, &e), 0);
	assert_true(scratch_has(dir.fd, "trigger.json"));
}

static void test_hostile_values(void **state)
{
	struct trigger_record r = full();
	char text[4096], *at;
	struct err e;

	(void)state;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	at = strstr(text, A);
	memcpy(at, "--upload-pack=x", 15);
	damaged(text);
	r = full();
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	at = strstr(text, "no route");
	memcpy(at, "\\u001b[m", 8);
	scratch_write(dir.fd, "trigger.json", text);
	r = loaded();
	assert_string_equal(r.fetch_error, "?[m");
}

/* A full disk leaves the old record complete, and is reported. */
static void test_faults(void **state)
{
	struct trigger_record r = full(), back;
	unsigned at = 1;
	struct err e;

	(void)state;
	r.failures = 1;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	r.failures = 2;
	for (;; at++) {
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = record_save(dir.fd, &now, &r, &e);
		fault_arm(0, FAULT_FAIL);
		if (rc == 0)
			break;
		assert_int_equal(rc, -e.code);
		back = loaded();
		assert_string_equal(said, "");
		assert_true(back.failures == 1 || back.failures == 2);
	}
	assert_true(at > 3);
	/* A record that cannot be read now may be valid: it is not set aside. */
	for (at = 1;; at++) {
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = record_load(dir.fd, false, &now, &back, said, &e);
		fault_arm(0, FAULT_FAIL);
		assert_true(scratch_has(dir.fd, "trigger.json"));
		if (rc == 0)
			break;
	}
	assert_true(at > 1);
	assert_int_equal(back.failures, 2);
}

/* --- locks and processes ----------------------------------------------------------- */

static pid_t child_with(int (*fn)(void))
{
	int p[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fn() < 0 || write(p[1], "x", 1) != 1)
			_exit(1);
		while (pause() < 0)
			;
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int take_trigger(void)
{
	struct err e;
	int fd;

	return trigger_lock(dir.fd, "there", &fd, &e);
}

static int take_run(void)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir.fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fcntl(fd, F_SETLK, &whole);
}

static void test_lock(void **state)
{
	pid_t pid = child_with(take_trigger);
	char who[64];
	struct err e;
	int fd = -1;

	(void)state;
	assert_int_equal(trigger_lock(dir.fd, "there", &fd, &e), -EBUSY);
	snprintf(who, sizeof(who), "another trigger holds 'there/trigger.lock' (process %d)",
		 (int)pid);
	assert_string_equal(e.msg, who);
	end_child(pid);
	assert_int_equal(trigger_lock(dir.fd, "there", &fd, &e), 0); /* however it died */
	close(fd);
	assert_int_equal(unlinkat(dir.fd, "trigger.lock", 0), 0);
	assert_int_equal(symlinkat("victim", dir.fd, "trigger.lock"), 0);
	assert_int_equal(trigger_lock(dir.fd, "there", &fd, &e), -ELOOP);
	assert_false(scratch_has(dir.fd, "victim"));
}

static void test_holder(void **state)
{
	bool held = true;
	struct err e;
	pid_t pid, who = 1;

	(void)state;
	assert_int_equal(holder_of_run(dir.fd, &held, &who, &e), 0);
	assert_false(held);
	pid = child_with(take_run);
	assert_int_equal(holder_of_run(dir.fd, &held, &who, &e), 0);
	assert_true(held);
	assert_int_equal(who, pid);
	end_child(pid);
	assert_int_equal(holder_of_run(dir.fd, &held, &who, &e), 0);
	assert_false(held);
}

static int nothing(void)
{
	return 0;
}

static void test_process(void **state)
{
	pid_t pid = child_with(nothing);
	uint64_t began, again;
	struct err e;
	int fd = -1;

	(void)state;
	assert_int_equal(process_start(pid, &began, &e), 0);
	assert_int_equal(process_start(getpid(), &again, &e), 0);
	assert_true(began >= again && again > 0);
	assert_int_equal(process_open(pid, began + 1, &fd, &e), -ESRCH); /* another process */
	assert_int_equal(process_open(pid, began, &fd, &e), 0);
	assert_int_equal(proc_kill(fd, SIGKILL, &e), 0);
	close(fd);
	while (process_start(pid, &began, &e) == 0) /* dead, not yet reaped */
		usleep(1000);
	assert_int_equal(e.code, ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_open(pid, began, &fd, &e), -ESRCH);
	assert_int_equal(process_start(0, &began, &e), -ESRCH);
	assert_int_equal(process_open(-1, 1, &fd, &e), -ESRCH);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_round),	CASE(test_clock_set),	   CASE(test_older),
    CASE(test_damaged), CASE(test_hostile_values), CASE(test_faults),
    CASE(test_lock),	CASE(test_holder),	   CASE(test_process),
};

UNIT_MAIN(tests)
