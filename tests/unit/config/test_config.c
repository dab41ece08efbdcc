/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/config/parsed.h"

#include <errno.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define SEC UINT64_C(1000000)

static void test_built_in(void **state)
{
	_config_ struct config *c = NULL;
	struct target_config t;
	struct err e;
	size_t n;

	(void)state;
	assert_int_equal(config_load(NULL, &c, &e), 0);
	t = resolved(c, "any");
	assert_int_equal(t.memory, 2 * GIB);
	assert_int_equal(t.memory_high, 1792 * MIB);
	assert_int_equal(t.rss_limit, 1536 * MIB);
	assert_int_equal(t.scratch, 256 * MIB);
	assert_int_equal(t.disk, 2 * GIB);
	assert_int_equal(t.cpu_milli, 1000);
	assert_int_equal(t.cpu_weight, 100);
	assert_int_equal(t.pids, 64);
	assert_int_equal(t.input_timeout_us, 30 * SEC);
	assert_int_equal(t.max_time_us, 3600 * SEC);
	assert_int_equal(t.grace_us, 3 * SEC);
	assert_int_equal(t.plateau.rule, PLATEAU_PRICE);
	assert_int_equal(t.plateau.price_milli, 50);
	assert_false(t.plateau.forget);
	assert_int_equal(t.plateau.window_us, 600 * SEC);
	assert_int_equal(t.plateau.cap_us, 7200 * SEC);
	assert_int_equal(t.max_crashes, 0);
	assert_int_equal(t.priority, 0);
	assert_int_equal(t.max_len + t.seed + t.runs, 0);
	assert_true(t.enabled);
	assert_int_equal(t.auto_dictionary, WORDS_ALONE);
	assert_null(t.dictionary);
	assert_int_equal(t.flags.n + t.env.n + t.seeds.n, 0);
	target_config_done(&t);
	assert_int_equal(config_run(c)->workers, 0);
	assert_int_equal(config_run(c)->total_time_us, 4 * 3600 * SEC);
	assert_int_equal(config_run(c)->log_limit, 8 * MIB);
	assert_int_equal(config_run(c)->disk_reserve, GIB);
	assert_null(config_cgroup(c));
	assert_null(config_crun(c));
	assert_null(config_rootfs(c));
	assert_null(config_state_dir(c));
	assert_false(config_best_effort(c));
	config_sources(c, &n);
	assert_int_equal(n, 0);
}

static void test_values(void **state)
{
	_config_ struct config *c = parsed(
	    "{\"defaults\": {\"memory\": 1073741824, \"rss_limit\": \"512 MiB\", \"cpus\": 1.5,"
	    "\"cpu_weight\": 7, \"pids\": 8, \"disk\": \"1TiB\", \"scratch\": \"1000MiB\","
	    "\"timeout\": \"1m30s\", \"max_time\": 120, \"grace\": \"250ms\", \"max_crashes\": 7,"
	    "\"plateau\": {\"rule\": \"wall\", \"cap\": \"none\"}, \"priority\": -7,"
	    "\"max_len\": \"4KiB\", \"seed\": 4294967295, \"runs\": 1, \"enabled\": false, "
	    "\"auto_dictionary\": \"joined\","
	    "\"dictionary\": \"a.dict\", \"flags\": [\"-len_control=0\", \"-max_len=64\"],"
	    "\"env\": {\"B\": \"x=y\", \"A_1\": \"\"}, \"seeds\": [\"./in\", \"/abs\", \".\"]}}");
	struct target_config t = resolved(c, "t");

	(void)state;
	assert_int_equal(t.memory, GIB);
	assert_int_equal(t.rss_limit, 512 * MIB);
	assert_int_equal(t.cpu_milli, 1500);
	assert_int_equal(t.cpu_weight, 7);
	assert_int_equal(t.pids, 8);
	assert_int_equal(t.disk, UINT64_C(1) << 40);
	assert_int_equal(t.scratch, 1000 * MIB);
	assert_int_equal(t.input_timeout_us, 90 * SEC);
	assert_int_equal(t.max_time_us, 120 * SEC);
	assert_int_equal(t.grace_us, SEC / 4);
	assert_int_equal(t.max_crashes, 7);
	assert_int_equal(t.plateau.rule, PLATEAU_WALL);
	assert_int_equal(t.plateau.window_us,
			 600 * SEC); /* the object sets the members that it names */
	assert_int_equal(t.plateau.cap_us, 0);
	assert_int_equal(t.priority, -7);
	assert_int_equal(t.max_len, 4096);
	assert_int_equal(t.seed, UINT32_MAX);
	assert_int_equal(t.runs, 1);
	assert_false(t.enabled);
	assert_int_equal(t.auto_dictionary, WORDS_JOINED);
	assert_string_equal(t.dictionary, "/etc/fuzz/a.dict");
	assert_int_equal(t.flags.n, 2);
	assert_string_equal(t.flags.v[1], "-max_len=64");
	assert_int_equal(t.env.n, 2);
	assert_string_equal(t.env.v[0], "B=x=y");
	assert_string_equal(t.env.v[1], "A_1=");
	assert_int_equal(t.seeds.n, 3);
	assert_string_equal(t.seeds.v[0], "/etc/fuzz/in");
	assert_string_equal(t.seeds.v[1], "/abs");
	assert_string_equal(t.seeds.v[2], "/etc/fuzz/.");
	target_config_done(&t);
}

