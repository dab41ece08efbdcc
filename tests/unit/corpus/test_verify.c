/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/transfer/verify.h"
#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/files.h"

static struct scratch dir;
static struct buf reported; /* one line "<path>|<what>|<fix>|<to>" per finding */

static int each_setup(void **state)
{
	static const char *const rooms[] = {
	    "corpus/png", "quarantine/png",  "regressions/png", "triage/png", "logs/r/crashes/png",
	    "stats",	  "generations/png", "merge/png",	"work"};

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	reported = BUF_INIT(1 << 20);
	scratch_make(&dir);
	umask(022);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		close(make_dir_at(dir.fd, rooms[i]));
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	buf_done(&reported);
	scratch_remove(&dir);
	return 0;
}

static void on_found(void *arg, const struct verify_finding *f)
{
	static const char *const fixes[] = {"left", "aside", "renamed", "mended"};

	(void)arg;
	buf_printf(&reported, "%s|%s|%s|%s\n", f->path, f->what, fixes[f->fix], f->to ? f->to : "");
}

static int try_verify(bool repair, struct verify_sum *ret, struct err *e)
{
	struct verify v = {.state_dirfd = dir.fd, .repair = repair, .keep = 3, .found = on_found};

	buf_clear(&reported);
	return verify_state(&v, ret, e);
}

static struct verify_sum verify(bool repair)
{
	struct verify_sum sum;
	struct err e;

	if (try_verify(repair, &sum, &e) < 0)
		fail_msg("%s", e.msg);
	return sum;
}

static void expect(const char *line)
{
	if (!strstr(buf_str(&reported), line))
		fail_msg("no '%s' in:\n%s", line, buf_str(&reported));
}

/* World-readable. */
static void put(const char *path, const char *content)
{
	scratch_write(dir.fd, path, content);
	assert_int_equal(fchmodat(dir.fd, path, 0644, 0), 0);
}

static const char *in(const char *room, const char *content)
{
	static char paths[4][200];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s%s", room, name_of(content));
	return p;
}

static void good(void)
{
	put(in("corpus/png/", "one"), "one");
	put(in("corpus/png/", "two"), "two");
	put(in("quarantine/png/", "bad"), "bad");
	put(in("regressions/png/", "fixed"), "fixed");
	put(in("triage/png/crash-", "bad"), "bad");
	put(in("triage/png/.report-crash-", "bad"), "what was printed");
	put(in("logs/r/crashes/png/crash-", "bad"), "bad");
	put(in("logs/r/crashes/png/crash-", ""), ""); /* an empty input may crash */
	put("logs/r/runner.log", "no crash");
	put("logs/file", "no run");
	put("config.json", "{}");
	close(make_dir_at(dir.fd, "generations/png/12"));
	put(in("generations/png/12/", "old"), "old");
	assert_int_equal(
	    linkat(dir.fd, in("corpus/png/", "one"), dir.fd, in("generations/png/12/", "one"), 0),
	    0);
	close(make_dir_at(dir.fd, "merge/png/stage"));
	close(make_dir_at(dir.fd, "corpus/.generations/css"));
	close(make_dir_at(dir.fd, "corpus/css"));
}

static void test_good(void **state)
{
	struct verify_sum sum;

	(void)state;
	assert_int_equal(verify(false).wrong, 0);
	good();
	for (unsigned repair = 0; repair < 2; repair++) {
		sum = verify(repair);
		assert_string_equal(buf_str(&reported), "");
		assert_int_equal(sum.wrong, 0);
		assert_int_equal(sum.targets, 2);
		assert_int_equal(sum.files, 8); /* the file with two names counts once */
	}
	assert_false(scratch_has(dir.fd, "damaged"));
}

