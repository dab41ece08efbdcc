/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledger_vault.h"

#include "runner/crash/ledger/input.h"
#include "runner/crash/report/report.h"

static const char report[] =
    "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603000000040 at pc "
    "0x55f1c2c1a1a0 bp 0x7ffd1 sp 0x7ffd0\n"
    "READ of size 4 at 0x603000000040 thread T0\n"
    "    #0 0x55f1c2c1a19f in session_is_open(Session const*) /src/uaf.c:26:12\n"
    "    #1 0x55f1c2c1a22f in LLVMFuzzerTestOneInput /src/uaf.c:46:6\n";
#define REPORT_SHA1 "356a192b7913b04c54574d18c28d46e6395428ab" /* of "1" */

/* A ledger from the copies is the same, to the byte.  No file is written before a save, and each
 * read before it has a warning. */
static void test_all(void **state)
{
	_autofree_ char *was = NULL;

	(void)state;
	make_ledger();
	was = printed();
	for (unsigned damaged = 0; damaged < 2; damaged++) {
		if (damaged)
			scratch_write(dir.fd, NAME, "{\"x\": {");
		else
			assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
		for (unsigned twice = 0; twice < 2; twice++) {
			_autofree_ char *is = NULL;

			load();
			is = printed();
			assert_string_equal(is, was);
			assert_non_null(strstr(ledger_warning(ledger),
					       damaged ? "line 1, column 7" : "is missing"));
			assert_non_null(strstr(ledger_warning(ledger), "4 crashes are read from"));
			assert_int_equal(scratch_has(dir.fd, NAME), damaged);
			assert_false(scratch_has(dir.fd, NAME ".damaged-1"));
			assert_true(ledger_dirty(ledger));
		}
		save();
		assert_string_equal(file(NAME), was);
		assert_string_equal(file(NAME ".damaged-1"), damaged ? "{\"x\": {" : "");
		load();
		assert_string_equal(ledger_warning(ledger), "");
	}
	check_state(A, LEDGER_FIXED);
	check_state(B, LEDGER_IGNORED);
	assert_string_equal(crash(C)->signature, OLD);
}

/* A valid file that forgets all crashes is damaged, too. */
static void test_emptied(void **state)
{
	static const char *const emptied[] = {"{}", "{\"" A "\": {}}", "{\"other\": {\"x\": 1}}"};
	_autofree_ char *was = NULL;

	(void)state;
	scratch_write(dir.fd, NAME, "{}"); /* in a fresh state directory: no warning */
	load();
	assert_string_equal(ledger_warning(ledger), "");
	assert_false(ledger_dirty(ledger));
	make_ledger();
	was = printed();
	for (unsigned i = 0; i < 3; i++) {
		char kept[64];

		snprintf(kept, sizeof(kept), NAME ".damaged-%u", i + 1);
		scratch_write(dir.fd, NAME, emptied[i]);
		load();
		assert_non_null(strstr(ledger_warning(ledger),
				       NAME ": it has no crash (to forget all, remove "
					    "crashes/ as well): 4 crashes are read"));
		assert_string_equal(file(NAME), emptied[i]);
		assert_true(ledger_dirty(ledger));
		save();
		assert_string_equal(file(kept), emptied[i]);
		assert_true(strcmp(file(NAME), was) == 0 || i == 2);
		assert_true(strstr(file(NAME), "\"other\"") || i < 2);
		load();
		assert_string_equal(ledger_warning(ledger), "");
		assert_int_equal(ledger_count(ledger), 4);
	}
}

/* When no crash can be read the file stays unchanged, and is not rewritten. */
static void test_emptied_for_good(void **state)
{
	(void)state;
	vault("gone", NULL, NULL, NULL); /* no word of it */
	scratch_write(dir.fd, NAME, "{}");
	load();
	assert_non_null(strstr(ledger_warning(ledger), "0 crashes are read"));
	assert_false(ledger_dirty(ledger));
	save();
	assert_false(scratch_has(dir.fd, NAME ".damaged-1"));
}

#define META(signature, artifact)                                                        \
	"{\"v\": 1, \"signature\": \"" signature "\", \"target\": \"t\", \"artifact\": " \
	"\"" artifact "\", \"run\": \"r1\", \"commit\": \"c1\", \"time\": 77, "          \
	"\"crash_type\": \"Typed\", \"tries\": 3, \"hits\": 2}"

/* Files of an older fuzzcell, as triage wrote them. */
static void test_without_copies(void **state)
{
	const struct known_crash *c;
	struct err e;

	(void)state;
	vault(A, "1", META(A, "crash-" REPORT_SHA1), "==1==ERROR: nothing of it\n");
	vault(B, "2", NULL, NULL);
	vault(OLD, "3", META(OLD, "leak-x"), NULL);
	vault("gone", NULL, NULL, NULL);	 /* no word of it */
	vault(C, "4", META(C, "crash-y"), NULL); /* waits for triage */
	assert_int_equal(mkdirat(dir.fd, "triage", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "triage/t", 0755), 0);
	scratch_write(dir.fd, "triage/t/crash-y", "4");
	load();
	assert_non_null(strstr(ledger_warning(ledger), "3 crashes are read from crashes/ instead, "
						       "1 are unreadable"));
	c = crash(A);
	check_state(A, LEDGER_KNOWN);
	assert_string_equal(c->fuzzer, "t");
	assert_string_equal(c->crash_type, "Typed");
	assert_int_equal(c->first_seen.time, 77);
	assert_string_equal(c->first_seen.commit, "c1");
	assert_string_equal(c->last_seen.run, "r1");
	assert_int_equal(c->reproduction.tries, 3);
	assert_int_equal(c->reproduction.hits, 2);
	assert_string_equal(c->crash_file, "crashes/" A "/input");
	assert_string_equal(c->input_sha1, REPORT_SHA1);
	assert_int_equal(ledger_input_check(dir.fd, c, LEDGER_INPUT, &e), 0);
	assert_string_equal(crash(OLD)->input_sha1, "");
	assert_string_equal(crash(B)->crash_file, "crashes/" B "/input");
	assert_null(ledger_find(ledger, C));
	save();
	/* Saving does not invent unknown values. */
	load();
	assert_string_equal(ledger_warning(ledger), "");
	assert_string_equal(crash(OLD)->input_sha1, "");
}

