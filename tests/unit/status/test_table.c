/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/status/color.h"
#include "runner/status/table.h"
#include "tests/unit/status/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static struct target_row rows[ROWS];
static struct run_view view;

static int each_setup(void **state)
{
	(void)state;
	rows_fill(rows);
	view = view_of(rows);
	return 0;
}

/* Draws the table into out, and checks the invariants of every drawing. */
static unsigned draw(unsigned columns, unsigned lines, char *out, size_t n)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 16);
	struct slice in, line;
	unsigned drawn = 99, seen = 0;
	struct err e;

	assert_int_equal(table_draw(&view, columns, lines, false, &b, &drawn, &e), 0);
	in = buf_slice(&b);
	while (scan_line(&in, &line)) {
		assert_true(columns == 0 || line.n <= columns);
		seen++;
	}
	assert_int_equal(seen, drawn);
	assert_true(drawn <= (lines > 2 ? lines : 2));
	snprintf(out, n, "%s", buf_str(&b));
	return drawn;
}

static void test_order(void **state)
{
	static const char *const want[] = {"fuzzes", "ended", "broken", "crashes", "waits"};
	char text[4096];
	const char *p = text;

	(void)state;
	assert_int_equal(draw(200, 40, text, sizeof(text)), 2 + ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "\n%s ", want[i]);
		p = strstr(p, line);
		assert_non_null(p);
	}
	assert_ptr_equal(strstr(text,
				"58m00s left of 1h00m  1 of 2 workers busy  3 of 5 targets done  "
				"3 failures  0 new inputs  run 20210304-050607\n"),
			 text);
	assert_non_null(strstr(text, "startup-failed"));
	assert_non_null(strstr(
	    text, "100MiB/2GiB")); /* of a running target: the current value; else the peak */
	assert_non_null(strstr(text, "200MiB/2GiB"));
	view.interrupted = true;
	view.total_us = 0;
	draw(200, 40, text, sizeof(text));
	assert_ptr_equal(strstr(text, "stopping  since 2m00s  1 of 2 workers busy  "), text);
}

/* On any screen the table fits, and running targets come first. */
static void test_sizes(void **state)
{
	char text[4096];

	(void)state;
	for (unsigned columns = 1; columns < 160; columns += 13)
		for (unsigned lines = 1; lines < 10; lines++) {
			unsigned n = draw(columns, lines, text, sizeof(text));
			unsigned shown = lines < 2 ? 0 : lines - 2;

			assert_int_equal(n, 2 + (shown < ROWS ? shown : ROWS));
			if (lines > 2 && columns > 6)
				assert_non_null(strstr(text, "\nfuzzes"));
		}
	view.n_rows = 0;
	assert_int_equal(draw(80, 24, text, sizeof(text)), 2);
}

/* The widest values fit into their lines. */
static void test_wide(void **state)
{
	char text[4096], name[129];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[128] = '\0';
	rows[ROW_FUZZING] = (struct target_row){
	    .name = name,
	    .state = "fuzzing",
	    .wall_us = UINT64_MAX,
	    .exec_per_s = UINT64_MAX,
	    .cov = UINT64_MAX,
	    .ft = UINT64_MAX,
	    .corpus_units = UINT64_MAX,
	    .memory_now = UINT64_MAX,
	    .memory_limit = UINT64_MAX,
	    .pressure_cpu = 1e300,
	    .pressure_memory = 12.5,
	    .failures_total = UINT64_MAX,
	    .note = name,
	};
	assert_int_equal(draw(500, 40, text, sizeof(text)), 2 + ROWS);
	assert_non_null(strstr(text, "999%"));
	for (unsigned columns = 1; columns < 300; columns++)
		draw(columns, 40, text, sizeof(text));
}

/* Returns the word that ends at the end of the title. */
static void cell(const char *text, const char *name, const char *title, char out[64])
{
	const char *head = strchr(text, '\n') + 1, *row = text, *at = strstr(head, title);
	size_t end, begin;

	if (!at || at > strchr(head, '\n'))
		fail_msg("no column %s in\n%s", title, text);
	end = (size_t)(at - head) + strlen(title);
	for (size_t n = strlen(name); strncmp(row, name, n) != 0 || row[n] != ' ';)
		row = strchr(row, '\n') + 1;
	assert_true(strcspn(row, "\n") >= end);
	for (begin = end; begin > 0 && row[begin - 1] != ' ';)
		begin--;
	snprintf(out, 64, "%.*s", (int)(end - begin), row + begin);
}

