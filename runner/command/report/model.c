/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/command/common/answer.h"
#include "runner/command/report/report.h"
#include "runner/state/history.h"
#include "runner/state/series.h"
#include "runner/status/health/health.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	SUMMARY_MAX = 64 << 20,
	LOOK_FEW = 32,
	LOOK_MANY = 4096,
	CRASHES_MAX = 1000,
	TARGETS_MAX = 4096
};

struct model {
	const struct state *state;
	const struct ledger *ledger;
	const char *id;
	json_t *run, *targets, *crashes, *findings; /* borrowed: the result's */
};

/* --- a run that has no summary ----------------------------------------------------- */

static int find_status(const struct model *m, const char **ret, struct err *e)
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	int r = history_last(m->state, "run_history.jsonl", LOOK_MANY, &lines, &damaged, e);

	*ret = "unfinished";
	for (size_t i = 0; r == 0 && i < json_array_size(lines); i++) {
		const json_t *l = json_array_get(lines, i);

		if (strcmp(json_get_text(l, "run"), m->id) == 0 &&
		    strcmp(json_get_text(l, "status"), "lost") == 0)
			*ret = "lost";
	}
	return r;
}

static int report_model_from_series(const struct model *m, struct err *e)
{
	_autojson_ json_t *targets = NULL;
	const char *status = "";
	int r = find_status(m, &status, e);

	if (r == 0)
		r = series_left(m->state, m->id, TARGETS_MAX, &targets, e);
	if (r < 0)
		return r;
	(void)json_array_extend(m->targets, targets);
	(void)json_object_set_new(m->run, "run", answer_text(m->id));
	(void)json_object_set_new(m->run, "status", json_string(status));
	return 0;
}

/* --- a run with a summary ----------------------------------------------------------- */

static void take_summary(const struct model *m, json_t *summary)
{
	const json_t *all = json_object_get(summary, "targets");

	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *t = json_array_get(all, i);

		if (json_is_object(t))
			(void)json_array_append(m->targets, t);
	}
	(void)json_object_del(summary, "targets");
	(void)json_object_update(m->run, summary);
}

static int report_model_read_run(const struct model *m, struct err *e)
{
	_autofree_ char *path = xasprintf("logs/%s/summary.json", m->id);
	_autojson_ json_t *summary = NULL;
	int r = json_load(m->state->dirfd, path, SUMMARY_MAX, &summary, e);

	if (r == -ENOENT)
		return report_model_from_series(m, e);
	if (r < 0)
		return r;
	if (!json_is_object(summary))
		return err_set(e, EBADMSG, "%s: not a JSON object", path);
	take_summary(m, summary);
	return 0;
}

/* --- coverage gained ---------------------------------------------------------------- */

/* The id of a run is its start time, so ids sort by time. */
static const json_t *line_before(const struct model *m, const json_t *lines)
{
	for (size_t i = json_array_size(lines); i-- > 0;) {
		const json_t *l = json_array_get(lines, i);

		/* A run that did not fuzz the target has no coverage of it. */
		if (*json_get_text(l, "run") && strcmp(json_get_text(l, "run"), m->id) < 0 &&
		    json_get_u64(l, "cov") > 0)
			return l;
	}
	return NULL;
}

static int find_before(const struct model *m, const char *file, json_t **ret, struct err *e)
{
	static const size_t looks[] = {LOOK_FEW, LOOK_MANY};

	*ret = NULL;
	for (size_t i = 0; !*ret && i < 2; i++) {
		_autojson_ json_t *lines = NULL;
		uint64_t damaged;
		int r = history_last(m->state, file, looks[i], &lines, &damaged, e);
		const json_t *l = r < 0 ? NULL : line_before(m, lines);

		if (r < 0)
			return r;
		if (l)
			*ret = json_pack("{s:O, s:O}", "cov_before", json_object_get(l, "cov"),
					 "run_before", json_object_get(l, "run"));
		if (json_array_size(lines) < looks[i])
			break;
	}
	if (!*ret)
		*ret = json_pack("{s:n, s:n}", "cov_before", "run_before");
	return 0;
}

static int add_before(const struct model *m, json_t *target, struct err *e)
{
	_autofree_ char *file = NULL;
	_autojson_ json_t *before = NULL;
	struct err why;
	int r;

	if (history_target_name(json_get_text(target, "name"), &file, &why) < 0)
		return 0; /* not a valid target name */
	r = find_before(m, file, &before, e);
	if (r == 0)
		(void)json_object_update(target, before);
	return r;
}

/* --- crashes ----------------------------------------------------------------------- */

static json_t *crash_known(const struct model *m, const char *signature)
{
	for (size_t i = 0; i < json_array_size(m->crashes); i++) {
		json_t *c = json_array_get(m->crashes, i);

		if (strcmp(json_get_text(c, "signature"), signature) == 0)
			return c;
	}
	return NULL;
}

static json_t *new_crash(const struct model *m, const json_t *from, const char *signature)
{
	const struct known_crash *k = ledger_find(m->ledger, signature);
	json_t *c = json_pack(
	    "{s:s, s:s, s:s, s:s, s:i, s:[], s:b, s:s}", "signature", signature, "what",
	    json_get_text(from, "what"), "state", json_get_text(from, "state"), "state_now",
	    k ? ledger_state_name(k->state) : "", "count", 0, "targets", "security",
	    json_is_true(json_object_get(from, "security")), "issue_url", k ? k->issue_url : "");

	(void)json_array_append_new(m->crashes, c);
	return c;
}

