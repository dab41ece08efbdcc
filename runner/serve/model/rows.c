/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that several models share: of a target, a crash, a run. */
#include "base/memory.h"
#include "runner/serve/model/model.h"
#include "runner/state/history.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/crash/vault.h"
#include "runner/publish/render/source_link.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- data of all rows --------------------------------------------------------- */

static void count_open(json_t *open, const char *target)
{
	json_int_t n = json_integer_value(json_object_get(open, target));

	/* Fails for a name that is not UTF-8; such a name has no row. */
	(void)json_object_set_new(open, target, json_integer(n + 1));
}

static void count_crash(json_t *open, const struct known_crash *c)
{
	if (*c->merged_into)
		return;
	for (size_t i = 0; i < c->n_by; i++)
		if (ledger_state_open(c->by[i]->state))
			count_open(open, c->by[i]->fuzzer);
}

int base_load(struct serve_site *s, struct model_base *ret, struct err *e)
{
	struct model_base b = {.site = s};
	int r = site_ledger(s, &b.ledger, e);

	if (r < 0)
		return r;
	b.open = json_object();
	for (size_t i = 0; i < ledger_count(b.ledger); i++)
		count_crash(b.open, ledger_at(b.ledger, i));
	b.fuzzed = site_times(s);
	*ret = b;
	return 0;
}

void base_done(struct model_base *b)
{
	json_decref(b->open);
	json_decref(b->fuzzed);
	b->open = b->fuzzed = NULL;
}

/* From the living run, else from the newest run. */
static int shows_part(struct serve_site *s, json_t *m, struct err *e)
{
	static const struct copy keys[] = {{"run", COPY_TEXT}, {"commit", COPY_TEXT}};
	_autojson_ json_t *shows = json_object();
	_autojson_ json_t *runs = NULL;
	const json_t *run = json_object_get(site_live(s), "run");
	uint64_t damaged;
	int r = run ? 0 : site_runs(s, 1, &runs, &damaged, e);

	if (!run)
		run = json_array_get(runs, 0);
	make_text(shows, "version", FUZZCELL_VERSION);
	make_copy(shows, run, keys, COUNT(keys));
	if (r == 0)
		make_set(m, "shows", take_ptr(&shows));
	return r;
}

static int commits_part(const struct serve_site *s, json_t *m, struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(8192);
	const struct sources *from = s->limits.sources;
	int r;

	if (from && from->link)
		source_commits(from->link, &b);
	r = buf_check(&b, e);
	if (r == 0 && b.n > 0)
		make_text(m, "commits", buf_str(&b));
	return r;
}

int model_begin(struct serve_site *s, json_t *m, struct err *e)
{
	uint64_t updated;
	int r = site_updated(s, &updated, e);

	if (r < 0)
		return r;
	make_number(m, "v", 1);
	make_time(m, "updated", updated);
	r = shows_part(s, m, e);
	return r < 0 ? r : commits_part(s, m, e);
}

/* --- a target ------------------------------------------------------------------- */

static const struct copy target_keys[] = {
    {"reason", COPY_TEXT},
    {"run", COPY_TEXT},
    {"commit", COPY_TEXT},
    {"ended", COPY_TEXT},
    {"fuzzed", COPY_FLAG},
    {"cov", COPY_NUMBER},
    {"edges", COPY_NUMBER},
    {"ft", COPY_NUMBER},
    {"corpus_units", COPY_NUMBER},
    {"corpus_bytes", COPY_NUMBER},
    {"execs", COPY_NUMBER},
    {"execs_per_cpu_second", COPY_NUMBER},
    {"cpu_seconds", COPY_NUMBER},
    {"new_inputs", COPY_NUMBER},
    {"memory_peak_bytes", COPY_NUMBER},
    {"memory_limit_bytes", COPY_NUMBER},
    {"failures_total", COPY_NUMBER},
    {"checks_left", COPY_NUMBER},
};

/* The state of the cell, not its results. */
static const struct copy living_keys[] = {
    {"state", COPY_TEXT},	   {"memory_bytes", COPY_NUMBER},
    {"pressure_cpu", COPY_NUMBER}, {"pressure_memory", COPY_NUMBER},
    {"pressure_io", COPY_NUMBER},  {"pressure_state", COPY_TEXT},
};

