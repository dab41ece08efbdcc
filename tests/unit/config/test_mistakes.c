/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/config/config.h"

#include <errno.h>
#include <stdio.h>

/* Every mistake that a user can make in config.json, and its message without the
 * "config.json:" before it. */
struct mistake {
	const char *text, *want;
};

static void check(const char *text, size_t n, const char *want)
{
	struct config *c = NULL;
	char msg[600];
	struct err e;
	int r = config_parse((struct slice){text, n}, "config.json", &c, &e);

	if (r >= 0)
		fail_msg("accepted: %s", text);
	assert_int_equal(r, -e.code);
	assert_null(c);
	snprintf(msg, sizeof(msg), "config.json:%s", want);
	assert_string_equal(e.msg, msg);
}

static void check_all(const struct mistake *m, size_t n, const char *before, const char *after,
		      const char *path)
{
	char text[1024], want[1024];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s%s%s", before, m[i].text, after);
		snprintf(want, sizeof(want), "%s%s", path, m[i].want);
		check(text, strlen(text), want);
	}
}

#define CHECK_ALL(table, before, after, path) \
	check_all(table, sizeof(table) / sizeof((table)[0]), before, after, path)

static void test_syntax(void **state)
{
	static const struct mistake t[] = {
	    {"", "1: the file is empty: write {} for the built-in values"},
	    {" \n\n", "3: unexpected token near end of file"},
	    {"[]", "1: the configuration is not an object: write {...}"},
	    {"7", "1: the configuration is not an object: write {...}"},
	    {"{", "1: string or '}' expected near end of file"},
	    {"{}\n}", "2: end of file expected near '}'"},
	    {"{\n\"run\": {},\n}",
	     "3: string or '}' expected near '}' (no comma after the last member)"},
	    {"{\"discovery\": [\n{},\n]}",
	     "3: unexpected token near ']' (no comma after the last element)"},
	    {"{\n// workers\n}", "2: string or '}' expected near '/' (JSON has no comments)"},
	    {"{\"run\": {} // x\n}", "1: '}' expected near '/' (JSON has no comments)"},
	    {"{\"run\": /* x */ {}}", "1: invalid token near '/' (JSON has no comments)"},
	    {"# x\n{}", "1: invalid token near '#' (JSON has no comments)"},
	    {"{'run': {}}", "1: string or '}' expected near ''' (strings stand in double quotes)"},
	    {"{\"run\" {}}", "1: ':' expected near '{'"},
	    {"{\"run\": {\n\"workers\": 1,\n\"workers\": 2}}",
	     "3: duplicate object key near '\"workers\"'"},
	    {"{\"a\": 1, \"\\u0061\": 2}", "1: duplicate object key near '\"\\u0061\"'"},
	    {"{\"crun\": \"/a\\u0000b\"}",
	     "1: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"/a\\u0000b\"' (no NUL bytes "
	     "in strings)"},
	    {"{\"a\": \"\x1b[31m\"}", "1: control character 0x1b near '\"'"},
	    {"{\"a\": \"\xff\"}", "1: unable to decode byte 0xff near '\"'"},
	    {"\xef\xbb\xbf{}", "1: invalid token near '\xef\xbb\xbf' (save the file without a byte "
			       "order mark)"},
	    {"{\"a\": 99999999999999999999}", "1: too big integer near '99999999999999999999'"},
	};

	(void)state;
	CHECK_ALL(t, "", "", "");
	check("{\n\0}", 4, "2: a NUL byte: this is not a text file");
}

static void test_bounds(void **state)
{
	_autofree_ char *text = malloc(2 << 20);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', 2 << 20);
	check(text, (1 << 20) + 1, "1: more than 1048576 bytes");
	memset(text, '[', 40);
	memset(text + 40, ']', 40);
	check(text, 80, "1: nested deeper than 32 levels");
	memset(text, '[', 5000);
	check(text, 5000, "1: maximum parsing depth reached near '['");
	text[0] = '[';
	for (size_t i = 1; i < 200000; i += 2)
		memcpy(text + i, i + 2 < 200000 ? "1," : "1]", 2);
	check(text, 200001, "1: more than 65536 values");
}

#define DIRECTORY "\"discovery\": [{\"type\": \"directory\", \"path\": \"out\", "

