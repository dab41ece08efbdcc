/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "tests/unit/scratch.h"

#include <sys/mman.h>

/* The lines logged since the last look, in text; the log is a file of ours. */
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
	return ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0 ? -1 : 0;
}

static char text[1 << 16];

/* The one line, checked: whole, at most PIPE_BUF, ASCII, one JSON object. */
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

/* One after the other through the line's end, byte by byte. */
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
		/* Whole or not at all; and a short one after it still fits. */
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

#define CASE(f) cmocka_unit_test_setup(f, each_setup)

static const struct CMUnitTest tests[] = {
    CASE(test_fields),	   CASE(test_levels), CASE(test_hostile), CASE(test_long),
    CASE(test_long_event), CASE(test_errno),  CASE(test_appends),
};

int main(void)
{
	alarm(UNIT_WATCHDOG_S);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, group_setup, NULL);
}
