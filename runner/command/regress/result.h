/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REGRESS_RESULT_H
#define RUNNER_COMMAND_REGRESS_RESULT_H

#include "base/json.h"
#include "runner/command/regress/inputs.h"
#include "runner/run/triage/replay.h"

#include <stdio.h>

/* What came of a regression test: pure but for printing. */
enum regress_status {
	REGRESS_NEW,	   /* a crash that the ledger does not know */
	REGRESS_REGRESSED, /* it was fixed, and nobody fixed or accepted it since */
	REGRESS_KNOWN,	   /* open otherwise */
	REGRESS_IGNORED,   /* a person said so */
	REGRESS_STATUS_COUNT,
};
const char *regress_status_name(enum regress_status s);

/* What the ledger says of a report's crash; *ret_crash: which it is, or NULL. */
enum regress_status regress_judge(const struct ledger *l, const char *target,
				  const struct crash_report *r,
				  const struct known_crash **ret_crash);

struct regress_failed {
	char *source;
	enum regress_from from;
	enum regress_status status;
	bool only_together;
	char signature[LEDGER_SIGNATURE_MAX + 1]; /* the known crash's, else the report's */
	char type[192], where[256];
	bool security;
};

struct regress_target {
	const char *name;
	uint64_t inputs;
	uint64_t from[REGRESS_FROM_COUNT]; /* of these */
	bool ran;			   /* the replay came to its end */
	struct replay_sum sum;
	struct regress_left left;
	char why[300]; /* it did not run */
	struct regress_failed *failed;
	size_t n_failed;
	uint64_t count[REGRESS_STATUS_COUNT];
};
void regress_target_done(struct regress_target *t);

/* Takes source's copy; f as replay_spec.failed has it. */
MUST_CHECK int regress_note(struct regress_target *t, const struct regress_input *input,
			    const struct replay_failure *f, const struct ledger *l,
			    const struct known_crash **ret_crash, struct err *e);

/* The failures in an order that is the same each time: new ones first. */
void regress_sort(struct regress_target *t);

struct regress_total {
	uint64_t inputs, passed, failed;
	uint64_t from[REGRESS_FROM_COUNT];
	uint64_t left_out; /* not run: inputs, and what could not be taken for one */
	uint64_t spare;	   /* of corpora, and left out on purpose */
	uint64_t count[REGRESS_STATUS_COUNT];
	uint64_t without_inputs, not_run; /* targets */
	uint64_t elsewhere; /* known crashes of targets that are not here; the caller's to fill */
	bool stopped;
};
struct regress_total regress_sum(const struct regress_target *t, size_t n);

/* 0 when all passed that count, CRASHES (1) when not, 5 when something that should have run
 * did not, or nothing ran at all. */
int regress_exit(const struct regress_total *t, bool allow_known);

void regress_print_target(const struct regress_target *t, FILE *to);
void regress_print_total(const struct regress_total *t, size_t n_targets, FILE *to);
MUST_CHECK int regress_json(const struct regress_target *t, size_t n,
			    const struct regress_total *total, json_t **ret, struct err *e);

#endif
