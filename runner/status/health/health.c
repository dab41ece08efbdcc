/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/health/health.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "runner/status/health/strategies.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds; docs/health.md gives the source of each. */
#define AT_EDGES_FEW	   100	 /* OSS-Fuzz's bad_build_check */
#define AT_RATE_LOW	   100.0 /* inputs a CPU-second */
#define AT_RATE_BETTER	   1000.0
#define AT_RATE_CPU_S	   2.0 /* with less CPU time there is no rate */
#define AT_STARVED	   0.5 /* share of its time */
#define AT_STARVED_CELLS_S 5.0
#define AT_IDLE_CELLS_S	   2.0
#define AT_IDLE_SHARE	   0.01
#define AT_MEMORY_NEAR	   (2.0 / 3) /* the engine's own limit is 3/4 */
#define AT_DOMINATE	   3	     /* minimum number of failures, */
#define AT_DOMINATE_S	   10.0	     /* with at most this much fuzzing between two */
#define AT_KEPT_FEW	   50	     /* inputs with a known origin */
#define AT_PLATEAU_EXECS   10000
#define AT_SHARE_COVERED   0.6 /* of the binary's edges */
#define AT_SHARE_DEEP	   0.5
#define AT_SHARE_LOW	   0.25
#define AT_SHARE_BROAD	   0.1
#define AT_EDGES_BROAD	   10000
#define AT_CORPUS_SMALL	   100
#define AT_FLAT		   0.05 /* of its edges, found in the last nine tenths of its time */
#define AT_GROWN_S	   (UINT64_C(2) * 86400)
#define AT_FEATURES_MANY   2.0 /* features an edge */
#define AT_DISK_NEAR	   2   /* multiple of the reserve */
#define AT_OUTBOX_S	   86400
#define AT_CHECKS_S	   86400
#define AT_FETCHES_FAILED  3
#define AT_FETCH_FAILED_S  3600

enum { HEALTH_TEXT_MAX = 160 };

/* --- codes and findings --------------------------------------------------- */

static const char *const severities[] = {
    [HEALTH_OK] = "ok",
    [HEALTH_NOTE] = "note",
    [HEALTH_WARNING] = "warning",
    [HEALTH_ERROR] = "error",
};
_Static_assert(sizeof(severities) / sizeof(severities[0]) == HEALTH_SEVERITY_COUNT, "name each");