static void test_plateau_forms(void **state)
{
	static const struct {
		const char *text;
		enum plateau_rule rule;
	} t[] = {
	    {"false", PLATEAU_NONE},
	    {"\"none\"", PLATEAU_NONE},
	    {"\"wall\"", PLATEAU_WALL},
	    {"\"cpu-silence\"", PLATEAU_CPU_SILENCE},
	    {"\"price\"", PLATEAU_PRICE},
	    {"{}", PLATEAU_PRICE},
	    {"{\"rule\": \"none\", \"cap\": \"1m\"}", PLATEAU_NONE}, /* no contradiction */
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct target_config v;

		snprintf(text, sizeof(text), "{\"defaults\": {\"plateau\": %s}}", t[i].text);
		{
			_config_ struct config *c = parsed(text);

			v = resolved(c, "t");
		}
		assert_int_equal(v.plateau.rule, t[i].rule);
		target_config_done(&v);
	}
}

static void test_cpus(void **state)
{
	static const struct {
		const char *text;
		uint32_t milli;
	} t[] = {
	    {"1", 1000},       {"0.1", 100},	{"\"0.1\"", 100},   {"2.5", 2500},
	    {"1024", 1024000}, {"0.2999", 300}, {"\"1.25\"", 1250}, {"\"3\"", 3000},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), "{\"defaults\": {\"cpus\": %s}}", t[i].text);
		_config_ struct config *c = parsed(text);
		struct target_config v = resolved(c, "t");

		assert_int_equal(v.cpu_milli, t[i].milli);
		target_config_done(&v);
	}
}

static void test_order_of_layers(void **state)
{
	_config_ struct config *c = parsed("{\"targets\": {\n"
					   " \"css_*\": {\"memory\": \"4GiB\", \"pids\": 10,\n"
					   "   \"flags\": [\"-a=1\"]},\n"
					   " \"*_fast\": {\"memory\": \"3GiB\", \"flags\": []}\n"
					   "},\n"
					   "\"defaults\": {\"memory\": \"1GiB\", \"pids\": 20,\n"
					   "  \"cpus\": 2, \"flags\": [\"-b=1\", \"-c=1\"]}}");
	struct target_config t = resolved(c, "css_fast");

	(void)state;
	assert_int_equal(t.memory, 3 * GIB); /* the last glob */
	assert_int_equal(t.pids, 10);	     /* the first glob; the last does not set it */
	assert_int_equal(t.cpu_milli, 2000); /* the defaults, at any place in the file */
	assert_int_equal(t.flags.n, 0);	     /* lists replace lists */
	target_config_done(&t);
	t = resolved(c, "other");
	assert_int_equal(t.memory, GIB);
	assert_int_equal(t.flags.n, 2);
	target_config_done(&t);
	assert_string_equal(from_of(c, "css_fast", "memory"),
			    "/etc/fuzz/config.json:4 targets.\"*_fast\"");
	assert_string_equal(from_of(c, "css_fast", "pids"),
			    "/etc/fuzz/config.json:2 targets.\"css_*\"");
	assert_string_equal(from_of(c, "css_fast", "cpus"), "/etc/fuzz/config.json:7 defaults");
	assert_string_equal(from_of(c, "css_fast", "disk"), "built-in");
	assert_string_equal(from_of(c, "css_fast", "rss_limit"), "derived from memory");
	assert_string_equal(from_of(c, NULL, "memory"), "/etc/fuzz/config.json:6 defaults");
}

