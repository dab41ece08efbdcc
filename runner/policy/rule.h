/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_RULE_H
#define RUNNER_POLICY_RULE_H

#include "runner/policy/curve.h"
#include "runner/policy/effective.h"

#include <stddef.h>

/* When more CPU time on a target is not expected to pay.
 *
 *   price        its expected new edges per CPU-second are under a price:
 *
 *                    r = f1 / max(age, settle) + B / max(build age, settle)
 *                    B = max(gate_least, gate_share (edges of the binary - edges reached)),
 *                        but at most those that were not reached
 *
 *                The first term is what it trickles, the second the chance that a gate
 *                opens that it has stood before all the time: as often in the next e-fold
 *                as in any other, and so much behind it.
 *   cpu-silence  no new edge for a window of effective time
 *   wall         no new edge for a window of wall time: the classic rule, a baseline to
 *                compare with.  It takes a starved target for a finished one
 *   none         never
 *
 * All but the last two wait until the target has not been starved or thrashing for a
 * minute; all but the last until the engine has tried its longest inputs, or run 100 inputs
 * for each byte of them.  A cap ends it in any case. */

enum rule_kind { RULE_PRICE, RULE_CPU_SILENCE, RULE_WALL, RULE_NONE };

struct rule {
	enum rule_kind kind;
	double price;	    /* edges per CPU-second */
	uint64_t window_us; /* of silence */
	uint64_t cap_us;    /* effective time in this run; 0: none */
	uint64_t settle_us; /* no age counts as less */
	uint64_t least_us;  /* a build gets so much before it is judged by price */
	uint64_t burst_us;  /* of what is judged to be a burst: curve_spend()'s window */
	double gate_least;  /* edges behind a gate, at least */
	double gate_share;  /* of those that were not reached yet */
};
/* Of the price rule, as docs/scheduling.md derives them; kind and price are the caller's.
 * scale: 1; less: everything sooner, for a test that has no hours.  The price goes up by
 * as much. */
struct rule rule_preset(double price, double scale);

/* What the rule looks at. */
struct rule_view {
	const struct curve *curve;
	const struct effective *clock;
	uint64_t spent_us;	 /* effective time in this run */
	uint64_t silent_wall_us; /* wall time in cells since the last new edge */
	uint64_t edges_total;	 /* of the binary; 0: not known */
	uint64_t lim, max_len;	 /* of the engine's inputs, bytes; 0: not known, or not yet */
};

enum rule_answer {
	RULE_GO_ON,
	RULE_STOP,
	RULE_CAP,  /* not because of what it finds */
	RULE_HOLD, /* it would be RULE_STOP, but the machine did not let it run freely */
};
enum rule_answer rule_ask(const struct rule *r, const struct rule_view *v);

/* Expected new edges per CPU-second. */
double rule_rate(const struct rule *r, const struct curve *c, uint64_t edges_total);
/* Its two terms: a mean number of edges, and the time over which they are expected. */
struct rule_terms {
	double found, age_s;	  /* f1 / age */
	double gate, build_age_s; /* B / build age */
};
struct rule_terms rule_terms(const struct rule *r, const struct curve *c, uint64_t edges_total);

/* Why, for a person. */
enum { RULE_TEXT_MAX = 400 };
void rule_text(const struct rule *r, const struct rule_view *v, enum rule_answer a,
	       char out[RULE_TEXT_MAX]);

#endif
