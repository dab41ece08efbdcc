/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/status/summary.h"
#include "tests/unit/status/rows.h"

#include <errno.h>

static struct target_row rows[ROWS];
static struct run_view view;
static char *printed;

static int each_setup(void **state)
{
	(void)state;
	rows_fill(rows);
	view = view_of(rows);
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	free(printed);
	printed = NULL;
	return 0;
}

/* Returns the text, and checks that each line is printable. */
static const char *text(void)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e;

	assert_int_equal(summary_text(&view, 0, false, &b, &e), 0);
	free(printed);
	printed = b.p;
	for (const char *p = printed; *p; p++)
		assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
	return printed;
}

/* Prints and parses the JSON, as another program does. */
static json_t *reread(json_t *take)
{
	_autojson_ json_t *j = take;
	_autofree_ char *s = NULL;
	json_t *again = NULL;
	struct err e = {0};

	assert_int_equal(json_print(j, 0, &s, &e), 0);
	assert_null(strchr(s, '\n')); /* it is also a line of the history */
	if (json_parse(slice_of(s), &again, &e) < 0)
		fail_msg("%s: %s", e.msg, s);
	return again;
}

static json_t *summary(void)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	json_t *j = NULL;
	struct err e = {0};

	if (summary_print(&view, &b, &e) < 0 || json_parse(buf_slice(&b), &j, &e) < 0)
		fail_msg("%s: %s", e.msg, buf_str(&b));
	return reread(j);
}

static const char *str(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static long long num(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(j, key);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static void test_counts(void **state)
{
	(void)state;
	assert_int_equal(summary_unfuzzed(&view), 1);
	assert_int_equal(summary_sums(&view).failures, 3);
	rows[ROW_DONE].unfuzzed = true;
	rows[ROW_DONE].failures_total = 4;
	assert_int_equal(summary_unfuzzed(&view), 2);
	assert_int_equal(summary_sums(&view).failures, 7);
	view.n_rows = 0;
	assert_int_equal(summary_unfuzzed(&view), 0);
	assert_int_equal(summary_sums(&view).failures, 0);
}

static void test_text(void **state)
{
	const char *t = text();

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "\n%-7s %-14s ", rows[i].name, rows[i].state);
		assert_non_null(strstr(t, line));
	}
	assert_non_null(strstr(t, "\nFound\n  crashes: 2 crash 1 timeout, 3 restarts; "
				  "last: heap-buffer-overflow\n"
				  "    saved in crashes/crashes: crash-1, ...\n"));
	assert_non_null(strstr(t,
			       "\nCrashes (fuzzcell crash show SIGNATURE)\n"
			       "  0123456789abcdef  new       crashes: Heap-buffer-overflow in f "
			       "(security); 2 times, reproduces 3 of 3\n"));
	assert_non_null(strstr(t, "\nCorpora\n  ended "));
	assert_non_null(strstr(t, " kept      9 inputs, 2KiB -> 7, 1KiB; 5 edges, 6 features: "
				  "3 edges were missing\n"));
	assert_non_null(
	    strstr(t, "\nLook at\n  broken was NOT FUZZED (startup-failed): no such file\n"));
	assert_non_null(strstr(t, "\nrun 20210304-050607: 5 targets in 2m00s, 3 failures, "
				  "1 new crash, 1 crash came back, 0 given up, 1 not fuzzed; "
				  "fuzzcell itself: 0.5% of a CPU, 9MiB\n"));
}

static void squeeze(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (*s != ' ' && *s != '\n')
			*to++ = *s;
	*to = '\0';
}

/* A figure without its last digits would be wrong. */
static void test_large_figures(void **state)
{
	(void)state;
	rows[ROW_DONE].cov = 150000;
	rows[ROW_DONE].edges_total = 1500000;
	for (unsigned width = 0; width < 200; width++) {
		_autobuf_ struct buf b = BUF_INIT(1 << 20);
		struct err e;

		assert_int_equal(summary_text(&view, width, false, &b, &e), 0);
		if (width == 0 || width > 120)
			assert_non_null(strstr(buf_str(&b), " 150000/1500000 "));
		assert_null(strstr(buf_str(&b), " 150000/150000 "));
	}
}