static void test_top_level(void **state)
{
	static const struct mistake t[] = {
	    {"\"defualts\": {}", "1: defualts: unknown key (did you mean \"defaults\"?)"},
	    {"\n\"memory\": 1",
	     "2: memory: unknown key (it belongs in \"defaults\" or \"targets\")"},
	    {"\"x\\n\\u001b\": 1", "1: \"x??\": unknown key"},
	    {"\"run\": 1", "1: run: not an object: write {\"key\": value, ...}"},
	    {"\"run\": {\"workers\": \"two\"}",
	     "1: run.workers: \"two\" is not a whole number or \"auto\""},
	    {"\"run\": {\"workers\": 1025}",
	     "1: run.workers: 1025 is above the most allowed, 1024"},
	    {"\"run\": {\"workers\": 1.5}",
	     "1: run.workers: 1.5 is not a whole number or \"auto\""},
	    {"\"run\": {\"log_limit\": \"1KiB\"}",
	     "1: run.log_limit: \"1KiB\" is below the least allowed, 256KiB"},
	    {"\"run\": {\"memory\": \"1GiB\"}",
	     "1: run.memory: unknown key (it belongs in \"defaults\" or \"targets\")"},
	    {"\"enforcement\": \"lax\"",
	     "1: enforcement: \"lax\" is not known here (use \"strict\" or \"best-effort\")"},
	    {"\"enforcement\": true",
	     "1: enforcement: true is not known here (use \"strict\" or \"best-effort\")"},
	    {"\"cgroup\": \"fuzz\"",
	     "1: cgroup: \"fuzz\" is a relative path: it must begin with /"},
	    {"\"crun\": \"crun\"", "1: crun: \"crun\" is a relative path: it must begin with /"},
	    {"\"crun\": [\"/crun\"]", "1: crun: a list is not a path in quotes"},
	    {"\"rootfs\": \"\"", "1: rootfs: the path is empty"},
	    {"\"rootfs\": \"a\\nb\"", "1: rootfs: \"a?b\" has a control character in it"},
	    {"\"state_dir\": null", "1: state_dir: null is not a path in quotes"},
	    {"\"discovery\": {}",
	     "1: discovery: not a list: write [{\"type\": ..., \"path\": ...}, ...]"},
	    {"\"discovery\": [\n\"out\"]",
	     "2: discovery[0]: not an object: write {\"key\": value, ...}"},
	    {"\"discovery\": [{\"type\": \"manifest\", \"path\": \"m\"},\n{\"type\": "
	     "\"directory\"}]",
	     "2: discovery[1]: \"path\" is missing"},
	    {"\"discovery\": [{\"path\": \"m\"}]", "1: discovery[0]: \"type\" is missing"},
	    {"\"discovery\": [{\"type\": \"cmake\", \"path\": \"m\"}]",
	     "1: discovery[0].type: \"cmake\" is not known here (use \"directory\", "
	     "\"manifest\", \"bazel\", \"oss-fuzz\" or \"go\")"},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"m\", \"variant\": \"A\"}]",
	     "1: discovery[0].variant: \"A\" is not a name of at most 24 small letters, digits, "
	     "\"-\" and \"_\""},
	    {"\"discovery\": [{\"type\": \"directory\", \"path\": \"m\", \"role\": \"check\"}]",
	     "1: discovery[0]: \"role\" without \"variant\" or \"variants\""},
	    {DIRECTORY "\"build\": [\"make\"],\n\"variants\": []}]",
	     "2: discovery[0].variants: it names no build: write a list such as [\"address\"]"},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": \"memory\"}]",
	     "1: discovery[0].variants: \"memory\" is not a list of words in quotes"},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": [\"address\", \"Mem\"]}]",
	     "1: discovery[0].variants[1]: \"Mem\" is not a name of at most 24 small letters, "
	     "digits, \"-\" and \"_\""},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": [\"..\"]}]",
	     "1: discovery[0].variants[0]: \"..\" is not a name of at most 24 small letters, "
	     "digits, \"-\" and \"_\""},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": [\"a\", \"b\", \"a\"]}]",
	     "1: discovery[0].variants: \"a\" is in the list twice: name each build once"},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": [\"coverage\", \"address\"]}]",
	     "1: discovery[0].variants: \"coverage\" is the first, and the first build is fuzzed: "
	     "put \"address\" before it"},
	    {DIRECTORY "\"build\": [\"make\"], \"variants\": [\"1\", \"2\", \"3\", \"4\", \"5\", "
		       "\"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", \"14\", "
		       "\"15\", \"16\", \"17\"]}]",
	     "1: discovery[0].variants: more than 16 of them"},
	    {DIRECTORY "\"variants\": [\"address\"]}]",
	     "1: discovery[0].variants: \"build\" is missing, the command that makes them"},
	    {DIRECTORY "\"build\": [\"make\"], \"variant\": \"x\", \"variants\": [\"memory\"]}]",
	     "1: discovery[0].variants: \"variant\" is set, too: keep one of the two keys"},
	    {DIRECTORY
	     "\"build\": [\"make\"], \"role\": \"coverage\", \"variants\": [\"memory\"]}]",
	     "1: discovery[0]: \"role\": \"coverage\" is not for several builds: name one of them "
	     "\"coverage\""},
	    {"\"discovery\": [{\"type\": \"bazel\", \"path\": \".\", \"variants\": [\"memory\"]}]",
	     "1: discovery[0].variants: not for the type \"bazel\": write a source with "
	     "\"variant\" and \"flags\" for each build"},
	    {"\"discovery\": [{\"type\": \"oss-fuzz\", \"path\": \"p\", \"build\": [\"make\"]}]",
	     "1: discovery[0]: \"build\" is not for the type \"oss-fuzz\", which runs build.sh "
	     "once "
	     "for each sanitizer in project.yaml"},
	    {"\"discovery\": [{\"type\": \"oss-fuzz\", \"path\": \"p\", \"variants\": "
	     "[\"memory\"]}]",
	     "1: discovery[0]: \"variants\" is not for the type \"oss-fuzz\", which runs build.sh "
	     "once for each sanitizer in project.yaml"},
	    {"\"discovery\": [{\"type\": \"go\", \"path\": \"p\", \"build_dir\": \"x\"}]",
	     "1: discovery[0]: \"build_dir\" is not for the type \"go\", which builds by itself"},
	    {"\"discovery\": [{\"type\": \"oss-fuzz\", \"path\": \"p\"}]",
	     "1: discovery[0]: \"build_dir\" is missing, the directory with the sources of the "
	     "project"},
	    {"\"discovery\": [{\"typ\": 1}]",
	     "1: discovery[0].typ: unknown key (did you mean \"type\"?)"},
	    {"\"defaults\": []", "1: defaults: not an object: write {\"key\": value, ...}"},
	    {"\"targets\": []", "1: targets: not an object: write {\"glob\": {...}, ...}"},
	    {"\"targets\": {\n\"a*\": 7}",
	     "2: targets.\"a*\": not an object: write {\"key\": value, ...}"},
	    {"\"targets\": {\"\": {}}", "1: targets.\"\": not a well-formed glob: it is empty"},
	    {"\"targets\": {\"a[b\": {}}",
	     "1: targets.\"a[b\": not a well-formed glob: a [ without its ]"},
	    {"\"targets\": {\"[!]\": {}}",
	     "1: targets.\"[!]\": not a well-formed glob: a [ without its ]"},
	    {"\"targets\": {\"[[:alpha]\": {}}",
	     "1: targets.\"[[:alpha]\": not a well-formed glob: a [ without its ]"},
	    {"\"targets\": {\"a\\\\\": {}}",
	     "1: targets.\"a\\\": not a well-formed glob: it ends with a backslash"},
	    {"\"targets\": {\"a\\tb\": {}}",
	     "1: targets.\"a?b\": not a well-formed glob: it has a control character"},
	};

	(void)state;
	CHECK_ALL(t, "{", "}", "");
}