static const struct {
	const char *name, *advice;
} codes[] = {
    [HEALTH_NO_BINARY] = {"no-binary", "fuzzcell build says why it was not built"},
    [HEALTH_NOT_FOUND] = {"not-found", "fuzzcell list --all says what was found and what was not "
				       "taken; if it was removed on purpose, nothing"},
    [HEALTH_STARTUP_CRASH] = {"startup-crash",
			      "look at the end of its log (logs/<run>/<target>.log): a missing "
			      "file or library, or an initialisation that fails in a cell, which "
			      "has no network and sees only the target's own directory"},
    [HEALTH_NOT_FUZZED] = {"not-fuzzed",
			   "look in its log (logs/<run>/<target>.log) for what it does instead; "
			   "a target that is still reading its corpus needs more time "
			   "(targets.\"<target>\".max_time, run.total_time)"},
    [HEALTH_NOT_INSTRUMENTED] = {"not-instrumented",
				 "compile the code under test, not only the harness, with "
				 "-fsanitize=fuzzer-no-link"},
    [HEALTH_IDLE] = {"idle", "it waits instead of fuzzing: look in its log for what it waits for "
			     "(a lock, a device, input from a terminal)"},
    [HEALTH_SILENT] = {"silent", "see that runs are started (fuzzcell trigger), that it is built, "
				 "and that runs last long enough for every target"},
    [HEALTH_FORGED_STATISTICS] = {"forged-statistics",
				  "find what in it prints lines like its engine's (its log, and "
				  "what changed in its build); it gets the CPU time that no other "
				  "target wants, until it is built anew"},
    [HEALTH_COVERAGE_DROPPED] = {"coverage-dropped",
				 "something shuts its inputs out since the build before: a changed "
				 "format, a new check at the entrance, code that was left out of "
				 "the build"},
    [HEALTH_CRASHES_DOMINATE] = {"crashes-dominate",
				 "fix the crashes that are found at once (fuzzcell crash list): "
				 "behind them nothing is fuzzed"},
    [HEALTH_LEAKS_DOMINATE] = {"leaks-dominate",
			       "fix the leaks, or turn their detection off for it "
			       "(detect_leaks = 0 in its .options)"},
    [HEALTH_TIMEOUTS_DOMINATE] = {"timeouts-dominate",
				  "fix what hangs, or bound the input's size in the harness or by "
				  "max_len"},
    [HEALTH_OOM_DOMINATE] = {"oom-dominate",
			     "fix what takes the memory, bound sizes in the harness, or give it "
			     "more (targets.\"<target>\".memory)"},
    [HEALTH_SYSCALLS_REFUSED] = {"syscalls-refused",
				 "a cell allows what an engine needs: let the harness replace what "
				 "calls them"},
    [HEALTH_FORKS_REFUSED] = {"forks-refused",
			      "let the harness start no processes or threads for an input, or "
			      "raise targets.\"<target>\".pids"},
    [HEALTH_DISK_LIMIT] = {"disk-limit", "let the harness write no files, or remove them after "
					 "each input; or raise targets.\"<target>\".disk"},
    [HEALTH_GIVEN_UP] = {"given-up",
			 "look at its failures (fuzzcell crash list) and at the end of its log "
			 "(logs/<run>/<target>.log): what ended the target so often?"},
    [HEALTH_FEW_EDGES] = {"few-edges", "compile the libraries under test with "
				       "-fsanitize=fuzzer-no-link, too"},
    [HEALTH_UNTRIAGED] = {"untriaged", "fuzzcell crash triage, or a run with more time at its "
				       "end"},
    [HEALTH_CHECK_BEHIND] = {"check-behind",
			     "a larger run.check_share, or more time for the target"},
    [HEALTH_SLOW] = {"slow", "let the harness do less for each input: no initialisation, files, "
			     "sleeping or logging in it, smaller inputs (max_len), -O1"},
    [HEALTH_STARVED] = {"starved", "fewer workers (run.workers), or fewer other programs on this "
				   "machine"},
    [HEALTH_NO_TURN] = {"no-turn", "a longer run (run.total_time), or more workers"},
    [HEALTH_MEMORY_NEAR_LIMIT] = {"memory-near-limit",
				  "raise targets.\"<target>\".memory before it becomes "
				  "out-of-memory findings"},
    [HEALTH_WEAK_SEEDS] = {"weak-seeds", "add real, valid inputs that reach deep code as seeds "
					 "(<target>_seed_corpus.zip, or fuzzcell corpus import)"},
    [HEALTH_MAGIC_BYTES] = {"magic-bytes",
			    "give it a dictionary with the format's tokens (<target>.dict), valid "
			    "inputs as seeds, and see that it is compiled with "
			    "-fsanitize=fuzzer-no-link, which traces comparisons"},
    [HEALTH_CHECKSUM_GATE] = {"checksum-gate",
			      "leave the check out when FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION "
			      "is defined, or let the harness put the right checksum in"},
    [HEALTH_STRUCTURE] = {"structure",
			  "mutate the structure, not the bytes: FuzzedDataProvider, a custom "
			  "mutator, libprotobuf-mutator; or more valid seeds"},
    [HEALTH_TOO_BROAD] = {"harness-too-broad",
			  "divide it into harnesses of one format or entry point each"},
    [HEALTH_COVERED] = {"covered", "nothing; or check more in the harness (assertions, round "
				   "trips, a second implementation)"},
    [HEALTH_NOT_GROWING] = {"not-growing",
			    "new seeds, a dictionary, or a harness for the code that "
			    "it does not reach; or less of the time for it"},
    [HEALTH_DICTIONARY_UNUSED] = {"dictionary-unused",
				  "see that its tokens are those of the format, byte for byte"},
    [HEALTH_NO_SEEDS] = {"no-seeds", "add some real, valid, small inputs "
				     "(<target>_seed_corpus.zip, or fuzzcell corpus import)"},
    [HEALTH_OUTPUT_LOST] = {"output-lost", "let the target print less: close_fd_mask = 3 in its "
					   ".options, or a lower log level in the harness"},
    [HEALTH_OUTBOX_STUCK] = {"outbox-stuck", "fuzzcell outbox list says why; fuzzcell outbox retry "
					     "after the cause is fixed"},
    [HEALTH_DISK_LOW] = {"disk-low", "make room, or lower run.disk_reserve"},
    [HEALTH_RUN_LOST] = {"run-lost", "look in the journal for what killed fuzzcell; the next start "
				     "saves what it left"},
    [HEALTH_SHARD_LOST] = {"shard-lost", "look in the batch engine's log of the shard; what it "
					 "delivered before is not lost (docs/fleet.md)"},
    [HEALTH_TRIGGER_FAILING] = {"trigger-failing", "fuzzcell trigger --dry-run says what it would "
						   "do, and trigger.log what it did"},
    [HEALTH_DAMAGED] = {"damaged", "inspect the file, repair or remove it; if it happens "
				   "again, suspect the disk"},
    [HEALTH_NAME_UNKNOWN] = {"name-unknown", "fuzzcell config check; correct the name, or remove "
					     "its section"},
};
_Static_assert(sizeof(codes) / sizeof(codes[0]) == HEALTH_CODE_COUNT, "name each");
_Static_assert((int)HEALTH_CODE_COUNT <= 2 * (int)HEALTH_FINDINGS_MAX, "few stand together");

