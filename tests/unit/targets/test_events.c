/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/each.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/targets/build/internal.h"

static char *three_v[] = {(char[]){"//p:a"}, (char[]){"//p:b"}, (char[]){"//p:c"}, NULL};
static const struct strv three = {three_v, 3};

static int read_events(struct slice text, struct build_result *ret, bool *any, struct err *e)
{
	_autoclose_ int fd = openat(dir.fd, "events", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
	*ret = (struct build_result){.ok = true};
	return events_read(fd, &three, &(struct events_beside){NULL, ""}, ret, any, e);
}

static void reads(const char *text, struct build_result *ret)
{
	struct err e;
	bool any;

	if (read_events(slice_of(text), ret, &any, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(any, *text != '\0');
	assert_int_equal(ret->built.n + ret->failed.labels.n, 3); /* each target is reported */
	assert_int_equal(ret->failed.labels.n, ret->failed.whys.n);
}

#define DONE(label, more) \
	"{\"id\":{\"targetCompleted\":{\"label\":\"" label "\",\"configuration\":{}}}," more "}\n"
#define GOOD "\"completed\":{\"success\":true}"
#define BAD  "\"completed\":{\"failureDetail\":{\"message\":\"x\"}}"

static void test_ends(void **state)
{
	struct build_result r;

	(void)state;
	reads(
	    "{\"id\":{\"started\":{}}}\n" DONE("//p:a", GOOD) DONE(
		"@//p:b", "\"children\":[{\"actionCompleted\":{\"label\":\"//q:lib\"}}]," BAD)
		DONE("//p:c", "\"aborted\":{\"reason\":\"ANALYSIS_FAILURE\",\"description\":\"\"}")
		    DONE("//other:d", GOOD),
	    &r);
	assert_int_equal(r.built.n, 1);
	assert_string_equal(r.built.v[0], "//p:a");
	assert_string_equal(r.failed.labels.v[0], "//p:b");
	assert_string_equal(r.failed.whys.v[0], "an action of //q:lib failed");
	assert_string_equal(r.failed.labels.v[1], "//p:c");
	assert_string_equal(r.failed.whys.v[1], "ANALYSIS_FAILURE");
	build_result_done(&r);
}

/* A target that is not reported as built counts as not built. */
static void test_untold(void **state)
{
	struct build_result r;

	(void)state;
	reads("", &r);
	assert_int_equal(r.built.n, 0);
	assert_string_equal(r.failed.whys.v[0], "not reached");
	build_result_done(&r);
	/* An aspect of the target; an end without success; one configuration of two. */
	reads("{\"id\":{\"targetCompleted\":{\"label\":\"//p:a\",\"aspect\":\"x\"}}," GOOD
	      "}\n" DONE("//p:b", "\"completed\":{}") DONE("//p:c", GOOD) DONE("//p:c", BAD)
		  DONE("//p:c", GOOD),
	      &r);
	assert_int_equal(r.built.n, 0);
	build_result_done(&r);
}

static void test_hostile(void **state)
{
	struct build_result r;

	(void)state;
	reads("\"targetCompleted\"\n[\"targetCompleted\"]\n{\"targetCompleted\"\n"
	      "{\"id\":{\"targetCompleted\":7}}\n{\"id\":{\"targetCompleted\":{\"label\":7}}}\n"
	      "{\"id\":[\"targetCompleted\"],\"children\":\"x\",\"aborted\":[]}\n" DONE(
		  "//p:a", "\"aborted\":{\"reason\":\"\\u001b[2J\"}")
		  DONE("//p:b", "\"children\":[7,{\"actionCompleted\":{\"label\":7}}]," BAD),
	      &r);
	assert_int_equal(r.built.n, 0);
	assert_string_equal(r.failed.whys.v[0], "\\x1b[2J");
	assert_string_equal(r.failed.whys.v[1], "it failed");
	build_result_done(&r);
}

/* A last line without a newline counts.  A huge line, with an action's output, does not hide later
 * lines. */
static void test_lines(void **state)
{
	const size_t huge = (size_t)3 * EVENTS_LINE_MAX + 77;
	static const char end[] =
	    "\n" DONE("//p:a", GOOD) "{\"id\":{\"targetCompleted\":{\"label\":"
				     "\"//p:b\"}}," GOOD "}";
	struct build_result r;
	struct err e;
	char *text = malloc(huge + sizeof(end));
	bool any;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', huge);
	memcpy(text, "\"targetCompleted\"", 17);
	memcpy(text + huge, end, sizeof(end));
	if (read_events((struct slice){text, huge + sizeof(end) - 1}, &r, &any, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(r.built.n, 2);
	build_result_done(&r);
	/* Many events, across the borders of read blocks. */
	for (size_t i = 0; i + 100 < huge; i += 100) {
		memset(text + i, ' ', 99);
		memcpy(text + i, "{\"id\":{}}", 9);
		text[i + 99] = '\n';
	}
	if (read_events((struct slice){text, huge + sizeof(end) - 1}, &r, &any, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(r.built.n, 2);
	build_result_done(&r);
	free(text);
}

static void test_faults(void **state)
{
	unsigned n = 1;
	int rc;

	(void)state;
	do {
		struct build_result r;
		struct err e;
		bool any;

		fault_arm(n++, FAULT_FAIL);
		rc = read_events(slice_of(DONE("//p:a", GOOD) DONE("//p:b", BAD)), &r, &any, &e);
		fault_arm(0, FAULT_FAIL);
		if (rc == 0)
			assert_int_equal(r.built.n, 1);
		build_result_done(&r);
	} while (rc < 0 && n < 100);
	assert_in_range(n, 3, 99);
}

static const struct CMUnitTest tests[] = {
    CASE(test_ends), CASE(test_untold), CASE(test_hostile), CASE(test_lines), CASE(test_faults),
};

UNIT_MAIN(tests)
