/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_GENERATION_H
#define TESTS_UNIT_CORPUS_GENERATION_H

/* A corpus before its replacement.  Include unit.h first. */
#include "runner/corpus/generation/generation.h"
#include "tests/unit/corpus/merge.h"

/* The old corpus is "one", "two", "three" and a user's files.  The next corpus will be "one" and
 * the new input "four". */
static struct scratch dir;
static int stage;
static struct candidates known, chosen;

static inline void know(struct candidates *c, const char *content)
{
	struct err e;

	assert_int_equal(candidates_add(c, name_of(content), strlen(content), &e), 0);
	candidates_sort(c);
}

static inline const char *in_corpus(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "corpus/t/%s", name);
	return path;
}

static inline const char *in_generation(unsigned number, const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "generations/t/%u/%s", number, name);
	return path;
}

static inline void fill(void)
{
	static const char *const old[] = {"one", "two", "three"};

	stage = make_dir_at(dir.fd, "stage");
	close(make_dir_at(dir.fd, "corpus/t"));
	for (size_t i = 0; i < 3; i++) {
		input(dir.fd, in_corpus(name_of(old[i])), old[i]);
		assert_int_equal(
		    linkat(dir.fd, in_corpus(name_of(old[i])), stage, name_of(old[i]), 0), 0);
		know(&known, old[i]);
	}
	input(dir.fd, in_corpus("seed of a user"), "seed");
	input(stage, name_of("seed"), "seed");
	know(&known, "seed");
	input(stage, name_of("four"), "four");
	know(&known, "four");
	know(&chosen, "one");
	know(&chosen, "four");
}

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	umask(022);
	known = chosen = (struct candidates){0};
	fill();
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	candidates_done(&known);
	candidates_done(&chosen);
	close(stage);
	scratch_remove(&dir);
	return 0;
}

static inline struct generation opened(void)
{
	struct generation g = {.corpora = -1, .dir = -1};
	struct err e = {0};

	if (generation_open(dir.fd, "t", &g, &e) < 0)
		fail_msg("%s", e.msg);
	return g;
}

static inline int replace(unsigned keep, struct generation_result *ret, struct err *e)
{
	struct generation g = opened();
	struct generation_replacement with = {
	    .stage = stage, .chosen = &chosen, .known = &known, .keep = keep};
	int r = generation_replace(&g, &with, ret, e);

	generation_close(&g);
	return r;
}

static inline struct generation_result replaces(unsigned keep)
{
	struct generation_result ret;
	struct err e = {0};

	if (replace(keep, &ret, &e) < 0)
		fail_msg("%s", e.msg);
	return ret;
}

static inline enum generation_found recovers(unsigned keep)
{
	enum generation_found found;
	struct generation g = opened();
	struct err e = {0};

	if (generation_recover(&g, keep, &found, &e) < 0)
		fail_msg("%s", e.msg);
	generation_close(&g);
	return found;
}

static inline bool corpus_has(const char *content)
{
	return holds(dir.fd, in_corpus(name_of(content)), content);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

#endif
