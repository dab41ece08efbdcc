/* SPDX-License-Identifier: Apache-2.0 */
/* What replays and people say of a crash. */
#include "runner/crash/ledger_internal.h"

#include <errno.h>
#include <stdio.h>

void ledger_add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum) || *sum > INT64_MAX)
		*sum = INT64_MAX;
}

int ledger_set_seen(struct ledger_seen *seen, uint64_t time, const char *commit, const char *run,
		    struct err *e)
{
	int r = ledger_set(&seen->commit, commit, LEDGER_TEXT_MAX, false, e);

	if (r == 0)
		r = ledger_set(&seen->run, run, LEDGER_TEXT_MAX, false, e);
	if (r == 0)
		seen->time = time > INT64_MAX ? INT64_MAX : time;
	return r;
}

void ledger_unpass(struct known_crash *c)
{
	c->reproduction.clean = c->reproduction.clean_minimized = 0;
	ledger_list_done(&c->reproduction.clean_others);
	ledger_unset(&c->reproduction.clean_commit);
}

static struct known_crash *find(const struct ledger *l, const char *signature, struct err *e)
{
	struct record *n = ledger_head(l, signature);

	if (n)
		return &n->c;
	(void)err_set(e, ENOENT, "no crash '%.100s'", signature);
	return NULL;
}

static void changed(struct ledger *l, const char *signature)
{
	ledger_head(l, signature)->copy = true;
	l->dirty = true;
}

int ledger_minimized(struct ledger *l, const char *signature, const char *path, uint64_t bytes,
		     struct err *e)
{
	struct record *n = ledger_head(l, signature);
	struct known_crash *c = find(l, signature, e);
	int r;

	if (!c)
		return -e->code;
	r = ledger_set(&c->minimized, path, LEDGER_TEXT_MAX, false, e);
	if (r < 0)
		return r;
	c->minimized_bytes = bytes;
	ledger_unset(&c->minimized_sha1);
	n->adopt[LEDGER_MINIMIZED] = true;
	c->reproduction.clean_minimized = 0;
	ledger_list_done(&c->reproduction.clean_others);
	changed(l, signature);
	return 0;
}

/* --- passes ---------------------------------------------------------------- */

struct passes {
	uint64_t original, minimized;
	size_t at; /* in the list; its end: not there */
};

/* "<original> <minimised> <target>"; what reads otherwise counts for nobody. */
static bool passes_read(const char *text, const char *target, struct passes *ret)
{
	struct slice in = slice_of(text);

	return scan_u64(&in, 10, INT64_MAX, &ret->original) && scan_lit(&in, SLICE(" ")) &&
	       scan_u64(&in, 10, INT64_MAX, &ret->minimized) && scan_lit(&in, SLICE(" ")) &&
	       slice_eq(in, slice_of(target));
}

static struct passes passes_of_other(const struct known_crash *c, const char *target)
{
	const struct ledger_list *l = &c->reproduction.clean_others;
	struct passes p;

	for (size_t i = 0; i < l->n; i++) {
		if (!passes_read(l->v[i], target, &p))
			continue;
		p.at = i;
		return p;
	}
	return (struct passes){.at = l->n};
}

static int other_passed(struct known_crash *c, const char *target, uint64_t original,
			uint64_t minimized, struct err *e)
{
	struct ledger_list *l = &c->reproduction.clean_others;
	struct passes p = passes_of_other(c, target);
	char text[LEDGER_TEXT_MAX + 1];
	int r;

	ledger_add(&p.original, original);
	ledger_add(&p.minimized, minimized);
	snprintf(text, sizeof(text), "%llu %llu %s", (unsigned long long)p.original,
		 (unsigned long long)p.minimized, target);
	r = ledger_list_add(l, text, false, e);
	if (r == 0 && p.at + 1 < l->n)
		ledger_list_drop(l, p.at);
	if (r == 0 && l->n > LEDGER_TARGETS)
		ledger_list_drop(l, 0);
	return r;
}