static void report_model_add_crash(const struct model *m, const json_t *from, const char *target)
{
	const char *signature = json_get_text(from, "signature");
	json_t *c = crash_known(m, signature);
	json_int_t n = json_integer_value(json_object_get(from, "count"));

	if (!*signature || (!c && json_array_size(m->crashes) == CRASHES_MAX))
		return;
	if (!c)
		c = new_crash(m, from, signature);
	/* A crash that is new in one of its targets is new. */
	if (strcmp(json_get_text(from, "state"), ledger_state_name(LEDGER_NEW)) == 0)
		(void)json_object_set_new(c, "state", json_string(ledger_state_name(LEDGER_NEW)));
	(void)json_object_set_new(
	    c, "count",
	    json_integer(json_integer_value(json_object_get(c, "count")) + (n > 0 ? n : 0)));
	(void)json_array_append_new(json_object_get(c, "targets"), json_string(target));
}

/* Adds a crash that the ledger saw in a run without a summary, or that any run found fixed. */
static void report_model_add_entry(const struct model *m, const struct known_crash *k)
{
	bool first = strcmp(k->first_seen.run, m->id) == 0;
	bool fixed = k->state == LEDGER_FIXED && strcmp(k->fixed.run, m->id) == 0;
	uint64_t n = 0;

	for (size_t i = 0; i < k->n_runs; i++)
		if (strcmp(k->runs[i].run, m->id) == 0)
			n = k->runs[i].count;
	if (n == 0 && !fixed)
		return;
	_autojson_ json_t *from =
	    json_pack("{s:s, s:s, s:s, s:I, s:b}", "signature", k->signature, "what", k->crash_type,
		      "state", ledger_state_name(first ? LEDGER_NEW : k->state), "count",
		      (json_int_t)n, "security", k->security);

	report_model_add_crash(m, from, k->fuzzer);
}

static void report_model_add_seen(const struct model *m, const struct known_crash *k)
{
	if (*k->merged_into || crash_known(m, k->signature))
		return;
	for (size_t i = 0; i < k->n_by; i++)
		report_model_add_entry(m, k->by[i]);
}

static void report_model_add_crashes(const struct model *m)
{
	for (size_t i = 0; i < json_array_size(m->targets); i++) {
		const json_t *t = json_array_get(m->targets, i);
		const json_t *all = json_object_get(t, "crashes");

		for (size_t k = 0; k < json_array_size(all); k++)
			report_model_add_crash(m, json_array_get(all, k), json_get_text(t, "name"));
	}
	for (size_t i = 0; i < ledger_count(m->ledger); i++)
		report_model_add_seen(m, ledger_at(m->ledger, i));
}

/* --- what needs attention ------------------------------------------------------------ */

static void add_findings(const struct model *m, const json_t *target)
{
	struct health_target facts = {.stats = target};
	struct health h;

	health_judge(&facts, &h);
	for (size_t i = 0; i < h.n; i++) {
		if (h.v[i].severity <= HEALTH_OK)
			continue;
		(void)json_array_append_new(
		    m->findings, health_finding_json(&h.v[i], json_get_text(target, "name")));
	}
}

static int report_model_fill(const struct model *m, struct err *e)
{
	int r = report_model_read_run(m, e);

	for (size_t i = 0; r == 0 && i < json_array_size(m->targets); i++)
		r = add_before(m, json_array_get(m->targets, i), e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(m->targets); i++)
		add_findings(m, json_array_get(m->targets, i));
	report_model_add_crashes(m);
	return 0;
}

static bool report_model_is_run(const char *name)
{
	return fs_name_ok(slice_of(name)) && *name >= '0' && *name <= '9';
}

int report_model(const struct state *s, const struct ledger *l, const char *run, json_t **ret,
		 struct err *e)
{
	_autojson_ json_t *all = json_pack("{s:i, s:{}, s:[], s:[], s:[]}", "v", 1, "run",
					   "targets", "crashes", "findings");
	struct model m = {.state = s,
			  .ledger = l,
			  .id = run,
			  .run = json_object_get(all, "run"),
			  .targets = json_object_get(all, "targets"),
			  .crashes = json_object_get(all, "crashes"),
			  .findings = json_object_get(all, "findings")};
	_autofree_ char *path = xasprintf("logs/%s", run);
	_autoclose_ int fd = -1;
	int r = report_model_is_run(run) ? fs_open_dir(s->dirfd, path, &fd, e) : -ENOENT;
	if (r == -ENOENT)
		return err_set(e, ENOENT, "there is no such run");
	if (r == 0)
		r = report_model_fill(&m, e);
	if (r == 0)
		*ret = json_incref(all);
	return r;
}

int report_last_run(const struct state *s, char ret[64], struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, "logs");
	const struct dirent *ent;

	ret[0] = '\0';
	if (!d && errno != ENOENT)
		return err_sys(e, "open 'logs'");
	while (d && (ent = sys_readdir(d)))
		if (report_model_is_run(ent->d_name) && strlen(ent->d_name) < 64 &&
		    strcmp(ent->d_name, ret) > 0)
			snprintf(ret, 64, "%s", ent->d_name);
	return *ret ? 0 : err_set(e, ENOENT, "there was no run yet");
}
