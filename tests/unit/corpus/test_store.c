/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/files.h"

#include <sys/wait.h>

static struct scratch dir;
static int from, to;

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	from = make_dir_at(dir.fd, "from");
	to = make_dir_at(dir.fd, "to");
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	close(from);
	close(to);
	scratch_remove(&dir);
	return 0;
}

static void test_names(void **state)
{
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	struct stat st;
	struct err e;

	(void)state;
	umask(077);
	scratch_write(from, "anything at all\n", "content");
	assert_int_equal(store_file(from, "anything at all\n", to, NULL, &sum, hex, &e), 0);
	assert_string_equal(hex, "040f06fd774092478d450774f5ba30c5da78acc8");
	assert_true(holds(to, hex, "content"));
	/* The cells' users can read the file, whatever the umask is. */
	assert_int_equal(fstatat(to, hex, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	umask(022);
	assert_int_equal(store_file(from, "anything at all\n", to, "crash", &sum, hex, &e), 0);
	assert_true(holds(to, artifact_of("crash", "content"), "content"));
	assert_int_equal(sum.files, 2);
	assert_int_equal(sum.bytes, 14);

	/* A second time the input is known, not new. */
	hex[0] = '\0';
	assert_int_equal(store_file(from, "anything at all\n", to, NULL, &sum, hex, &e), 0);
	assert_string_equal(hex, name_of("content"));
	assert_int_equal(sum.files, 2);
	scratch_write(from, "empty", "");
	assert_int_equal(store_file(from, "empty", to, NULL, &sum, hex, &e), 0);
	assert_true(scratch_has(to, "da39a3ee5e6b4b0d3255bfef95601890afd80709"));
	assert_int_equal(sum.files, 3);
	assert_int_equal(sum.skipped, 0);
	assert_int_equal(entries(to, "."), 3);
}

/* A file that a machine crash cut is written again, completely. */
static void test_wrong_size(void **state)
{
	struct store_sum sum = {0};
	char hex[STORE_NAME], tmp[STORE_NAME + 8];
	struct err e;

	(void)state;
	scratch_write(from, "a", "content");
	scratch_write(to, name_of("content"), "con");
	snprintf(tmp, sizeof(tmp), ".%s.new", name_of("content"));
	scratch_write(to, tmp, "the longer rest of a predecessor");
	assert_int_equal(store_file(from, "a", to, NULL, &sum, hex, &e), 0);
	assert_true(holds(to, hex, "content"));
	assert_int_equal(sum.files, 1);
	assert_int_equal(entries(to, "."), 1);

	/* The fast path, for files that the engine named: a different size, a link, or a name alone
	 * is not trusted. */
	scratch_write(to, name_of("content"), "");
	scratch_write(from, name_of("content"), "content");
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_true(holds(to, name_of("content"), "content"));
	assert_int_equal(unlinkat(to, name_of("content"), 0), 0);
	assert_int_equal(symlinkat("../from/a", to, name_of("content")), 0);
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(unlinkat(from, "a", 0), 0);
	assert_true(holds(to, name_of("content"), "content"));
	/* A file with another content's name, but another size, is stored by its content. */
	scratch_write(from, name_of("content"), "something else");
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_true(holds(to, name_of("content"), "content"));
	assert_true(holds(to, name_of("something else"), "something else"));
}

static void test_odd(void **state)
{
	struct store_sum sum = {0};
	char secret[64], hex[STORE_NAME] = "x";
	struct err e;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd_entries(from, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	sparse_file(from, "largest", (off_t)WORKDIR_INPUT_MAX);
	assert_int_equal(store_file(from, "link", to, NULL, &sum, hex, &e), 0);
	assert_string_equal(hex, "");
	assert_int_equal(store_file(from, "not there", to, NULL, &sum, hex, &e), 0);
	assert_int_equal(store_file(from, "not/there", to, NULL, &sum, hex, &e), 0);
	assert_int_equal(store_file(dir.fd, "from", to, NULL, &sum, hex, &e), 0);
	assert_int_equal(sum.skipped, 4);
	sum = (struct store_sum){0};
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.skipped, ODD_ENTRIES);
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.bytes, WORKDIR_INPUT_MAX);
	assert_int_equal(entries(to, "."), 1);
	assert_false(scratch_has(to, name_of("secret")));
}

/* An unreadable file is no reason to stop (in a child: root reads all files). */
static void test_unreadable(void **state)
{
	int ws;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		if (getenv("FUZZCELL_MUST_RUN"))
			fail_msg("this test must run, and needs root");
		skip();
	}
	scratch_write(from, "a", "a");
	scratch_write(from, "b", "b");
	close(make_dir_at(from, "d"));
	assert_int_equal(fchmodat(from, "a", 0, 0), 0);
	assert_int_equal(fchmodat(from, "b", 0644, 0), 0);
	assert_int_equal(fchmodat(from, "d", 0, 0), 0);
	assert_int_equal(fchmod(to, 0777), 0);
	assert_int_equal(fchmod(dir.fd, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store_sum sum = {0};
		struct err e;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		if (store_seeds(dir.fd, "from", to, &sum, &e) < 0)
			_exit(2);
		_exit(sum.files == 1 && sum.skipped == 2 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, 0);
	assert_true(holds(to, name_of("b"), "b"));
}

static void test_depth(void **state)
{
	struct store_sum sum = {0};
	char path[64] = "from", file[80];
	struct err e;

	(void)state;
	for (unsigned depth = 0; depth < 12; depth++) {
		snprintf(file, sizeof(file), "%s/file", path);
		scratch_write(dir.fd, file, path);
		snprintf(file, sizeof(file), "%s/.hidden", path);
		scratch_write(dir.fd, file, "hidden");
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
		close(make_dir_at(dir.fd, path));
	}
	assert_int_equal(symlinkat("..", from, "d/d/up"), 0);
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files, 9); /* from the directory itself, and eight levels below it */
	assert_int_equal(sum.skipped, 2);
	assert_false(scratch_has(to, name_of("hidden")));
	assert_true(holds(to, name_of("from/d/d"), "from/d/d"));

	/* The user's directory may be a link; a missing directory is an error with its name. */
	assert_int_equal(symlinkat("from/d", dir.fd, "alias"), 0);
	assert_int_equal(store_seeds(dir.fd, "alias", to, &sum, &e), 0);
	assert_int_equal(sum.files, 10); /* one deeper */
	assert_int_equal(store_seeds(dir.fd, "none", to, &sum, &e), -ENOENT);
	assert_string_equal(e.msg, "open directory 'none': No such file or directory");
}

/* Seeds from the user's directory are cloned where the file system can.  The content is the same
 * either way, and does not change with the user's file. */
static void test_seeds(void **state)
{
	struct store_sum sum = {0};
	char secret[64], path[64];
	struct stat a, b;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd_entries(from, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	scratch_write(from, "one.png", "one");
	scratch_write(from, "the same.png", "one");
	scratch_write(from, "empty", "");
	close(make_dir_at(from, "d"));
	scratch_write(from, "d/two", "two");
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files, 2);
	assert_int_equal(sum.bytes, 6);
	assert_int_equal(sum.known, 1);
	assert_int_equal(sum.skipped, ODD_ENTRIES);
	assert_true(sum.cloned == 0 || sum.cloned == 2);
	print_message("# %llu of 2 cloned\n", (unsigned long long)sum.cloned);
	assert_int_equal(entries(to, "."), 2);
	assert_true(holds(to, name_of("one"), "one"));
	assert_true(holds(to, name_of("two"), "two"));
	assert_int_equal(fstatat(from, "d/two", &a, 0), 0);
	assert_int_equal(fstatat(to, name_of("two"), &b, 0), 0);
	assert_int_not_equal(a.st_ino, b.st_ino);
	assert_int_equal(b.st_mode & 07777, 0644);
	snprintf(path, sizeof(path), "d/two");
	scratch_write(from, path, "changed");
	assert_true(holds(to, name_of("two"), "two"));
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files, 3);
	assert_int_equal(sum.known, 3);
}

