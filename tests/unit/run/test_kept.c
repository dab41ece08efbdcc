/* SPDX-License-Identifier: Apache-2.0 */
/* The report that is kept beside an artifact. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/run/triage/kept.h"
#include "tests/unit/each.h"

#include <stdio.h>

#define ARTIFACT "crash-0123456789012345678901234567890123456789"
#define NAME	 ".report-" ARTIFACT

/* --- the output --------------------------------------------------------------- */

static void lines(struct kept_output *k, const char *word, unsigned n, bool failing)
{
	for (unsigned i = 0; i < n; i++) {
		char line[40];

		snprintf(line, sizeof(line), "%s %05u", word, i);
		kept_line(k, slice_of(line), failing);
	}
}

/* Returns the text, for the test. */
static const char *text_of(const struct kept_output *k)
{
	static struct buf b = {.max = KEPT_TEXT_MAX};
	struct err e = {0};

	buf_clear(&b);
	if (kept_text(k, &b, &e) < 0)
		fail_msg("%s", e.msg);
	return buf_str(&b);
}

static void test_output_small(void **state)
{
	struct kept_output k = {0};

	(void)state;
	assert_string_equal(text_of(&k), "");
	kept_line(&k, SLICE("before"), false);
	assert_string_equal(text_of(&k), "before\n");
	kept_line(&k, SLICE("ERROR"), true);
	kept_line(&k, SLICE(""), true);
	kept_line(&k, SLICE("#0"), true);
	assert_string_equal(text_of(&k), "before\nERROR\n\n#0\n");
	kept_output_done(&k);
	assert_string_equal(text_of(&k), "");
}

/* Before the failure the last lines are kept, after it the first; only complete lines. */
static void test_output_large(void **state)
{
	struct kept_output k = {0};
	const char *text, *failure;

	(void)state;
	lines(&k, "status", 100000, false);
	lines(&k, "report", 100000, true);
	kept_line(&k, SLICE("x"), true); /* would fit, but lines before it are missing */
	text = text_of(&k);
	assert_memory_equal(text, "status ", 7);
	failure = strstr(text, "report 00000\n");
	assert_non_null(failure);
	assert_memory_equal(failure - 13, "status 99999\n", 13);
	assert_in_range(failure - text, KEPT_BEFORE - 26, KEPT_BEFORE);
	assert_in_range(strlen(failure), KEPT_AFTER - 26, KEPT_AFTER);
	assert_int_equal(strlen(failure) % 13, 0);
	kept_output_done(&k);
}

/* A line as long as the ring: no complete line is left. */
static void test_output_one_line(void **state)
{
	static char line[3 * KEPT_BEFORE];
	struct kept_output k = {0};

	(void)state;
	memset(line, 'x', sizeof(line));
	for (size_t n = KEPT_BEFORE - 2; n < KEPT_BEFORE + 3; n++) {
		kept_line(&k, (struct slice){line, n}, false);
		kept_line(&k, SLICE("last"), false);
		assert_string_equal(text_of(&k), "last\n");
	}
	kept_line(&k, (struct slice){line, sizeof(line)}, false);
	assert_string_equal(text_of(&k), "");
	kept_line(&k, (struct slice){line, KEPT_AFTER}, true);
	assert_string_equal(text_of(&k), "");
	kept_output_done(&k);
}

/* --- the file ------------------------------------------------------------------- */

static struct kept sample(void)
{
	return (struct kept){.run = "20240501-103000",
			     .commit = "c1",
			     .time = 77,
			     .binary = {123, -5, 6},
			     .text = SLICE("{no head}\n==1==ERROR\n")};
}

static void write_sample(void)
{
	struct kept k = sample();
	struct err e = {0};

	if (kept_write(dir.fd, ARTIFACT, &k, &e) < 0)
		fail_msg("%s", e.msg);
}