/* The report is used when it is of this crash. */
static void test_report(void **state)
{
	struct crash_report r;
	struct crash_options o = {.target = "t"};
	const struct known_crash *c;
	char meta[400];

	(void)state;
	crash_parse(slice_of(report), &o, &r);
	snprintf(meta, sizeof(meta), "{\"signature\": \"%s\", \"target\": \"t\"}", r.signature);
	vault(r.signature, "UA", meta, report);
	vault(A, "1", META(A, "x"), report);
	load();
	c = crash(r.signature);
	assert_string_equal(c->crash_type, "Heap-use-after-free\nREAD 4");
	assert_string_equal(c->kind, "asan");
	assert_string_equal(c->access, "read");
	assert_int_equal(c->access_size, 4);
	assert_string_equal(c->severity, "high");
	assert_true(c->security);
	assert_int_equal(c->crash_state.n, 2);
	assert_string_equal(c->frames.v[0], "session_is_open(Session const*)");
	assert_string_equal(crash(A)->crash_type, "Typed");
	crash_report_done(&r);
}

/* A copy of another crash, or an invalid copy: the rest is read, and memory is bounded. */
static void test_hostile(void **state)
{
	static const char *const bad[] = {
	    "{\"" B "\": {\"state\": \"ignored\"}}", /* of another crash */
	    "{\"" A "\": {\"state\": \"ignored\"}, \"" B "\": {\"state\": \"ignored\"}}",
	    "{\"" A "\": []}",
	    "{\"" A "\": {}}",
	    "{}",
	    "[]",
	    "{\"" A "\": {\"state\": \"ignored\"",
	    "",
	};
	static char commas[300000];

	(void)state;
	vault(A, "1", META(A, "x"), NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(dir.fd, "crashes/" A "/record.json", bad[i]);
		load();
		if (ledger_count(ledger) != 1 || crash(A)->state != LEDGER_KNOWN)
			fail_msg("'%s' was accepted", bad[i]);
	}
	memset(commas, ',', sizeof(commas) - 1);
	scratch_write(dir.fd, "crashes/" A "/record.json", commas);
	load();
	check_state(A, LEDGER_KNOWN);
	/* Neither through a link, nor from a non-file; the directory has other odd entries. */
	assert_int_equal(unlinkat(dir.fd, "crashes/" A "/record.json", 0), 0);
	scratch_write(dir.fd, "outside", "{\"" A "\": {\"state\": \"ignored\"}}");
	assert_int_equal(symlinkat("../../outside", dir.fd, "crashes/" A "/record.json"), 0);
	scratch_write(dir.fd, "crashes/file", "x");
	assert_int_equal(symlinkat(A, dir.fd, "crashes/" B), 0);
	assert_int_equal(mkfifoat(dir.fd, "crashes/fifo", 0644), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/\xff\n", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/.x.new", 0755), 0);
	load();
	assert_int_equal(ledger_count(ledger), 1);
	check_state(A, LEDGER_KNOWN);
	assert_non_null(strstr(ledger_warning(ledger), "1 crashes are read from crashes/ instead, "
						       "1 are unreadable"));
	/* Invalid values are repaired, as in the ledger. */
	assert_int_equal(unlinkat(dir.fd, "crashes/" A "/record.json", 0), 0);
	scratch_write(dir.fd, "crashes/" A "/record.json",
		      "{\"" A "\": {\"state\": 7, \"count\": -1, \"merged_into\": \"" C "\", "
		      "\"owner\": \"me\"}}");
	load();
	check_state(A, LEDGER_KNOWN);
	assert_string_equal(crash(A)->merged_into, "");
	save();
	assert_non_null(strstr(file(NAME), "\"owner\": \"me\""));
}

/* An unreadable copy is an error: no crash is silently dropped. */
static void test_faults(void **state)
{
	unsigned failed = 0;
	struct err e = {0};

	(void)state;
	make_ledger();
	assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	for (unsigned nth = 1;; nth++) {
		struct ledger *l = NULL;
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = ledger_load(dir.fd, &l, &e);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_memory_equal(e.msg, "read the ledger: ", 17);
			assert_null(l);
			failed++;
			continue;
		}
		if (ledger_count(l) != 4 && !strstr(ledger_warning(l), "are unreadable"))
			fail_msg("at %u: %zu crashes: %s", nth, ledger_count(l), ledger_warning(l));
		ledger_free(l);
		if (nth > 400)
			break;
	}
	print_message("# %u calls failed\n", failed);
	assert_true(failed >= 15);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_all),    CASE(test_emptied), CASE(test_emptied_for_good), CASE(test_without_copies),
    CASE(test_report), CASE(test_hostile), CASE(test_faults),
};

UNIT_MAIN(tests)