/* No engine reads an empty input, but an empty artifact counts. */
static void test_empty(void **state)
{
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	struct err e;

	(void)state;
	scratch_write(from, "empty", "");
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files + sum.known + sum.skipped, 0);
	assert_int_equal(entries(to, "."), 0);
	assert_int_equal(store_file(from, "empty", to, "crash", &sum, hex, &e), 0);
	assert_int_equal(sum.files, 1);
}

static void test_many(void **state)
{
	struct store_sum sum = {0};
	char text[32];
	struct err e;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "%u\n", i);
		scratch_write(from, text, text);
	}
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files, 10000);
	assert_int_equal(entries(to, "."), 10000);
	sum = (struct store_sum){0};
	assert_int_equal(store_seeds(dir.fd, "from", to, &sum, &e), 0);
	assert_int_equal(sum.files, 0);
	assert_int_equal(sum.skipped, 0);
	assert_true(holds(to, name_of("9999\n"), "9999\n"));
}

/* True if the fault of call number `at` is still pending. */
static bool armed(unsigned at)
{
	while (at-- > 0)
		if (fault_hit("nothing", 0))
			return true;
	return false;
}

static void check_both(void)
{
	assert_true(holds(to, name_of("first"), "first"));
	assert_true(holds(to, name_of("second"), "second"));
	assert_int_equal(entries(to, "."), 2);
}

/* Any failing call is reported, or has no effect.  It leaves no partial and no temporary file, and
 * a second call succeeds. */
static unsigned faults(int (*store)(int, const char *, int, struct store_sum *, struct err *))
{
	unsigned at = 1, reported = 0;

	scratch_write(from, "a", "first");
	close(make_dir_at(from, "d"));
	scratch_write(from, "d/b", "second");
	for (;; at++) {
		struct store_sum sum = {0};
		struct err e = {0};
		bool met;
		int r;

		(void)unlinkat(to, name_of("first"), 0);
		(void)unlinkat(to, name_of("second"), 0);
		fault_arm(at, FAULT_FAIL);
		r = store(dir.fd, "from", to, &sum, &e);
		met = !armed(at);
		fault_arm(0, FAULT_FAIL);
		assert_int_equal(sum.skipped, 0);
		assert_int_equal(entries(to, "."), sum.files);
		if (r == 0) {
			check_both();
			if (!met)
				return reported;
			continue;
		}
		reported++;
		assert_int_equal(r, -e.code);
		assert_true(*e.msg);
		assert_int_equal(store(dir.fd, "from", to, &sum, &e), 0);
		assert_int_equal(sum.files, 2);
		check_both();
	}
}

static void test_faults(void **state)
{
	(void)state;
	assert_true(faults(store_seeds) > 10);
}

static void test_seeds_faults(void **state)
{
	(void)state;
	assert_true(faults(store_seeds) > 5); /* clones need fewer calls */
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_names),  CASE(test_wrong_size),	CASE(test_odd),	  CASE(test_unreadable),
    CASE(test_depth),  CASE(test_many),		CASE(test_seeds), CASE(test_empty),
    CASE(test_faults), CASE(test_seeds_faults),
};

UNIT_MAIN(tests)
