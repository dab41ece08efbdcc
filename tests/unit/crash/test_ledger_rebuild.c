/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledger_vault.h"

#include "runner/crash/ledger/input.h"
#include "runner/crash/report/report.h"

/* A ledger from the records is the same, to the byte.  No file is written before a save, and each
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
	vault("gone", "x", NULL, NULL);
	scratch_write(dir.fd, "crashes/o-gone/record.json", "");
	scratch_write(dir.fd, NAME, "{}");
	load();
	assert_non_null(strstr(ledger_warning(ledger), "0 crashes are read"));
	assert_false(ledger_dirty(ledger));
	save();
	assert_false(scratch_has(dir.fd, NAME ".damaged-1"));
}

/* A record of another crash, or an invalid record: the rest is read, the warning names the file,
 * and memory is bounded. */
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
	static char commas[5000000];

	(void)state;
	vault(A, "1", NULL, NULL);
	load(); /* no crash yet */
	assert_int_equal(ledger_count(ledger), 0);
	assert_string_equal(ledger_warning(ledger), "");
	parse("{}");
	(void)NOTE(.signature = C, .target = "t");
	save();
	assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(dir.fd, "crashes/" A "/record.json", bad[i]);
		load();
		if (ledger_count(ledger) != 1 || !crash(C))
			fail_msg("'%s' was accepted", bad[i]);
		assert_non_null(strstr(ledger_warning(ledger),
				       "1 crashes are read from crashes/ instead, 1 are unreadable "
				       "(crashes/" A "/record.json: "));
	}
	memset(commas, ',', sizeof(commas) - 1);
	scratch_write(dir.fd, "crashes/" A "/record.json", commas);
	load();
	assert_non_null(strstr(ledger_warning(ledger), "/record.json: more than 4000000 values)"));
	/* Neither through a link, nor from a non-file; the directory has other odd entries. */
	assert_int_equal(unlinkat(dir.fd, "crashes/" A "/record.json", 0), 0);
	scratch_write(dir.fd, "outside", "{\"" A "\": {\"state\": \"ignored\"}}");
	assert_int_equal(symlinkat("../../outside", dir.fd, "crashes/" A "/record.json"), 0);
	scratch_write(dir.fd, "crashes/file", "x");
	assert_int_equal(symlinkat(C, dir.fd, "crashes/" B), 0);
	assert_int_equal(mkfifoat(dir.fd, "crashes/fifo", 0644), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/\xff\n", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/.x.new", 0755), 0);
	load();
	assert_int_equal(ledger_count(ledger), 1);
	assert_non_null(strstr(ledger_warning(ledger), "1 crashes are read from crashes/ instead, "
						       "1 are unreadable (crashes/" A));
	/* Invalid values are repaired, as in the ledger. */
	assert_int_equal(unlinkat(dir.fd, "crashes/" A "/record.json", 0), 0);
	scratch_write(dir.fd, "crashes/" A "/record.json",
		      "{\"" A "\": {\"state\": 7, \"count\": -1, \"merged_into\": \"" B "\", "
		      "\"owner\": \"me\"}}");
	load();
	check_state(A, LEDGER_KNOWN);
	assert_string_equal(crash(A)->merged_into, "");
	save();
	assert_non_null(strstr(file(NAME), "\"owner\": \"me\""));
	assert_non_null(strstr(file("crashes/" A "/record.json"), "\"state\": \"known\""));
}

/* Wrong values in the ledger's file do not count: the records are right. */
static void test_wrong_values(void **state)
{
	_autofree_ char *was = NULL, *is = NULL;

	(void)state;
	make_ledger();
	was = printed();
	scratch_write(dir.fd, NAME, "{\"" B "\": {\"state\": \"igored\"}}");
	load();
	is = printed();
	assert_string_equal(is, was);
	assert_non_null(strstr(ledger_warning(ledger),
			       NAME ": crash '" B "': state is none; taken as \"known\": 4 crashes "
				    "are read from crashes/ instead; "));
	save();
	assert_string_equal(file(NAME), was);
	assert_non_null(strstr(file(NAME ".damaged-1"), "igored"));
}

/* An unreadable record is an error: no crash is silently dropped. */
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
    CASE(test_all),	CASE(test_emptied),	 CASE(test_emptied_for_good),
    CASE(test_hostile), CASE(test_wrong_values), CASE(test_faults),
};

UNIT_MAIN(tests)
