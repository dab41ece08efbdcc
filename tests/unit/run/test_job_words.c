/* SPDX-License-Identifier: Apache-2.0 */
/* A job's dictionary: before a cell, from the engine's output, and after the cell. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "tests/unit/dictionary/program.h"
#include "tests/unit/scratch.h"

static struct {
	struct scratch dir;
	struct state state;
	struct run_dirs dirs;
	struct job_env env;
	struct target target;
	struct fuzzing fuzzing;
	struct fleet_target fleet;
	struct target_config cfg;
	struct job job;
	char name[8], binary[64], given[64];
} w;

static void make_binary(void)
{
	static const char *const texts[] = {"kw-of-this-test", "second", "third",
					    "a message of it"};
	int fd = openat(w.dir.fd, "binary", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	program_begin();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		p.globals[i] = global(put_text(texts[i]), strlen(texts[i]) + 1, ".str");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &p, sizeof(p)), (ssize_t)sizeof(p));
	close(fd);
}

static int begin(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&w.dir);
	assert_int_equal(mkdirat(w.dir.fd, "t", 0755), 0);
	w.state = (struct state){.path = w.dir.path, .dirfd = w.dir.fd, .lock_fd = -1};
	w.dirs = (struct run_dirs){.work = w.dir.fd, .work_path = w.dir.path};
	w.env = (struct job_env){.state = &w.state, .dirs = &w.dirs};
	strcpy(w.name, "t");
	make_binary();
	snprintf(w.binary, sizeof(w.binary), "%s/binary", w.dir.path);
	snprintf(w.given, sizeof(w.given), "%s/given", w.dir.path);
	w.target = (struct target){.name = w.name, .binary = w.binary, .engine = &engine_libfuzzer};
	w.job = (struct job){.env = &w.env,
			     .target = &w.target,
			     .cfg = &w.cfg,
			     .fuzzing = &w.fuzzing,
			     .fleet = &w.fleet};
	w.cfg = (struct target_config){.auto_dictionary = WORDS_JOINED};
	w.job.log.fd = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	job_words_collected(&w.job);
	scratch_remove(&w.dir);
	return 0;
}

static uint64_t prepare(void)
{
	struct err e = {0};

	if (job_words_prepare(&w.job, &w.job.words.has, &e) < 0)
		fail_msg("%s", e.msg);
	return w.job.words.has.own;
}

static void collect(void)
{
	struct err e = {0};

	if (job_words_collect(&w.job, &e) < 0)
		fail_msg("%s", e.msg);
	job_words_collected(&w.job);
}

static char text[1 << 20];

static bool file_has(const char *file, const char *what)
{
	return strstr(scratch_text(w.dir.fd, file, text, sizeof(text)), what) != NULL;
}

static void words_of_the_program_are_given(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(prepare(), 3);
	assert_true(file_has("t/dictionary", "\"kw-of-this-test\"\n"));
	assert_true(file_has("dictionaries/t.dict", "# 0 0 literal\n\"kw-of-this-test\"\n"));
	assert_int_equal(fstatat(w.dir.fd, "t/dictionary", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

static void without_the_key_there_are_none(void **state)
{
	(void)state;
	w.cfg.auto_dictionary = WORDS_OFF;
	assert_int_equal(prepare(), 0);
	job_words_line(&w.job, SLICE("\"ab\" # Uses: 3"));
	collect();
	assert_int_equal(faccessat(w.dir.fd, "t/dictionary", F_OK, 0), -1);
	assert_int_equal(faccessat(w.dir.fd, "dictionaries", F_OK, 0), -1);
}

/* Only without a given dictionary, and only with enough words. */
static void alone_they_are_not_few(void **state)
{
	(void)state;
	w.cfg.auto_dictionary = WORDS_ALONE;
	assert_int_equal(prepare(), 0); /* three */
	assert_int_equal(mkdirat(w.dir.fd, "dictionaries", 0750), 0);
	scratch_write(
	    w.dir.fd, "dictionaries/t.dict",
	    "# 2 0 learned\n\"word1\"\n# 2 0 learned\n\"word2\"\n# 2 0 learned\n\"word3\"\n"
	    "# 2 0 learned\n\"word4\"\n# 2 0 learned\n\"word5\"\n");
	assert_int_equal(prepare(), 8);
	assert_true(file_has("t/dictionary", "\"word5\"\n"));
	scratch_write(w.dir.fd, "given", "\"mine\"\n");
	w.target.dict = w.given;
	assert_int_equal(prepare(), 0);
	w.cfg.auto_dictionary = WORDS_JOINED;
	assert_true(prepare() > 0);
	w.target.dict = NULL;
	w.cfg.dictionary = w.given;
	w.cfg.auto_dictionary = WORDS_ALONE;
	assert_int_equal(prepare(), 0);
}

