/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the bug, and the bugs that AddressSanitizer finds. */
#include "tests/reports/bugs.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t *unit;

static const struct bug *const all[] = {memory_bugs, shape_bugs, ending_bugs, undefined_bugs,
					thread_bugs};

NOINLINE static int dispatch(const struct bug *bug)
{
	int r = bug->run();

	return HIDE(r);
}

/* With $BUG, any non-empty input starts this bug: for engines that make their own inputs. */
static const struct bug *find_bug(const uint8_t *data, size_t size)
{
	const char *always = getenv("BUG");
	const char *name = always && size > 0 ? always : (const char *)data;
	size_t n = name == always ? strlen(always) : size;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct bug *b = all[i]; b->name; b++)
			if (strlen(b->name) == n && memcmp(b->name, name, n) == 0)
				return b;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bug *b = find_bug(data, size);
	int r = 0;

	unit = data;
	if (b)
		r = dispatch(b);
	return HIDE(r) & 0;
}

/* --- the heap ------------------------------------------------------------- */

static int heap_over_read(void)
{
	char *p = HIDE((char *)malloc(8));
	int got = p[8];

	free(p);
	return got;
}

/* One bug: the input decides whether it hits a redzone, freed memory, or none at all. */
static int index_out(void)
{
	int *p = HIDE((int *)malloc(48)), *q = HIDE((int *)malloc(48));
	ptrdiff_t at = 12;
	int got;

	free(q);
	if (unit[7] == 'r') /* of "index_freed" */
		at = (int *)HIDE((uintptr_t)q) - p;
	else if (unit[7] == 'a')
		at = (ptrdiff_t)1 << 33;
	got = p[at];
	free(p);
	return HIDE(got);
}

static int heap_over_write(void)
{
	int *p = HIDE((int *)malloc(8));

	p[2] = 1;
	free(p);
	return 0;
}

static int heap_under_read(void)
{
	short *p = HIDE((short *)malloc(8));
	int got = p[-1];

	free(p);
	return got;
}

/* The runtime's own memcpy is above our function in the stack. */
static int heap_over_copy(void)
{
	char to[64];
	char *p = HIDE((char *)calloc(1, 32));

	memcpy(HIDE(&to[0]), p, HIDE(sizeof(to)));
	free(p);
	return HIDE(&to[0])[40];
}

/* "__interceptor_strlen" in older runtimes, "strlen" in newer ones. */
static int heap_over_strlen(void)
{
	char *p = HIDE((char *)malloc(8));
	int got;

	memset(p, 'x', 8);
	got = (int)strlen(p);
	free(p);
	return got;
}

/* Several frames of the runtime are above our function. */
static int heap_over_print(void)
{
	char text[32];
	char *p = HIDE((char *)malloc(8));

	memset(p, 'x', 8);
	snprintf(text, sizeof(text), "%s", p);
	free(p);
	return HIDE(&text[0])[0];
}

NOINLINE static int compare_over(const void *a, const void *b)
{
	const int *x = HIDE((const int *)a), *y = HIDE((const int *)b);

	return x[1000] < y[1000] ? -1 : 1;
}

/* A frame of libc is between two of our functions. */
static int heap_over_sort(void)
{
	int *p = HIDE((int *)calloc(4, sizeof(int)));

	qsort(p, 4, sizeof(*p), compare_over);
	free(p);
	return 0;
}

struct session {
	int open;
	int uses;
};

NOINLINE static struct session *session_end(struct session *s)
{
	free(s);
	return HIDE(s);
}

static int use_after_free_read(void)
{
	struct session *s = HIDE((struct session *)calloc(1, sizeof(struct session)));

	s = session_end(s);
	return s->open;
}

static int use_after_free_write(void)
{
	struct session *s = HIDE((struct session *)calloc(1, sizeof(struct session)));

	s = session_end(s);
	s->uses = 1;
	return 0;
}

static int free_twice(void)
{
	struct session *s = HIDE((struct session *)calloc(1, sizeof(struct session)));

	session_end(session_end(s));
	return 0;
}

static int free_inside(void)
{
	char *p = HIDE((char *)malloc(64));

	free(HIDE(p + 16));
	return 0;
}

static int free_stack(void)
{
	char text[64];

	text[0] = 0;
	free(HIDE(&text[0]));
	return HIDE(&text[0])[0];
}

static int negative_size(void)
{
	char *p = HIDE((char *)calloc(1, 64));

	memmove(p, p + 8, HIDE((size_t)-8));
	free(p);
	return 0;
}

static int copy_overlap(void)
{
	char *p = HIDE((char *)calloc(1, 64));

	memcpy(HIDE(p), HIDE(p + 4), HIDE((size_t)16));
	free(p);
	return 0;
}

static int use_after_poison(void)
{
	char *p = HIDE((char *)calloc(1, 64));
	int got;

	ASAN_POISON_MEMORY_REGION(p, 32);
	got = p[16];
	ASAN_UNPOISON_MEMORY_REGION(p, 32);
	free(p);
	return got;
}

/* --- the stack and globals ------------------------------------------------ */

static int stack_over_read(void)
{
	char a[20];

	memset(HIDE(&a[0]), 1, sizeof(a));
	return HIDE(&a[0])[20];
}

static int stack_over_write(void)
{
	long a[4];

	HIDE(&a[0])[4] = 1;
	return (int)HIDE(&a[0])[0];
}

static int stack_under_write(void)
{
	char a[32];

	HIDE(&a[0])[-1] = 1;
	return HIDE(&a[0])[0];
}

static int vla_over_write(void)
{
	size_t n = HIDE((size_t)12);
	char a[n];

	HIDE(&a[0])[n] = 1;
	return HIDE(&a[0])[0];
}

static int *volatile kept;

/* No HIDE here: ASan leaves the locals of functions with inline assembly on the stack. */
NOINLINE static void keep_local(void)
{
	int a[8];

	kept = a;
	kept[2] = 1;
}

static int stack_after_return(void)
{
	keep_local();
	return HIDE(kept)[2];
}

static int stack_after_scope(void)
{
	int *p;

	{
		int a[8];

		p = HIDE(&a[0]);
		p[0] = 1;
	}
	return HIDE(p)[1];
}

static int four[4];

static int global_over_read(void)
{
	return HIDE(&four[0])[4];
}

static int global_over_write(void)
{
	HIDE(&four[0])[4] = 1;
	return 0;
}

const struct bug memory_bugs[] = {
    BUG(heap_over_read),
    BUG(heap_over_write),
    BUG(heap_under_read),
    BUG(heap_over_copy),
    BUG(heap_over_strlen),
    BUG(heap_over_print),
    BUG(heap_over_sort),
    BUG(use_after_free_read),
    BUG(use_after_free_write),
    BUG(free_twice),
    BUG(free_inside),
    BUG(free_stack),
    BUG(negative_size),
    BUG(copy_overlap),
    BUG(use_after_poison),
    BUG(stack_over_read),
    BUG(stack_over_write),
    BUG(stack_under_write),
    BUG(vla_over_write),
    BUG(stack_after_return),
    BUG(stack_after_scope),
    BUG(global_over_read),
    BUG(global_over_write),
    {"index_redzone", index_out},
    {"index_freed", index_out},
    {"index_far", index_out},
    BUG_END,
};
