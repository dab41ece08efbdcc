/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/fleet.h"

#include "base/clock.h"

struct fleet_rules fleet_preset(double scale)
{
	return (struct fleet_rules){
	    .share = {.kind = SHARE_INDEX, .floor = 0.05},
	    .fresh_us = (uint64_t)((double)(60 * USEC_PER_SEC) * scale),
	    .turn_us = (uint64_t)((double)(300 * USEC_PER_SEC) * scale),
	    .turn_wall_us = (uint64_t)((double)(900 * USEC_PER_SEC) * scale),
	    .row = 4,
	    .rule_after_us = (uint64_t)((double)(60 * USEC_PER_SEC) * scale),
	    .hold_us = (uint64_t)((double)(600 * USEC_PER_SEC) * scale),
	};
}

void fleet_join(struct fleet_target *t, const struct fleet_member *m)
{
	t->rule = m->rule;
	t->priority = m->priority;
	t->quota = m->quota;
	t->strategies.may = m->strategies;
	t->strategies.first = m->first;
	t->main = m->main;
	t->build = m->build;
	if (!t->main)
		return;
	t->next_partner = t->main->partners;
	t->main->partners = t;
}

void fleet_fits(struct fleet *f, struct fleet_target *t, bool now, bool after_one)
{
	if (t->blocked && now && !t->unpaying)
		f->idle_until_us = 0; /* it may pay */
	t->blocked = !now;
	t->fits_after_one = after_one;
}

void fleet_reserve(struct fleet *f, struct fleet_target *t)
{
	f->successor = t;
}

void fleet_outdated(struct fleet_target *t)
{
	t->turn_began_us = 0;
}

static enum fleet_does does(const struct fleet *f, const struct fleet_target *t)
{
	return f->does(f->arg, (size_t)(t - f->v));
}

static bool fleet_waits(const struct fleet *f, const struct fleet_target *t)
{
	return !t->at_cap && does(f, t) == FLEET_WAITS;
}

enum fleet_wait fleet_waits_for(const struct fleet_target *t)
{
	if (t->unpaying)
		return FLEET_RESTING;
	if (t->at_cap)
		return FLEET_CAPPED;
	return t->held_us ? FLEET_HELD : FLEET_QUEUED;
}

void fleet_back(struct fleet *f, struct fleet_target *t)
{
	t->fuzzes = false;
	if (fleet_waits(f, t) && !t->unpaying)
		f->idle_until_us = 0; /* it may pay */
}

/* CPU time that the target used while it thrashed. */
static uint64_t lost_us(const struct fleet_target *t)
{
	return t->clock.usage_us - t->clock.clock_us;
}

void fleet_rebuilt(struct fleet_target *t)
{
	/* A partner's first build in a run may have found what the main build read before. */
	if (t->known || !t->main)
		t->curve = (struct curve){0};
	t->known = t->fuzzes = t->unpaying = t->at_cap = t->forges = t->cut = false;
	t->health = (struct share_health){0};
	strategies_forget(&t->strategies);
	t->held_us = 0;
	t->cap_from_us = t->spent_us;
	t->gain_wall_us = t->build_wall_us = t->clock.wall_us;
	t->build_lost_us = lost_us(t);
}

void fleet_wake(struct fleet *f, struct fleet_target *t)
{
	t->unpaying = t->at_cap = false;
	t->woken = true;
	t->held_us = 0; /* its rule held for what it was before the change */
	if (does(f, t) != FLEET_RUNS)
		t->turn_began_us = 0;
	f->idle_until_us = 0;
}

void fleet_choose(struct fleet *f, struct fleet_target *t)
{
	fleet_wake(f, t);
	t->cap_from_us = t->spent_us;
	t->passed = false;
	t->next = true;
}

void fleet_pass(struct fleet *f, struct fleet_target *t)
{
	t->passed = true;
	t->next = false;
	f->idle_until_us = 0;
}

void fleet_new_day(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++) {
		f->v[i].at_cap = false;
		f->v[i].cap_from_us = f->v[i].spent_us;
	}
	f->idle_until_us = 0;
}

