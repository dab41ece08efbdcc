/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/scratch_dir.h"

#include "base/cleanup.h"
#include "runner/revision/shelf.h"

#include <limits.h>

#define COMMIT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define COMMIT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HOW	 "0123456789abcdef"

static const struct shelf_key a_png = {COMMIT_A, HOW, "png"}, a_all = {COMMIT_A, HOW, NULL},
			      b_png = {COMMIT_B, HOW, "png"};
static struct shelf_item item;

static int item_end(void **state)
{
	shelf_item_done(&item);
	return end(state);
}

static int load(const struct shelf_key *k)
{
	struct err e = {0};

	shelf_item_done(&item);
	return shelf_load(dir.fd, dir.path, k, &item, &e);
}

static void keep(const struct shelf_key *k, const char *content)
{
	char *program = NULL, *out = NULL, name[] = "png", test[] = "T", flag[] = "-max_len=5";
	char *flags[] = {flag};
	struct target t = {.name = name, .engine = engine_find("libfuzzer"), .test = test};
	const struct target_list all = {.v = &t, .n = 1};
	struct err e = {0};

	assert_int_equal(fs_mkdirs(dir.fd, "out/data", 0755, &e), 0);
	scratch_write(dir.fd, "out/png", content);
	scratch_write(dir.fd, "out/libx.so", "lib");
	scratch_write(dir.fd, "out/data/d", "data");
	scratch_write(dir.fd, "out/png_seed_corpus.zip", "seeds");
	assert_true(asprintf(&program, "%s/out/png", dir.path) > 0);
	assert_true(asprintf(&out, "%s/out", dir.path) > 0);
	t.binary = program;
	t.dir = out;
	t.flags = (struct strv){flags, 1};
	t.input_timeout_s = 7;
	if (shelf_keep(dir.fd, k, &all, &t, &e) < 0)
		fail_msg("%s", e.msg);
	free(program);
	free(out);
}

static const char *text_of(const char *directory, const char *name)
{
	static char text[100], path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return scratch_text(AT_FDCWD, path, text, sizeof(text));
}

static void test_target(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(load(&a_png), -ENOENT);
	keep(&a_png, "program");
	assert_int_equal(load(&a_png), 0);
	assert_int_equal(item.kind, SHELF_TARGET);
	assert_string_equal(item.target.name, "png");
	assert_ptr_equal(item.target.engine, engine_find("libfuzzer"));
	assert_string_equal(item.target.test, "T");
	assert_int_equal(item.target.flags.n, 1);
	assert_string_equal(item.target.flags.v[0], "-max_len=5");
	assert_int_equal(item.target.input_timeout_s, 7);
	assert_int_equal(stat(item.target.binary, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_string_equal(text_of(item.target.dir, "png"), "program");
	assert_string_equal(text_of(item.target.dir, "libx.so"), "lib");
	assert_string_equal(text_of(item.target.dir, "data/d"), "data");
	assert_string_equal(text_of(item.target.dir, "png_seed_corpus.zip"), "");
	assert_int_equal(load(&b_png), -ENOENT);

	keep(&a_png, "a newer one"); /* replaces it */
	assert_int_equal(load(&a_png), 0);
	assert_string_equal(text_of(item.target.dir, "png"), "a newer one");
}

static void test_notes(void **state)
{
	const struct shelf_key other = {COMMIT_A, "fedcba9876543210", "png"};
	struct err e = {0};

	(void)state;
	assert_int_equal(shelf_note(dir.fd, &b_png, SHELF_ABSENT, "", &e), 0);
	assert_int_equal(load(&b_png), 0);
	assert_int_equal(item.kind, SHELF_ABSENT);
	assert_int_equal(shelf_note(dir.fd, &a_all, SHELF_UNBUILT, "make: *** [all] Error 1", &e),
			 0);
	assert_int_equal(load(&a_png), 0);
	assert_int_equal(item.kind, SHELF_UNBUILT);
	assert_string_equal(item.why, "make: *** [all] Error 1");
	assert_int_equal(load(&other), -ENOENT);
}

/* A name that leads elsewhere, and a damaged item. */
static void test_bad(void **state)
{
	const struct shelf_key up = {COMMIT_A, HOW, "../x"}, no = {"HEAD", HOW, "png"};
	char path[200];
	struct err e = {0};

	(void)state;
	assert_int_equal(load(&up), -EINVAL);
	assert_int_equal(load(&no), -EINVAL);
	keep(&a_png, "program");
	snprintf(path, sizeof(path), "revisions/" COMMIT_A "-" HOW "-png/built.json");
	scratch_write(dir.fd, path,
		      "{\"kind\": \"target\", \"engine\": \"libfuzzer\","
		      " \"program\": \"../../../x\"}");
	assert_int_equal(load(&a_png), -ENOENT);
	assert_false(scratch_has(dir.fd, path)); /* it is built again */
	keep(&a_png, "program");
	scratch_write(dir.fd, path, "{");
	assert_int_equal(load(&a_png), -ENOENT);
	/* What a killed writer left. */
	assert_int_equal(fs_mkdirs(dir.fd, "revisions/.new/files/old", 0755, &e), 0);
	keep(&a_png, "program");
	assert_int_equal(load(&a_png), 0);
	assert_string_equal(text_of(item.target.dir, "old"), "");
	assert_false(scratch_has(dir.fd, "revisions/.new"));
}

/* The item that was not used for the longest time goes first. */
static void test_trim(void **state)
{
	const struct timespec old[2] = {{1000, 0}, {1000, 0}};
	struct err e = {0};

	(void)state;
	keep(&a_png, "program");
	keep(&b_png, "program");
	assert_int_equal(utimensat(dir.fd, "revisions/" COMMIT_B "-" HOW "-png", old, 0), 0);
	assert_int_equal(load(&b_png), 0); /* it is used */
	assert_int_equal(utimensat(dir.fd, "revisions/" COMMIT_A "-" HOW "-png", old, 0), 0);
	assert_int_equal(shelf_trim(dir.fd, UINT64_C(1) << 30, &e), 0);
	assert_int_equal(load(&b_png), 0);
	assert_int_equal(shelf_trim(dir.fd, 50000, &e), 0);
	assert_int_equal(load(&a_png), -ENOENT);
	assert_int_equal(load(&b_png), 0);
	assert_int_equal(shelf_trim(dir.fd, 0, &e), 0); /* it is in use */
	assert_int_equal(load(&b_png), 0);
	assert_int_equal(shelf_forget(dir.fd, &b_png, &e), 0);
	assert_int_equal(load(&b_png), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, item_end)
static const struct CMUnitTest tests[] = {
    TEST(test_target),
    TEST(test_notes),
    TEST(test_bad),
    TEST(test_trim),
};

UNIT_MAIN(tests)