/* Each name in "variants" is one of the sources. */
static void test_too_many_sources(void **state)
{
	_autobuf_ struct buf text = BUF_INIT(1 << 16);

	(void)state;
	buf_puts(&text, "{\"discovery\": [");
	for (unsigned i = 0; i < 62; i++)
		buf_puts(&text, "{\"type\": \"directory\", \"path\": \"x\"},");
	buf_puts(&text, "\n{\"type\": \"directory\", \"path\": \"x\", \"build\": [\"make\"],"
			"\"variants\": [\"address\", \"undefined\", \"memory\"]}]}");
	check(buf_str(&text), buf_slice(&text).n,
	      "2: discovery[62]: more than 64 sources: each build is one");
}

static void test_target_values(void **state)
{
	static const struct mistake t[] = {
	    {"\"memory\": \"2 apples\"",
	     "memory: \"2 apples\" is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": \"2GB\"",
	     "memory: \"2GB\" is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": \"1.5GiB\"",
	     "memory: \"1.5GiB\" is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": 1e9",
	     "memory: 1e+09 is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": \"auto\"",
	     "memory: \"auto\" is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": null",
	     "memory: null is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory\": 2", "memory: 2 is below the least allowed, 32MiB"},
	    {"\"memory\": 0", "memory: 0 is below the least allowed, 32MiB"},
	    {"\"memory\": -5", "memory: -5 is below the least allowed, 32MiB"},
	    {"\"memory\": \"17TiB\"", "memory: \"17TiB\" is above the most allowed, 16TiB"},
	    {"\"memory\": \"99999999999999999999GiB\"",
	     "memory: \"99999999999999999999GiB\" is not a size (use bytes, or a number with KiB, "
	     "MiB, GiB)"},
	    {"\"memory\": \"\\u001b[2J\xc3\xa4 "
	     "0123456789012345678901234567890123456789012345678901\xc3\xa4"
	     "56789\"",
	     "memory: \"?[2J\xc3\xa4 0123456789012345678901234567890123456789012345678901"
	     "...\" is not a size (use bytes, or a number with KiB, MiB, GiB)"},
	    {"\"memory_high\": \"1GiB\"", "memory_high: it follows from memory and cannot be set"},
	    {"\"memry\": \"2GiB\"", "memry: unknown key (did you mean \"memory\"?)"},
	    {"\"workers\": 2", "workers: unknown key (it belongs in \"run\")"},
	    {"\"plateau.cap\": 2", "\"plateau.cap\": unknown key"},
	    {"\"\": 2", "\"\": unknown key"},
	    {"\"rss_limit\": \"1000001\"",
	     "rss_limit: \"1000001\" is below the least allowed, 16MiB"},
	    {"\"rss_limit\": 20000001", "rss_limit: 20000001 is not a multiple of 1MiB"},
	    {"\"rss_limit\": \"most\"",
	     "rss_limit: \"most\" is not a size (use bytes, or a number with KiB, MiB, GiB) or "
	     "\"auto\""},
	    {"\"rss_limit\": \"3GiB\"", "rss_limit: 3GiB contradicts memory 2GiB (built-in): "
					"rss_limit may be 7/8 of memory at "
					"most, here 1792MiB"},
	    {"\"memory\": \"1GiB\", \"rss_limit\": \"1GiB\"",
	     "rss_limit: 1GiB contradicts memory 1GiB (config.json:1 defaults): rss_limit may be "
	     "7/8 "
	     "of memory at most, here 896MiB"},
	    {"\"scratch\": \"2GiB\"",
	     "scratch: 2GiB contradicts memory 2GiB (built-in): scratch is counted in memory and "
	     "must be below it"},
	    {"\"cpus\": 0", "cpus: 0 is below the least allowed, 0.1"},
	    {"\"cpus\": 0.05", "cpus: 0.05 is below the least allowed, 0.1"},
	    {"\"cpus\": -1e300", "cpus: -1e+300 is below the least allowed, 0.1"},
	    {"\"cpus\": 1e300", "cpus: 1e+300 is above the most allowed, 1024"},
	    {"\"cpus\": 1024.1", "cpus: 1024.1 is above the most allowed, 1024"},
	    {"\"cpus\": \"50%\"",
	     "cpus: \"50%\" is not a number of CPUs (use a number such as 2 or 1.5)"},
	    {"\"cpus\": \"1.2345\"",
	     "cpus: \"1.2345\" is not a number of CPUs (use a number such as 2 or 1.5)"},
	    {"\"cpus\": \"1.\"",
	     "cpus: \"1.\" is not a number of CPUs (use a number such as 2 or 1.5)"},
	    {"\"cpu_weight\": 0", "cpu_weight: 0 is below the least allowed, 1"},
	    {"\"cpu_weight\": 10001", "cpu_weight: 10001 is above the most allowed, 10000"},
	    {"\"pids\": 7", "pids: 7 is below the least allowed, 8"},
	    {"\"pids\": \"64\"", "pids: \"64\" is not a whole number"},
	    {"\"pids\": 9223372036854775807",
	     "pids: 9223372036854775807 is above the most allowed, 4194304"},
	    {"\"timeout\": \"1500ms\"", "timeout: \"1500ms\" is not a multiple of 1s"},
	    {"\"timeout\": \"fast\"",
	     "timeout: \"fast\" is not a time (use seconds, or a number with ms, s, m, h, d)"},
	    {"\"timeout\": 0", "timeout: 0 is below the least allowed, 1s"},
	    {"\"max_time\": 9223372036854775807",
	     "max_time: 9223372036854775807 is above the most allowed, 365d"},
	    {"\"max_time\": -9223372036854775807",
	     "max_time: -9223372036854775807 is below the least allowed, 1s"},
	    {"\"grace\": \"10ms\"", "grace: \"10ms\" is below the least allowed, 100ms"},
	    {"\"plateau\": true",
	     "plateau: neither a rule in quotes, nor false, nor an object such as {\"window\": "
	     "\"10m\"}"},
	    {"\"plateau\": \"never\"", "plateau: \"never\" is not known here (use \"price\", "
				       "\"cpu-silence\", \"wall\" or \"none\")"},
	    {"\"plateau\": {\"rule\": \"silence\"}", "plateau.rule: \"silence\" is not known here "
						     "(use \"price\", \"cpu-silence\", \"wall\" or "
						     "\"none\")"},
	    {"\"plateau\": {\"windw\": 1}",
	     "plateau.windw: unknown key (did you mean \"window\"?)"},
	    {"\"plateau\": {\"rule\": \"wall\", \"window\": \"3h\"}",
	     "plateau.window: 3h contradicts plateau.cap 2h (built-in): the cap would come before "
	     "any window is over"},
	    {"\"plateau\": {\"rule\": \"cpu-silence\", \"cap\": \"5m\"}",
	     "plateau.cap: 5m contradicts plateau.window 10m (built-in): the cap would come before "
	     "any window is over"},
	    {"\"max_crashes\": -1", "max_crashes: -1 is below the least allowed, 1"},
	    {"\"priority\": 1001", "priority: 1001 is above the most allowed, 1000"},
	    {"\"priority\": -1001", "priority: -1001 is below the least allowed, -1000"},
	    {"\"max_len\": \"2GiB\"", "max_len: \"2GiB\" is above the most allowed, 64MiB"},
	    {"\"seed\": 4294967296", "seed: 4294967296 is above the most allowed, 4294967295"},
	    {"\"runs\": -1", "runs: -1 is below the least allowed, 1"},
	    {"\"auto_dictionary\": true",
	     "auto_dictionary: true is not known here (use \"off\", \"alone\" or "
	     "\"joined\")"},
	    {"\"enabled\": 1", "enabled: 1 is not true or false"},
	    {"\"enabled\": \"no\"", "enabled: \"no\" is not true or false"},
	    {"\"dictionary\": {}", "dictionary: an object is not a path in quotes"},
	};

	(void)state;
	CHECK_ALL(t, "{\"defaults\": {", "}}", "1: defaults.");
}

