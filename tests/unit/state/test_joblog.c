/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/state/joblog.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { CAP = JOBLOG_MIN, HEAD = CAP / 2 };

static struct scratch dir;
static struct joblog l;
static char *log_text;
static size_t log_n;

static int each_setup(void **state)
{
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	return joblog_open(&l, dir.fd, "t.log", CAP, &e);
}

static int each_teardown(void **state)
{
	(void)state;
	joblog_close(&l);
	free(log_text);
	log_text = NULL;
	scratch_remove(&dir);
	return 0;
}

/* A target's output: the byte at a position is a function of the position. */
static char at(uint64_t pos)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz01234";
	uint64_t block = pos / 31;

	return digits[(pos * 7 + block * 3 + block / 31 * 5 + block / 961) % 31];
}

static void print(uint64_t *pos, size_t n)
{
	static char chunk[1 << 20];

	assert_true(n <= sizeof(chunk));
	for (size_t i = 0; i < n; i++)
		chunk[i] = at(*pos + i);
	joblog_write(&l, (struct slice){chunk, n});
	*pos += n;
}

static void look(void)
{
	struct err e;

	free(log_text);
	log_text = NULL;
	assert_int_equal(fs_read(dir.fd, "t.log", 1 << 24, &log_text, &log_n, &e), 0);
}

static void check_bytes(size_t from, uint64_t pos, size_t n)
{
	assert_true(from + n <= log_n);
	for (size_t i = 0; i < n; i++)
		if (log_text[from + i] != at(pos + i))
			fail_msg("byte %zu is not that of position %llu", from + i,
				 (unsigned long long)(pos + i));
}

/* 100 MiB in odd pieces: head and tail are unchanged, the middle is counted. */
static void test_flood(void **state)
{
	static const size_t pieces[] = {1, 4095, 65536, 65537, 131072, 13, 7919, 200000};
	uint64_t pos = 0, dropped;
	char note[128];

	(void)state;
	for (unsigned i = 0; pos < UINT64_C(100) << 20; i++)
		print(&pos, pieces[i % (sizeof(pieces) / sizeof(pieces[0]))]);
	assert_int_equal(l.written, HEAD);
	joblog_flush(&l);
	dropped = pos - HEAD - JOBLOG_TAIL;
	assert_int_equal(l.dropped, dropped);
	look();
	assert_true(log_n <= CAP);
	assert_int_equal(log_n, l.written);
	check_bytes(0, 0, HEAD);
	check_bytes(log_n - JOBLOG_TAIL, pos - JOBLOG_TAIL, JOBLOG_TAIL);
	snprintf(note, sizeof(note), "\n[fuzzcell] %llu bytes of output left out here\n",
		 (unsigned long long)dropped);
	assert_int_equal(log_n, HEAD + strlen(note) + JOBLOG_TAIL);
	assert_memory_equal(log_text + HEAD, note, strlen(note));
}

/* Flushed with every offset between the ring's end and its start. */
static void test_wrap(void **state)
{
	static const size_t after[] = {1,
				       2,
				       JOBLOG_TAIL / 2,
				       JOBLOG_TAIL - 1,
				       JOBLOG_TAIL,
				       JOBLOG_TAIL + 1,
				       JOBLOG_TAIL * 3 / 2,
				       2 * JOBLOG_TAIL - 1,
				       2 * JOBLOG_TAIL,
				       2 * JOBLOG_TAIL + 1,
				       5 * JOBLOG_TAIL + 12345};
	static const size_t pieces[] = {
	    1, 100, JOBLOG_TAIL - 1, JOBLOG_TAIL, JOBLOG_TAIL + 1, 3 * JOBLOG_TAIL + 7};

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
			size_t kept = after[i] < JOBLOG_TAIL ? after[i] : JOBLOG_TAIL;
			uint64_t pos = 0;

			if (i + k > 0) {
				each_teardown(state);
				each_setup(state);
			}
			print(&pos, HEAD);
			while (pos < HEAD + after[i]) {
				size_t left = (size_t)(HEAD + after[i] - pos);

				print(&pos, pieces[k] < left ? pieces[k] : left);
			}
			joblog_flush(&l);
			assert_int_equal(l.dropped, after[i] - kept);
			look();
			check_bytes(0, 0, HEAD);
			check_bytes(log_n - kept, pos - kept, kept);
			assert_int_equal(!!strstr(log_text, "left out here"), l.dropped > 0);
		}
}

/* A log with many cells: the cap holds, each cell's last output is kept while there is space, and
 * every byte is either in the file or counted. */
static void test_many_cells(void **state)
{
	uint64_t pos = 0, notes = 0;
	const char *p;

	(void)state;
	for (unsigned cell = 0; cell < 500; cell++) {
		print(&pos, 30011);
		joblog_flush(&l);
		joblog_note(&l, "cell %u", cell);
	}
	look();
	assert_true(log_n <= CAP);
	assert_true(log_n > CAP - JOBLOG_TAIL);
	assert_int_equal(log_n, l.written);
	for (p = log_text; (p = strstr(p, "\n[fuzzcell] ")); p++) {
		notes += strcspn(p + 1, "\n") + 2;
	}
	assert_int_equal(log_n - notes + l.dropped, pos);
}

