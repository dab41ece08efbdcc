/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/past.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/state/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many lines are read at first; more if the newest round is not whole in them. */
enum { LINES = 10000, LINES_MAX = ROUND_HISTORY_LINES };

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- a round ------------------------------------------------------------------------- */

void past_add(struct past_shard *io, const json_t *line)
{
	io->deltas++;
	io->ended |= json_is_true(json_object_get(line, "last"));
	io->inputs += json_get_u64(line, "inputs");
	io->edges += json_get_u64(line, "edges");
	io->crashes += json_get_u64(line, "crashes");
	io->cpu_seconds += json_number_value(json_object_get(line, "cpu_seconds"));
	if (json_get_u64(line, "until") < io->until)
		return;
	io->until = json_get_u64(line, "until");
	snprintf(io->node, sizeof(io->node), "%s", json_get_text(line, "node"));
}

bool past_is_of(const json_t *line, const struct past_round *r)
{
	return json_get_u64(line, "round") == r->round &&
	       strcmp(json_get_text(line, "plan"), r->plan) == 0;
}

static void sum_up(struct past_round *r)
{
	_autojson_ json_t *nodes = json_object();

	for (unsigned i = 0; i < r->shards; i++) {
		const struct past_shard *s = &r->v[i];

		r->ended += s->ended;
		r->until = later(r->until, s->until);
		r->inputs += s->inputs;
		r->edges += s->edges;
		r->crashes += s->crashes;
		r->cpu_seconds += s->cpu_seconds;
		if (s->deltas > 0)
			(void)json_object_set_new(nodes, s->node, json_true());
	}
	r->nodes = (unsigned)json_object_size(nodes);
}

static void fill(struct past_round *r, const json_t *lines)
{
	r->v = xcalloc(r->shards, sizeof(*r->v));
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *j = json_array_get(lines, i);
		uint64_t shard = json_get_u64(j, "shard");

		if (!past_is_of(j, r) || shard > r->shards ||
		    !json_is_integer(json_object_get(j, "shard")))
			continue;
		if (shard == 0) {
			r->over = later(r->over, json_get_u64(j, "until"));
			continue;
		}
		r->due = later(r->due, json_get_u64(j, "due"));
		past_add(&r->v[shard - 1], j);
	}
	sum_up(r);
}

bool past_is_lost(const struct past_round *r, const struct past_shard *s, uint64_t now)
{
	if (s->ended)
		return false;
	return (r->over > 0 && s->until <= r->over) || (r->due > 0 && now > r->due + PAST_LATE_S);
}

void past_round_done(struct past_round *r)
{
	free(r->v);
	*r = (struct past_round){0};
}

/* --- the newest rounds --------------------------------------------------------------- */

/* Newest first: the highest number; a plan may have been made twice for a number. */
static bool is_newer(const struct past_round *a, const struct past_round *b)
{
	return a->round != b->round ? a->round > b->round : a->until > b->until;
}

/* Keeps the newest rounds in order; until: of the newest line. */
static void note_round(const json_t *line, struct past_round *v, size_t max, size_t *io_n)
{
	struct past_round r = {.round = json_get_u64(line, "round"),
			       .shards = (unsigned)json_get_u64(line, "shards"),
			       .until = json_get_u64(line, "until")};
	size_t i = 0;

	if (r.round == 0 || json_get_u64(line, "shards") < 1 ||
	    json_get_u64(line, "shards") > SHARDS_MAX_COUNT)
		return;
	snprintf(r.plan, sizeof(r.plan), "%s", json_get_text(line, "plan"));
	while (i < *io_n && !past_is_of(line, &v[i]))
		i++;
	if (i < *io_n)
		r.until = later(r.until, v[i].until);
	else if (*io_n < max)
		++*io_n;
	else if (is_newer(&r, &v[max - 1]))
		i = max - 1; /* the oldest one goes */
	else
		return;
	for (; i > 0 && is_newer(&r, &v[i - 1]); i--)
		v[i] = v[i - 1];
	v[i] = r;
}

static bool has_line(const json_t *lines, const struct past_round *r)
{
	for (size_t i = json_array_size(lines); i > 0; i--)
		if (past_is_of(json_array_get(lines, i - 1), r))
			return true;
	return false;
}

/* The newest lines of the history, first a few; free `lines`. */
struct reading {
	json_t *lines; /* the oldest one first */
	size_t limit;
	bool all; /* there are no more, or none is read */
};

/* Reads the newest lines, or four times as many as before. */
static int read_on(const struct state *s, struct reading *io, struct err *e)
{
	uint64_t damaged;
	int r;

	json_decref(io->lines);
	io->lines = NULL;
	io->limit = io->limit ? io->limit * 4 : LINES;
	r = history_last(s, ROUND_HISTORY, io->limit, &io->lines, &damaged, e);
	io->all =
	    r == 0 && (json_array_size(io->lines) + damaged < io->limit || io->limit >= LINES_MAX);
	return r;
}

/* Whether all lines of the round were read, as far as can be told. */
static bool is_whole(const struct reading *in, const struct past_round *r)
{
	return in->all || (has_line(in->lines, r) && !past_is_of(json_array_get(in->lines, 0), r));
}

int past_rounds(const struct state *s, size_t max, struct past_round *ret, size_t *ret_n,
		struct err *e)
{
	struct reading in = {0};
	int r;

	do {
		*ret_n = 0;
		r = read_on(s, &in, e);
		for (size_t i = 0; r == 0 && i < json_array_size(in.lines); i++)
			note_round(json_array_get(in.lines, i), ret, max, ret_n);
	} while (r == 0 && *ret_n > 0 && !is_whole(&in, ret));
	for (size_t i = 0; r == 0 && i < *ret_n; i++) {
		ret[i].until = 0;
		fill(&ret[i], in.lines);
	}
	json_decref(in.lines);
	return r;
}

int past_newest(const struct state *s, struct past_round *ret, struct err *e)
{
	size_t n;

	*ret = (struct past_round){0};
	return past_rounds(s, 1, ret, &n, e);
}

int past_of_plan(const struct state *s, const struct round_plan *p, struct past_round *ret,
		 struct err *e)
{
	struct past_round round = {.round = p->round, .shards = p->shards};
	struct reading in = {0};
	int r;

	snprintf(round.plan, sizeof(round.plan), "%s", p->id);
	do
		r = read_on(s, &in, e);
	while (r == 0 && !is_whole(&in, &round));
	if (r == 0) {
		fill(&round, in.lines);
		*ret = round;
	}
	json_decref(in.lines);
	return r;
}

int past_next_round(const struct state *s, uint64_t *ret, struct err *e)
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged, last = 0;
	int r = history_last(s, ROUND_HISTORY, LINES, &lines, &damaged, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(lines); i++) {
		uint64_t round = json_get_u64(json_array_get(lines, i), "round");

		if (round > last && round < ROUND_MAX)
			last = round;
	}
	*ret = last + 1;
	return 0;
}
