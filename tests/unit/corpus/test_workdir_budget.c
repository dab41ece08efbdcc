/* SPDX-License-Identifier: Apache-2.0 */
/* The artifacts of a target that a run keeps, and the sources of their content. */
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "tests/unit/corpus/workdir.h"

static struct workdir_found collect_as(const struct workdir_collect *c)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	struct workdir_found found = {0};
	struct err e;

	if (workdir_collect(c, &found, &b, &e) < 0)
		fail_msg("%s", e.msg);
	return found;
}

static bool is_saved(const char *kind, const char *content)
{
	char path[80];

	snprintf(path, sizeof(path), "t/%s", artifact_of(kind, content));
	return scratch_has(crashes, path);
}

/* The first artifact of a kind and a possible new crash are kept all the same. */
static void test_no_more(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found f;
	char named[80];

	(void)state;
	prepare();
	c.kept = (struct workdir_kept){.artifacts = WORKDIR_ARTIFACTS_MAX,
				       .kinds = 1U << ENGINE_ARTIFACT_CRASH};
	leave("crash", "one");
	leave("crash", "two");
	leave("oom", "three");
	leave("oom", "four");
	f = collect_as(&c);
	assert_int_equal(f.failures, 1);
	assert_int_equal(f.dropped, 3);
	assert_int_equal(f.kept.artifacts, WORKDIR_ARTIFACTS_MAX + 1);
	assert_true(is_saved("oom", "three") || is_saved("oom", "four"));

	/* The named artifact, of an unknown crash. */
	snprintf(named, sizeof(named), "%s", artifact_of("crash", "new"));
	c.kept = f.kept;
	c.named = named;
	for (int is_new = 0; is_new < 2; is_new++) {
		char input[80];

		snprintf(input, sizeof(input), "t/seeds/%s", name_of("new"));
		scratch_write(work, input, "new");
		leave("crash", "new");
		leave("crash", "one");
		c.is_new = is_new;
		f = collect_as(&c);
		assert_int_equal(f.dropped, 2 - is_new);
		assert_int_equal(is_saved("crash", "new"), is_new);
		/* Kept or only counted: the input must not end the next cell. */
		assert_false(scratch_has(work, input));
	}
	assert_false(is_saved("crash", "one"));
	c.kept.artifacts = UINT64_C(2) * WORKDIR_ARTIFACTS_MAX;
	snprintf(named, sizeof(named), "%s", artifact_of("crash", "newer"));
	leave("crash", "newer");
	assert_int_equal(collect_as(&c).dropped, 1);
	assert_int_equal(entries(work, "t/artifacts"), 0);
}

static void test_bytes(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found f;

	(void)state;
	prepare();
	c.bytes_max = 10;
	c.kept.kinds = 1U << ENGINE_ARTIFACT_CRASH;
	for (char i = '0'; i < '5'; i++) {
		char text[] = {i, i, i, i, '\0'};

		leave("crash", text);
	}
	f = collect_as(&c);
	assert_int_equal(f.kept.bytes, 8);
	assert_int_equal(f.dropped, 3);
	assert_int_equal(entries(crashes, "t"), 2);
}

/* Leaves COUNT inputs of 1 MiB: one byte and a hole. */
static void leave_sparse(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char path[32];
		int fd;

		(void)snprintf(path, sizeof(path), "t/corpus/sparse%u", i);
		fd = openat(work, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, &(char){(char)('a' + i)}, 1), 1);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
		close(fd);
	}
}

/* A hole takes no disk space in the cell, but its copy would: 60 holes of 30 MiB became 1.8 GiB. */
static void test_sparse_inputs(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found f;

	(void)state;
	prepare();
	leave_sparse(20);
	scratch_write(work, "t/corpus/honest", "honest");
	c.bytes_max = 4 << 20;
	f = collect_as(&c);
	assert_int_equal(f.inputs, 5); /* each hole is a little less than 1 MiB */
	assert_int_equal(f.skipped, 16);
	assert_true(holds(corpus, name_of("honest"), "honest"));
}

/* Reading 190,000 links to one file of 60 MiB would take hours. */
static void test_linked_inputs(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	static char text[64 * 1024];
	struct workdir_found f;

	(void)state;
	prepare();
	memset(text, 'x', sizeof(text) - 1);
	scratch_write(work, "t/corpus/first", text);
	for (unsigned i = 0; i < 49; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "t/corpus/link%u", i);
		assert_int_equal(linkat(work, "t/corpus/first", work, path, 0), 0);
	}
	c.bytes_max = 10 * sizeof(text);
	f = collect_as(&c);
	assert_int_equal(f.inputs, 1);
	assert_in_range(f.skipped, 38, 40);
	assert_true(scratch_has(corpus, name_of(text)));
}

