/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of unusual shape: endless stacks, no stack, inlined frames, misleading names. */
#include "tests/reports/bugs.h"

#include <pthread.h>
#include <stdlib.h>

struct item {
	int open;
	int uses;
};

static int data[4];

/* --- recursion ------------------------------------------------------------ */

NOINLINE static int count_down(int n)
{
	volatile char pad[512];

	pad[n & 511] = (char)n;
	if (HIDE(1))
		n = count_down(n - 1);
	return HIDE(n) + pad[0];
}

static int overflow_one(void)
{
	int r = count_down(HIDE(0));

	return HIDE(r);
}

NOINLINE static int visit_list(int n);

NOINLINE static int visit_item(int n)
{
	volatile char pad[256];

	pad[n & 255] = (char)n;
	if (HIDE(1))
		n = visit_list(n - 1);
	return HIDE(n) + pad[0];
}

static int visit_list(int n)
{
	volatile char pad[128];

	pad[n & 127] = (char)n;
	if (HIDE(1))
		n = visit_item(n - 1);
	return HIDE(n) + pad[0];
}

static int overflow_two(void)
{
	int r = visit_list(HIDE(0));

	return HIDE(r);
}

/* --- wild addresses ------------------------------------------------------- */

static int null_read(void)
{
	return *HIDE((const int *)0);
}

static int null_write(void)
{
	*HIDE((int *)0) = 1;
	return 0;
}

static int null_field(void)
{
	return HIDE((struct item *)0)->uses;
}

static int wild_read(void)
{
	return *HIDE((const int *)0x10001230);
}

static int wild_write(void)
{
	*HIDE((int *)0x10001230) = 1;
	return 0;
}

/* Not a canonical address: the kernel does not report it. */
static int wild_high_read(void)
{
	return *HIDE((const int *)0x4141414141414140);
}

/* A call to a non-code address leaves no frame of the caller, only of the caller's caller. */
NOINLINE static int call_hook(int (*hook)(void))
{
	int r = HIDE(hook)();

	return HIDE(r);
}

/* The sanitizer's report code crashes on it, too. */
static int wild_jump(void)
{
	int r = call_hook(HIDE((int (*)(void))0x10001230));

	return HIDE(r);
}

static int null_jump(void)
{
	int r = call_hook(HIDE((int (*)(void))0));

	return HIDE(r);
}

static int data_jump(void)
{
	int r = call_hook((int (*)(void))HIDE((uintptr_t)&data[0]));

	return HIDE(r);
}

/* --- stacks of special shape ---------------------------------------------- */

__attribute__((always_inline)) static inline int innermost(const char *p)
{
	return p[8];
}

__attribute__((always_inline)) static inline int middle(const char *p)
{
	return innermost(p) + 1;
}

__attribute__((always_inline)) static inline int outermost(const char *p)
{
	return middle(p) + 1;
}

/* Four frames with one address. */
static int inlined_over_read(void)
{
	char *p = HIDE((char *)malloc(8));
	int got = outermost(p);

	free(p);
	return got;
}

/* Names that begin like names of the runtime or libc, but are the target's own. */
NOINLINE static int free_list_add(char *p)
{
	int got = p[8];

	return HIDE(got);
}

NOINLINE static int malloc_node(char *p)
{
	int r = free_list_add(p);

	return HIDE(r);
}

NOINLINE static int main_loop(char *p)
{
	int r = malloc_node(p);

	return HIDE(r);
}

NOINLINE static int abort_if_done(char *p)
{
	int r = main_loop(p);

	return HIDE(r);
}

static int names_like_libc(void)
{
	char *p = HIDE((char *)malloc(8));
	int r = abort_if_done(p);

	free(p);
	return HIDE(r);
}

NOINLINE static void *thread_reads(void *p)
{
	return (void *)(uintptr_t)((char *)p)[8];
}

static int thread_over_read(void)
{
	char *p = HIDE((char *)malloc(8));
	pthread_t t;

	if (pthread_create(&t, NULL, thread_reads, p) == 0)
		pthread_join(t, NULL);
	free(p);
	return 0;
}

const struct bug shape_bugs[] = {
    BUG(overflow_one),	  BUG(overflow_two),	 BUG(null_read),  BUG(null_write),
    BUG(null_field),	  BUG(wild_read),	 BUG(wild_write), BUG(wild_high_read),
    BUG(wild_jump),	  BUG(null_jump),	 BUG(data_jump),  BUG(inlined_over_read),
    BUG(names_like_libc), BUG(thread_over_read), BUG_END,
};
