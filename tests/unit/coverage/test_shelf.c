/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/coverage/shelf.h"
#include "runner/state/history.h"
#include "tests/unit/coverage/tools_out.h"

#include <sys/wait.h>

#define HISTORY "stats/coverage/t.jsonl"

static struct state state_of; /* only its directory counts */

/* A report of the target "t", with what changed: functions of "/a", or "". */
static json_t *report_at(uint64_t time, const char *commit, const char *newly, const char *lost)
{
	json_t *change = json_pack("{s:[], s:[], s:i, s:i}", "newly", "lost", "newly_reached",
				   *newly != '\0', "no_longer_reached", *lost != '\0');

	if (*newly)
		(void)json_array_append_new(
		    json_object_get(change, "newly"),
		    json_pack("{s:s, s:s}", "path", "/a", "function", newly));
	if (*lost)
		(void)json_array_append_new(
		    json_object_get(change, "lost"),
		    json_pack("{s:s, s:s}", "path", "/a", "function", lost));
	return json_pack("{s:s, s:I, s:s?, s:{s:{s:I, s:I}}, s:{s:i}, s:o}", "target", "t", "time",
			 (json_int_t)time, "commit", commit, "totals", "lines", "count",
			 (json_int_t)1000, "covered", (json_int_t)time, "inputs", "ran", 1,
			 "change", change);
}

static int put_report(int out, const json_t *report, struct err *e)
{
	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	return shelf_put(&state_of, "t", out, report, e);
}

static void put_changes(uint64_t time, const char *commit, const char *newly, const char *lost)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autojson_ json_t *report = report_at(time, commit, newly, lost);
	struct err e;

	if (put_report(out, report, &e) < 0)
		fail_msg("%s", e.msg);
}

static void put(uint64_t time)
{
	put_changes(time, "abc", "", "");
}

static void history_text(char text[8192])
{
	(void)scratch_text(dir.fd, HISTORY, text, 8192);
}

/* The times of the history's lines: "10 20 ". */
static void history_is(const char *times)
{
	char text[8192], shown[512] = "";
	struct slice all, line;

	history_text(text);
	all = slice_of(text);
	while (scan_line(&all, &line)) {
		_autojson_ json_t *j = NULL;
		struct err e;
		size_t n = strlen(shown);

		if (json_parse(line, &j, &e) < 0)
			snprintf(shown + n, sizeof(shown) - n, "? ");
		else
			snprintf(shown + n, sizeof(shown) - n, "%llu ",
				 (unsigned long long)json_get_u64(j, "time"));
	}
	assert_string_equal(shown, times);
}

/* The time of the report that is in place, which must be complete; 0: there is none. */
static uint64_t in_place(void)
{
	_autojson_ json_t *j = NULL;
	char text[4096];
	struct err e;

	if (!scratch_has(dir.fd, "coverage/t"))
		return 0;
	assert_int_equal(json_load(dir.fd, "coverage/t/report.json", 1 << 20, &j, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "coverage/t/lcov.info", text, sizeof(text)),
			    TOOLS_TRACE);
	return json_get_u64(j, "time");
}

static void make_dirs(int at, const char *path)
{
	struct err e;

	assert_int_equal(fs_mkdirs(at, path, 0755, &e), 0);
}

/* --- a report takes its place ---------------------------------------------------------------- */

static void test_put(void **state)
{
	_autoclose_ int out = tools_out("out", "{}", TOOLS_TRACE, "listing");
	_autojson_ json_t *report = report_at(10, "abc", "f", "");
	char text[8192];
	struct err e;

	(void)state;
	make_dirs(out, "html/src/a");
	scratch_write(out, "html/index.html", "index");
	scratch_write(out, "html/src/a/b.html", "b");
	assert_int_equal(put_report(out, report, &e), 0);
	assert_int_equal(in_place(), 10);
	assert_string_equal(scratch_text(dir.fd, "coverage/t/html/index.html", text, sizeof(text)),
			    "index");
	assert_string_equal(
	    scratch_text(dir.fd, "coverage/t/html/src/a/b.html", text, sizeof(text)), "b");
	assert_false(scratch_has(dir.fd, "coverage/t/listing"));
	assert_false(scratch_has(dir.fd, "coverage/.new"));
	history_is("10 ");
	history_text(text);
	assert_non_null(strstr(text, "\"f\""));
}

