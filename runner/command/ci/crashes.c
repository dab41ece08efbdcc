/* SPDX-License-Identifier: Apache-2.0 */
/* The crashes that a change has to do with. */
#include "runner/command/ci/internal.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/command/common/answer.h"
#include "runner/crash/report/report.h"
#include "runner/crash/vault.h"
#include "runner/publish/render/source_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_SHOWN = 20 };

const char *ci_status_name(enum ci_status s)
{
	static const char *const names[CI_STATUS_COUNT] = {"new", "old", "fixed", "unconfirmed"};

	return s < CI_STATUS_COUNT ? names[s] : "";
}

static const struct ci_target *target_of(const struct ci *a, const struct known_crash *entry)
{
	const char *name = *entry->build_of ? entry->build_of : entry->fuzzer;

	for (size_t i = 0; i < a->n_targets; i++)
		if (strcmp(a->targets[i].name, name) == 0)
			return &a->targets[i];
	return NULL;
}

static bool was_open(const struct known_crash *before)
{
	return before && ledger_state_open(before->state);
}

/* False: the crash has nothing to do with this change. */
static bool judge(const struct ci *a, const struct known_crash *entry,
		  const struct known_crash *before, struct ci_crash *ret)
{
	bool seen = entry->last_seen.time >= a->began_s;
	bool hits = entry->reproduction.hits > 0 || entry->reproduction.tries == 0;

	if (entry->state == LEDGER_IGNORED)
		return false;
	if (entry->state == LEDGER_FIXED) {
		ret->status = CI_FIXED;
		return was_open(before) && entry->fixed.time >= a->began_s;
	}
	ret->recheck = !seen && was_open(before) && entry->reproduction.hits > 0;
	if (!seen && !ret->recheck)
		return false;
	ret->status = was_open(before) ? CI_OLD : hits ? CI_NEW : CI_UNCONFIRMED;
	/* Also what was known before: an earlier run of this job may have found it. */
	ret->check =
	    ret->status == CI_NEW || (ret->status == CI_OLD && entry->reproduction.hits > 0);
	if (was_open(before))
		snprintf(ret->base, sizeof(ret->base), "known before");
	return true;
}

/* One entry for each target and crash; of several builds of a target, the first. */
static void collect_crash(struct ci *a, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *e = c->by[i];
		const struct known_crash *was =
		    ledger_find_entry(a->before, c->signature, e->fuzzer);
		struct ci_crash found = {.crash = c, .entry = e};

		const struct ci_target *t = target_of(a, e);

		if (!t || ledger_is_further(c, i) || !judge(a, e, was, &found))
			continue;
		if (found.recheck && !t->fuzz && !t->touched)
			continue; /* the change has nothing to do with it */
		a->crashes = xreallocarray(a->crashes, a->n_crashes + 1, sizeof(*a->crashes));
		a->crashes[a->n_crashes++] = found;
	}
}

void ci_collect(struct ci *a)
{
	for (size_t i = 0; i < ledger_count(a->after); i++) {
		const struct known_crash *c = ledger_at(a->after, i);

		if (ledger_find(a->after, c->signature) == c)
			collect_crash(a, c);
	}
}

/* --- as JSON ------------------------------------------------------------------ */

static json_t *frames_json(const struct crash_report *r, const struct sources *s, json_t *crash)
{
	json_t *all = json_array();
	char path[SOURCE_PATH_MAX];

	for (size_t i = 0; i < r->n_frames && i < FRAMES_SHOWN; i++) {
		const struct crash_frame *f = &r->frames[i];
		bool ours = *f->file && source_path(s, f->file, path);

		(void)json_array_append_new(
		    all, json_pack("{s:o, s:o, s:I}", "function", answer_text(f->function), "path",
				   answer_text(ours ? path : ""), "line",
				   (json_int_t)(f->line < INT32_MAX ? f->line : 0)));
		if (!ours || json_object_get(crash, "path"))
			continue;
		(void)json_object_set_new(crash, "path", answer_text(path));
		(void)json_object_set_new(
		    crash, "line", json_integer((json_int_t)(f->line < INT32_MAX ? f->line : 0)));
	}
	return all;
}

/* The headline and the stack of its report.txt. */
static void add_report(const struct ci *a, const struct known_crash *e, json_t *io)
{
	struct crash_options o = {.target = e->fuzzer};
	_autofree_ char *text = NULL;
	struct crash_report r;
	struct sources s;
	struct err ignored;
	size_t n;

	if (vault_read(a->session.state->dirfd, slice_of(e->signature), e->fuzzer, VAULT_REPORT,
		       &text, &n, &ignored) < 0)
		return;
	crash_parse((struct slice){text, n}, &o, &r);
	sources_open(a->session.common.config, &s);
	(void)json_object_set_new(io, "headline", answer_text(r.headline));
	(void)json_object_set_new(io, "frames", frames_json(&r, &s, io));
	sources_close(&s);
	crash_report_done(&r);
}

json_t *ci_crash_json(const struct ci *a, const struct ci_crash *c)
{
	const struct known_crash *e = c->entry;
	_autofree_ char *type = xstrdup(e->crash_type);
	json_t *j;

	for (char *p = type; *p; p++)
		if (*p == '\n')
			*p = ' ';
	j = json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:I, s:o, s:o}", "status",
		      ci_status_name(c->status), "signature", answer_text(c->crash->signature),
		      "target", answer_text(e->fuzzer), "type", answer_text(type), "severity",
		      answer_text(e->severity), "security", e->security, "base",
		      answer_text(c->base), "hits", (json_int_t)e->reproduction.hits, "tries",
		      (json_int_t)e->reproduction.tries, "input",
		      answer_text(*e->minimized ? e->minimized : e->crash_file), "headline",
		      answer_text(type));
	add_report(a, e, j);
	return j;
}
