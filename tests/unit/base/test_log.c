/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "tests/unit/forked.h"
#include "tests/unit/scratch.h"

#include "base/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Reads the lines logged since the last call into text; the log is a file of the test. */
static int file = -1;

static int group_setup(void **state)
{
	(void)state;
	file = memfd_create("log", MFD_CLOEXEC);
	log_fd = file;
	return file < 0 ? -1 : 0;
}

static int each_setup(void **state)
{
	(void)state;
	log_max = LOG_INFO;
	log_console = LOG_CONSOLE_OFF;
	return ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0 ? -1 : 0;
}

static char text[1 << 16];

/* Checks the only line: complete, at most PIPE_BUF, ASCII, one JSON object. */
static json_t *line(void)
{
	ssize_t n = pread(file, text, sizeof(text) - 1, 0);
	struct err e = {0};
	json_t *j = NULL;

	assert_in_range(n, 2, 4096);
	text[n] = '\0';
	assert_ptr_equal(strchr(text, '\n'), text + n - 1);
	for (ssize_t i = 0; i < n - 1; i++)
		assert_in_range(text[i], 0x20, 0x7e);
	if (json_parse((struct slice){text, (size_t)n}, &j, &e) < 0)
		fail_msg("%s: %s", e.msg, text);
	assert_true(json_is_object(j));
	return j;
}