/* The verdict is the worst finding. */
static json_t *model_rows_verdict(const struct model_target *t)
{
	static const struct copy keys[] = {{"code", COPY_TEXT},
					   {"severity", COPY_TEXT},
					   {"reason", COPY_TEXT},
					   {"advice", COPY_TEXT}};
	const json_t *worst = json_array_get(t->findings, 0);
	_autojson_ json_t *m = json_object();

	if (worst)
		make_copy(m, worst, keys, COUNT(keys));
	else
		make_text(m, "severity", "ok");
	make_set(m, "known", json_boolean(t->known));
	return take_ptr(&m);
}

json_t *row_target(struct model_base *b, const char *name, const struct model_target *t)
{
	const json_t *run = json_object_get(site_live(b->site), "run");
	const json_t *known = json_object_get(b->fuzzed, name);
	const json_t *corpus = json_object_get(t->now, "corpus");
	_autojson_ json_t *m = json_object();

	make_text(m, "name", name);
	make_href(m, "href", "targets/", name, ".html");
	make_href(m, "api", "api/v1/targets/", name, ".json");
	make_set(m, "live", json_boolean(t->living != NULL));
	make_copy(m, t->now, target_keys, COUNT(target_keys));
	make_copy(m, t->living, living_keys, COUNT(living_keys));
	if (t->live) {
		static const struct copy keys[] = {{"run", COPY_TEXT}, {"commit", COPY_TEXT}};

		make_copy(m, run, keys, COUNT(keys));
	}
	if (json_is_object(corpus) && !json_object_get(t->now, "corpus_bytes")) {
		json_t *v = json_object_get(corpus, "bytes");

		if (json_is_number(v))
			make_set(m, "corpus_bytes", json_incref(v));
	}
	make_set(m, "trend", json_incref(t->trend));
	make_time(m, "last_fuzzed", get_count(known, "fuzzed"));
	make_time(m, "checks_behind_since", get_count(t->now, "checks_behind_since"));
	make_set(m, "health", model_rows_verdict(t));
	make_number(m, "crashes_open", get_count(b->open, name));
	return take_ptr(&m);
}

/* --- a run ------------------------------------------------------------------------- */

static const struct copy run_keys[] = {
    {"run", COPY_TEXT},		  {"status", COPY_TEXT},	{"commit", COPY_TEXT},
    {"started", COPY_TEXT},	  {"ended", COPY_TEXT},		{"elapsed_seconds", COPY_NUMBER},
    {"workers", COPY_NUMBER},	  {"targets", COPY_NUMBER},	{"fuzzed", COPY_NUMBER},
    {"given_up", COPY_NUMBER},	  {"not_fuzzed", COPY_NUMBER},	{"failures", COPY_NUMBER},
    {"new_crashes", COPY_NUMBER}, {"cpu_seconds", COPY_NUMBER}, {"execs", COPY_NUMBER},
    {"new_inputs", COPY_NUMBER},  {"continuous", COPY_FLAG},
};

static void run_links(struct serve_site *s, json_t *m, const char *run)
{
	if (!site_run_kept(s, run))
		return;
	make_href(m, "href", "runs/", run, ".html");
	make_href(m, "api", "api/v1/runs/", run, ".json");
}

/* Copies a run; a list of targets, if present, is replaced by their number and sums. */
static json_t *lean_copy(const json_t *run)
{
	json_t *copy = json_deep_copy(run);

	history_lean(copy);
	return copy;
}

json_t *row_run(struct serve_site *s, const json_t *line)
{
	_autojson_ json_t *lean = lean_copy(line);
	json_t *m = json_object();

	make_copy(m, lean, run_keys, COUNT(run_keys));
	make_set(m, "live", json_false());
	run_links(s, m, get_text(line, "run"));
	return m;
}

/* The living run's line: its own values, and sums over its targets. */
static json_t *model_rows_live_line(const json_t *live)
{
	_autojson_ json_t *run = json_copy(json_object_get(live, "run"));
	json_t *targets = json_object_get(live, "targets");

	if (targets)
		json_object_set(run, "targets", targets);
	return lean_copy(run);
}

json_t *row_live(struct serve_site *s)
{
	static const struct copy more[] = {{"total_seconds", COPY_NUMBER},
					   {"running", COPY_NUMBER},
					   {"paused", COPY_FLAG},
					   {"pid", COPY_NUMBER}};
	_autojson_ json_t *run = NULL;
	json_t *m;

	if (!site_live(s))
		return NULL;
	m = json_object();
	run = model_rows_live_line(site_live(s));
	make_copy(m, run, run_keys, COUNT(run_keys));
	make_copy(m, run, more, COUNT(more));
	make_text(m, "status", "running");
	make_set(m, "live", json_true());
	make_set(m, "ended", json_null());
	run_links(s, m, get_text(run, "run"));
	return m;
}

