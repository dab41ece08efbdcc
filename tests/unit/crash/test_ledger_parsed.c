/* SPDX-License-Identifier: Apache-2.0 */
/* A report is parsed once: what the parser read is in the crash's record.json. */
#include "tests/unit/crash/ledger_vault.h"

#include "base/memory.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/report/json.h"

static const char said[] =
    "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603000000040 at pc "
    "0x55f1c2c1a1a0 bp 0x7ffd1 sp 0x7ffd0\n"
    "READ of size 4 at 0x603000000040 thread T0\n"
    "    #0 0x55f1c2c1a19f in session_is_open(Session const*) /src/uaf.c:26:12\n"
    "    #1 0x55f1c2c1a22f in (/out/uaf+0x1234)\n"
    "    #2 0x55f1c2c1a230 in LLVMFuzzerTestOneInput /src/uaf.c:46:6\n";
#define RECORD "crashes/" A "/record.json"

/* What the parser reads in `said`, with another top frame: so it shows who was asked. */
static json_t *marked(const char *top_frame)
{
	struct crash_options o = {.target = "t"};
	struct crash_report r;
	json_t *j;

	crash_parse(SLICE(said), &o, &r);
	snprintf(r.top_frame, sizeof(r.top_frame), "%s", top_frame);
	j = parsed_json(&r, SLICE(said));
	crash_report_done(&r);
	return j;
}

static void expect_top(const char *target, struct slice text, const char *top_frame)
{
	struct crash_report r;

	parsed_read(dir.fd, A, target, text, &r);
	assert_string_equal(r.top_frame, top_frame);
	crash_report_done(&r);
}

static void note_report(const char *target, const char *top_frame)
{
	_autojson_ json_t *j = marked(top_frame);

	(void)NOTE(.signature = A, .target = target, .crash_type = "x",
		   .crash_file = "crashes/" A "/input", .report = j);
}

static void test_stored(void **state)
{
	(void)state;
	vault(A, "1", "{\"target\": \"t\"}", said);
	expect_top("t", SLICE(said), "session_is_open"); /* without a record it is parsed */
	parse("{}");
	note_report("t", "stored");
	save();
	assert_null(strstr(file(NAME), "reports"));
	assert_non_null(strstr(file(RECORD), "\"reports\""));
	expect_top("t", SLICE(said), "stored");
	/* Another target, and another text, are not what was parsed. */
	expect_top("u", SLICE(said), "session_is_open");
	expect_top("t", (struct slice){said, sizeof(said) - 2}, "session_is_open");
	/* It stays when the record is written again, also by another process. */
	load();
	(void)NOTE(.signature = A, .target = "t", .time = 9);
	save();
	expect_top("t", SLICE(said), "stored");
	note_report("u", "of u");
	save();
	expect_top("t", SLICE(said), "stored");
	expect_top("u", SLICE(said), "of u");
	note_report("t", "newer");
	save();
	expect_top("t", SLICE(said), "newer");
	expect_top("u", SLICE(said), "of u");
}

/* A ledger that is made again from the records has no results of the parser in its text. */
static void test_rebuilt(void **state)
{
	_autofree_ char *was = NULL, *is = NULL;

	(void)state;
	vault(A, "1", "{\"target\": \"t\"}", said);
	parse("{}");
	note_report("t", "stored");
	save();
	was = printed();
	assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	load();
	is = printed();
	assert_string_equal(is, was);
	save();
	assert_string_equal(file(NAME), was);
	expect_top("t", SLICE(said), "stored");
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "[]",
	    "{\"" A "\": 1}",
	    "{\"" A "\": {\"reports\": 1}}",
	    "{\"" A "\": {\"reports\": {\"t\": 1}}}",
	    "{\"" A "\": {\"reports\": {\"t\": {}}}}",
	    "{\"" B "\": {\"reports\": {}}}",
	};

	(void)state;
	vault(A, "1", "{\"target\": \"t\"}", said);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(dir.fd, RECORD, bad[i]);
		expect_top("t", SLICE(said), "session_is_open");
	}
}

