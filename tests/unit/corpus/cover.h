/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_COVER_H
#define TESTS_UNIT_CORPUS_COVER_H

/* Shards after the end of their cells.  Include unit.h first. */
#include "runner/corpus/measure/cover.h"
#include "tests/unit/corpus/merge.h"

/* A corpus with known features: input i has size[i], and feature f when has[i][f]. */
enum { INPUTS = 200, FEATURES = 400, SHARDS = 5 };

static struct scratch dir;
static struct candidates all;
static bool has[INPUTS][FEATURES];
static unsigned feature_count[INPUTS];

/* Random numbers, the same in every run. */
static uint32_t seed;
static inline uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	all = (struct candidates){0};
	memset(has, 0, sizeof(has));
	memset(feature_count, 0, sizeof(feature_count));
	seed = 1;
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	candidates_done(&all);
	scratch_remove(&dir);
	return 0;
}

static inline void add_input(uint64_t size)
{
	char name[STORE_NAME];
	struct err e;

	/* In an order that differs from their names. */
	snprintf(name, sizeof(name), "%040zx", (all.n * 7919) % 100003);
	assert_int_equal(candidates_add(&all, name, size, &e), 0);
}

static inline void give(size_t input, unsigned feature)
{
	feature_count[input] += !has[input][feature];
	has[input][feature] = true;
}

static inline size_t index_of(const struct candidate *c)
{
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.v[i].name, c->name) == 0)
			return i;
	fail_msg("'%s' is no input", c->name);
	return 0;
}

/* --- shards after a cell -------------------------------------------------------------- */

struct measured {
	struct cover_shard s[SHARDS];
	struct control *control[SHARDS];
	struct candidates list[SHARDS];
	size_t n;
};

/* An edge is eight features.  The first input of a shard that has one of them lists the edge. */
static inline void write_edges(struct buf *b, size_t input, size_t at, bool seen[FEATURES / 8])
{
	buf_printf(b, "COV %zu", at);
	for (unsigned f = 0; f < FEATURES; f++)
		if (has[input][f] && !seen[f / 8]) {
			seen[f / 8] = true;
			buf_printf(b, " %u", f / 8);
		}
	buf_puts(b, "\n");
}

static inline void write_shard(const char *file, const struct candidates *list, const bool *failing)
{
	_autobuf_ struct buf b = BUF_INIT(8 << 20);
	bool seen[FEATURES / 8] = {0};

	for (size_t at = 0; at < list->n; at++) {
		size_t input = index_of(&list->v[at]);

		buf_printf(&b, "STARTED %zu 1\n", at);
		if (failing && failing[input])
			continue;
		buf_printf(&b, "FT %zu", at);
		for (unsigned f = 0; f < FEATURES; f++)
			if (has[input][f])
				buf_printf(&b, " %u", f);
		buf_puts(&b, "\n");
		write_edges(&b, input, at, seen);
	}
	write_control(dir.fd, file, list);
	append(dir.fd, file, buf_str(&b));
}

static inline void measure(struct measured *m, size_t shards, const struct candidates *what,
			   const bool *failing)
{
	char file[32];

	*m = (struct measured){.n = shards};
	for (size_t i = 0; i < what->n; i++) {
		struct err e;

		assert_int_equal(
		    candidates_add(&m->list[i % shards], what->v[i].name, what->v[i].size, &e), 0);
	}
	for (size_t k = 0; k < shards; k++) {
		candidates_sort(&m->list[k]);
		snprintf(file, sizeof(file), "cf%zu", k);
		write_shard(file, &m->list[k], failing);
		m->control[k] = read_control(dir.fd, file, &m->list[k]);
		assert_string_equal(m->control[k]->why, "");
		m->s[k] = (struct cover_shard){.control = m->control[k], .list = &m->list[k]};
	}
}

static inline void measured_done(struct measured *m)
{
	for (size_t k = 0; k < m->n; k++) {
		control_free(m->control[k]);
		candidates_done(&m->list[k]);
	}
}

static inline struct reach reach_of(const struct measured *m)
{
	struct reach got = {0};
	struct err e = {0};

	if (cover_reach(m->s, m->n, &got, &e) < 0)
		fail_msg("%s", e.msg);
	return got;
}

static inline struct candidates chosen_of(const struct measured *m, struct reach *io)
{
	struct candidates chosen = {0};
	struct err e = {0};

	if (cover_choose(m->s, m->n, &chosen, io, &e) < 0)
		fail_msg("%s", e.msg);
	return chosen;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

#endif
