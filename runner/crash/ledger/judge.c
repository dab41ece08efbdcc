/* SPDX-License-Identifier: Apache-2.0 */
/* The results of replays, and the decisions of users. */
#include "runner/crash/ledger/internal.h"

#include <errno.h>

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
	ledger_unset(&c->reproduction.clean_commit);
}

static struct record *ledger_judge_find(const struct ledger *l, const char *signature,
					struct err *e)
{
	struct record *n = ledger_head(l, signature);

	if (!n)
		(void)err_set(e, ENOENT, "no crash '%.100s'", signature);
	return n;
}

/* The target's entry in the record of exactly this signature; else in the crash. */
static struct found *find_entry(const struct ledger *l, const char *signature, const char *target,
				struct record **ret, struct err *e)
{
	struct record *own = ledger_exact(l, signature), *head = ledger_judge_find(l, signature, e);
	struct found *t = own ? ledger_entry_of(own, target) : NULL;

	*ret = t ? own : head;
	if (!t && head)
		t = ledger_entry_of(head, target);
	if (!t && head)
		(void)err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			      signature);
	return t;
}

static int changed(struct ledger *l, struct record *n, struct err *e)
{
	l->dirty = n->changed = true;
	return ledger_summarize(n, e);
}

int ledger_minimized(struct ledger *l, const char *signature, const char *target, const char *path,
		     uint64_t bytes, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);
	int r;

	if (!t)
		return err_code(e);
	r = ledger_set(&t->c.minimized, path, LEDGER_TEXT_MAX, false, e);
	if (r < 0)
		return r;
	t->c.minimized_bytes = bytes;
	ledger_unset(&t->c.minimized_sha1);
	t->adopt[LEDGER_MINIMIZED] = true;
	t->c.reproduction.clean_minimized = 0;
	return changed(l, n, e);
}

int ledger_minimize_writes(struct ledger *l, const char *signature, const char *target,
			   struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	t->c.minimized_bytes = 0;
	ledger_unset(&t->c.minimized_sha1);
	t->adopt[LEDGER_MINIMIZED] = false;
	return changed(l, n, e);
}

int ledger_minimize_tried(struct ledger *l, const char *signature, const char *target, uint64_t ms,
			  bool ended, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	ledger_add(&t->c.minimize_ms, ms);
	t->c.minimize_ended |= ended;
	return changed(l, n, e);
}

bool ledger_minimize_waits(const struct known_crash *c, const char *target)
{
	const struct known_crash *own = ledger_entry(c, target);

	return own && !own->minimize_ended && *own->crash_file && !*c->merged_into &&
	       ledger_state_open(own->state) && own->state != LEDGER_FLAKY;
}

/* --- passes ---------------------------------------------------------------- */

uint64_t ledger_passes(const struct known_crash *entry, const char *commit, bool minimized)
{
	if (strcmp(entry->reproduction.clean_commit, commit ? commit : "") != 0)
		return 0;
	return minimized ? entry->reproduction.clean_minimized : entry->reproduction.clean;
}

int ledger_passed(struct ledger *l, const char *signature, const char *target, const char *commit,
		  uint64_t original, uint64_t minimized, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);
	int r = 0;

	if (!t)
		return err_code(e);
	if (strcmp(t->c.reproduction.clean_commit, commit ? commit : "") != 0) {
		ledger_unpass(&t->c);
		r = ledger_set(&t->c.reproduction.clean_commit, commit, LEDGER_TEXT_MAX, false, e);
	}
	if (r < 0)
		return r;
	ledger_add(&t->c.reproduction.clean, original);
	ledger_add(&t->c.reproduction.clean_minimized, minimized);
	return changed(l, n, e);
}

/* --- decisions ------------------------------------------------------------- */

