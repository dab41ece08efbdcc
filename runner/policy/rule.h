/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_RULE_H
#define RUNNER_POLICY_RULE_H

#include "runner/policy/curve.h"
#include "runner/policy/effective.h"

#include <stddef.h>

/* Stop rules: they decide when more CPU time on a target is not expected to pay.
 *
 *   price        the expected new edges per CPU-second are below a price:
 *
 *                    r = f1 / max(age, settle) + B / max(build age, settle)
 *                    B = max(gate_least, gate_share (edges of the binary - edges reached)),
 *                        but at most the edges that were not reached
 *
 *                The first term is the steady trickle of new edges.  The second term is the
 *                chance that a gate opens that was closed all the time, with B edges behind it.
 *                A gate is as likely to open in the next e-fold of time as in any other.
 *   cpu-silence  no new edge for a window of effective time
 *   wall         no new edge for a window of wall time: the classic rule, as a baseline.  It
 *                mistakes a starved target for a finished target
 *   none         never
 *
 * price and cpu-silence wait until the target has not been starved or thrashing for a minute.
 * Every rule but none waits until the engine has tried its longest inputs, or run 100 inputs for
 * each byte of them.  At its cap a target leaves in any case: it ends, or waits for the next day.
 */

enum rule_kind { RULE_PRICE, RULE_CPU_SILENCE, RULE_WALL, RULE_NONE };

struct rule {
	enum rule_kind kind;
	double price;	    /* edges per CPU-second */
	uint64_t window_us; /* time without a new edge, for the cpu-silence and wall rules */
	uint64_t cap_us;    /* effective time in this run; 0: none */
	uint64_t settle_us; /* minimum age: a younger age counts as this */
	uint64_t least_us;  /* the price rule waits until a build got this time */
	uint64_t burst_us;  /* curve_spend()'s window */
	uint64_t trial_us;  /* the shortest trial of a strategy (strategy.h) */
	double gate_least;  /* minimum number of edges behind a gate */
	double gate_share;  /* edges behind a gate, as a share of the edges not reached yet */
};
/* The constants of the price rule, as docs/scheduling.md derives them.  scale: 1 for
 * the price 0.05; a smaller scale shortens all times and raises the price by the same factor (for
 * another price, and for tests). */
struct rule rule_preset(double price, double scale);

/* The inputs of a rule. */
struct rule_view {
	const struct curve *curve;
	const struct effective *clock;
	uint64_t spent_us;	 /* effective time in this run */
	uint64_t silent_wall_us; /* wall time in cells since the last new edge */
	uint64_t edges_total;	 /* edges of the binary; 0: not known */
	/* The engine's present and largest limit of an input's length, bytes; 0: not known yet. */
	uint64_t lim, max_len;
};

enum rule_answer {
	RULE_GO_ON,
	RULE_STOP,
	RULE_CAP,  /* the cap is reached, whatever the target finds */
	RULE_HOLD, /* as RULE_STOP, but the target was starved or thrashing lately */
};
enum rule_answer rule_ask(const struct rule *r, const struct rule_view *v);

/* Expected new edges per CPU-second. */
double rule_rate(const struct rule *r, const struct curve *c, uint64_t edges_total);
/* The two terms of the rate: a mean number of edges, and the time over which they are expected. */
struct rule_terms {
	double found, age_s;	  /* f1 / age */
	double gate, build_age_s; /* B / build age */
};
struct rule_terms rule_terms(const struct rule *r, const struct curve *c, uint64_t edges_total);

/* Describes the reason for the user. */
enum { RULE_TEXT_MAX = 400 };
void rule_text(const struct rule *r, const struct rule_view *v, enum rule_answer a,
	       char out[RULE_TEXT_MAX]);

#endif
