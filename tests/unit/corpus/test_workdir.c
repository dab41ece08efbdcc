/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/workdir.h"

static void test_prepare(void **state)
{
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200], linked[64];
	struct err e;

	(void)state;
	scratch_write(corpus, name_of("one"), "one");
	scratch_write(corpus, name_of("two"), "two");
	scratch_write(corpus, ".half.new", "half");
	assert_int_equal(fchmodat(corpus, name_of("one"), 0644, 0), 0);
	close(make_dir_at(corpus, "directory"));
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_string_equal(note, "");
	assert_int_equal(seeds.files, 2);
	assert_int_equal(seeds.bytes, 6);
	assert_int_equal(seeds.skipped, 1);
	assert_int_equal(entries(work, "t"), 3);
	assert_int_equal(entries(work, "t/seeds"), 2);
	/* Only the cell has access to its directories; it may only read the seeds. */
	assert_int_equal(stat_of(work, "t/corpus").st_mode & 07777, 0700);
	assert_int_equal(stat_of(work, "t/corpus").st_uid, cell_uid());
	assert_int_equal(stat_of(work, "t/artifacts").st_mode & 07777, 0700);
	assert_int_equal(stat_of(work, "t/artifacts").st_uid, cell_uid());
	assert_int_equal(stat_of(work, "t/seeds").st_mode & 07777, 0755);
	assert_int_equal(stat_of(work, "t/seeds").st_uid, geteuid());
	snprintf(linked, sizeof(linked), "t/seeds/%s", name_of("one"));
	assert_int_equal(stat_of(work, linked).st_ino, stat_of(corpus, name_of("one")).st_ino);
	/* A file that only we may read is copied for the cell. */
	snprintf(linked, sizeof(linked), "t/seeds/%s", name_of("two"));
	assert_int_not_equal(stat_of(work, linked).st_ino, stat_of(corpus, name_of("two")).st_ino);
	assert_int_equal(stat_of(work, linked).st_mode & 07777, 0644);
	assert_true(holds(work, linked, "two"));

	/* A second time, after a pause or a kill: the same result. */
	scratch_write(corpus, name_of("three"), "three");
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_int_equal(entries(work, "t/seeds"), 3);
}

/* The cell gets only regular files: no link that leads out, and no FIFO. */
static void test_prepare_odd(void **state)
{
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200], secret[64];
	struct err e;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd_entries(corpus, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	scratch_write(corpus, "a user's name", "content");
	assert_int_equal(fchmodat(corpus, "a user's name", 0644, 0), 0);
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_int_equal(seeds.files, 1);
	assert_int_equal(seeds.skipped, ODD_ENTRIES);
	assert_int_equal(entries(work, "t/seeds"), 1);
}

/* An input that exists is not copied again, whatever its name at the source is.  A user's file is
 * never linked. */
static void test_prepare_once(void **state)
{
	char a[64], path[64];
	const char *const dirs[] = {a, a, NULL};
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200];
	struct err e;
	int in;

	(void)state;
	snprintf(a, sizeof(a), "%s/in-tree", dir.path);
	in = make_dir_at(dir.fd, "in-tree");
	scratch_write(corpus, name_of("both"), "both");
	assert_int_equal(fchmodat(corpus, name_of("both"), 0644, 0), 0);
	scratch_write(in, "both.png", "both");
	scratch_write(in, name_of("named"), "named");
	scratch_write(in, "empty", "");
	p.seed_dirs = dirs;
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_int_equal(seeds.files, 2);
	assert_int_equal(seeds.bytes, 9);
	assert_int_equal(seeds.skipped, 0);
	assert_int_equal(entries(work, "t/seeds"), 2);
	snprintf(path, sizeof(path), "t/seeds/%s", name_of("named"));
	assert_true(holds(work, path, "named"));
	assert_int_equal(stat_of(work, path).st_nlink, 1);
	scratch_write(in, name_of("named"), "changed in place");
	assert_true(holds(work, path, "named"));
	close(in);
}

