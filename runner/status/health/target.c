/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of a target, from its numbers. */
#include "base/clock.h"
#include "base/units.h"
#include "runner/status/health/internal.h"

#include <string.h>

#define USEC 1000000

/* --- reading ---------------------------------------------------------------- */

static double health_target_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double d = json_is_number(v) ? json_number_value(v) : -1;

	return d >= 0 && d < 1e18 ? d : -1;
}

/* A count that is missing if it is 0. */
static double health_target_count(const json_t *o, const char *key)
{
	double d = health_target_number(o, key);

	return d > 0 ? d : 0;
}

static const char *health_target_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void health_target_read_run(const json_t *s, struct health_view *v)
{
	v->reason = health_target_text(s, "reason");
	v->note = health_target_text(s, "note");
	v->refused = health_target_text(s, "syscalls_refused");
	v->forged = health_target_text(s, "forged");
	v->fuzzed = json_is_true(json_object_get(s, "fuzzed"));
	v->running = !v->t->waited && strcmp(v->reason, "running") == 0;
	v->given_up = json_is_true(json_object_get(s, "given_up"));
	v->wall = health_target_number(s, "wall_seconds");
	v->cells = health_target_number(s, "cell_seconds");
	v->cpu = health_target_number(s, "cpu_seconds");
	v->starved = health_target_number(s, "starved_share");
	v->timeout = health_target_number(s, "input_timeout_seconds");
	v->execs = health_target_number(s, "execs");
	v->rate = health_target_number(s, "execs_per_cpu_second");
	v->rss = health_target_number(s, "rss_peak_bytes");
	v->limit = health_target_number(s, "memory_limit_bytes");
	v->forks = health_target_number(s, "forks_refused");
	v->dropped = health_target_number(s, "log_bytes_dropped");
}

static void read_findings(const json_t *s, struct health_view *v)
{
	const json_t *f = json_object_get(s, "failures");

	v->failures = health_target_count(s, "failures_total");
	v->crash = health_target_count(f, "crash") + health_target_count(f, "exit") +
		   health_target_count(f, "interrupt");
	v->leak = health_target_count(f, "leak");
	v->timed_out = health_target_count(f, "timeout") + health_target_count(f, "stuck");
	v->oom = health_target_count(f, "oom") + health_target_count(f, "oom-kill");
	v->syscalls = health_target_count(f, "syscall");
	v->untriaged = health_target_number(s, "untriaged");
}

static void read_coverage(const json_t *s, struct health_view *v)
{
	const json_t *o = json_object_get(s, "outlook"), *m = json_object_get(s, "inputs_kept");

	v->cov = health_target_number(s, "cov");
	v->cov_before = health_target_number(s, "cov_of_build_before");
	v->edges = health_target_number(s, "edges");
	v->has_library = json_is_true(json_object_get(s, "library_instrumented"));
	v->ft = health_target_number(s, "ft");
	v->units = health_target_number(s, "corpus_units");
	v->seeds = health_target_number(s, "seeds");
	v->dictionary = health_target_number(s, "dictionary_entries");
	v->kept = health_target_number(m, "total");
	v->by_dictionary = health_target_number(m, "by_dictionary");
	v->by_comparison = health_target_number(m, "by_comparison");
	v->build_cpu = health_target_number(o, "cpu_seconds_of_build");
	v->burst_cpu = health_target_number(o, "cpu_seconds_of_burst");
	v->early = health_target_number(o, "edges_at_tenth_of_burst");
}

/* --- startup ------------------------------------------------------------------ */

static void judge_start(const struct health_view *v, struct health *h)
{
	bool failed = strcmp(v->reason, "startup-failed") == 0;
	char note[HEALTH_TEXT_MAX];

	if (v->t->built == HEALTH_NO || strcmp(v->reason, "no-binary") == 0)
		health_add(h, HEALTH_NO_BINARY, HEALTH_ERROR, "it has no binary%s%s",
			   *v->note ? ": " : "", health_text(v->note, note));
	else if (!v->fuzzed && (failed || v->failures > 0))
		health_add(h, HEALTH_STARTUP_CRASH, HEALTH_ERROR,
			   "fuzzing never began, after %.0f failures%s%s", v->failures,
			   *v->note ? ": " : "", health_text(v->note, note));
	else if (v->t->waited ||
		 (!v->fuzzed && strcmp(v->reason, "run-deadline") == 0 && v->cells <= 0))
		health_add(h, HEALTH_NO_TURN, HEALTH_WARNING, "the last run ended before its turn");
}

