/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/publish/notifier.h"
#include "tests/unit/scratch.h"

/* Rounds are stood in for: each adds a byte to the file "rounds" and reports when the next is due.
 */
static struct scratch dir = SCRATCH_INIT;
static struct loop *loop;
static uint64_t next_due; /* of each round, Unix seconds; 0: none */
static bool learns;	  /* each round */

bool notify_is_wanted(const struct config *c)
{
	(void)c;
	return true;
}

int notify_round(const struct notify *t, struct buf *result, struct err *e)
{
	int fd = openat(t->state->dirfd, "rounds", O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (fd < 0 || write(fd, "r", 1) != 1)
		return err_sys(e, "note the round");
	close(fd);
	buf_printf(result, "%llu", (unsigned long long)next_due);
	return 0;
}

int notify_read(struct slice result, struct ledger *l, struct notify_result *ret, struct err *e)
{
	(void)l;
	(void)e;
	*ret = (struct notify_result){.learned = learns};
	return scan_u64(&result, 10, UINT64_MAX, &ret->next) ? 0 : -EBADMSG;
}

static void on_end(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static void on_save(void *arg)
{
	(void)arg;
	scratch_write(dir.fd, "known_crashes.json.new", "{}");
	assert_int_equal(renameat(dir.fd, "known_crashes.json.new", dir.fd, "known_crashes.json"),
			 0);
}

static void on_release(void *arg)
{
	notifier_hold(arg, false);
}

/* The number of rounds after so many milliseconds, with a save and the end of a hold on the way; 0:
 * none. */
static size_t rounds(uint64_t ms, uint64_t save_ms, uint64_t hold_ms)
{
	struct state state = {.dirfd = dir.fd};
	struct notify t = {.state = &state};
	struct source *end = NULL, *save = NULL, *release = NULL;
	struct notifier *n = NULL;
	uint64_t now = clock_mono_us();
	char text[64];
	struct err e;

	(void)unlinkat(dir.fd, "rounds", 0);
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(notifier_new(loop, &t, NULL, &n, &e), 0);
	assert_int_equal(loop_add_timer(loop, now + ms * USEC_PER_MSEC, on_end, NULL, &end, &e), 0);
	if (save_ms)
		assert_int_equal(
		    loop_add_timer(loop, now + save_ms * USEC_PER_MSEC, on_save, NULL, &save, &e),
		    0);
	if (hold_ms) {
		notifier_hold(n, true);
		assert_int_equal(loop_add_timer(loop, now + hold_ms * USEC_PER_MSEC, on_release, n,
						&release, &e),
				 0);
	}
	assert_int_equal(loop_run(loop, &e), 0);
	notifier_free(n);
	source_remove(end);
	source_remove(save);
	source_remove(release);
	loop_free(loop);
	return strlen(scratch_text(dir.fd, "rounds", text, sizeof(text)));
}

/* One round at the start; one more after the ledger was saved, and none without a reason. */
static void test_rounds(void **state)
{
	(void)state;
	scratch_make(&dir);
	next_due = 0;
	assert_int_equal(rounds(2500, 0, 0), 1);
	assert_int_equal(rounds(8000, 500, 0), 2);
	scratch_remove(&dir);
}

/* While it is held, a save and what is due begin no round; both are one round afterwards. */
static void test_hold(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	next_due = 0;
	assert_int_equal(rounds(3500, 200, 100000), 0);
	assert_int_equal(rounds(8000, 200, 3500), 1);
	scratch_remove(&dir);
}

/* A round that reports a notification as due already is not repeated without a pause. */
static void test_always_due(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	next_due = 1;
	assert_in_range(rounds(5000, 0, 0), 1, 3);
	scratch_remove(&dir);
}

/* A directory that cannot be watched ends no run. */
static void test_no_watch(void **state)
{
	struct state none = {.dirfd = -1};
	struct notify t = {.state = &none};
	struct notifier *n = NULL;
	struct err e;

	(void)state;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(notifier_new(loop, &t, NULL, &n, &e), 0);
	assert_non_null(n);
	notifier_free(n);
	loop_free(loop);
}

static void on_learned(void *arg)
{
	bool *called = arg;

	*called = true;
	loop_stop(loop);
}

/* The owner of the ledger hears of a round that learned something, to save the ledger. */
static void test_learned(void **state)
{
	struct state at;
	struct notify t = {.state = &at};
	struct source *end = NULL;
	struct notifier *n = NULL;
	bool called = false;
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	at = (struct state){.dirfd = dir.fd};
	next_due = 0;
	learns = true;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(
	    notifier_new(loop, &t, &(struct notifier_ledger){NULL, on_learned, &called}, &n, &e),
	    0);
	assert_int_equal(
	    loop_add_timer(loop, clock_mono_us() + 60 * USEC_PER_SEC, on_end, NULL, &end, &e), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_true(called);
	learns = false;
	notifier_free(n);
	source_remove(end);
	loop_free(loop);
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rounds),     cmocka_unit_test(test_hold),
    cmocka_unit_test(test_always_due), cmocka_unit_test(test_no_watch),
    cmocka_unit_test(test_learned),
};

UNIT_MAIN(tests)
