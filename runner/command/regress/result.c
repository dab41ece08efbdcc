/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/regress/result.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/command/command.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"

#include <string.h>

const char *regress_status_name(enum regress_status s)
{
	static const char *const names[] = {
	    [REGRESS_NEW] = "new",
	    [REGRESS_REGRESSED] = "regressed",
	    [REGRESS_KNOWN] = "known",
	    [REGRESS_IGNORED] = "ignored",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == REGRESS_STATUS_COUNT,
		       "name every status");
	return s < REGRESS_STATUS_COUNT ? names[s] : "";
}

enum regress_status regress_judge(const struct ledger *l, const char *target,
				  const struct crash_report *r,
				  const struct known_crash **ret_crash)
{
	const struct known_crash *c = ledger_find_entry(l, r->signature, target);

	if (!c && *r->raw_key)
		c = ledger_entry(ledger_find_raw(l, target, r->raw_key), target);
	*ret_crash = c;
	if (!c)
		return REGRESS_NEW;
	if (c->state == LEDGER_IGNORED)
		return REGRESS_IGNORED;
	/* The first failing input turns a fixed crash into a regressed one. Both states give the
	 * same result for the next inputs. */
	return c->state == LEDGER_FIXED || c->state == LEDGER_REGRESSED ? REGRESS_REGRESSED
									: REGRESS_KNOWN;
}

/* Whether the input is the reproducer of a crash that is `regressed` in this target. */
static bool is_of_regressed(const struct ledger *l, const char *target, const char *sha1)
{
	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_entry(ledger_at(l, i), target);

		if (c && c->state == LEDGER_REGRESSED && *sha1 &&
		    (strcmp(c->input_sha1, sha1) == 0 || strcmp(c->minimized_sha1, sha1) == 0))
			return true;
	}
	return false;
}

void regress_target_done(struct regress_target *t)
{
	for (size_t i = 0; i < t->n_failed; i++)
		free(t->failed[i].source);
	free(t->failed);
	t->failed = NULL;
	t->n_failed = 0;
}

static struct regress_failed *regress_result_add(struct regress_target *t, const char *source)
{
	struct regress_failed *n;

	t->failed = xreallocarray(t->failed, t->n_failed + 1, sizeof(*t->failed));
	n = &t->failed[t->n_failed++];
	*n = (struct regress_failed){.source = xstrdup(source)};
	return n;
}

const struct known_crash *regress_note(struct regress_target *t, const struct regress_input *input,
				       const struct batch_failure *f, const struct ledger *l)
{
	const struct crash_report *r = f->report;
	struct regress_failed *n = regress_result_add(t, input->source);
	const struct known_crash *c;

	n->from = input->from;
	n->status = regress_judge(l, t->name, r, &c);
	/* A known crash can hide the regressed one, so the input must pass. */
	if (n->status > REGRESS_REGRESSED && is_of_regressed(l, t->name, input->name))
		n->status = REGRESS_REGRESSED;
	n->only_together = f->only_together;
	n->security = r->security;
	snprintf(n->signature, sizeof(n->signature), "%s", c ? c->signature : r->signature);
	memcpy(n->type, r->type, sizeof(n->type));
	if (r->n_state)
		memcpy(n->where, r->state[0], sizeof(n->where));
	t->count[n->status]++;
	return c;
}

/* Groups equal failures for regress_print_target(). */
static int by_failure(const struct regress_failed *x, const struct regress_failed *y)
{
	int r = (int)x->status - (int)y->status;

	if (r == 0)
		r = strcmp(x->signature, y->signature);
	return r ? r : (int)x->only_together - (int)y->only_together;
}

static int by_status(const void *a, const void *b)
{
	const struct regress_failed *x = a, *y = b;
	int r = by_failure(x, y);

	return r ? r : strcmp(x->source, y->source);
}

void regress_sort(struct regress_target *t)
{
	if (t->n_failed)
		qsort(t->failed, t->n_failed, sizeof(*t->failed), by_status);
}

/* --- sums ----------------------------------------------------------------- */

/* Number of inputs that were not run or were left out. */
static uint64_t not_run(const struct regress_target *t)
{
	return t->inputs - t->sum.passed - t->sum.failed + t->left.n;
}

/* Some inputs were run; the others are counted. */
static bool was_run(const struct regress_target *t)
{
	uint64_t ran = t->sum.passed + t->sum.failed;

	return t->ran && (!*t->why || (ran > 0 && ran < t->inputs));
}

