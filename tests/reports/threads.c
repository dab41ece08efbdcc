/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs that ThreadSanitizer and MemorySanitizer find. */
#include "tests/reports/bugs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- threads -------------------------------------------------------------- */

static int counter;
static volatile int sink;

/* libFuzzer's coverage counters also race, and earlier: these two functions have none. */
#define UNCOUNTED __attribute__((noinline, no_sanitize("coverage")))

/* TSan sees no order between the threads; sleeping only settles which thread comes second. */
UNCOUNTED static void *count_up(void *late)
{
	if (late)
		usleep(50000);
	counter++;
	return HIDE((void *)0);
}

UNCOUNTED static void *look(void *late)
{
	if (late)
		usleep(50000);
	sink = counter;
	return HIDE((void *)0);
}

NOINLINE static void run_both(void *(*soon)(void *), void *(*late)(void *))
{
	static char yes;
	pthread_t one, two;

	if (pthread_create(&one, NULL, soon, NULL) != 0)
		return;
	if (pthread_create(&two, NULL, late, &yes) == 0)
		pthread_join(two, NULL);
	pthread_join(one, NULL);
}

static volatile char flag;

UNCOUNTED static void *raise_flag(void *late)
{
	if (late)
		usleep(50000);
	flag++;
	return HIDE((void *)0);
}

/* The second access has another size; it is reported when TSan continues after a report. */
static int race_twice(void)
{
	run_both(count_up, count_up);
	run_both(raise_flag, raise_flag);
	return HIDE(0);
}

static int race_same(void)
{
	run_both(count_up, count_up);
	return HIDE(0);
}

/* One bug with two reports: either the read or the write comes second. */
static int race_write_last(void)
{
	run_both(look, count_up);
	return HIDE(0);
}

static int race_read_last(void)
{
	run_both(count_up, look);
	return HIDE(0);
}

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void lock_both(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	pthread_mutex_lock(b);
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(HIDE(a));
}

static int lock_order(void)
{
	lock_both(&first, &second);
	lock_both(&second, &first);
	return HIDE(0);
}

static int unlock_unlocked(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_unlock(HIDE(&m));
	return HIDE(0);
}

static int destroy_locked(void)
{
	pthread_mutex_t m;

	pthread_mutex_init(&m, NULL);
	pthread_mutex_lock(&m);
	pthread_mutex_destroy(HIDE(&m));
	return HIDE(0);
}

NOINLINE static int *freed(void)
{
	int *p = HIDE((int *)calloc(4, sizeof(int)));

	free(p);
	return HIDE(p);
}

static int thread_use_after_free(void)
{
	int *p = freed();

	*HIDE(p) = 1;
	return 0;
}

/* --- uninitialised memory -------------------------------------------------- */

static int uninit_local(void)
{
	int a[4];
	int *p = HIDE(&a[0]);

	if (p[2] == 5)
		sink = 1;
	return 0;
}

static int uninit_heap(void)
{
	int *p = HIDE((int *)malloc(16));

	if (p[1] == 5)
		sink = 1;
	free(p);
	return 0;
}

NOINLINE static int is_even(int n)
{
	if (n & 1)
		sink = 2;
	return HIDE(0);
}

/* Newer clangs report the bug in the caller, older clangs in the called function. */
static int uninit_argument(void)
{
	int *p = HIDE((int *)malloc(16));
	int r = is_even(p[2]);

	free(p);
	return HIDE(r);
}

static int uninit_compared(void)
{
	char a[16];
	char *p = HIDE(&a[0]);
	char b[16] = {0};

	return memcmp(p, HIDE(&b[0]), HIDE(sizeof(b))) & 1;
}

struct pair {
	int one;
	int two;
};

NOINLINE static void copy_pair(struct pair *to, const struct pair *from)
{
	*to = *HIDE(from);
}

/* With origins there are stacks of the copies, too. */
static int uninit_copied(void)
{
	struct pair a, b;

	HIDE(&a)->one = 1;
	copy_pair(HIDE(&b), HIDE(&a));
	if (HIDE(&b)->two == 5)
		sink = 1;
	return 0;
}

const struct bug thread_bugs[] = {
    BUG(race_same),	  BUG(race_twice),
    BUG(race_write_last), BUG(race_read_last),
    BUG(lock_order),	  BUG(unlock_unlocked),
    BUG(destroy_locked),  BUG(thread_use_after_free),
    BUG(uninit_local),	  BUG(uninit_heap),
    BUG(uninit_argument), BUG(uninit_compared),
    BUG(uninit_copied),	  BUG_END,
};