/* The next cell needs these modes, and without root fuzzcell needs them, too. */
static void test_collect_closed(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	_autobuf_ struct buf names = BUF_INIT(1000);
	struct workdir_found f;
	struct err e;

	(void)state;
	prepare();
	assert_int_equal(fchmodat(work, "t/artifacts", 0, 0), 0);
	assert_int_equal(fchmodat(work, "t/corpus", 0500, 0), 0);
	assert_int_equal(workdir_collect(&c, &f, &names, &e), 0);
	assert_int_equal(stat_of(work, "t/artifacts").st_mode & 07777, 0700);
	assert_int_equal(stat_of(work, "t/corpus").st_mode & 07777, 0700);
}

/* The cell is another user: a tight umask must not lock it out of its seeds. */
static void test_prepare_umask(void **state)
{
	(void)state;
	umask(077);
	prepare();
	umask(022);
	assert_int_equal(stat_of(work, "t").st_mode & 07777, 0755);
	assert_int_equal(stat_of(work, "t/seeds").st_mode & 07777, 0755);
	assert_int_equal(stat_of(work, "t/corpus").st_mode & 07777, 0700);
}

static void test_prepare_seeds(void **state)
{
	char a[64], none[64], zip[64];
	const char *const dirs[] = {a, none, NULL};
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200];
	struct err e;
	int in;

	(void)state;
	snprintf(a, sizeof(a), "%s/in-tree", dir.path);
	snprintf(none, sizeof(none), "%s/none", dir.path);
	snprintf(zip, sizeof(zip), "%s/t_seed_corpus.zip", dir.path);
	in = make_dir_at(dir.fd, "in-tree");
	scratch_write(in, "readable name.png", "png");
	scratch_write(in, "the same.png", "png");
	odd_entries(in, "", zip, (off_t)WORKDIR_INPUT_MAX + 1);
	close(in);
	scratch_write(dir.fd, "t_seed_corpus.zip", "PK\003\004 this is no archive");
	p.seed_dirs = dirs;
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_int_equal(seeds.files, 1);
	assert_int_equal(seeds.bytes, 3);
	assert_int_equal(seeds.skipped, ODD_ENTRIES);
	assert_non_null(strstr(note, none));
	assert_int_equal(entries(work, "t/seeds"), 1);
	/* A damaged archive does not affect the other seeds. */
	p.seed_archive = zip;
	p.seed_dirs = NULL;
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_non_null(strstr(note, "t_seed_corpus.zip"));
	assert_int_equal(entries(work, "t/seeds"), 1);
}