const char *health_severity_name(enum health_severity s)
{
	return s < HEALTH_SEVERITY_COUNT ? severities[s] : "unknown";
}

const char *health_code_name(enum health_code c)
{
	return c < HEALTH_CODE_COUNT ? codes[c].name : "unknown";
}

/* PRINTF's cold and nonnull(1) are for errors. */
static void __attribute__((format(printf, 4, 5)))
health_add(struct health *h, enum health_code c, enum health_severity s, const char *fmt, ...)
{
	struct health_finding *f;
	va_list ap;

	if (h->n == HEALTH_FINDINGS_MAX)
		return;
	f = &h->v[h->n++];
	f->code = c;
	f->severity = s;
	f->advice = codes[c].advice;
	va_start(ap, fmt);
	(void)vsnprintf(f->reason, sizeof(f->reason), fmt, ap);
	va_end(ap);
}

static bool health_has(const struct health *h, enum health_code c)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].code == c)
			return true;
	return false;
}

/* Foreign text for a reason: printable ASCII, cut. */
static const char *health_text(const char *s, char out[HEALTH_TEXT_MAX])
{
	size_t n = 0;

	for (; s && s[n] && n + 1 < HEALTH_TEXT_MAX; n++) {
		out[n] = s[n];
		if (s[n] < ' ' || s[n] > '~')
			out[n] = '?';
	}
	out[n] = '\0';
	return out;
}

/* The codes are declared in order of importance. */
static int worse_first(const void *a, const void *b)
{
	const struct health_finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void health_sort(struct health *h)
{
	qsort(h->v, h->n, sizeof(h->v[0]), worse_first);
}

enum health_severity health_severity(const struct health *h)
{
	enum health_severity worst = HEALTH_OK;

	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].severity > worst)
			worst = h->v[i].severity;
	return worst;
}

/* --- reading a target's facts --------------------------------------------- */

/* A target's facts as numbers; negative: unknown. */
struct health_view {
	const struct health_target *t;
	const char *reason, *note, *refused, *forged; /* "": unknown */
	bool known, fuzzed, running, given_up;
	bool has_library; /* code beyond its harness is instrumented */
	double wall, cells, cpu, starved, timeout;
	double execs, rate, cov, cov_before, edges, ft, units;
	double seeds, rss, limit, forks, untriaged, dropped, failures;
	/* by kind; 0: none */
	double crash, leak, timed_out, oom, syscalls;
	double checks_left, checks_since;
	double kept, by_dictionary, by_comparison, dictionary;
	/* of this build */
	double build_cpu, burst_cpu, early;
};

static double health_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double d = json_is_number(v) ? json_number_value(v) : -1;

	return d >= 0 && d < 1e18 ? d : -1;
}

