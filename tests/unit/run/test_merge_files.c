/* SPDX-License-Identifier: Apache-2.0 */
/* A merge's child processes, without cells: in merge.h a function stands in for a cell. */
#include "tests/unit/unit.h"

#include "tests/unit/run/merge_each.h"

static void add_seed(const char *content)
{
	_autoclose_ int fd = open_dir_at(w.dir.fd, "seeds");

	world_has_seeds(&w);

	scratch_write(fd, "a user's name", content);
}

/* --- smaller corpora ------------------------------------------------------------- */

static void keeps_the_smallest_that_reach_everything(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("abc", "ab", "a", "xyz", "zyxxx");
	add_seed("c");
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	assert_true(in_corpus(&w, "a"));
	assert_true(in_corpus(&w, "ab"));
	assert_true(in_corpus(&w, "c")); /* smaller than the old input with this feature */
	assert_true(in_corpus(&w, "xyz"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 4);
	assert_true(in_generations(&w, "abc"));
	assert_true(in_generations(&w, "zyxxx"));
	assert_int_equal(d.new_inputs, 1);
	assert_int_equal(d.all.features, 6);
	assert_int_equal(d.chosen.features, 6);
	assert_int_equal(d.chosen.edges, 6);
	assert_false(scratch_has(w.state->dirfd, "merge/t"));
}

static void second_time_changes_nothing(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("abc", "abcc");
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_UNCHANGED);
	assert_int_equal(entries(w.state->dirfd, "generations/t"), 1);
}

static void a_person_names_a_file(void **state)
{
	_autoclose_ int corpus = -1;
	struct merge_decided d;
	struct err e;

	begin(state);
	must(state_open_corpus(w.state, "t", &corpus, &e), &e);
	scratch_write(corpus, "mine", "abc");
	scratch_write(corpus, "mine too", "!bad");
	scratch_write(corpus, ".hidden", "def");
	scratch_write(corpus, "empty", ""); /* no engine reads it */
	merge_ok(&d);
	assert_true(in_corpus(&w, "abc"));
	assert_false(in_corpus(&w, "!bad"));
	assert_true(in_quarantine(&w, "!bad"));
	assert_true(holds(w.state->dirfd, "corpus/t/.hidden", "def"));
	assert_true(holds(w.state->dirfd, "corpus/t/empty", ""));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 3);
}

/* As left by a job: the corpus itself, and all seeds. */
static void a_directory_of_seeds(void **state)
{
	_autoclose_ int ours = -1;
	struct merge_decided d;

	begin(state);
	put_input(&w, "abc");
	add_seed("never looked at");
	ours = make_dir_at(w.dir.fd, "ours");
	scratch_write(ours, name_of("abc"), "abc");
	scratch_write(ours, name_of("x"), "x");
	scratch_write(ours, "some name", "yz");
	assert_int_equal(fchmodat(ours, name_of("x"), 0644, 0), 0);
	snprintf(w.seeds, sizeof(w.seeds), "%s/ours", w.dir.path);
	merge_ok(&d);
	assert_true(in_corpus(&w, "abc"));
	assert_true(in_corpus(&w, "x"));
	assert_true(in_corpus(&w, "yz"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 3);
	assert_int_equal(d.new_inputs, 2);
}

static void nothing_at_all(void **state)
{
	struct merge_staged s;
	struct err e;

	begin(state);
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.candidates, 0);
	assert_int_equal(s.next, s.end);
}

static void only_bad_ones(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("!one", "!two");
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_NOTHING);
	assert_string_not_equal(d.why, "");
	assert_int_equal(w.m.result.verdict, MERGE_KEPT);
	assert_true(in_corpus(&w, "!one") && in_corpus(&w, "!two"));
	assert_int_equal(entries(w.state->dirfd, "quarantine/t"), 0);
	assert_true(in_triage(&w, "crash", "!two"));
	w.force = true;
	merge_ok(&d);
	assert_int_equal(w.m.result.verdict, MERGE_NOTHING);
	assert_true(in_quarantine(&w, "!one") && in_quarantine(&w, "!two"));
}

/* --- bad inputs ------------------------------------------------------------------ */

static void bad_inputs_are_put_away(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("!", "ab", "!!x", "longer", "!the last one of all");
	add_seed("!seed");
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_END); /* the remaining inputs were the smallest before */
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_true(in_corpus(&w, "ab"));
	assert_true(in_corpus(&w, "longer"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 2);
	assert_int_equal(entries(w.state->dirfd, "quarantine/t"), 4);
	assert_true(in_triage(&w, "crash", "!"));
	assert_true(in_triage(&w, "crash", "!!x"));
	assert_true(in_triage(&w, "crash", "!the last one of all"));
	assert_true(in_triage(&w, "crash", "!seed"));
}