static void judge_instrumented(const struct health_view *v, struct health *h)
{
	if (strcmp(v->reason, "not-instrumented") == 0)
		health_add(h, HEALTH_NOT_INSTRUMENTED, HEALTH_ERROR,
			   "the engine found no coverage instrumentation");
	else if (v->edges > 0 && v->edges < AT_EDGES_FEW && !v->has_library)
		health_add(h, HEALTH_FEW_EDGES, HEALTH_WARNING,
			   "its binary has %.0f instrumented edges, and no instrumented function "
			   "of a library was found",
			   v->edges);
}

static void judge_idle(const struct health_view *v, struct health *h)
{
	if (!v->running && v->cells > AT_IDLE_CELLS_S && v->cpu >= 0 &&
	    v->cpu < v->cells * AT_IDLE_SHARE)
		health_add(h, HEALTH_IDLE, HEALTH_ERROR,
			   "it used %.2f s of CPU time in %.1f s, which does not count as "
			   "fuzzing",
			   v->cpu, v->cells);
}

/* The target had a cell but was not fuzzed, for reasons not yet reported. */
static void judge_fuzzed(const struct health_view *v, struct health *h)
{
	char reason[HEALTH_TEXT_MAX];

	if (v->fuzzed || v->running || v->cells <= 0 || h->n > 0 ||
	    strcmp(v->reason, "stopped") == 0 || strcmp(v->reason, "not-instrumented") == 0)
		return;
	health_add(h, HEALTH_NOT_FUZZED, HEALTH_ERROR,
		   "%.1f s in its cell, %.1f s of CPU time, and nothing says that it was fuzzed "
		   "(%s)%s",
		   v->cells, v->cpu > 0 ? v->cpu : 0, health_text(v->reason, reason),
		   v->starved > AT_STARVED ? ": it waited for a CPU most of its time" : "");
}

static void judge_silent(const struct health_view *v, struct health *h)
{
	const struct health_target *t = v->t;
	uint64_t since = t->fuzzed ? t->fuzzed : t->first;
	char age[UNITS_MAX];

	if (!since || !t->silent_s || t->now <= since || t->now - since <= t->silent_s ||
	    (v->running && v->fuzzed))
		return;
	units_time((t->now - since) * USEC, age);
	if (t->fuzzed)
		health_add(h, HEALTH_SILENT, HEALTH_ERROR, "it was last fuzzed %s ago", age);
	else
		health_add(h, HEALTH_SILENT, HEALTH_ERROR,
			   "it was never fuzzed since a run first had it, %s ago", age);
}

static void judge_history(const struct health_view *v, struct health *h)
{
	char why[HEALTH_TEXT_MAX];

	if (v->t->damaged)
		health_add(h, HEALTH_DAMAGED, HEALTH_WARNING, "%s",
			   health_text(v->t->damaged, why));
}

static void judge_dropped(const struct health_view *v, struct health *h)
{
	if (v->cov_before > 0)
		health_add(h, HEALTH_COVERAGE_DROPPED, HEALTH_WARNING,
			   "it reaches %.0f edges, the build before reached %.0f", v->cov,
			   v->cov_before);
}

static void judge_forged(const struct health_view *v, struct health *h)
{
	char claim[HEALTH_TEXT_MAX];

	if (*v->forged)
		health_add(h, HEALTH_FORGED_STATISTICS, HEALTH_ERROR,
			   "it printed statistics that cannot be true, what it says counts for "
			   "nothing: %s",
			   health_text(v->forged, claim));
}

/* --- failures ------------------------------------------------------------------ */

