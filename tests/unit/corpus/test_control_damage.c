/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/control.h"

/* A file that is cut anywhere: complete records count.  After a repair libFuzzer reads the file and
 * begins with the right input. */
static void test_cut(void **state)
{
	static const char whole[] = ONE TWO THREE FOUR;
	static const char *const ends[] = {ONE, ONE TWO, ONE TWO THREE, whole};
	char got[1024];

	(void)state;
	for (size_t n = 0; n < sizeof(whole); n++) {
		char part[sizeof(whole)] = "";
		struct control *c;
		size_t next = 0, good = 0;
		struct err e;

		memcpy(part, whole, n);
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			/* A failed input counts when the next input was started. */
			size_t needs = strlen(ends[i]) + (i == 1 ? 1 : 0);

			if (n >= needs) {
				next = i + 1;
				good = strlen(ends[i]);
			}
		}
		c = control_of(part);
		assert_int_equal(c->next, next);
		assert_int_equal(c->good, head + (off_t)good);
		if (c->started)
			assert_int_equal(part[n - 1], '\n');
		if (!c->started && n > good)
			assert_true(strstr(c->why, "is cut"));
		assert_int_equal(control_repair(c, &list, false, &e), 0);
		control_free(c);
		scratch_text(dir.fd, "cf", got, sizeof(got));
		assert_int_equal(strlen(got + head), good);
		assert_memory_equal(got + head, whole, good);
		c = read_control(dir.fd, "cf", &list);
		/* The last record is of a failed input: it reads as started again. */
		assert_int_equal(c->next, next == 2 ? 1 : next);
		assert_int_equal(c->started, next == 2);
		assert_string_equal(c->why, "");
		control_free(c);
	}
}