int ledger_fixed(struct ledger *l, const char *signature, const char *target, uint64_t time,
		 const char *commit, const char *run, struct err *e)
{
	struct record *n = ledger_judge_find(l, signature, e);
	struct found *t = n ? ledger_entry_of(n, target) : NULL;
	int r;

	if (n && !t)
		return err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			       signature);
	if (!t)
		return err_code(e);
	if (ledger_next(t->c.state, EVENT_FIXED) == t->c.state)
		return 0; /* it is fixed already, or a user's decision stands */
	r = ledger_set_seen(&t->c.fixed, time, commit, run, e);
	if (r < 0)
		return r;
	t->c.state = ledger_next(t->c.state, EVENT_FIXED);
	ledger_unset(&t->c.uncounted);
	return changed(l, n, e);
}

static void ledger_judge_judge(struct found *t, enum ledger_event ev)
{
	enum ledger_state was = t->c.state;

	t->c.state = ledger_next(was, ev);
	if (was == LEDGER_IGNORED && ev == EVENT_UNIGNORE &&
	    ledger_sighting_of(&t->c) == EVENT_SEEN_FLAKY)
		t->c.state = LEDGER_FLAKY;
	if (ev == EVENT_IGNORE)
		ledger_unset(&t->c.uncounted);
}

/* Changes the target's entry among the first `most` entries; target NULL: all of these. */
static int judge_all(struct ledger *l, const char *signature, const char *target, size_t most,
		     enum ledger_event ev, const char *note, struct err *e)
{
	struct record *n = ledger_judge_find(l, signature, e);
	size_t judged = 0;
	int r = 0;

	if (!n)
		return err_code(e);
	for (size_t i = 0; i < n->c.n_by && i < most; i++) {
		if (target && strcmp(n->c.by[i]->fuzzer, target) != 0)
			continue;
		ledger_judge_judge(ledger_entry_at(n, i), ev);
		judged++;
	}
	if (target && judged == 0)
		return err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			       signature);
	if (note)
		r = ledger_set(&n->c.note, note, LEDGER_NOTE_MAX, true, e);
	return r < 0 ? r : changed(l, n, e);
}

int ledger_ignore(struct ledger *l, const char *signature, const char *target, size_t n,
		  const char *note, struct err *e)
{
	return judge_all(l, signature, target, n, EVENT_IGNORE, note, e);
}

int ledger_unignore(struct ledger *l, const char *signature, const char *target, const char *note,
		    struct err *e)
{
	return judge_all(l, signature, target, SIZE_MAX, EVENT_UNIGNORE, note, e);
}

int ledger_issue(struct ledger *l, const char *signature, const char *url, struct err *e)
{
	struct record *n = ledger_judge_find(l, signature, e);
	int r;

	if (!n)
		return err_code(e);
	r = ledger_set(&n->c.issue_url, url, LEDGER_TEXT_MAX, false, e);
	return r < 0 ? r : changed(l, n, e);
}

int ledger_next_run(struct ledger *l, const char *run, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		struct record *n = l->v[i];
		bool any = false;

		for (size_t k = 0; k < n->c.n_by; k++) {
			struct known_crash *c = &ledger_entry_at(n, k)->c;

			if (c->state != LEDGER_NEW || *c->uncounted ||
			    strcmp(c->first_seen.run, run ? run : "") == 0)
				continue;
			c->state = ledger_next(c->state, EVENT_NEXT_RUN);
			any = true;
		}
		if (any)
			r = changed(l, n, e);
	}
	return r;
}

bool ledger_waits_for(const struct known_crash *entry, const char *run)
{
	return *entry->uncounted && strcmp(entry->uncounted, run ? run : "") != 0 &&
	       ledger_state_open(entry->state);
}

int ledger_counted(struct ledger *l, const char *target, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		struct found *t = ledger_entry_of(l->v[i], target);

		if (!t || !*t->c.uncounted)
			continue;
		ledger_unset(&t->c.uncounted);
		r = changed(l, l->v[i], e);
	}
	return r;
}