/* lost_s: the part of its time lost to failures. */
static void dominate(const struct health_view *v, struct health *h, enum health_code c,
		     const char *what, double n, double lost_s)
{
	bool loop = strcmp(v->reason, "crash-loop") == 0 || strcmp(v->reason, "oom-killed") == 0;
	bool most = n * 2 > v->failures;
	double left = v->cells > lost_s ? v->cells - lost_s : 0;

	if (!v->fuzzed || n < AT_DOMINATE || v->cells < 0)
		return;
	if ((loop && most) || left / n < AT_DOMINATE_S)
		health_add(h, c, loop && most ? HEALTH_ERROR : HEALTH_WARNING,
			   "%.0f %s in %.0f s%s%s", n, what, v->cells,
			   loop && most ? ": it was given up" : "",
			   lost_s > 0 ? ", much of it spent in waiting for them" : "");
}

static void judge_failures(const struct health_view *v, struct health *h)
{
	dominate(v, h, HEALTH_CRASHES_DOMINATE, "crashes", v->crash, 0);
	dominate(v, h, HEALTH_LEAKS_DOMINATE, "leaks", v->leak, 0);
	dominate(v, h, HEALTH_OOM_DOMINATE, "times out of memory", v->oom, 0);
	dominate(v, h, HEALTH_TIMEOUTS_DOMINATE, "timeouts", v->timed_out,
		 v->timeout > 0 ? v->timeout * v->timed_out : 0);
}

static void judge_refused(const struct health_view *v, struct health *h)
{
	char names[HEALTH_TEXT_MAX];

	if (*v->refused)
		health_add(h, HEALTH_SYSCALLS_REFUSED,
			   v->syscalls > 0 ? HEALTH_WARNING : HEALTH_NOTE,
			   "refused system calls: %s", health_text(v->refused, names));
	if (v->forks > 0)
		health_add(h, HEALTH_FORKS_REFUSED,
			   strcmp(v->reason, "pids-limit") == 0 ? HEALTH_ERROR : HEALTH_WARNING,
			   "%.0f forks or threads refused", v->forks);
	if (strcmp(v->reason, "disk-limit") == 0)
		health_add(h, HEALTH_DISK_LIMIT, HEALTH_ERROR, "it ended because of what it wrote");
}

/* A given-up target has an error even if no other check reports one, because its run does not
 * exit with 0. */
static void judge_given_up(const struct health_view *v, struct health *h)
{
	char reason[HEALTH_TEXT_MAX], note[HEALTH_TEXT_MAX];

	if (v->given_up && health_severity(h) < HEALTH_ERROR)
		health_add(h, HEALTH_GIVEN_UP, HEALTH_ERROR,
			   "it was given up (%s) after %.0f failures%s%s",
			   health_text(v->reason, reason), v->failures, *v->note ? ": " : "",
			   health_text(v->note, note));
}

static void judge_untriaged(const struct health_view *v, struct health *h)
{
	if (!v->running && v->untriaged > 0)
		health_add(h, HEALTH_UNTRIAGED, HEALTH_WARNING,
			   "%.0f failures wait for triage: whether they are new is not known",
			   v->untriaged);
}

/* --- efficiency ------------------------------------------------------------------ */

static bool fails_much(const struct health *h)
{
	return health_has(h, HEALTH_CRASHES_DOMINATE) || health_has(h, HEALTH_LEAKS_DOMINATE) ||
	       health_has(h, HEALTH_TIMEOUTS_DOMINATE) || health_has(h, HEALTH_OOM_DOMINATE);
}

static void judge_speed(const struct health_view *v, struct health *h)
{
	if (v->fuzzed && !fails_much(h) && v->cpu >= AT_RATE_CPU_S && v->rate >= 0 &&
	    v->rate < AT_RATE_BETTER)
		health_add(h, HEALTH_SLOW, v->rate < AT_RATE_LOW ? HEALTH_WARNING : HEALTH_NOTE,
			   "%.0f inputs a second of CPU time; good ones run %.0f and more", v->rate,
			   AT_RATE_BETTER);
}

static void judge_starved(const struct health_view *v, struct health *h)
{
	bool starved = strcmp(v->reason, "starved") == 0;

	if (starved || (v->starved > AT_STARVED && v->cells >= AT_STARVED_CELLS_S))
		health_add(h, HEALTH_STARVED, starved ? HEALTH_WARNING : HEALTH_NOTE,
			   "it waited for a CPU %.0f%% of its time%s",
			   v->starved > 0 ? v->starved * 100 : 0,
			   starved ? ": whether it is at its plateau is not known" : "");
}

