/* SPDX-License-Identifier: Apache-2.0 */
/* A delta comes from another machine: where it may put files, and heads that are refused. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/pack.h"
#include "runner/rounds/delta.h"
#include "tests/unit/scratch_dir.h"

#define SHA1 "da39a3ee5e6b4b0d3255bfef95601890afd80709"
#define ONE  "356a192b7913b04c54574d18c28d46e6395428ab" /* of "1" */

static void inputs_have_their_places(void **state)
{
	static const char *const bad[] = {
	    "",		  "corpus",	    "corpus/",	      "corpus/..",
	    "corpus/a/b", "corpus//a",	    "/corpus/a",      "crashes/a",
	    "corpus/.a",  "generations/a",  "corpus/a\n",     "../corpus/a",
	    "stats/a",	  "regressions/-a", "quarantine/a b", "triage/a",
	};

	(void)state;
	assert_true(delta_inputs_ok("corpus/png_fuzzer"));
	assert_true(delta_inputs_ok("corpus/png@memory"));
	assert_true(delta_inputs_ok("quarantine/a"));
	assert_true(delta_inputs_ok("regressions/a"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(delta_inputs_ok(bad[i]));
}

static void files_have_their_places(void **state)
{
	static const char *const good[] = {
	    "known_crashes.json",
	    "crashes/00a1/input",
	    "crashes/o-%2e%2e/record.json",
	    "crashes/00a1/by/png/report.txt",
	    "triage/png/crash-" ONE,
	    "triage/png/slow-unit-" ONE,
	    "triage/png/.report-crash-" SHA1,
	    "triage/png/lost-" SHA1,
	};
	static const char *const bad[] = {
	    "",
	    "config.json",
	    "../known_crashes.json",
	    "crashes/input",
	    "crashes/../input",
	    "crashes/./input",
	    "crashes/.x/input",
	    "crashes/00a1/by/../input",
	    "crashes/00a1/by/png/by/png/input",
	    "crashes/00a1/bye/png/input",
	    "crashes/00a1/other",
	    "crashes/00a1/",
	    "triage/png/crash-" SHA1, /* not its content's */
	    "triage/png/" ONE,
	    "triage/png/-" ONE,
	    "triage/png/CRASH-" ONE,
	    "triage/png/a/b-" ONE,
	    "triage/../crash-" ONE,
	    "triage/png/.hidden-" ONE,
	    "stats/deltas",
	    "lock",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!delta_file_ok(good[i], ONE))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (delta_file_ok(bad[i], ONE))
			fail_msg("%s is taken", bad[i]);
}

static void histories_have_their_names(void **state)
{
	static const char *const bad[] = {"",
					  "fleet.jsonl",
					  "targets/.jsonl",
					  "targets/../x.jsonl",
					  "targets/a.json",
					  "targets/a/b.jsonl",
					  "../run_history.jsonl",
					  "last_fuzzed.json",
					  "targets/-a.jsonl"};

	(void)state;
	assert_true(delta_history_ok("run_history.jsonl"));
	assert_true(delta_history_ok("corpus_history.jsonl"));
	assert_true(delta_history_ok("targets/png_fuzzer.jsonl"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(delta_history_ok(bad[i]));
}

/* --- whole archives ------------------------------------------------------------------- */

static json_t *head(void)
{
	return json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:s, s:i, s:i, s:b, s:{s:[s]}, "
			 "s:{}, s:{}, s:{}}",
			 "v", 1, "id", "", "source", "0123456789abcdef", "seq", 1, "plan",
			 "0123456789abcdef", "round", 1, "shard", 1, "shards", 2, "node", "n1",
			 "until", 1700000000, "due", 1700000000, "last", 1, "inputs", "corpus/a",
			 ONE, "files", "slices", "histories");
}

static unsigned heads = 1;

/* Writes an archive of the head (owned) and the object "1". */
static void put_archive(json_t *j, bool identify, bool object)
{
	_autofree_ char *text = NULL;
	struct pack *p;
	struct err e;
	int fd = openat(dir.fd, "d", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (identify)
		assert_int_equal(delta_identify(j, &e), 0);
	assert_int_equal(json_print(j, 0, &text, &e), 0);
	assert_int_equal(pack_open(fd, &p, &e), 0);
	for (unsigned i = 0; i < heads; i++)
		assert_int_equal(pack_add(p, DELTA_HEAD, 0644, slice_of(text), &e), 0);
	if (object)
		assert_int_equal(pack_add(p, DELTA_OBJECTS ONE, 0644, SLICE("1"), &e), 0);
	assert_int_equal(pack_close(p, &e), 0);
	pack_free(p);
	close(fd);
	json_decref(j);
}

static int open_to(void)
{
	struct err ignored;
	int to;

	assert_int_equal(fs_remove_tree(dir.fd, "to", &ignored), 0);
	assert_int_equal(fs_make_dir(dir.fd, "to", 0700, &to, &ignored), 0);
	return to;
}

static int open_archive(struct err *e)
{
	_autofree_ char *path = xasprintf("%s/d", dir.path);
	_autoclose_ int to = open_to();
	struct delta d;
	int r = delta_open(path, to, &d, e);

	if (r == 0)
		delta_close(&d);
	return r;
}

static void refused(const char *why)
{
	struct err e;

	assert_int_equal(open_archive(&e), -EBADMSG);
	if (!strstr(e.msg, why))
		fail_msg("'%s', not '%s'", e.msg, why);
}

static void damaged_ones_are_refused(void **state)
{
	static const struct {
		const char *key, *value, *why;
	} cases[] = {
	    {"v", "2", "no delta of version 1"},
	    {"source", "\"x\"", "lacks what a delta says"},
	    {"plan", "\"../../../../../..\"", "lacks what a delta says"},
	    {"seq", "0", "lacks what a delta says"},
	    {"round", "-1", "lacks what a delta says"},
	    {"shard", "3", "lacks what a delta says"},
	    {"node", "\"a/b\"", "lacks what a delta says"},
	    {"node", "\"a\\u001b[1m\"", "lacks what a delta says"},
	    {"until", "99999999999999", "lacks what a delta says"},
	    {"last", "1", "lacks what a delta says"},
	    {"inputs", "[]", "no inputs"},
	    {"inputs", "{\"stats/x\": []}", "it has inputs in 'stats/x'"},
	    {"inputs", "{\"corpus/a\": [1]}", "no SHA-1"},
	    {"inputs", "{\"corpus/a\": [\"../../../../../../../../../etc/passwdxxxx\"]}",
	     "no SHA-1"},
	    {"inputs",
	     "{\"corpus/a\": [\"" SHA1 "\", \"77de68daecd823babbb58edb1c8e14d7106e83bb\"]}",
	     "it was cut, or is damaged"},
	    {"files", "{\"config.json\": \"" ONE "\"}", "it has a file 'config.json'"},
	    {"files", "{\"crashes/x/input\": 5}", "it has a file"},
	    {"slices", "{\"../x\": []}", "the progress of '../x' is damaged"},
	    {"slices", "{\"a\": [5]}", "the progress of 'a' is damaged"},
	    {"histories", "{\"fleet.jsonl\": []}", "the history 'fleet.jsonl' is damaged"},
	    {"histories", "{\"run_history.jsonl\": [5]}", "is damaged"},
	};
	struct err e;

	(void)state;
	put_archive(head(), true, true);
	assert_int_equal(open_archive(&e), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *j = head(), *v;

		assert_int_equal(json_parse(slice_of(cases[i].value), &v, &e), 0);
		assert_int_equal(json_object_set_new(j, cases[i].key, v), 0);
		put_archive(j, true, true);
		refused(cases[i].why);
	}
	put_archive(head(), false, true);
	refused("it has another SHA-1");
	put_archive(head(), true, false);
	refused("it was cut, or is damaged");
	put_archive(json_array(), false, true);
	refused("no delta of version 1");
	heads = 2;
	put_archive(head(), true, true);
	heads = 1;
	refused("it has two heads");
}

/* Without what it lists: it is enough to know a delta again. */
static void the_head_is_read_alone(void **state)
{
	_autofree_ char *path = xasprintf("%s/d", dir.path);
	json_t *got;
	struct err e;
	int to;

	(void)state;
	put_archive(head(), true, false);
	to = open_to();
	assert_int_equal(delta_read_head(path, to, &got, &e), 0);
	assert_int_equal(strlen(json_get_text(got, "id")), 40);
	json_decref(got);
	close(to);
	put_archive(head(), false, true);
	to = open_to();
	assert_int_equal(delta_read_head(path, to, &got, &e), -EBADMSG);
	close(to);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(inputs_have_their_places), WITH(files_have_their_places), WITH(histories_have_their_names),
    WITH(damaged_ones_are_refused), WITH(the_head_is_read_alone),
};

UNIT_MAIN(tests)
