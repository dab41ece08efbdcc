/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the overview. */
#include "runner/coverage/shelf.h"
#include "runner/rounds/past.h"
#include "runner/serve/model/model.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/publish/outbox/outbox.h"

#include <errno.h>
#include <string.h>

DEFINE_CLEANUP(struct outbox *, outbox_close)

json_t *outbox_part(struct serve_site *s)
{
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	_autojson_ json_t *m = json_object();
	uint64_t oldest = 0;
	struct err why;

	/* An outbox that is damaged or not accessible is a finding of `fuzzcell doctor`.  The
	 * page is still shown. */
	if (outbox_read(s->state->dirfd, &o, &why) < 0)
		return json_null();
	for (size_t i = 0; i < outbox_count(o); i++) {
		uint64_t t = outbox_at(o, i)->created;

		if (!oldest || t < oldest)
			oldest = t;
	}
	make_number(m, "pending", outbox_count(o));
	make_time(m, "oldest", oldest);
	return take_ptr(&m);
}

/* The newest round of shards; null: there was none. */
static json_t *round_part(struct serve_site *s)
{
	struct past_round r;
	struct err ignored;
	json_t *m;

	if (past_newest(s->state, &r, &ignored) < 0 || r.round == 0)
		return json_null();
	m = row_round(&r);
	past_round_done(&r);
	return m;
}

enum { FINDINGS_SHOWN = 20 };

static json_t *model_overview_part(const json_t *one, const char *key)
{
	return json_object_get(one, key);
}

static unsigned rank_of(const json_t *one)
{
	return severity_rank(findings_severity(model_overview_part(one, "findings")));
}

/* At most max rows, by name; if there are more targets, those with the worst health. */
static json_t *target_rows(const json_t *all, size_t max)
{
	json_t *rows = json_array();
	size_t n = json_array_size(all), room = max;
	_autofree_ bool *shown = xcalloc(n + 1, sizeof(*shown));

	for (unsigned rank = 4; rank-- > 0;)
		for (size_t i = 0; i < n && room > 0; i++)
			if (rank_of(json_array_get(all, i)) == rank) {
				shown[i] = true;
				room--;
			}
	for (size_t i = 0; i < n; i++)
		if (shown[i])
			json_array_append(rows, model_overview_part(json_array_get(all, i), "row"));
	return rows;
}

/* All findings, worst first; among equals, those of the service come first. */
static json_t *worst_findings(const json_t *all, json_t *service, size_t *ret_total)
{
	_autojson_ json_t *everything = json_array();
	json_t *worst = json_array();

	json_array_extend(everything, service);
	for (size_t i = 0; i < json_array_size(all); i++)
		json_array_extend(everything,
				  model_overview_part(json_array_get(all, i), "findings"));
	for (unsigned rank = 4; rank-- > 0;)
		for (size_t i = 0; i < json_array_size(everything); i++) {
			json_t *f = json_array_get(everything, i);

			if (json_array_size(worst) < FINDINGS_SHOWN &&
			    severity_rank(get_text(f, "severity")) == rank)
				json_array_append(worst, f);
		}
	*ret_total = json_array_size(everything);
	return worst;
}

static void health_part(const json_t *all, json_t *service, json_t *m)
{
	unsigned worst = 0, rank = severity_rank(findings_severity(service));
	json_t *counts = severity_counts(all, &worst), *findings, *j;
	size_t total;

	findings = worst_findings(all, service, &total);
	j = json_pack("{s:s, s:o, s:o, s:I}", "severity",
		      severity_name(rank > worst ? rank : worst), "counts", counts, "findings",
		      findings, "total", (json_int_t)total);
	make_set(m, "health", j);
}

static int targets_part(struct model_base *b, json_t *m, struct err *e)
{
	_autojson_ json_t *all = NULL, *service = NULL;
	int r = all_targets(b, &all, e);

	if (r < 0)
		return r;
	service = service_findings(b);
	health_part(all, service, m);
	make_set(m, "coverage", coverage_part(b->site, SHELF_ALL));
	make_set(m, "targets", target_rows(all, MODEL_TARGETS));
	make_number(m, "targets_total", json_array_size(all));
	return 0;
}

