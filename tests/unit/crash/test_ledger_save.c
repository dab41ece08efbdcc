/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledger_files.h"

#include <sys/wait.h>

/* A ledger with a new crash, before it is saved over an old file, which may be damaged. */
static void prepare(bool damaged)
{
	scratch_teardown(NULL);
	each_setup(NULL);
	parse("{}");
	(void)NOTE(.signature = "old");
	save();
	if (damaged)
		scratch_write(dir.fd, NAME, "{\"old\": {");
	load();
	(void)NOTE(.signature = "new");
}

/* The file is completely the old or the new one.  A damaged file also exists under its new name. */
static void check_saved(bool damaged, bool done)
{
	bool is_new;

	load();
	is_new = ledger_count(ledger) > 0 && ledger_find(ledger, "new");
	assert_true(is_new || !done);
	if (damaged && is_new)
		assert_string_equal(file(NAME ".damaged-1"), "{\"old\": {");
	else if (damaged)
		assert_string_equal(file(NAME), "{\"old\": {");
	assert_non_null(crash("old"));
	assert_false(scratch_has(dir.fd, NAME ".damaged-2"));
	(void)NOTE(.signature = "new");
	save();
	assert_false(scratch_has(dir.fd, NAME ".damaged-2"));
	assert_false(scratch_has(dir.fd, "." NAME ".new"));
	load();
	assert_non_null(crash("new"));
	assert_string_equal(ledger_warning(ledger), "");
}

static unsigned fail_each(bool damaged)
{
	for (unsigned at = 1;; at++) {
		struct err e = {0};
		int r;

		prepare(damaged);
		fault_arm(at, FAULT_FAIL);
		r = ledger_save(ledger, dir.fd, &e);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_memory_equal(e.msg, "save the ledger: ", 17);
			assert_true(ledger_dirty(ledger)); /* the save can be repeated */
		}
		check_saved(damaged, r == 0);
		if (r == 0)
			return at - 1;
	}
}

static unsigned die_at_each(bool damaged)
{
	for (unsigned at = 1;; at++) {
		struct err e;
		pid_t pid;
		int ws;

		prepare(damaged);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			fault_arm(at, FAULT_DIE);
			_exit(ledger_save(ledger, dir.fd, &e) < 0 ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &ws, 0), pid);
		assert_true(WIFEXITED(ws));
		check_saved(damaged, WEXITSTATUS(ws) == 0);
		if (WEXITSTATUS(ws) == 0)
			return at - 1;
		assert_int_equal(WEXITSTATUS(ws), 86);
	}
}

static void test_faults(void **state)
{
	(void)state;
	for (int damaged = 0; damaged < 2; damaged++) {
		unsigned failed = fail_each(damaged), died = die_at_each(damaged);

		print_message("# %s: %u calls failed, died at %u\n", damaged ? "damaged" : "whole",
			      failed, died);
		/* The mark is written, the record in a new directory, the file; the mark is
		 * removed.  For a damaged file, a sync before. */
		assert_int_equal(failed, damaged ? 28 : 27);
		assert_int_equal(died, failed);
	}
}

/* A ledger that is too large for its file drops the lists of the oldest crashes. */
static void test_outgrown(void **state)
{
	enum { CRASHES = 1500, SHORT = 4 };
	static char text[LEDGER_TEXT_MAX];
	char name[32];
	size_t n;
	_autofree_ char *printed = NULL;
	struct err e;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	parse("{}");
	for (unsigned i = 0; i < CRASHES; i++) {
		snprintf(name, sizeof(name), "%04u", i * 7 % CRASHES);
		for (unsigned k = 0; k < LEDGER_ARTIFACTS; k++) {
			snprintf(text, 12, "%04u-%04u", i, k);
			text[strlen(text)] = 'x';
			(void)NOTE(.signature = name, .time = 1000 + i, .target = "t",
				   .artifact = text, .raw_key = text + 4);
		}
	}
	assert_int_equal(ledger_print(ledger, &printed, &n, &e), -EFBIG);
	save();
	for (unsigned i = 0; i < CRASHES; i++) {
		snprintf(name, sizeof(name), "%04u", i * 7 % CRASHES);
		if (i < CRASHES / 4) /* the oldest */
			assert_in_range(crash(name)->artifacts.n, 1, SHORT);
		if (i > CRASHES * 3 / 4)
			assert_int_equal(crash(name)->artifacts.n, LEDGER_ARTIFACTS);
		assert_int_equal(crash(name)->count, LEDGER_ARTIFACTS);
	}
	load();
	assert_string_equal(ledger_warning(ledger), "");
	assert_int_equal(ledger_count(ledger), CRASHES);
}

static void test_too_many(void **state)
{
	static char text[LEDGER_TEXT_MAX + 1];
	char name[32];
	struct err e;

	(void)state;
	memset(text, 'x', LEDGER_TEXT_MAX);
	scratch_write(dir.fd, NAME, "{\"s\": {\"count\": 1}}");
	load();
	for (unsigned i = 0; i < (64 << 10); i++) {
		snprintf(name, sizeof(name), "%06u", i);
		(void)NOTE(.signature = name, .crash_type = text);
	}
	assert_int_equal(ledger_save(ledger, dir.fd, &e), -EFBIG);
	assert_string_equal(e.msg, "save the ledger: more than 67108864 bytes");
	assert_true(ledger_dirty(ledger));
	assert_string_equal(file(NAME), "{\"s\": {\"count\": 1}}");
}

static void test_too_large(void **state)
{
	int fd = openat(dir.fd, NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	size_t n = 20 << 20;
	char *text = malloc(n);
	struct err e;

	(void)state;
	assert_non_null(text);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LEDGER_FILE_MAX + 1), 0);
	close(fd);
	load();
	assert_non_null(strstr(ledger_warning(ledger), "more than 67108864 bytes"));
	/* Small values need much memory: they are refused before it is allocated. */
	memset(text, ',', n);
	assert_int_equal(ledger_parse((struct slice){text, n}, &ledger, &e), -EBADMSG);
	assert_string_equal(e.msg, "line 1: more than 4000000 values");
	free(text);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_faults),
    CASE(test_outgrown),
    CASE(test_too_many),
    CASE(test_too_large),
};

UNIT_MAIN(tests)
