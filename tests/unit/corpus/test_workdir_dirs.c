/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that an engine makes in artifacts/, and files that the cell writes for us to read. */
#include "tests/unit/corpus/workdir.h"

#include "runner/engine/afl/afl.h"

#define CRASH "id:000000,sig:06,src:000002,time:5735,execs:25195,op:havoc,rep:4"
#define HANG  "id:000000,src:000002,time:3908,execs:8015,op:havoc,rep:2"
#define FOUND "id:000001,src:000000,time:1,execs:2,op:havoc,rep:2,+cov"
#define GIVEN "id:000000,time:0,execs:0,orig:b6589fc6ab0dc82cf12099d1c2d40ab994e8410c"

static void engine_leaves(const char *path, const char *content)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "t/artifacts/default/%s", path);
	scratch_write(work, full, content);
}

static void engine_makes_its_dirs(void)
{
	close(make_dir_at(work, "t/artifacts/default/queue/.state"));
	close(make_dir_at(work, "t/artifacts/default/crashes"));
	close(make_dir_at(work, "t/artifacts/default/hangs"));
}

static struct workdir_found collect_afl(char *names, size_t n)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found found = {0};
	struct err e = {0};

	c.engine = &engine_afl;
	if (workdir_collect(&c, &found, &b, &e) < 0)
		fail_msg("%s", e.msg);
	snprintf(names, n, "%s", buf_str(&b));
	return found;
}

static void the_engines_dirs_are_collected(void **state)
{
	char names[400], want[64];
	struct workdir_found found;

	(void)state;
	prepare();
	engine_makes_its_dirs();
	engine_leaves("crashes/" CRASH, "crash");
	engine_leaves("crashes/README.txt", "no input");
	engine_leaves("hangs/" HANG, "hang");
	engine_leaves("queue/" FOUND, "found");
	engine_leaves("queue/" GIVEN, "given");
	engine_leaves("fuzzer_stats", "execs_done : 1");
	found = collect_afl(names, sizeof(names));
	assert_int_equal(found.failures, 2);
	assert_int_equal(found.inputs, 1);
	assert_int_equal(found.skipped, 0);
	assert_non_null(strstr(names, artifact_of("crash", "crash")));
	assert_non_null(strstr(names, artifact_of("timeout", "hang")));
	assert_true(holds(corpus, name_of("found"), "found"));
	assert_false(scratch_has(corpus, name_of("given")));
	snprintf(want, sizeof(want), "t/seeds/%s", name_of("found"));
	assert_true(scratch_has(work, want));
	assert_int_equal(entries(work, "t/artifacts"), 0);
	assert_int_equal(entries(work, "t/corpus"), 0);
	/* The next cell finds nothing of the one before. */
	found = collect_afl(names, sizeof(names));
	assert_int_equal(found.failures + found.inputs, 0);
}

