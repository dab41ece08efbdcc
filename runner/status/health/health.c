/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/health/internal.h"

#include "base/cleanup.h"

#include <errno.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void health_add(struct health *h, enum health_code c, enum health_severity s, const char *fmt, ...)
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

bool health_has(const struct health *h, enum health_code c)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].code == c)
			return true;
	return false;
}

const char *health_text(const char *s, char out[HEALTH_TEXT_MAX])
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

void health_sort(struct health *h)
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
