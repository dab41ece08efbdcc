/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DICTIONARY_WORDS_H
#define RUNNER_DICTIONARY_WORDS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* The words that fuzzcell knows of a target, and what they brought.  Pure: no files, no clock.
 *
 * A word is a literal of the program, or was learned from the engine: a comparison of the program
 * showed it.  At most WORDS_MOST of them are active, which means that a cell gets them as its
 * dictionary.  An engine picks words uniformly, so that useless words take turns from the others.
 *
 * From run to run:
 *   - words that brought inputs come first, the most successful ones before the others;
 *   - then literals that were not tried for long enough, those in work first;
 *   - then literals that were tried and brought nothing, while there is room. */
enum {
	WORD_BYTES = 32,    /* the longest word; libFuzzer takes 64 bytes */
	WORDS_MAX = 8192,   /* words that are known at all */
	WORDS_MOST = 512,   /* words that are active */
	WORDS_LEARNED = 64, /* of these, words that were learned */
	/* A word that had such a share of the executions and brought nothing makes room.  About a
	 * fifth of all executions use one of the words. */
	WORDS_TRIED = 20000,
	/* Once may be chance: so many inputs make a learned word active. */
	WORDS_PROVEN = 2,
	WORDS_TRIALS = 8, /* beside so many given words, one word is tried */
	WORDS_FEW = 4,	  /* so many are active beside the smallest one */
	WORDS_TRUST = 3,
	WORDS_REPEATS = 59,
	WORDS_TEXT_MAX = 2 << 20, /* of the file */
};

struct word {
	char bytes[WORD_BYTES];
	uint8_t n;
	bool is_learned; /* else it is, or was, a literal of the program */
	bool is_present; /* a literal of the present build */
	bool is_given;	 /* the target's own dictionary has it: never active */
	bool is_active;
	uint32_t penalty; /* of a literal: how unlikely it is to be a token; then its place */
	uint64_t brought; /* inputs with new coverage that were made with it */
	uint64_t tried;	  /* its share of the executions: divided by the dictionary's entries */
};

struct words {
	struct word *v;
	size_t n, room;
	uint16_t *slots; /* a hash table of 2 * room: index + 1, 0: empty */
};
#define WORDS_INIT ((struct words){0})
void words_done(struct words *w);

/* The word with these bytes; NULL: not known. */
struct word *words_find(const struct words *w, struct slice bytes);
/* That word, or a new one with nothing set.  NULL: no room, no memory, or no word's length. */
struct word *words_add(struct words *w, struct slice bytes);

/* A literal of the present build; what cannot be a token (word_penalty()) is passed over.  more is
 * added to its penalty. */
void words_add_literal(struct words *w, struct slice bytes, uint32_t more);
/* Words of a dictionary file (hostile): they are given.  Returns how many entries it has. */
size_t words_add_given(struct words *w, struct slice text);

/* n inputs were kept that were made with the word.  may_learn: an unknown word is added. */
void words_brought(struct words *w, struct slice bytes, uint64_t n, bool may_learn);
/* Each active word had a share of so many more executions. */
void words_offered(struct words *w, uint64_t execs);

/* Decides which words are active: at most `most`, and beside a given dictionary few that are not
 * proven.  Returns how many. */
size_t words_choose(struct words *w, size_t most);

/* The active words as dictionary lines. */
MUST_CHECK int words_print(const struct words *w, struct buf *out, struct err *e);
/* The words that are trusted (given ones, and those that brought inputs) once more, and again:
 * until they are WORDS_TRUST times as many lines as the other active words, at most WORDS_REPEATS
 * times.  An engine picks entries uniformly, and does not mind that two are equal. */
MUST_CHECK int words_repeat(const struct words *w, struct buf *out, struct err *e);
/* What is worth keeping as a dictionary file with comments: the active words, and, as comments,
 * words with a history. */
MUST_CHECK int words_save(const struct words *w, const char *target, struct buf *out,
			  struct err *e);
/* Adds what such a file (hostile) says; lines that are not understood are passed over. */
void words_load(struct words *w, struct slice text);

/* How unlikely the bytes of a literal are to be a token: 0 is best.  WORD_NONE: they are a path, a
 * format, a message, or have the wrong length. */
#define WORD_NONE UINT32_MAX
uint32_t word_penalty(struct slice bytes);

#endif
