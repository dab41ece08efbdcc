/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzcell doctor: reports problems of the machine, the service and the targets, with remedies. */
#include "runner/command/doctor/doctor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "runner/command/common/answer.h"
#include "runner/control/client.h"
#include "runner/publish/notify.h"
#include "runner/status/color.h"
#include "runner/status/survey/survey.h"
#include "runner/targets/build/build.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- as text -------------------------------------------------------------- */

static void print_member(const char *before, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	char shown[ESCAPE_MAX];

	printf("%s%s", before, escape(text ? text : "", shown));
}

static void print_severity(const char *before, const json_t *o)
{
	const char *text = json_get_text(o, "severity");
	char shown[ESCAPE_MAX];

	fputs(before, stdout);
	color_print(color_of_severity(text), escape(text, shown));
}

/* Advice is our own text and may have several lines. */
static void print_advice(const json_t *f)
{
	struct slice in = slice_of(""), line;
	const char *text = json_string_value(json_object_get(f, "advice"));
	bool first = true;

	if (text)
		in = slice_of(text);
	while (scan_line(&in, &line)) {
		char cut[ESCAPE_MAX], shown[ESCAPE_MAX];

		snprintf(cut, sizeof(cut), "%.*s", (int)line.n, line.p);
		printf("      %s %s\n", first ? "->" : "  ", escape(cut, shown));
		first = false;
	}
}

/* From this number of targets on, waiting for a CPU is reported once: an oversubscribed machine is
 * one cause. */
enum { WAIT_TOGETHER = 4 };

static bool is_wait(const json_t *finding)
{
	return strcmp(json_get_text(finding, "code"), "starved") == 0 &&
	       strcmp(json_get_text(finding, "severity"), "note") == 0;
}

/* Returns the number of targets with such a note. *ret_one: one of the notes. */
static size_t count_waits(const json_t *targets, const json_t **ret_one)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *all = json_object_get(json_array_get(targets, i), "findings");

		for (size_t k = 0; k < json_array_size(all); k++)
			if (is_wait(json_array_get(all, k))) {
				*ret_one = json_array_get(all, k);
				n++;
			}
	}
	return n;
}

static void print_findings(const json_t *findings, bool without_waits)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *f = json_array_get(findings, i);

		if (without_waits && is_wait(f))
			continue;
		print_severity("  ", f);
		print_member(" ", f, "code");
		print_member(": ", f, "reason");
		putchar('\n');
		if (strcmp(json_string_value(json_object_get(f, "severity")), "ok") != 0)
			print_advice(f);
	}
}

static void print_part(const json_t *all, const char *name)
{
	const json_t *part = json_object_get(all, name);

	printf("%s: ", name);
	print_severity("", part);
	if (json_object_get(part, "is"))
		print_member("\n  ", part, "is");
	putchar('\n');
	print_findings(json_object_get(part, "findings"), false);
}

/* While a run is active, a target's results are unknown until its turn ends. */
static const char *unknown_text(bool live)
{
	return live ? "nothing is known yet: a run is active (fuzzcell status)"
		    : "nothing is known: it was not fuzzed yet";
}

static const char *verdict_text(const json_t *target, bool live)
{
	const char *severity = json_string_value(json_object_get(target, "severity"));

	if (!json_is_true(json_object_get(target, "known")))
		return unknown_text(live);
	return !severity || strcmp(severity, "ok") == 0 ? "healthy" : severity;
}

void doctor_print(const json_t *all)
{
	const json_t *targets = json_object_get(all, "targets");
	bool live = json_is_true(json_object_get(all, "live"));
	const json_t *one = NULL;
	size_t waits = count_waits(targets, &one);

	print_part(all, "machine");
	print_part(all, "service");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);

		print_member("", t, "name");
		printf(": ");
		color_print(color_of_severity(verdict_text(t, live)), verdict_text(t, live));
		putchar('\n');
		print_findings(json_object_get(t, "findings"), waits >= WAIT_TOGETHER);
	}
	if (waits >= WAIT_TOGETHER) {
		printf("%zu targets: note\n  note starved: each waited for a CPU for much of its "
		       "time\n",
		       waits);
		print_advice(one);
	}
	if (json_array_size(targets) == 0)
		puts(live ? "no targets are known yet: the first run is active (fuzzcell status)"
			  : "no targets are known: nothing was fuzzed yet");
}

