/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/command/control/status.h"

#include <errno.h>

static void findings_are(const char *target, bool all, const char *want)
{
	_autobuf_ struct buf out = BUF_INIT(8192);
	_autojson_ json_t *o = NULL;
	struct err e;

	assert_int_equal(json_parse(slice_of(target), &o, &e), 0);
	status_health(o, all, &out);
	assert_string_equal(buf_str(&out), want);
}

static void test_health(void **state)
{
	static const char queued[] =
	    "{\"name\": \"q\", \"reason\": \"running\", \"fuzzed\": false}";
	static const char fine[] = "{\"name\": \"f\", \"reason\": \"running\", \"fuzzed\": true, "
				   "\"edges\": 4000}";
	static const char bad[] = "{\"name\": \"b\\u001b\", \"reason\": \"not-instrumented\"}";
	static const char slow[] = "{\"name\": \"s\", \"reason\": \"running\", \"fuzzed\": true, "
				   "\"cpu_seconds\": 9.5, \"execs_per_cpu_second\": 500}";

	(void)state;
	findings_are(queued, false, "");
	findings_are(queued, true, "q: nothing is known: it was not fuzzed yet\n");
	findings_are(fine, false, "");
	findings_are(fine, true, "f: healthy\n");
	findings_are(
	    bad, false,
	    "b\\x1b: error not-instrumented: the engine found no coverage instrumentation\n");
	findings_are(slow, false, "");
	findings_are(
	    slow, true,
	    "s: note slow: 500 inputs a second of CPU time; good ones run 1000 and more\n"
	    "  -> let the harness do less for each input: no initialisation, files, sleeping or "
	    "logging in it, smaller inputs (max_len), -O1\n");
	findings_are("{}", false, "");
}

static void page_has(const char *target, const char *want)
{
	_autobuf_ struct buf out = BUF_INIT(8192);
	_autojson_ json_t *o = NULL;
	struct err e;

	assert_int_equal(json_parse(slice_of(target), &o, &e), 0);
	status_page(o, &out);
	if (!strstr(buf_str(&out), want))
		fail_msg("no '%s' in:\n%s", want, buf_str(&out));
}

static void test_page(void **state)
{
	char behind[100];
	static const char target[] =
	    "{\"name\": \"png\", \"state\": \"fuzzing\", \"note\": \"a\\u001bb\", \"fuzzed\": "
	    "true, "
	    "\"reason\": \"running\", \"wall_seconds\": 120.0, \"cell_seconds\": 100.5, "
	    "\"cpu_seconds\": 90.0, \"starved_share\": 0.05, \"execs\": 12345, "
	    "\"execs_per_cpu_second\": 2137, \"input_timeout_seconds\": 25.0, \"cov\": 812, "
	    "\"edges\": 4000, \"ft\": 2301, \"seconds_since_find\": 75.0, \"corpus_units\": 150, "
	    "\"corpus_bytes\": 2048, \"new_inputs\": 5, \"seeds\": 3, \"dictionary_entries\": 7, "
	    "\"inputs_kept\": {\"by_dictionary\": 2, \"by_comparison\": 4}, "
	    "\"outlook\": {\"edges_in_next_cpu_hour\": 3.25, \"cpu_seconds_of_build\": 3600.0}, "
	    "\"memory_bytes\": 1048576, \"memory_limit_bytes\": 2147483648, "
	    "\"memory_peak_bytes\": 2097152, \"pressure_cpu\": 0.5, \"pressure_state\": \"ok\", "
	    "\"failures\": {\"crash\": 2, \"timeout\": 1}, \"failures_total\": 3, \"restarts\": 3, "
	    "\"crashes\": [{\"signature\": \"00a1b2c3d4e5f607\", \"state\": \"new\", "
	    "\"what\": \"Abort in f\", \"count\": 7, \"hits\": 3, \"tries\": 3, \"security\": "
	    "true}], "
	    "\"artifacts\": [\"crash-1\"]}";
	_autobuf_ struct buf out = BUF_INIT(8192), empty = BUF_INIT(8192), full = BUF_INIT(100);
	_autojson_ json_t *o = NULL, *none = json_object();
	struct err e;

	(void)state;
	assert_int_equal(json_parse(slice_of(target), &o, &e), 0);
	status_page(o, &out);
	assert_string_equal(
	    buf_str(&out),
	    "png: fuzzing\n"
	    "note        a\\x1bb\n"
	    "time        2m00s, 1m40s of it in cells; 1m30s of CPU time; waited for a CPU 5% of "
	    "the time\n"
	    "inputs      12.3k executed, 2.1k a second of CPU time; at most 25s each\n"
	    "coverage    812 of 4000 edges (20%), 2301 features\n"
	    "last find   1m15s ago\n"
	    "corpus      150 inputs, 2KiB; 5 of them new\n"
	    "            it began with 3; 2 came from the dictionary, 4 from comparisons\n"
	    "dictionary  7 entries, 0 words of the program\n"
	    "outlook     3.2 new edges in another CPU-hour, after 1h00m of CPU time with this "
	    "build\n"
	    "memory      1MiB of 2GiB, at most 2MiB so far\n"
	    "waits for   CPU 50%, memory 0%, disk 0% of the last second: ok\n"
	    "failures    3: 2 crash, 1 timeout; 3 restarts\n"
	    "crashes     00a1b2c3d4e5f607  new  Abort in f (security); 7 times, reproduces 3 of 3\n"
	    "artifacts   1 in logs/<run>/crashes/png\n"
	    "\n"
	    "png: healthy\n");
	assert_null(strstr(buf_str(&out), "checks"));
	page_has("{\"checks_left\": 1}", "\nchecks      1 input waits for other builds\n");
	snprintf(behind, sizeof(behind), "{\"checks_left\": 12, \"checks_behind_since\": %llu}",
		 (unsigned long long)(clock_real_us() / USEC_PER_SEC - 7230));
	page_has(behind,
		 "\nchecks      12 inputs wait for other builds; inputs have waited for 2h00m\n");
	/* Any answer makes a page. */
	status_page(none, &empty);
	assert_non_null(strstr(buf_str(&empty), "\nlast find   none in this run\n"));
	status_page(o, &full);
	assert_int_equal(buf_check(&full, &e), -EFBIG);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_health),
					  cmocka_unit_test(test_page)};

UNIT_MAIN(tests)