/* The screen's width is kept, and text outside of the table is complete. */
static void test_widths(void **state)
{
	static const unsigned widths[] = {40, 80, 120, 200};
	char all[8192], name[129];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[128] = '\0';
	rows[ROW_DONE].name = name; /* one word, wider than the screen */
	rows[ROW_NOT_FUZZED].note =
	    "\xc3\xbc\xc3\xbc\xc3\xbc and a long reason with many words that no "
	    "screen of eighty columns has room for in a single line of text";
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		_autobuf_ struct buf wide = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
		struct slice in, line;
		char *from;
		struct err e;

		assert_int_equal(summary_text(&view, widths[i], false, &b, &e), 0);
		assert_int_equal(summary_text(&view, 0, false, &wide, &e), 0);
		assert_non_null(strstr(buf_str(&b), " failures\n")); /* the column's title */
		in = buf_slice(&b);
		while (scan_line(&in, &line))
			assert_true(line.n <= widths[i]);
		from = strstr(wide.p, "\nFound\n");
		snprintf(all, sizeof(all), "%s", from);
		squeeze(all);
		from = strstr(b.p, "\nFound\n");
		squeeze(from);
		assert_string_equal(from, all);
	}
}

/* No terminal sequence in a target's name or output gets through. */
static void test_escapes(void **state)
{
	(void)state;
	rows[ROW_NOT_FUZZED].name = rows[ROW_CRASHED].name = "\x1b[31mred";
	rows[ROW_NOT_FUZZED].note = "\xe2\x80\xae\x9b";
	assert_non_null(strstr(text(), "\n\\x1b[31mred startup-failed "));
	assert_non_null(
	    strstr(text(), "\n  \\x1b[31mred was NOT FUZZED (startup-failed): \\u202e\\x9b\n"));
}

/* The text and the JSON of the run and of the target agree. */
static void test_given_up(void **state)
{
	_autojson_ json_t *j = NULL;
	const json_t *targets;
	const char *t;

	(void)state;
	rows[ROW_CRASHED].reason = "crash-loop";
	rows[ROW_CRASHED].given_up = true;
	rows[ROW_DONE].given_up = true;
	rows[ROW_DONE].reason = "disk-limit";
	assert_int_equal(summary_given_up(&view), 2);
	t = text();
	assert_non_null(strstr(t, "\n  crashes was GIVEN UP (crash-loop): heap-buffer-overflow\n"));
	assert_non_null(strstr(t, "\n  ended was GIVEN UP (disk-limit)\n"));
	assert_non_null(strstr(t, "1 new crash, 1 crash came back, 2 given up, 1 not fuzzed; "));
	j = summary();
	assert_int_equal(num(j, "given_up"), 2);
	targets = json_object_get(j, "targets");
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(
		    json_is_true(json_object_get(json_array_get(targets, i), "given_up")),
		    i == ROW_CRASHED || i == ROW_DONE);
}

/* A failure without an input was never replayed. */
static void test_text_lost(void **state)
{
	struct row_crash c = row_crash;

	(void)state;
	c.hits = c.tries = 0;
	c.count = 1;
	rows[ROW_CRASHED].crashes = &c;
	assert_non_null(strstr(text(), " in f (security); 1 time, never run again\n"));
}

