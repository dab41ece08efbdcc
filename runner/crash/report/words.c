/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/words.h"

#include "runner/crash/report/text.h"

#include <assert.h>

_Static_assert(WORDS_COUNT <= 64, "a bit each");

static const struct {
	enum words_bit bit;
	const char *text;
} words[] = {
#define WORD(bit, text) {WORDS_##bit, text},
#include "runner/crash/report/words.inc"
#undef WORD
};

enum { WORDS_N = sizeof(words) / sizeof(words[0]) };

static void make_classes(struct words *w)
{
	w->classes = 1;
	for (size_t i = 0; i < WORDS_N; i++)
		for (const char *c = words[i].text; *c; c++)
			if (!w->class[(unsigned char)*c])
				w->class[(unsigned char)*c] = (unsigned char)w->classes++;
	assert(w->classes <= WORDS_CLASSES_MAX);
	for (int c = 'A'; c <= 'Z'; c++)
		w->class[c] = w->class[(unsigned char)text_lower((char)c)];
}

static uint16_t child(const struct words *w, uint16_t at, unsigned char class)
{
	uint16_t i = at ? w->node[at].child : w->root[class];

	while (at && i && w->node[i].class != class)
		i = w->node[i].sibling;
	return i;
}

static uint16_t add_child(struct words *w, uint16_t at, unsigned char class)
{
	uint16_t i = (uint16_t)w->n++;

	assert(w->n <= WORDS_NODES_MAX);
	w->node[i] = (struct words_node){.class = class};
	if (at) {
		w->node[i].sibling = w->node[at].child;
		w->node[at].child = i;
	} else {
		w->root[class] = i;
	}
	return i;
}

static void words_add_word(struct words *w, const char *text, enum words_bit bit)
{
	uint16_t at = 0;

	for (; *text; text++) {
		unsigned char class = w->class[(unsigned char)*text];
		uint16_t next = child(w, at, class);

		at = next ? next : add_child(w, at, class);
	}
	w->node[at].bits |= UINT64_C(1) << bit;
}

static uint16_t words_step(const struct words *w, uint16_t at, unsigned char class)
{
	uint16_t next = child(w, at, class);

	while (!next && at) {
		at = w->node[at].fail;
		next = child(w, at, class);
	}
	return next;
}

/* Breadth first: the node that a node fails to is nearer to the root, so its bits are complete. */
static void link_nodes(struct words *w)
{
	uint16_t queue[WORDS_NODES_MAX];
	unsigned head = 0, tail = 0;

	for (unsigned c = 0; c < w->classes; c++)
		if (w->root[c])
			queue[tail++] = w->root[c];
	while (head < tail) {
		uint16_t at = queue[head++];

		for (uint16_t i = w->node[at].child; i; i = w->node[i].sibling) {
			struct words_node *n = &w->node[i];

			n->fail = words_step(w, w->node[at].fail, n->class);
			n->bits |= w->node[n->fail].bits;
			queue[tail++] = i;
		}
	}
}

void words_init(struct words *w)
{
	memset(w, 0, sizeof(*w));
	w->n = 1;
	make_classes(w);
	/* Adds the first bytes first, so that the nodes next to the root have the lowest
	 * numbers. */
	for (size_t i = 0; i < WORDS_N; i++) {
		unsigned char class = w->class[(unsigned char)words[i].text[0]];

		if (!w->root[class])
			add_child(w, 0, class);
	}
	w->shallow = w->n - 1;
	for (size_t i = 0; i < WORDS_N; i++)
		words_add_word(w, words[i].text, words[i].bit);
	link_nodes(w);
	for (unsigned a = 0; a < w->classes; a++) {
		memcpy(w->pair[a], w->root, sizeof(w->pair[a]));
		if (!w->root[a])
			continue;
		for (uint16_t i = w->node[w->root[a]].child; i; i = w->node[i].sibling)
			w->pair[a][w->node[i].class] = i;
	}
}

uint64_t words_in(const struct words *w, struct slice line)
{
	const unsigned char *p = (const unsigned char *)line.p;
	uint64_t bits = 0;
	unsigned char before = 0;
	uint16_t at = 0;

	for (size_t i = 0; i < line.n; i++) {
		unsigned char class = w->class[p[i]];

		if (at <= w->shallow) {
			at = w->pair[before][class];
		} else {
			at = words_step(w, at, class);
			bits |= w->node[at].bits;
		}
		before = class;
	}
	return bits;
}