/* --- findings ------------------------------------------------------------- */

enum { GONE_S = 30 * 86400, IS_MAX = 4096 };
#define LIVE_US (2 * USEC_PER_SEC)

struct doctor {
	struct session session;
	bool json;
	char **names; /* names of the targets on the command line */
	int n_names;
	bool listed; /* discovery succeeded, so the targets are known */
	struct survey_opts opts;
	struct survey survey;
	json_t *live;	/* the answer of an active run, or NULL */
	json_t *report; /* {"machine": ..., "service": ..., "targets": [...]} */
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct doctor, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct doctor, json)},
    COLOR_OPTION,
};

void doctor_add(json_t *all, const char *code, enum health_severity s, const char *reason,
		const char *advice)
{
	(void)json_array_append_new(all,
				    json_pack("{s:n, s:s, s:s, s:o, s:o}", "target", "code", code,
					      "severity", health_severity_name(s), "reason",
					      answer_text(reason), "advice", answer_text(advice)));
}

static enum health_severity doctor_severity_of(const json_t *part)
{
	const char *name = json_string_value(json_object_get(part, "severity"));
	unsigned s = HEALTH_SEVERITY_COUNT;

	while (s-- > 0)
		if (name && strcmp(name, health_severity_name(s)) == 0)
			return s;
	return HEALTH_OK;
}

static enum health_severity worst_of(const json_t *list)
{
	enum health_severity worst = HEALTH_OK;

	for (size_t i = 0; i < json_array_size(list); i++) {
		enum health_severity s = doctor_severity_of(json_array_get(list, i));

		worst = s > worst ? s : worst;
	}
	return worst;
}

/* --- machine and service ----------------------------------------------------------- */

static int add_machine(struct doctor *d, struct err *e)
{
	_autojson_ json_t *findings = json_array();
	_autobuf_ struct buf is = BUF_INIT(IS_MAX);
	int r = doctor_machine(&d->session, findings, &is, e);

	if (r < 0)
		return r;
	(void)json_object_set_new(d->report, "machine",
				  json_pack("{s:s, s:o, s:O}", "severity",
					    health_severity_name(worst_of(findings)), "is",
					    answer_text(buf_str(&is)), "findings", findings));
	return 0;
}

static void add_service(struct doctor *d)
{
	struct health h;

	health_judge_service(&d->survey.service, &h);
	(void)json_object_set_new(d->report, "service", health_json(&h, NULL));
}

/* Finds names in the configuration that match no target. */
static void find_unknown(struct doctor *d)
{
	const struct target_list *l = &d->session.common.targets;
	size_t n;
	_autofree_ const char **names = common_target_names(l, &n);
	struct health_service *s = &d->survey.service;
	const char *glob;
	size_t next = 0;

	while (d->listed && l->n > 0 &&
	       (glob = config_unused_glob(d->session.common.config, names, n, &next)))
		if (s->unknown_n++ == 0)
			s->unknown = glob;
}

/* --- targets ------------------------------------------------------------------------ */

static bool doctor_is_wanted(const struct doctor *d, const char *name)
{
	const char *filter = d->session.common.filter;

	if (filter && fnmatch(filter, name, 0) != 0)
		return false;
	for (int i = 0; i < d->n_names; i++)
		if (strcmp(d->names[i], name) == 0)
			return true;
	return d->n_names == 0;
}

static bool doctor_is_planned(const struct doctor *d, const struct target *t)
{
	for (size_t i = 0; i < d->session.plan.n; i++)
		if (d->session.plan.v[i].target == t)
			return true;
	return false;
}

