/* SPDX-License-Identifier: Apache-2.0 */
/* A crash's record.json is its line in the ledger. */
#include "tests/unit/crash/ledger_vault.h"

#include "base/fs.h"
#include "base/json.h"

#include <sys/wait.h>

static json_t *object_in(const char *name)
{
	_autofree_ char *text = malloc(1 << 20);
	json_t *j = NULL;

	assert_non_null(text);
	OK(json_parse(slice_of(scratch_text(dir.fd, name, text, 1 << 20)), &j, &oops));
	return j;
}

/* The record in this crash's directory equals its line in the ledger's file. */
static void check_copy(const json_t *all, const char *signature)
{
	_autojson_ json_t *copy = NULL;
	char place[VAULT_PLACE], path[VAULT_PATH];

	OK(vault_place(slice_of(signature), "", place, &oops));
	vault_path(place, VAULT_RECORD, path);
	copy = object_in(path);
	assert_int_equal(json_object_size(copy), 1);
	if (!json_equal(json_object_get(copy, signature), json_object_get(all, signature)))
		fail_msg("%s: %s", path, file(path));
}

static void check_copies(void)
{
	_autojson_ json_t *all = object_in(NAME);

	assert_int_equal(json_object_size(all), ledger_count(ledger));
	for (size_t i = 0; i < ledger_count(ledger); i++)
		check_copy(all, ledger_at(ledger, i)->signature);
}

static void seen(void)
{
	(void)NOTE(.signature = B, .target = "t", .run = "r3", .time = 70, .count = 20);
}

static void seen_again(void)
{
	(void)NOTE(.signature = B, .time = 71);
}

static void seen_elsewhere(void)
{
	(void)NOTE(.signature = A, .target = "v", .raw_key = "k", .artifact = "logs/r3/y");
}

/* The key belonged to another crash. */
static void key_moves(void)
{
	(void)NOTE(.signature = OLD, .target = "v", .raw_key = "k");
}

static void minimized(void)
{
	OK(ledger_minimized(ledger, A, "t", "crashes/" A "/minimized", 1, &oops));
}

static void passed(void)
{
	OK(ledger_passed(ledger, A, "t", "c3", 5, 5, &oops));
}

static void passed_elsewhere(void)
{
	OK(ledger_passed(ledger, A, "u", "c3", 5, 5, &oops));
}

static void fixed(void)
{
	OK(ledger_fixed(ledger, A, "t", 99, "c3", "r3", &oops));
}

static void ignored(void)
{
	OK(ledger_ignore(ledger, A, NULL, SIZE_MAX, "a note", &oops));
}

static void unignored(void)
{
	OK(ledger_unignore(ledger, B, NULL, NULL, &oops));
}

static void has_issue(void)
{
	OK(ledger_issue(ledger, B, "https://example.org/8", &oops));
}

static void split(void)
{
	OK(ledger_split(ledger, C, &oops));
}

static void merged(void)
{
	OK(ledger_merge(ledger, A, B, &oops));
}

static void merged_on(void)
{
	OK(ledger_merge(ledger, B, C, &oops));
}

static void next_run(void)
{
	ledger_next_run(ledger, "r4");
}

static void (*const changes[])(void) = {
    seen,  seen_again, seen_elsewhere, key_moves, minimized, passed,	passed_elsewhere, fixed,
    split, ignored,    unignored,      has_issue, merged,    merged_on, next_run,
};

static void change(size_t i, bool by_child)
{
	struct err e;
	pid_t pid;
	int ws;

	changes[i]();
	if (!by_child) {
		save();
		return;
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(ledger_save(ledger, dir.fd, &e) < 0);
	ledger_given(ledger);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, 0);
	ledger_taken(ledger, true);
}

/* After any change to a crash, and a save by this process or, as in a run, by a child. */
static void test_each_change(void **state)
{
	(void)state;
	for (unsigned by_child = 0; by_child < 2; by_child++) {
		_autofree_ char *was = NULL;

		make_ledger();
		check_copies();
		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
			change(i, by_child);
			check_copies();
		}
		save(); /* the end of the run */
		check_copies();
		was = printed();
		assert_int_equal(unlinkat(dir.fd, NAME, 0), 0);
		load();
		{
			_autofree_ char *is = printed();

			assert_string_equal(is, was);
		}
		assert_int_equal(fs_remove_tree(dir.fd, "crashes", &oops), 0);
	}
}

