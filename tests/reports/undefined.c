/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs that UndefinedBehaviorSanitizer finds, in C. */
#include "tests/reports/bugs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int signed_overflow(void)
{
	return HIDE(INT_MAX) + HIDE(1);
}

static int negate_overflow(void)
{
	return -HIDE(INT_MIN);
}

static int divide_overflow(void)
{
	return HIDE(INT_MIN) / HIDE(-1);
}

static int divide_zero(void)
{
	return HIDE(7) / HIDE(0);
}

static int remainder_zero(void)
{
	return HIDE(7) % HIDE(0);
}

static int shift_too_far(void)
{
	return HIDE(1) << HIDE(40);
}

static int shift_negative(void)
{
	return HIDE(-5) << HIDE(2);
}

static int index_out(void)
{
	static int table[4];

	return table[HIDE(7)];
}

static int bool_value(void)
{
	unsigned char raw = 7;
	bool *b = HIDE((bool *)&raw);

	return *b ? 1 : 2;
}

static int bool_volatile(void)
{
	unsigned char raw = 7;
	volatile _Bool *b = HIDE((volatile _Bool *)&raw);

	return *b ? 1 : 2;
}

static int misaligned_read(void)
{
	char raw[16] = {0};

	return *HIDE((int *)(uintptr_t)&raw[1] + 0) & 1;
}

static int misaligned_write(void)
{
	static _Alignas(8) char raw[16];

	*HIDE((long *)(uintptr_t)&raw[1]) = 1;
	return 0;
}

__attribute__((nonnull(1))) NOINLINE static int takes_text(const char *text)
{
	return HIDE(text) == NULL;
}

static int null_argument(void)
{
	int r = takes_text(HIDE((const char *)0));

	return HIDE(r);
}

static int null_to_memcpy(void)
{
	char to[4] = {0};

	memcpy(HIDE(&to[0]), HIDE((const char *)0), HIDE((size_t)0));
	return to[0];
}

__attribute__((returns_nonnull)) NOINLINE static char *finds_text(void)
{
	return HIDE((char *)0);
}

static int null_returned(void)
{
	char *p = finds_text();

	return HIDE(p) == NULL;
}

static int vla_bound(void)
{
	int n = HIDE(-3);
	char a[n];

	return HIDE(&a[0]) == NULL;
}

static int float_cast(void)
{
	static volatile double big = 1e30;

	return (int)big;
}

static int unreachable_code(void)
{
	if (HIDE(1))
		__builtin_unreachable();
	return 0;
}

static int count_zero_bits(void)
{
	return __builtin_ctz(HIDE(0U));
}

static int pointer_overflow(void)
{
	char *p = HIDE((char *)16);

	return HIDE(p - HIDE((size_t)4096)) == NULL;
}

static int offset_of_null(void)
{
	char *p = HIDE((char *)0);

	return HIDE(p + HIDE((size_t)8)) == NULL;
}

static int object_size(void)
{
	_Alignas(int) char small[6] = {1, 2, 3, 4};

	return *(int *)(uintptr_t)(&small[0] + 4) & 1;
}

/* A process that the first error stops does not report the second. */
static int two_overflows(void)
{
	int a = HIDE(INT_MAX) + HIDE(1);
	int b = HIDE(1) << HIDE(50);

	return HIDE(a) + (HIDE(b) & 1);
}

__attribute__((always_inline)) static inline int grow(int n)
{
	return n * HIDE(1 << 20);
}

static int inlined_overflow(void)
{
	int r = grow(HIDE(1 << 20));

	return HIDE(r);
}

const struct bug undefined_bugs[] = {
    BUG(signed_overflow),
    BUG(negate_overflow),
    BUG(divide_overflow),
    BUG(divide_zero),
    BUG(remainder_zero),
    BUG(shift_too_far),
    BUG(shift_negative),
    BUG(index_out),
    BUG(bool_value),
    BUG(bool_volatile),
    BUG(misaligned_read),
    BUG(misaligned_write),
    BUG(null_argument),
    BUG(null_to_memcpy),
    BUG(null_returned),
    BUG(vla_bound),
    BUG(float_cast),
    BUG(unreachable_code),
    BUG(count_zero_bits),
    BUG(pointer_overflow),
    BUG(offset_of_null),
    BUG(object_size),
    BUG(two_overflows),
    BUG(inlined_overflow),
    BUG_END,
};