static void test_target_lists(void **state)
{
	static const struct mistake t[] = {
	    {"\"flags\": \"-a=1\"",
	     "1: defaults.flags: \"-a=1\" is not a list of flags such as [\"-max_len=64\"]"},
	    {"\"flags\": [\"-a=1\",\n7]",
	     "2: defaults.flags[1]: 7 is not a flag such as \"-max_len=64\""},
	    {"\"flags\": [\"max_len=64\"]",
	     "1: defaults.flags[0]: \"max_len=64\" is refused: not a "
	     "libFuzzer flag: write -name=value"},
	    {"\"flags\": [\"-a=1\",\n\n\"-rss_limit_mb=1\"]",
	     "3: defaults.flags[1]: \"-rss_limit_mb=1\" is refused: set the key \"rss_limit\" (or "
	     "\"memory\") instead"},
	    {"\"env\": []",
	     "1: defaults.env: a list is not an object such as {\"NAME\": \"value\"}"},
	    {"\"env\": {\n\"1A\": \"x\"}",
	     "2: defaults.env.1A: not a name for the environment (letters, digits and _, no digit "
	     "first, at most 128)"},
	    {"\"env\": {\"A=B\": \"x\"}",
	     "1: defaults.env.\"A=B\": not a name for the environment (letters, digits and _, no "
	     "digit first, at most 128)"},
	    {"\"env\": {\"\": \"x\"}", "1: defaults.env.\"\": not a name for the environment "
				       "(letters, digits and _, no digit "
				       "first, at most 128)"},
	    {"\"env\": {\"A\": \"x\",\n\"B\": 1}", "2: defaults.env.B: 1 is not a value in quotes"},
	    {"\"seeds\": \"dir\"", "1: defaults.seeds: \"dir\" is not a list of paths"},
	    {"\"seeds\": [\"a\", \"\"]", "1: defaults.seeds[1]: the path is empty"},
	    {"\"seeds\": [\n[\"a\"]]", "2: defaults.seeds[0]: a list is not a path in quotes"},
	};

	(void)state;
	CHECK_ALL(t, "{\"defaults\": {", "}}", "");
}