static void test_prepare_faults(void **state)
{
	unsigned at = 1;

	(void)state;
	scratch_write(corpus, name_of("one"), "one");
	scratch_write(corpus, name_of("two"), "two");
	assert_int_equal(fchmodat(corpus, name_of("one"), 0644, 0), 0);
	for (;; at++) {
		struct workdir_prepare p = preparation();
		struct workdir_seeds seeds;
		struct err e = {0};
		char note[200];
		int r;

		fault_arm(at, FAULT_FAIL);
		r = workdir_prepare(&p, &seeds, note, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		assert_memory_equal(e.msg, "prepare 't': ", 13);
		assert_int_equal(fs_remove_tree(work, "t", &e), 0);
	}
	assert_true(at > 10);
	assert_int_equal(entries(work, "t/seeds"), 2);
	assert_true(holds(corpus, name_of("one"), "one"));
}

static void test_collect(void **state)
{
	char names[256], path[64];
	struct workdir_found f;

	(void)state;
	scratch_write(corpus, name_of("old"), "old");
	prepare();
	f = collect(ENGINE_ARTIFACT_NONE, names, sizeof(names)); /* nothing */
	assert_int_equal(f.inputs + f.input_bytes + f.failures + f.skipped, 0);
	assert_string_equal(names, "");
	assert_false(scratch_has(crashes, "t"));

	scratch_write(work, "t/corpus/new", "new!");
	leave("crash", "boom");
	f = collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(f.inputs, 1);
	assert_int_equal(f.input_bytes, 4);
	assert_int_equal(f.failures, 1);
	assert_int_equal(f.skipped, 0);
	assert_int_equal(strlen(names), 47);
	assert_memory_equal(names, artifact_of("crash", "boom"), 46);
	assert_int_equal(names[46], '\n');
	assert_true(holds(corpus, name_of("new!"), "new!"));
	assert_true(holds(corpus, name_of("old"), "old"));
	assert_int_equal(entries(crashes, "t"), 1);
	assert_int_equal(entries(work, "t/artifacts"), 0);
	/* The next cell continues with the directory, and its files are counted anew. */
	snprintf(path, sizeof(path), "t/seeds/%s", name_of("new!"));
	assert_true(holds(work, path, "new!"));
	assert_int_equal(entries(work, "t/corpus"), 0);

	/* The same crash again is a second failure, but no second file. */
	scratch_write(work, fresh("crash", "a forged name"), "boom");
	f = collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(f.failures, 1);
	assert_int_equal(f.inputs, 0);
	assert_int_equal(entries(crashes, "t"), 1);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *name;
		enum engine_artifact cause;
		const char *kind;
		bool failure;
	} t[] = {
	    {"crash", ENGINE_ARTIFACT_NONE, "crash", true},
	    {"timeout", ENGINE_ARTIFACT_NONE, "timeout", true},
	    {"oom", ENGINE_ARTIFACT_NONE, "oom", true},
	    {"leak", ENGINE_ARTIFACT_NONE, "leak", true},
	    {"slow-unit", ENGINE_ARTIFACT_NONE, "slow-unit", false},
	    /* A forced dump by fuzzcell: the engine can only call it a crash. */
	    {"crash", ENGINE_ARTIFACT_OOM, "oom", true},
	    {"crash", ENGINE_ARTIFACT_PIDS, "pids", true},
	    {"crash", ENGINE_ARTIFACT_SYSCALL, "syscall", true},
	    {"crash", ENGINE_ARTIFACT_TIMEOUT, "timeout", true},
	    {"crash", ENGINE_ARTIFACT_SLOW, "slow-unit", false},
	    /* The engine's watchdog came first. */
	    {"timeout", ENGINE_ARTIFACT_OOM, "oom", true},
	    {"timeout", ENGINE_ARTIFACT_PIDS, "pids", true},
	    {"timeout", ENGINE_ARTIFACT_SLOW, "timeout", true},
	    {"leak", ENGINE_ARTIFACT_OOM, "leak", true},
	    {"slow-unit", ENGINE_ARTIFACT_OOM, "slow-unit", false},
	};

	(void)state;
	prepare();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char path[80], input[32], names[256];
		struct workdir_found f;

		snprintf(input, sizeof(input), "input %zu", i);
		leave(t[i].name, input);
		scratch_write(corpus, name_of(input), input);
		f = collect(t[i].cause, names, sizeof(names));
		print_message("# %s: %s", t[i].name, names);
		snprintf(path, sizeof(path), "t/%s", artifact_of(t[i].kind, input));
		assert_true(holds(crashes, path, input));
		assert_int_equal(f.failures, t[i].failure);
		/* A slow unit is no failure: it may stay as a seed. */
		assert_int_equal(scratch_has(corpus, name_of(input)), !t[i].failure);
	}
	assert_int_equal(entries(crashes, "t"), sizeof(t) / sizeof(t[0]));
}

/* Of a target that did not stop only the current input is queued, not the inputs that the engine
 * reports as slow. */
static void test_unanswered(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_SLOW);
	_autobuf_ struct buf names = BUF_INIT(1 << 10);
	struct workdir_found f;
	struct err e;

	(void)state;
	c.unanswered = true;
	prepare();
	leave("crash", "in work");
	leave("slow-unit", "slow");
	scratch_write(corpus, name_of("in work"), "in work");
	assert_int_equal(workdir_collect(&c, &f, &names, &e), 0);
	assert_int_equal(f.failures, 0);
	assert_int_equal(f.suspects, 1);
	assert_int_equal(entries(queued, "t"), 1);
	assert_int_equal(entries(crashes, "t"), 2);
	assert_true(scratch_has(corpus, name_of("in work")));
}