static void test_derived(void **state)
{
	static const struct {
		const char *memory;
		uint64_t rss_mib, high_mib, scratch_mib;
	} t[] = {
	    {"32MiB", 24, 28, 8},    {"256MiB", 192, 224, 64},
	    {"1GiB", 768, 896, 256}, {"16TiB", 12 << 20, 14 << 20, 256},
	    {"34603009", 24, 28, 8},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), "{\"defaults\": {\"memory\": \"%s\"}}", t[i].memory);
		_config_ struct config *c = parsed(text);
		struct target_config v = resolved(c, "t");

		assert_int_equal(v.rss_limit, t[i].rss_mib * MIB);
		assert_int_equal(v.memory_high, t[i].high_mib * MIB);
		assert_int_equal(v.scratch, t[i].scratch_mib * MIB);
		target_config_done(&v);
	}
}

static void test_top_level(void **state)
{
	_config_ struct config *c = parsed(
	    "{\"enforcement\": \"best-effort\", \"cgroup\": \"/fuzz\", \"crun\": \"/bin/crun\","
	    "\"rootfs\": \"root\", \"state_dir\": \"./\","
	    "\"run\": {\"workers\": 3, \"total_time\": \"none\", \"disk_reserve\": 0},"
	    "\"discovery\": [{\"type\": \"directory\", \"path\": \"out\"},"
	    "{\"path\": \"/m.json\", \"type\": \"manifest\"}]}");
	const struct config_source *s;
	size_t n;

	(void)state;
	assert_true(config_best_effort(c));
	assert_string_equal(config_cgroup(c), "/fuzz");
	assert_string_equal(config_crun(c), "/bin/crun");
	assert_string_equal(config_rootfs(c), "/etc/fuzz/root");
	assert_string_equal(config_state_dir(c), "/etc/fuzz");
	assert_int_equal(config_run(c)->workers, 3);
	assert_int_equal(config_run(c)->total_time_us, 0);
	assert_int_equal(config_run(c)->disk_reserve, 0);
	s = config_sources(c, &n);
	assert_int_equal(n, 2);
	assert_string_equal(s[0].type, "directory");
	assert_string_equal(s[0].path, "/etc/fuzz/out");
	assert_string_equal(s[1].type, "manifest");
	assert_string_equal(s[1].path, "/m.json");
}

static void test_relative_file_name(void **state)
{
	_config_ struct config *c = NULL;
	char cwd[4096], want[5000];
	struct err e;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(config_parse(SLICE("{\"rootfs\": \"r\"}"), "sub/c.json", &c, &e), 0);
	snprintf(want, sizeof(want), "%s/sub/r", cwd);
	assert_string_equal(config_rootfs(c), want);
}

static void test_load(void **state)
{
	struct config *c = NULL;
	struct err e;

	(void)state;
	assert_int_equal(config_load("/nonexistent/config.json", &c, &e), -ENOENT);
	assert_string_equal(e.msg,
			    "read the configuration: open '/nonexistent/config.json': No such "
			    "file or directory");
	assert_null(c);
	assert_true(config_load("/dev/null", &c, &e) < 0); /* not a regular file */
}

static void test_unused_globs(void **state)
{
	static const char *const names[] = {"css_parser", "svg"};
	_config_ struct config *c =
	    parsed("{\"defaults\": {}, \"targets\": {\"ccs_*\": {}, \"css_*\": "
		   "{}, \"[!a-r]*\": {}, \"SVG\": {}, \"x\\\\*\": {}}}");
	size_t at = 0;

	(void)state;
	assert_string_equal(config_unused_glob(c, names, 2, &at), "ccs_*");
	assert_string_equal(config_unused_glob(c, names, 2, &at), "SVG");
	assert_string_equal(config_unused_glob(c, names, 2, &at), "x\\*");
	assert_null(config_unused_glob(c, names, 2, &at));
	assert_null(config_unused_glob(c, names, 2, &at));
}

/* Two globs that are valid alone, but contradict each other in one target. */
static void test_contradiction_of_two_globs(void **state)
{
	_config_ struct config *c = parsed("{\"targets\": {\n"
					   "\"a*\": {\"rss_limit\": \"1GiB\"},\n"
					   "\"*b\": {\"memory\": \"512MiB\"}}}");
	struct target_config t;
	struct err e;

	(void)state;
	assert_int_equal(config_resolve(c, CONFIG_TARGET("ab"), &t, &e), -EINVAL);
	assert_string_equal(e.msg,
			    "/etc/fuzz/config.json:3: targets.\"*b\".memory: 512MiB contradicts "
			    "rss_limit 1GiB (/etc/fuzz/config.json:2 targets.\"a*\"): rss_limit "
			    "may be 7/8 of memory at most, here 448MiB");
	t = resolved(c, "a");
	target_config_done(&t);
	t = resolved(c, "b");
	target_config_done(&t);
}