void fleet_slept(struct fleet *f, uint64_t us)
{
	for (size_t i = 0; i < f->n; i++) {
		f->v[i].held_us += f->v[i].held_us ? us : 0;
		f->v[i].turn_began_us += f->v[i].turn_began_us ? us : 0;
		f->v[i].yields_us += f->v[i].yields_us ? us : 0;
	}
	f->idle_until_us += f->idle_until_us ? us : 0;
}

/* --- decisions ------------------------------------------------------------ */

static bool may_start(const struct fleet *f, const struct fleet_target *t)
{
	return !t->blocked && fleet_waits(f, t);
}

/* The least gain that is worth a core.  The gain and the price are both multiplied by the weight of
 * the priority, so a priority does not decide whether a target pays.  What a strategy on trial will
 * find is not known: it gets its turns. */
static double price_of(const struct fleet_target *t)
{
	const struct share_health well = {0};

	if (t->strategies.next != STRATEGY_PLAIN)
		return 0;
	return t->rule.kind == RULE_PRICE ? t->rule.price * share_weight(&well, t->priority) : 0;
}

/* In a run the main build begins before its partners, unless it cannot. */
static bool fleet_comes_later(const struct fleet *f, const struct fleet_target *t)
{
	return t->main && t->main->turn_began_us == 0 && !t->main->held_us && may_start(f, t->main);
}

static struct share_item item_of(const struct fleet *f, const struct fleet_target *t, uint64_t now)
{
	struct rule_terms terms = rule_terms(&t->rule, &t->curve, t->edges_total);
	uint64_t tried_us = t->clock.wall_us - t->build_wall_us;
	double lost_s = (double)(lost_us(t) - t->build_lost_us) / USEC_PER_SEC;

	/* The effective clock stands while a target thrashes, but the target ages. */
	terms.age_s += lost_s;
	terms.build_age_s += lost_s;
	/* A target that never begins to fuzz ages by wall time. */
	if (!t->known && (double)tried_us > terms.build_age_s * USEC_PER_SEC)
		terms.build_age_s = terms.age_s = (double)tried_us / USEC_PER_SEC;
	return (struct share_item){
	    .waits = !t->held_us && !t->passed && may_start(f, t) && !fleet_comes_later(f, t),
	    .resting = t->unpaying && !t->measures,
	    .due = t->due || t->woken || t->measures,
	    .after_others = t->forges || t->yields_us > now,
	    .fresh = t->curve.build_us < f->rules.fresh_us && tried_us < f->rules.turn_us,
	    .found = terms.found,
	    .age_s = terms.age_s,
	    .gate = terms.gate,
	    .build_age_s = terms.build_age_s,
	    .price = price_of(t),
	    .weight = share_weight(&t->health, t->priority),
	    .priority = t->priority,
	    .spent_us = t->spent_us,
	    .turn_began_us = t->turn_began_us,
	};
}

static void fill_items(struct fleet *f, uint64_t now)
{
	for (size_t i = 0; i < f->n; i++)
		f->items[i] = item_of(f, &f->v[i], now);
}

/* Whether the target fits into the memory that any running target leaves. */
static bool fleet_may_replace(const struct fleet *f, const struct fleet_target *t)
{
	return t->fits_after_one && !t->held_us && fleet_waits(f, t);
}

/* As fill_items(), but target i, and each target that fits when i leaves, counts as waiting. */
static void fill_rivals(struct fleet *f, size_t i, uint64_t now)
{
	fill_items(f, now);
	for (size_t k = 0; k < f->n; k++)
		f->items[k].waits |= k == i || fleet_may_replace(f, &f->v[k]);
}

/* The target's turn ends, or (FLEET_STARVED) it leaves while it waits. */
static struct fleet_order fleet_leaves(struct fleet *f, size_t i, enum fleet_what what)
{
	f->v[i].fuzzes = false;
	return (struct fleet_order){.what = what, .target = i};
}

static struct fleet_order nothing(void)
{
	return (struct fleet_order){.what = FLEET_NOTHING};
}

/* Whether the target had enough time since its start to be judged.  A resting target gets a whole
 * turn from the floor. */