/* A child that could not save leaves its records to the next child. */
static void test_child_fails(void **state)
{
	(void)state;
	make_ledger();
	seen();
	ledger_given(ledger);
	seen_elsewhere(); /* meanwhile */
	ledger_taken(ledger, false);
	save();
	check_copies();
	seen();
	ledger_given(ledger);
	seen_elsewhere();
	ledger_taken(ledger, true); /* the child saved `seen` */
	save();
	assert_non_null(strstr(file("crashes/" A "/record.json"), "logs/r3/y"));
}

/* One count of a thousand crashes writes one record. */
static void test_only_what_changed(void **state)
{
	enum { MANY = 1000 };
	static ino_t was[MANY];
	char signature[17], path[64];
	unsigned differ = 0;
	struct stat st;

	(void)state;
	parse("{}");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(signature, sizeof(signature), "%016x", i);
		snprintf(path, sizeof(path), "crashes/%s", signature);
		OK(fs_mkdirs(dir.fd, path, 0750, &oops));
		(void)NOTE(.signature = signature, .target = "t");
	}
	save();
	for (unsigned twice = 0; twice < 2; twice++) {
		for (unsigned i = 0; i < MANY; i++) {
			snprintf(path, sizeof(path), "crashes/%016x/record.json", i);
			assert_int_equal(fstatat(dir.fd, path, &st, 0), 0);
			differ += st.st_ino != was[i];
			was[i] = st.st_ino;
		}
		assert_int_equal(differ, twice ? MANY + 1 : MANY);
		snprintf(signature, sizeof(signature), "%016x", 500U);
		(void)NOTE(.signature = signature, .target = "t");
		/* The other records are not checked, either. */
		assert_int_equal(unlinkat(dir.fd, "crashes/0000000000000007/record.json", 0), 0);
		save();
		assert_false(scratch_has(dir.fd, "crashes/0000000000000007/record.json"));
		scratch_write(dir.fd, "crashes/0000000000000007/record.json", "");
		assert_int_equal(fstatat(dir.fd, "crashes/0000000000000007/record.json", &st, 0),
				 0);
		was[7] = st.st_ino;
	}
}

/* A change of a crash changes its record. */
static void test_records(void **state)
{
	static const char path[] = "crashes/" A "/record.json";
	_autofree_ char *was = NULL;

	(void)state;
	make_ledger();
	was = strdup(file(path));
	assert_non_null(strstr(was, "\"state\": \"fixed\""));
	(void)NOTE(.signature = B, .time = 70);
	save();
	assert_non_null(strstr(file("crashes/" B "/record.json"), "70"));
	assert_string_equal(file(path), was);
	(void)NOTE(.signature = A, .time = 80);
	save();
	assert_non_null(strstr(file(path), "\"state\": \"regressed\""));
	OK(ledger_split(ledger, C, &oops));
	save();
	assert_null(strstr(file("crashes/" C "/record.json"), "merged_into"));
	/* The truth must be on disk: the save names the record that it cannot write. */
	assert_int_equal(unlinkat(dir.fd, path, 0), 0);
	assert_int_equal(mkdirat(dir.fd, path, 0755), 0);
	OK(ledger_ignore(ledger, A, NULL, SIZE_MAX, NULL, &oops));
	assert_true(ledger_save(ledger, dir.fd, &oops) < 0);
	assert_non_null(strstr(oops.msg, "save the ledger: save crash '" A "': "));
	assert_non_null(strstr(oops.msg, "record.json"));
	assert_true(ledger_dirty(ledger));
	assert_int_equal(unlinkat(dir.fd, path, AT_REMOVEDIR), 0);
	save();
	assert_false(scratch_has(dir.fd, LEDGER_STALE));
	load();
	check_state(A, LEDGER_IGNORED);
}

/* A save that was killed between the records and the ledger: the records count. */
static void test_stale(void **state)
{
	_autofree_ char *was = NULL, *is = NULL;

	(void)state;
	make_ledger();
	was = strdup(file(NAME));
	seen_elsewhere();
	save();
	scratch_write(dir.fd, NAME, was);
	scratch_write(dir.fd, LEDGER_STALE, "");
	for (unsigned twice = 0; twice < 2; twice++) {
		load();
		assert_string_equal(ledger_warning(ledger), "");
		assert_non_null(ledger_find_entry(ledger, A, "v"));
		assert_true(ledger_dirty(ledger));
		assert_string_equal(file(NAME), was); /* reading writes nothing */
	}
	is = printed();
	save();
	assert_false(scratch_has(dir.fd, LEDGER_STALE));
	assert_string_equal(file(NAME), is);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_each_change),	  CASE(test_child_fails), CASE(test_stale),
    CASE(test_only_what_changed), CASE(test_records),
};

UNIT_MAIN(tests)
