/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "runner/state/history.h"
#include "tests/unit/state/stats.h"

static json_t *last(size_t n, uint64_t *damaged)
{
	json_t *lines;
	struct err e = {0};

	if (history_last(&state_of, "h.jsonl", n, &lines, damaged, &e) < 0)
		fail_msg("%s", e.msg);
	return lines;
}

static json_int_t number(const json_t *lines, size_t i, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(lines, i), key));
}

static void expect(size_t n, size_t lines, json_int_t first, json_int_t newest, uint64_t damaged)
{
	uint64_t bad;
	json_t *j = last(n, &bad);

	assert_int_equal(json_array_size(j), lines);
	if (lines > 0) {
		assert_int_equal(number(j, 0, "n"), first);
		assert_int_equal(number(j, lines - 1, "n"), newest);
	}
	assert_int_equal(bad, damaged);
	json_decref(j);
}

static void write_buf(const struct buf *b)
{
	int fd = openat(dir.fd, "stats/h.jsonl",
			O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->p, b->n), (ssize_t)b->n);
	close(fd);
}

static void test_few(void **state)
{
	(void)state;
	expect(5, 0, 0, 0, 0);
	scratch_write(dir.fd, "stats/h.jsonl", "");
	expect(5, 0, 0, 0, 0);
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n");
	expect(0, 0, 0, 0, 0);
	expect(1, 1, 3, 3, 0);
	expect(2, 2, 2, 3, 0);
	expect(3, 3, 1, 3, 0);
	expect(SIZE_MAX, 3, 1, 3, 0);
}

/* A writer died or still writes the last line; or the last line has no newline. */
static void test_cut(void **state)
{
	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\": 2}\n{\"n\":");
	expect(1, 1, 2, 2, 1);
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\": 2}");
	expect(1, 1, 2, 2, 0);
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n{\"n\":\n{\"n\": 3}\n");
	expect(2, 2, 1, 3, 1);
}

static void test_hostile(void **state)
{
	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl",
		      "\n\nnot json\n[1]\n\xff\xfe\n{\"n\": 1, \"n\": 2}\n{\"n\": 4}\n17\n");
	expect(3, 1, 4, 4, 6); /* a leading empty line does not count */
	scratch_write(dir.fd, "stats/h.jsonl", "\n\n\n\n");
	expect(3, 0, 0, 0, 3);
}

/* Lines of every length, so that the borders of blocks fall on every place in a line. */
static void test_borders(void **state)
{
	struct buf b = BUF_INIT(64 << 20);

	(void)state;
	for (int i = 1; i <= 700; i++) {
		buf_printf(&b, "{\"n\": %d, \"f\": \"%0*d\"}\n", i, i * 7, 0);
		if (i % 50 && i > 5)
			continue;
		write_buf(&b);
		expect(1, 1, i, i, 0);
		expect((size_t)i, (size_t)i, 1, i, 0);
		expect((size_t)i / 2 + 1, (size_t)i / 2 + 1, i - i / 2, i, 0);
	}
	buf_done(&b);
}

/* A line that fits a block, and a line that is one byte too long. */
static void test_exact_blocks(void **state)
{
	(void)state;
	for (int size = 4090; size <= 4102; size++) {
		struct buf b = BUF_INIT(1 << 20);
		int fill = size - (int)strlen("{\"n\": 2, \"f\": \"\"}\n");

		buf_printf(&b, "{\"n\": 1}\n{\"n\": 2, \"f\": \"%0*d\"}\n", fill, 0);
		write_buf(&b);
		expect(1, 1, 2, 2, 0);
		expect(9, 2, 1, 2, 0);
		buf_done(&b);
	}
}

/* Only a part of the file is read, from the end. */
static void test_reads_the_end_only(void **state)
{
	struct buf b = BUF_INIT(64 << 20);

	(void)state;
	for (int i = 1; i <= 50000; i++)
		buf_printf(&b, i < 49000 ? "damaged\n" : "{\"n\": %d}\n", i);
	write_buf(&b);
	buf_done(&b);
	expect(1, 1, 50000, 50000, 0);
	expect(1001, 1001, 49000, 50000, 0);
}

static const char lines_with_targets[] =
    "{\"v\": 1, \"run\": \"20250101-000000\", \"status\": \"lost\", \"failures\": 3, "
    "\"targets\": ["
    "{\"name\": \"a\", \"fuzzed\": true, \"cpu_seconds\": 1.5, \"execs\": 10, \"new_inputs\": 2},"
    "{\"name\": \"b\", \"fuzzed\": false, \"cpu_seconds\": 0.5, \"execs\": -4},"
    "{\"name\": \"c\", \"fuzzed\": true, \"execs\": 9223372036854775807}, 7]}\n"
    "{\"v\": 1, \"run\": \"20250102-000000\", \"status\": \"lost\", \"targets\": ["
    "{\"name\": \"a\", \"reason\": \"lost\", \"new_inputs\": 5}]}\n"
    "{\"v\": 2, \"run\": \"20250103-000000\", \"targets\": 4, \"fuzzed\": 3}\n";

