/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledger_files.h"

#include "base/digest.h"
#include "runner/crash/ledger/input.h"

#define SIG   "0123456789abcdef"
#define INPUT "crashes/" SIG "/input"
#define SMALL "crashes/" SIG "/minimized"

/* A crash with both of its inputs on disk. */
static int known_setup(void **state)
{
	each_setup(state);
	assert_int_equal(mkdirat(dir.fd, "crashes", 0755), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/" SIG, 0755), 0);
	scratch_write(dir.fd, INPUT, "reproducer");
	scratch_write(dir.fd, SMALL, "rep");
	return 0;
}

static void note_both(void)
{
	parse("{}");
	(void)NOTE(.signature = SIG, .crash_type = "t", .crash_file = INPUT, .input_bytes = 10,
		   .minimized = SMALL, .minimized_bytes = 3, .tries = 3, .hits = 3);
	save();
	load();
}

static int check(enum ledger_input which, struct err *e)
{
	*e = (struct err){0};
	return ledger_input_check(dir.fd, crash(SIG), which, e);
}

static void refused(enum ledger_input which, int want, const char *why)
{
	struct err e;

	assert_int_equal(check(which, &e), want);
	if (!strstr(e.msg, why))
		fail_msg("'%s' is not about '%s'", e.msg, why);
}

static const char *sha1(const char *text)
{
	static char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex(slice_of(text), hex);
	return hex;
}

/* An input that triage notes by path and size gets its digest in the file. */
static void test_noted(void **state)
{
	struct err e;

	(void)state;
	note_both();
	assert_string_equal(crash(SIG)->input_sha1, sha1("reproducer"));
	assert_string_equal(crash(SIG)->minimized_sha1, sha1("rep"));
	assert_int_equal(check(LEDGER_INPUT, &e), 0);
	assert_int_equal(check(LEDGER_MINIMIZED, &e), 0);
	assert_int_equal(ledger_input_check_all(dir.fd, crash(SIG), &e), 0);
	check_text();
	/* When the sighting has the checksum, no file is read. */
	(void)NOTE(.signature = SIG, .crash_type = "t", .crash_file = INPUT, .input_bytes = 10,
		   .input_sha1 = sha1("other"));
	save();
	assert_string_equal(crash(SIG)->input_sha1, sha1("other"));
	assert_string_equal(crash(SIG)->minimized_sha1, "");
	/* A smaller input has another content. */
	scratch_write(dir.fd, SMALL, "re");
	OK(ledger_minimized(ledger, SIG, "", SMALL, 2, &oops));
	save();
	assert_string_equal(crash(SIG)->minimized_sha1, sha1("re"));
}

static void test_damaged(void **state)
{
	struct err e;

	(void)state;
	note_both();
	scratch_write(dir.fd, INPUT, "");
	refused(LEDGER_INPUT, -EBADMSG, INPUT "' is damaged: 0 bytes, not 10");
	scratch_write(dir.fd, INPUT, "reproduceR");
	refused(LEDGER_INPUT, -EBADMSG, INPUT "' is damaged: its content");
	assert_int_equal(check(LEDGER_MINIMIZED, &e), 0);
	assert_int_equal(ledger_input_check_all(dir.fd, crash(SIG), &e), -EBADMSG);
	scratch_write(dir.fd, INPUT, "reproducer");
	scratch_write(dir.fd, SMALL, "pass");
	refused(LEDGER_MINIMIZED, -EBADMSG, "4 bytes, not 3");
	assert_int_equal(ledger_input_check_all(dir.fd, crash(SIG), &e), -EBADMSG);
	assert_int_equal(unlinkat(dir.fd, SMALL, 0), 0);
	refused(LEDGER_MINIMIZED, -ENOENT, SMALL);
	/* Damage is always detected, whatever else is noted. */
	scratch_write(dir.fd, INPUT, "reproduceR");
	(void)NOTE(.signature = SIG);
	OK(ledger_reproduced(ledger, SIG, "", INPUT, &oops));
	save();
	load();
	refused(LEDGER_INPUT, -EBADMSG, "content");
}

/* An empty input may crash: then its size 0 is noted. */
static void test_empty(void **state)
{
	struct err e;

	(void)state;
	parse("{}");
	scratch_write(dir.fd, INPUT, "");
	(void)NOTE(.signature = SIG, .crash_type = "t", .crash_file = INPUT);
	save();
	load();
	assert_string_equal(crash(SIG)->input_sha1, sha1(""));
	assert_int_equal(check(LEDGER_INPUT, &e), 0);
	refused(LEDGER_MINIMIZED, -ENOENT, "");
	assert_int_equal(ledger_input_check_all(dir.fd, crash(SIG), &e), 0);
	scratch_write(dir.fd, INPUT, "x");
	refused(LEDGER_INPUT, -EBADMSG, "1 bytes, not 0");
}

/* Without a digest: checked by size, and by digest from the next failure on. */
static void test_adopted(void **state)
{
	struct err e;

	(void)state;
	scratch_write(dir.fd, NAME,
		      "{\"" SIG "\": {\"crash_file\": \"" INPUT "\", \"input_bytes\": 10}}");
	load();
	assert_int_equal(check(LEDGER_INPUT, &e), 0);
	(void)NOTE(.signature = SIG); /* perhaps with another input */
	save();
	assert_string_equal(crash(SIG)->input_sha1, "");
	OK(ledger_reproduced(ledger, SIG, "", SMALL,
			     &oops)); /* the target's own input is missing */
	assert_false(ledger_dirty(ledger));
	OK(ledger_reproduced(ledger, SIG, "", INPUT, &oops));
	save();
	assert_string_equal(crash(SIG)->input_sha1, sha1("reproducer"));
	assert_int_equal(ledger_reproduced(ledger, "none", "", INPUT, &e), -ENOENT);
	/* Not a file of another size. */
	scratch_write(dir.fd, NAME,
		      "{\"" SIG "\": {\"crash_file\": \"" INPUT "\", \"input_bytes\": 11}}");
	load();
	OK(ledger_reproduced(ledger, SIG, "", INPUT, &oops));
	save();
	assert_string_equal(crash(SIG)->input_sha1, "");
	refused(LEDGER_INPUT, -EBADMSG, "10 bytes, not 11");
	/* Neither size nor digest. */
	parse("{\"" SIG "\": {\"crash_file\": \"" INPUT "\"}}");
	assert_int_equal(check(LEDGER_INPUT, &e), 0);
}

static void test_bad_digest(void **state)
{
	static const char *const bad[] = {"x", "0123456789abcdef0123456789abcdef0123456G",
					  "0123456789ABCDEF0123456789ABCDEF01234567"};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "{\"" SIG "\": {\"minimized_sha1\": \"%s\"}}", bad[i]);
		parse(text);
		assert_string_equal(ledger_warning(ledger),
				    NAME ": crash '" SIG "': minimized_sha1 is no SHA-1");
		assert_string_equal(crash(SIG)->minimized_sha1, "");
	}
}