static void has_cell(const char *text, const char *name, const char *title, const char *want)
{
	char is[64];

	cell(text, name, title, is);
	assert_string_equal(is, want);
}

/* A narrow screen shows the most important columns, a wide screen uses its space. */
static void test_widths(void **state)
{
	static const struct {
		unsigned columns;
		bool corpus, edges;
	} t[] = {{80, false, false}, {120, true, false}, {200, true, true}};
	char text[8192];

	(void)state;
	rows[ROW_CRASHED].found = true;
	rows[ROW_CRASHED].silent_us = 75 * USEC_PER_SEC;
	rows[ROW_CRASHED].edges_total = 4321;
	rows[ROW_CRASHED].cov = 123;
	rows[ROW_CRASHED].name = "a_target_with_a_name_of_no_usual_length_fuzzer";
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		size_t longest = 0, len;

		draw(t[i].columns, 40, text, sizeof(text));
		has_cell(text, "fuzzes", "failures", "0");
		has_cell(text, "fuzzes", "last find", "-");
		has_cell(text, "waits", "time", "0ms");
		has_cell(text, "broken", "cov", "0");
		assert_non_null(strstr(text, " 1m15s"));
		assert_int_equal(strstr(text, " corpus") != NULL, t[i].corpus);
		assert_int_equal(strstr(text, " edges") != NULL, t[i].edges);
		for (const char *p = text; *p; p += len + 1) {
			len = strcspn(p, "\n");
			longest = len > longest ? len : longest;
		}
		/* No name is cut while there is space. */
		assert_true(longest + 20 > t[i].columns);
		assert_int_equal(
		    strstr(text, "\na_target_with_a_name_of_no_usual_length_fuzzer ") != NULL,
		    t[i].columns == 200);
		/* The line about the run fits, too, in complete parts. */
		assert_int_equal(
		    strncmp(text,
			    "58m00s left of 1h00m  1 of 2 workers busy  3 of 5 targets "
			    "done  3 failures",
			    73),
		    0);
	}
	rows[ROW_CRASHED].name = "short";
	draw(200, 40, text, sizeof(text));
	assert_non_null(strstr(text, " no such file\n"));
	rows[ROW_CRASHED].name = "a_target_with_a_name_of_no_usual_length_fuzzer";
	/* Without a screen size the whole table is printed. */
	draw(0, 40, text, sizeof(text));
	assert_non_null(strstr(text, "  3 failures  0 new inputs  run 20210304-050607\n"));
	assert_non_null(strstr(text, "\na_target_with_a_name_of_no_usual_length_fuzzer "));
	has_cell(text, "ended", "restarts", "0");
	assert_non_null(strstr(text, " no such file\n"));
}

/* No terminal sequence in it gets through, and no character is cut. */
static void test_hostile(void **state)
{
	char text[4096];

	(void)state;
	rows[ROW_FUZZING].name = "\x1b[2J\xe2\x80\xae";
	view.id = "\x9b"
		  "2J\xc3\xbc\xc3\xbc";
	draw(200, 40, text, sizeof(text));
	assert_non_null(strstr(text, "\n\\x1b[2J\\u202e "));
	assert_non_null(strstr(text, "run \\x9b2J\xc3\xbc\xc3\xbc\n"));
	view.total_us = 0; /* a character is shown completely or not at all */
	rows[ROW_FUZZING].name = "\xc3\xbc\xc3\xbc";
	draw(3, 40, text, sizeof(text));
	assert_non_null(strstr(text, "\n\xc3\xbc\n"));
}

static void test_no_room(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100);
	struct err e;
	unsigned n;

	(void)state;
	assert_int_equal(table_draw(&view, 200, 40, false, &b, &n, &e), -EFBIG);
}

static size_t all(int fd, char *out, size_t n)
{
	ssize_t r = pread(fd, out, n - 1, 0);

	assert_true(r >= 0);
	out[r] = '\0';
	return (size_t)r;
}

