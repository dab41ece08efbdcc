/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/run/after.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/command/command.h"
#include "runner/command/common/notify.h"
#include "runner/state/fuzzed.h"
#include "runner/status/summary.h"

#include <stdio.h>
#include <stdlib.h>

/* Time limits for sending. The second one applies when a user ended the run and waits at the
 * prompt. */
#define SEND_US	      (120 * USEC_PER_SEC)
#define SEND_ENDED_US (10 * USEC_PER_SEC)

enum { NOTES_MAX = 64, NAMED_MAX = 5 };

struct notes {
	struct publish_note v[NOTES_MAX + 1];
	char *names[NOTES_MAX + 1];
	size_t n;
};

static void notes_done(struct notes *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
}

/* Adds a note about a silent target. Beyond NOTES_MAX, the rest follows after the next run. */
static int add_silent(void *arg, const char *target, uint64_t since, struct err *e)
{
	struct notes *l = arg;

	(void)e;
	if (l->n >= NOTES_MAX)
		return 0;
	l->names[l->n] = xstrdup(target);
	l->v[l->n] =
	    (struct publish_note){.kind = PUBLISH_SILENT, .target = l->names[l->n], .since = since};
	l->n++;
	return 0;
}

/* Reports whether the target waited for the whole run. In a run that a user ended, waiting does not
 * count. */
static bool waited_in_vain(const struct target_row *r)
{
	return summary_waited(r) && strcmp(r->reason, "run-deadline") == 0;
}

static int note_fuzzed(const struct run_over *o, struct notes *l, struct err *e)
{
	uint64_t now = clock_real_us() / USEC_PER_SEC;
	uint64_t silent = config_outbox(o->common->config)->silent_us / USEC_PER_SEC;
	size_t n = o->view->n_rows;
	struct fuzzed_target *v = xcalloc(n + 1, sizeof(*v));
	int r;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct fuzzed_target){.name = o->view->rows[i].name,
					      .fuzzed = o->view->rows[i].fuzzed &&
							!o->view->rows[i].unfuzzed,
					      .waited = waited_in_vain(&o->view->rows[i]),
					      .cov = o->view->rows[i].cov,
					      .edges = o->view->rows[i].edges_total};
	r = fuzzed_note(o->state, v, n, now, e);
	free(v);
	return r < 0 || !silent ? r : fuzzed_silent(o->state, now, silent, add_silent, l, e);
}

static bool is_unfuzzed(const struct target_row *r)
{
	return r->unfuzzed;
}

static bool is_given_up(const struct target_row *r)
{
	return r->given_up;
}

/* Writes "2 of 30 targets were not really fuzzed: a (why), b (why)"; nothing if there are none. */
static void name_targets(const struct run_view *v, bool (*is)(const struct target_row *r),
			 const char *were, struct buf *out)
{
	size_t n = 0, named = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += is(&v->rows[i]);
	if (n == 0)
		return;
	buf_printf(out, "%s%zu of %zu targets were %s", out->n ? "; " : "", n, v->n_rows, were);
	for (size_t i = 0; i < v->n_rows && named < NAMED_MAX; i++)
		if (is(&v->rows[i]))
			buf_printf(out, "%s%s (%s)", named++ ? ", " : ": ", v->rows[i].name,
				   v->rows[i].reason);
	if (n > NAMED_MAX)
		buf_puts(out, ", ...");
}

/* Describes why the run failed; "" if it did not fail. */
static void describe_failed(const struct run_over *o, struct buf *text)
{
	if (o->status == EXIT_INTERNAL) {
		buf_puts(text, "the run could not save everything, or broke off");
		return;
	}
	if (*o->view->shortage) {
		buf_printf(text, "no cell could be started: %s", o->view->shortage);
		return;
	}
	name_targets(o->view, is_unfuzzed, "not really fuzzed", text);
	name_targets(o->view, is_given_up, "given up", text);
	if (text->n == 0 && o->view->build_failed)
		buf_puts(text, "a build failed: its missing targets were not fuzzed");
}

static int add_failed(const struct run_over *o, struct notes *l, struct buf *text, struct err *e)
{
	int r;

	if (!o->view->interrupted)
		describe_failed(o, text);
	r = buf_check(text, e);
	if (r < 0 || text->n == 0)
		return r;
	l->v[l->n++] = (struct publish_note){
	    .kind = PUBLISH_RUN_FAILED, .run = o->run, .commit = o->commit, .text = buf_str(text)};
	return 0;
}

void run_after(const struct run_over *o)
{
	_autobuf_ struct buf text = BUF_INIT(65536);
	CLEANUP(notes_done) struct notes l = {.n = 0};
	struct notify t = common_notify(o->common, o->state);
	struct err e;

	if (note_fuzzed(o, &l, &e) < 0 || add_failed(o, &l, &text, &e) < 0)
		warn("%s", e.msg);
	if (o->silent)
		return;
	t.targets = o->targets;
	t.run = o->run;
	t.notes = l.v;
	t.n_notes = l.n;
	t.send_us = o->view->interrupted ? SEND_ENDED_US : SEND_US;
	common_notify_last(&t, o->ledger);
}

void run_not_built(const struct common *c, struct state *s, const char *commit)
{
	_autofree_ char *run = xasprintf("build-%s", commit ? commit : "unknown");
	struct publish_note n = {.kind = PUBLISH_RUN_FAILED,
				 .run = run,
				 .commit = commit,
				 .text = "nothing could be built, so nothing was fuzzed"};
	struct notify t = common_notify(c, s);

	t.notes = &n;
	t.n_notes = 1;
	t.send_us = SEND_US;
	common_notify_last(&t, NULL);
}