/* A forced stop explains only the artifact that it caused. */
static void test_forced_stop(void **state)
{
	static const struct {
		int64_t seconds; /* of the forced stop, from the artifact's ctime */
		const char *kind;
	} t[] = {{-1, "slow-unit"}, {0, "slow-unit"}, {1, "crash"}};

	(void)state;
	prepare();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autobuf_ struct buf names = BUF_INIT(1000);
		struct workdir_collect c = collection(ENGINE_ARTIFACT_SLOW);
		struct workdir_found f = {0};
		char input[32], path[80];
		struct stat st;
		struct err e;

		snprintf(input, sizeof(input), "input %zu", i);
		leave("crash", input);
		st = stat_of(work, fresh("crash", input));
		c.forced_ns =
		    (st.st_ctim.tv_sec + t[i].seconds) * INT64_C(1000000000) + st.st_ctim.tv_nsec;
		assert_int_equal(workdir_collect(&c, &f, &names, &e), 0);
		snprintf(path, sizeof(path), "t/%s", artifact_of(t[i].kind, input));
		assert_true(holds(crashes, path, input));
		assert_int_equal(f.failures, strcmp(t[i].kind, "crash") == 0);
	}
}

/* Another build's input stays in that build's corpus, and is no seed of this build again. */
static void test_quarantine_of_borrowed(void **state)
{
	_autobuf_ struct buf names = BUF_INIT(1 << 16);
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_prepare p = preparation();
	struct workdir_found found;
	struct workdir_seeds seeds;
	char theirs[64], path[64], note[200];
	const char *const dirs[] = {theirs, NULL};
	struct err e;
	int in;

	(void)state;
	in = make_dir_at(dir.fd, "theirs");
	snprintf(theirs, sizeof(theirs), "%s/theirs", dir.path);
	scratch_write(in, name_of("bad"), "bad");
	scratch_write(in, name_of("good"), "good");
	scratch_write(corpus, name_of("own"), "own");
	p.seed_dirs = dirs;
	p.quarantine = quarantined;
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
		assert_int_equal(seeds.files, turn ? 0 : 3); /* those that came new */
		assert_int_equal(entries(work, "t/seeds"), turn ? 2 : 3);
		leave("crash", "bad");
		c.borrows = true;
		assert_int_equal(workdir_collect(&c, &found, &names, &e), 0);
		assert_int_equal(found.taken, turn ? 0 : 1);
		snprintf(path, sizeof(path), "t/%s", name_of("bad"));
		assert_true(holds(quarantined, path, "bad"));
		assert_true(holds(in, name_of("bad"), "bad"));
	}
	/* An input of its own is moved. */
	leave("crash", "own");
	assert_int_equal(workdir_collect(&c, &found, &names, &e), 0);
	assert_int_equal(entries(quarantined, "t"), 2);
	assert_int_equal(faccessat(corpus, name_of("own"), F_OK, 0), -1);
	close(in);
}

/* A failing input must not be in the corpus when the next cell starts, and must not be lost. */
static void test_quarantine(void **state)
{
	char names[256], path[64];

	(void)state;
	scratch_write(corpus, name_of("bad"), "bad");
	scratch_write(corpus, name_of("good"), "good");
	prepare();
	snprintf(path, sizeof(path), "t/corpus/%s", name_of("bad"));
	scratch_write(work, path, "bad");
	snprintf(path, sizeof(path), "t/corpus/%s", name_of("found and bad"));
	scratch_write(work, path, "found and bad");
	close(make_dir_at(work, "t/others"));
	snprintf(path, sizeof(path), "t/others/%s", name_of("bad"));
	scratch_write(work, path, "bad");
	snprintf(path, sizeof(path), "t/others/%s", name_of("of another target"));
	scratch_write(work, path, "of another target");
	leave("timeout", "bad");
	leave("oom", "found and bad");
	assert_int_equal(collect(ENGINE_ARTIFACT_NONE, names, sizeof(names)).failures, 2);
	assert_int_equal(entries(work, "t/corpus"), 0);
	assert_int_equal(entries(work, "t/seeds"), 1);
	assert_int_equal(entries(work, "t/others"), 1);
	assert_int_equal(entries(corpus, "."), 1);
	assert_true(holds(corpus, name_of("good"), "good"));
	snprintf(path, sizeof(path), "t/%s", name_of("bad"));
	assert_true(holds(quarantined, path, "bad"));
	assert_int_equal(entries(quarantined, "t"), 1); /* the other artifact is only a new crash */
	assert_int_equal(entries(crashes, "t"), 2);
	prepare();
	assert_int_equal(entries(work, "t/seeds"), 1);
}

