/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_BITS_H
#define RUNNER_CORPUS_MEASURE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of small numbers: one bit for each number up to the greatest. */
struct bits {
	uint64_t *word;
	size_t words;
	uint64_t count; /* number of members */
};

#define _autobits_ CLEANUP(bits_done) /* include base/cleanup.h */

/* 1: n is new; 0: n was a member already.  The caller bounds n: n / 8 bytes are needed. */
int bits_add(struct bits *b, uint32_t n);
void bits_add_all(struct bits *b, const struct bits *more);
bool bits_has(const struct bits *b, uint32_t n);
/* 1: n was a member. */
int bits_remove(struct bits *b, uint32_t n);
void bits_remove_all(struct bits *b, const struct bits *less);
/* How many members of a are not in b. */
uint64_t bits_missing(const struct bits *a, const struct bits *b);
void bits_done(struct bits *b);

#endif