/* Nothing of the report before is left. */
static void test_exchange(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	struct err e;

	(void)state;
	make_dirs(out, "html");
	scratch_write(out, "html/old.html", "old");
	put(10);
	assert_true(scratch_has(dir.fd, "coverage/t/html/old.html"));
	assert_int_equal(fs_remove_tree(out, "html", &e), 0);
	put(20);
	assert_int_equal(in_place(), 20);
	assert_false(scratch_has(dir.fd, "coverage/t/html"));
	assert_false(scratch_has(dir.fd, "coverage/.new"));
	history_is("10 20 ");
}

/* What an earlier process left there does not get into the report. */
static void test_left_over(void **state)
{
	(void)state;
	make_dirs(dir.fd, "coverage/.new/html");
	scratch_write(dir.fd, "coverage/.new/html/junk", "junk");
	put(10);
	assert_int_equal(in_place(), 10);
	assert_false(scratch_has(dir.fd, "coverage/t/html"));
}

/* A cell wrote the pages: only directories and regular files are copied. */
static void test_hostile_pages(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	char text[64];

	(void)state;
	make_dirs(out, "html");
	make_dirs(dir.fd, "elsewhere");
	scratch_write(dir.fd, "elsewhere/secret", "secret");
	scratch_write(out, "html/page", "page");
	assert_int_equal(symlinkat("../../elsewhere/secret", out, "html/link"), 0);
	assert_int_equal(symlinkat("../../elsewhere", out, "html/dir"), 0);
	assert_int_equal(symlinkat("nowhere", out, "html/broken"), 0);
	assert_int_equal(mkfifoat(out, "html/fifo", 0644), 0);
	scratch_write(out, "html/a\nb", "a control character");
	put(10);
	assert_string_equal(scratch_text(dir.fd, "coverage/t/html/page", text, 64), "page");
	assert_false(scratch_has(dir.fd, "coverage/t/html/link"));
	assert_false(scratch_has(dir.fd, "coverage/t/html/dir"));
	assert_false(scratch_has(dir.fd, "coverage/t/html/broken"));
	assert_false(scratch_has(dir.fd, "coverage/t/html/fifo"));
	assert_false(scratch_has(dir.fd, "coverage/t/html/a\nb"));
}

static void test_pages_elsewhere(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);

	(void)state;
	make_dirs(dir.fd, "elsewhere");
	scratch_write(dir.fd, "elsewhere/secret", "secret");
	assert_int_equal(symlinkat("../elsewhere", out, "html"), 0);
	put(10);
	assert_int_equal(in_place(), 10);
	assert_false(scratch_has(dir.fd, "coverage/t/html"));
}

/* A report that cannot be copied leaves the one before, and writes no line. */
static void test_not_copied(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, NULL, NULL);
	_autojson_ json_t *report = report_at(20, NULL, "", "");
	struct err e;

	(void)state;
	put(10);
	assert_int_equal(unlinkat(out, "lcov.info", 0), 0);
	assert_int_equal(put_report(out, report, &e), -ENOENT);
	assert_int_equal(symlinkat("../coverage/t/report.json", out, "lcov.info"), 0);
	assert_int_equal(put_report(out, report, &e), -ELOOP);
	assert_int_equal(unlinkat(out, "lcov.info", 0), 0);
	assert_int_equal(mkfifoat(out, "lcov.info", 0644), 0);
	assert_int_equal(put_report(out, report, &e), -EINVAL);
	assert_int_equal(in_place(), 10);
	history_is("10 ");
}

static void test_deep_pages(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autojson_ json_t *report = report_at(20, NULL, "", "");
	char path[8 + 2 * SHELF_DEPTH_MAX] = "html";
	struct err e;

	(void)state;
	for (int i = 1; i < SHELF_DEPTH_MAX; i++)
		strcat(path, "/d");
	make_dirs(out, path);
	put(10);
	assert_true(scratch_has(dir.fd, "coverage/t/html/d/d"));
	strcat(path, "/d");
	make_dirs(out, path);
	assert_int_equal(put_report(out, report, &e), -ELOOP);
	assert_int_equal(in_place(), 10);
	history_is("10 ");
}

static void test_many_pages(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autojson_ json_t *report = report_at(20, NULL, "", "");
	struct err e;

	(void)state;
	make_dirs(out, "html");
	scratch_write(out, "html/p", "");
	put(10);
	for (int i = 0; i < SHELF_FILES_MAX; i++) {
		char name[32];

		snprintf(name, sizeof(name), "html/%d", i);
		assert_int_equal(linkat(out, "html/p", out, name, 0), 0);
	}
	assert_int_equal(put_report(out, report, &e), -E2BIG);
	assert_int_equal(in_place(), 10);
	history_is("10 ");
}

