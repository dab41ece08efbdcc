/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledger_files.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"

static void test_begin(void **state)
{
	(void)state;
	load();
	assert_int_equal(ledger_count(ledger), 0);
	assert_string_equal(ledger_warning(ledger), "");
	save(); /* nothing to save */
	assert_false(scratch_has(dir.fd, NAME));
	(void)NOTE(.signature = "b\"", .target = "t", .time = 5, .crash_type = "x\ny");
	(void)NOTE(.signature = "a", .target = "t");
	save();
	assert_string_equal(
	    file(NAME),
	    "{\n"
	    "  \"a\": {\"state\": \"new\", \"fuzzer\": \"t\", \"crash_type\": \"\", \"top_frame\": "
	    "\"\", \"count\": 1, \"crash_file\": \"\", \"issue_url\": \"\"},\n"
	    "  \"b\\\"\": {\"state\": \"new\", \"fuzzer\": \"t\", \"crash_type\": \"x\\ny\", "
	    "\"top_frame\": \"\", \"first_seen\": {\"time\": 5}, \"last_seen\": {\"time\": 5}, "
	    "\"count\": 1, \"crash_file\": \"\", \"issue_url\": \"\"}\n"
	    "}\n");
	load();
	assert_int_equal(ledger_count(ledger), 2);
	assert_string_equal(crash("b\"")->crash_type, "x\ny");
	assert_false(ledger_dirty(ledger));
}

static const char foreign[] =
    "{\"asan:parse:1\": {\"fuzzer\": \"png_fuzzer\", \"crash_type\": \"heap-buffer-overflow\","
    " \"top_frame\": \"parse\", \"issue_url\": \"https://example.org/7\", \"crash_file\": "
    "\"crashes/x\","
    " \"first_seen\": {\"time\": 1714521600, \"commit\": \"c0\"}, \"owner\": {\"n\": [1, null]}},"
    " \"version\": 1, \"list\": [0.1, 0.30000000000000004, 1e-300], \"none\": {},"
    " \"other\": {\"x\": 1}}";

static void test_foreign(void **state)
{
	_autojson_ json_t *was = NULL, *is = NULL;
	static const char *const kept[] = {"version", "list", "none", "other"};
	static const char *const fields[] = {"fuzzer",	   "crash_type", "top_frame", "issue_url",
					     "crash_file", "first_seen", "owner"};
	const struct known_crash *c;
	struct err e;

	(void)state;
	scratch_write(dir.fd, NAME, foreign);
	load();
	assert_string_equal(ledger_warning(ledger), "");
	assert_false(ledger_dirty(ledger));
	assert_int_equal(ledger_count(ledger), 1);
	c = crash("asan:parse:1");
	check_state("asan:parse:1", LEDGER_KNOWN);
	assert_string_equal(c->fuzzer, "png_fuzzer");
	assert_string_equal(c->crash_type, "heap-buffer-overflow");
	assert_string_equal(c->top_frame, "parse");
	assert_string_equal(c->issue_url, "https://example.org/7");
	assert_string_equal(c->crash_file, "crashes/x");
	assert_string_equal(c->first_seen.commit, "c0");
	assert_int_equal(c->first_seen.time, 1714521600);
	assert_false(NOTE(.signature = "asan:parse:1", .run = "r1", .time = 1714600000).is_new);
	(void)NOTE(.signature = "version", .run = "r1"); /* the other value is replaced */
	save();
	assert_int_equal(json_parse(slice_of(foreign), &was, &e), 0);
	assert_int_equal(json_load(dir.fd, NAME, 1 << 20, &is, &e), 0);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_true(json_equal(json_object_get(was, kept[i]),
				       json_object_get(is, i ? kept[i] : "version~")));
	assert_int_equal(json_object_size(is), 6);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_true(
		    json_equal(json_object_get(json_object_get(was, "asan:parse:1"), fields[i]),
			       json_object_get(json_object_get(is, "asan:parse:1"), fields[i])));
	load();
	assert_int_equal(crash("asan:parse:1")->first_seen.time, 1714521600);
	assert_int_equal(crash("asan:parse:1")->last_seen.time, 1714600000);
	assert_int_equal(crash("version")->count, 1);
	check_text();
}