static void test_text_doubts(void **state)
{
	const char *t;

	(void)state;
	rows[ROW_DONE].refused = "socket (3)";
	rows[ROW_FUZZING].pids_refused = 7;
	rows[ROW_CRASHED].starved = 0.75;
	rows[ROW_CRASHED].artifacts = "crash-1\n";
	rows[ROW_QUEUED].log_dropped = 12;
	rows[ROW_DONE].line_dropped = 4096;
	rows[ROW_CRASHED].cov = 70;
	rows[ROW_CRASHED].edges_total = 1000;
	rows[ROW_CRASHED].cov_before = 90;
	rows[ROW_CRASHED].edges_before = 999;
	rows[ROW_FUZZING].forged = "7 edges reached, its program has 5";
	view.interrupted = true;
	t = text();
	assert_non_null(strstr(t, "\n  ended: refused system calls: socket (3)\n"));
	assert_non_null(strstr(t, "\n  fuzzes: 7 forks or threads refused\n"));
	assert_non_null(strstr(t, "\n  crashes waited for a CPU 75% of its time\n"));
	assert_non_null(strstr(t, "\n  waits: 12B of output are not in the log\n"));
	assert_non_null(
	    strstr(t, ": 4KiB of output, in lines too long, were not parsed for figures\n"));
	assert_null(strstr(t, ": 0B of output"));
	assert_non_null(strstr(t, "\n  crashes: COVERAGE DROPPED: 70 of 1000 edges, the build "
				  "before reached 90 of 999\n"));
	assert_non_null(strstr(t,
			       "\n  fuzzes: FORGED STATISTICS: it printed numbers that cannot be "
			       "true; its coverage counts for nothing: 7 edges reached, its "
			       "program has 5\n"));
	assert_non_null(strstr(t, "    saved in crashes/crashes: crash-1\n"));
	assert_non_null(strstr(t, "; ended by a user"));

	rows[ROW_DONE].crashes_fixed = 2;
	rows[ROW_DONE].crashes_unchecked = 1;
	rows[ROW_FUZZING].untriaged = 5;
	rows[ROW_FUZZING].undecided = 3; /* these are not reported */
	t = text();
	assert_non_null(
	    strstr(t, "\n  fuzzes: 3 timeouts wait for a replay under less CPU pressure\n"));
	assert_non_null(strstr(t, "\n  ended: 2 earlier crashes are fixed\n"));
	assert_non_null(strstr(t, "\n  ended: no time to check whether 1 earlier crash is fixed: a "
				  "longer run does, and 'fuzzcell regress'\n"));
	assert_non_null(strstr(
	    t,
	    "\n  fuzzes: 5 artifacts wait: the next run's triage looks at them, or 'fuzzcell crash "
	    "triage' now\n"));
	assert_non_null(strstr(t, " 1 crash came back, 5 artifacts wait for triage, 2 crashes are "
				  "fixed, "));
	assert_int_equal(summary_sums(&view).crashes_new, 1);
	assert_int_equal(summary_sums(&view).regressed, 1);
	assert_int_equal(summary_sums(&view).untriaged, 5);
	assert_int_equal(summary_sums(&view).fixed, 2);

	/* Without entries there is no heading. */
	rows_fill(rows);
	view.rows = &rows[ROW_DONE];
	view.n_rows = 1;
	view.elapsed_us = 0; /* and no division by it */
	t = text();
	assert_null(strstr(t, "Found"));
	assert_null(strstr(t, "Look at"));
	assert_non_null(strstr(t, "0.0% of a CPU"));
	view.n_rows = 0;
	assert_non_null(strstr(text(), ": 0 targets in"));
	/* A list that is cut in the middle of its first name. */
	rows_fill(rows);
	view = view_of(rows);
	rows[ROW_CRASHED].artifacts = "crash-";
	assert_non_null(strstr(text(), "saved in crashes/crashes: crash-\n"));
}

static void test_json(void **state)
{
	static const char *const keys[] = {"v",
					   "run",
					   "status",
					   "version",
					   "commit",
					   "cgroup_layout",
					   "started",
					   "ended",
					   "elapsed_seconds",
					   "workers",
					   "failures",
					   "new_crashes",
					   "regressed_crashes",
					   "fixed_crashes",
					   "untriaged",
					   "given_up",
					   "not_fuzzed",
					   "build_failed",
					   "own_cpu_seconds",
					   "own_peak_rss_bytes",
					   "targets"};
	_autojson_ json_t *j = summary();
	const json_t *targets = json_object_get(j, "targets");

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_non_null(json_object_get(j, keys[i]));
	assert_int_equal(json_object_size(j), sizeof(keys) / sizeof(keys[0]));
	assert_int_equal(num(j, "v"), 1);
	assert_string_equal(str(j, "run"), "20210304-050607");
	assert_string_equal(str(j, "status"), "done");
	assert_string_equal(str(j, "started"), "2021-03-04T05:06:07Z");
	assert_string_equal(str(j, "ended"), "2021-03-04T05:08:07Z");
	assert_int_equal(num(j, "failures"), 3);
	assert_int_equal(num(j, "not_fuzzed"), 1);
	assert_int_equal(num(j, "own_peak_rss_bytes"), 9 << 20);
	assert_true(json_real_value(json_object_get(j, "elapsed_seconds")) > 119.9);
	assert_int_equal(json_array_size(targets), ROWS);
	for (size_t i = 0; i < ROWS; i++)
		assert_string_equal(str(json_array_get(targets, i), "name"), rows[i].name);

	json_decref(j);
	view.commit = NULL;
	view.ended_real_us = 0;
	view.interrupted = true;
	j = summary();
	assert_true(json_is_null(json_object_get(j, "commit")));
	assert_true(json_is_null(json_object_get(j, "ended")));
	assert_string_equal(str(j, "status"), "stopped");
}