/* Artifacts that no run has time for do not accumulate. */
static void test_queue_ends(void **state)
{
	char text[16];
	int at;

	(void)state;
	prepare();
	at = make_dir_at(queued, "t");
	for (unsigned i = 0; i < WORKDIR_QUEUE_MAX; i++) {
		snprintf(text, sizeof(text), "%u", i);
		scratch_write(at, artifact_of("crash", text), "");
	}
	close(at);
	leave("crash", "one more");
	assert_int_equal(collect_as(&(struct workdir_collect){.work = work,
							      .target = "t",
							      .crashes = crashes,
							      .corpus = corpus,
							      .quarantine = quarantined,
							      .triage = queued,
							      .engine = &engine_libfuzzer})
			     .dropped,
			 1);
	assert_int_equal(entries(queued, "t"), WORKDIR_QUEUE_MAX);
}

/* The directory of an ended job: copies are removed before any file is made. */
static void test_lost(void **state)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	struct workdir_found f;

	(void)state;
	scratch_write(corpus, name_of("old"), "old");
	prepare();
	scratch_write(work, "t/corpus/new", "new!");
	leave("crash", "boom");
	c.lost = true;
	f = collect_as(&c);
	assert_int_equal(f.inputs + f.failures, 2);
	assert_false(scratch_has(work, "t/seeds"));
	assert_true(holds(corpus, name_of("old"), "old"));
	assert_true(holds(corpus, name_of("new!"), "new!"));
}

/* Collects as if the engine had named this artifact but could not write it.  printed: the content
 * that the engine printed; NULL: none. */
static struct workdir_found collect_named(const char *name, const struct slice *printed)
{
	struct workdir_collect c = collection(ENGINE_ARTIFACT_NONE);
	_autobuf_ struct buf names = BUF_INIT(1 << 10);
	struct workdir_found f;
	struct err e;

	c.named = name;
	c.printed = printed;
	assert_int_equal(workdir_collect(&c, &f, &names, &e), 0);
	return f;
}

static void test_printed(void **state)
{
	const struct slice input = SLICE("no descriptor");
	char name[64], path[80];

	(void)state;
	snprintf(name, sizeof(name), "%s", artifact_of("crash", "no descriptor"));
	snprintf(path, sizeof(path), "t/%s", name);
	prepare();
	assert_int_equal(collect_named(name, NULL).failures, 0);
	assert_int_equal(collect_named(name, &input).failures, 1);
	assert_true(holds(crashes, path, "no descriptor"));
	assert_int_equal(entries(queued, "t"), 1);
}

/* A second failing thread opens the file of the first thread, which truncates it. */
static void test_printed_and_cut(void **state)
{
	const struct slice input = SLICE("cut short");
	char name[64], path[80];

	(void)state;
	snprintf(name, sizeof(name), "%s", artifact_of("crash", "cut short"));
	prepare();
	snprintf(path, sizeof(path), "t/artifacts/%s", name);
	scratch_write(work, path, "cut");
	assert_int_equal(collect_named(name, &input).failures, 1);
	snprintf(path, sizeof(path), "t/%s", name);
	assert_true(holds(crashes, path, "cut short"));
	assert_int_equal(entries(crashes, "t"), 1);
}

/* A link in the artifact's place is not followed. */
static void test_printed_elsewhere(void **state)
{
	const struct slice input = SLICE("no descriptor");
	char name[64], path[80];

	(void)state;
	snprintf(name, sizeof(name), "%s", artifact_of("crash", "no descriptor"));
	snprintf(path, sizeof(path), "t/artifacts/%s", name);
	prepare();
	assert_int_equal(symlinkat("../../../elsewhere", work, path), 0);
	assert_int_equal(collect_named(name, &input).failures, 0);
	assert_false(scratch_has(dir.fd, "elsewhere"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_no_more),		CASE(test_bytes),
    CASE(test_sparse_inputs),	CASE(test_linked_inputs),
    CASE(test_queue_ends),	CASE(test_lost),
    CASE(test_printed),		CASE(test_printed_elsewhere),
    CASE(test_printed_and_cut),
};

UNIT_MAIN(tests)