static void judge_memory(const struct health_view *v, struct health *h)
{
	char rss[UNITS_MAX], limit[UNITS_MAX];

	if (v->oom == 0 && v->limit > 0 && v->rss >= v->limit * AT_MEMORY_NEAR)
		health_add(h, HEALTH_MEMORY_NEAR_LIMIT, HEALTH_NOTE,
			   "it had %s of %s; at three quarters the engine reports out-of-memory",
			   units_size((uint64_t)v->rss, rss),
			   units_size((uint64_t)v->limit, limit));
}

/* No growth over several runs.  Covered targets and known causes have findings of their own. */
static void judge_growth(const struct health_view *v, struct health *h)
{
	char time[UNITS_MAX];
	uint64_t since = v->t->grown;

	if (since == 0 || v->t->fuzzed < since + AT_GROWN_S || h->n > 0)
		return;
	health_add(h, HEALTH_NOT_GROWING, HEALTH_NOTE,
		   "no run in the last %s reached a new edge: %.0f of %.0f",
		   units_time((v->t->fuzzed - since) * USEC_PER_SEC, time), v->cov, v->edges);
}

static void judge_inputs(const struct health_view *v, struct health *h)
{
	char size[UNITS_MAX];

	if (v->dictionary > 0 && v->kept >= AT_KEPT_FEW && v->by_dictionary == 0)
		health_add(h, HEALTH_DICTIONARY_UNUSED, HEALTH_NOTE,
			   "of %.0f inputs that it kept none was made with its dictionary of %.0f "
			   "entries",
			   v->kept, v->dictionary);
	if (v->fuzzed && v->seeds == 0 && !health_has(h, HEALTH_COVERED) &&
	    !health_has(h, HEALTH_WEAK_SEEDS))
		health_add(h, HEALTH_NO_SEEDS, HEALTH_NOTE, "it began without any seed");
	if (v->dropped > 0)
		health_add(h, HEALTH_OUTPUT_LOST, HEALTH_NOTE,
			   "%s of its output are not in its log",
			   units_size((uint64_t)v->dropped, size));
}

/* Looks for the cause of a plateau only if no other finding explains it. */
static bool may_ask_why(const struct health *h)
{
	return !fails_much(h) && !health_has(h, HEALTH_FEW_EDGES) &&
	       !health_has(h, HEALTH_NOT_INSTRUMENTED) && !health_has(h, HEALTH_STARTUP_CRASH) &&
	       !health_has(h, HEALTH_NOT_FUZZED) && !health_has(h, HEALTH_IDLE) &&
	       !health_has(h, HEALTH_COVERAGE_DROPPED) && !health_has(h, HEALTH_FORGED_STATISTICS);
}

void health_judge(const struct health_target *t, struct health *ret)
{
	struct health_view v = {.t = t, .known = t->stats != NULL};

	*ret = (struct health){.known = true};
	if (t->found == HEALTH_NO) {
		health_add(ret, HEALTH_NOT_FOUND, HEALTH_WARNING,
			   "an earlier run had it, and it is not found any more");
		return;
	}
	health_target_read_run(t->stats, &v);
	read_findings(t->stats, &v);
	read_coverage(t->stats, &v);
	judge_start(&v, ret);
	judge_idle(&v, ret);
	judge_fuzzed(&v, ret);
	judge_instrumented(&v, ret);
	judge_silent(&v, ret);
	judge_history(&v, ret);
	judge_dropped(&v, ret);
	judge_forged(&v, ret);
	judge_failures(&v, ret);
	judge_refused(&v, ret);
	judge_given_up(&v, ret);
	judge_untriaged(&v, ret);
	judge_speed(&v, ret);
	judge_starved(&v, ret);
	judge_memory(&v, ret);
	if (may_ask_why(ret))
		health_plateau(&v, ret);
	judge_growth(&v, ret);
	judge_inputs(&v, ret);
	health_sort(ret);
	ret->known = v.fuzzed || ret->n > 0;
}