static void test_target_json(void **state)
{
	static const char *const keys[] = {"name",
					   "reason",
					   "fuzzed",
					   "given_up",
					   "rebuilt",
					   "note",
					   "wall_seconds",
					   "cell_seconds",
					   "start_seconds",
					   "cpu_seconds",
					   "effective_seconds",
					   "starved_share",
					   "outlook",
					   "forged",
					   "cov_of_build_before",
					   "execs",
					   "execs_per_cpu_second",
					   "cov",
					   "edges",
					   "library_instrumented",
					   "ft",
					   "corpus_units",
					   "seeds",
					   "dictionary_entries",
					   "dictionary_words",
					   "inputs_kept",
					   "input_timeout_seconds",
					   "new_inputs",
					   "new_input_bytes",
					   "files_skipped",
					   "memory_peak_bytes",
					   "memory_limit_bytes",
					   "rss_peak_bytes",
					   "kernel_oom_kills",
					   "forks_refused",
					   "syscalls_refused",
					   "failures",
					   "failures_total",
					   "restarts",
					   "corpus",
					   "crashes",
					   "crashes_new",
					   "crashes_regressed",
					   "crashes_fixed",
					   "crashes_unchecked",
					   "timeouts_dismissed",
					   "timeouts_undecided",
					   "untriaged",
					   "checks_left",
					   "checks_behind_since",
					   "checks_cpu_seconds",
					   "strategy",
					   "strategies",
					   "artifacts",
					   "log_bytes_dropped"};
	struct target_row *r = &rows[ROW_CRASHED];
	const json_t *failures, *artifacts, *tried;
	json_t *j = NULL;

	(void)state;
	r->execs = UINT64_MAX;
	r->oom_kills = 4;
	r->new_inputs = 5;
	r->rebuilt = true;
	r->has_library = true;
	r->strategy = "few-mutations";
	r->strategies[0] = (struct row_strategy){"few-mutations", 2500000, 12, false};
	r->strategies[1] = (struct row_strategy){"few-mutations", 9000000, 3, true};
	r->n_strategies = 2;
	j = summary_target_json(r);
	j = reread(j);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!json_object_get(j, keys[i]))
			fail_msg("no %s", keys[i]);
	assert_int_equal(json_object_size(j), sizeof(keys) / sizeof(keys[0]));
	assert_string_equal(str(j, "strategy"), "few-mutations");
	tried = json_object_get(json_object_get(j, "strategies"), "few-mutations");
	assert_int_equal(num(tried, "edges"), 12);
	assert_true(json_number_value(json_object_get(tried, "cpu_seconds")) == 2.5);
	tried = json_object_get(json_object_get(j, "strategies"), "build:few-mutations");
	assert_int_equal(num(tried, "edges"), 3);
	assert_string_equal(str(j, "reason"), "crashed");
	assert_true(json_is_true(json_object_get(j, "fuzzed")));
	assert_true(json_is_true(json_object_get(j, "rebuilt")));
	assert_true(json_is_true(json_object_get(j, "library_instrumented")));
	assert_int_equal(num(j, "execs"), INT64_MAX); /* the maximum of JSON readers */
	assert_int_equal(num(j, "kernel_oom_kills"), 4);
	assert_int_equal(num(j, "new_inputs"), 5);
	assert_int_equal(num(j, "memory_peak_bytes"), 200 << 20);
	failures = json_object_get(j, "failures");
	assert_int_equal(json_object_size(failures), 2);
	assert_int_equal(num(failures, "crash"), 2);
	assert_int_equal(num(failures, "timeout"), 1);
	assert_string_equal(str(json_array_get(json_object_get(j, "crashes"), 0), "signature"),
			    "0123456789abcdef");
	assert_true(json_is_null(json_object_get(j, "corpus")));
	artifacts = json_object_get(j, "artifacts");
	assert_int_equal(json_array_size(artifacts), 3);
	assert_string_equal(json_string_value(json_array_get(artifacts, 2)), "timeout-3");
	json_decref(j);
}