/* The strategy joins what the configuration leaves alone, for its cells only. */
static void a_strategy_joins_them(void **state)
{
	(void)state;
	w.cfg.auto_dictionary = WORDS_ALONE;
	scratch_write(w.dir.fd, "given", "\"mine\"\n");
	w.target.dict = w.given;
	assert_int_equal(prepare(), 0);
	w.fleet.strategies.next = STRATEGY_WORDS;
	assert_true(prepare() > 0);
	assert_true(file_has("t/dictionary", "\"kw-of-this-test\"\n"));
	w.fleet.strategies.now = STRATEGY_WORDS;
	w.fleet.strategies.next = STRATEGY_PLAIN;
	w.fuzzing.execs = 1000000;
	collect();
	assert_true(file_has("dictionaries/t.dict", " literal\n\"kw-of-this-test\"\n"));
	assert_false(file_has("dictionaries/t.dict", "# 0 0 literal\n\"kw-of-this-test\"\n"));
	assert_int_equal(prepare(), 0);
}

static void a_given_dictionary_comes_first(void **state)
{
	(void)state;
	scratch_write(w.dir.fd, "given", "# mine\nx=\"kw-of-this-test\"");
	w.target.dict = w.given;
	assert_true(prepare() > 0);
	scratch_text(w.dir.fd, "t/dictionary", text, sizeof(text));
	assert_int_equal(strncmp(text, "# mine\nx=\"kw-of-this-test\"\n\"", 28), 0);
	assert_int_equal(w.job.words.has.given, 1);
	/* Three times as often as the other words. */
	assert_non_null(strstr(text, "\"kw-of-this-test\"\n\"kw-of-this-test\"\n"));
}

static void a_given_dictionary_that_cannot_be_joined_stays_alone(void **state)
{
	struct err e = {0};
	struct job_dictionary d = {1, 1};

	(void)state;
	w.cfg.dictionary = w.given;
	assert_int_equal(job_words_prepare(&w.job, &d, &e), -ENOENT);
	assert_int_equal(d.own, 0);
	scratch_write(w.dir.fd, "given", "");
	assert_int_equal(truncate(w.given, (1 << 20) + 1), 0);
	assert_int_equal(job_words_prepare(&w.job, &d, &e), -EFBIG);
	assert_int_equal(unlink(w.given), 0);
	assert_int_equal(mkfifo(w.given, 0600), 0);
	assert_int_equal(job_words_prepare(&w.job, &d, &e), -EFBIG);
	assert_int_equal(d.own, 0);
	w.cfg.dictionary = (char[]){""}; /* none: */
	assert_true(prepare() > 0);
}

static void a_binary_that_is_gone_has_no_words(void **state)
{
	(void)state;
	snprintf(w.binary, sizeof(w.binary), "%s/gone", w.dir.path);
	assert_int_equal(prepare(), 0);
	assert_int_equal(faccessat(w.dir.fd, "t/dictionary", F_OK, 0), -1);
}

#define NEW "#9\tNEW    cov: 5 L: 3/4 MS: "

static void printed_words_are_counted(void **state)
{
	(void)state;
	assert_true(prepare() > 0);
	w.job.fuzzing->engine.dict_entries = w.job.words.has.own + 50;
	w.fuzzing.execs = 1000 * w.job.fuzzing->engine.dict_entries;
	job_words_line(&w.job, SLICE(NEW "1 ManualDict- DE: \"kw-of-this-test\"-"));
	job_words_line(&w.job, SLICE(NEW "1 PersAutoDict- DE: \"kw-of-this-test\"-"));
	job_words_line(&w.job, SLICE(NEW "1 CMP- DE: \"\\001\\000\"-"));
	job_words_line(&w.job, SLICE(NEW "1 ManualDict- DE: \"of another\"-"));
	collect();
	assert_true(file_has("dictionaries/t.dict", "# 2 1000 literal\n\"kw-of-this-test\"\n"));
	assert_true(file_has("dictionaries/t.dict", "# 1 0 learned\n#\"\\x01\\x00\"\n"));
	assert_false(file_has("dictionaries/t.dict", "of another"));
	job_words_line(&w.job, SLICE(NEW "1 CMP- DE: \"\\001\\000\"-"));
	collect();
	assert_true(prepare() > 0);
	assert_true(file_has("t/dictionary", "\"\\x01\\x00\"\n"));
}

/* A target may print any text. */
static void a_flood_of_words_is_bounded(void **state)
{
	char line[128];

	(void)state;
	assert_true(prepare() > 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof(line), NEW "1 CMP- DE: \"word %d\"-", i);
		job_words_line(&w.job, slice_of(line));
	}
	assert_in_range(w.job.words.printed.n, 1, 512);
	collect();
	assert_true(prepare() > 0);
}

static void a_damaged_file_is_passed_over(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(w.dir.fd, "dictionaries", 0750), 0);
	assert_int_equal(mkfifoat(w.dir.fd, "dictionaries/t.dict", 0600), 0);
	assert_true(prepare() > 0);
	scratch_write(w.dir.fd, "dictionaries/t.dict", "# 1 1 literal\n\"\\q\"\n\"bad\n");
	assert_true(prepare() > 0);
	assert_false(file_has("t/dictionary", "bad"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    CASE(words_of_the_program_are_given),
    CASE(without_the_key_there_are_none),
    CASE(alone_they_are_not_few),
    CASE(a_strategy_joins_them),
    CASE(a_given_dictionary_comes_first),
    CASE(a_given_dictionary_that_cannot_be_joined_stays_alone),
    CASE(a_binary_that_is_gone_has_no_words),
    CASE(printed_words_are_counted),
    CASE(a_flood_of_words_is_bounded),
    CASE(a_damaged_file_is_passed_over),
};

UNIT_MAIN(tests)