/* Adds the targets that no run has fuzzed. */
static void add_unseen(struct doctor *d)
{
	const struct target_list *l = &d->session.common.targets;

	for (size_t i = 0; i < l->n; i++)
		if (!survey_find(&d->survey, l->v[i].name))
			survey_add(&d->survey, &d->opts, l->v[i].name);
}

static const json_t *live_stats(const struct doctor *d, const char *name)
{
	const json_t *all = json_object_get(d->live, "targets");

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *t = json_array_get(all, i);
		const char *is = json_string_value(json_object_get(t, "name"));

		if (is && strcmp(is, name) == 0 &&
		    (json_is_true(json_object_get(t, "fuzzed")) ||
		     json_is_true(json_object_get(t, "done"))))
			return t;
	}
	return NULL;
}

static void doctor_add_target(struct doctor *d, const struct survey_target *t, json_t *all)
{
	struct health_target facts = t->facts;
	const struct target *found = common_target(&d->session.common.targets, t->name);
	const json_t *live = live_stats(d, t->name);
	struct health h;
	json_t *j;

	if (!doctor_is_wanted(d, t->name) || (found && !doctor_is_planned(d, found)) ||
	    (d->listed && !found && d->opts.now > t->seen + GONE_S))
		return;
	if (d->listed)
		facts.found = found ? HEALTH_YES : HEALTH_NO;
	if (found)
		facts.built = found->unbuilt ? HEALTH_NO : HEALTH_YES;
	if (live) {
		facts.stats = live;
		facts.waited = false;
	}
	health_judge(&facts, &h);
	j = health_json(&h, t->name);
	(void)json_object_set_new(j, "name", answer_text(t->name));
	(void)json_array_append_new(all, j);
}

/* Sorts the worst targets first. */
static void doctor_add_targets(struct doctor *d)
{
	_autojson_ json_t *all = json_array(), *sorted = json_array();

	add_unseen(d);
	for (size_t i = 0; i < d->survey.n; i++)
		doctor_add_target(d, &d->survey.v[i], all);
	for (unsigned s = HEALTH_SEVERITY_COUNT; s-- > 0;)
		for (size_t i = 0; i < json_array_size(all); i++)
			if (doctor_severity_of(json_array_get(all, i)) == s)
				(void)json_array_append(sorted, json_array_get(all, i));
	(void)json_object_set(d->report, "targets", sorted);
}

/* --- all of it ----------------------------------------------------------------------- */

static bool doctor_is_destination(void *arg, const char *place)
{
	return notify_has_place(arg, place);
}

/* Adds a failed discovery, which was printed, to the report, too. */
static void add_unlisted(struct doctor *d, int status)
{
	json_t *service = json_object_get(d->report, "service");

	if (status == EXIT_DONE)
		return;
	(void)json_object_set_new(service, "severity", json_string("error"));
	doctor_add(json_object_get(service, "findings"), "discovery", HEALTH_ERROR,
		   "the targets could not be found", "fuzzcell list says why");
}

/* Reports the builds that run as root, and those that no user may run. */
static void add_builds(struct doctor *d)
{
	json_t *service = json_object_get(d->report, "service");
	json_t *all = json_object_get(service, "findings");
	size_t n;
	const struct config_source *v = config_sources(d->session.common.config, &n);

	for (size_t i = 0; i < n; i++) {
		char reason[ESCAPE_MAX], text[ESCAPE_MAX + 40];
		bool root = false;
		struct err why;
		bool asked = build_wanted(&v[i]) && !build_is_again(&v[i]);
		int x = asked ? build_check(&v[i], &root, &why) : 0;

		if (x == -EPERM)
			doctor_add(all, "build-refused", HEALTH_ERROR, escape(why.msg, reason),
				   "chown, or \"build_as_root\": true (docs/discovery.md)");
		if (x != 0 || !root)
			continue;
		(void)snprintf(text, sizeof(text), "the build of %s runs as root",
			       escape(v[i].path, reason));
		doctor_add(all, "build-as-root", HEALTH_WARNING, text,
			   "give the tree to a user of its own (chown -R), and remove "
			   "\"build_as_root\"");
	}
	(void)json_object_set_new(service, "severity",
				  json_string(health_severity_name(worst_of(all))));
}