/* One line per run and target: small, for any amount of data. */
static void test_lines(void **state)
{
	struct target_row *r = &rows[ROW_CRASHED];
	json_t *j = NULL;

	(void)state;
	rows[ROW_DONE].execs = UINT64_MAX - 1;
	rows[ROW_CRASHED].execs = 7;
	rows[ROW_CRASHED].new_inputs = 3;
	rows[ROW_DONE].cpu_us = 1500 * USEC_PER_MSEC;
	view.continuous = true;
	j = summary_run_line(&view);
	j = reread(j);
	assert_int_equal(num(j, "v"), 2);
	assert_string_equal(str(j, "run"), "20210304-050607");
	assert_int_equal(num(j, "targets"), ROWS);
	assert_int_equal(num(j, "fuzzed"), ROWS - 2);
	assert_int_equal(num(j, "new_inputs"), 3);
	assert_int_equal(num(j, "execs"), INT64_MAX);
	assert_int_equal(num(j, "failures"), 3);
	assert_true(json_real_value(json_object_get(j, "cpu_seconds")) == 1.5);
	assert_true(json_is_true(json_object_get(j, "continuous")));
	json_decref(j);

	j = summary_target_line(&view, r, view.ended_real_us);
	j = reread(j);
	assert_string_equal(str(j, "run"), "20210304-050607");
	assert_string_equal(str(j, "name"), "crashes");
	assert_string_equal(str(j, "ended"), "2021-03-04T05:08:07Z");
	assert_string_equal(str(j, "commit"), view.commit);
	assert_int_equal(num(j, "crashes"), 1);
	assert_int_equal(num(j, "failures_total"), 3);
	assert_null(json_object_get(j, "artifacts"));
	json_decref(j);
	r->rebuilt = true; /* of an unknown commit */
	j = summary_target_line(&view, r, view.ended_real_us);
	assert_true(json_is_null(json_object_get(j, "commit")));
	json_decref(j);
}

/* The file is valid, whatever a target printed. */
static void test_hostile(void **state)
{
	static const struct {
		const char *note, *want;
	} t[] = {
	    {"\"}],\n\\ \x1b[2J \x01", "\"}],\n\\ \x1b[2J \x01"},
	    {"cut in a character \xe2\x82", "(not UTF-8)"},
	    {"\xff\xfe", "(not UTF-8)"},
	    {"\xc3\xa9", "\xc3\xa9"},
	    {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autojson_ json_t *j = NULL;
		const json_t *one;

		rows[ROW_DONE].note = t[i].note;
		rows[ROW_DONE].refused = t[i].note;
		rows[ROW_DONE].artifacts = "\xff\nok\n";
		j = summary();
		one = json_array_get(json_object_get(j, "targets"), ROW_DONE);
		assert_string_equal(str(one, "note"), t[i].want);
		assert_string_equal(str(one, "syscalls_refused"), t[i].want);
		assert_true(json_array_size(json_object_get(one, "artifacts")) >= 1);
	}
}

static void test_no_room(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100);
	struct err e;

	(void)state;
	assert_int_equal(summary_text(&view, 0, false, &b, &e), -EFBIG);
	assert_int_equal(e.code, EFBIG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_counts),	  CASE(test_text),	  CASE(test_widths), CASE(test_large_figures),
    CASE(test_escapes),	  CASE(test_text_doubts), CASE(test_json),   CASE(test_given_up),
    CASE(test_text_lost), CASE(test_target_json), CASE(test_lines),  CASE(test_hostile),
    CASE(test_no_room),
};

UNIT_MAIN(tests)