/* Results of many targets that are too much for one record are left out. */
static void test_too_much(void **state)
{
	_autofree_ char *commas = xmalloc(1001);
	struct crash_frame frames[CRASH_FRAMES_MAX] = {0};
	struct crash_report r = {.found = true, .frames = frames, .n_frames = CRASH_FRAMES_MAX};
	_autojson_ json_t *j = NULL;

	(void)state;
	memset(commas, ',', 1000);
	commas[1000] = '\0';
	for (unsigned i = 0; i < CRASH_FRAMES_MAX; i++)
		snprintf(frames[i].function, sizeof(frames[i].function), "%s", commas);
	j = parsed_json(&r, SLICE(said));
	vault(A, "1", "{\"target\": \"t\"}", said);
	parse("{}");
	for (unsigned i = 0; i < 4; i++) {
		char target[] = {(char)('t' + i), '\0'};

		(void)NOTE(.signature = A, .target = target, .crash_type = "x",
			   .crash_file = "crashes/" A "/input", .report = j);
	}
	save();
	assert_null(strstr(file(RECORD), "reports"));
	assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	load();
	assert_int_equal(ledger_count(ledger), 1);
}

/* The object of a report makes the same report again. */
static void test_same(void **state)
{
	_autojson_ json_t *was = marked("top");
	json_t *again;
	struct crash_report r;

	(void)state;
	OK(crash_report_from_json(was, &r, &oops));
	assert_int_equal(r.n_frames, 3);
	assert_string_equal(r.frames[0].file, "/src/uaf.c");
	assert_int_equal(r.frames[0].pc, 0x55f1c2c1a19f);
	assert_true(r.frames[0].has_function);
	again = crash_report_json(&r);
	crash_report_done(&r);
	json_object_del(was, "text_sha1");
	assert_true(json_equal(was, again));
	json_decref(again);
}

/* Each value replaced by each of these is refused, or read as it is written. */
static void try_values(json_t *all, json_t *in)
{
	static const char *const values[] = {
	    "null", "-1",   "18446744073709551615", "1.5", "\"\\u0007\"", "\"\\u00e9\"", "{}",
	    "[[]]", "true",
	};
	_autofree_ char *large = xmalloc(5000);
	const char *key;
	json_t *v;

	memset(large, 'x', 4999);
	large[4999] = '\0';
	for (unsigned i = 0; i <= sizeof(values) / sizeof(values[0]); i++) {
		_autojson_ json_t *was = json_deep_copy(in);

		json_object_foreach(was, key, v)
		{
			json_t *bad = NULL;
			struct crash_report r;
			struct err e;
			int rc;

			if (i < sizeof(values) / sizeof(values[0])) {
				if (json_parse(slice_of(values[i]), &bad, &e) < 0)
					continue; /* above what JSON has here */
			} else {
				bad = json_string(large);
			}
			assert_int_equal(json_object_set_new(in, key, bad), 0);
			rc = crash_report_from_json(all, &r, &e);
			if (rc == 0) {
				json_decref(crash_report_json(&r));
			} else {
				assert_int_equal(rc, -EBADMSG);
				assert_null(r.frames);
			}
			crash_report_done(&r);
			assert_int_equal(json_object_set(in, key, v), 0);
		}
	}
}

static void test_hostile(void **state)
{
	_autojson_ json_t *j = marked("top");
	struct crash_report r;
	struct err e;

	(void)state;
	json_object_del(j, "text_sha1");
	try_values(j, j);
	try_values(j, json_array_get(json_object_get(j, "frames"), 1));
	while (json_array_size(json_object_get(j, "frames")) <= CRASH_FRAMES_MAX)
		assert_int_equal(json_array_append(json_object_get(j, "frames"),
						   json_array_get(json_object_get(j, "frames"), 0)),
				 0);
	assert_int_equal(crash_report_from_json(j, &r, &e), -EBADMSG);
	assert_int_equal(crash_report_from_json(NULL, &r, &e), -EBADMSG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_stored),	 CASE(test_rebuilt),	      CASE(test_damaged),
    CASE(test_too_much), cmocka_unit_test(test_same), cmocka_unit_test(test_hostile),
};

UNIT_MAIN(tests)