static int examine(struct doctor *d, int listing, struct err *e)
{
	const struct state *state = d->session.state; /* NULL: there was no run yet */
	int r = state ? survey_read(state, &d->opts, &d->survey, e) : 0;
	struct err none;

	if (r < 0)
		return r;
	if (state && control_status(state->dirfd, LIVE_US, &d->live, &none) < 0)
		d->live = NULL; /* no run is active, or it does not answer */
	find_unknown(d);
	(void)json_object_set_new(d->report, "live", json_boolean(d->live != NULL));
	r = add_machine(d, e);
	if (r < 0)
		return r;
	add_service(d);
	add_builds(d);
	add_unlisted(d, listing);
	doctor_add_targets(d);
	return 0;
}

static int doctor_check_names(const struct doctor *d)
{
	const json_t *targets = json_object_get(d->report, "targets");

	for (int i = 0; i < d->n_names; i++) {
		bool known = false;

		for (size_t k = 0; k < json_array_size(targets); k++)
			known |= strcmp(json_string_value(
					    json_object_get(json_array_get(targets, k), "name")),
					d->names[i]) == 0;
		if (!known)
			return fail(EXIT_USAGE, "doctor: no target is called '%s' (fuzzcell list)",
				    d->names[i]);
	}
	return EXIT_DONE;
}

static int doctor_print_report(const struct doctor *d)
{
	if (d->json)
		return answer_print(d->report);
	doctor_print(d->report);
	return EXIT_DONE;
}

static int doctor_verdict(const struct doctor *d)
{
	if (doctor_severity_of(json_object_get(d->report, "machine")) == HEALTH_ERROR ||
	    doctor_severity_of(json_object_get(d->report, "service")) == HEALTH_ERROR)
		return EXIT_MACHINE;
	return worst_of(json_object_get(d->report, "targets")) == HEALTH_ERROR ? EXIT_NOT_FUZZED
									       : EXIT_DONE;
}

static int doctor(struct doctor *d)
{
	const struct config *c = d->session.common.config;
	size_t sources;
	struct err e;
	int r, listing = EXIT_DONE;

	d->opts = (struct survey_opts){
	    .now = clock_real_us() / USEC_PER_SEC,
	    .silent_s = config_outbox(c)->silent_us / USEC_PER_SEC,
	    .late_s = config_outbox(c)->alarm_us / USEC_PER_SEC,
	    .disk_reserve = config_run(c)->disk_reserve,
	    .is_destination = doctor_is_destination,
	    .arg = d->session.common.config,
	};
	(void)config_sources(c, &sources);
	if (sources > 0 || d->session.common.targets_dir) {
		listing = session_find(&d->session);
		d->listed = listing == EXIT_DONE;
	}
	d->report = json_pack("{s:i}", "v", 1);
	if (examine(d, listing, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	r = doctor_check_names(d);
	if (r == EXIT_DONE)
		r = doctor_print_report(d);
	return r == EXIT_DONE ? doctor_verdict(d) : r;
}

int command_doctor(int argc, char **argv)
{
	struct doctor d = {0};
	int at = options_parse(argc, argv, "doctor [OPTION]... [TARGET]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &d);
	int r;

	if (at < 0)
		return -1 - at;
	d.names = argv + at;
	d.n_names = argc - at;
	r = session_load(&d.session);
	if (r == EXIT_DONE)
		r = session_read_any(&d.session);
	if (r == EXIT_DONE)
		r = doctor(&d);
	survey_done(&d.survey);
	json_decref(d.live);
	json_decref(d.report);
	session_close(&d.session);
	return r;
}