int rows_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged, struct err *e)
{
	_autojson_ json_t *lines = NULL, *rows = json_array();
	int r = site_runs(s, n, &lines, ret_damaged, e);

	if (r < 0)
		return r;
	if (site_live(s))
		json_array_append_new(rows, row_live(s));
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);

		/* The living run ended after it was asked. */
		if (*site_live_run(s) && strcmp(get_text(line, "run"), site_live_run(s)) == 0)
			continue;
		json_array_append_new(rows, row_run(s, line));
	}
	*ret = json_incref(rows);
	return 0;
}

int runs_total(struct serve_site *s, const json_t *rows, uint64_t damaged, uint64_t *ret,
	       struct err *e)
{
	uint64_t lines = 0, shown = json_array_size(rows);
	int r = site_runs_total(s, &lines, e);

	lines = lines > damaged ? lines - damaged : 0;
	lines += site_live(s) != NULL;
	*ret = lines > shown ? lines : shown;
	return r;
}

/* --- crashes ------------------------------------------------------------------------- */

static bool web_address(const char *url)
{
	return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
}

int row_crash(const struct known_crash *c, json_t **ret, struct err *e)
{
	_autojson_ json_t *m = json_object();
	char name[VAULT_NAME];
	int r = vault_name(slice_of(c->signature), name, e);

	if (r < 0)
		return r;
	make_text(m, "signature", c->signature);
	make_href(m, "href", "crashes/", name, ".html");
	make_href(m, "api", "api/v1/crashes/", name, ".json");
	make_text(m, "state", ledger_state_name(c->state));
	make_set(m, "open", json_boolean(ledger_state_open(c->state)));
	make_text(m, "crash_type", c->crash_type);
	make_text(m, "top_frame", c->top_frame);
	make_text(m, "target", c->fuzzer);
	if (site_target_ok(c->fuzzer))
		make_href(m, "target_href", "targets/", c->fuzzer, ".html");
	make_number(m, "targets", c->n_by);
	make_number(m, "variants", c->aliases.n + 1);
	make_set(m, "security", json_boolean(c->security));
	make_text(m, "severity", c->severity);
	make_number(m, "count", c->count);
	make_number(m, "hits", c->reproduction.hits);
	make_number(m, "tries", c->reproduction.tries);
	make_time(m, "first_seen", c->first_seen.time);
	make_time(m, "last_seen", c->last_seen.time);
	if (web_address(c->issue_url))
		make_text(m, "issue_url", c->issue_url);
	*ret = take_ptr(&m);
	return 0;
}

struct listed {
	const struct known_crash *crash;
};

static int by_interest(const void *pa, const void *pb)
{
	const struct known_crash *a = ((const struct listed *)pa)->crash;
	const struct known_crash *b = ((const struct listed *)pb)->crash;
	int open = ledger_state_open(b->state) - ledger_state_open(a->state);

	if (open)
		return open;
	if (a->last_seen.time != b->last_seen.time)
		return a->last_seen.time < b->last_seen.time ? 1 : -1;
	return strcmp(a->signature, b->signature);
}

int rows_crashes(const struct ledger *l, const char *target, size_t n, json_t **ret,
		 size_t *ret_total, struct err *e)
{
	_autofree_ struct listed *v = xcalloc(ledger_count(l) + 1, sizeof(*v));
	_autojson_ json_t *rows = json_array();
	size_t have = 0;
	int r = 0;

	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_at(l, i);

		if (!*c->merged_into && (!target || ledger_entry(c, target)))
			v[have++].crash = c;
	}
	qsort(v, have, sizeof(*v), by_interest);
	for (size_t i = 0; r == 0 && i < have && i < n; i++) {
		json_t *row;

		r = row_crash(v[i].crash, &row, e);
		if (r == 0)
			json_array_append_new(rows, row);
	}
	*ret_total = have;
	if (r == 0)
		*ret = json_incref(rows);
	return r;
}

json_t *crash_counts(const struct ledger *l)
{
	uint64_t n[LEDGER_STATE_COUNT] = {0};
	_autojson_ json_t *m = json_object();

	for (size_t i = 0; i < ledger_count(l); i++)
		if (!*ledger_at(l, i)->merged_into)
			n[ledger_at(l, i)->state]++;
	for (unsigned s = 0; s < LEDGER_STATE_COUNT; s++)
		make_number(m, ledger_state_name((enum ledger_state)s), n[s]);
	return take_ptr(&m);
}
