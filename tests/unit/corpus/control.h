/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_CONTROL_H
#define TESTS_UNIT_CORPUS_CONTROL_H

/* A control file "cf" of four inputs, and the lines that engines write after its head.  Include
 * unit.h first. */
#include "tests/unit/corpus/merge.h"

static struct scratch dir;
static struct candidates list;
static off_t head;

enum { INPUTS = 4 };

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	list = list_of(INPUTS);
	write_control(dir.fd, "cf", &list);
	head = size_of(dir.fd, "cf");
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	candidates_done(&list);
	scratch_remove(&dir);
	return 0;
}

/* Makes a fresh file with this text after its head. */
static inline struct control *control_of(const char *text)
{
	write_control(dir.fd, "cf", &list);
	append(dir.fd, "cf", text);
	return read_control(dir.fd, "cf", &list);
}

typedef int numbers_fn(const struct control *c, size_t i, struct control_reader *reader,
		       size_t *ret_n, struct err *e);

static inline void numbers_are(numbers_fn *fn, const struct control *c, size_t i,
			       const uint32_t *want, size_t n)
{
	CLEANUP(control_reader_done) struct control_reader reader = {0};
	struct err e = {0};
	size_t got;

	if (fn(c, i, &reader, &got, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(got, n);
	if (n)
		assert_memory_equal(reader.v, want, n * sizeof(*want));
}

static inline void features_are(const struct control *c, size_t i, const uint32_t *want, size_t n)
{
	numbers_are(control_features, c, i, want, n);
}

static inline void edges_are(const struct control *c, size_t i, const uint32_t *want, size_t n)
{
	numbers_are(control_edges, c, i, want, n);
}

#define LIST(...) \
	(const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

#define ONE   "STARTED 0 1\nFT 0 0 8 24\nCOV 0 0 1 3\n"
#define TWO   "STARTED 1 2\n"
#define THREE "STARTED 2 3\nFT 2 8 18 134217727\nCOV 2 16777215\n"
#define FOUR  "STARTED 3 4\nFT 3\nCOV 3\n"

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

#endif