/* A cell leads us to no file of the machine. */
static void links_are_not_followed(void **state)
{
	char names[400], secret[160];
	struct workdir_found found;

	(void)state;
	prepare();
	close(make_dir_at(dir.fd, "secret/queue"));
	scratch_write(dir.fd, "secret/queue/" FOUND, "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	assert_int_equal(symlinkat(secret, work, "t/artifacts/default"), 0);
	found = collect_afl(names, sizeof(names));
	assert_int_equal(found.inputs, 0);
	assert_true(scratch_has(dir.fd, "secret/queue/" FOUND));
	assert_int_equal(entries(work, "t/artifacts"), 0);

	engine_makes_its_dirs();
	assert_int_equal(unlinkat(work, "t/artifacts/default/queue/.state", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(work, "t/artifacts/default/queue", AT_REMOVEDIR), 0);
	snprintf(secret, sizeof(secret), "%s/secret/queue", dir.path);
	assert_int_equal(symlinkat(secret, work, "t/artifacts/default/queue"), 0);
	snprintf(secret, sizeof(secret), "%s/secret/queue/" FOUND, dir.path);
	assert_int_equal(symlinkat(secret, work, "t/artifacts/default/crashes/" CRASH), 0);
	found = collect_afl(names, sizeof(names));
	assert_int_equal(found.inputs + found.failures, 0);
	assert_true(scratch_has(dir.fd, "secret/queue/" FOUND));
}

/* The cell made what it could to keep us out. */
static void closed_dirs_are_opened(void **state)
{
	char names[400];

	(void)state;
	prepare();
	engine_makes_its_dirs();
	engine_leaves("crashes/" CRASH, "crash");
	assert_int_equal(fchmodat(work, "t/artifacts/default/crashes", 0, 0), 0);
	assert_int_equal(fchmodat(work, "t/artifacts/default", 0, 0), 0);
	assert_int_equal(collect_afl(names, sizeof(names)).failures, 1);
}

static void a_killed_runs_engine_is_known(void **state)
{
	(void)state;
	prepare();
	assert_ptr_equal(workdir_engine(work, "t"), engine_find("libfuzzer"));
	engine_makes_its_dirs();
	assert_ptr_equal(workdir_engine(work, "t"), &engine_afl);
	assert_ptr_equal(workdir_engine(work, "missing"), engine_find("libfuzzer"));
}

static void a_seed_is_there(void **state)
{
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200];
	struct err e;

	(void)state;
	p.needs_seed = true;
	assert_int_equal(workdir_prepare(&p, &seeds, note, &e), 0);
	assert_int_equal(entries(work, "t/seeds"), 1);
	assert_int_equal(seeds.files, 0); /* it is none of the user's */
	assert_int_equal(entries(dir.fd, "corpus"), 0);
}

static size_t read_stats(struct file_id *io, char *text, size_t cap)
{
	return workdir_read(work, "t/artifacts/default/fuzzer_stats", io, cap, text);
}

static void statistics_are_read_once(void **state)
{
	struct file_id seen = {0};
	char text[8], secret[80];

	(void)state;
	prepare();
	assert_int_equal(read_stats(&seen, text, sizeof(text)), 0);
	engine_makes_its_dirs();
	engine_leaves("fuzzer_stats", "123");
	assert_int_equal(read_stats(&seen, text, sizeof(text)), 3);
	assert_memory_equal(text, "123", 3);
	assert_int_equal(read_stats(&seen, text, sizeof(text)), 0);
	engine_leaves("fuzzer_stats", "1234567890");
	assert_int_equal(read_stats(&seen, text, sizeof(text)), sizeof(text));
	/* No link, no pipe that would wait, no directory. */
	assert_int_equal(unlinkat(work, "t/artifacts/default/fuzzer_stats", 0), 0);
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	assert_int_equal(symlinkat(secret, work, "t/artifacts/default/fuzzer_stats"), 0);
	assert_int_equal(read_stats(&seen, text, sizeof(text)), 0);
	assert_int_equal(unlinkat(work, "t/artifacts/default/fuzzer_stats", 0), 0);
	assert_int_equal(mkfifoat(work, "t/artifacts/default/fuzzer_stats", 0600), 0);
	assert_int_equal(read_stats(&seen, text, sizeof(text)), 0);
}

/* Each file is complete in at least one place. */
static void check_nothing_lost(void)
{
	char path[200];

	snprintf(path, sizeof(path), "t/%s", artifact_of("crash", "crash"));
	assert_true(holds(crashes, path, "crash") ||
		    holds(work, "t/artifacts/default/crashes/" CRASH, "crash") ||
		    holds(work, "t/artifacts/" CRASH, "crash"));
	assert_true(holds(corpus, name_of("found"), "found") ||
		    holds(work, "t/artifacts/default/queue/" FOUND, "found") ||
		    holds(work, "t/corpus/" FOUND, "found"));
}

static int collect_with(unsigned at, enum fault_how how)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found found;
	struct err e;
	int r;

	c.engine = &engine_afl;
	fault_arm(at, how);
	r = workdir_collect(&c, &found, &b, &e);
	fault_arm(0, FAULT_FAIL);
	return r;
}

/* Fails each call in turn, or is killed in it: the next collection completes the work. */
static void no_fault_loses_a_file(void **state)
{
	enum { CALLS = 120 };
	char names[400];

	for (unsigned at = 1; at <= CALLS; at++) {
		int ws = 0;
		pid_t pid;

		prepare();
		engine_makes_its_dirs();
		engine_leaves("crashes/" CRASH, "crash");
		engine_leaves("queue/" FOUND, "found");
		if (at % 2) {
			(void)!collect_with(at / 2 + 1, FAULT_FAIL);
		} else {
			pid = fork();
			if (pid == 0)
				_exit(collect_with(at / 2, FAULT_DIE) < 0);
			assert_int_equal(waitpid(pid, &ws, 0), pid);
		}
		check_nothing_lost();
		(void)collect_afl(names, sizeof(names));
		assert_true(holds(corpus, name_of("found"), "found"));
		assert_true(scratch_has(crashes, "t"));
		each_teardown(state);
		each_setup(state);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(the_engines_dirs_are_collected, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(links_are_not_followed, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(closed_dirs_are_opened, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(a_killed_runs_engine_is_known, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(no_fault_loses_a_file, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(a_seed_is_there, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(statistics_are_read_once, each_setup, each_teardown),
};

UNIT_MAIN(tests)