/* --- the history ----------------------------------------------------------------- */

/* As after a kill between the exchange and the line. */
static void test_missing_line(void **state)
{
	(void)state;
	put(10);
	put(20);
	scratch_write(dir.fd, HISTORY, "{\"time\": 10}\n");
	put(30);
	history_is("10 20 30 ");
	put(40);
	history_is("10 20 30 40 ");
}

static void test_missing_history(void **state)
{
	(void)state;
	put(10);
	assert_int_equal(unlinkat(dir.fd, HISTORY, 0), 0);
	put(20);
	history_is("10 20 ");
}

/* As after a kill in the middle of the line: the cut line stays, and the whole line follows. */
static void test_cut_line(void **state)
{
	(void)state;
	put(10);
	put(20);
	scratch_write(dir.fd, HISTORY, "{\"time\": 10}\n{\"time\": 2");
	put(30);
	history_is("10 ? 20 30 ");
}

/* Two reports in a second, and a clock that was set back. */
static void test_clock(void **state)
{
	(void)state;
	put_changes(10, "abc", "f", "");
	put_changes(10, "abc", "g", "");
	history_is("10 10 ");
	put(5);
	put(6);
	history_is("10 10 5 6 ");
}

/* A report that another program damaged does not prevent the next one. */
static void test_damaged_report(void **state)
{
	(void)state;
	put(10);
	scratch_write(dir.fd, "coverage/t/report.json", "{");
	put(20);
	assert_int_equal(in_place(), 20);
	history_is("10 20 ");
}

/* --- kills and failures ---------------------------------------------------------- */

/* The nth fallible call fails, or the process dies in it. */
static int put_second(unsigned nth, enum fault_how how)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autojson_ json_t *report = report_at(20, "abc", "", "");
	struct err e;
	int r;

	fault_arm(nth, how);
	r = put_report(out, report, &e);
	fault_arm(0, FAULT_FAIL);
	return r;
}

static void begin_again(void)
{
	struct err e;

	assert_int_equal(fs_remove_tree(dir.fd, "coverage", &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "stats", &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "out", &e), 0);
	put(10);
}

/* After an interruption there is one of the two reports, and the next report completes the
 * history. */
static void check_settled(void)
{
	uint64_t now = in_place();

	assert_true(now == 10 || now == 20);
	put(30);
	assert_int_equal(in_place(), 30);
	assert_false(scratch_has(dir.fd, "coverage/.new"));
	history_is(now == 10 ? "10 30 " : "10 20 30 ");
}

static void test_kills(void **state)
{
	unsigned at, killed = 0;

	(void)state;
	for (at = 1; at < 400; at++) {
		pid_t pid;
		int ws;

		begin_again();
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(STDERR_FILENO); /* each child prints there at which call it died */
			_exit(put_second(at, FAULT_DIE) == 0 ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &ws, 0), pid);
		if (WIFEXITED(ws) && WEXITSTATUS(ws) == 0)
			break;
		killed++;
		check_settled();
	}
	assert_true(killed > 10 && at < 400);
}

static void test_failures(void **state)
{
	unsigned at, failed = 0, quiet = 0;

	(void)state;
	/* Some calls may fail without harm. */
	for (at = 1; at < 400 && quiet < 8; at++) {
		int r;

		begin_again();
		r = put_second(at, FAULT_FAIL);
		failed += r < 0;
		quiet = r < 0 ? 0 : quiet + 1;
		if (r == 0)
			assert_int_equal(in_place(), 20);
		check_settled();
	}
	assert_true(failed > 10 && at < 400);
}

/* --- copies for users ------------------------------------------------------------ */

