/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "tests/unit/config/parsed.h"

#include <errno.h>

/* The sections of the service: trigger, notifications, dashboard. */

static void test_nothing_said(void **state)
{
	_config_ struct config *c = parsed("{}");
	const struct trigger_config *t = config_trigger(c);
	const struct github_config *g = config_github(c);
	const struct outbox_config *o = config_outbox(c);
	size_t n = 7;

	(void)state;
	assert_null(t->repository);
	assert_string_equal(t->remote, "origin");
	assert_string_equal(t->branch, "main");
	assert_int_equal(t->interval_us, 7200 * USEC_PER_SEC);
	assert_int_equal(t->quiet.mode, QUIET_OFF);
	assert_int_equal(t->quiet.steal, 100);
	assert_null(g->repository);
	assert_string_equal(g->api, "https://api.github.com");
	assert_int_equal(g->app, 0);
	assert_int_equal(g->labels.n, 3);
	assert_string_equal(g->labels.v[0], "fuzzing");
	assert_int_equal(g->security, SECURITY_REDACT);
	assert_int_equal(g->on_fixed, ISSUE_ACT);
	assert_int_equal(g->inline_bytes, 4096);
	assert_int_equal(o->silent_us, 604800 * USEC_PER_SEC);
	config_webhooks(c, &n);
	assert_int_equal(n, 0);
}

static void test_all_said(void **state)
{
	_config_ struct config *c =
	    parsed("{\"trigger\": {\"repository\": \"src\", \"branch\": \"release/1.0\","
		   "  \"interval\": \"1h\", \"quiet\": {\"mode\": \"wait\", \"steal\": 0.25, "
		   "\"load\": \"off\"}},"
		   " \"github\": {\"repository\": \"o/n.x\", \"token_env\": \"T\", \"labels\": [],"
		   "  \"on_again\": \"comment\"},"
		   " \"webhooks\": [{\"name\": \"a\", \"url\": \"http://127.0.0.1:8080/x\"},"
		   "  {\"name\": \"b\", \"url_file\": \"u\", \"format\": \"generic\", \"events\": "
		   "[\"new\", \"silent\"]}]}");
	const struct webhook_config *w;
	size_t n;

	(void)state;
	assert_string_equal(config_trigger(c)->repository, "/etc/fuzz/src");
	assert_string_equal(config_trigger(c)->branch, "release/1.0");
	assert_int_equal(config_trigger(c)->interval_us, 3600 * USEC_PER_SEC);
	assert_int_equal(config_trigger(c)->quiet.mode, QUIET_WAIT);
	assert_int_equal(config_trigger(c)->quiet.steal, 250);
	assert_int_equal(config_trigger(c)->quiet.load, 0);
	assert_int_equal(config_github(c)->labels.n, 0); /* an empty list stays empty */
	assert_int_equal(config_github(c)->on_again, ISSUE_COMMENT);
	w = config_webhooks(c, &n);
	assert_int_equal(n, 2);
	assert_string_equal(w[0].url, "http://127.0.0.1:8080/x");
	assert_int_equal(w[0].format, WEBHOOK_SLACK);
	assert_int_equal(w[0].events.n, 0);
	assert_string_equal(w[1].url_file, "/etc/fuzz/u");
	assert_int_equal(w[1].format, WEBHOOK_GENERIC);
	assert_string_equal(w[1].events.v[1], "silent");
	assert_string_equal(from_of(c, NULL, "trigger.quiet.steal"),
			    "/etc/fuzz/config.json:1 trigger");
	assert_string_equal(from_of(c, NULL, "github.api"), "built-in");
}