/* An invalid ledger is reported with the position, and kept under another name. */
static void test_damaged(void **state)
{
	static const struct {
		const char *text, *warning;
	} t[] = {
	    {"{\"a\": {\"state\": \"new\"},\n\"b\": {", "line 2, column 6: string or '}' expected"},
	    {"", "line 1, column 0: unexpected token near end of file"},
	    {"[]", "line 1, column 1: not an object of crashes"},
	    {"{\"a\": {\"count\": 1},\n\"a\": {}}", "line 2, column 3: duplicate object key"},
	    {"{\"a\": 1}\xff\x1b", "line 1, column 8: "},
	};
	char name[64], want[300];

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		scratch_write(dir.fd, NAME, t[i].text);
		load();
		snprintf(want, sizeof(want), NAME ": %s", t[i].warning);
		if (strncmp(ledger_warning(ledger), want, strlen(want)) != 0)
			fail_msg("'%s', not '%s'", ledger_warning(ledger), want);
		assert_non_null(
		    strstr(ledger_warning(ledger), "the damaged one as " NAME ".damaged-<n>"));
		assert_int_equal(ledger_count(ledger), 0);
		/* Reading changes nothing. */
		assert_string_equal(file(NAME), t[i].text);
		snprintf(name, sizeof(name), NAME ".damaged-%u", i + 1);
		assert_false(scratch_has(dir.fd, name));
		save();
		assert_string_equal(file(NAME), "{\n}\n");
		assert_string_equal(file(name), t[i].text);
		for (unsigned k = 0; k < i; k++) { /* earlier copies are not overwritten, either */
			snprintf(name, sizeof(name), NAME ".damaged-%u", k + 1);
			assert_string_equal(file(name), t[k].text);
		}
		assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	}
}

/* Some invalid values: the rest counts. */
static void test_mended(void **state)
{
	static const struct {
		const char *crash, *warning;
	} t[] = {
	    {"\"state\": \"igored\"", "state is none; taken as \"known\""},
	    {"\"state\": 1", "state is none; taken as \"known\""},
	    {"\"fuzzer\": 1", "fuzzer is no text"},
	    {"\"fuzzer\": \"a\\nb\"", "fuzzer is too long or has control characters"},
	    {"\"count\": -1", "count is no number from 0 up"},
	    {"\"count\": 1.5", "count is no number from 0 up"},
	    {"\"security\": 1", "security is neither true nor false"},
	    {"\"frames\": \"f\"", "frames is no list"},
	    {"\"frames\": [1]", "frames holds an entry that is no text, too long, or not plain"},
	    {"\"crash_state\": [\"1\", \"2\", \"3\", \"4\"]", "crash_state is too long"},
	    {"\"first_seen\": 7", "first_seen is no object"},
	    {"\"last_seen\": {\"time\": \"x\"}", "last_seen.time is no number from 0 up"},
	    {"\"runs\": {}", "runs is no list, or too long"},
	    {"\"runs\": [1]", "runs holds an invalid run"},
	    {"\"runs\": [{\"run\": \"a\\u0007\", \"count\": 1}]",
	     "runs has more than names and counts"},
	    {"\"runs\": [{\"run\": \"a\", \"count\": 1, \"x\": 1}]",
	     "runs has more than names and counts"},
	    {"\"reproduction\": {\"tries\": 1, \"hits\": 2}",
	     "reproduction has more hits than tries"},
	    {"\"merged_into\": \"x\"", "merged_into leads to no crash"},
	};
	char text[300], want[300];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"other\": {\"state\": \"ignored\"}, \"s\": {%s, "
			 "\"note\": \"n\"}}",
			 t[i].crash);
		OK(fs_remove_tree(dir.fd, "crashes", &oops));
		scratch_write(dir.fd, NAME, text);
		load();
		snprintf(want, sizeof(want), NAME ": crash 's': %s", t[i].warning);
		assert_string_equal(ledger_warning(ledger), want);
		check_state("other", LEDGER_IGNORED);
		check_state("s", LEDGER_KNOWN);
		assert_string_equal(crash("s")->note, "n");
		assert_true(ledger_dirty(ledger));
		save();
		assert_string_equal(file(NAME ".damaged-1"), text);
		assert_int_equal(unlinkat(dir.fd, NAME ".damaged-1", 0), 0);
		load();
		assert_string_equal(ledger_warning(ledger), "");
		check_text();
	}
	parse("{\"a\": {\"count\": -1, \"fuzzer\": 1}, \"b\": {\"count\": -1}}");
	assert_string_equal(ledger_warning(ledger),
			    NAME ": crash 'a': fuzzer is no text; and 2 more");
	parse("{\"a\": {\"count\": null, \"frames\": null, \"state\": \"fixed\"}, "
	      "\"\\u0007\": {\"count\": 1}}");
	assert_string_equal(ledger_warning(ledger),
			    NAME ": crash '?': is left alone: a signature that is no text");
	assert_false(ledger_dirty(ledger)); /* this value stays unchanged */
	check_state("a", LEDGER_FIXED);
}