/* Explained values can be written to a file and have the same meaning. */
static void test_explained_values_are_values(void **state)
{
	_config_ struct config *c = parsed("{\"defaults\": {\"memory\": 33554433, \"cpus\": 0.3, "
					   "\"timeout\": 3661, \"grace\": \"100500us\","
					   "\"plateau\": {\"rule\": \"wall\", \"window\": "
					   "\"1d1s\", \"cap\": \"2d\", \"price\": 0.25, "
					   "\"forget\": true}, \"max_len\": 4097,"
					   "\"env\": {\"A\": \"b=c\"}, \"flags\": [\"-a=b\"], "
					   "\"seeds\": [\"x\"], \"dictionary\": \"\"}}");
	_autojson_ json_t *j = NULL, *again = NULL, *defaults = json_object(),
			  *plateau = json_object();
	_autofree_ char *text = NULL;
	struct err e;
	const char *key;
	json_t *v;

	(void)state;
	assert_int_equal(config_explain(c, CONFIG_TARGET("t"), &j, &e), 0);
	json_object_foreach(j, key, v)
	{
		json_t *value = json_object_get(v, "value");
		bool inside = strncmp(key, "plateau.", 8) == 0;

		assert_non_null(value);
		if (strncmp(key, "run.", 4) == 0 || strcmp(key, "memory_high") == 0 ||
		    strcmp(json_string_value(json_object_get(v, "from")), "built-in") == 0)
			continue;
		assert_int_equal(
		    json_object_set(inside ? plateau : defaults, inside ? key + 8 : key, value), 0);
	}
	assert_int_equal(json_object_size(plateau), 5);
	again = json_pack("{s:{s:O}}", "defaults", "plateau", plateau);
	assert_int_equal(json_object_update(json_object_get(again, "defaults"), defaults), 0);
	assert_int_equal(json_print(again, 0, &text, &e), 0);
	{
		_config_ struct config *d = parsed(text);
		struct target_config x = resolved(c, "t"), y = resolved(d, "t");

		assert_memory_equal(&x, &y, offsetof(struct target_config, dictionary));
		assert_string_equal(y.env.v[0], "A=b=c");
		assert_string_equal(y.seeds.v[0], "/etc/fuzz/x");
		assert_string_equal(y.dictionary, "");
		assert_int_equal(y.input_timeout_us, 3661 * SEC);
		target_config_done(&x);
		target_config_done(&y);
	}
}

/* Another build of a target: globs for the target hold for it, and a sanitizer needs more memory
 * than the main build, unless a glob for this build sets it. */
static void test_builds(void **state)
{
	_config_ struct config *c =
	    parsed("{\"defaults\": {\"memory\": \"1GiB\", \"pids\": 50},"
		   " \"targets\": {\"a\": {\"pids\": 60}, \"*@memory\": {\"pids\": 70},"
		   " \"b@memory\": {\"memory\": \"4GiB\"}}}");
	const struct config_target a = {.name = "a@memory", .of = "a", .memory_milli = 3000};
	const struct config_target b = {.name = "b@memory", .of = "b", .memory_milli = 3000};
	const struct config_target u = {.name = "a@undefined", .of = "a", .memory_milli = 1000};
	struct target_config t;
	struct err e;

	(void)state;
	assert_int_equal(config_resolve(c, &a, &t, &e), 0);
	assert_in_range(t.memory, 3 * GIB - 4 * MIB, 3 * GIB);
	assert_int_equal(t.pids, 70);
	target_config_done(&t);
	assert_int_equal(config_resolve(c, &b, &t, &e), 0);
	assert_int_equal(t.memory, 4 * GIB);
	target_config_done(&t);
	assert_int_equal(config_resolve(c, &u, &t, &e), 0);
	assert_int_equal(t.memory, GIB);
	assert_int_equal(t.pids, 60);
	target_config_done(&t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_built_in),
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_plateau_forms),
    cmocka_unit_test(test_cpus),
    cmocka_unit_test(test_order_of_layers),
    cmocka_unit_test(test_derived),
    cmocka_unit_test(test_top_level),
    cmocka_unit_test(test_relative_file_name),
    cmocka_unit_test(test_load),
    cmocka_unit_test(test_unused_globs),
    cmocka_unit_test(test_contradiction_of_two_globs),
    cmocka_unit_test(test_explained_values_are_values),
    cmocka_unit_test(test_builds),
};

UNIT_MAIN(tests)