/* No cell dies: the engine starts again, and skips these inputs. */
static void inputs_that_execute_the_target_are_put_away(void **state)
{
	static const char *const bad[] = {">", ">>x", ">the last one of all", ">seed"};
	struct merge_decided d;

	begin(state);
	PUT(">", "ab", ">>x", "longer", ">the last one of all");
	add_seed(">seed");
	merge_ok(&d);
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_true(in_corpus(&w, "ab"));
	assert_true(in_corpus(&w, "longer"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 2);
	assert_int_equal(entries(w.state->dirfd, "quarantine/t"), 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(in_triage(&w, "crash", bad[i]));
}

static void measuring_changes_nothing(void **state)
{
	struct merge_decided d;
	struct merge_staged s;
	struct err e;

	begin(state);
	PUT("ab", "abb", "!");
	must(stage(&w, &s, &e), &e);
	w.m.spec.what = MERGE_MEASURE;
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_MEASURED);
	assert_int_equal(d.chosen.files, 1);
	assert_int_equal(d.all.features, 2);
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 3);
	assert_int_equal(entries(w.state->dirfd, "quarantine/t"), 0);
	/* ... and a merge that may change the corpus meets the bad input again */
	merge_ok(&d);
	assert_true(in_quarantine(&w, "!"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 1);
}

/* --- the guard ------------------------------------------------------------------- */

/* A feature that never comes back is not the fault of the choice.  A feature that other inputs have
 * is topped up.  If this fails again, the old corpus stays. */
static void flaky_target(void **state)
{
	struct merge_decided d;

	begin(state);
	w.flaky = true;
	PUT("ab", "xb");
	merge_ok(&d); /* 'a' and 'x' are lost: no other input has them */
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_UNCHANGED);
	PUT("ac", "ad", "ae", "af", "a");
	merge_ok(&d);
	assert_true(in_corpus(&w, "ab"));
	assert_true(in_corpus(&w, "af"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 7);
}

/* More inputs that lose the same feature than there are top-up rounds. */
static void guard_keeps_the_old(void **state)
{
	char text[8];
	struct merge_decided d;

	begin(state);
	w.flaky = true;
	for (int i = 0; i < 2 * MERGE_ROUNDS; i++) {
		snprintf(text, sizeof(text), "a%.*s", i, "------");
		put_input(&w, text);
	}
	put_input(&w, "b-");
	merge_ok(&d);
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_KEPT);
	assert_non_null(strstr(d.why, "1 features"));
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 7);
	assert_int_equal(entries(w.state->dirfd, "generations/t"), 0);
}

/* --- the corpus in place ------------------------------------------------------------ */

static bool is_direct(void)
{
	struct merge_staged s;
	struct err e;
	int has_stage;

	must(stage(&w, &s, &e), &e);
	has_stage = faccessat(w.state->dirfd, "merge/t/stage", F_OK, 0) == 0;
	assert_int_equal(s.direct, !has_stage);
	return s.direct;
}

static void only_a_plain_corpus_is_read_in_place(void **state)
{
	begin(state);
	PUT("a", "bb");
	assert_true(is_direct());
	assert_int_equal(fchmodat(w.state->dirfd, "corpus/t", 0770, 0), 0);
	assert_false(is_direct()); /* the user chose a mode that denies cells access */
	assert_int_equal(fchmodat(w.state->dirfd, "corpus/t", 0750, 0), 0);
	assert_int_equal(fchmodat(w.state->dirfd, "corpus", 0755, 0), 0);
	assert_false(is_direct()); /* other users would see it */
	assert_int_equal(fchmodat(w.state->dirfd, "corpus", 0750, 0), 0);
	assert_true(is_direct());
	scratch_write(w.state->dirfd, "corpus/t/.hidden", "not for a cell");
	assert_false(is_direct());
	assert_int_equal(unlinkat(w.state->dirfd, "corpus/t/.hidden", 0), 0);
	assert_int_equal(mkfifoat(w.state->dirfd, "corpus/t/fifo", 0666), 0);
	assert_false(is_direct());
	assert_int_equal(unlinkat(w.state->dirfd, "corpus/t/fifo", 0), 0);
	assert_true(is_direct());
	add_seed("a seed");
	assert_false(is_direct());
}