/* Every failure waits for triage until triage is done; a slow unit does not. */
static void test_queue(void **state)
{
	char names[256], path[80];

	(void)state;
	prepare();
	leave("slow-unit", "slow");
	collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_false(scratch_has(queued, "t"));
	leave("crash", "bad");
	leave("slow-unit", "slow");
	collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	snprintf(path, sizeof(path), "t/%s", artifact_of("crash", "bad"));
	assert_true(holds(queued, path, "bad"));
	assert_int_equal(entries(queued, "t"), 1);
	leave("crash", "bad"); /* a second time, while the first still waits */
	collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(entries(queued, "t"), 1);
	assert_int_equal(unlinkat(queued, path, 0), 0); /* triaged */
	assert_true(holds(crashes, path, "bad"));
	leave("crash", "bad"); /* seen again */
	collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(entries(queued, "t"), 1);
}

/* Links lead to files outside of the cell, and names may have escape sequences. */
static void test_hostile(void **state)
{
	char secret[64], names[256];
	struct workdir_found f;
	int at;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	prepare();
	at = open_dir_at(work, "t/artifacts");
	odd_entries(at, "crash", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	odd_entries(at, "oom", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	close(make_dir_at(at, artifact_of("leak", "directory")));
	scratch_write(at, "no artifact", "x");
	scratch_write(at, "crash-\n\x1b[2J\nslow-unit-x", "newline");
	leave("crash", "honest");
	close(at);
	at = open_dir_at(work, "t/corpus");
	odd_entries(at, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	scratch_write(at, "a\nb", "input");
	close(at);
	f = collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(f.failures, 1);
	assert_int_equal(f.inputs, 1);
	/* All odd files, the directory, and two names that are no artifact names. */
	assert_int_equal(f.skipped, 3 * ODD_ENTRIES + 3);
	assert_int_equal(strlen(names), 47);
	assert_null(strchr(names, '\x1b'));
	assert_int_equal(entries(crashes, "t"), 1);
	assert_int_equal(entries(corpus, "."), 1);
	assert_int_equal(entries(work, "t/artifacts"),
			 0); /* otherwise the next collection would find them again */
	assert_true(holds(dir.fd, "secret", "secret"));
}

/* A run keeps a limited number of artifacts of a target, over all its collections. */
static void test_many(void **state)
{
	static char names[1 << 20];
	struct workdir_found f;
	char text[16];

	(void)state;
	prepare();
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "%u", i);
		leave("crash", text);
	}
	f = collect(ENGINE_ARTIFACT_NONE, names, sizeof(names));
	assert_int_equal(f.failures, WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(f.dropped, 10000 - WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(entries(crashes, "t"), WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(entries(queued, "t"), WORKDIR_ARTIFACTS_MAX);
	assert_int_equal(entries(work, "t/artifacts"), 0);
	assert_int_equal(strlen(names), 47 * WORKDIR_ARTIFACTS_MAX);
}

/* More names than the list holds: only the list is cut. */
static void test_names_end(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100);
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found found;
	struct err e = {0};

	(void)state;
	prepare();
	for (char i = '0'; i < '5'; i++) {
		char text[] = {i, '\0'};

		leave("crash", text);
	}
	if (workdir_collect(&c, &found, &b, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(found.failures, 5);
	assert_int_equal(entries(crashes, "t"), 5);
	assert_int_equal(entries(work, "t/artifacts"), 0);
	assert_int_equal(b.n, 2 * 47);
}

static void test_collect_nothing_there(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(100);
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found found = {.inputs = 99};
	struct err e;

	(void)state;
	assert_int_equal(workdir_collect(&c, &found, &b, &e), -ENOENT);
	assert_memory_equal(e.msg, "collect 't': ", 13);
	assert_int_equal(found.inputs, 99);
	close(make_dir_at(work, "t")); /* killed during the preparation */
	assert_int_equal(workdir_collect(&c, &found, &b, &e), -ENOENT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_prepare, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_prepare_odd, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_prepare_once, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_collect_closed, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_prepare_umask, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_prepare_seeds, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_prepare_faults, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_collect, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_kinds, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_unanswered, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_forced_stop, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_quarantine, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_quarantine_of_borrowed, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_queue, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_hostile, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_many, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_names_end, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(test_collect_nothing_there, each_setup, each_teardown),
};

UNIT_MAIN(tests)
