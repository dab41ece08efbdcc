/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/crash/vault.h"
#include "tests/unit/corpus/files.h"
#include "tests/unit/each.h"

#include <sys/wait.h>

#define SIGNATURE "0123456789abcdef"

static struct vault_item item_of(const char *input, const char *minimized, const char *report,
				 const char *meta)
{
	const char *text[VAULT_FILE_COUNT] = {input, minimized, report, meta};
	struct vault_item item = {.signature = SLICE(SIGNATURE)};

	for (int f = 0; f < VAULT_FILE_COUNT; f++)
		if (text[f])
			item.file[f] = slice_of(text[f]);
	return item;
}

static void save(const struct vault_item *item)
{
	struct err e = {0};

	if (vault_save(dir.fd, item, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

/* want NULL: the file must not exist. */
static void check_file(struct slice signature, enum vault_file f, const char *want)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;
	int r = vault_read(dir.fd, signature, "", f, &text, &n, &e);

	assert_int_equal(r, want ? 0 : -ENOENT);
	if (!want)
		return;
	assert_int_equal(n, strlen(want));
	assert_string_equal(text, want);
}

static void check_files(const char *input, const char *minimized, const char *report,
			const char *meta)
{
	struct slice s = SLICE(SIGNATURE);

	check_file(s, VAULT_INPUT, input);
	check_file(s, VAULT_MINIMIZED, minimized);
	check_file(s, VAULT_REPORT, report);
	check_file(s, VAULT_META, meta);
}

static void test_names(void **state)
{
	static const struct {
		const char *signature;
		const char *want;
	} t[] = {
	    {"0123456789abcdef", "0123456789abcdef"},
	    {"0123456789ABCDEF", "o-0123456789ABCDEF"},
	    {"0123456789abcde", "o-0123456789abcde"},
	    {"0123456789abcdef0", "o-0123456789abcdef0"},
	    {"..", "o-.."},
	    {"../../etc", "o-..%2F..%2Fetc"},
	    {"a%2Fb", "o-a%252Fb"},
	    {"o-x", "o-o-x"},
	    {"asan:heap overflow in f(int)", "o-asan%3Aheap%20overflow%20in%20f%28int%29"},
	};
	char name[VAULT_NAME], place[VAULT_PLACE], path[VAULT_PATH];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(vault_name(slice_of(t[i].signature), name, &e), 0);
		assert_string_equal(name, t[i].want);
		assert_true(fs_name_ok(slice_of(name)));
	}
	assert_int_equal(vault_name((struct slice){"\0\n\x7f\xff~", 5}, name, &e), 0);
	assert_string_equal(name, "o-%00%0A%7F%FF%7E");
	assert_int_equal(vault_place(SLICE(SIGNATURE), "", place, &e), 0);
	vault_path(place, VAULT_REPORT, path);
	assert_string_equal(path, "crashes/" SIGNATURE "/report.txt");
	assert_int_equal(vault_place(SLICE("a/b"), "png_fuzzer", place, &e), 0);
	vault_path(place, VAULT_MINIMIZED, path);
	assert_string_equal(path, "crashes/o-a%2Fb/by/png_fuzzer/minimized");
	assert_int_equal(vault_place(SLICE("a"), "../b", place, &e), -EINVAL);
	assert_string_equal(e.msg, "'../b' is no target's name");
	assert_int_equal(vault_name(SLICE(""), name, &e), -EINVAL);
	assert_string_equal(e.msg, "a crash without a signature");
	assert_int_equal(vault_place(SLICE(""), "", place, &e), -EINVAL);
}

/* Signatures of every length, plain and escaped, have different valid names. */
static void test_long_names(void **state)
{
	static char text[VAULT_SIGNATURE_MAX + 1];
	char a[VAULT_NAME], b[VAULT_NAME];
	struct err e;

	(void)state;
	for (int fill = 0; fill < 2; fill++) {
		memset(text, "a/"[fill], sizeof(text));
		for (size_t n = 1; n <= VAULT_SIGNATURE_MAX; n++) {
			struct slice s = {text, n};

			assert_int_equal(vault_name(s, a, &e), 0);
			assert_true(fs_name_ok(slice_of(a)));
			assert_true(strlen(a) <= VAULT_NAME - 1);
			text[n - 1] = 'b';
			assert_int_equal(vault_name(s, b, &e), 0);
			assert_string_not_equal(a, b);
			text[n - 1] = "a/"[fill];
		}
	}
	assert_int_equal(vault_name((struct slice){text, sizeof(text)}, a, &e), -EINVAL);
	assert_string_equal(e.msg, "a signature of more than 1024 bytes");
}

static void test_save(void **state)
{
	struct vault_item first = item_of("in", NULL, "report", "{}");
	struct vault_item later = item_of(NULL, "i", NULL, "{\"v\": 2}");
	struct vault_item empty = item_of("", NULL, NULL, NULL);

	(void)state;
	check_files(NULL, NULL, NULL, NULL);
	save(&first);
	check_files("in", NULL, "report", "{}");
	save(&later);
	check_files("in", "i", "report", "{\"v\": 2}");
	save(&empty);
	check_files("", "i", "report", "{\"v\": 2}");
	later.signature = SLICE("an older/one");
	save(&later);
	check_file(SLICE("an older/one"), VAULT_MINIMIZED, "i");
	check_file(SLICE("an older/one"), VAULT_INPUT, NULL);
	check_file(SLICE("an older_one"), VAULT_MINIMIZED, NULL);
	assert_int_equal(entries(dir.fd, "crashes"), 2);
	assert_int_equal(entries(dir.fd, "crashes/" SIGNATURE), 4);
}

static void test_bytes(void **state)
{
	_autofree_ char *text = NULL;
	struct vault_item item = {.signature = SLICE(SIGNATURE)};
	struct err e;
	size_t n;

	(void)state;
	item.file[VAULT_INPUT] = (struct slice){"\0a\n\0", 4};
	save(&item);
	assert_int_equal(vault_read(dir.fd, item.signature, "", VAULT_INPUT, &text, &n, &e), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(text, "\0a\n\0", 4);
	item.file[VAULT_META] = (struct slice){"x", VAULT_BYTES_MAX + 1};
	assert_int_equal(vault_save(dir.fd, &item, NULL, &e), -EFBIG);
	assert_string_equal(e.msg, "save a crash: 'meta.json' has 67108865 bytes");
}

static void test_odd_entries(void **state)
{
	struct vault_item item = item_of("in", NULL, NULL, NULL);
	struct err e;

	(void)state;
	/* Another kind of file in the place of the directory, or of one of its files. */
	assert_int_equal(mkdirat(dir.fd, "crashes", 0750), 0);
	assert_int_equal(symlinkat("/tmp", dir.fd, "crashes/" SIGNATURE), 0);
	assert_true(vault_save(dir.fd, &item, NULL, &e) < 0);
	assert_memory_equal(e.msg, "save crash '" SIGNATURE "': ", 31);
	assert_int_equal(unlinkat(dir.fd, "crashes/" SIGNATURE, 0), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/" SIGNATURE, 0750), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "crashes/" SIGNATURE "/input"), 0);
	save(&item); /* replaced, not written through */
	check_file(item.signature, VAULT_INPUT, "in");
}

static void test_sweep(void **state)
{
	struct vault_item item = item_of("in", NULL, NULL, NULL);
	struct err e;

	(void)state;
	assert_int_equal(vault_sweep(dir.fd, &e), 0);
	save(&item);
	assert_int_equal(mkdirat(dir.fd, "crashes/.x.new", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "crashes/.mine", 0700), 0);
	scratch_write(dir.fd, "crashes/.x.new/input", "half");
	scratch_write(dir.fd, "crashes/note.txt", "a user's");
	scratch_write(dir.fd, "crashes/" SIGNATURE "/.input.new", "half");
	scratch_write(dir.fd, "crashes/" SIGNATURE "/.mine.new", "a user's");
	assert_int_equal(vault_sweep(dir.fd, &e), 0);
	assert_int_equal(entries(dir.fd, "crashes"), 3);
	assert_int_equal(entries(dir.fd, "crashes/" SIGNATURE), 2);
	check_files("in", NULL, NULL, NULL);
}

/* Prepares the two kinds of saving, for faults: a new crash, and a known crash. */
static void prepare(bool is_old)
{
	struct vault_item old = item_of("old", "old m", "old r", "old x");

	each_teardown(NULL);
	each_setup(NULL);
	if (is_old)
		save(&old);
}

static struct vault_item news(void)
{
	return item_of("new input", "new m", NULL, "new x");
}

static bool is_either(enum vault_file f, const char *was, const char *will)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;
	int r = vault_read(dir.fd, SLICE(SIGNATURE), "", f, &text, &n, &e);

	if (r < 0)
		return r == -ENOENT && !was;
	return (was && strcmp(text, was) == 0) || (will && strcmp(text, will) == 0);
}

/* Each file is the old or the new one; of a new crash all files exist or none. */
static void check_whole(bool is_old)
{
	if (is_old) {
		assert_true(is_either(VAULT_INPUT, "old", "new input"));
		assert_true(is_either(VAULT_MINIMIZED, "old m", "new m"));
		assert_true(is_either(VAULT_REPORT, "old r", NULL));
		assert_true(is_either(VAULT_META, "old x", "new x"));
	} else if (entries(dir.fd, "crashes/" SIGNATURE) > 0) {
		check_files("new input", "new m", NULL, "new x");
	}
}

static void check_saved_again(bool is_old)
{
	struct vault_item item = news();
	struct err e;

	check_whole(is_old);
	save(&item);
	assert_int_equal(vault_sweep(dir.fd, &e), 0);
	check_files("new input", "new m", is_old ? "old r" : NULL, "new x");
	assert_int_equal(entries(dir.fd, "crashes"), 1);
	assert_int_equal(entries(dir.fd, "crashes/" SIGNATURE), is_old ? 4 : 3);
}

static unsigned fail_each(bool is_old)
{
	struct vault_item item = news();

	for (unsigned at = 1;; at++) {
		struct err e = {0};
		int r;

		prepare(is_old);
		fault_arm(at, FAULT_FAIL);
		r = vault_save(dir.fd, &item, NULL, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0) {
			check_saved_again(is_old);
			return at - 1;
		}
		assert_int_equal(r, -e.code);
		assert_memory_equal(e.msg, "save crash '" SIGNATURE "': ", 31);
		if (!is_old) /* and no part of it stays */
			assert_true(entries(dir.fd, "crashes") <= 1);
		check_saved_again(is_old);
	}
}

static unsigned die_at_each(bool is_old)
{
	struct vault_item item = news();

	for (unsigned at = 1;; at++) {
		struct err e;
		pid_t pid;
		int ws;

		prepare(is_old);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			fault_arm(at, FAULT_DIE);
			_exit(vault_save(dir.fd, &item, NULL, &e) < 0 ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &ws, 0), pid);
		assert_true(WIFEXITED(ws));
		check_saved_again(is_old);
		if (WEXITSTATUS(ws) == 0)
			return at - 1;
		assert_int_equal(WEXITSTATUS(ws), 86);
	}
}

static void test_faults(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		unsigned failed = fail_each(is_old), died = die_at_each(is_old);

		print_message("# %s: %u calls failed, died at %u\n", is_old ? "update" : "new",
			      failed, died);
		/* The exact numbers reveal a missing sync.  A file takes five calls (create, write,
		 * sync, rename, sync).  A new directory takes ten.  An old directory takes five,
		 * and one to read its owner. */
		assert_int_equal(failed, is_old ? 3 * 5 + 6 : 3 * 5 + 10);
		assert_int_equal(died, failed);
	}
}