static void test_sources(void **state)
{
	_config_ struct config *c = parsed(
	    "{\"discovery\": [{\"type\": \"bazel\", \"path\": \"w\", \"build_as_root\": true},"
	    " {\"type\": \"bazel\", \"path\": \"v\", \"flags\": [], \"query\": \"//...\"},"
	    " {\"type\": \"directory\", \"path\": \"out\", \"build\": [\"make\", \"all\"], "
	    "\"build_time\": \"5m\"}]}");
	const struct config_source *s;
	size_t n;

	(void)state;
	s = config_sources(c, &n);
	assert_int_equal(n, 3);
	assert_string_equal(s[0].type, "bazel");
	assert_string_equal(s[0].bazel, "bazel");
	assert_null(s[0].query);
	assert_int_equal(s[0].bazel_flags.n, 1);
	assert_string_equal(s[0].bazel_flags.v[0], "--config=asan-fuzzer");
	assert_int_equal(s[1].bazel_flags.n, 0);
	assert_string_equal(s[1].query, "//...");
	assert_int_equal(s[2].build.n, 2);
	assert_string_equal(s[2].build_dir,
			    "/etc/fuzz"); /* the directory of the configuration file */
	assert_false(s[2].build_as_root);
	assert_true(s[0].build_as_root);
	assert_int_equal(s[2].build_time_us, 300 * USEC_PER_SEC);
}

static void test_variants(void **state)
{
	_config_ struct config *c =
	    parsed("{\"discovery\": [{\"type\": \"directory\", \"path\": \"out\", "
		   "\"build\": [\"./build.sh\"], \"build_pids\": 99, "
		   "\"variants\": [\"undefined\", \"coverage\", \"x-1\"]},"
		   " {\"type\": \"manifest\", \"path\": \"/m.json\", \"build\": [\"make\"], "
		   "\"variants\": [\"address\", \"memory\"]},"
		   " {\"type\": \"directory\", \"path\": \"/\", \"build\": [\"make\"], "
		   "\"variants\": [\"address\"]},"
		   " {\"type\": \"directory\", \"path\": \"/other\", \"variant\": \"slow\"},"
		   " {\"type\": \"directory\", \"path\": \"/plain\"}]}");
	static const struct {
		const char *path, *variant, *builds_dir;
		bool is_main;
	} want[] = {
	    {"/etc/fuzz/out/undefined", "undefined", "/etc/fuzz/out", true},
	    {"/etc/fuzz/out/coverage", "coverage", "/etc/fuzz/out", false},
	    {"/etc/fuzz/out/x-1", "x-1", "/etc/fuzz/out", false},
	    {"/address/m.json", "address", "/", true},
	    {"/memory/m.json", "memory", "/", false},
	    {"/address", "address", "/", true},
	    {"/other", "slow", NULL, false},
	    {"/plain", NULL, NULL, true},
	};
	const struct config_source *s;
	size_t n;

	(void)state;
	s = config_sources(c, &n);
	assert_int_equal(n, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(s[i].path, want[i].path);
		assert_int_equal(!s[i].variant, !want[i].variant);
		if (want[i].variant)
			assert_string_equal(s[i].variant, want[i].variant);
		assert_int_equal(!s[i].builds_dir, !want[i].builds_dir);
		if (want[i].builds_dir)
			assert_string_equal(s[i].builds_dir, want[i].builds_dir);
		assert_int_equal(s[i].is_main, want[i].is_main);
	}
	/* Each has the other keys of its object. */
	assert_string_equal(s[2].build.v[0], "./build.sh");
	assert_string_equal(s[2].build_dir, "/etc/fuzz");
	assert_int_equal(s[2].build_pids, 99);
	assert_string_equal(s[4].build.v[0], "make");
}

static void test_command_line(void **state)
{
	_config_ struct config *c = parsed("{}");
	struct err e;

	(void)state;
	assert_int_equal(config_override(c, "trigger.interval", "5m", &e), 0);
	assert_int_equal(config_trigger(c)->interval_us, 300 * USEC_PER_SEC);
	assert_string_equal(from_of(c, NULL, "trigger.interval"), "command line");
	assert_int_equal(config_override(c, "trigger.branch", "..", &e), -EINVAL);
	assert_int_equal(config_override(c, "triggers.branch", "x", &e), -EINVAL);
}

