/* SPDX-License-Identifier: Apache-2.0 */
/* A healthy target: a byte-code machine and a word list with a few hundred
 * edges.  It never crashes, finds new coverage for some seconds, and has then
 * found all there is: a true plateau.
 * Promise: truth.  The job must end as `plateau`, not before the coverage has
 * ended to grow, and its statistics must be the engine's own. */
#include "planted.h"

#define STEPS_MAX 6

static const char *const words[] = {
    "if",    "in",   "int",   "for",  "file",	 "float", "while", "where",  "with",   "break",
    "bread", "case", "const", "char", "default", "else",  "enum",  "return", "static",
};

static unsigned int word_at(const uint8_t *p, size_t left)
{
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = 0;

		while (words[i][n] && n < left && p[n] == (uint8_t)words[i][n])
			n++;
		if (!words[i][n])
			return i + 1;
	}
	return 0;
}

struct machine {
	volatile uint32_t acc;
	uint8_t last, before;
};

/* Each case is one edge, and has two more that depend on the two previous instructions.  So the
 * engine has to build programs step by step. */
#define OP(n, one, two)                             \
	case n:                                     \
		if (m->last != (one))               \
			m->acc ^= (n);              \
		else if (m->before != (two))        \
			m->acc += (n);              \
		else                                \
			m->acc = m->acc * 31 + (n); \
		break
#define OP4(n)                          \
	OP(n, (n) + 7, (n) + 2);        \
	OP((n) + 1, (n) + 40, (n) + 9); \
	OP((n) + 2, (n) ^ 5, (n) + 30); \
	OP((n) + 3, (n) + 19, (n) ^ 3)
#define OP16(n)       \
	OP4(n);       \
	OP4((n) + 4); \
	OP4((n) + 8); \
	OP4((n) + 12)

/* Not optimised: the cases look alike, and would be folded into a table. */
__attribute__((optnone)) static void step(struct machine *m, uint8_t op)
{
	switch (op) {
		OP16(0);
		OP16(16);
		OP16(32);
		OP16(48);
	default:
		m->acc += 1;
	}
	m->before = m->last;
	m->last = op;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine m = {.last = 0xff, .before = 0xff};

	for (size_t i = 0; i < size && i < STEPS_MAX; i++) {
		step(&m, data[i]);
		if (data[i] == '"')
			m.acc += word_at(data + i + 1, size - i - 1);
	}
	return 0;
}
