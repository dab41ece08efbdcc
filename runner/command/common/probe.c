/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/probe.h"

#include "base/memory.h"
#include "runner/crash/odds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARVED_MAX = 5 }; /* replays in a row that got no CPU time */
/* Failures in another way, and nothing else, after which the answer is that: such a failure may
 * take minutes (a target that hangs at its start). */
enum { OTHERS = 3 };

struct probe {
	struct probe_spec s;
	struct journal_test t;
	struct replay *replay;
	struct replay_seat *seat;
	size_t at; /* the input that is replayed */
	unsigned starved, tries, others;
	char other[JOURNAL_WHY]; /* how it failed in another way; "": it did not */
};

/* --- which replay is next ----------------------------------------------------- */

static bool has_input(const struct probe *p, size_t i)
{
	return p->s.input[i] != NULL;
}

static bool is_measured(const struct probe *p, size_t i)
{
	const struct journal_tries *t = &p->t.input[i];

	return !has_input(p, i) || odds_reproduce(t->tries, t->hits) != ODDS_UNDECIDED;
}

static uint64_t hits(const struct probe *p)
{
	return p->t.input[0].hits + p->t.input[1].hits;
}

static double miss_so_far(const struct probe *p)
{
	struct journal_test all = p->t;

	for (size_t i = 0; i < JOURNAL_INPUTS; i++)
		all.input[i].tries += p->s.had[i].tries;
	return journal_miss(&all, p->s.known);
}

/* Whether more replays of the input make a miss less likely. */
static bool is_telling(const struct probe *p, size_t i)
{
	return has_input(p, i) && (p->s.known[i].hits > 0 || p->t.input[i].tries == 0);
}

/* The input that was replayed less often, of those that tell something. */
static bool choose_input(struct probe *p)
{
	size_t i = is_telling(p, 0) ? 0 : 1;

	if (is_telling(p, 0) && is_telling(p, 1) && p->t.input[1].tries < p->t.input[0].tries)
		i = 1;
	p->at = i;
	return is_telling(p, i);
}

/* Chooses the input of the next replay; false: the answer is there. */
static bool probe_choose(struct probe *p)
{
	if (p->s.measure) {
		p->at = is_measured(p, 0);
		return !is_measured(p, p->at);
	}
	if (hits(p) > 0 || p->tries >= PROBE_TRIES_MAX ||
	    (p->others >= OTHERS && p->others == p->tries))
		return false;
	if (miss_so_far(p) <= p->s.miss && p->t.input[0].tries + p->t.input[1].tries > 0)
		return false;
	return choose_input(p);
}

/* --- replays ------------------------------------------------------------------- */

static void probe_on_closed(void *arg)
{
	struct probe *p = arg;

	p->s.done(p->s.arg, &p->t);
	free(p);
}

static void probe_finish(struct probe *p)
{
	struct replay_seat *seat = p->seat;

	p->seat = NULL;
	if (seat)
		replay_seat_close(seat, probe_on_closed, p);
	else
		probe_on_closed(p);
}

static void probe_decide(struct probe *p)
{
	if (hits(p) > 0)
		p->t.outcome = BISECT_FAILS;
	else if (*p->other)
		p->t.outcome = BISECT_OTHER;
	else
		p->t.outcome = BISECT_PASSES;
	if (p->t.outcome == BISECT_OTHER)
		snprintf(p->t.why, JOURNAL_WHY, "%s", p->other);
	probe_finish(p);
}

static void probe_stop_with(struct probe *p, enum bisect_outcome o, const char *why)
{
	p->t.outcome = o;
	snprintf(p->t.why, JOURNAL_WHY, "%.299s", why);
	probe_finish(p);
}

static void probe_next(struct probe *p);

static void probe_note_failure(struct probe *p, const struct crash_report *r)
{
	if (p->s.is_crash(p->s.arg, r)) {
		p->t.input[p->at].hits++;
		return;
	}
	p->others++;
	if (!*p->other)
		snprintf(p->other, sizeof(p->other), "%.80s in %.120s (%.40s)",
			 *r->type ? r->type : "a failure",
			 r->n_state ? r->state[0] : "an unknown place", r->signature);
	for (char *c = p->other; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
}

static void probe_on_replayed(void *arg, struct replay_end *end)
{
	struct probe *p = arg;
	const struct probe_spec *s = &p->s;

	p->replay = NULL;
	if (cells_stopped(s->cells)) {
		probe_stop_with(p, BISECT_UNTESTED, "stopped");
	} else if (*end->unusable && end->starved && ++p->starved < STARVED_MAX) {
		probe_next(p);
	} else if (*end->unusable) {
		probe_stop_with(p, end->starved ? BISECT_UNTESTED : BISECT_SKIPPED, end->unusable);
	} else {
		p->starved = 0;
		p->tries++;
		p->t.input[p->at].tries++;
		if (end->failed)
			probe_note_failure(p, end->report);
		if (probe_choose(p))
			probe_next(p);
		else
			probe_decide(p);
	}
}

static void probe_next(struct probe *p)
{
	struct replay_spec r = {
	    .target = p->s.target,
	    .cfg = p->s.cfg,
	    .input = p->s.input[p->at],
	    .seat = p->seat,
	    .symbolize = true,
	    .ub_goes_on = p->s.ub_goes_on,
	    .done = probe_on_replayed,
	    .arg = p,
	};
	struct err e;

	if (replay_start(&p->s.cells->replay, &r, &p->replay, &e) < 0)
		probe_stop_with(p, BISECT_SKIPPED, e.msg);
}

void probe_stop(struct probe *p)
{
	if (p->replay)
		replay_stop(p->replay);
}

int probe_start(const struct probe_spec *spec, struct probe **ret, struct err *e)
{
	struct probe *p = xcalloc(1, sizeof(*p));
	int r = replay_seat_new(spec->cells->path, 0, &p->seat, e);

	if (r < 0) {
		free(p);
		return r;
	}
	p->s = *spec;
	*ret = p;
	if (probe_choose(p))
		probe_next(p);
	else
		probe_stop_with(p, BISECT_SKIPPED, "no input tells anything about the crash");
	return 0;
}