static void test_small(void **state)
{
	(void)state;
	joblog_write(&l, SLICE("one\n"));
	joblog_write(&l, SLICE(""));
	joblog_note(&l, "two %d", 2);
	joblog_write(&l, (struct slice){"\0\xff", 2});
	joblog_flush(&l);
	joblog_flush(&l);
	look();
	assert_int_equal(log_n, 22 + 2);
	assert_memory_equal(log_text, "one\n\n[fuzzcell] two 2\n", 22);
	assert_int_equal(l.dropped, 0);
	joblog_close(&l);
	assert_int_equal(l.fd, -1);
	joblog_close(&l); /* a second close is allowed */
}

static void test_notes(void **state)
{
	char name[5000];
	uint64_t pos = 0;
	size_t before;

	(void)state;
	memset(name, 'n', sizeof(name));
	for (size_t n = 4064; n < 4104; n++) { /* cut at the end of its line */
		look();
		before = log_n;
		name[n] = '\0';
		joblog_note(&l, "%s", name);
		name[n] = 'n';
		look();
		assert_in_range(log_n - before, 4064, 4096);
		assert_memory_equal(log_text + before, "\n[fuzzcell] nnn", 15);
		assert_int_equal(log_text[log_n - 1], '\n');
		assert_int_equal(log_text[log_n - 2], 'n');
	}
	/* The space that is reserved for notes is only for notes, and is limited. */
	print(&pos, 10 * JOBLOG_TAIL);
	joblog_flush(&l);
	print(&pos, 10 * JOBLOG_TAIL);
	joblog_flush(&l);
	joblog_note(&l, "still here");
	look();
	assert_non_null(strstr(log_text + log_n - 64, "\n[fuzzcell] still here\n"));
	for (int i = 0; i < 10000; i++)
		joblog_note(&l, "%d", i);
	look();
	assert_true(log_n <= CAP && log_n > CAP - 64);
	assert_int_equal(log_text[log_n - 1], '\n');
}

/* A full disk stops nothing, and every byte that is not in the file is counted. */
static void test_full_disk(void **state)
{
	struct joblog full;
	struct err e;
	char byte[10] = "123456789";

	(void)state;
	assert_int_equal(symlinkat("/dev/full", dir.fd, "link"), 0);
	assert_int_equal(joblog_open(&full, dir.fd, "link", CAP, &e), -ELOOP);
	full = (struct joblog){.fd = open("/dev/full", O_WRONLY | O_CLOEXEC), .cap = CAP};
	assert_true(full.fd >= 0);
	for (int i = 0; i < 100000; i++)
		joblog_write(&full, (struct slice){byte, 10});
	assert_true(full.broken);
	joblog_flush(&full);
	assert_int_equal(full.dropped, 1000000);
	assert_int_equal(full.written, 0);
	joblog_note(&full, "no one reads this");
	joblog_close(&full);
}

/* The same in the middle of the file, by a limit.  In a child, so that only the child has the
 * limit. */
static int fill_limited(void)
{
	const struct rlimit lim = {50000, 50000};
	uint64_t pos = 0;

	/* The program ignores this signal; a test's child sets this by itself. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &lim) < 0)
		return 1;
	for (int i = 0; i < 200; i++)
		print(&pos, 999);
	joblog_note(&l, "a note");
	for (int i = 0; i < 200; i++)
		print(&pos, 999);
	joblog_flush(&l);
	look();
	if (!l.broken || log_n != 50000)
		return 2;
	check_bytes(0, 0, 50000);
	/* Bytes that the failing write has written may count as lost. */
	return l.dropped + log_n < pos || l.dropped + log_n > pos + 999 ? 3 : 0;
}

static void test_size_limit(void **state)
{
	pid_t pid = fork();
	int ws;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fill_limited());
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, 0);
}

/* Any call may fail once: the log continues, and the count has the missing bytes. */
static void test_faults(void **state)
{
	for (unsigned fault = 1; fault < 12; fault++) {
		uint64_t pos = 0, notes = 0;
		const char *p;

		each_teardown(state);
		each_setup(state);
		fault_arm(fault, FAULT_FAIL);
		for (int i = 0; i < 6; i++) {
			print(&pos, JOBLOG_TAIL + 77);
			if (i > 3)
				joblog_flush(&l);
		}
		fault_arm(0, FAULT_FAIL);
		look();
		for (p = log_text; (p = strstr(p, "\n[fuzzcell] ")); p++)
			notes += strcspn(p + 1, "\n") + 2;
		assert_int_equal(log_n, l.written);
		/* A note that could not be written counts as well. */
		assert_true(log_n - notes + l.dropped >= pos);
		assert_true(log_n - notes + l.dropped <= pos + 512);
	}
}

static void test_open(void **state)
{
	struct joblog o;
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(joblog_open(&o, dir.fd, "small", 5, &e), 0);
	assert_int_equal(o.cap, JOBLOG_MIN);
	joblog_close(&o);
	assert_int_equal(fstatat(dir.fd, "small", &st, 0), 0);
	assert_int_equal(st.st_mode & 07027, 0); /* no access for others */
	assert_int_equal(joblog_open(&o, -1, "x", CAP, &e), -EBADF);
	assert_string_equal(e.msg, "open a log: create 'x': Bad file descriptor");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_flood),	   CASE(test_wrap),   CASE(test_many_cells),
    CASE(test_small),	   CASE(test_notes),  CASE(test_full_disk),
    CASE(test_size_limit), CASE(test_faults), CASE(test_open),
};

UNIT_MAIN(tests)