/* The first target gets the crash's directory.  A target's files never replace those of another. */
static void test_targets(void **state)
{
	static const char path[] = "crashes/" SIGNATURE "/by/b";
	struct vault_item a = item_of("a", NULL, "report a", "{\"target\": \"a\"}");
	struct vault_item b = item_of("b", NULL, "report b", "{\"target\": \"b\"}");
	struct vault_item small = {.signature = SLICE(SIGNATURE), .target = "b"};
	char place[VAULT_PLACE];
	struct stat st;
	struct err e;

	(void)state;
	a.target = "a";
	b.target = "b";
	small.file[VAULT_MINIMIZED] = SLICE("m");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vault_save(dir.fd, &a, place, &e), 0);
		assert_string_equal(place, "crashes/" SIGNATURE);
		assert_int_equal(vault_save(dir.fd, &b, place, &e), 0);
		assert_string_equal(place, path);
		assert_int_equal(vault_save(dir.fd, &small, place, &e), 0);
		assert_string_equal(place, path);
	}
	for (const char *const *t = (const char *const[]){"a", "b", NULL}; *t; t++) {
		_autofree_ char *text = NULL;
		size_t n;

		assert_int_equal(vault_read(dir.fd, a.signature, *t, VAULT_INPUT, &text, &n, &e),
				 0);
		assert_string_equal(text, *t);
	}
	assert_int_equal(fstatat(dir.fd, "crashes/" SIGNATURE "/minimized", &st, 0), -1);
	/* Files that a killed writer left are removed. */
	scratch_write(dir.fd, "crashes/" SIGNATURE "/by/b/.input.new", "half");
	assert_int_equal(mkdirat(dir.fd, "crashes/" SIGNATURE "/by/.c.12345678.new", 0700), 0);
	assert_int_equal(vault_sweep(dir.fd, &e), 0);
	assert_int_equal(fstatat(dir.fd, "crashes/" SIGNATURE "/by/b/.input.new", &st, 0), -1);
	assert_int_equal(fstatat(dir.fd, "crashes/" SIGNATURE "/by/.c.12345678.new", &st, 0), -1);
}

static const struct CMUnitTest tests[] = {
    CASE(test_names),	    CASE(test_long_names), CASE(test_save),   CASE(test_bytes),
    CASE(test_odd_entries), CASE(test_sweep),	   CASE(test_faults), CASE(test_targets),
};

UNIT_MAIN(tests)