/* No staged input would keep the feature. */
static void removed_meanwhile(void **state)
{
	static const char *const removed[] = {"a", "bb", "dddd"};
	struct merge_decided d;
	struct merge_staged s;
	char path[80];
	struct err e;

	begin(state);
	PUT("a", "bb", "cca", "dddd", "eaeee");
	must(stage(&w, &s, &e), &e);
	assert_true(s.direct);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "corpus/t/%s", name_of(removed[i]));
		assert_int_equal(unlinkat(w.state->dirfd, path, 0), 0);
	}
	must(run_shards(&w, s.next, s.end, &e), &e);
	assert_false(w.m.ending);
	assert_int_equal(w.m.result.bad, 0);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_END);
	assert_int_equal(d.verdict, MERGE_UNCHANGED);
	assert_int_equal(d.all.files, 2);
	assert_int_equal(d.chosen.files, 2);
	assert_int_equal(entries(w.state->dirfd, "quarantine/t"), 0);
}

/* The corpus stays: the chosen inputs no longer reach all features. */
static void chosen_removed_before_the_exchange(void **state)
{
	struct merge_replaced replaced;
	struct merge_decided d;
	struct merge_staged s;
	char path[80];
	struct err e;

	begin(state);
	PUT("ab", "abb", "c");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	snprintf(path, sizeof(path), "corpus/t/%s", name_of("ab"));
	assert_int_equal(unlinkat(w.state->dirfd, path, 0), 0);
	assert_int_equal(task(merge_task_replace, &w.m, &replaced, sizeof(replaced), &e), -ENOENT);
	assert_true(in_corpus(&w, "abb") && in_corpus(&w, "c"));
	merge_ok(&d);
	assert_true(in_corpus(&w, "abb") && in_corpus(&w, "c"));
}

/* --- continuing ------------------------------------------------------------------- */

static void measured_once(void **state)
{
	struct merge_looked l;
	struct merge_staged s = {0};
	struct err e;

	begin(state);
	PUT("a", "bb", "ccc", "dddd");
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 0);
	assert_int_equal(s.files, 4);
	assert_int_equal(s.bytes, 10);
	w.stop_after = 2;
	w.slot.shard = s.next;
	must(look(&w, &l, &e), &e);
	run_cell(&w);
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 2);
	assert_int_equal(s.candidates, 4);
	assert_int_equal(s.end - s.next, 1);
	/* A new input is measured beside the others, and a removed input is dropped. */
	put_input(&w, "eeeee");
	assert_int_equal(
	    unlinkat(w.state->dirfd, "corpus/t/86f7e437faa5a7fce15d1ddcb9eaeaea377667b8", 0), 0);
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 1);
	assert_int_equal(s.candidates, 4);
}

static void another_binary(void **state)
{
	struct merge_staged s;
	struct err e;

	begin(state);
	put_input(&w, "a");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 1);
	scratch_write(w.dir.fd, "binary", "another engine");
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 0);
	must(run_shards(&w, s.next, s.end, &e), &e);
	strv_push(&w.cfg.env, "MODE=2");
	must(stage(&w, &s, &e), &e);
	assert_int_equal(s.reused, 0);
}

/* Measurements of one binary do not hold for another. */
static void replaced_meanwhile(void **state)
{
	struct merge_replaced replaced;
	struct merge_decided d;
	struct merge_staged s;
	struct err e;

	begin(state);
	PUT("ab", "abb");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	scratch_write(w.dir.fd, "binary", "another engine");
	assert_int_equal(task(merge_task_replace, &w.m, &replaced, sizeof(replaced), &e), -ESTALE);
	assert_non_null(strstr(e.msg, "binary' was replaced meanwhile"));
	assert_true(in_corpus(&w, "abb"));
}

/* Many killed merges leave many shards: not more are opened than descriptors allow. */
static void many_starts(void **state)
{
	char text[16];
	struct merge_staged s;
	struct err e;

	begin(state);
	for (unsigned i = 0; i < MERGE_SHARDS_MAX + 5; i++) {
		snprintf(text, sizeof(text), "%u", i);
		put_input(&w, text);
		must(stage(&w, &s, &e), &e);
		must(run_shards(&w, s.next, s.end, &e), &e);
		assert_true(s.end <= MERGE_SHARDS_MAX);
	}
	assert_true(s.reused > 0);
}

static void a_full_control_file(void **state)
{
	char text[64];
	struct merge_looked l;
	struct merge_staged s;
	struct err e;

	begin(state);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "%u with some more letters", i);
		put_input(&w, text);
	}
	w.cfg.disk = 2700;
	must(stage(&w, &s, &e), &e);
	w.stop_after = 15; /* the file size limit ends the cell at about this input */
	w.slot.shard = s.next;
	must(look(&w, &l, &e), &e);
	run_cell(&w);
	must(look(&w, &l, &e), &e);
	assert_int_equal(l.act, MERGE_FULL);
	must(task(merge_task_deal, &w.m, &s, sizeof(s), &e), &e);
	assert_int_equal(s.reused, 15);
	assert_int_equal(s.end - s.next, 1);
}

