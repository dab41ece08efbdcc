/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which libFuzzer ends a run, signals, leaks, and aborts of libc. */
#include "tests/reports/bugs.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* --- libFuzzer's own ------------------------------------------------------ */

static time_t now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Calls no other function, so that the stack is the same whenever the alarm comes. */
static int endless_loop(void)
{
	for (uint64_t i = 0; HIDE(i) < UINT64_C(1) << 36; i++)
		;
	return 0;
}

/* TSan delays signals until the next blocking call. */
static int endless_wait(void)
{
	for (time_t end = now() + 60; now() < end;)
		usleep(1000);
	return 0;
}

/* Above the limit it waits for libFuzzer's watchdog, which checks once a second. */
static int oom_small(void)
{
	enum { CHUNK = 16384, CAP = 512 * MIB };
	char **list = NULL;

	for (size_t all = 0; all < CAP; all += CHUNK) {
		char **next = HIDE((char **)malloc(CHUNK));

		if (!next)
			break;
		memset(next, 1, CHUNK);
		*next = (char *)list;
		list = next;
	}
	for (time_t end = now() + 20; now() < end;)
		usleep(50000);
	return HIDE(list) == NULL;
}

static int oom_huge(void)
{
	char *p = HIDE((char *)malloc(HIDE((size_t)300 * MIB)));

	free(p);
	return 0;
}

/* More than the sanitizers' allocators ever allocate. */
static int alloc_too_big(void)
{
	char *p = HIDE((char *)malloc(HIDE((size_t)1 << 46)));

	free(p);
	return 0;
}

static int calloc_overflow(void)
{
	char *p = HIDE((char *)calloc(HIDE((size_t)1 << 40), HIDE((size_t)1 << 40)));

	free(p);
	return 0;
}

NOINLINE static void give_up(void)
{
	exit(HIDE(3));
}

static int exit_call(void)
{
	give_up();
	return HIDE(0);
}

/* A clean exit: no sanitizer and no signal reports it. */
static int quiet_exit(void)
{
	_exit(HIDE(0));
}

static int const_overwritten(void)
{
	*(uint8_t *)(uintptr_t)HIDE(unit) ^= 1;
	return 0;
}

static int interrupted(void)
{
	raise(SIGINT);
	return HIDE(0);
}

static int file_too_large(void)
{
	struct rlimit limit;
	FILE *f = tmpfile();

	if (!f || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 0;
	limit.rlim_cur = 4096;
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 0;
	for (int i = 0; i < 4096; i++)
		fputs("0123456789", f);
	fclose(f);
	return 0;
}

/* Slow, but no failure. */
static int slow_unit(void)
{
	for (time_t end = now() + 1; now() <= end;)
		usleep(10000);
	return 0;
}

/* --- signals -------------------------------------------------------------- */

static int abort_call(void)
{
	abort();
}

static int illegal_instruction(void)
{
	__asm__ volatile("ud2");
	return HIDE(0);
}

/* The sanitizers and libFuzzer of these versions do not handle this signal. */
static int breakpoint(void)
{
	__asm__ volatile("int3");
	return HIDE(0);
}

/* Memory behind the end of its file. */
static int bus_error(void)
{
	FILE *f = tmpfile();
	const char *p = f ? mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(f), 0) : MAP_FAILED;

	return p == MAP_FAILED ? 0 : HIDE(p)[128];
}

static int divide_by_zero(void)
{
	return HIDE(7) / HIDE(0);
}

/* --- aborts of libc -------------------------------------------------------- */

NOINLINE static void check_header(int version)
{
	assert(version == 2 && "a known version");
}

static int assert_fails(void)
{
	check_header(HIDE(3));
	return HIDE(0);
}

static int libc_double_free(void)
{
	void *p = HIDE(malloc(64));

	free(HIDE(p));
	free(HIDE(p));
	return 0;
}

static int libc_bad_free(void)
{
	char *p = HIDE((char *)malloc(64));

	free(HIDE(p + 24));
	return 0;
}

static int libc_fortify(void)
{
	char small[8];

	memcpy(small, HIDE((const char *)unit), HIDE(sizeof(small) + 4));
	return HIDE(&small[0])[0];
}

static int libc_stack_smash(void)
{
	char small[8];
	volatile char *p = HIDE(&small[0]);

	for (int i = 0; i < HIDE(14); i++)
		p[i] = 'x';
	return p[0];
}

/* --- leaks ---------------------------------------------------------------- */

struct node {
	struct node *next;
	char name[24];
};

NOINLINE static struct node *node_new(struct node *next)
{
	struct node *n = HIDE((struct node *)calloc(1, sizeof(struct node)));

	n->next = next;
	return n;
}

/* No pointer to it stays in a register or on the stack, where LSan searches. */
NOINLINE static void wipe(void)
{
	volatile char pad[8192];

	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] = 0;
}

static int leak_direct(void)
{
	struct node *n = node_new(NULL);

	n = HIDE((struct node *)NULL);
	wipe();
	return n != NULL;
}

/* The list's head is lost directly, the rest through it. */
static int leak_list(void)
{
	struct node *n = node_new(node_new(node_new(NULL)));

	n = HIDE((struct node *)NULL);
	wipe();
	return n != NULL;
}

/* Each block is lost through the other: there is no direct leak. */
static int leak_circle(void)
{
	struct node *n = node_new(NULL);

	n->next = node_new(n);
	n = HIDE((struct node *)NULL);
	wipe();
	return n != NULL;
}

const struct bug ending_bugs[] = {
    BUG(endless_loop),	    BUG(endless_wait),
    BUG(oom_small),	    BUG(oom_huge),
    BUG(alloc_too_big),	    BUG(calloc_overflow),
    BUG(exit_call),	    BUG(quiet_exit),
    BUG(const_overwritten), BUG(interrupted),
    BUG(slow_unit),	    BUG(file_too_large),
    BUG(abort_call),	    BUG(illegal_instruction),
    BUG(breakpoint),	    BUG(bus_error),
    BUG(divide_by_zero),    BUG(assert_fails),
    BUG(libc_fortify),	    BUG(libc_double_free),
    BUG(libc_bad_free),	    BUG(libc_stack_smash),
    BUG(leak_direct),	    BUG(leak_list),
    BUG(leak_circle),	    BUG_END,
};
