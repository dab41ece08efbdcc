/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzzing strategy changes in a job's cell. */
#include "tests/unit/unit.h"

#include "runner/run/job/internal.h"
#include "tests/unit/corpus/files.h"

static struct {
	struct scratch dir;
	struct state state;
	struct run_dirs dirs;
	struct job_env env;
	struct target target;
	struct fleet_target fleet;
	struct target_config cfg;
	struct job job;
	char name[8], dict[8];
} w;

static void begin_corpus(const char *target, const char *what, unsigned n)
{
	char path[64], content[64];
	int fd;

	snprintf(path, sizeof(path), "corpus/%s", target);
	fd = make_dir_at(w.dir.fd, path);
	for (unsigned i = 0; i < n; i++) {
		snprintf(content, sizeof(content), "%s %u", what, i);
		scratch_write(fd, name_of(content), content);
	}
	close(fd);
}

static int begin(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&w.dir);
	strcpy(w.name, "t");
	strcpy(w.dict, "dict");
	w.state = (struct state){.path = w.dir.path, .dirfd = w.dir.fd, .lock_fd = -1};
	w.dirs = (struct run_dirs){.work = make_dir_at(w.dir.fd, "work")};
	w.env = (struct job_env){.state = &w.state, .dirs = &w.dirs};
	w.target = (struct target){.name = w.name, .engine = engine_find("libfuzzer")};
	w.cfg = (struct target_config){.strategies = true, .auto_dictionary = WORDS_ALONE};
	w.job = (struct job){.env = &w.env, .target = &w.target, .cfg = &w.cfg, .fleet = &w.fleet};
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(w.dirs.work);
	strv_done(&w.target.flags);
	strv_done(&w.cfg.flags);
	scratch_remove(&w.dir);
	return 0;
}

static bool may(enum strategy s)
{
	return job_strategies(&w.target, &w.cfg, false) & 1u << s;
}

static void all_but_the_plain_one(void **state)
{
	(void)state;
	w.target.dict = w.dict;
	for (enum strategy i = STRATEGY_PLAIN + 1; i < STRATEGIES; i++)
		assert_true(may(i));
	assert_false(may(STRATEGY_PLAIN));
	assert_false(job_strategies(&w.target, &w.cfg, true) & 1u << STRATEGY_OTHERS);
	w.cfg.strategies = false;
	assert_int_equal(job_strategies(&w.target, &w.cfg, false), 0);
}

/* A flag that the user has set stays as it is. */
static void not_what_the_user_has_set(void **state)
{
	(void)state;
	strv_push(&w.cfg.flags, "-use_value_profile=0");
	strv_push(&w.target.flags, "-mutate_depth=7");
	strv_push(&w.target.flags, "-max_len=4096");
	assert_false(may(STRATEGY_VALUES));
	assert_false(may(STRATEGY_FEW));
	assert_false(may(STRATEGY_SHORT));
	assert_true(may(STRATEGY_EVEN));
	w.cfg.sets_max_len = true; /* the key replaces the flag */
	assert_true(may(STRATEGY_SHORT));
	w.cfg.max_len = 65;
	assert_true(may(STRATEGY_SHORT));
	w.cfg.max_len = 64; /* its inputs are that short anyway */
	assert_false(may(STRATEGY_SHORT));
}

/* Only beside a given dictionary: without one the target has the words anyway. */
static void words_only_beside_a_dictionary(void **state)
{
	(void)state;
	assert_false(may(STRATEGY_WORDS));
	w.target.dict = w.dict;
	assert_true(may(STRATEGY_WORDS));
	w.cfg.dictionary = (char[]){""};
	assert_false(may(STRATEGY_WORDS));
	w.cfg.dictionary = w.dict;
	assert_true(may(STRATEGY_WORDS));
	w.cfg.auto_dictionary = WORDS_OFF;
	assert_false(may(STRATEGY_WORDS));
}

static struct engine_fuzz applied(enum strategy s)
{
	struct engine_fuzz f = {.max_len = 4096};

	w.fleet.strategies.next = s;
	job_strategy_apply(&w.job, &f);
	return f;
}

static void each_sets_its_own(void **state)
{
	struct engine_fuzz f = applied(STRATEGY_PLAIN);

	(void)state;
	assert_false(f.few_mutations || f.even_choice || f.any_length || f.value_profile);
	assert_true(applied(STRATEGY_FEW).few_mutations);
	assert_true(applied(STRATEGY_EVEN).even_choice);
	assert_true(applied(STRATEGY_LENGTH).any_length);
	assert_true(applied(STRATEGY_VALUES).value_profile);
	assert_int_equal(applied(STRATEGY_VALUES).max_len, 4096);
	assert_int_equal(applied(STRATEGY_SHORT).max_len, 64);
}

static void prepare(enum strategy s)
{
	struct err e = {0};

	w.fleet.strategies.next = s;
	if (job_strategy_prepare(&w.job, &e) < 0)
		fail_msg("%s", e.msg);
}

static void a_part_of_the_seeds(void **state)
{
	int seeds = make_dir_at(w.dirs.work, "t/seeds");
	char content[16];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(content, sizeof(content), "%u", i);
		scratch_write(seeds, name_of(content), content);
	}
	close(seeds);
	prepare(STRATEGY_VALUES);
	assert_int_equal(entries(w.dirs.work, "t/seeds"), 100);
	prepare(STRATEGY_SUBSET);
	assert_in_range(entries(w.dirs.work, "t/seeds"), 1, 40);
}

static void inputs_of_other_targets(void **state)
{
	struct err e = {0};
	struct stat st;
	int corpus;

	(void)state;
	begin_corpus("t", "mine", 2);
	begin_corpus("u", "other", 3);
	close(make_dir_at(w.dirs.work, "t"));
	w.fleet.strategies.next = STRATEGY_OTHERS;
	assert_false(job_strategy_has_others(&w.job)); /* not laid out yet */
	prepare(STRATEGY_OTHERS);
	assert_true(job_strategy_has_others(&w.job));
	assert_int_equal(entries(w.dirs.work, "t/others"), 3);
	assert_int_equal(fstatat(w.dirs.work, "t/others", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	corpus = open_dir_at(w.dir.fd, "corpus/t");
	assert_int_equal(job_strategy_collect(&w.job, corpus, &e), 0);
	assert_int_equal(entries(w.dir.fd, "corpus/t"), 2); /* they did not help */
	w.job.others_help = true;
	assert_int_equal(job_strategy_collect(&w.job, corpus, &e), 0);
	assert_int_equal(entries(w.dir.fd, "corpus/t"), 5);
	close(corpus);
	w.fleet.strategies.next = STRATEGY_PLAIN;
	assert_false(job_strategy_has_others(&w.job));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(all_but_the_plain_one, begin, end),
    cmocka_unit_test_setup_teardown(not_what_the_user_has_set, begin, end),
    cmocka_unit_test_setup_teardown(words_only_beside_a_dictionary, begin, end),
    cmocka_unit_test_setup_teardown(each_sets_its_own, begin, end),
    cmocka_unit_test_setup_teardown(a_part_of_the_seeds, begin, end),
    cmocka_unit_test_setup_teardown(inputs_of_other_targets, begin, end),
};

UNIT_MAIN(tests)