static bool fleet_may_judge(const struct fleet *f, const struct fleet_target *t)
{
	uint64_t enough = t->unpaying ? f->rules.turn_us : f->rules.rule_after_us;

	if (t->strategies.now != STRATEGY_PLAIN)
		enough = 0; /* its trial has a time of its own */
	return t->fuzzes && t->spent_us - t->start_from_us >= enough;
}

/* A rule is asked once per second of effective time.  Per wall second, a target with an eighth of a
 * CPU would be asked eight times as often.  It would be more likely to stop at a moment with few
 * finds. */
static bool is_asked(const struct fleet_target *t)
{
	return t->rule.kind == RULE_WALL ||
	       t->spent_us / USEC_PER_SEC != t->asked_us / USEC_PER_SEC;
}

static bool in_trouble(const struct fleet_target *t)
{
	return t->clock.state == EFFECTIVE_STARVED || t->clock.state == EFFECTIVE_THRASHING;
}

/* More of the same does not pay for a target. */
static struct fleet_order fleet_stands(struct fleet *f, size_t i)
{
	struct fleet_target *t = &f->v[i];
	struct strategy_terms terms = {
	    .price = t->rule.kind == RULE_PRICE ? t->rule.price : 0,
	    .least_us = t->rule.trial_us,
	    .build_us = t->curve.build_us,
	    .cov = t->curve.cov,
	};
	enum strategy_answer a = STRATEGY_NONE;

	if (t->strategies.may && !t->forges)
		a = strategies_ask(&t->strategies, &terms);
	if (a == STRATEGY_GO_ON)
		return nothing();
	if (a == STRATEGY_NEXT)
		return fleet_leaves(f, i, FLEET_TRY);
	if (!f->rules.continuous && !t->main && !t->partners)
		return fleet_leaves(f, i, FLEET_PLATEAU);
	t->unpaying = true;
	t->held_us = 0;
	return fleet_leaves(f, i, FLEET_REST);
}

static bool fleet_rests(const struct fleet *f, const struct fleet_target *t)
{
	enum fleet_does now = does(f, t);

	return now == FLEET_OUT || (now == FLEET_WAITS && t->unpaying && !t->measures);
}

/* Whether neither the target's main build nor a partner of that pays.  Alone, a target does not
 * wait for others. */
static bool fleet_all_rest(const struct fleet *f, const struct fleet_target *t)
{
	const struct fleet_target *main = t->main ? t->main : t;
	bool all = fleet_rests(f, main);

	for (const struct fleet_target *p = main->partners; all && p; p = p->next_partner)
		all = fleet_rests(f, p);
	return all;
}

static struct fleet_order fleet_judge(struct fleet *f, size_t i, uint64_t now)
{
	struct fleet_target *t = &f->v[i];
	struct rule_view v = fleet_view(t);
	enum rule_answer a = rule_ask(&t->rule, &v);

	if (a == RULE_CAP ? t->starts : !is_asked(t))
		return nothing(); /* a starting target may have another build */
	if (a == RULE_CAP && !f->rules.continuous)
		return fleet_leaves(f, i, FLEET_CAP);
	if (a == RULE_CAP) {
		t->at_cap = true;
		return fleet_leaves(f, i, FLEET_PAUSE);
	}
	if (a == RULE_GO_ON) {
		t->asked_us = t->spent_us;
		t->held_us = 0;
	}
	if (a == RULE_GO_ON || !fleet_may_judge(f, t))
		return nothing();
	if (a == RULE_HOLD) {
		if (!in_trouble(t))
			return nothing(); /* the rule answers within a minute */
		if (!t->held_us)
			t->held_us = now;
		return fleet_leaves(f, i, FLEET_PAUSE);
	}
	return fleet_stands(f, i);
}

/* The rule held for too long.  Continuous: the target rests, and the floor starts it again. */
static struct fleet_order held_long(struct fleet *f, size_t i)
{
	struct fleet_target *t = &f->v[i];

	if (!f->rules.continuous)
		return fleet_leaves(f, i, FLEET_STARVED);
	t->unpaying = true;
	t->held_us = 0;
	return (struct fleet_order){.what = FLEET_REST_ON, .target = i};
}

