/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REGRESS_RESULT_H
#define RUNNER_COMMAND_REGRESS_RESULT_H

#include "base/json.h"
#include "runner/command/regress/inputs.h"
#include "runner/run/triage/batch.h"

#include <stdio.h>

/* Results of a regression test. No I/O except printing. */
enum regress_status {
	REGRESS_NEW,	   /* a crash that the ledger does not know */
	REGRESS_REGRESSED, /* it was fixed, and is neither fixed again nor accepted since */
	REGRESS_KNOWN,	   /* open, but not regressed */
	REGRESS_IGNORED,   /* ignored by a user */
	REGRESS_STATUS_COUNT,
};
const char *regress_status_name(enum regress_status s);

/* Looks up the crash of a report in the ledger. *ret_crash: the known crash, or NULL. */
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
	uint64_t from[REGRESS_FROM_COUNT]; /* of these, by place */
	bool ran;			   /* the replay finished */
	struct batch_sum sum;
	struct regress_left left;
	char why[300]; /* why it did not run */
	struct regress_failed *failed;
	size_t n_failed;
	uint64_t count[REGRESS_STATUS_COUNT];
};
void regress_target_done(struct regress_target *t);

/* Adds a failure; copies the source. f: see batch_spec.failed. Returns the known crash, or NULL.
 */
const struct known_crash *regress_note(struct regress_target *t, const struct regress_input *input,
				       const struct batch_failure *f, const struct ledger *l);

/* Sorts the failures into a stable order, new ones first. */
void regress_sort(struct regress_target *t);

struct regress_total {
	uint64_t inputs, passed, failed;
	uint64_t from[REGRESS_FROM_COUNT];
	uint64_t left_out; /* inputs not run, and those that could not be taken */
	uint64_t spare;	   /* spare inputs of corpora, left out on purpose */
	uint64_t count[REGRESS_STATUS_COUNT];
	uint64_t without_inputs, not_run; /* targets */
	uint64_t elsewhere;		  /* known crashes of missing targets; set by the caller */
	bool stopped;
};
struct regress_total regress_sum(const struct regress_target *t, size_t n);

/* Returns EXIT_DONE if all inputs that count passed, EXIT_CRASHES if one failed, EXIT_NOT_FUZZED if
 * one was not run or there were none. */
int regress_exit(const struct regress_total *t, bool allow_known);

void regress_print_target(const struct regress_target *t, FILE *to);
void regress_print_total(const struct regress_total *t, size_t n_targets, FILE *to);
json_t *regress_json(const struct regress_target *t, size_t n, const struct regress_total *total);

#endif