static void test_file(void **state)
{
	struct kept k = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(kept_read(dir.fd, ARTIFACT, &k, &e), -ENOENT);
	write_sample();
	if (kept_read(dir.fd, ARTIFACT, &k, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(k.run, "20240501-103000");
	assert_string_equal(k.commit, "c1");
	assert_int_equal(k.time, 77);
	assert_int_equal(k.binary.size, 123);
	assert_int_equal(k.binary.mtime_ns, -5);
	assert_int_equal(k.binary.ctime_ns, 6);
	assert_string_equal(k.own, "");
	assert_string_equal(k.detail, "");
	assert_true(slice_eq(k.text, sample().text));
	kept_done(&k);
	kept_done(&k);
	assert_int_equal(kept_remove(dir.fd, ARTIFACT, &e), 0);
	assert_false(scratch_has(dir.fd, NAME));
	assert_int_equal(kept_remove(dir.fd, ARTIFACT, &e), 0);
}

static void test_cause(void **state)
{
	struct kept k = sample(), got = {0};
	struct err e = {0};

	(void)state;
	k.own = "syscall";
	k.detail = "bpf";
	assert_int_equal(kept_write(dir.fd, ARTIFACT, &k, &e), 0);
	assert_int_equal(kept_read(dir.fd, ARTIFACT, &got, &e), 0);
	assert_string_equal(got.own, "syscall");
	assert_string_equal(got.detail, "bpf");
	kept_done(&got);
	assert_int_equal(kept_remove(dir.fd, ARTIFACT, &e), 0);
}

/* An artifact is saved even if its text is invalid in JSON. */
static void test_odd_words(void **state)
{
	static char run[5000];
	struct kept k = sample(), got = {0};
	struct err e = {0};

	(void)state;
	memset(run, 'r', sizeof(run) - 1);
	k.run = run;
	k.commit = "\xff\xfe";
	assert_int_equal(kept_write(dir.fd, ARTIFACT, &k, &e), 0);
	assert_int_equal(kept_read(dir.fd, ARTIFACT, &got, &e), 0);
	assert_string_equal(got.run, "");
	assert_string_equal(got.commit, "");
	kept_done(&got);
}

static void test_names(void **state)
{
	static const char *const bad[] = {
	    "",
	    ".",
	    "..",
	    "a/b",
	    "../x",
	    ".report-x",
	    "crash-\n",
	    ("crash-"
	     "01234567890123456789012345678901234567890123456789012345678901234567890123456789"),
	};
	struct kept k = sample();
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(kept_write(dir.fd, bad[i], &k, &e), -EINVAL);
		assert_int_equal(kept_read(dir.fd, bad[i], &k, &e), -EINVAL);
		assert_int_equal(kept_remove(dir.fd, bad[i], &e), -EINVAL);
	}
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
	    "",
	    "text alone\n",
	    "{}\n",
	    "[1]\ntext",
	    "{\"v\":2,\"run\":\"r\",\"commit\":\"\",\"time\":1,\"binary_size\":1}\n",
	    "{\"v\":1,\"commit\":\"\",\"time\":1,\"binary_size\":1}\n",
	    "{\"v\":1,\"run\":1,\"commit\":\"\",\"time\":1}\n",
	    "{\"v\":1,\"run\":\"r\",\"commit\":\"\",\"time\":-1}\n",
	    "{\"v\":1,\"run\":\"r\",\"commit\":\"\",\"time\":1,\"binary_size\":-1}\n",
	};
	_autoclose_ int fd = -1;
	struct kept k = {0};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(dir.fd, NAME, bad[i]);
		assert_int_equal(kept_read(dir.fd, ARTIFACT, &k, &e), -EBADMSG);
		assert_non_null(strstr(e.msg, NAME));
	}
	scratch_write(dir.fd, NAME, "{\"v\":1,\"run\":\"r\",\"commit\":\"\",\"time\":1}");
	assert_int_equal(kept_read(dir.fd, ARTIFACT, &k, &e), 0); /* the head is the whole text */
	assert_int_equal(k.text.n, 0);
	kept_done(&k);
	fd = openat(dir.fd, NAME, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(kept_read(dir.fd, ARTIFACT, &k, &e), -EFBIG);
}

static void test_sweep(void **state)
{
	struct err e = {0};

	(void)state;
	write_sample();
	scratch_write(dir.fd, ARTIFACT, "x");
	scratch_write(dir.fd, ".report-crash-gone", "x");
	scratch_write(dir.fd,
		      ".."
		      "report-half.new",
		      "x");
	scratch_write(dir.fd, "other", "x");
	assert_int_equal(kept_sweep(dir.fd, &e), 0);
	assert_true(scratch_has(dir.fd, NAME) && scratch_has(dir.fd, ARTIFACT));
	assert_true(scratch_has(dir.fd, "other"));
	assert_false(scratch_has(dir.fd, ".report-crash-gone"));
	assert_false(scratch_has(dir.fd, "..report-half.new"));
}

/* Each call fails in turn: an error, and no partial file under the name. */
static void test_faults(void **state)
{
	struct kept k = sample(), got = {0};
	unsigned at = 0;
	int r;

	(void)state;
	do {
		struct err e = {0};

		fault_arm(++at, FAULT_FAIL);
		r = kept_write(dir.fd, ARTIFACT, &k, &e);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_true(*e.msg);
			assert_false(scratch_has(dir.fd, "." NAME ".new"));
		}
		if (scratch_has(dir.fd, NAME)) {
			assert_int_equal(kept_read(dir.fd, ARTIFACT, &got, &e), 0);
			kept_done(&got);
		}
	} while (r < 0);
	assert_true(at > 5);
	at = 0;
	do {
		struct err e = {0};

		fault_arm(++at, FAULT_FAIL);
		r = kept_read(dir.fd, ARTIFACT, &got, &e);
		fault_arm(0, FAULT_FAIL);
		kept_done(&got);
	} while (r < 0);
	assert_true(at > 2);
}

static const struct CMUnitTest tests[] = {
    CASE(test_output_small), CASE(test_output_large), CASE(test_output_one_line), CASE(test_file),
    CASE(test_odd_words),    CASE(test_names),	      CASE(test_damaged),	  CASE(test_sweep),
    CASE(test_faults),	     CASE(test_cause),
};

UNIT_MAIN(tests)
