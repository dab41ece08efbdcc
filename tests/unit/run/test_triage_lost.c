/* SPDX-License-Identifier: Apache-2.0 */
/* Triage of a failure without an artifact. */
#include "tests/unit/unit.h"

#include "tests/unit/run/triage.h"

static void lose(const char *cell, const struct kept *k)
{
	_autoclose_ int queue = -1;

	OK(fs_mkdirs(play.dir.fd, "triage/a", 0755, e));
	OK(fs_open_dir(play.dir.fd, "triage/a", &queue, e));
	OK(kept_write_lost(queue, cell, k, e));
}

static struct kept lost(const char *own, const char *detail)
{
	return (struct kept){.run = "20240401-000000",
			     .commit = "c0",
			     .time = 1711929600,
			     .text = SLICE("last words\n"),
			     .own = own,
			     .detail = detail};
}

static bool queue_is_empty(void)
{
	bool empty = unlinkat(play.dir.fd, "triage/a", AT_REMOVEDIR) == 0;

	return empty || !has("triage/a");
}

/* It is a crash all the same: with a name, a count and the last output, without an input. */
static void test_lost(void **state)
{
	static const struct {
		const char *own, *detail, *type;
	} all[] = {
	    {"exit", "status 0", "Unexpected-exit"},
	    {"signal", "SIGKILL", "Fatal-signal"},
	    {"interrupt", "", "Self-interrupt"},
	    {"memory", "", "Cell-memory-limit"},
	    {"pids", "", "Cell-process-limit"},
	    {"syscall", "socket", "Refused-system-call"},
	    {"time", "", "Timeout"},
	    {"nothing of ours", "", "Unexpected-exit"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct kept k = lost(all[i].own, all[i].detail);
		char place[VAULT_PLACE], path[VAULT_PATH], text[100];
		const struct known_crash *c;
		struct ledger *l;

		if (i > 0) {
			assert_int_equal(each_teardown(state), 0);
			assert_int_equal(each_setup(state), 0);
		}
		lose("r/a/1", &k);
		lose("r/a/2", &k);
		triage("a", TRIAGE_QUEUE);
		assert_int_equal(play.replays, 0);
		assert_int_equal(play.sum.found, 1);
		assert_int_equal(play.sum.artifacts, 2);
		assert_int_equal(play.sum.flaky + play.sum.left, 0);
		assert_true(queue_is_empty());
		l = ledger();
		assert_int_equal(ledger_count(l), 1);
		c = ledger_at(l, 0);
		assert_string_equal(c->crash_type, all[i].type);
		assert_int_equal(c->count, 2);
		assert_int_equal(c->state, LEDGER_NEW);
		assert_string_equal(c->crash_file, "");
		assert_string_equal(c->first_seen.run, "20240401-000000");
		OK(vault_place(slice_of(c->signature), "", place, e));
		vault_path(place, VAULT_REPORT, path);
		assert_string_equal(scratch_text(play.dir.fd, path, text, sizeof(text)),
				    "last words\n");
		vault_path(place, VAULT_INPUT, path);
		assert_false(has(path));
		ledger_free(l);
		triage("a", TRIAGE_CHECK | TRIAGE_MINIMISE); /* no input: the crash stays open */
		assert_int_equal(play.replays, 0);
		l = ledger();
		assert_true(ledger_state_open(ledger_at(l, 0)->state));
		ledger_free(l);
	}
}

/* The engine's own report names the crash, if it matches the end of the cell. */
static void test_lost_with_a_report(void **state)
{
	struct kept k = lost("exit", "status 76");
	struct ledger *l;

	(void)state;
	k.text = slice_of(report);
	k.by_text = true;
	lose("r/a/1", &k);
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_string_equal(ledger_at(l, 0)->crash_type, "Heap-buffer-overflow\nWRITE 1");
	ledger_free(l);

	k.by_text = false; /* forged before the target exited */
	lose("r/a/2", &k);
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_int_equal(ledger_count(l), 2);
	ledger_free(l);
}

/* With a damaged or missing report the failure still counts. */
static void test_lost_without_words(void **state)
{
	struct ledger *l;

	(void)state;
	put("triage/a", "lost-0123456789012345678901234567890123456789", "");
	triage("a", TRIAGE_QUEUE);
	assert_true(queue_is_empty());
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_string_equal(ledger_at(l, 0)->crash_type, "Unexpected-exit");
	ledger_free(l);
}

/* A later input that fails the same way becomes the crash's input. */
static void test_lost_and_found(void **state)
{
	struct kept k = lost("exit", "status 76");
	struct ledger *l;

	(void)state;
	k.text = slice_of(report);
	k.by_text = true;
	lose("r/a/1", &k);
	triage("a", TRIAGE_QUEUE);
	put("triage/a", ARTIFACT, "S");
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	assert_int_equal(ledger_at(l, 0)->count, 2);
	assert_string_not_equal(ledger_at(l, 0)->crash_file, "");
	assert_true(has(ledger_at(l, 0)->crash_file));
	ledger_free(l);
	assert_true(queue_is_empty());
}

/* CPU pressure is no finding. */
static void test_lost_on_a_busy_machine(void **state)
{
	struct kept k = lost("time", "");
	struct ledger *l;

	(void)state;
	k.starved = 0.5;
	lose("r/a/1", &k);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.dismissed, 1);
	assert_true(queue_is_empty());
	l = ledger();
	assert_int_equal(ledger_count(l), 0);
	ledger_free(l);
}

static const struct CMUnitTest tests[] = {
    CASE(test_lost),	       CASE(test_lost_with_a_report),	  CASE(test_lost_without_words),
    CASE(test_lost_and_found), CASE(test_lost_on_a_busy_machine),
};

UNIT_MAIN(tests)