static void test_copies(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autoclose_ int report = -1, to = -1, lcov = -1;
	char text[4096];
	struct err e;

	(void)state;
	put(10);
	make_dirs(dir.fd, "to");
	assert_int_equal(fs_open_dir(dir.fd, "to", &to, &e), 0);
	assert_int_equal(shelf_open(&state_of, "t", &report, &e), 0);
	assert_true(report >= 0);
	assert_int_equal(shelf_copy_pages(report, to, &e), -ENOENT);
	close(report);
	make_dirs(out, "html/a");
	scratch_write(out, "html/a/page", "page");
	put(20);
	assert_int_equal(shelf_open(&state_of, "t", &report, &e), 0);
	assert_int_equal(shelf_copy_pages(report, to, &e), 0);
	assert_string_equal(scratch_text(to, "a/page", text, sizeof(text)), "page");
	/* Again, over the same pages. */
	assert_int_equal(shelf_copy_pages(report, to, &e), 0);
	assert_int_equal(fs_open_file(to, "lcov.info", O_WRONLY | O_CREAT, 0600, &lcov, &e), 0);
	assert_int_equal(shelf_copy_lcov(report, lcov, &e), 0);
	assert_string_equal(scratch_text(to, "lcov.info", text, sizeof(text)), TOOLS_TRACE);
}

/* The user's directory may have links: what they lead to is not overwritten. */
static void test_copy_over_links(void **state)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);
	_autoclose_ int report = -1, to = -1;
	char text[64];
	struct err e;

	(void)state;
	make_dirs(out, "html");
	scratch_write(out, "html/page", "page");
	put(10);
	make_dirs(dir.fd, "to");
	scratch_write(dir.fd, "precious", "precious");
	assert_int_equal(fs_open_dir(dir.fd, "to", &to, &e), 0);
	assert_int_equal(symlinkat("../precious", to, "page"), 0);
	assert_int_equal(shelf_open(&state_of, "t", &report, &e), 0);
	assert_int_equal(shelf_copy_pages(report, to, &e), -ELOOP);
	assert_string_equal(scratch_text(dir.fd, "precious", text, sizeof(text)), "precious");
}

static void test_names(void **state)
{
	CLEANUP(strv_done) struct strv none = {0}, names = {0};
	int report = 7;
	struct err e;

	(void)state;
	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	assert_int_equal(shelf_names(&state_of, &none, &e), 0);
	assert_int_equal(none.n, 0);
	make_dirs(dir.fd, "coverage/.new");
	make_dirs(dir.fd, "coverage/@all");
	make_dirs(dir.fd, "coverage/zlib");
	make_dirs(dir.fd, "coverage/a.b");
	make_dirs(dir.fd, "coverage/png");
	assert_int_equal(shelf_names(&state_of, &names, &e), 0);
	assert_int_equal(names.n, 3);
	assert_string_equal(names.v[0], "a.b");
	assert_string_equal(names.v[1], "png");
	assert_string_equal(names.v[2], "zlib");
	assert_int_equal(shelf_open(&state_of, "missing", &report, &e), 0);
	assert_int_equal(report, -1);
}

/* --- pages ----------------------------------------------------------------------- */

/* The page's text, or "" with its error in *r. */
static const char *page(const char *path, char text[64], int *r)
{
	_autoclose_ int fd = -1;
	struct err e;
	ssize_t n;

	*r = shelf_open_page(&state_of, "t", slice_of(path), &fd, &e);
	n = *r == 0 ? read(fd, text, 63) : 0;
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void make_pages(void)
{
	_autoclose_ int out = tools_out("out", NULL, TOOLS_TRACE, NULL);

	make_dirs(out, "html/src/a");
	scratch_write(out, "html/index.html", "index");
	scratch_write(out, "html/src/a/b.html", "b");
	put(10);
}

static void test_page(void **state)
{
	char text[64];
	int r;

	(void)state;
	make_pages();
	assert_string_equal(page("index.html", text, &r), "index");
	assert_int_equal(r, 0);
	assert_string_equal(page("src/a/b.html", text, &r), "b");
	assert_int_equal(r, 0);
}

/* A client of the dashboard chooses the path, and pages can be replaced by links. */
static void test_refused_pages(void **state)
{
	static const char *const paths[] = {
	    "",
	    "/",
	    ".",
	    "..",
	    "/index.html",
	    "../report.json",
	    "./index.html",
	    "src/../index.html",
	    "src//a/b.html",
	    "src/a/b.html/",
	    "missing",
	    "src/missing/b.html",
	    "index.html/x",
	    "a\nb",
	};
	_autofree_ char *longest = xmalloc(5001);
	char text[64];
	int r;

	(void)state;
	make_pages();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_string_equal(page(paths[i], text, &r), "");
		if (r >= 0)
			fail_msg("'%s' was opened", paths[i]);
	}
	memset(longest, 'x', 5000);
	longest[5000] = '\0';
	(void)page(longest, text, &r);
	assert_int_equal(r, -ENOENT);
	memset(longest + 4000, '/', 1);
	(void)page(longest, text, &r);
	assert_int_equal(r, -ENOENT);
	assert_int_equal(symlinkat("../report.json", dir.fd, "coverage/t/html/link"), 0);
	assert_int_equal(symlinkat("..", dir.fd, "coverage/t/html/up"), 0);
	assert_int_equal(mkfifoat(dir.fd, "coverage/t/html/fifo", 0644), 0);
	(void)page("link", text, &r);
	assert_int_equal(r, -ELOOP);
	(void)page("up/report.json", text, &r);
	assert_true(r < 0);
	(void)page("fifo", text, &r);
	assert_int_equal(r, -EINVAL);
}