uint64_t ledger_passes(const struct known_crash *c, const char *target, const char *commit,
		       bool minimized)
{
	struct passes p = {c->reproduction.clean, c->reproduction.clean_minimized, 0};

	if (strcmp(c->reproduction.clean_commit, commit ? commit : "") != 0)
		return 0;
	if (strcmp(c->fuzzer, target) != 0)
		p = passes_of_other(c, target);
	return minimized ? p.minimized : p.original;
}

int ledger_passed(struct ledger *l, const char *signature, const char *target, const char *commit,
		  uint64_t original, uint64_t minimized, struct err *e)
{
	struct record *own = ledger_exact(l, signature);
	struct known_crash *c = own ? &own->c : find(l, signature, e);
	int r = 0;

	if (!c)
		return -e->code;
	if (own)
		own->copy = true;
	if (strcmp(c->reproduction.clean_commit, commit ? commit : "") != 0) {
		ledger_unpass(c);
		r = ledger_set(&c->reproduction.clean_commit, commit, LEDGER_TEXT_MAX, false, e);
	}
	if (r == 0 && strcmp(c->fuzzer, target) != 0)
		r = other_passed(c, target, original, minimized, e);
	if (r < 0)
		return r;
	if (strcmp(c->fuzzer, target) == 0) {
		ledger_add(&c->reproduction.clean, original);
		ledger_add(&c->reproduction.clean_minimized, minimized);
	}
	changed(l, signature);
	return 0;
}

/* --- a replay's and a person's word ----------------------------------------- */

int ledger_fixed(struct ledger *l, const char *signature, uint64_t time, const char *commit,
		 const char *run, struct err *e)
{
	struct known_crash *c = find(l, signature, e);
	int r;

	if (!c)
		return -e->code;
	if (ledger_next(c->state, EVENT_FIXED) == c->state)
		return 0; /* it is, or a person's word stands */
	r = ledger_set_seen(&c->fixed, time, commit, run, e);
	if (r < 0)
		return r;
	c->state = ledger_next(c->state, EVENT_FIXED);
	changed(l, signature);
	return 0;
}

static int judge(struct ledger *l, const char *signature, enum ledger_event ev, const char *note,
		 struct err *e)
{
	struct known_crash *c = find(l, signature, e);
	enum ledger_state was;
	int r = 0;

	if (!c)
		return -e->code;
	if (note)
		r = ledger_set(&c->note, note, LEDGER_NOTE_MAX, true, e);
	if (r < 0)
		return r;
	was = c->state;
	c->state = ledger_next(was, ev);
	if (was == LEDGER_IGNORED && ev == EVENT_UNIGNORE &&
	    ledger_sighting_of(c) == EVENT_SEEN_FLAKY)
		c->state = LEDGER_FLAKY;
	changed(l, signature);
	return 0;
}

int ledger_ignore(struct ledger *l, const char *signature, const char *note, struct err *e)
{
	return judge(l, signature, EVENT_IGNORE, note, e);
}

int ledger_unignore(struct ledger *l, const char *signature, const char *note, struct err *e)
{
	return judge(l, signature, EVENT_UNIGNORE, note, e);
}

int ledger_issue(struct ledger *l, const char *signature, const char *url, struct err *e)
{
	struct known_crash *c = find(l, signature, e);
	int r;

	if (!c)
		return -e->code;
	r = ledger_set(&c->issue_url, url, LEDGER_TEXT_MAX, false, e);
	if (r == 0)
		changed(l, signature);
	return r;
}

int ledger_next_run(struct ledger *l, const char *run, struct err *e)
{
	(void)e;
	for (size_t i = 0; i < l->n; i++) {
		struct known_crash *c = &l->v[i]->c;

		l->v[i]->copy = true; /* those that are missing, or that a killed run left behind */
		if (c->state != LEDGER_NEW || strcmp(c->first_seen.run, run ? run : "") == 0)
			continue;
		c->state = ledger_next(c->state, EVENT_NEXT_RUN);
		l->dirty = true;
	}
	return 0;
}