static const char *str(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static void test_fields(void **state)
{
	_autojson_ json_t *j = NULL;

	(void)state;
	LOG(LOG_WARN, "job_exit", f_str("job", "png"), f_int("status", -7), f_str("why", NULL),
	    f_int("big", INT64_MAX));
	j = line();
	assert_int_equal(json_object_size(j), 7);
	assert_true(json_is_real(json_object_get(j, "ts")));
	assert_true(json_real_value(json_object_get(j, "ts")) > 1.6e9);
	assert_string_equal(str(j, "level"), "warn");
	assert_string_equal(str(j, "event"), "job_exit");
	assert_string_equal(str(j, "job"), "png");
	assert_string_equal(str(j, "why"), "");
	assert_int_equal(json_integer_value(json_object_get(j, "status")), -7);
	assert_int_equal(json_integer_value(json_object_get(j, "big")), INT64_MAX);
}

static void test_levels(void **state)
{
	static const struct {
		enum log_level lv;
		const char *name;
	} t[] = {
	    {LOG_ERROR, "error"}, {LOG_WARN, "warn"}, {LOG_INFO, "info"}, {LOG_DEBUG, "debug"}};

	for (size_t i = 0; i < 4; i++) {
		_autojson_ json_t *j = NULL;

		each_setup(state);
		log_max = t[i].lv;
		log_event(t[i].lv, "e", NULL, 0);
		j = line();
		assert_string_equal(str(j, "level"), t[i].name);
		if (i == 0)
			continue;
		each_setup(state);
		log_max = t[i - 1].lv;
		log_event(t[i].lv, "e", NULL, 0);
		assert_int_equal(lseek(file, 0, SEEK_END), 0);
	}
}

/* Every byte that a target can print, in one string. */
static void test_hostile(void **state)
{
	_autojson_ json_t *j = NULL;
	char all[256];
	const char *got;

	(void)state;
	for (unsigned i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	LOG(LOG_INFO, "x", f_str("all", all), f_str("end", "\\\"},{\n"));
	j = line();
	got = str(j, "all");
	for (unsigned i = 1; i < 0x80; i++)
		assert_int_equal(got[i - 1], i);
	assert_int_equal(json_string_length(json_object_get(j, "all")), 127 + 2 * 128);
	assert_string_equal(str(j, "end"), "\\\"},{\n");
}

/* Moves each case through the end of the line, byte by byte. */
static void test_long(void **state)
{
	static char s[5000];

	memset(s, '\n', sizeof(s)); /* six bytes each in the line */
	for (size_t n = 600; n < 720; n++) {
		_autojson_ json_t *j = NULL;

		each_setup(state);
		s[n] = '\0';
		LOG(LOG_INFO, "x", f_int("before", 1), f_str("long", s), f_int("after", 2));
		s[n] = '\n';
		j = line();
		assert_int_equal(json_integer_value(json_object_get(j, "before")), 1);
		/* A value is written whole or not at all; a short value after it still fits. */
		if (str(j, "long"))
			assert_int_equal(strlen(str(j, "long")), n);
		else
			assert_int_equal(json_integer_value(json_object_get(j, "after")), 2);
	}
	for (size_t n = 3900; n < 4100; n++) {
		_autojson_ json_t *j = NULL;

		each_setup(state);
		memset(s, 'a', sizeof(s));
		s[n] = '\0';
		LOG(LOG_INFO, "x", f_str("long", s));
		j = line();
		assert_true(!str(j, "long") || strlen(str(j, "long")) == n);
	}
}

static void test_long_event(void **state)
{
	static char s[5000];

	for (size_t n = 4000; n < 4060; n++) {
		_autojson_ json_t *j = NULL;

		each_setup(state);
		memset(s, 'e', sizeof(s));
		s[n] = '\0';
		LOG(LOG_INFO, s, f_int("n", 1));
		j = line();
		assert_true(!str(j, "event") || strlen(str(j, "event")) == n);
	}
}

static void test_errno(void **state)
{
	int good = log_fd;

	(void)state;
	errno = EXDEV;
	LOG(LOG_INFO, "x", f_int("n", 1));
	assert_int_equal(errno, EXDEV);
	log_fd = -1;
	LOG(LOG_INFO, "x", f_int("n", 1));
	log_fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	LOG(LOG_INFO, "x", f_int("n", 1));
	close(log_fd);
	log_fd = good;
	assert_int_equal(errno, EXDEV);
}

static void test_appends(void **state)
{
	char *p = text;
	ssize_t n;

	(void)state;
	for (int i = 0; i < 100; i++)
		LOG(LOG_INFO, "x", f_int("n", i));
	n = pread(file, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	for (int i = 0; i < 100; i++) {
		_autojson_ json_t *j = NULL;
		struct err e;
		size_t len = strcspn(p, "\n");

		assert_int_equal(json_parse((struct slice){p, len}, &j, &e), 0);
		assert_int_equal(json_integer_value(json_object_get(j, "n")), i);
		p += len + 1;
	}
	assert_int_equal(*p, '\0');
}

/* Characters of other languages are not escaped, also above U+FFFF. */
static void test_utf8(void **state)
{
	_autojson_ json_t *j = NULL;

	(void)state;
	LOG(LOG_INFO, "x", f_str("text", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \xc3"));
	j = line();
	assert_string_equal(str(j, "text"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \xc3\x83");
}

static void test_level_names(void **state)
{
	static const char *const good[] = {"error", "warn", "info", "debug"};
	static const char *const bad[] = {"", "warning", "Info", " info", "info ", "3"};
	enum log_level lv = LOG_ERROR;

	(void)state;
	for (enum log_level i = LOG_ERROR; i <= LOG_DEBUG; i++) {
		assert_true(log_level_parse(good[i], &lv));
		assert_int_equal(lv, i);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		lv = LOG_WARN;
		assert_false(log_level_parse(bad[i], &lv));
		assert_int_equal(lv, LOG_WARN);
		assert_int_equal(log_console_open(bad[i]), !*bad[i]);
	}
	assert_int_equal(log_console, LOG_CONSOLE_OFF);
	assert_true(log_console_open("error"));
	assert_int_equal(log_console, LOG_CONSOLE_LOGFMT);
	assert_int_equal(log_console_max, LOG_ERROR);
	assert_int_equal(log_max, LOG_INFO); /* the file keeps its level */
	assert_true(log_console_open("debug"));
	assert_int_equal(log_max, LOG_DEBUG);
	assert_true(log_console_open(NULL));
	assert_int_equal(log_console, LOG_CONSOLE_OFF);
}

/* --- logfmt --------------------------------------------------------------- */

#define LOGFMT(f, ...)                                       \
	logfmt((f), (const struct log_field[]){__VA_ARGS__}, \
	       sizeof((struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

static const char *logfmt(struct log_line *l, const struct log_field *f, size_t n)
{
	*l = (struct log_line){.n = 0};
	log_logfmt(l, "x", f, n);
	l->b[l->n] = '\0';
	return l->b;
}

static void test_logfmt(void **state)
{
	static const struct {
		const char *value, *want;
	} t[] = {
	    {"png", "event=x k=png"},
	    {"", "event=x k=\"\""},
	    {NULL, "event=x k=\"\""},
	    {"two words", "event=x k=\"two words\""},
	    {"a=b", "event=x k=\"a=b\""},
	    {"say \"\\\"", "event=x k=\"say \\\"\\\\\\\"\""},
	    {"\n\t", "event=x k=\"\\\\x0a\\\\x09\""},
	    /* A forged line that looks like one of ours. */
	    {"x\ntime=1 level=error event=forged",
	     "event=x k=\"x\\\\x0atime=1 level=error event=forged\""},
	    {"\x1b[31m\x9b", "event=x k=\"\\\\x1b[31m\\\\x9b\""},
	    {"gr\xc3\xbc\xc3\x9f\xe2\x80\xae", "event=x k=\"gr\xc3\xbc\xc3\x9f\\\\u202e\""},
	};
	struct log_line l;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(LOGFMT(&l, f_str("k", t[i].value)), t[i].want);
	assert_string_equal(LOGFMT(&l, f_int("a", INT64_MIN), f_int("b", 7)),
			    "event=x a=-9223372036854775808 b=7");
}

/* A long value is cut with a mark; the next values that do not fit are left out. */
static void test_logfmt_long(void **state)
{
	static char s[20000];
	struct log_line l;

	(void)state;
	memset(s, '\x1b', sizeof(s) - 1);
	LOGFMT(&l, f_str("a", s), f_int("end", 1));
	assert_in_range(l.n, LOG_SHOWN_MAX, 2 * LOG_SHOWN_MAX + 40);
	assert_non_null(strstr(l.b, "\\\\x1b...\" end=1"));
	LOGFMT(&l, f_str("a", s), f_str("b", s), f_str("c", s), f_str("d", s), f_int("end", 1));
	assert_null(strstr(l.b, " d="));
	assert_non_null(strstr(l.b, "...\" end=1"));
	assert_in_range(l.n, 1, sizeof(l.b) - 3);
}

/* Returns the standard error of log_console_open(level). */
static const char *stderr_of(const char *level, enum log_level lv)
{
	int saved = dup(STDERR_FILENO), caught = memfd_create("stderr", MFD_CLOEXEC);
	ssize_t n;

	assert_true(dup2(caught, STDERR_FILENO) >= 0);
	assert_true(log_console_open(level));
	LOG(lv, "job", f_str("target", "a b"));
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	n = pread(caught, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(saved);
	close(caught);
	return text;
}

static void test_stderr(void **state)
{
	const char *p;

	(void)state;
	assert_string_equal(stderr_of(NULL, LOG_ERROR), "");
	assert_string_equal(stderr_of("warn", LOG_INFO), "");
	p = stderr_of("warn", LOG_WARN);
	assert_int_equal(strncmp(p, "time=2", 6), 0);
	assert_string_equal(strchr(p, ' '), " level=warn event=job target=\"a b\"\n");
	assert_int_equal(strcspn(p, " "), strlen("time=2026-11-22T20:00:00.000Z"));
}

/* --- the journal ---------------------------------------------------------- */

static void test_is_journal(void **state)
{
	char right[80], wrong[90];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(file, &st), 0);
	snprintf(right, sizeof(right), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	assert_true(journal_has(file, right));
	assert_false(journal_has(-1, right));
	assert_false(journal_has(file, NULL));
	snprintf(wrong, sizeof(wrong), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
	assert_false(journal_has(file, wrong));
	for (size_t n = 0; right[n]; n++) {
		snprintf(wrong, sizeof(wrong), "%.*s", (int)n, right);
		assert_false(journal_has(file, wrong));
	}
	snprintf(wrong, sizeof(wrong), "%s ", right);
	assert_false(journal_has(file, wrong));
}

/* The journal's socket path, in a file system of the test. */
static int fake_journal(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || !mounts_are_ours() || mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
		return -1;
	if (mkdir("/run/systemd", 0755) < 0 || mkdir("/run/systemd/journal", 0755) < 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	return fd;
}

static bool has_line(const char *entry, const char *want)
{
	size_t n = strlen(want);

	for (const char *p = entry; (p = strstr(p, want)) != NULL; p++)
		if ((p == entry || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static int entries(void)
{
	int fd = fake_journal(), err = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char stream[80], got[8192];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return FORKED_SKIP;
	if (dup2(err, STDERR_FILENO) < 0 || fstat(STDERR_FILENO, &st) < 0)
		return 1;
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	if (setenv("JOURNAL_STREAM", stream, 1) < 0 || !log_console_open("warn") ||
	    log_console != LOG_CONSOLE_JOURNAL)
		return 2;
	LOG(LOG_INFO, "job", f_str("target", "quiet"));
	LOG(LOG_WARN, "job", f_str("target", "png\nPRIORITY=0"), f_int("status", 5));
	n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	if (n < 0)
		return 3;
	got[n] = '\0';
	if (!has_line(got, "PRIORITY=4") || !has_line(got, "SYSLOG_IDENTIFIER=fuzzcell") ||
	    !has_line(got, "FUZZCELL_EVENT=job") || !has_line(got, "FUZZCELL_STATUS=5") ||
	    !has_line(got, "FUZZCELL_TARGET=png\\x0aPRIORITY=0") ||
	    !has_line(got, "MESSAGE=event=job target=\"png\\\\x0aPRIORITY=0\" status=5"))
		return 4;
	LOG(LOG_ERROR, "failed", f_str("text", "no \x1b[31mred"), f_int("status", 70));
	n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	got[n > 0 ? n : 0] = '\0';
	return has_line(got, "MESSAGE=no \\x1b[31mred") && has_line(got, "PRIORITY=3") ? 0 : 5;
}

static void test_entries(void **state)
{
	(void)state;
	forked(entries);
}

#define CASE(f) cmocka_unit_test_setup(f, each_setup)

static const struct CMUnitTest tests[] = {
    CASE(test_fields),	    CASE(test_levels),	CASE(test_hostile),	CASE(test_long),
    CASE(test_long_event),  CASE(test_errno),	CASE(test_appends),	CASE(test_utf8),
    CASE(test_level_names), CASE(test_logfmt),	CASE(test_logfmt_long), CASE(test_stderr),
    CASE(test_is_journal),  CASE(test_entries),
};

int main(void)
{
	alarm(UNIT_WATCHDOG_S);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, group_setup, NULL);
}