struct paths {
	char all[256];
	int answer;
};

static int on_page(void *arg, const char *path, struct err *e)
{
	struct paths *p = arg;
	size_t n = strlen(p->all);

	snprintf(p->all + n, sizeof(p->all) - n, "%s ", path);
	return p->answer < 0 ? err_set(e, -p->answer, "enough") : 0;
}

static void test_each_page(void **state)
{
	struct paths none = {.answer = 0}, all = {.answer = 0}, first = {.answer = -EINTR};
	struct err e;

	(void)state;
	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	assert_int_equal(shelf_each_page(&state_of, "t", on_page, &none, &e), 0);
	assert_string_equal(none.all, "");
	make_pages();
	assert_int_equal(symlinkat("..", dir.fd, "coverage/t/html/up"), 0);
	assert_int_equal(mkfifoat(dir.fd, "coverage/t/html/fifo", 0644), 0);
	assert_int_equal(shelf_each_page(&state_of, "t", on_page, &all, &e), 0);
	assert_non_null(strstr(all.all, "index.html "));
	assert_non_null(strstr(all.all, "src/a/b.html "));
	assert_int_equal(strlen(all.all), strlen("index.html src/a/b.html "));
	assert_int_equal(shelf_each_page(&state_of, "t", on_page, &first, &e), -EINTR);
}

static void test_summary(void **state)
{
	_autojson_ json_t *none = NULL, *summary = NULL;
	json_t *damaged = NULL;
	struct err e;

	(void)state;
	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	assert_int_equal(shelf_summary(&state_of, "t", &none, &e), 0);
	assert_null(none);
	put_changes(10, "abc", "f", "g");
	assert_int_equal(shelf_summary(&state_of, "t", &summary, &e), 0);
	assert_int_equal(json_get_u64(summary, "time"), 10);
	assert_int_equal(json_array_size(json_object_get(summary, "newly")), 1);
	scratch_write(dir.fd, "coverage/t/summary.json", "{");
	assert_true(shelf_summary(&state_of, "t", &damaged, &e) < 0);
	assert_null(damaged);
	assert_int_equal(unlinkat(dir.fd, "coverage/t/summary.json", 0), 0);
	assert_int_equal(shelf_summary(&state_of, "t", &damaged, &e), 0);
	assert_null(damaged);
}

/* --- what changed ---------------------------------------------------------------- */

static json_t *changes(uint64_t since, const char *commit)
{
	json_t *j = NULL;
	struct err e;

	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	if (shelf_changes(&state_of, "t", since, commit, &j, &e) < 0)
		fail_msg("%s", e.msg);
	return j;
}

static void changes_are(uint64_t since, const char *commit, uint64_t from, const char *newly,
			const char *lost)
{
	_autojson_ json_t *j = changes(since, commit);
	const json_t *lists[] = {json_object_get(j, "newly"), json_object_get(j, "lost")};
	char shown[2][256] = {"", ""};

	assert_non_null(j);
	assert_int_equal(json_get_u64(j, "since"), from);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < json_array_size(lists[i]); k++) {
			const json_t *f = json_array_get(lists[i], k);
			size_t n = strlen(shown[i]);

			assert_string_equal(json_get_text(f, "path"), "/a");
			snprintf(shown[i] + n, sizeof(shown[i]) - n, "%s ",
				 json_get_text(f, "function"));
		}
	assert_string_equal(shown[0], newly);
	assert_string_equal(shown[1], lost);
}

static void put_story(void)
{
	put_changes(10, "c10", "", "");
	put_changes(20, "c20", "f", "");
	put_changes(30, "c30", "g", "h");
	put_changes(40, "c40", "h", "f");
	put_changes(50, "c50", "i", "");
	scratch_write(dir.fd, "coverage/t/lcov.info",
		      "SF:/a\nFN:1,f\nFN:2,g\nFN:3,h\nFN:4,i\nFNDA:0,f\nFNDA:1,g\nFNDA:1,h\n"
		      "FNDA:1,i\nend_of_record\n");
}