static void bad(void)
{
	char secret[64];
	int odd;

	put(in("corpus/png/", "damaged"), "dxmaged");
	put("corpus/png/readable name", "content");
	put("corpus/png/again", "one");
	put(in("corpus/png/", ""), "");
	put("corpus/png/.0123456789abcdef.new", "cut");
	put("corpus/png/.gitkeep", "keep");
	put("corpus/png/.seed.new", "cut");
	put("corpus/stray", "stray");
	put(in("corpus/png/", "closed"), "closed");
	assert_int_equal(fchmodat(dir.fd, in("corpus/png/", "closed"), 0600, 0), 0);
	put(in("corpus/png/", "open"), "open");
	assert_int_equal(fchmodat(dir.fd, in("corpus/png/", "open"), 0666, 0), 0);
	close(make_dir_at(dir.fd, "corpus/.hidden"));
	put(in("quarantine/png/", "x"), "y");
	put("regressions/png/name", "regression");
	put(in("triage/png/crash-", "x"), "y");
	put("triage/png/crash", "crash");
	put("corpus/png/.report-crash", "no room for it");
	put(in("logs/r/crashes/png/oom-", "x"), "y");
	put(in("generations/png/12/", "x"), "y");
	put("generations/png/012", "no number");
	close(make_dir_at(dir.fd, "generations/gone/1"));
	close(make_dir_at(dir.fd, "merge/gone/stage"));
	close(make_dir_at(dir.fd, "work/20200101-000000"));
	put(".known_crashes.json.new", "{");
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd = make_dir_at(dir.fd, "corpus/odd");
	odd_entries(odd, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	close(make_dir_at(odd, "dir/below"));
	close(odd);
}
enum { BAD = 23 + ODD_ENTRIES + 1, NOT_MENDED = 2 };

static void test_bad(void **state)
{
	char line[200];
	struct verify_sum sum;
	struct err e;

	(void)state;
	good();
	bad();
	sum = verify(false);
	assert_int_equal(sum.wrong, BAD);
	assert_int_equal(sum.repaired, 0);
	expect("corpus/png/readable name|its name should be "
	       "040f06fd774092478d450774f5ba30c5da78acc8|left|\n");
	snprintf(line, sizeof(line), "%s|damaged: its content is ", in("corpus/png/", "damaged"));
	expect(line);
	snprintf(line, sizeof(line), "%s|empty|left|\n", in("corpus/png/", ""));
	expect(line);
	expect("corpus/png/.seed.new|the rest of a write that was cut|left|\n");
	expect("corpus/stray|no target's directory|left|\n");
	expect("corpus/.hidden|no target's directory|left|\n");
	expect("corpus/odd/link|not a regular file|left|\n");
	expect("corpus/odd/fifo|not a regular file|left|\n");
	expect("corpus/odd/huge|larger than any input|left|\n");
	expect("corpus/odd/dir|not a regular file|left|\n");
	expect("corpus/png/.report-crash|hidden, so it is no input|left|\n");
	expect("triage/png/crash|its name should end with ");
	expect("generations/png/012|no generation|left|\n");
	expect("generations/gone|generations of a target that has no corpus|left|");
	expect("merge/gone|left by the merge of a target that has no corpus|left|\n");
	expect("work/20200101-000000|left by a run that was killed|left|");
	expect(".known_crashes.json.new|the rest of a write that was cut|left|\n");
	assert_false(scratch_has(dir.fd, "damaged"));

	sum = verify(true);
	assert_int_equal(sum.wrong, BAD);
	assert_int_equal(sum.repaired, BAD - NOT_MENDED);
	expect("corpus/png/readable name|its name should be "
	       "040f06fd774092478d450774f5ba30c5da78acc8|renamed|"
	       "040f06fd774092478d450774f5ba30c5da78acc8\n");
	expect("|mended|\n");
	snprintf(line, sizeof(line), "|aside|damaged/%s\n", in("corpus/png/", "damaged"));
	expect(line);
	/* No file is deleted, and no link was followed. */
	assert_true(holds(dir.fd, in("corpus/png/", "content"), "content"));
	assert_true(holds(dir.fd, in("damaged/corpus/png/", "damaged"), "dxmaged"));
	assert_true(holds(dir.fd, "damaged/corpus/png/again", "one"));
	assert_true(holds(dir.fd, "damaged/corpus/stray", "stray"));
	assert_true(scratch_has(dir.fd, "damaged/corpus/odd/dir/below"));
	assert_true(scratch_has(dir.fd, "generations/gone/1"));
	assert_true(holds(dir.fd, "secret", "secret"));
	{
		struct stat st;

		assert_int_equal(fstatat(dir.fd, in("corpus/png/", "open"), &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
	}

	sum = verify(true);
	assert_int_equal(sum.wrong, NOT_MENDED);
	assert_int_equal(sum.repaired, 0);
	/* Two files that are set aside under one name are both kept. */
	put(in("corpus/png/", "damaged"), "dymaged");
	assert_int_equal(verify(true).repaired, 1);
	snprintf(line, sizeof(line), "damaged/%s~2", in("corpus/png/", "damaged"));
	assert_true(holds(dir.fd, line, "dymaged"));
	assert_true(holds(dir.fd, in("damaged/corpus/png/", "damaged"), "dxmaged"));
	/* A directory that is a link to elsewhere does not count as good. */
	assert_int_equal(fs_remove_tree(dir.fd, "regressions", &e), 0);
	assert_int_equal(symlinkat("corpus", dir.fd, "regressions"), 0);
	assert_int_equal(try_verify(false, &sum, &e), -ENOTDIR);
}

/* A file that several generations share is damaged in all of them. */
static void test_shared(void **state)
{
	(void)state;
	good();
	put(in("corpus/png/", "one"), "onx"); /* in place */
	assert_int_equal(verify(false).wrong, 1);
	assert_int_equal(verify(true).repaired, 2);
	assert_int_equal(verify(false).wrong, 0);
}

static void unsettled(void)
{
	char text[32];
	struct stat st;

	close(make_dir_at(dir.fd, "generations/png/next"));
	put(in("generations/png/next/", "new"), "new");
	assert_int_equal(fstatat(dir.fd, "generations/png/next", &st, 0), 0);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)st.st_ino);
	scratch_write(dir.fd, "generations/png/pending", text);
	close(make_dir_at(dir.fd, "generations/png/trash"));
}

static void test_exchange(void **state)
{
	struct verify_sum sum;

	(void)state;
	good();
	unsettled();
	sum = verify(false);
	assert_int_equal(sum.wrong, 2);
	expect("generations/png|a corpus was being replaced when fuzzcell was killed|left|");
	expect("generations/png/trash|half removed|left|");
	sum = verify(true);
	assert_int_equal(sum.repaired, 1);
	expect("generations/png|a corpus was being replaced when fuzzcell was killed|mended|\n");
	assert_false(scratch_has(dir.fd, "generations/png/pending"));
	assert_false(scratch_has(dir.fd, "generations/png/next"));
	assert_true(holds(dir.fd, in("corpus/png/", "one"), "one"));
}

static unsigned contents(const char *content)
{
	static const char *const rooms[] = {"corpus/png/", "quarantine/png/", "damaged/corpus/png/",
					    "damaged/quarantine/png/"};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		CLEANUP(closedir_p)
		DIR *d = fdopendir(openat(dir.fd, rooms[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		const struct dirent *ent;

		while (d && (ent = readdir(d)))
			n += holds(dirfd(d), ent->d_name, content);
	}
	return n;
}

/* Any call fails: this is reported, or the damage is found and left; no file is lost. */
static void test_faults(void **state)
{
	unsigned nth, quiet = 0;

	(void)state;
	for (nth = 1;; nth++) {
		struct verify_sum sum;
		struct err e = {0};
		int r;

		put(in("corpus/png/", "one"), "one");
		put(in("corpus/png/", "damaged"), "dxmaged");
		put("corpus/png/name", "content");
		put(in("quarantine/png/", "x"), "y");
		fault_arm(nth, FAULT_FAIL);
		r = try_verify(true, &sum, &e);
		fault_arm(0, FAULT_FAIL);
		assert_true(contents("one") == 1 && contents("dxmaged") && contents("content") &&
			    contents("y"));
		if (r < 0)
			assert_true(*e.msg);
		else if (sum.wrong == 3 && sum.repaired == 3 && ++quiet)
			break;
		assert_int_equal(fs_remove_tree(dir.fd, "damaged", &e), 0);
		(void)unlinkat(dir.fd, in("corpus/png/", "content"), 0);
	}
	assert_true(nth > 20);
	assert_int_equal(verify(false).wrong, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_good), CASE(test_bad), CASE(test_shared), CASE(test_exchange), CASE(test_faults),
};

UNIT_MAIN(tests)
