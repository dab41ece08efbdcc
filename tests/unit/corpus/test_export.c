/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/transfer.h"

#include "base/cleanup.h"

static void fill(void)
{
	close(make_dir_at(s->dirfd, "corpus/png"));
	close(make_dir_at(s->dirfd, "corpus/css"));
	close(make_dir_at(s->dirfd, "corpus/none"));
	close(make_dir_at(s->dirfd, "corpus/.generations/png"));
	scratch_write(s->dirfd, "corpus/stray", "stray");
	scratch_write(s->dirfd, in_corpus("png", "one"), "one");
	scratch_write(s->dirfd, in_corpus("png", "the second"), "the second");
	scratch_write(s->dirfd, in_corpus("css", "three"), "three");
	scratch_write(s->dirfd, in_corpus("css", "damaged"), "dxmaged");
	scratch_write(s->dirfd, in_corpus("css", ""), "");
	scratch_write(s->dirfd, "corpus/css/readable name", "name");
	scratch_write(s->dirfd, "corpus/css/.left.new", "left");
}

static struct export_sum reported;

static void on_target(void *arg, const char *target, const struct export_sum *sum)
{
	(void)arg;
	(void)target;
	reported.files += sum->files;
	reported.bytes += sum->bytes;
	reported.skipped += sum->skipped;
}

static int export(int (*fn)(const struct export *, const char *, struct err *), const char *name,
		  const char *glob, struct err *e)
{
	struct strv targets = {0};
	struct export x = {.state_dirfd = s->dirfd, .targets = &targets, .report = on_target};
	int r = export_targets(s->dirfd, glob, &targets, e);

	reported = (struct export_sum){0};
	if (r == 0)
		r = fn(&x, path_of(name), e);
	strv_done(&targets);
	return r;
}

static void test_targets(void **state)
{
	struct strv v;
	struct err e;

	(void)state;
	assert_int_equal(export_targets(s->dirfd, NULL, &v, &e), 0);
	assert_int_equal(v.n, 0);
	fill();
	assert_int_equal(export_targets(s->dirfd, NULL, &v, &e), 0);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.v[0], "css");
	assert_string_equal(v.v[1], "none");
	assert_string_equal(v.v[2], "png");
	strv_done(&v);
	assert_int_equal(export_targets(s->dirfd, "p*", &v, &e), 0);
	assert_int_equal(v.n, 1);
	strv_done(&v);
	assert_true(export_is_archive("a/x.tar.gz") && export_is_archive("x.tgz") &&
		    export_is_archive("x.zip"));
	assert_false(export_is_archive("x") || export_is_archive("a/.zip") ||
		     export_is_archive("x.tar"));
}

static void check_round(const char *name)
{
	struct err e;

	assert_int_equal(export(export_archive, name, NULL, &e), 0);
	assert_int_equal(reported.files, 3);
	assert_int_equal(reported.bytes, 3 + 10 + 5);
	assert_int_equal(reported.skipped, 3);
	assert_int_equal(fs_remove_tree(s->dirfd, "corpus", &e), 0);
	assert_int_equal(mkdirat(s->dirfd, "corpus", 0755), 0);
	assert_int_equal(import(name, NULL).files, 3);
	assert_true(holds(s->dirfd, in_corpus("png", "the second"), "the second"));
	assert_true(holds(s->dirfd, in_corpus("css", "three"), "three"));
	assert_int_equal(entries(s->dirfd, "corpus"), 2);
}

static bool equal(const char *a, const char *b)
{
	_autofree_ char *p = NULL;
	_autofree_ char *q = NULL;
	size_t n, m;
	struct err e;

	assert_int_equal(fs_read(dir.fd, a, 1 << 20, &p, &n, &e), 0);
	assert_int_equal(fs_read(dir.fd, b, 1 << 20, &q, &m, &e), 0);
	return n > 100 && n == m && memcmp(p, q, n) == 0;
}

/* Export, import and export again: the same bytes. */
static void test_round(void **state)
{
	static const char *const names[][2] = {{"a.tar.gz", "b.tgz"}, {"a.zip", "b.zip"}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct err e;

		fill();
		check_round(names[i][0]);
		assert_int_equal(export(export_archive, names[i][1], NULL, &e), 0);
		assert_true(equal(names[i][0], names[i][1]));
		assert_int_equal(fs_remove_tree(s->dirfd, "corpus", &e), 0);
		assert_int_equal(mkdirat(s->dirfd, "corpus", 0755), 0);
	}
	assert_int_equal(entries(dir.fd, "."), 5);
}

static void test_tree(void **state)
{
	char path[200];
	struct err e;

	(void)state;
	fill();
	close(make_dir_at(dir.fd, "out"));
	scratch_write(dir.fd, "out/notes", "a user's");
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(export(export_tree, "out", "[cp]*", &e), 0);
		assert_int_equal(reported.files, 3);
		assert_int_equal(entries(dir.fd, "out"), 3);
		assert_int_equal(entries(dir.fd, "out/css"), 1);
		snprintf(path, sizeof(path), "out/png/%s", name_of("one"));
		assert_true(holds(dir.fd, path, "one"));
	}
	assert_true(holds(dir.fd, "out/notes", "a user's"));
	assert_int_equal(export(export_seed_corpora, "zips", NULL, &e), 0);
	assert_int_equal(entries(dir.fd, "zips"), 3);
	assert_int_equal(import("zips/css_seed_corpus.zip", NULL).known, 1);
	assert_int_equal(import("zips/png_seed_corpus.zip", "new").files, 2);
	assert_int_equal(export(export_archive, "no/where.zip", NULL, &e), -ENOENT);
	assert_int_equal(export(export_tree, "out/notes", NULL, &e), -ENOTDIR);
}

/* A full disk at any call leaves the old archive, and no other file. */
static void export_faults(const char *name)
{
	unsigned failed = 0;

	scratch_write(dir.fd, name, "the old one");
	for (unsigned nth = 1;; nth++) {
		struct err e = {0};
		unsigned before = entries(dir.fd, ".");
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = export(export_archive, name, NULL, &e);
		fault_arm(0, FAULT_FAIL);
		assert_int_equal(entries(dir.fd, "."), before);
		if (r == 0)
			break;
		failed++;
		assert_true(*e.msg);
		/* Only the last call, the sync of the directory, comes after the replacement. */
		if (strstr(e.msg, "fsync the directory"))
			continue;
		assert_true(holds(dir.fd, name, "the old one"));
	}
	assert_true(failed > 15);
	assert_false(holds(dir.fd, name, "the old one"));
}

static void test_export_faults(void **state)
{
	(void)state;
	fill();
	export_faults("a.tar.gz");
	export_faults("a.zip");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_targets),
    CASE(test_round),
    CASE(test_tree),
    CASE(test_export_faults),
};

UNIT_MAIN(tests)