/* No file outside, and no file through a link. */
static void test_elsewhere(void **state)
{
	static const struct {
		const char *path;
		int want;
	} t[] = {
	    {"/etc/passwd", -EINVAL},
	    {"../../etc/passwd", -EINVAL},
	    {"crashes/../crashes/" SIG "/input", -EINVAL},
	    {"./" INPUT, -EINVAL},
	    {"crashes//" SIG "/input", -EINVAL},
	    {INPUT "/", -EINVAL},
	    {INPUT "/x", -ENOTDIR},
	    {"crashes/" SIG, -EINVAL},
	    {"crashes/" SIG "/link", -ELOOP},
	    {"crashes/dir/input", -ENOTDIR},
	    {"crashes/" SIG "/fifo", -EINVAL},
	    {"crashes/" SIG "/none", -ENOENT},
	};
	char text[300];

	(void)state;
	assert_int_equal(symlinkat("input", dir.fd, "crashes/" SIG "/link"), 0);
	assert_int_equal(symlinkat(SIG, dir.fd, "crashes/dir"), 0);
	assert_int_equal(mkfifoat(dir.fd, "crashes/" SIG "/fifo", 0644), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct err e = {0};
		int r;

		snprintf(text, sizeof(text), "{\"" SIG "\": {\"crash_file\": \"%s\"}}", t[i].path);
		parse(text);
		r = check(LEDGER_INPUT, &e);
		if (r != t[i].want)
			fail_msg("'%s': %d: %s", t[i].path, r, e.msg);
	}
}