static void test_damage(void **state)
{
	static const struct {
		const char *text;
		size_t next;
	} bad[] = {
	    {"\n", 0},
	    {"STARTED 1 2\n", 0},
	    {"STARTED 0\n", 0},
	    {"STARTED 0 1 2\n", 0},
	    {"STARTED 0  1\n", 0},
	    {"STARTED 0 -1\n", 0},
	    {"STARTED 0 99999999999\n", 0},
	    {"STARTED  0 1\n", 0},
	    {"STARTED 4294967296 1\nFT 0\nCOV 0\n", 0},
	    {"started 0 1\n", 0},
	    {"FT 0 1\n", 0},
	    {"STARTED 0 1\nCOV 0 1\n", 0},
	    {"STARTED 0 1\nFT 1 1\nCOV 0 1\n", 0},
	    {"STARTED 0 1\nFT 0 1\nCOV 1 1\n", 0},
	    {"STARTED 0 1\nFT 0 1\nSTARTED 1 2\n", 0},
	    {"STARTED 0 1\nFT 0 1\nFT 0 1\n", 0},
	    {"STARTED 0 1\nFT 0 1 \nCOV 0\n", 0},
	    {"STARTED 0 1\nFT 0 1x\nCOV 0\n", 0},
	    {"STARTED 0 1\nFT 0 1\r\nCOV 0\n", 0},
	    {"STARTED 0 1\nFT 0 134217728\nCOV 0\n", 0},
	    {"STARTED 0 1\nFT 0 18446744073709551617\nCOV 0\n", 0},
	    {"STARTED 0 1\nFT 0\nCOV 0 16777216\n", 0},
	    {ONE ONE, 1},
	    {ONE "STARTED 0 1\n", 1},
	    {ONE "COV 0 7\n", 1},
	    {ONE TWO "STARTED 3 4\n", 2},
	    {ONE TWO THREE FOUR "STARTED 4 5\n", 4},
	    {ONE TWO THREE FOUR FOUR, 4},
	    {ONE TWO THREE FOUR "\n", 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct control *c = control_of(bad[i].text);
		struct err e;

		assert_int_equal(c->next, bad[i].next);
		assert_false(c->started);
		assert_true(strstr(c->why, c->next == INPUTS ? "more behind the last record"
							     : "not as an engine writes it"));
		/* An incomplete record does not count. */
		for (size_t k = c->next; k < INPUTS; k++) {
			assert_int_equal(c->inputs[k].state, CONTROL_WAITS);
			features_are(c, k, NULL, 0);
		}
		assert_int_equal(c->edges.count, bad[i].next == 0	? 0
						 : bad[i].next < INPUTS ? 3
									: 4);
		assert_int_equal(control_repair(c, &list, false, &e), 0);
		assert_string_equal(c->why, "");
		assert_int_equal(size_of(dir.fd, "cf"), c->good);
		control_free(c);
	}
}

static void test_zero_bytes(void **state)
{
	struct control *c;

	(void)state;
	append_text(dir.fd, "cf", "STARTED 0 1\nFT 0\0 1\nCOV 0\n", 26);
	c = read_control(dir.fd, "cf", &list);
	assert_int_equal(c->next, 0);
	assert_string_equal(c->why, "byte 216, the record of input 0: not as an engine writes it");
	control_free(c);
}

/* A line of more features than an input may have is damage, not memory. */
static void test_too_many(void **state)
{
	size_t n = ((size_t)CONTROL_FEATURES_MAX + 1) * 2;
	char *text = malloc(n + 64);
	char *p = text;
	struct control *c;

	(void)state;
	assert_non_null(text);
	for (unsigned cov = 0; cov < 2; cov++) {
		p = text + sprintf(text, cov ? "STARTED 0 1\nFT 0\nCOV 0" : "STARTED 0 1\nFT 0");
		for (size_t i = 0; i < n; i += 2, p += 2)
			memcpy(p, " 1", 2);
		strcpy(p, "\nCOV 0\n");
		c = control_of(text);
		assert_int_equal(c->next, 0);
		assert_true(strstr(c->why, "not as an engine writes it"));
		control_free(c);
	}
	/* One feature less is accepted. */
	p = text + sprintf(text, "STARTED 0 1\nFT 0");
	for (size_t i = 2; i < n; i += 2, p += 2)
		memcpy(p, " 1", 2);
	strcpy(p, "\nCOV 0\n");
	c = control_of(text);
	assert_int_equal(c->next, 1);
	assert_int_equal(c->inputs[0].features, CONTROL_FEATURES_MAX);
	features_are(c, 0, LIST(1));
	control_free(c);
	free(text);
}

/* The head must be ours, byte by byte, and the file a regular file with one name. */
static void refused(const char *file, const struct candidates *l)
{
	struct control *c = NULL;
	struct err e = {0};

	assert_int_equal(control_read(dir.fd, file, STAGE, l, &c, &e), -EBADMSG);
	assert_null(c);
	assert_true(strstr(e.msg, file));
}

static void test_not_ours(void **state)
{
	struct candidates other = list_of(INPUTS + 1);
	char text[1024];
	struct control *c;
	struct err e;
	int fd;

	(void)state;
	refused("cf", &other);
	candidates_done(&other);
	scratch_text(dir.fd, "cf", text, sizeof(text));
	for (off_t i = 0; i < head; i++) {
		fd = openat(dir.fd, "cf", O_WRONLY | O_CLOEXEC);
		assert_int_equal(pwrite(fd, "x", 1, i), 1);
		refused("cf", &list);
		assert_int_equal(pwrite(fd, text + i, 1, i), 1);
		close(fd);
	}
	for (off_t i = 0; i < head; i++) {
		scratch_write(dir.fd, "short", "");
		append_text(dir.fd, "short", text, (size_t)i);
		refused("short", &list);
	}
	control_free(read_control(dir.fd, "cf", &list));
	assert_int_equal(control_read(dir.fd, "cf", "/elsewhere", &list, &c, &e), -EBADMSG);

	refused("none", &list);
	assert_int_equal(symlinkat("cf", dir.fd, "link"), 0);
	refused("link", &list);
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
	refused("fifo", &list);
	close(make_dir_at(dir.fd, "dir"));
	refused("dir", &list);
	assert_int_equal(linkat(dir.fd, "cf", dir.fd, "second", 0), 0);
	refused("cf", &list);
}

/* A process still writes the file: an error, and no number out of bounds. */
static void test_changes(void **state)
{
	CLEANUP(control_reader_done) struct control_reader reader = {0};
	struct control *c = control_of(ONE TWO THREE);
	struct err e;
	size_t n;
	int fd = openat(dir.fd, "cf", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pwrite(fd, "999999999", 9, (off_t)c->inputs[2].features_at), 9);
	assert_int_equal(control_features(c, 2, &reader, &n, &e), -EBADMSG);
	assert_string_equal(e.msg, "a control file changed while it was read");
	assert_int_equal(ftruncate(fd, (off_t)c->inputs[0].edges_at + 1), 0);
	assert_int_equal(control_edges(c, 0, &reader, &n, &e), -EBADMSG);
	assert_int_equal(control_features(c, 0, &reader, &n, &e), 0);
	assert_int_equal(n, 3);
	close(fd);
	control_free(c);
}

static const struct CMUnitTest tests[] = {
    CASE(test_cut),	 CASE(test_damage),   CASE(test_zero_bytes),
    CASE(test_too_many), CASE(test_not_ours), CASE(test_changes),
};

UNIT_MAIN(tests)
