/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/control.h"

/* --- writing ---------------------------------------------------------------------- */

static void test_write(void **state)
{
	char text[512];
	struct stat st;

	(void)state;
	assert_string_equal(scratch_text(dir.fd, "cf", text, sizeof(text)),
			    "4\n0\n"
			    "/inputs/0000000000000000000000000000000000000000\n"
			    "/inputs/0000000000000000000000000000000000000001\n"
			    "/inputs/0000000000000000000000000000000000000002\n"
			    "/inputs/0000000000000000000000000000000000000003\n");
	assert_int_equal(fstatat(dir.fd, "cf", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* The cell's user owns the file.  Files that the cell left under its name are not written through,
 * not waited for, and not in the way. */
static void test_write_again(void **state)
{
	char text[32];
	struct stat st;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "precious", "precious");
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(fs_remove_tree(dir.fd, "cf", &e), 0);
		if (i == 0)
			assert_int_equal(symlinkat("precious", dir.fd, "cf"), 0);
		else if (i == 1)
			assert_int_equal(mkfifoat(dir.fd, "cf", 0600), 0);
		else if (i == 2)
			close(make_dir_at(dir.fd, "cf/full"));
		else
			assert_int_equal(linkat(dir.fd, "precious", dir.fd, "cf", 0), 0);
		write_control(dir.fd, "cf", &list);
		assert_int_equal(size_of(dir.fd, "cf"), head);
		control_free(read_control(dir.fd, "cf", &list));
	}
	assert_string_equal(scratch_text(dir.fd, "precious", text, sizeof(text)), "precious");
	if (geteuid() != 0)
		return;
	assert_int_equal(control_write(dir.fd, "cf", STAGE, &list, 4711, 4712, &e), 0);
	assert_int_equal(fstatat(dir.fd, "cf", &st, 0), 0);
	assert_int_equal(st.st_uid, 4711);
	assert_int_equal(st.st_gid, 4712);
}

static void test_write_refused(void **state)
{
	struct candidates none = {0};
	char deep[5000];
	struct err e;

	(void)state;
	assert_int_equal(control_write(dir.fd, "new", STAGE, &none, 0, 0, &e), -EINVAL);
	assert_string_equal(e.msg, "a control file for no inputs");
	assert_int_equal(control_write(dir.fd, "new", "inputs", &list, 0, 0, &e), -EINVAL);
	assert_string_equal(e.msg, "'inputs' is no path of a stage");
	assert_int_equal(control_write(dir.fd, "new", "/in\nputs", &list, 0, 0, &e), -EINVAL);
	memset(deep, '/', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(control_write(dir.fd, "new", deep, &list, 0, 0, &e), -EINVAL);
	assert_false(scratch_has(dir.fd, "new"));
}

/* Longer than one write. */
static void test_write_many(void **state)
{
	struct candidates many = list_of(10000);
	struct control *c;

	(void)state;
	write_control(dir.fd, "many", &many);
	assert_int_equal(size_of(dir.fd, "many"), 8 + 10000 * (sizeof(STAGE) + 41));
	c = read_control(dir.fd, "many", &many);
	assert_int_equal(c->n, 10000);
	assert_int_equal(c->next, 0);
	control_free(c);
	candidates_done(&many);
}

/* --- reading ---------------------------------------------------------------------- */

static void test_read(void **state)
{
	struct control *c = control_of("");

	(void)state;
	assert_int_equal(c->next, 0);
	assert_false(c->started);
	assert_int_equal(c->good, head);
	assert_string_equal(c->why, "");
	features_are(c, 0, NULL, 0);
	edges_are(c, 3, NULL, 0);
	control_free(c);

	c = control_of(ONE TWO THREE FOUR);
	assert_int_equal(c->n, INPUTS);
	assert_int_equal(c->next, INPUTS);
	assert_false(c->started);
	assert_string_equal(c->why, "");
	assert_int_equal(c->good, size_of(dir.fd, "cf"));
	assert_int_equal(c->inputs[0].state, CONTROL_RAN);
	assert_int_equal(c->inputs[1].state, CONTROL_FAILED);
	assert_int_equal(c->inputs[2].state, CONTROL_RAN);
	assert_int_equal(c->inputs[3].state, CONTROL_RAN);
	assert_int_equal(c->inputs[2].features, 3);
	features_are(c, 0, LIST(0, 8, 24));
	features_are(c, 1, NULL, 0);
	features_are(c, 2, LIST(8, 18, 134217727));
	features_are(c, 3, NULL, 0);
	edges_are(c, 0, LIST(0, 1, 3));
	edges_are(c, 2, LIST(16777215));
	assert_int_equal(c->edges.count, 4);
	assert_true(bits_has(&c->edges, 3) && bits_has(&c->edges, 16777215));
	assert_false(bits_has(&c->edges, 2));
	control_free(c);
}

static void test_started(void **state)
{
	struct control *c = control_of(ONE TWO);

	(void)state;
	assert_int_equal(c->next, 1);
	assert_true(c->started);
	assert_string_equal(c->why, "");
	assert_int_equal(c->good, head + (off_t)strlen(ONE));
	assert_int_equal(c->inputs[1].state, CONTROL_WAITS);
	control_free(c);
}

/* An engine need not write the features in order, or only once. */
static void test_order(void **state)
{
	struct control *c =
	    control_of("STARTED 0 1\nFT 0 9 8 9 7 7 100 8\nCOV 0 5 5 4\n" TWO
		       "STARTED 2 3\nFT 2 00008 18\nCOV 2\nSTARTED 3 4\nFT 3 4 4 4\nCOV 3\n");

	(void)state;
	assert_int_equal(c->next, INPUTS);
	features_are(c, 0, LIST(7, 8, 9, 100));
	edges_are(c, 0, LIST(4, 5));
	features_are(c, 2, LIST(8, 18));
	features_are(c, 3, LIST(4));
	assert_int_equal(c->edges.count, 2);
	control_free(c);
}

/* Across many blocks, and one reader for all. */
static void test_long(void **state)
{
	CLEANUP(control_reader_done) struct control_reader reader = {0};
	_autobuf_ struct buf text = BUF_INIT(8 << 20);
	struct control *c;
	struct err e;
	size_t n;

	(void)state;
	buf_puts(&text, "STARTED 0 1\nFT 0");
	for (uint32_t i = 0; i < 300000; i++)
		buf_printf(&text, " %u", i * 7);
	buf_puts(&text, "\nCOV 0");
	for (uint32_t i = 0; i < 300000; i++)
		buf_printf(&text, " %u", i * 3);
	buf_puts(&text, "\n" TWO THREE);
	c = control_of(buf_str(&text));
	assert_int_equal(c->next, 3);
	assert_int_equal(c->edges.count, 300001);
	assert_int_equal(control_features(c, 0, &reader, &n, &e), 0);
	assert_int_equal(n, 300000);
	for (uint32_t i = 0; i < 300000; i++)
		assert_int_equal(reader.v[i], i * 7);
	assert_int_equal(control_features(c, 2, &reader, &n, &e), 0);
	assert_int_equal(n, 3);
	assert_int_equal(reader.v[2], 134217727);
	assert_int_equal(control_edges(c, 0, &reader, &n, &e), 0);
	assert_int_equal(n, 300000);
	assert_int_equal(reader.v[299999], 299999 * 3);
	control_free(c);
}

/* --- continuing ------------------------------------------------------------------- */

static void test_skip(void **state)
{
	struct control *c = control_of(ONE "STARTED 1 2\nFT 1 8 1");
	char got[1024];
	struct err e;

	(void)state;
	/* It ran, but its features are unknown: it is run again. */
	assert_false(c->started);
	assert_int_equal(c->next, 1);
	assert_int_equal(control_repair(c, &list, false, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "cf", got, sizeof(got)) + head, ONE);
	/* The same happens again: the input is to blame. */
	assert_int_equal(control_repair(c, &list, true, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "cf", got, sizeof(got)) + head, ONE TWO);
	assert_int_equal(c->next, 2);
	assert_int_equal(c->inputs[1].state, CONTROL_FAILED);
	assert_false(c->started);
	assert_int_equal(control_repair(c, &list, true, &e), 0);
	assert_int_equal(control_repair(c, &list, true, &e), 0);
	assert_int_equal(c->next, INPUTS);
	assert_string_equal(scratch_text(dir.fd, "cf", got, sizeof(got)) + head,
			    ONE TWO "STARTED 2 3\nSTARTED 3 4\n");
	assert_int_equal(control_repair(c, &list, true, &e), -EINVAL);
	control_free(c);

	/* Only the caller knows that the last input was skipped. */
	c = read_control(dir.fd, "cf", &list);
	assert_int_equal(c->next, INPUTS - 1);
	assert_true(c->started);
	assert_int_equal(control_repair(c, &list, true, &e), 0);
	assert_int_equal(c->next, INPUTS);
	assert_int_equal(c->good, size_of(dir.fd, "cf"));
	control_free(c);
}

/* Within one cell an engine continues after a failed input only if the target executed itself. */
static void test_rewind(void **state)
{
	struct control *c = control_of(ONE TWO THREE FOUR);
	char got[1024];
	struct err e;

	(void)state;
	control_rewind(c, 2);
	assert_int_equal(c->next, INPUTS);
	assert_false(c->started);
	assert_int_equal(c->inputs[3].state, CONTROL_RAN);
	control_rewind(c, 1);
	assert_int_equal(c->next, 1);
	assert_true(c->started);
	assert_int_equal(c->good, (uint64_t)head + strlen(ONE));
	assert_int_equal(c->inputs[0].state, CONTROL_RAN);
	for (size_t i = 1; i < INPUTS; i++)
		assert_int_equal(c->inputs[i].state, CONTROL_WAITS);
	features_are(c, 0, LIST(0, 8, 24));
	features_are(c, 2, NULL, 0);
	assert_int_equal(control_repair(c, &list, true, &e), 0);
	assert_int_equal(c->next, 2);
	assert_string_equal(scratch_text(dir.fd, "cf", got, sizeof(got)) + head, ONE TWO);
	control_rewind(c, 2);
	assert_int_equal(c->next, 2);
	control_free(c);

	c = control_of(ONE TWO THREE "STARTED 3 4\nFT 3 damaged");
	assert_string_not_equal(c->why, "");
	control_rewind(c, 0);
	assert_int_equal(c->next, 1);
	assert_string_equal(c->why, "");
	control_free(c);
}

/* --- faults ----------------------------------------------------------------------- */

static int all_of_it(struct err *e)
{
	CLEANUP(control_reader_done) struct control_reader reader = {0};
	struct control *c = NULL;
	size_t n = 0;
	int r = control_write(dir.fd, "cf", STAGE, &list, geteuid(), getegid(), e);

	if (r < 0)
		return r;
	append(dir.fd, "cf", ONE TWO "STARTED 2 3\nFT 2");
	r = control_read(dir.fd, "cf", STAGE, &list, &c, e);
	if (r == 0)
		r = control_features(c, 0, &reader, &n, e);
	if (r == 0)
		r = control_repair(c, &list, true, e);
	control_free(c);
	return r;
}

/* Any failing call is reported as itself, never as damage by the target. */
static void test_faults(void **state)
{
	unsigned at = 1;

	(void)state;
	for (;; at++) {
		struct err e = {0};
		int r;

		fault_arm(at, FAULT_FAIL);
		r = all_of_it(&e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		assert_true(r != -EBADMSG);
		assert_true(*e.msg);
	}
	assert_in_range(at, 5, 20);
}

static const struct CMUnitTest tests[] = {
    CASE(test_write), CASE(test_write_again), CASE(test_write_refused), CASE(test_write_many),
    CASE(test_read),  CASE(test_started),     CASE(test_order),		CASE(test_long),
    CASE(test_skip),  CASE(test_rewind),      CASE(test_faults),
};

UNIT_MAIN(tests)
