/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "runner/state/history.h"
#include "tests/unit/state/stats.h"

struct seen {
	json_int_t n[8];
	size_t lines;
	int answer;
};

static int on_line(void *arg, const json_t *line, struct err *e)
{
	struct seen *s = arg;

	if (s->lines < 8)
		s->n[s->lines] = json_integer_value(json_object_get(line, "n"));
	s->lines++;
	return s->answer ? err_set(e, -s->answer, "enough") : 0;
}

static int read_all(struct seen *s, uint64_t *damaged, struct err *e)
{
	return history_each(&state_of, "h.jsonl", on_line, s, damaged, e);
}

static void test_order(void **state)
{
	struct seen s = {.lines = 0};
	uint64_t damaged;
	struct err e;

	(void)state;
	for (int i = 1; i <= 3; i++) {
		json_t *j = json_pack("{s:i}", "n", i);

		assert_int_equal(state_append_history(&state_of, NULL, "h.jsonl", j, &e), 0);
		json_decref(j);
	}
	assert_int_equal(read_all(&s, &damaged, &e), 0);
	assert_int_equal(s.lines, 3);
	assert_int_equal(s.n[0], 1);
	assert_int_equal(s.n[2], 3);
	assert_int_equal(damaged, 0);
}

static void test_missing(void **state)
{
	struct seen s = {.lines = 0};
	uint64_t damaged;
	struct err e;

	(void)state;
	assert_int_equal(read_all(&s, &damaged, &e), 0);
	assert_int_equal(s.lines, 0);
}

static void test_damaged(void **state)
{
	struct seen s = {.lines = 0};
	uint64_t damaged;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl",
		      "{\"n\": 1}\nnot json\n\n[1]\n{\"n\": 2, \"n\": 3}\n{\"n\": 4}\n{\"n\": 5");
	assert_int_equal(read_all(&s, &damaged, &e), 0);
	assert_int_equal(s.lines, 2);
	assert_int_equal(s.n[1], 4);
	assert_int_equal(damaged, 5);
}

static void test_callback_ends_it(void **state)
{
	struct seen s = {.answer = -ENOMEM};
	uint64_t damaged;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
	assert_int_equal(read_all(&s, &damaged, &e), -ENOMEM);
	assert_int_equal(s.lines, 1);
	assert_string_equal(e.msg, "enough");
}

/* A file above the read limit: the newest complete lines count. */
static void test_large(void **state)
{
	static const char line[] =
	    "{\"n\": 7, \"fill\": \"0123456789012345678901234567890123456789\"}\n";
	struct seen s = {.lines = 0};
	struct buf block = BUF_INIT(1 << 20);
	uint64_t damaged, written = 0;
	struct err e;
	int fd = openat(dir.fd, "stats/h.jsonl", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	assert_true(write(fd, "{\"n\": 1}\n", 9) == 9);
	while (block.n + sizeof(line) < 1 << 20)
		buf_puts(&block, line);
	for (; written <= HISTORY_READ_MAX; written += block.n)
		assert_int_equal(write(fd, block.p, block.n), (ssize_t)block.n);
	close(fd);
	buf_done(&block);
	assert_int_equal(read_all(&s, &damaged, &e), 0);
	assert_int_equal(damaged, 0);
	assert_int_equal(s.n[0], 7);
	assert_true(s.lines >= HISTORY_READ_MAX / sizeof(line));
}

static void test_faults(void **state)
{
	uint64_t damaged;
	struct err e;
	unsigned at = 1;

	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n");
	for (;; at++) {
		struct seen s = {.lines = 0};
		int r;

		fault_arm(at, FAULT_FAIL);
		r = read_all(&s, &damaged, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0 && s.lines == 1)
			break;
		assert_true(r < 0);
		assert_string_not_equal(e.msg, "");
	}
	assert_true(at > 2);
}

static const struct CMUnitTest tests[] = {
    CASE(test_order), CASE(test_missing), CASE(test_damaged), CASE(test_callback_ends_it),
    CASE(test_large), CASE(test_faults),
};

UNIT_MAIN(tests)
