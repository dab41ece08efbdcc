/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/loop.h"
#include "runner/run/triage/books.h"
#include "tests/unit/scratch.h"

static struct scratch dir = SCRATCH_INIT;

static void note_crash(struct books *b, const char *signature)
{
	struct ledger_noted n;
	struct err e;

	assert_int_equal(
	    ledger_note(books_ledger(b), &(struct crash_sighting){.signature = signature}, &n, &e),
	    0);
}

static void count_answer(void *arg, const char *failed)
{
	unsigned *answers = arg;

	assert_null(failed);
	++*answers;
}

/* The loop has ended before a child has written: closing waits for it, and for the changes that
 * came meanwhile. */
static void test_close_waits(void **state)
{
	struct state at;
	struct ledger *l = NULL;
	struct books *b = NULL;
	struct loop *loop = NULL;
	unsigned answers = 0;
	char warning[300];
	struct err e;

	(void)state;
	scratch_make(&dir);
	at = (struct state){.dirfd = dir.fd};
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(books_open(loop, &at, "run", &b, warning, &e), 0);
	note_crash(b, "first");
	books_save(b, NULL, NULL);
	note_crash(b, "second");
	books_save(b, count_answer, &answers);
	books_close(b);
	assert_int_equal(answers, 1);
	assert_int_equal(ledger_load(dir.fd, &l, &e), 0);
	assert_non_null(ledger_find(l, "first"));
	assert_non_null(ledger_find(l, "second"));
	ledger_free(l);
	loop_free(loop);
	scratch_remove(&dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_close_waits),
};

UNIT_MAIN(tests)