/* --- hostile control files --------------------------------------------------------- */

static bool truncates(struct world *x, int fd, const char *content)
{
	(void)x;
	if (*content != 'T')
		return false;
	assert_int_equal(ftruncate(fd, 0), 0);
	return true;
}

static bool forges(struct world *x, int fd, const char *content)
{
	(void)x;
	if (*content == 'F')
		dprintf(fd, "FT 99 1 2 3\nCOV 99 1\nSTARTED 0 1\n");
	return *content == 'F';
}

static void a_truncated_file(void **state)
{
	struct merge_looked l;
	struct merge_staged s;
	struct err e;

	begin(state);
	PUT("a", "Tbb");
	w.spoil = truncates;
	must(stage(&w, &s, &e), &e);
	must(run_shard(&w, s.next, &l, &e), &e);
	assert_int_equal(l.act, MERGE_STRIKE);
	assert_true(l.damaged);
	assert_int_equal(l.next, 0);
	w.spoil = NULL;
	must(run_shard(&w, s.next, &l, &e), &e); /* the file is complete again */
	assert_int_equal(l.act, MERGE_DONE);
}

/* The input that spoils the merge is found at any position. */
static void spoilers_are_found(void **state)
{
	struct merge_decided d;
	char text[8];

	begin(state);
	for (int i = 0; i < 26; i++) {
		snprintf(text, sizeof(text), "%c%c", 'a' + i, 'a' + i);
		put_input(&w, text);
	}
	PUT("T", "Tab", "Tlonger than all others");
	w.spoil = truncates;
	merge_ok(&d);
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_int_equal(w.m.n_lost, 3);
	assert_int_equal(entries(w.state->dirfd, "corpus/t"), 26);
	assert_true(in_quarantine(&w, "T") && in_quarantine(&w, "Tab"));
	assert_true(in_triage(&w, "crash", "Tlonger than all others"));
	assert_int_equal(d.all.edges, 26);
}

static void a_forged_file(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("a", "Fbb", "cccccc");
	w.spoil = forges;
	merge_ok(&d);
	assert_true(in_corpus(&w, "a"));
	assert_true(in_corpus(&w, "cccccc"));
	assert_true(in_quarantine(&w, "Fbb")); /* the damage was there twice */
	assert_int_equal(d.all.features, 2);
}

/* A "STARTED" line of the next input follows: this input looks skipped.  Its features are unknown,
 * so it must stay. */
static bool skips(struct world *x, int fd, const char *content)
{
	(void)x;
	(void)fd;
	return *content == 'S';
}

static void what_was_not_measured_stays(void **state)
{
	struct merge_decided d;
	struct merge_staged s;
	struct merge_looked l;
	struct err e;
	struct merge_replaced replaced;

	begin(state);
	PUT("a", "S2", "bbb", "abbb");
	must(stage(&w, &s, &e), &e);
	w.spoil = skips;
	w.slot.shard = s.next;
	must(look(&w, &l, &e), &e);
	run_cell(&w);
	w.slot.next = 2; /* as if a process had continued after it */
	run_cell(&w);
	must(look(&w, &l, &e), &e);
	assert_int_equal(l.act, MERGE_DONE);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	must(task(merge_task_replace, &w.m, &replaced, sizeof(replaced), &e), &e);
	assert_true(in_corpus(&w, "a"));
	assert_true(in_corpus(&w, "bbb"));
	assert_true(in_corpus(&w, "S2"));
	assert_false(in_corpus(&w, "abbb"));
}

static const struct CMUnitTest tests[] = {
    CASE(keeps_the_smallest_that_reach_everything),
    CASE(second_time_changes_nothing),
    CASE(a_person_names_a_file),
    CASE(a_directory_of_seeds),
    CASE(nothing_at_all),
    CASE(only_bad_ones),
    CASE(bad_inputs_are_put_away),
    CASE(inputs_that_execute_the_target_are_put_away),
    CASE(measuring_changes_nothing),
    CASE(flaky_target),
    CASE(guard_keeps_the_old),
    CASE(only_a_plain_corpus_is_read_in_place),
    CASE(removed_meanwhile),
    CASE(chosen_removed_before_the_exchange),
    CASE(measured_once),
    CASE(another_binary),
    CASE(replaced_meanwhile),
    CASE(many_starts),
    CASE(a_full_control_file),
    CASE(a_truncated_file),
    CASE(spoilers_are_found),
    CASE(a_forged_file),
    CASE(what_was_not_measured_stays),
};

UNIT_MAIN(tests)
