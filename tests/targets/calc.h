/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_CALC_H
#define TESTS_TARGETS_CALC_H

/* A recursive-descent parser of sums, with one bug: for a '$' its tokenizer reads beyond its table.
 * Inputs reach the bug through different callers. */
#include "planted.h"

struct calc {
	const uint8_t *p, *end;
	int depth;
};

__attribute__((noinline)) static int calc_peek(const struct calc *c)
{
	static const volatile char kinds[] = "()+-*/,[]";
	int ch = c->p < c->end ? *c->p : 0;

	return ch == '$' ? kinds[sizeof(kinds) + (size_t)c->depth % 8] : ch;
}

static long calc_sum(struct calc *c);

__attribute__((noinline)) static long calc_number(struct calc *c)
{
	long n = 0;

	while (calc_peek(c) >= '0' && calc_peek(c) <= '9')
		n = (n * 10 + *c->p++ - '0') % 1000;
	return n;
}

__attribute__((noinline)) static long calc_list(struct calc *c)
{
	long n = 0;

	do {
		c->p++;
		n += calc_sum(c);
	} while (calc_peek(c) == ',');
	c->p += calc_peek(c) == ']';
	return n;
}

static long calc_value(struct calc *c);

__attribute__((noinline)) static long calc_parens(struct calc *c)
{
	long n;

	c->p++;
	n = calc_sum(c);
	c->p += calc_peek(c) == ')';
	return n;
}

__attribute__((noinline)) static long calc_negation(struct calc *c)
{
	c->p++;
	return -calc_value(c);
}

__attribute__((noinline)) static long calc_call(struct calc *c)
{
	c->p++;
	return calc_peek(c) == '(' ? calc_parens(c) % 10 : 0;
}

__attribute__((noinline)) static long calc_value(struct calc *c)
{
	if (++c->depth > 50)
		return 0;
	switch (calc_peek(c)) {
	case '(':
		return calc_parens(c);
	case '[':
		return calc_list(c);
	case '-':
		return calc_negation(c);
	case 'f':
		return calc_call(c);
	default:
		return calc_number(c);
	}
}

__attribute__((noinline)) static long calc_product(struct calc *c)
{
	long n = calc_value(c);

	while (calc_peek(c) == '*' || calc_peek(c) == '/') {
		c->p++;
		n = n % 1000 * calc_value(c);
	}
	return n;
}

__attribute__((noinline)) static long calc_sum(struct calc *c)
{
	long n = calc_product(c);

	while (calc_peek(c) == '+') {
		c->p++;
		n += calc_product(c);
	}
	return n;
}

#endif