/* A count that is missing if it is 0. */
static double health_count(const json_t *o, const char *key)
{
	double d = health_number(o, key);

	return d > 0 ? d : 0;
}

static const char *health_string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void read_run(const json_t *s, struct health_view *v)
{
	v->reason = health_string(s, "reason");
	v->note = health_string(s, "note");
	v->refused = health_string(s, "syscalls_refused");
	v->forged = health_string(s, "forged");
	v->fuzzed = json_is_true(json_object_get(s, "fuzzed"));
	v->running = !v->t->waited && strcmp(v->reason, "running") == 0;
	v->given_up = json_is_true(json_object_get(s, "given_up"));
	v->wall = health_number(s, "wall_seconds");
	v->cells = health_number(s, "cell_seconds");
	v->cpu = health_number(s, "cpu_seconds");
	v->starved = health_number(s, "starved_share");
	v->timeout = health_number(s, "input_timeout_seconds");
	v->execs = health_number(s, "execs");
	v->rate = health_number(s, "execs_per_cpu_second");
	v->rss = health_number(s, "rss_peak_bytes");
	v->limit = health_number(s, "memory_limit_bytes");
	v->forks = health_number(s, "forks_refused");
	v->dropped = health_number(s, "log_bytes_dropped");
}

static void read_findings(const json_t *s, struct health_view *v)
{
	const json_t *f = json_object_get(s, "failures");

	v->failures = health_count(s, "failures_total");
	v->crash =
	    health_count(f, "crash") + health_count(f, "exit") + health_count(f, "interrupt");
	v->leak = health_count(f, "leak");
	v->timed_out = health_count(f, "timeout") + health_count(f, "stuck");
	v->oom = health_count(f, "oom") + health_count(f, "oom-kill");
	v->syscalls = health_count(f, "syscall");
	v->untriaged = health_number(s, "untriaged");
	v->checks_left = health_number(s, "checks_left");
	v->checks_since = health_number(s, "checks_behind_since");
}

static void read_coverage(const json_t *s, struct health_view *v)
{
	const json_t *o = json_object_get(s, "outlook"), *m = json_object_get(s, "inputs_kept");

	v->cov = health_number(s, "cov");
	v->cov_before = health_number(s, "cov_of_build_before");
	v->edges = health_number(s, "edges");
	v->has_library = json_is_true(json_object_get(s, "library_instrumented"));
	v->ft = health_number(s, "ft");
	v->units = health_number(s, "corpus_units");
	v->seeds = health_number(s, "seeds");
	v->dictionary = health_number(s, "dictionary_entries");
	v->kept = health_number(m, "total");
	v->by_dictionary = health_number(m, "by_dictionary");
	v->by_comparison = health_number(m, "by_comparison");
	v->build_cpu = health_number(o, "cpu_seconds_of_build");
	v->burst_cpu = health_number(o, "cpu_seconds_of_burst");
	v->early = health_number(o, "edges_at_tenth_of_burst");
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
	units_time((t->now - since) * USEC_PER_SEC, age);
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
			   "it printed statistics that cannot be true, so they do not count: %s",
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
	char names[HEALTH_TEXT_MAX], forks[UNITS_OF_MAX];

	if (*v->refused)
		health_add(h, HEALTH_SYSCALLS_REFUSED,
			   v->syscalls > 0 ? HEALTH_WARNING : HEALTH_NOTE,
			   "refused system calls: %s", health_text(v->refused, names));
	if (v->forks > 0)
		health_add(
		    h, HEALTH_FORKS_REFUSED,
		    strcmp(v->reason, "pids-limit") == 0 ? HEALTH_ERROR : HEALTH_WARNING,
		    "%s refused",
		    units_of((uint64_t)v->forks, "fork or thread", "forks or threads", forks));
	if (strcmp(v->reason, "disk-limit") == 0)
		health_add(h, HEALTH_DISK_LIMIT, HEALTH_ERROR, "it ended because of what it wrote");
}

/* A given-up target has an error even if no other check reports one, because its run does not
 * exit with 0. */