static void test_lines_with_targets(void **state)
{
	static const char *const unknown[] = {"fuzzed", "execs", "cpu_seconds"};
	uint64_t damaged;
	json_t *j;

	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl", lines_with_targets);
	j = last(9, &damaged);
	assert_int_equal(damaged, 0);
	assert_int_equal(json_array_size(j), 3);
	assert_int_equal(number(j, 0, "targets"), 4);
	assert_int_equal(number(j, 0, "fuzzed"), 2);
	assert_int_equal(number(j, 0, "new_inputs"), 2);
	assert_int_equal(number(j, 0, "failures"), 3);
	assert_true(number(j, 0, "execs") == INT64_MAX);
	assert_true(json_real_value(json_object_get(json_array_get(j, 0), "cpu_seconds")) == 2.0);
	assert_int_equal(number(j, 1, "targets"), 1);
	assert_int_equal(number(j, 1, "new_inputs"), 5);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_null(json_object_get(json_array_get(j, 1), unknown[i]));
	assert_int_equal(number(j, 2, "targets"), 4);
	assert_int_equal(number(j, 2, "fuzzed"), 3);
	json_decref(j);
}

/* A line with thousands of targets. */
static void test_huge_lines(void **state)
{
	struct buf b = BUF_INIT(64 << 20);
	uint64_t damaged;
	json_t *j;

	(void)state;
	for (int run = 0; run < 3; run++) {
		buf_printf(&b, "{\"n\": %d, \"targets\": [", run);
		for (int i = 0; i < 5000; i++)
			buf_printf(&b,
				   "%s{\"name\": \"%0400d\", \"fuzzed\": true, "
				   "\"execs\": 2}",
				   i ? "," : "", i);
		buf_puts(&b, "]}\n");
	}
	write_buf(&b);
	buf_done(&b);
	j = last(2, &damaged);
	assert_int_equal(damaged, 0);
	assert_int_equal(json_array_size(j), 2);
	assert_int_equal(number(j, 0, "n"), 1);
	assert_int_equal(number(j, 1, "targets"), 5000);
	assert_int_equal(number(j, 1, "execs"), 10000);
	json_decref(j);
}

static void test_no_file_of_ours(void **state)
{
	uint64_t damaged;
	struct err e;
	json_t *j;

	(void)state;
	assert_int_equal(mkfifoat(dir.fd, "stats/h.jsonl", 0600), 0);
	assert_int_equal(history_last(&state_of, "h.jsonl", 3, &j, &damaged, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "'stats/h.jsonl' is not a regular file"));
	assert_int_equal(unlinkat(dir.fd, "stats/h.jsonl", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "stats/h.jsonl"), 0);
	assert_int_equal(history_last(&state_of, "h.jsonl", 3, &j, &damaged, &e), -ELOOP);
	assert_non_null(strstr(e.msg, "stats/h.jsonl"));
}

static void test_target_names(void **state)
{
	struct err e;
	char *name;

	(void)state;
	assert_int_equal(history_target_name("a_b", &name, &e), 0);
	assert_string_equal(name, "targets/a_b.jsonl");
	free(name);
	assert_int_equal(history_target_name("../x", &name, &e), -EINVAL);
	assert_int_equal(history_target_name(".x", &name, &e), -EINVAL);
	assert_int_equal(history_target_name("", &name, &e), -EINVAL);
	assert_int_equal(history_target_name("a\nb", &name, &e), -EINVAL);
}

static int on_line(void *arg, const json_t *line, struct err *e)
{
	json_t *copy = json_deep_copy(line);

	(void)e;
	history_lean(copy);
	return json_array_append_new(arg, copy);
}

/* With any content and any block borders the result equals a read from the beginning. */
static void test_as_from_the_beginning(void **state)
{
	static const char *const pieces[] = {"\n",
					     "{\"n\": 1}",
					     "{\"n\": [2, 3]}\n",
					     "{",
					     "x\n",
					     "",
					     "{\"targets\": [{\"execs\": 5}]}\n"};
	uint32_t dice = 1;

	(void)state;
	for (int i = 0; i < 300; i++) {
		_autojson_ json_t *all = json_array();
		struct buf b = BUF_INIT(1 << 20);
		uint64_t damaged;
		struct err e;

		for (int k = 0; k < 40; k++) {
			dice = dice * 1664525 + 1013904223;
			buf_printf(&b, "%s%*s", pieces[(dice >> 16) % 7],
				   (int)((dice >> 8) % 5 ? 0 : dice >> 20), "");
		}
		write_buf(&b);
		buf_done(&b);
		assert_int_equal(history_each(&state_of, "h.jsonl", on_line, all, &damaged, &e), 0);
		for (size_t n = 1; n <= json_array_size(all) + 1; n++) {
			json_t *lines = last(n, &damaged);
			size_t have = json_array_size(lines), from = json_array_size(all) - have;

			assert_int_equal(have, n < json_array_size(all) ? n : json_array_size(all));
			for (size_t k = 0; k < have; k++)
				assert_true(json_equal(json_array_get(lines, k),
						       json_array_get(all, from + k)));
			json_decref(lines);
		}
	}
}

static void test_faults(void **state)
{
	uint64_t damaged;
	struct err e;
	unsigned at = 1;
	json_t *j;

	(void)state;
	scratch_write(dir.fd, "stats/h.jsonl", "{\"n\": 1}\n");
	for (;; at++) {
		int r;

		fault_arm(at, FAULT_FAIL);
		r = history_last(&state_of, "h.jsonl", 1, &j, &damaged, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_string_not_equal(e.msg, "");
	}
	assert_int_equal(json_array_size(j), 1);
	json_decref(j);
	assert_true(at > 2);
}

static const struct CMUnitTest tests[] = {
    CASE(test_few),
    CASE(test_cut),
    CASE(test_hostile),
    CASE(test_borders),
    CASE(test_exact_blocks),
    CASE(test_reads_the_end_only),
    CASE(test_lines_with_targets),
    CASE(test_huge_lines),
    CASE(test_no_file_of_ours),
    CASE(test_target_names),
    CASE(test_as_from_the_beginning),
    CASE(test_faults),
};

UNIT_MAIN(tests)
