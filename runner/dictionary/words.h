/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DICTIONARY_WORDS_H
#define RUNNER_DICTIONARY_WORDS_H

#include "base/buf.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* The words that fuzzcell knows of a target, and the inputs that they brought.  Pure: no files, no
 * clock.
 *
 * A word is a literal of the program, or was learned from the engine: the program compared it with
 * its input.  At most WORDS_MOST words are active: a cell gets these as its dictionary.  An engine
 * picks words uniformly, so useless words reduce the use of the others.
 *
 * From run to run:
 *   - words that brought inputs come first, the most successful ones before the others;
 *   - then literals that were not tried for long enough, those in work first;
 *   - then literals that were tried and brought nothing, while there is room. */
enum {
	WORD_BYTES = 32,    /* the longest word; libFuzzer takes 64 bytes */
	WORDS_MAX = 8192,   /* all known words */
	WORDS_MOST = 512,   /* active words */
	WORDS_LEARNED = 64, /* learned words among the active ones */
	/* A word that had this share of the executions and brought nothing makes room for others.
	 * About a fifth of all executions use one of the words. */
	WORDS_TRIED = 20000,
	/* This number of inputs makes a learned word active: one input may be chance. */
	WORDS_PROVEN = 2,
	WORDS_UNPROVEN = 8, /* this number of given words allows one unproven word */
	WORDS_FEW = 4,	    /* words that may be active beside even the smallest given dictionary */
	WORDS_TRUST = 3,
	WORDS_REPEATS = 59,
	WORDS_TEXT_MAX = 2 << 20, /* bytes of the file */
};

struct word {
	char bytes[WORD_BYTES];
	uint8_t n;
	bool is_learned; /* else a literal of this or an earlier build */
	bool is_present; /* a literal of the present build */
	bool is_given;	 /* the target's own dictionary has it: never active */
	bool is_active;
	uint32_t penalty; /* of a literal: how unlikely it is to be a token, and its place in a
			   * table */
	uint64_t brought; /* inputs with new coverage that used the word */
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
/* The word with these bytes, or a new one with nothing set.  NULL: no room, or an invalid
 * length. */
struct word *words_add(struct words *w, struct slice bytes);

/* Adds a literal of the present build.  Bytes that cannot be a token (word_penalty()) are ignored.
 * more is added to the word's penalty. */
void words_add_literal(struct words *w, struct slice bytes, uint32_t more);
/* Adds the words of a dictionary file (hostile) as given ones.  Returns how many entries it has. */
size_t words_add_given(struct words *w, struct slice text);

/* Notes that n kept inputs used the word.  may_learn: an unknown word is added. */
void words_brought(struct words *w, struct slice bytes, uint64_t n, bool may_learn);
/* Notes a share of so many more executions for each active word. */
void words_offered(struct words *w, uint64_t execs);

/* Decides which words are active: at most `most`.  Beside a given dictionary, few of them are
 * unproven.  Returns how many are active. */
size_t words_choose(struct words *w, size_t most);

/* Prints the active words as dictionary lines. */
void words_print(const struct words *w, struct buf *out);
/* Repeats the trusted words (given ones, and those that brought inputs).  They become WORDS_TRUST
 * times as many lines as the other active words, but each is repeated at most WORDS_REPEATS times.
 * An engine picks entries uniformly, and accepts equal entries. */
void words_repeat(const struct words *w, struct buf *out);
/* Prints a dictionary file to keep: the active words, and, as comments, the words with a
 * history. */
void words_save(const struct words *w, const char *target, struct buf *out);
/* Loads such a file (hostile); unknown lines are ignored. */
void words_load(struct words *w, struct slice text);

/* How unlikely the bytes of a literal are to be a token: 0 is best.  WORD_NONE: they are a path, a
 * format, a message, or have the wrong length. */
#define WORD_NONE UINT32_MAX
uint32_t word_penalty(struct slice bytes);

#endif
