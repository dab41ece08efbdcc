/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/words.h"

#include "runner/crash/text.h"

#include <assert.h>

_Static_assert(WORDS_ <= 64, "a bit each");

static const struct {
	enum words_bit bit;
	const char *text;
} words[] = {
#define WORD(bit, text) {WORDS_##bit, text},
#include "runner/crash/words.inc"
#undef WORD
};

enum { WORDS_N = sizeof(words) / sizeof(words[0]) };

/* Class 0 is every byte that is in no word; both cases of a letter are one class. */
static void make_classes(struct words *w)
{
	w->classes = 1;
	for (size_t i = 0; i < WORDS_N; i++)
		for (const char *c = words[i].text; *c; c++)
			if (!w->class[(unsigned char)*c])
				w->class[(unsigned char)*c] = (unsigned char)w->classes++;
	assert(w->classes <= WORDS_CLASSES);
	for (int c = 'A'; c <= 'Z'; c++)
		w->class[c] = w->class[(unsigned char)text_lower((char)c)];
}

static void add_word(struct words *w, const char *text, enum words_bit bit)
{
	unsigned at = 0;

	for (; *text; text++) {
		unsigned c = w->class[(unsigned char)*text];

		if (!w->next[at][c]) {
			assert(w->n < WORDS_STATES_MAX);
			w->next[at][c] = (uint16_t)w->n++;
		}
		at = w->next[at][c];
	}
	w->said[at] |= UINT64_C(1) << bit;
}

/* Breadth first: a state's missing steps are those of the longest other beginning
 * that it ends with. */
static void link_states(struct words *w)
{
	uint16_t queue[WORDS_STATES_MAX], fail[WORDS_STATES_MAX] = {0};
	unsigned head = 0, tail = 0;

	for (unsigned c = 0; c < w->classes; c++)
		if (w->next[0][c])
			queue[tail++] = w->next[0][c];
	while (head < tail) {
		unsigned s = queue[head++];

		w->said[s] |= w->said[fail[s]];
		for (unsigned c = 0; c < w->classes; c++) {
			uint16_t to = w->next[s][c];

			if (to) {
				fail[to] = w->next[fail[s]][c];
				queue[tail++] = to;
			} else {
				w->next[s][c] = w->next[fail[s]][c];
			}
		}
	}
}

void words_init(struct words *w)
{
	memset(w, 0, sizeof(*w));
	w->n = 1;
	make_classes(w);
	for (size_t i = 0; i < WORDS_N; i++)
		add_word(w, words[i].text, words[i].bit);
	link_states(w);
}

uint64_t words_in(const struct words *w, struct slice line)
{
	const unsigned char *p = (const unsigned char *)line.p;
	uint64_t bits = 0;
	unsigned s = 0;

	for (size_t i = 0; i < line.n; i++) {
		s = w->next[s][w->class[p[i]]];
		bits |= w->said[s];
	}
	return bits;
}