struct regress_total regress_sum(const struct regress_target *t, size_t n)
{
	struct regress_total sum = {0};

	for (size_t i = 0; i < n; i++) {
		sum.inputs += t[i].inputs;
		sum.passed += t[i].sum.passed;
		sum.failed += t[i].sum.failed;
		sum.left_out += not_run(&t[i]);
		sum.spare += t[i].left.spare;
		for (unsigned f = 0; f < REGRESS_FROM_COUNT; f++)
			sum.from[f] += t[i].from[f];
		for (unsigned s = 0; s < REGRESS_STATUS_COUNT; s++)
			sum.count[s] += t[i].count[s];
		sum.without_inputs += t[i].ran && t[i].inputs == 0;
		sum.not_run += !was_run(&t[i]);
		sum.stopped = sum.stopped || t[i].sum.stopped;
	}
	return sum;
}

int regress_exit(const struct regress_total *t, bool allow_known)
{
	if (t->count[REGRESS_NEW] + t->count[REGRESS_REGRESSED] > 0 ||
	    (!allow_known && t->count[REGRESS_KNOWN] > 0))
		return EXIT_CRASHES;
	if (t->not_run > 0 || t->left_out > 0 || t->elsewhere > 0 || t->inputs == 0)
		return EXIT_NOT_FUZZED;
	return EXIT_DONE;
}

/* --- text ----------------------------------------------------------------- */

enum { ALIKE_SHOWN = 3 };

/* f: n equal failures. A single remaining one is printed too: its path takes no more room than its
 * count. */
static void print_alike(const struct regress_failed *f, size_t n, FILE *to)
{
	char source[ESCAPE_MAX], type[CRASH_LINE], where[CRASH_LINE], sig[CRASH_LINE];
	size_t shown = n > ALIKE_SHOWN + 1 ? ALIKE_SHOWN : n;

	for (size_t i = 0; i < shown; i++)
		fprintf(to, "  %-9s  %s\n", i ? "" : regress_status_name(f->status),
			escape(f[i].source, source));
	if (n > shown)
		fprintf(to, "             and %zu more (all: --json)\n", n - shown);
	fprintf(to, "             %s%s%s, crash %s%s%s\n", crash_line(f->type, type),
		*f->where ? " in " : "", crash_line(f->where, where), crash_line(f->signature, sig),
		f->security ? ", security-relevant" : "",
		f->only_together ? "; not when it is run alone" : "");
}

static void print_failures(const struct regress_target *t, FILE *to)
{
	for (size_t i = 0, n; i < t->n_failed; i += n) {
		for (n = 1;
		     i + n < t->n_failed && by_failure(&t->failed[i], &t->failed[i + n]) == 0;)
			n++;
		print_alike(&t->failed[i], n, to);
	}
}

static const char *left_text(const struct regress_target *t, char out[300])
{
	*out = '\0';
	if (t->left.n)
		snprintf(out, 300, "%llu left out: %s", (unsigned long long)t->left.n, t->left.why);
	return out;
}

/* "  of them: 2 crash, 40 corpus; 30 spare ones left out (--all)" */
static void print_from(const uint64_t from[REGRESS_FROM_COUNT], uint64_t spare, FILE *to)
{
	const char *before = "  of them: ";

	for (enum regress_from f = 0; f < REGRESS_FROM_COUNT; f++) {
		if (!from[f])
			continue;
		fprintf(to, "%s%llu %s", before, (unsigned long long)from[f], regress_from_name(f));
		before = ", ";
	}
	if (spare)
		fprintf(to, "%s%llu spare ones of the corpus left out (--all)",
			*before == ',' ? "; " : "  ", (unsigned long long)spare);
	fputs(*before == ',' || spare ? "\n" : "", to);
}