static struct fleet_order ended_by_rule(struct fleet *f, uint64_t now)
{
	struct fleet_order o = nothing();

	for (size_t i = 0; o.what == FLEET_NOTHING && i < f->n; i++) {
		struct fleet_target *t = &f->v[i];

		if (does(f, t) == FLEET_RUNS)
			o = fleet_judge(f, i, now);
		else if (t->held_us && now - t->held_us >= f->rules.hold_us &&
			 does(f, t) == FLEET_WAITS)
			o = held_long(f, i);
		else if (!f->rules.continuous && t->unpaying && does(f, t) == FLEET_WAITS &&
			 fleet_all_rest(f, t))
			o = fleet_leaves(f, i, FLEET_PLATEAU);
	}
	return o;
}

static unsigned running(const struct fleet *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += does(f, &f->v[i]) == FLEET_RUNS;
	return n;
}

/* The running target with the lowest expected gain. */
static size_t poorest(const struct fleet *f)
{
	size_t worst = f->n;
	double least = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct fleet_target *t = &f->v[i];
		double r;

		if (does(f, t) != FLEET_RUNS)
			continue;
		r = t->forges ? 0
			      : share_weight(&t->health, t->priority) *
				    rule_rate(&t->rule, &t->curve, t->edges_total);
		if (worst == f->n || r < least) {
			worst = i;
			least = r;
		}
	}
	return worst;
}

/* The first target that a user wants next and that can start.  It needs fill_items(). */
static size_t fleet_wanted(const struct fleet *f)
{
	size_t i = 0;

	while (i < f->n && !(f->v[i].next && f->items[i].waits))
		i++;
	return i;
}

static void fleet_begin_turn(struct fleet_target *t, uint64_t now)
{
	t->cut = false;
	t->turn_began_us = now;
	t->from_us = t->spent_us;
}

static bool fleet_turn_is_over(const struct fleet *f, const struct fleet_target *t, uint64_t now)
{
	return !t->starts && (t->cut || t->spent_us - t->from_us >= f->rules.turn_us ||
			      now - t->turn_began_us >= f->rules.turn_wall_us);
}

/* The next target on a worker, at the end of a turn.  Only one running target leaves for the
 * target that a user wants. */
static size_t fleet_successor(struct fleet *f)
{
	size_t i = fleet_wanted(f);
	enum share_why why;

	return i < f->n && &f->v[i] != f->successor
		   ? i
		   : share_pick(&f->rules.share, f->items, f->n, &f->chance, &why);
}

/* Whether another paying target with at least i's priority wants i's worker. */
static bool has_rival(const struct fleet *f, size_t i)
{
	for (size_t k = 0; k < f->n; k++)
		if (k != i && share_pays(&f->items[k]) && !f->items[k].after_others &&
		    f->items[k].priority >= f->items[i].priority)
			return true;
	return false;
}

/* Coverage is the target's own claim: a target that always claims more would win every draw.
 * After fleet_rules.row turns in a row, the others go first for as long as those turns took. */
static void count_row(struct fleet *f, size_t i, uint64_t now)
{
	struct fleet_target *t = &f->v[i];

	if (!has_rival(f, i)) {
		t->row_n = 0;
		return;
	}
	if (t->row_n++ == 0)
		t->row_us = t->turn_began_us;
	if (t->row_n < f->rules.row)
		return;
	t->yields_us = now + (now - t->row_us);
	t->row_n = 0;
	f->items[i].after_others = true;
}

/* Whether a target that won its next turn needs another cell for it.  Only another cell reads what
 * partners gave, and a partner gives at the end of its cell. */
static bool fleet_needs_cell(const struct fleet_target *t)
{
	return t->measures || t->main;
}

/* The turn of a target is over: it competes with the waiting targets for the next one. */
static struct fleet_order fleet_compete(struct fleet *f, size_t i, uint64_t now)
{
	struct fleet_target *t = &f->v[i];
	size_t next;