/* Of long lists the last entries stay, of long texts the beginning. */
static void test_long_values(void **state)
{
	_autobuf_ struct buf text = BUF_INIT(1 << 20);

	(void)state;
	buf_printf(&text, "{\"s\": {\"top_frame\": \"%02000d\", \"artifacts\": [", 7);
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "%s\"%d\"", i ? ", " : "", i);
	buf_printf(&text, "], \"runs\": [");
	for (int i = 0; i < 30; i++)
		buf_printf(&text, "%s{\"run\": \"%d\", \"count\": %d}", i ? ", " : "", i, i);
	buf_printf(&text, "]}}");
	parse(buf_str(&text));
	assert_int_equal(strlen(crash("s")->top_frame), LEDGER_TEXT_MAX);
	assert_int_equal(crash("s")->artifacts.n, LEDGER_ARTIFACTS);
	assert_string_equal(crash("s")->artifacts.v[0], "10");
	assert_int_equal(crash("s")->n_runs, LEDGER_RUNS);
	assert_int_equal(crash("s")->runs[0].count, 10);
	assert_string_equal(ledger_warning(ledger),
			    NAME ": crash 's': top_frame is too long or has "
				 "control characters; and 2 more");
	check_text();
}

/* An unreadable file does not count as an empty ledger. */
static void test_unreadable(void **state)
{
	struct ledger *l = NULL;
	struct err e;

	(void)state;
	assert_int_equal(mkdirat(dir.fd, NAME, 0700), 0);
	assert_int_equal(ledger_load(dir.fd, &l, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "read the ledger: '" NAME "' is not a regular file"));
	assert_int_equal(unlinkat(dir.fd, NAME, AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("elsewhere", dir.fd, NAME), 0);
	assert_int_equal(ledger_load(dir.fd, &l, &e), -ELOOP);
	assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	scratch_write(dir.fd, NAME, foreign);
	for (unsigned at = 1;; at++) {
		int r;

		fault_arm(at, FAULT_FAIL);
		r = ledger_load(dir.fd, &l, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0) {
			print_message("# %u calls\n", at - 1);
			assert_int_equal(at - 1, 3); /* open, stat, read */
			assert_int_equal(ledger_count(l), 1);
			assert_string_equal(ledger_warning(l), "");
			ledger_free(l);
			return;
		}
		assert_int_equal(r, -e.code);
		assert_memory_equal(e.msg, "read the ledger: ", 17);
		assert_null(l);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_begin),  CASE(test_foreign),     CASE(test_damaged),
    CASE(test_mended), CASE(test_long_values), CASE(test_unreadable),
};

UNIT_MAIN(tests)
