/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/control/request.h"

#include <errno.h>

/* Lines of any client that may connect. */

static struct control_request good(const char *line)
{
	struct control_request q = {0};
	struct err e;

	if (control_request_parse(slice_of(line), &q, &e) < 0)
		fail_msg("%s: %s", line, e.msg);
	return q;
}

static void each_command_is_understood(void **state)
{
	struct control_request q = good("{\"cmd\":\"status\"}");

	(void)state;
	assert_int_equal(q.cmd, CONTROL_STATUS);
	q = good(" {\"target\":\"a b\", \"cmd\":\"target\"} ");
	assert_int_equal(q.cmd, CONTROL_TARGET);
	assert_string_equal(q.target, "a b");
	q = good("{\"cmd\":\"stop\",\"target\":\"x\",\"now\":true}");
	assert_int_equal(q.cmd, CONTROL_STOP);
	assert_true(q.now);
	assert_int_equal(good("{\"cmd\":\"start\",\"target\":\"x\"}").cmd, CONTROL_START);
	assert_int_equal(good("{\"cmd\":\"skip\",\"target\":\"x\"}").cmd, CONTROL_SKIP);
	q = good("{\"cmd\":\"workers\",\"workers\":1024}");
	assert_int_equal(q.workers, 1024);
	assert_int_equal(good("{\"cmd\":\"end\"}").cmd, CONTROL_END);
	assert_false(good("{\"cmd\":\"end\",\"now\":false}").now);
}

static void a_reader_may_not_change_anything(void **state)
{
	(void)state;
	for (unsigned c = 0; c < CONTROL_CMD_COUNT; c++)
		assert_int_equal(control_only_reads((enum control_cmd)c),
				 c == CONTROL_STATUS || c == CONTROL_TARGET);
	assert_false(control_only_reads(CONTROL_CMD_COUNT));
	assert_string_equal(control_cmd_name(CONTROL_CMD_COUNT), "unknown");
}

static void all_else_is_refused(void **state)
{
	static const char *const bad[][2] = {
	    {"", "parse the request"},
	    {"status", "parse the request"},
	    {"{\"cmd\":\"status\"", "parse the request"},
	    {"{\"cmd\":\"status\"}x", "parse the request"},
	    {"{\"cmd\":\"status\",\"cmd\":\"end\"}", "parse the request"},
	    {"{\"cmd\":\"st\\u0000atus\"}", "parse the request"},
	    {"{\"cmd\":\"\xff\"}", "parse the request"},
	    {"[]", "a JSON object"},
	    {"7", "a JSON object"},
	    {"{}", "\"cmd\" is missing"},
	    {"{\"cmd\":7}", "\"cmd\" is missing"},
	    {"{\"cmd\":\"STATUS\"}", "unknown command"},
	    {"{\"cmd\":\"status\",\"target\":\"x\"}", "unknown key"},
	    {"{\"cmd\":\"status\",\"later\":1}", "unknown key"},
	    {"{\"cmd\":\"stop\"}", "\"target\" is missing"},
	    {"{\"cmd\":\"stop\",\"target\":7}", "not a valid target name"},
	    {"{\"cmd\":\"stop\",\"target\":\"\"}", "not a valid target name"},
	    {"{\"cmd\":\"stop\",\"target\":\"../x\"}", "not a valid target name"},
	    {"{\"cmd\":\"stop\",\"target\":\"a\\u001b[2J\"}", "not a valid target name"},
	    {"{\"cmd\":\"stop\",\"target\":\"x\",\"now\":1}", "true or false"},
	    {"{\"cmd\":\"start\",\"target\":\"x\",\"now\":true}", "unknown key"},
	    {"{\"cmd\":\"workers\"}", "\"workers\" is missing"},
	    {"{\"cmd\":\"workers\",\"workers\":0}", "1 to 1024"},
	    {"{\"cmd\":\"workers\",\"workers\":1025}", "1 to 1024"},
	    {"{\"cmd\":\"workers\",\"workers\":-1}", "1 to 1024"},
	    {"{\"cmd\":\"workers\",\"workers\":4.0}", "1 to 1024"},
	    {"{\"cmd\":\"workers\",\"workers\":\"4\"}", "1 to 1024"},
	    {"{\"cmd\":\"workers\",\"workers\":99999999999999999999}", "parse the request"},
	};
	struct control_request q;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (control_request_parse(slice_of(bad[i][0]), &q, &e) >= 0)
			fail_msg("accepted: %s", bad[i][0]);
		if (!strstr(e.msg, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], e.msg);
	}
}

static void what_is_too_long_is_not_looked_at(void **state)
{
	static char line[CONTROL_LINE_MAX];
	struct control_request q;
	struct err e;

	(void)state;
	memset(line, '[', sizeof(line));
	assert_int_equal(control_request_parse((struct slice){line, sizeof(line)}, &q, &e),
			 -EMSGSIZE);
	/* at the maximum depth */
	assert_true(control_request_parse((struct slice){line, sizeof(line) - 1}, &q, &e) < 0);
}

static void what_is_asked_arrives_as_it_was_meant(void **state)
{
	const struct control_request all[] = {
	    {.cmd = CONTROL_STATUS},
	    {.cmd = CONTROL_STOP, .target = "a \"b\" \\", .now = true},
	    {.cmd = CONTROL_WORKERS, .workers = 7},
	    {.cmd = CONTROL_END, .now = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		_autojson_ json_t *o = NULL;
		_autofree_ char *text = NULL;
		struct control_request q;
		struct err e;

		assert_int_equal(control_request_json(&all[i], &o, &e), 0);
		assert_int_equal(json_print(o, 0, &text, &e), 0);
		q = good(text);
		assert_int_equal(q.cmd, all[i].cmd);
		assert_string_equal(q.target, all[i].target);
		assert_int_equal(q.workers, all[i].workers);
		assert_int_equal(q.now, all[i].now);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_command_is_understood),
    cmocka_unit_test(a_reader_may_not_change_anything),
    cmocka_unit_test(all_else_is_refused),
    cmocka_unit_test(what_is_too_long_is_not_looked_at),
    cmocka_unit_test(what_is_asked_arrives_as_it_was_meant),
};

UNIT_MAIN(tests)