	fill_rivals(f, i, now);
	count_row(f, i, now);
	next = f->rules.share.kind == SHARE_QUEUE ? i : fleet_successor(f);
	fleet_begin_turn(t, now);
	if (next == f->n || (next == i && !fleet_needs_cell(t)))
		return nothing();
	t->row_n = next == i ? t->row_n : 0;
	f->successor = next == i && t->main ? NULL : &f->v[next]; /* its main build is first */
	return fleet_leaves(f, i, FLEET_PAUSE);
}

static struct fleet_order fleet_next_turn(struct fleet *f, uint64_t now)
{
	struct fleet_order o = nothing();

	for (size_t i = 0; o.what == FLEET_NOTHING && i < f->n; i++) {
		struct fleet_target *t = &f->v[i];

		if (does(f, t) != FLEET_RUNS || !fleet_turn_is_over(f, t, now))
			continue;
		if (t->strategies.now != STRATEGY_PLAIN && !t->fuzzes) {
			fleet_strategy_failed(t, true); /* it reads inputs for too long */
			return fleet_leaves(f, i, FLEET_TRY);
		}
		o = fleet_compete(f, i, now);
	}
	return o;
}

static struct fleet_order fleet_started(struct fleet *f, size_t i, uint64_t now, enum share_why why)
{
	struct fleet_target *t = &f->v[i];

	t->starts = true;
	t->next = t->woken = false;
	for (struct fleet_target *p = t->partners; p; p = p->next_partner)
		p->reads = p->given;
	t->put_off = false;
	fleet_begin_turn(t, now);
	t->start_from_us = t->spent_us;
	return (struct fleet_order){.what = FLEET_START, .target = i, .why = why};
}

/* Forgets what users skipped: another target has started first, or none can. */
static bool forget_passed(struct fleet *f)
{
	bool any = false;

	for (size_t i = 0; i < f->n; i++) {
		any = any || f->v[i].passed;
		f->v[i].passed = false;
	}
	return any;
}

static size_t fleet_pick(struct fleet *f, uint64_t now, enum share_why *why)
{
	size_t i = share_pick(&f->rules.share, f->items, f->n, &f->chance, why);

	if (i < f->n || !forget_passed(f))
		return i;
	fill_items(f, now);
	return share_pick(&f->rules.share, f->items, f->n, &f->chance, why);
}

/* The first held target that can start.  At low CPU pressure its rule decides soon. */
static size_t held(const struct fleet *f)
{
	size_t i = 0;

	while (i < f->n && (!f->v[i].held_us || !may_start(f, &f->v[i])))
		i++;
	return i;
}

static struct fleet_order fleet_start(struct fleet *f, uint64_t now, unsigned idle, bool calm)
{
	enum share_why why = SHARE_TURN;
	size_t i;

	fill_items(f, now);
	i = fleet_wanted(f);
	if (i == f->n && calm)
		i = held(f);
	if (i < f->n) {
		f->v[i].clock.starved = 0; /* from earlier turns */
		return fleet_started(f, i, now, why);
	}
	if (f->successor && f->items[f->successor - f->v].waits) {
		i = (size_t)(f->successor - f->v);
		why = SHARE_PAYS;
		f->successor = NULL;
	} else if (now >= f->idle_until_us) {
		i = fleet_pick(f, now, &why);
		if (why == SHARE_TOO_POOR)
			f->idle_until_us = now + f->rules.turn_us / idle;
	}
	/* Keep the successor only while the target that was paused for it is leaving. */
	if (f->successor && !(f->successor->blocked && fleet_may_replace(f, f->successor)))
		f->successor = NULL;
	if (i == f->n)
		return nothing();
	(void)forget_passed(f);
	return fleet_started(f, i, now, why);
}

struct fleet_order fleet_next(struct fleet *f, uint64_t now_us, const struct fleet_room *room)
{
	struct fleet_order o = ended_by_rule(f, now_us);
	unsigned now_running = running(f);

	if (o.what == FLEET_NOTHING && now_running > room->run)
		return fleet_leaves(f, poorest(f), FLEET_PAUSE);
	if (o.what == FLEET_NOTHING)
		o = fleet_next_turn(f, now_us);
	if (o.what == FLEET_NOTHING && now_running < room->run && room->idle > 0)
		o = fleet_start(f, now_us, room->idle, room->calm);
	return o;
}