static void test_changes_by_time(void **state)
{
	(void)state;
	put_story();
	/* "f" was newly reached and then lost, and "h" was lost and then reached again. */
	changes_are(10, NULL, 10, "g i ", "");
	changes_are(19, NULL, 10, "g i ", "");
	changes_are(20, NULL, 20, "g i ", "f ");
	changes_are(30, NULL, 30, "h i ", "f ");
	changes_are(49, NULL, 40, "i ", "");
	changes_are(50, NULL, 50, "", "");
	changes_are(UINT64_MAX, NULL, 50, "", "");
	changes_are(0, NULL, 10, "g i ", ""); /* the first report stands for those before it */
}

static void test_changes_by_commit(void **state)
{
	_autojson_ json_t *none = NULL;

	(void)state;
	put_story();
	changes_are(0, "c10", 10, "g i ", "");
	changes_are(99, "c30", 30, "h i ", "f ");
	put_changes(60, "c30", "", "i");
	changes_are(0, "c30", 60, "", ""); /* its last report */
	changes_are(0, "c4", 40, "", "");  /* an abbreviation; "i" came and went */
	none = changes(0, "c7");
	assert_null(none);
}

static void test_totals_of_changes(void **state)
{
	_autojson_ json_t *j = NULL;
	const json_t *before, *after;

	(void)state;
	put_story();
	j = changes(20, NULL);
	before = json_object_get(json_object_get(j, "before"), "lines");
	after = json_object_get(json_object_get(j, "after"), "lines");
	assert_int_equal(json_get_u64(before, "covered"), 20);
	assert_int_equal(json_get_u64(after, "covered"), 50);
	assert_string_equal(json_get_text(j, "commit"), "c20");
}

static void test_changes_of_nothing(void **state)
{
	_autojson_ json_t *j = changes(10, NULL);

	(void)state;
	assert_null(j);
}

static void test_changes_of_gone_functions(void **state)
{
	(void)state;
	put_story();
	/* "g" left the program, and "i" is reached. */
	scratch_write(dir.fd, "coverage/t/lcov.info",
		      "SF:/a\nFN:1,f\nFN:2,i\nFNDA:0,f\nFNDA:1,i\nend_of_record\n");
	changes_are(10, NULL, 10, "i ", "");
	changes_are(20, NULL, 20, "i ", "f ");
	scratch_write(dir.fd, "coverage/t/lcov.info", "SF:/a\nFN:2,i\nend_of_record\n");
	changes_are(20, NULL, 20, "", "");
}

/* Lines that another program damaged. */
static void test_changes_of_damaged_lines(void **state)
{
	(void)state;
	make_dirs(dir.fd, "stats/coverage");
	scratch_write(dir.fd, HISTORY,
		      "{}\nnot JSON\n{\"time\": 20, \"newly\": 7, \"lost\": [7, {}, null]}\n"
		      "{\"time\": 30, \"newly\": [{\"path\": \"/a\", \"function\": \"f\"}], "
		      "\"lost\": null}\n{\"time\": 40, \"newly\": {\"a\": 1}}\n");
	changes_are(25, NULL, 20, "f ", "");
}

static const struct CMUnitTest tests[] = {
    CASE(test_put),
    CASE(test_exchange),
    CASE(test_left_over),
    CASE(test_hostile_pages),
    CASE(test_pages_elsewhere),
    CASE(test_not_copied),
    CASE(test_deep_pages),
    CASE(test_many_pages),
    CASE(test_missing_line),
    CASE(test_missing_history),
    CASE(test_cut_line),
    CASE(test_clock),
    CASE(test_damaged_report),
    CASE(test_kills),
    CASE(test_failures),
    CASE(test_copies),
    CASE(test_copy_over_links),
    CASE(test_names),
    CASE(test_page),
    CASE(test_refused_pages),
    CASE(test_each_page),
    CASE(test_summary),
    CASE(test_changes_by_time),
    CASE(test_changes_by_commit),
    CASE(test_totals_of_changes),
    CASE(test_changes_of_nothing),
    CASE(test_changes_of_gone_functions),
    CASE(test_changes_of_damaged_lines),
};

UNIT_MAIN(tests)