/* A section alone in the file, and the message after "config.json:1: ". */
static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} t[] = {
	    {"\"trigger\": {\"branch\": \"a..b\"}",
	     "trigger.branch: \"a..b\" is not the name of a branch"},
	    {"\"trigger\": {\"branch\": \"a b\"}",
	     "trigger.branch: \"a b\" is not the name of a branch"},
	    {"\"trigger\": {\"branch\": \"\"}", "trigger.branch: the text is empty"},
	    {"\"trigger\": {\"branch\": 7}", "trigger.branch: 7 is not a text in quotes"},
	    {"\"trigger\": {\"remote\": \"-u\"}", "trigger.remote: \"-u\" is not a name of at most "
						  "64 letters, digits, \"-\", \"_\" and \".\""},
	    {"\"trigger\": {\"quiet\": 5}",
	     "trigger.quiet: not an object: write {\"key\": value, ...}"},
	    {"\"trigger\": {\"quiet\": {\"steal\": 2}}",
	     "trigger.quiet.steal: 2 is above the most allowed, 1"},
	    {"\"github\": {\"repository\": \"a/b/c\", \"app\": 1}",
	     "github.repository: \"a/b/c\" is not a repository such as \"owner/name\""},
	    {"\"github\": {\"repository\": \"a/..\"}",
	     "github.repository: \"a/..\" is not a repository such as \"owner/name\""},
	    {"\"github\": {\"api\": \"http://127.0.0.1.example.com/\"}",
	     "github.api: \"http://127.0.0.1.example.com/\" is not a URL such as "
	     "\"https://host/path\""},
	    {"\"github\": {\"api\": \"https://me:pw@example.com/\"}",
	     "github.api: \"https://me:pw@example.com/\" contains a user name or password, "
	     "which belongs in a file"},
	    {"\"github\": {\"token_file\": \"a\", \"token_env\": \"B\"}",
	     "github: only one of \"token_file\", \"token_env\" and \"app\" may be set"},
	    {"\"github\": {\"app\": 5}",
	     "github: \"app\" needs \"installation\" and \"app_key_file\""},
	    {"\"github\": {\"installation\": 5}",
	     "github: \"installation\" and \"app_key_file\" need \"app\""},
	    {"\"github\": {\"security\": \"repository\"}",
	     "github: \"security\": \"repository\" needs \"security_repository\""},
	    {"\"github\": {\"upload_dir\": \"../x\"}",
	     "github.upload_dir: \"../x\" is not a directory within a repository, such as "
	     "\"crashes\""},
	    {"\"github\": {\"token_env\": \"A=B\"}",
	     "github.token_env: \"A=B\" is not the name of an environment variable"},
	    {"\"webhooks\": {}",
	     "webhooks: not a list: write [{\"name\": ..., \"url\": ...}, ...]"},
	    {"\"webhooks\": [{\"url\": \"https://h/\"}]", "webhooks[0]: \"name\" is missing"},
	    {"\"webhooks\": [{\"name\": \"a\", \"url\": \"https://h/\", \"url_file\": \"f\"}]",
	     "webhooks[0]: set \"url\" or \"url_file\", not both"},
	    {"\"webhooks\": [{\"name\": \"a\", \"url\": \"https://h/\"}, {\"name\": \"a\", "
	     "\"url\": \"https://i/\"}]",
	     "webhooks[1]: two webhooks are named \"a\""},
	    {"\"webhooks\": [{\"name\": \"a\", \"url\": \"https://h/\", \"events\": [\"old\"]}]",
	     "webhooks[0].events[0]: \"old\" is not known here (use \"new\", \"fixed\", "
	     "\"regressed\", "
	     "\"run-failed\" or \"silent\")"},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"o\", \"build\": []}]",
	     "discovery[0]: \"build\" names no command"},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"o\", \"build_dir\": \"d\"}]",
	     "discovery[0]: \"build_dir\" without \"build\""},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"o\", "
	     "\"build_as_root\": true}]",
	     "discovery[0]: \"build_as_root\" without \"build\""},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"o\", \"build\": [\"a\\n\"]}]",
	     "discovery[0].build[0]: \"a?\" has a control character in it"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[1024], want[1024];
		struct config *c = NULL;
		struct err e;

		snprintf(text, sizeof(text), "{%s}", t[i].text);
		snprintf(want, sizeof(want), "config.json:1: %s", t[i].want);
		if (config_parse(slice_of(text), "config.json", &c, &e) >= 0)
			fail_msg("accepted: %s", text);
		assert_string_equal(e.msg, want);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing_said), cmocka_unit_test(test_all_said),
    cmocka_unit_test(test_sources),	 cmocka_unit_test(test_variants),
    cmocka_unit_test(test_command_line), cmocka_unit_test(test_refused),
};

UNIT_MAIN(tests)
