/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/bisect/journal.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "runner/crash/odds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define JOURNAL_FILE "bisect.json"
enum { JOURNAL_BYTES_MAX = 16 << 20, TRIES_MAX = 1000000 };

static const char *const names[JOURNAL_INPUTS] = {"input", "minimized"};

void journal_done(struct journal *j)
{
	free(j->of);
	free(j->v);
	*j = (struct journal){0};
}

/* --- reading ---------------------------------------------------------------- */

static uint64_t count_of(const json_t *j, const char *key)
{
	uint64_t n = json_get_u64(j, key);

	return n < TRIES_MAX ? n : TRIES_MAX;
}

static void take_test(const json_t *j, struct journal *io)
{
	struct journal_test t = {.outcome = 0};
	const char *outcome = json_get_text(j, "outcome");

	snprintf(t.commit, sizeof(t.commit), "%s", json_get_text(j, "commit"));
	snprintf(t.why, sizeof(t.why), "%s", json_get_text(j, "why"));
	while (t.outcome < BISECT_OUTCOME_COUNT &&
	       strcmp(bisect_outcome_name(t.outcome), outcome) != 0)
		t.outcome++;
	for (size_t i = 0; i < JOURNAL_INPUTS; i++) {
		const json_t *in = json_object_get(j, names[i]);

		t.input[i] = (struct journal_tries){count_of(in, "tries"), count_of(in, "hits")};
	}
	if (commit_ok(t.commit) && t.outcome < BISECT_OUTCOME_COUNT)
		journal_add(io, &t);
}

int journal_load(int dirfd, const char *of, struct journal *ret, struct err *e)
{
	_autojson_ json_t *root = NULL;
	const json_t *tests;
	int r = json_load(dirfd, JOURNAL_FILE, JOURNAL_BYTES_MAX, &root, e);

	*ret = (struct journal){.of = NULL};
	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return r;
	ret->of = xstrdup(of);
	if (r < 0)
		return 0;
	tests = json_object_get(root, "tests");
	if (strcmp(json_get_text(root, "of"), of) != 0)
		return 0;
	for (size_t i = 0; i < json_array_size(tests); i++)
		take_test(json_array_get(tests, i), ret);
	return 0;
}

/* --- writing ---------------------------------------------------------------- */

static json_t *test_json(const struct journal_test *t)
{
	json_t *j = json_pack("{s:s, s:s}", "commit", t->commit, "outcome",
			      bisect_outcome_name(t->outcome));

	for (size_t i = 0; i < JOURNAL_INPUTS; i++)
		if (t->input[i].tries)
			(void)json_object_set_new(j, names[i],
						  json_pack("{s:I, s:I}", "tries",
							    (json_int_t)t->input[i].tries, "hits",
							    (json_int_t)t->input[i].hits));
	if (*t->why)
		(void)json_object_set_new(j, "why", json_string(t->why));
	return j;
}

int journal_save(int dirfd, const struct journal *j, struct err *e)
{
	_autojson_ json_t *root = json_pack("{s:s, s:[]}", "of", j->of, "tests");
	_autofree_ char *text = NULL;
	int r;

	for (size_t i = 0; i < j->n; i++)
		(void)json_array_append_new(json_object_get(root, "tests"), test_json(&j->v[i]));
	r = json_print(root, 1, &text, e);
	if (r == 0)
		r = fs_replace(dirfd, JOURNAL_FILE, slice_of(text), e);
	return r < 0 ? err_wrap(e, "save the search") : 0;
}

/* --- tests ------------------------------------------------------------------- */

static struct journal_test *find(const struct journal *j, const char *commit)
{
	for (size_t i = 0; i < j->n; i++)
		if (strcmp(j->v[i].commit, commit) == 0)
			return &j->v[i];
	return NULL;
}

const struct journal_test *journal_find(const struct journal *j, const char *commit)
{
	return find(j, commit);
}

void journal_add(struct journal *io, const struct journal_test *t)
{
	struct journal_test *old = find(io, t->commit);
	struct journal_tries had[JOURNAL_INPUTS] = {{0, 0}};

	if (!old && io->n == JOURNAL_TESTS_MAX)
		memmove(io->v, io->v + 1, --io->n * sizeof(*io->v));
	if (!old) {
		io->v = xreallocarray(io->v, io->n + 1, sizeof(*io->v));
		old = &io->v[io->n++];
	} else {
		memcpy(had, old->input, sizeof(had));
	}
	*old = *t;
	for (size_t i = 0; i < JOURNAL_INPUTS; i++) {
		old->input[i].tries += had[i].tries;
		old->input[i].hits += had[i].hits;
	}
}

/* --- chances ------------------------------------------------------------------ */

double journal_miss(const struct journal_test *t, const struct journal_tries known[JOURNAL_INPUTS])
{
	double miss = 1;

	for (size_t i = 0; i < JOURNAL_INPUTS; i++)
		miss *=
		    pow(1 - odds_lower(known[i].tries, known[i].hits), (double)t->input[i].tries);
	return miss;
}