void regress_print_target(const struct regress_target *t, FILE *to)
{
	uint64_t left = t->inputs - t->sum.passed - t->sum.failed;
	char time[UNITS_MAX], text[ESCAPE_MAX], left_out[300], n[2][UNITS_OF_MAX];

	if (t->inputs == 0 && t->ran)
		fprintf(to, "%s: NO INPUTS: nothing was tested\n", t->name);
	else
		fprintf(to, "%s: %s: %llu passed, %llu failed; %s, %s\n", t->name,
			units_of(t->inputs, "input", "inputs", n[0]),
			(unsigned long long)t->sum.passed, (unsigned long long)t->sum.failed,
			units_of(t->sum.cells, "cell", "cells", n[1]),
			units_time(t->sum.wall_us, time));
	print_from(t->from, t->left.spare, to);
	print_failures(t, to);
	if (left)
		fprintf(to, "  NOT RUN: %s%s%s\n", units_of(left, "input", "inputs", n[0]),
			*t->why ? ": " : "", escape(t->why, text));
	else if (*t->why)
		fprintf(to, "  NOT RUN: %s\n", escape(t->why, text));
	if (t->left.n)
		fprintf(to, "  %s\n", escape(left_text(t, left_out), text));
	fflush(to);
}

void regress_print_total(const struct regress_total *t, size_t n_targets, FILE *to)
{
	char n[2][UNITS_OF_MAX];

	fprintf(to, "\n%s, %s: %llu passed, %llu failed",
		units_of(n_targets, "target", "targets", n[0]),
		units_of(t->inputs, "input", "inputs", n[1]), (unsigned long long)t->passed,
		(unsigned long long)t->failed);
	for (enum regress_status s = 0; s < REGRESS_STATUS_COUNT; s++)
		if (t->count[s])
			fprintf(to, ", %llu %s", (unsigned long long)t->count[s],
				regress_status_name(s));
	if (t->left_out)
		fprintf(to, "; %s not run", units_of(t->left_out, "input", "inputs", n[0]));
	if (t->not_run)
		fprintf(to, "; %s not run", units_of(t->not_run, "target", "targets", n[0]));
	if (t->without_inputs)
		fprintf(to, "; %s without inputs",
			units_of(t->without_inputs, "target", "targets", n[0]));
	fputs(t->stopped ? "; ended by a user\n" : "\n", to);
	if (n_targets > 1)
		print_from(t->from, t->spare, to);
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *failed_json(const struct regress_target *t)
{
	json_t *all = json_array();

	for (size_t i = 0; i < t->n_failed; i++) {
		const struct regress_failed *f = &t->failed[i];

		(void)json_array_append_new(
		    all, json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:b, s:b}", "input",
				   answer_text(f->source), "from", regress_from_name(f->from),
				   "status", regress_status_name(f->status), "signature",
				   answer_text(f->signature), "crash_type", answer_text(f->type),
				   "where", answer_text(f->where), "security", f->security,
				   "only_together", f->only_together));
	}
	return all;
}

static json_t *from_json(const uint64_t from[REGRESS_FROM_COUNT])
{
	json_t *j = json_object();

	for (enum regress_from f = 0; f < REGRESS_FROM_COUNT; f++)
		(void)json_object_set_new(j, regress_from_name(f),
					  json_integer((json_int_t)from[f]));
	return j;
}

static json_t *regress_result_target_json(const struct regress_target *t)
{
	char left_out[300];

	return json_pack("{s:o, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:o, s:o, s:o}",
			 "target", answer_text(t->name), "inputs", (json_int_t)t->inputs, "from",
			 from_json(t->from), "spare", (json_int_t)t->left.spare, "passed",
			 (json_int_t)t->sum.passed, "failed", (json_int_t)t->sum.failed, "not_run",
			 (json_int_t)not_run(t), "cells", (json_int_t)t->sum.cells, "seconds",
			 (double)t->sum.wall_us / 1e6, "ran", was_run(t), "why",
			 answer_text(t->why), "note", answer_text(left_text(t, left_out)),
			 "failures", failed_json(t));
}

json_t *regress_json(const struct regress_target *t, size_t n, const struct regress_total *total)
{
	json_t *all = json_array(), *j;

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(all, regress_result_target_json(&t[i]));
	j = json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "inputs",
		      (json_int_t)total->inputs, "from", from_json(total->from), "spare",
		      (json_int_t)total->spare, "passed", (json_int_t)total->passed, "failed",
		      (json_int_t)total->failed, "not_run", (json_int_t)total->left_out,
		      "targets_without_inputs", (json_int_t)total->without_inputs,
		      "targets_not_run", (json_int_t)total->not_run, "stopped", total->stopped,
		      "targets", all);
	for (enum regress_status s = 0; s < REGRESS_STATUS_COUNT; s++)
		(void)json_object_set_new(j, regress_status_name(s),
					  json_integer((json_int_t)total->count[s]));
	return j;
}