static const char *mended(enum ledger_input which)
{
	const char *from = "";
	struct err e = {0};
	int r = ledger_input_mend(dir.fd, crash(SIG), which, &from, &e);

	if (r == 0) {
		assert_int_equal(check(which, &e), 0);
		return from;
	}
	assert_int_equal(r, -ENOENT);
	return "";
}

static void put(const char *room, const char *name, const char *text)
{
	char path[200];
	struct err e;

	snprintf(path, sizeof(path), "%s/t", room);
	assert_int_equal(fs_mkdirs(dir.fd, path, 0755, &e), 0);
	snprintf(path, sizeof(path), "%s/t/%s", room, name);
	scratch_write(dir.fd, path, text);
}

/* Restored from any file with this content; never from a file with another content. */
static void test_mend(void **state)
{
	char artifact[100];

	(void)state;
	snprintf(artifact, sizeof(artifact), "logs/t/crash-%s", sha1("reproducer"));
	parse("{}");
	(void)NOTE(.signature = SIG, .target = "t", .crash_file = INPUT, .input_bytes = 10,
		   .minimized = SMALL, .minimized_bytes = 3, .artifact = artifact);
	save();
	scratch_write(dir.fd, INPUT, "");
	scratch_write(dir.fd, SMALL, "");
	assert_string_equal(mended(LEDGER_INPUT), "");
	assert_string_equal(mended(LEDGER_MINIMIZED), "");
	put("logs", artifact + 7, "another 10");
	put("regressions", sha1("rep"), "per");
	assert_string_equal(mended(LEDGER_INPUT), "");
	assert_string_equal(mended(LEDGER_MINIMIZED), "");
	assert_string_equal(file(INPUT), "");
	put("quarantine", sha1("reproducer"), "reproducer");
	assert_string_equal(mended(LEDGER_INPUT), "quarantine");
	put("regressions", sha1("rep"), "rep");
	assert_string_equal(mended(LEDGER_MINIMIZED), "regressions");
	assert_string_equal(file(SMALL), "rep");
	put("logs", artifact + 7, "reproducer");
	assert_int_equal(unlinkat(dir.fd, INPUT, 0), 0);
	assert_string_equal(mended(LEDGER_INPUT), "its artifact");
	/* Only our own files are written. */
	put("corpus", "x", "damaged");
	(void)NOTE(.signature = SIG, .target = "t", .crash_file = "corpus/t/x", .input_bytes = 10,
		   .input_sha1 = sha1("reproducer"));
	assert_string_equal(mended(LEDGER_INPUT), "");
	assert_string_equal(file("corpus/t/x"), "damaged");
}

/* A failing call never confirms an input, and never gives the name of another content. */
static void test_faults(void **state)
{
	unsigned failed = 0;

	(void)state;
	note_both();
	for (unsigned nth = 1; nth < 30; nth++) {
		struct err e;
		int fd = -1, r;

		fault_arm(nth, FAULT_FAIL);
		r = ledger_input_open(dir.fd, crash(SIG), LEDGER_INPUT, &fd, &e);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_int_equal(r, -e.code);
			assert_int_equal(fd, -1);
			failed++;
			continue;
		}
		close(fd);
	}
	assert_true(failed >= 4);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, known_setup, scratch_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_noted),	   CASE(test_damaged),	 CASE(test_empty),  CASE(test_adopted),
    CASE(test_bad_digest), CASE(test_elsewhere), CASE(test_faults), CASE(test_mend),
};

UNIT_MAIN(tests)