static void judge_given_up(const struct health_view *v, struct health *h)
{
	char reason[HEALTH_TEXT_MAX], note[HEALTH_TEXT_MAX], n[UNITS_OF_MAX];

	if (v->given_up && health_severity(h) < HEALTH_ERROR)
		health_add(h, HEALTH_GIVEN_UP, HEALTH_ERROR, "it was given up (%s) after %s%s%s",
			   health_text(v->reason, reason),
			   units_of((uint64_t)v->failures, "failure", "failures", n),
			   *v->note ? ": " : "", health_text(v->note, note));
}

static void judge_untriaged(const struct health_view *v, struct health *h)
{
	char n[UNITS_OF_MAX];

	if (!v->running && v->untriaged > 0)
		health_add(h, HEALTH_UNTRIAGED, HEALTH_WARNING,
			   "%s for triage: it is not known which are new",
			   units_of((uint64_t)v->untriaged, "failure waits", "failures wait", n));
}

static void judge_checks(const struct health_view *v, struct health *h)
{
	char n[UNITS_OF_MAX], age[UNITS_MAX];
	double since = v->checks_since;

	if (v->checks_left > 0 && since > 0 && (double)v->t->now - since >= AT_CHECKS_S)
		health_add(h, HEALTH_CHECK_BEHIND, HEALTH_WARNING,
			   "%s for its check variants, for %s",
			   units_of((uint64_t)v->checks_left, "input waits", "inputs wait", n),
			   units_time((v->t->now - (uint64_t)since) * USEC_PER_SEC, age));
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
	char time[UNITS_MAX], strategies[STRATEGIES_TEXT];
	uint64_t since = v->t->grown;

	if (since == 0 || v->t->fuzzed < since + AT_GROWN_S || h->n > 0)
		return;
	strategies_text(v->t->stats, true, strategies);
	health_add(h, HEALTH_NOT_GROWING, HEALTH_NOTE,
		   "no run in the last %s reached a new edge: %.0f of %.0f%s%s",
		   units_time((v->t->fuzzed - since) * USEC_PER_SEC, time), v->cov, v->edges,
		   *strategies ? "; edges by strategy: " : "", strategies);
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

/* --- why the coverage of a target stopped growing ------------------------- */

/* Likely causes of a plateau.  They are probable, not certain, because coverage alone proves no
 * cause.  If the numbers fit several causes, none is reported. */

/* Nearly all edges were reached in the first tenth of its time, and there was no burst since. */
static bool is_flat(const struct health_view *v)
{
	double late = v->cov - v->early, some = v->cov * AT_FLAT;

	return v->early >= 0 && v->burst_cpu >= v->build_cpu * (1 - AT_FLAT) &&
	       late <= (some > 2 ? some : 2);
}

static bool has_hints(const struct health_view *v)
{
	return v->by_comparison > 0 || v->by_dictionary > 0;
}

/* Blocked at a gate: few edges are reached, early, and then none.  A large corpus shows progress
 * elsewhere, whatever this build reaches. */
static void judge_gate(const struct health_view *v, struct health *h)
{
	double share = v->cov / v->edges * 100;

	if (v->units < 0 || v->units >= AT_CORPUS_SMALL || v->kept < 0)
		return;
	if (has_hints(v))
		health_add(
		    h, HEALTH_CHECKSUM_GATE, HEALTH_NOTE,
		    "likely a checksum: %.0f of %.0f edges (%.0f%%) since its first tenth; "
		    "tokens were found by comparisons (%.0f inputs) or the dictionary (%.0f), "
		    "and nothing opened behind them",
		    v->cov, v->edges, share, v->by_comparison,
		    v->by_dictionary > 0 ? v->by_dictionary : 0);
	else if (v->seeds > 0 || v->dictionary > 0)
		health_add(
		    h, HEALTH_WEAK_SEEDS, HEALTH_NOTE,
		    "likely weak seeds: %.0f of %.0f edges (%.0f%%) since its first tenth, with "
		    "%.0f seeds%s",
		    v->cov, v->edges, share, v->seeds > 0 ? v->seeds : 0,
		    v->dictionary > 0 ? "; its dictionary did not help" : "");
	else if (v->seeds == 0 && v->dictionary == 0)
		health_add(
		    h, HEALTH_MAGIC_BYTES, HEALTH_NOTE,
		    "likely magic bytes: %.0f of %.0f edges (%.0f%%) since its first tenth; no "
		    "seeds, no dictionary, and no comparison showed what it wants",
		    v->cov, v->edges, share);
}

static void judge_grown(const struct health_view *v, struct health *h)
{
	double share = v->cov / v->edges;

	if (v->edges >= AT_EDGES_BROAD && share < AT_SHARE_BROAD)
		health_add(
		    h, HEALTH_TOO_BROAD, HEALTH_NOTE,
		    "likely a harness for too much: %.0f of %.0f edges (%.1f%%), and they came "
		    "slowly",
		    v->cov, v->edges, share * 100);
	else if (share < AT_SHARE_DEEP && has_hints(v) && v->kept >= AT_KEPT_FEW &&
		 v->ft >= v->cov * AT_FEATURES_MANY)
		health_add(h, HEALTH_STRUCTURE, HEALTH_NOTE,
			   "likely a format with structure: %.0f of %.0f edges (%.0f%%) in %.0f "
			   "features; its tokens are known, more ways through the same code were "
			   "found, but no new code",
			   v->cov, v->edges, share * 100, v->ft);
}

/* Adds likely causes why the target's coverage stopped growing. */
static void health_plateau(const struct health_view *v, struct health *h)
{
	if (strcmp(v->reason, "plateau") != 0 || v->edges < AT_EDGES_FEW || v->cov <= 0)
		return;
	if (v->cov >= v->edges * AT_SHARE_COVERED)
		health_add(h, HEALTH_COVERED, HEALTH_OK, "at its plateau, with %.0f of %.0f edges",
			   v->cov, v->edges);
	else if (v->execs < AT_PLATEAU_EXECS || v->build_cpu <= 0 || v->early < 0)
		return;
	else if (is_flat(v) && v->cov < v->edges * AT_SHARE_LOW)
		judge_gate(v, h);
	else
		judge_grown(v, h);
}

/* --- a target ------------------------------------------------------------- */

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
	read_run(t->stats, &v);
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
	judge_checks(&v, ret);
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

/* --- the service ---------------------------------------------------------- */

static const char *health_age(uint64_t now, uint64_t since, char out[UNITS_MAX])
{
	return units_time((now > since ? now - since : 0) * USEC_PER_SEC, out);
}

static void judge_outbox(const struct health_service *s, struct health *h)
{
	char old[UNITS_MAX], place[HEALTH_TEXT_MAX], why[HEALTH_TEXT_MAX], n[UNITS_OF_MAX];
	bool late = s->outbox.waiting > 0 && s->outbox.oldest > 0 &&
		    s->now > s->outbox.oldest + (s->outbox.late_s ? s->outbox.late_s : AT_OUTBOX_S);

	if (!late && s->outbox.refused == 0)
		return;
	health_add(h, HEALTH_OUTBOX_STUCK, HEALTH_WARNING,
		   "%s, %llu of them refused; the oldest for %s%s%s%s%s",
		   units_of(s->outbox.waiting, "report waits", "reports wait", n),
		   (unsigned long long)s->outbox.refused, health_age(s->now, s->outbox.oldest, old),
		   s->outbox.place ? ": " : "", health_text(s->outbox.place, place),
		   s->outbox.why && *s->outbox.why ? ": " : "", health_text(s->outbox.why, why));
}

static void judge_disk(const struct health_service *s, struct health *h)
{
	char free_text[UNITS_MAX], reserve[UNITS_MAX];
	bool under = s->disk.free < s->disk.reserve;

	if (s->disk.known && s->disk.free / AT_DISK_NEAR < s->disk.reserve)
		health_add(h, HEALTH_DISK_LOW, under ? HEALTH_ERROR : HEALTH_WARNING,
			   "%s are free, the reserve is %s%s", units_size(s->disk.free, free_text),
			   units_size(s->disk.reserve, reserve),
			   under ? ": nothing is fuzzed" : "");
}

static void judge_run(const struct health_service *s, struct health *h)
{
	char run[HEALTH_TEXT_MAX];

	if (s->lost_run)
		health_add(h, HEALTH_RUN_LOST, HEALTH_WARNING,
			   "the last run (%s) did not come to its end%s",
			   health_text(s->lost_run, run),
			   s->lost_left ? "; what it left is not saved yet" : "");
}

static void judge_fleet(const struct health_service *s, struct health *h)
{
	char late[UNITS_MAX];

	if (s->fleet.lost > 0)
		health_add(h, HEALTH_SHARD_LOST, HEALTH_WARNING,
			   "%u of %u shards of round %llu never came back; the round %s%s%s",
			   s->fleet.lost, s->fleet.shards, (unsigned long long)s->fleet.round,
			   s->fleet.over ? "has ended" : "was due to end ",
			   s->fleet.over ? "" : health_age(s->now, s->fleet.due, late),
			   s->fleet.over ? "" : " ago");
}

static void judge_trigger(const struct health_service *s, struct health *h)
{
	char old[UNITS_MAX], why[HEALTH_TEXT_MAX], n[UNITS_OF_MAX];
	bool fetch = s->trigger.fetch_failures >= AT_FETCHES_FAILED &&
		     s->now > s->trigger.fetch_since + AT_FETCH_FAILED_S;

	health_text(s->trigger.why, why);
	if (fetch)
		health_add(h, HEALTH_TRIGGER_FAILING, HEALTH_ERROR,
			   "fetching failed %s, for %s%s%s",
			   units_of(s->trigger.fetch_failures, "time", "times", n),
			   health_age(s->now, s->trigger.fetch_since, old), *why ? ": " : "", why);
	else if (s->trigger.run_failures > 0)
		health_add(
		    h, HEALTH_TRIGGER_FAILING, HEALTH_ERROR, "the last %s of its commit failed%s%s",
		    units_of(s->trigger.run_failures, "run", "runs", n), *why ? ": " : "", why);
}

static void judge_files(const struct health_service *s, struct health *h)
{
	char name[HEALTH_TEXT_MAX], n[UNITS_OF_MAX];

	if (s->unreadable.is != HEALTH_OK)
		health_add(h, HEALTH_DAMAGED, s->unreadable.is, "%s",
			   health_text(s->unreadable.why, name));
	else if (s->damaged_n > 0)
		health_add(h, HEALTH_DAMAGED, HEALTH_NOTE, "%s set aside: %s%s",
			   units_of(s->damaged_n, "damaged file of the state was",
				    "damaged files of the state were", n),
			   health_text(s->damaged, name), s->damaged_n > 1 ? ", ..." : "");
	if (s->unknown_n > 0)
		health_add(h, HEALTH_NAME_UNKNOWN, HEALTH_WARNING, "%s no target: targets.\"%s\"%s",
			   units_of(s->unknown_n, "name in the configuration matches",
				    "names in the configuration match", n),
			   health_text(s->unknown, name), s->unknown_n > 1 ? ", ..." : "");
}

void health_judge_service(const struct health_service *s, struct health *ret)
{
	*ret = (struct health){.known = true};
	judge_outbox(s, ret);
	judge_disk(s, ret);
	judge_run(s, ret);
	judge_fleet(s, ret);
	judge_trigger(s, ret);
	judge_files(s, ret);
	health_sort(ret);
}

/* --- as JSON -------------------------------------------------------------- */

/* All texts are ASCII: this cannot fail. */
json_t *health_finding_json(const struct health_finding *f, const char *target)
{
	char name[HEALTH_TEXT_MAX];

	return json_pack("{s:s?, s:s, s:s, s:s, s:s}", "target",
			 target ? health_text(target, name) : NULL, "code",
			 health_code_name(f->code), "severity", health_severity_name(f->severity),
			 "reason", f->reason, "advice", f->advice);
}

json_t *health_json(const struct health *h, const char *target)
{
	json_t *all = json_array();

	for (size_t i = 0; i < h->n; i++)
		json_array_append_new(all, health_finding_json(&h->v[i], target));
	return json_pack("{s:s, s:b, s:o}", "severity", health_severity_name(health_severity(h)),
			 "known", h->known, "findings", all);
}
