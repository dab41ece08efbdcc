/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/generation.h"
#include "tests/unit/forked.h"

/* --- without faults -------------------------------------------------------------------- */

static void test_replace(void **state)
{
	struct generation_result r = replaces(2);

	(void)state;
	assert_true(r.replaced);
	assert_int_equal(r.files, 2);
	assert_int_equal(r.bytes, 7);
	assert_int_equal(r.carried, 0);
	assert_int_equal(r.kept, 1);
	assert_int_equal(entries(dir.fd, "corpus/t"), 2);
	assert_true(corpus_has("one") && corpus_has("four"));
	assert_int_equal(entries(dir.fd, "generations/t"), 1);
	assert_int_equal(entries(dir.fd, "generations/t/1"), 4);
	assert_true(holds(dir.fd, in_generation(1, name_of("two")), "two"));
	assert_true(holds(dir.fd, in_generation(1, "seed of a user"), "seed"));
	assert_int_equal(recovers(2), GENERATION_CLEAN);

	/* Links, not copies. */
	struct stat a, b;
	assert_int_equal(fstatat(dir.fd, in_corpus(name_of("one")), &a, 0), 0);
	assert_int_equal(fstatat(dir.fd, in_generation(1, name_of("one")), &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
}

static void test_kept(void **state)
{
	static const char *const more[] = {"five", "six", "seven", "eight"};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		char oldest[16];

		input(stage, name_of(more[i]), more[i]);
		know(&known, more[i]);
		know(&chosen, more[i]);
		assert_int_equal(replaces(2).kept, i + 1);
		assert_int_equal(entries(dir.fd, "corpus/t"), 3 + i);
		assert_int_equal(entries(dir.fd, "generations/t"), i == 0 ? 1 : 2);
		snprintf(oldest, sizeof(oldest), "generations/t/%u", i);
		assert_true(i == 0 || scratch_has(dir.fd, oldest));
	}
	assert_true(holds(dir.fd, in_generation(4, name_of("seven")), "seven"));
	assert_false(scratch_has(dir.fd, in_generation(4, name_of("eight"))));
	assert_false(scratch_has(dir.fd, "generations/t/2"));

	/* Fewer generations are kept from now on, then none; the numbers continue. */
	assert_int_equal(replaces(1).kept, 5);
	assert_int_equal(entries(dir.fd, "generations/t"), 1);
	assert_int_equal(replaces(0).kept, 0);
	assert_int_equal(entries(dir.fd, "generations/t"), 0);
	assert_int_equal(entries(dir.fd, "corpus/t"), 6);
}

/* Every file that is no candidate stays. */
static void test_carried(void **state)
{
	struct generation_result r;
	char target[16] = "";

	(void)state;
	input(dir.fd, in_corpus(name_of("late")), "late");
	input(dir.fd, in_corpus("late, too"), "later");
	input(dir.fd, in_corpus(".notes"), "notes");
	input(dir.fd, in_corpus(".0123.new"), "a copy that was cut");
	close(make_dir_at(dir.fd, "corpus/t/d"));
	input(dir.fd, in_corpus("d/x"), "x");
	assert_int_equal(symlinkat("nowhere", dir.fd, in_corpus("link")), 0);
	assert_int_equal(mkfifoat(dir.fd, in_corpus("fifo"), 0600), 0);
	sparse_file(dir.fd, in_corpus("large"), (off_t)WORKDIR_INPUT_MAX + 1);
	r = replaces(0);
	assert_int_equal(r.carried, 7);
	assert_int_equal(r.files, 2);
	assert_true(corpus_has("one") && corpus_has("four"));
	assert_true(corpus_has("late") && corpus_has("later"));
	assert_true(holds(dir.fd, in_corpus(".notes"), "notes"));
	assert_true(holds(dir.fd, in_corpus("d/x"), "x"));
	assert_true(readlinkat(dir.fd, in_corpus("link"), target, sizeof(target)) == 7);
	assert_true(scratch_has(dir.fd, in_corpus("fifo")));
	assert_int_equal(size_of(dir.fd, in_corpus("large")), (off_t)WORKDIR_INPUT_MAX + 1);
	assert_int_equal(entries(dir.fd, "corpus/t"), 9);
	assert_int_equal(entries(dir.fd, "generations/t"), 0);
	/* A file with another name than its hash is a candidate by its content only. */
	input(dir.fd, in_corpus(name_of("two")), "liar");
	assert_int_equal(replaces(0).carried, 8); /* the inputs again, and this */
	assert_true(corpus_has("liar"));
	assert_false(scratch_has(dir.fd, in_corpus(name_of("two"))));
}

/* Owner and mode are the user's choice. */
static void test_owner(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(fchmodat(dir.fd, "corpus/t", 02775, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(fchownat(dir.fd, "corpus/t", 4711, 4712, 0), 0);
	assert_int_equal(fchmodat(dir.fd, "corpus/t", 02775, 0), 0);
	(void)replaces(1);
	assert_int_equal(fstatat(dir.fd, "corpus/t", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 02775);
	if (geteuid() == 0) {
		assert_int_equal(st.st_uid, 4711);
		assert_int_equal(st.st_gid, 4712);
	}
}

/* A target's first corpus. */
static void test_first(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(fs_remove_tree(dir.fd, "corpus/t", &e), 0);
	assert_true(replaces(1).replaced);
	assert_true(corpus_has("one") && corpus_has("four"));
	assert_int_equal(entries(dir.fd, "generations/t/1"), 0);
}

static void old_is_intact(void)
{
	assert_true(corpus_has("one") && corpus_has("two") && corpus_has("three"));
	assert_true(holds(dir.fd, in_corpus("seed of a user"), "seed"));
	assert_int_equal(entries(dir.fd, "corpus/t"), 4);
	assert_int_equal(entries(dir.fd, "generations/t"), 0);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"", ".", "..", ".hidden", "a/b", "a\nb"};
	struct generation_result ret;
	struct generation g;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(generation_open(dir.fd, bad[i], &g, &e), -EINVAL);
	chosen.n = 0;
	assert_int_equal(replace(2, &ret, &e), -ENODATA);
	assert_string_equal(e.msg, "the corpus of 't' would become empty");
	assert_false(ret.replaced);
	old_is_intact();

	/* A file in the stage differs from the measured one. */
	chosen.n = 1;
	scratch_write(stage, chosen.v[0].name, "changed");
	assert_int_equal(replace(2, &ret, &e), -EBADMSG);
	assert_memory_equal(e.msg, "replace the corpus of 't': '", 27);
	assert_int_equal(unlinkat(stage, chosen.v[0].name, 0), 0);
	assert_int_equal(replace(2, &ret, &e), -ENOENT);
	assert_false(ret.replaced);
	assert_int_equal(entries(dir.fd, "generations/t"), 0);
}

/* --- a corpus on its own file system -------------------------------------------------------- */

static int on_its_own(void)
{
	struct generation_result r;
	char path[64];

	snprintf(path, sizeof(path), "%s/corpus", dir.path);
	if (!mounts_are_ours() || mount("none", path, "tmpfs", 0, "size=1m") < 0)
		return FORKED_SKIP;
	close(dir.fd);
	dir.fd = open_dir_at(AT_FDCWD, dir.path); /* opened again, to see the mount */
	close(make_dir_at(dir.fd, "corpus/t"));
	input(dir.fd, in_corpus(name_of("two")), "two");
	r = replaces(1);
	if (!r.replaced || r.kept != 1)
		return 1;
	if (!corpus_has("one") || !corpus_has("four") || corpus_has("two"))
		return 2;
	if (!scratch_has(dir.fd, "corpus/.generations/t/1"))
		return 3;
	return recovers(1) == GENERATION_CLEAN && replaces(0).replaced ? 0 : 4;
}

static void test_other_file_system(void **state)
{
	(void)state;
	forked(on_its_own);
}

static const struct CMUnitTest tests[] = {
    CASE(test_replace), CASE(test_kept),    CASE(test_carried),		  CASE(test_owner),
    CASE(test_first),	CASE(test_refused), CASE(test_other_file_system),
};

UNIT_MAIN(tests)
