/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_WORDS_H
#define RUNNER_CRASH_REPORT_WORDS_H

#include "base/scan.h"

/* The words by which the parser recognises important lines.  All are searched in one pass
 * (Aho-Corasick), so a hundred of them cost as much as one. */

enum words_bit {
	WORDS_SUMMARY,
	WORDS_NOISE,
	WORDS_START, /* a process began */
	WORDS_DEADLY,
	WORDS_SANITIZER,
	WORDS_ASSERT,
	WORDS_NEVER,
	WORDS_LEAK,
	WORDS_UBSAN,
	WORDS_NOTE,
	WORDS_CFI,
	WORDS_GO,
	WORDS_FUZZTEST,
	WORDS_GO_FAILED,
	WORDS_GOROUTINE,
	WORDS_PYTHON,
	WORDS_EXCEPTION,
	WORDS_BUG,
	WORDS_SIZE,
	WORDS_CAUSED,
	WORDS_SCARINESS,
	WORDS_CHECK,
	WORDS_FATAL,
	WORDS_TIMEOUT,
	WORDS_LIBFUZZER,
	WORDS_STACK_LIMIT,
	WORDS_V8,
	WORDS_SIGNAL,
	WORDS_MISSING,
	WORDS_STOP, /* an unrelated stack follows */
	WORDS_PREVIOUS,
	WORDS_LIVE,
	WORDS_LIBC,
	WORDS_MIRACLE,
	WORDS_ISSUE,
	WORDS_PC_NULL,
	WORDS_OOM,
	WORDS_COUNT, /* at most 64 */
};

enum { WORDS_NODES_MAX = 1920, WORDS_CLASSES_MAX = 64 };

struct words {
	unsigned char class[256]; /* 0: in no word; upper and lower case have the same class */
	uint16_t root[WORDS_CLASSES_MAX];
	/* The node of two bytes from the root: most text never gets further. */
	uint16_t pair[WORDS_CLASSES_MAX][WORDS_CLASSES_MAX];
	struct words_node {
		uint16_t child, sibling; /* 0: none */
		uint16_t fail;	     /* the longest other prefix that this node's text ends with */
		unsigned char class; /* of the step that leads here */
		uint64_t bits;	     /* bits of the words that end here */
	} node[WORDS_NODES_MAX];
	unsigned n, classes;
	unsigned shallow; /* the last node at the root's side */
};

void words_init(struct words *w);

/* Bits of the words in line, 1 << WORDS_...; 0 for most lines. */
uint64_t words_in(const struct words *w, struct slice line);

static inline bool words_has(uint64_t bits, enum words_bit b)
{
	return bits & UINT64_C(1) << b;
}

#endif