/* Without a terminal: one line per event, one line a minute for running targets, no escapes. */
static void test_plain(void **state)
{
	_autoclose_ int fd = memfd_create("out", MFD_CLOEXEC);
	struct table t;
	char text[8192];

	(void)state;
	table_open(&t, fd, false);
	assert_false(t.terminal);
	table_event(&t, &view, SIZE_MAX, "paused");
	table_event(&t, &view, ROW_FUZZING, "started");
	table_event(&t, &view, ROW_NOT_FUZZED, "ended");
	table_event(&t, &view, ROW_DONE, "ended");
	table_event(&t, &view, 12345, "strange");
	all(fd, text, sizeof(text));
	assert_string_equal(text, "[  2m00s] run paused\n"
				  "[  2m00s] fuzzes started\n"
				  "[  2m00s] broken ended: startup-failed, no such file\n"
				  "[  2m00s] ended ended: plateau\n"
				  "[  2m00s] run strange\n");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	rows[ROW_FUZZING].cov = 17;
	for (int i = 0; i < 179; i++)
		table_second(&t, &view);
	all(fd, text, sizeof(text));
	assert_string_equal(text,
			    "[  2m00s] fuzzes fuzzing: cov 17, ft 0, corpus 0, 0 exec/cpu-s\n"
			    "[  2m00s] fuzzes fuzzing: cov 17, ft 0, corpus 0, 0 exec/cpu-s\n");
	table_close(&t);
	all(fd, text, sizeof(text));
	assert_null(strchr(text, '\x1b'));
}

/* Colour only adds to the words: without colour the drawing is the same. */
static void test_color(void **state)
{
	static const unsigned widths[] = {10, 20, 40, 80, 200};

	(void)state;
	rows[ROW_CRASHED].given_up = true;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		_autobuf_ struct buf plain = BUF_INIT(1 << 16), b = BUF_INIT(1 << 16);
		char *to, *from;
		struct err e;
		unsigned n;

		assert_int_equal(table_draw(&view, widths[i], 40, false, &plain, &n, &e), 0);
		assert_int_equal(table_draw(&view, widths[i], 40, true, &b, &n, &e), 0);
		assert_null(strchr(buf_str(&plain), '\x1b'));
		if (widths[i] >= 40) {
			assert_non_null(strstr(b.p, " \x1b[32mfuzzing       \x1b[0m "));
			assert_non_null(strstr(b.p, " \x1b[31mstartup-failed\x1b[0m "));
			assert_non_null(strstr(b.p, " \x1b[33mcrashed       \x1b[0m "));
			assert_non_null(strstr(b.p, " \x1b[2mqueued        \x1b[0m "));
			assert_non_null(strstr(b.p, "\nended   plateau        "));
		}
		for (to = from = b.p; *from; from++)
			if (*from == '\x1b')
				from = strchr(from, 'm');
			else
				*to++ = *from;
		*to = '\0';
		assert_string_equal(buf_str(&b), buf_str(&plain));
	}
}