/* A list, a path and a value above their size limits. */
static void test_too_long(void **state)
{
	_autofree_ char *text = malloc(16384);
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	n = (size_t)snprintf(text, 16384, "{\"defaults\": {\"seeds\": [\"a\"");
	for (unsigned i = 0; i < 256; i++)
		n += (size_t)snprintf(text + n, 16384 - n, ",\"a\"");
	n += (size_t)snprintf(text + n, 16384 - n, "]}}");
	check(text, n, "1: defaults.seeds[256]: more than 256 of them");
	n = (size_t)snprintf(text, 16384, "{\"rootfs\": \"/%04095d\"}", 0);
	check(text, n, "1: rootfs: the path has more than 4095 bytes");
	n = (size_t)snprintf(text, 16384, "{\"defaults\": {\"env\": {\"A\": \"%04097d\"}}}", 0);
	check(text, n, "1: defaults.env.A: the value has more than 4096 bytes");
	n = (size_t)snprintf(text, 16384, "{\"targets\": {\"%0257d\": {}}}", 0);
	check(
	    text, n,
	    "1: targets.\"000000000000000000000000000000000000000000000000000000000000...\": not a "
	    "well-formed glob: it has more than 256 bytes");
}

/* Mistakes in a glob's section are reported with the key's line, even if the glob matches no
 * target. */
