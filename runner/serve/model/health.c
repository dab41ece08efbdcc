/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the health findings. */
#include "runner/status/health/health.h"
#include "base/cleanup.h"
#include "runner/serve/model/model.h"
#include "runner/status/survey/survey.h"

#include <string.h>

enum { SEVERITIES = HEALTH_SEVERITY_COUNT };

unsigned severity_rank(const char *severity)
{
	for (unsigned i = 1; i < SEVERITIES; i++)
		if (strcmp(severity, severity_name(i)) == 0)
			return i;
	return 0;
}

const char *severity_name(unsigned rank)
{
	return health_severity_name(rank < SEVERITIES ? (enum health_severity)rank : HEALTH_OK);
}

const char *findings_severity(const json_t *findings)
{
	unsigned worst = 0;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		unsigned rank = severity_rank(get_text(json_array_get(findings, i), "severity"));

		if (rank > worst)
			worst = rank;
	}
	return severity_name(worst);
}

/* The findings, each with a link to its target's page if it has a target. */
static json_t *model_health_findings(const struct health *h, const char *target)
{
	json_t *all = json_array();

	for (size_t i = 0; i < h->n; i++) {
		json_t *m = health_finding_json(&h->v[i], target);

		if (target)
			make_href(m, "href", "targets/", target, ".html");
		json_array_append_new(all, m);
	}
	return all;
}

void target_findings(struct model_base *b, const char *name, struct model_target *t)
{
	const json_t *known = json_object_get(b->fuzzed, name);
	const struct health_target facts = {.stats = t->now,
					    .now = site_now(b->site),
					    .fuzzed = get_count(known, "fuzzed"),
					    .first = get_count(known, "first"),
					    .grown = get_count(known, "grown"),
					    .waited = !t->live && get_count(known, "turn") <
								      get_count(known, "seen"),
					    .silent_s = b->site->limits.silent_s,
					    .damaged = *t->damaged ? t->damaged : NULL};
	struct health h;

	survey_untriaged(b->site->state, name, t->now);
	health_judge(&facts, &h);
	t->known = h.known;
	t->findings = model_health_findings(&h, name);
}

json_t *service_findings(struct model_base *b)
{
	const struct serve_limits *l = &b->site->limits;
	const struct survey_opts o = {.now = site_now(b->site),
				      .late_s = l->late_s,
				      .disk_reserve = l->disk_reserve,
				      .is_destination = l->is_destination,
				      .arg = l->arg,
				      .ledger = b->ledger,
				      .boot = *b->site->boot.boot ? &b->site->boot : NULL};
	struct survey facts = {0};
	struct health h;

	survey_service(b->site->state, &o, &facts);
	health_judge_service(&facts.service, &h);
	survey_done(&facts);
	return model_health_findings(&h, NULL);
}

/* --- all targets ---------------------------------------------------------------- */

static int one_target(struct model_base *b, const char *name, json_t **ret, struct err *e)
{
	_autotarget_ struct model_target t = {0};
	int r = target_facts(b, name, 1, &t, e);

	if (r == 0)
		*ret =
		    json_pack("{s:o, s:O, s:O?, s:O?}", "row", row_target(b, name, &t), "findings",
			      t.findings, "failures", json_object_get(t.now, "failures"),
			      "strategies", json_object_get(t.now, "strategies"));
	return r;
}

/* True if the target has had no data for so long, compared with the others, that it counts as
 * gone. */
static bool gone(const struct model_base *b, const json_t *one, uint64_t newest)
{
	const json_t *row = json_object_get(one, "row");
	const json_t *known = json_object_get(b->fuzzed, get_text(row, "name"));
	uint64_t ended = get_time(row, "ended"), seen = get_count(known, "seen");

	if (seen > ended) /* it only waited since then */
		ended = seen;
	return !json_is_true(json_object_get(row, "live")) && ended && ended + SITE_GONE_S < newest;
}

int all_targets(struct model_base *b, json_t **ret, struct err *e)
{
	_autojson_ json_t *names = NULL, *all = json_array();
	uint64_t newest = 0;
	int r;

	*ret = json_incref(b->site->snapshot.targets);
	if (*ret)
		return 0;
	r = site_targets(b->site, &names, e);
	for (size_t i = 0; r == 0 && i < json_array_size(names); i++) {
		json_t *one;
		uint64_t ended;

		r = one_target(b, json_string_value(json_array_get(names, i)), &one, e);
		if (r < 0)
			return r;
		json_array_append_new(all, one);
		ended = get_time(json_object_get(one, "row"), "ended");
		newest = ended > newest ? ended : newest;
	}
	if (r < 0)
		return r;
	for (size_t i = json_array_size(all); i-- > 0;)
		if (gone(b, json_array_get(all, i), newest))
			(void)json_array_remove(all, i);
	if (b->site->snapshot.on)
		b->site->snapshot.targets = json_incref(all);
	*ret = json_incref(all);
	return 0;
}

/* --- the page ---------------------------------------------------------------------- */

static const char *model_health_severity_of(const json_t *one)
{
	return findings_severity(json_object_get(one, "findings"));
}

static bool model_health_is_known(const json_t *one)
{
	const json_t *health = json_object_get(json_object_get(one, "row"), "health");

	return json_is_true(json_object_get(health, "known"));
}

static json_t *page_entry(const json_t *one)
{
	static const struct copy keys[] = {{"name", COPY_TEXT}, {"href", COPY_TEXT}};
	_autojson_ json_t *m = json_object();

	make_copy(m, json_object_get(one, "row"), keys, 2);
	make_text(m, "severity", model_health_severity_of(one));
	make_set(m, "known", json_boolean(model_health_is_known(one)));
	make_set(m, "findings", json_incref(json_object_get(one, "findings")));
	return take_ptr(&m);
}

/* Sorts by severity, worst first; equal ones keep their order. */
static json_t *by_severity(const json_t *all)
{
	json_t *sorted = json_array();

	for (unsigned rank = SEVERITIES; rank-- > 0;)
		for (size_t i = 0; i < json_array_size(all); i++) {
			const json_t *one = json_array_get(all, i);

			if (severity_rank(model_health_severity_of(one)) == rank)
				json_array_append_new(sorted, page_entry(one));
		}
	return sorted;
}

json_t *severity_counts(const json_t *all, unsigned *ret_worst)
{
	uint64_t n[SEVERITIES] = {0}, unknown = 0;
	_autojson_ json_t *m = json_object();

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);

		if (model_health_is_known(one))
			n[severity_rank(model_health_severity_of(one))]++;
		else
			unknown++;
	}
	for (unsigned i = 0; i < SEVERITIES; i++) {
		make_number(m, severity_name(i), n[i]);
		if (n[i])
			*ret_worst = i;
	}
	make_number(m, "unknown", unknown);
	return take_ptr(&m);
}

int model_health(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autojson_ json_t *all = NULL, *service = NULL;
	_autojson_ json_t *m = json_object();
	unsigned worst = 0, service_rank;
	json_t *counts;
	int r = base_load(s, &b, e);

	(void)name;
	if (r == 0)
		r = model_begin(s, m, e);
	if (r == 0)
		r = all_targets(&b, &all, e);
	if (r < 0)
		return r;
	service = service_findings(&b);
	counts = severity_counts(all, &worst);
	service_rank = severity_rank(findings_severity(service));
	make_text(m, "severity", severity_name(service_rank > worst ? service_rank : worst));
	make_set(m, "counts", counts);
	make_set(m, "service", json_incref(service));
	make_set(m, "targets", by_severity(all));
	make_number(m, "total", json_array_size(all));
	*ret = take_ptr(&m);
	return 0;
}