static int model_overview_runs_part(struct serve_site *s, json_t *m, struct err *e)
{
	uint64_t damaged, total = 0;
	json_t *live = row_live(s), *rows = NULL;
	int r;

	make_set(m, "live", live ? live : json_null());
	r = rows_runs(s, MODEL_NEWEST, &rows, &damaged, e);
	if (r < 0)
		return r;
	r = runs_total(s, rows, damaged, &total, e);
	make_number(m, "runs_total", total);
	make_set(m, "runs", rows);
	return r;
}

static int crashes_part(struct model_base *b, json_t *m, size_t n, const char *total_key,
			const char *counts_key, struct err *e)
{
	json_t *rows = NULL;
	size_t total = 0;
	int r = rows_crashes(b->ledger, NULL, n, &rows, &total, e);

	if (r < 0)
		return r;
	make_set(m, "crashes", rows);
	make_number(m, total_key, total);
	make_set(m, counts_key, crash_counts(b->ledger));
	return 0;
}

int model_overview(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	(void)name;
	if (r == 0)
		r = model_begin(s, m, e);
	make_text(m, "version", FUZZCELL_VERSION);
	if (r == 0)
		r = model_overview_runs_part(s, m, e);
	if (r == 0)
		r = targets_part(&b, m, e);
	if (r == 0)
		r = crashes_part(&b, m, MODEL_NEWEST, "crashes_total", "crash_counts", e);
	if (r < 0)
		return r;
	make_set(m, "outbox", outbox_part(s));
	make_set(m, "round", round_part(s));
	*ret = take_ptr(&m);
	return 0;
}

int model_targets(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autojson_ json_t *all = NULL;
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	(void)name;
	if (r == 0)
		r = model_begin(s, m, e);
	if (r == 0)
		r = all_targets(&b, &all, e);
	if (r < 0)
		return r;
	make_set(m, "targets", target_rows(all, SITE_TARGETS_MAX));
	make_number(m, "total", json_array_size(all));
	*ret = take_ptr(&m);
	return 0;
}

size_t target_pages(size_t targets)
{
	return targets ? (targets + MODEL_PAGE - 1) / MODEL_PAGE : 1;
}

/* The number of a page; "" is 1.  0: not a number in our format. */
static size_t page_number_of(const char *name)
{
	struct slice in = slice_of(name);
	uint64_t n = 0;

	if (!*name)
		return 1;
	if (*name == '0' || !scan_u64(&in, 10, SITE_TARGETS_MAX, &n) || in.n > 0)
		return 0;
	return n > 1 ? (size_t)n : 0;
}

static json_t *page_rows(const json_t *all, size_t page)
{
	json_t *rows = json_array();
	size_t from = (page - 1) * MODEL_PAGE, n = json_array_size(all);

	for (size_t i = from; i < n && i < from + MODEL_PAGE; i++)
		json_array_append(rows, model_overview_part(json_array_get(all, i), "row"));
	return rows;
}

int model_targets_page(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autojson_ json_t *all = NULL;
	_autojson_ json_t *m = json_object();
	size_t page = page_number_of(name), pages;
	int r = page ? base_load(s, &b, e) : err_set(e, ENOENT, "no such page");

	if (r == 0)
		r = model_begin(s, m, e);
	if (r == 0)
		r = all_targets(&b, &all, e);
	pages = target_pages(json_array_size(all));
	if (r == 0 && page > pages)
		r = err_set(e, ENOENT, "no such page");
	if (r < 0)
		return r;
	make_set(m, "targets", page_rows(all, page));
	make_number(m, "total", json_array_size(all));
	make_number(m, "page", page);
	make_number(m, "pages", pages);
	*ret = take_ptr(&m);
	return 0;
}

int model_crashes(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	(void)name;
	if (r == 0)
		r = model_begin(s, m, e);
	if (r == 0)
		r = crashes_part(&b, m, MODEL_CRASHES, "total", "counts", e);
	if (r == 0)
		*ret = take_ptr(&m);
	return r;
}
