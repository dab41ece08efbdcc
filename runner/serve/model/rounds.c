/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of shards, on several machines. */
#include "runner/serve/model/model.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/rounds/past.h"

json_t *row_round(const struct past_round *r)
{
	json_t *m = json_object();

	make_number(m, "round", r->round);
	make_text(m, "plan", r->plan);
	make_number(m, "shards", r->shards);
	make_number(m, "ended", r->ended);
	make_number(m, "nodes", r->nodes);
	make_number(m, "edges", r->edges);
	make_number(m, "inputs", r->inputs);
	make_number(m, "crashes", r->crashes);
	make_set(m, "cpu_seconds", json_real(r->cpu_seconds));
	make_time(m, "due", r->due);
	make_time(m, "newest_delta", r->until);
	return m;
}

/* A shard that gave nothing may wait for its machine. */
static const char *state_of(const struct past_round *r, const struct past_shard *s, uint64_t now)
{
	if (s->ended)
		return "ended";
	if (past_is_lost(r, s, now))
		return "lost";
	return s->deltas > 0 ? "fuzzing" : "no delta yet";
}

static json_t *row_shard(const struct past_round *r, unsigned i, uint64_t now)
{
	const struct past_shard *s = &r->v[i];
	json_t *m = json_object();

	make_number(m, "shard", i + 1);
	make_text(m, "state", state_of(r, s, now));
	make_text(m, "node", s->node);
	make_number(m, "deltas", s->deltas);
	make_number(m, "edges", s->edges);
	make_number(m, "inputs", s->inputs);
	make_number(m, "crashes", s->crashes);
	make_set(m, "cpu_seconds", json_real(s->cpu_seconds));
	make_time(m, "newest_delta", s->until);
	return m;
}

/* The oldest rounds come without their shards, or without some, if these are too many. */
static json_t *rows_of(const struct past_round *v, size_t n)
{
	uint64_t now = clock_real_us() / USEC_PER_SEC;
	json_t *rows = json_array();
	size_t shown = 0;

	for (size_t i = 0; i < n; i++) {
		json_t *m = row_round(&v[i]), *list = json_array();

		for (unsigned k = 0; k < v[i].shards && shown < MODEL_SHARDS; k++, shown++)
			(void)json_array_append_new(list, row_shard(&v[i], k, now));
		make_set(m, "list", list);
		(void)json_array_append_new(rows, m);
	}
	return rows;
}

int model_rounds(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autojson_ json_t *m = json_object();
	struct past_round v[MODEL_ROUNDS];
	size_t n = 0;
	int r = model_begin(s, m, e);

	(void)name;
	if (r == 0)
		r = past_rounds(s->state, MODEL_ROUNDS, v, &n, e);
	if (r < 0)
		return r;
	make_set(m, "rounds", rows_of(v, n));
	for (size_t i = 0; i < n; i++)
		past_round_done(&v[i]);
	*ret = take_ptr(&m);
	return 0;
}