/* Colour on a terminal that supports it, unless the user turned it off. */
static void test_color_wanted(void **state)
{
	_autoclose_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	_autoclose_ int slave = -1, file = memfd_create("out", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_int_equal(setenv("NO_COLOR", "", 1), 0);
	assert_true(color_wanted(slave));
	assert_false(color_wanted(file));
	assert_int_equal(setenv("NO_COLOR", "0", 1), 0); /* with any value */
	assert_false(color_wanted(slave));
	assert_true(color_set("always"));
	assert_true(color_wanted(slave) && color_wanted(file));
	assert_true(color_set("never"));
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_false(color_wanted(slave));
	assert_true(color_set("auto"));
	assert_true(color_wanted(slave));
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_false(color_wanted(slave));
	assert_int_equal(unsetenv("TERM"), 0);
	assert_false(color_wanted(slave));
	assert_false(color_set("yes"));
}

/* A repeated failure is one line, and then a count. */
static void test_repeats(void **state)
{
	_autoclose_ int fd = memfd_create("out", MFD_CLOEXEC);
	struct table t;
	char text[8192];

	(void)state;
	table_open(&t, fd, false);
	rows[ROW_FUZZING].note = "exited";
	for (int i = 0; i < 11; i++) {
		table_event(&t, &view, ROW_FUZZING, "failed");
		table_event(&t, &view, ROW_FUZZING, "restarted");
	}
	rows[ROW_FUZZING].note =
	    "crashed"; /* another failure is shown, after the count of the earlier one */
	table_event(&t, &view, ROW_FUZZING, "failed");
	table_event(&t, &view, ROW_FUZZING, "restarted");
	table_event(&t, &view, ROW_CRASHED, "failed"); /* each target counts separately */
	table_event(&t, &view, ROW_FUZZING, "failed");
	table_event(&t, &view, ROW_FUZZING, "ended");
	table_event(&t, &view, ROW_FUZZING, "failed"); /* a new turn */
	all(fd, text, sizeof(text));
	assert_string_equal(text, "[  2m00s] fuzzes failed: exited\n"
				  "[  2m00s] fuzzes restarted\n"
				  "[  2m00s] fuzzes failed 10 more times: exited\n"
				  "[  2m00s] fuzzes failed: crashed\n"
				  "[  2m00s] fuzzes restarted\n"
				  "[  2m00s] crashes failed: crashed, heap-buffer-overflow\n"
				  "[  2m00s] fuzzes failed 1 more time: crashed\n"
				  "[  2m00s] fuzzes ended: crashed\n"
				  "[  2m00s] fuzzes failed: crashed\n");
	/* Running targets: once a minute. */
	table_event(&t, &view, ROW_FUZZING, "failed");
	table_event(&t, &view, ROW_FUZZING, "failed");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	for (int i = 0; i < 120; i++)
		table_second(&t, &view);
	all(fd, text, sizeof(text));
	assert_memory_equal(text, "[  2m00s] fuzzes failed 2 more times: crashed\n", 46);
	assert_null(strstr(text + 46, "more"));
	table_close(&t);
}

/* Reads this number of bytes or lines from a terminal, which may be slow. */
static size_t take(int master, char *text, size_t size, size_t bytes, unsigned lines)
{
	struct pollfd p = {.fd = master, .events = POLLIN};
	unsigned seen = 0;
	size_t n = 0;

	while (n < size - 1 && (bytes ? n < bytes : seen < lines)) {
		assert_int_equal(poll(&p, 1, 60000), 1);
		ssize_t got = read(master, text + n, size - 1 - n);

		assert_true(got > 0);
		for (size_t end = n + (size_t)got; n < end; n++)
			seen += text[n] == '\n';
	}
	text[n] = '\0';
	return n;
}

/* A real terminal of 60 columns and 6 lines: each drawing replaces the previous one. */
static void test_terminal(void **state)
{
	const struct winsize size = {.ws_row = 6, .ws_col = 60};
	_autoclose_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	_autoclose_ int slave = -1;
	struct table t;
	char text[16384];

	(void)state;
	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
	assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
	table_open(&t, slave, true);
	assert_false(t.terminal); /* plain on request */
	table_open(&t, slave, false);
	assert_true(t.terminal);
	table_second(&t, &view);
	assert_int_equal(t.drawn, 5); /* one line is for the prompt */
	(void)take(master, text, sizeof(text), 0, 5);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "\nfuzzes"));
	table_event(&t, &view, ROW_DONE, "ended");
	(void)take(master, text, sizeof(text), 0, 6);
	assert_memory_equal(text, "\x1b[5F\x1b[J[  2m00s] ended ended: plateau\r\n58m0", 42);
	table_close(&t);
	assert_int_equal(t.drawn, 0);
	assert_int_equal(take(master, text, sizeof(text), 7, 0), 7);
	assert_memory_equal(text, "\x1b[5F\x1b[J", 7);
}

/* The output is gone: this stops nothing. */
static void test_gone(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, -1, false);
	table_event(&t, &view, ROW_DONE, "ended");
	table_second(&t, &view);
	table_close(&t);
}

#define CASE(f) cmocka_unit_test_setup(f, each_setup)

static const struct CMUnitTest tests[] = {
    CASE(test_order),	CASE(test_sizes),   CASE(test_wide),	 CASE(test_hostile),
    CASE(test_no_room), CASE(test_plain),   CASE(test_terminal), CASE(test_gone),
    CASE(test_widths),	CASE(test_repeats), CASE(test_color),	 CASE(test_color_wanted),
};

UNIT_MAIN(tests)