static void test_in_globs(void **state)
{
	static const struct mistake t[] = {
	    {"{\"targets\": {\n \"css_*\": {\n  \"pids\": 9,\n  \"memory\":\n \"2 apples\"}}}",
	     "4: targets.\"css_*\".memory: \"2 apples\" is not a size (use bytes, or a number with "
	     "KiB, MiB, GiB)"},
	    {"{\"targets\": {\"a\": {}, \"b\":\n {\"plateau\":\n {\"cap\":\n \"x\"}}}}",
	     "3: targets.\"b\".plateau.cap: \"x\" is not a time (use seconds, or a number with ms, "
	     "s, "
	     "m, h, d) or \"none\""},
	    {"{\"defaults\":\n{\"rss_limit\": \"1GiB\"},\n\"targets\": {\"b\":\n{\"memory\": "
	     "\"1GiB\"}}}",
	     "4: targets.\"b\".memory: 1GiB contradicts rss_limit 1GiB (config.json:2 defaults): "
	     "rss_limit may be 7/8 of memory at most, here 896MiB"},
	    {"{\"targets\":\n{\"\\u0061*\": {\"x\": 1}}}", "2: targets.\"a*\".x: unknown key"},
	};

	(void)state;
	CHECK_ALL(t, "", "", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_syntax),	  cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_top_level),	  cmocka_unit_test(test_too_many_sources),
    cmocka_unit_test(test_target_values), cmocka_unit_test(test_target_lists),
    cmocka_unit_test(test_too_long),	  cmocka_unit_test(test_in_globs),
};

UNIT_MAIN(tests)
