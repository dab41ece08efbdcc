/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the crashes of the head occur on the base, and those that were open on the head. */
#include "runner/command/ci/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/probe.h"
#include "runner/command/common/revisions.h"
#include "runner/crash/bisect/search.h"
#include "runner/crash/ledger/input.h"
#include "runner/run/triage/triage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct asking {
	struct ci *ci;
	struct session session; /* with the lock, and the machine */
	struct cells cells;
	struct revisions revisions;
	const char *revisions_of; /* the target of the source; NULL: not open */
	struct shelf_item item;
	struct plan plan;
	struct probe *probe;
	struct source *soon;
	char input[JOURNAL_INPUTS][PATH_MAX];
	size_t at; /* the crash in work */
	int status;
};

static struct ci_crash *asked(const struct asking *b)
{
	return &b->ci->crashes[b->at];
}

static void ask_next(void *arg);

static void ask_soon(struct asking *b)
{
	struct err e;

	source_remove(b->soon);
	b->soon = NULL;
	if (loop_add_timer(b->cells.replay.exec.loop, clock_mono_us(), ask_next, b, &b->soon, &e) <
	    0) {
		b->status = fail(EXIT_INTERNAL, "%s", e.msg);
		loop_stop(b->cells.replay.exec.loop);
	}
}

/* Decides on the crash in work, and goes on with the next. */
static void ask_decide(struct asking *b, enum ci_status status, const char *does, const char *why)
{
	struct ci_crash *c = asked(b);

	c->status = status;
	snprintf(c->base, sizeof(c->base), "the %s %s%s%.300s", c->recheck ? "head" : "base", does,
		 *why ? ": " : "", why);
	printf("%s %s: %s, as %s\n", c->entry->fuzzer, c->crash->signature, ci_status_name(status),
	       c->base);
	fflush(stdout);
	plan_done(&b->plan);
	shelf_item_done(&b->item);
	b->at++;
	ask_soon(b);
}

static bool ask_is_crash(void *arg, const struct crash_report *r)
{
	const struct asking *b = arg;
	const struct ledger *l = b->ci->after;

	return ledger_find(l, r->signature) == ledger_find(l, asked(b)->crash->signature);
}

static void ask_on_probed(void *arg, const struct journal_test *t)
{
	struct asking *b = arg;

	b->probe = NULL;
	if (asked(b)->recheck && t->outcome == BISECT_PASSES)
		ask_decide(b, CI_FIXED, "passes", "");
	else if (t->outcome == BISECT_FAILS)
		ask_decide(b, CI_OLD, "fails, too", "");
	else if (t->outcome == BISECT_OTHER) /* the inputs are no news; perhaps the names are */
		ask_decide(b, CI_OLD, "fails in another way", t->why);
	else if (t->outcome == BISECT_PASSES)
		ask_decide(b, CI_NEW, "passes", "");
	else
		ask_decide(b, asked(b)->recheck ? CI_OLD : CI_NEW, "could not be asked", t->why);
}

static int ask_take_inputs(struct asking *b, const char *ret[JOURNAL_INPUTS])
{
	const struct known_crash *c = asked(b)->entry;
	struct err e;
	int r = EXIT_DONE;

	for (enum ledger_input i = 0; r == EXIT_DONE && i < LEDGER_INPUT_COUNT; i++) {
		const char *file = ledger_input_path(c, i);
		_autofree_ char *path = xasprintf("%s/%s", b->session.state->path, file);

		ret[i] = NULL;
		if (!*file || ledger_input_check(b->session.state->dirfd, c, i, &e) < 0)
			continue;
		r = cells_copy(&b->cells, path, b->input[i]);
		ret[i] = b->input[i];
	}
	return r;
}

static int ask_probe(struct asking *b, const struct target *target, struct err *e)
{
	const struct known_crash *c = asked(b)->entry;
	struct journal_tries seen = {c->reproduction.tries, c->reproduction.hits};
	struct probe_spec s = {
	    .cells = &b->cells,
	    .target = target,
	    .ub_goes_on = triage_ub_goes_on(c),
	    .known = {seen, seen},
	    .miss = BISECT_WRONG,
	    .is_crash = ask_is_crash,
	    .done = ask_on_probed,
	    .arg = b,
	};
	int r = plan_make_one(b->session.common.config, target, &b->plan, e);

	if (r == 0 && b->plan.n == 0)
		r = err_set(e, EINVAL, "the target is not enabled");
	if (r < 0)
		return r;
	cells_fit(&b->cells, &b->plan.v[0].cfg);
	s.cfg = &b->plan.v[0].cfg;
	if (ask_take_inputs(b, s.input) != EXIT_DONE || (!s.input[0] && !s.input[1]))
		return err_set(e, ENOENT, "no input of it was kept");
	return probe_start(&s, &b->probe, e);
}

/* Opens the source of the target, unless it is open. */
static int ask_open_source(struct asking *b, const char *target)
{
	if (b->revisions_of && strcmp(b->revisions_of, target) == 0)
		return EXIT_DONE;
	revisions_close(&b->revisions);
	b->revisions_of = target;
	return revisions_open(&b->revisions, &b->session, target);
}

static void ask_head(struct asking *b)
{
	const struct target *t = common_target(&b->session.common.targets, asked(b)->entry->fuzzer);
	struct err e;

	if (!t || t->unbuilt)
		ask_decide(b, CI_OLD, "could not be asked", "it has no such target");
	else if (ask_probe(b, t, &e) < 0)
		ask_decide(b, CI_OLD, "could not be asked", e.msg);
}

static void ask_base(struct asking *b)
{
	const char *target = asked(b)->entry->fuzzer;
	struct err e;
	int r;

	if (ask_open_source(b, target) != EXIT_DONE) {
		ask_decide(b, CI_NEW, "cannot be built", "");
		return;
	}
	r = revisions_target(&b->revisions, b->ci->base, target, &b->item, &e);
	if (r < 0 && b->item.kind != SHELF_UNBUILT) {
		b->status = fail(r == -EINTR ? EXIT_NOT_FUZZED : EXIT_MACHINE, "%s", e.msg);
		loop_stop(b->cells.replay.exec.loop);
	} else if (b->item.kind == SHELF_UNBUILT) {
		ask_decide(b, CI_NEW, "cannot be built", b->item.why);
	} else if (b->item.kind == SHELF_ABSENT) {
		ask_decide(b, CI_NEW, "has no such target", "");
	} else if (ask_probe(b, &b->item.target, &e) < 0) {
		ask_decide(b, CI_NEW, "could not be asked", e.msg);
	}
}

static void ask_next(void *arg)
{
	struct asking *b = arg;

	source_remove(b->soon);
	b->soon = NULL;
	while (b->at < b->ci->n_crashes && !asked(b)->check && !asked(b)->recheck)
		b->at++;
	if (cells_stopped(&b->cells))
		b->status = fail(EXIT_NOT_FUZZED, "stopped");
	if (b->at == b->ci->n_crashes || b->status != EXIT_DONE)
		loop_stop(b->cells.replay.exec.loop);
	else if (asked(b)->recheck)
		ask_head(b);
	else
		ask_base(b);
}

static void ask_on_stop(void *arg)
{
	struct asking *b = arg;

	if (b->probe)
		probe_stop(b->probe);
}

static bool any_to_ask(const struct ci *a)
{
	for (size_t i = 0; i < a->n_crashes; i++)
		if (a->crashes[i].check || a->crashes[i].recheck)
			return true;
	return false;
}

int ci_ask(struct ci *a)
{
	struct asking b = {.ci = a,
			   .session = {.common = {.config_path = a->session.common.config_path,
						  .state_dir = a->session.common.state_dir}},
			   .cells = {.dirfd = -1}};
	int r;

	if (!any_to_ask(a))
		return EXIT_DONE;
	printf("\nwhich crashes has the base, %.12s?\n", a->base);
	r = session_load(&b.session);
	if (r == EXIT_DONE)
		r = session_plan(&b.session);
	if (r == EXIT_DONE)
		r = session_open(&b.session);
	if (r == EXIT_DONE)
		r = cells_open(&b.cells, &b.session, "ci");
	if (r == EXIT_DONE) {
		ask_soon(&b);
		r = cells_run(&b.cells, ask_on_stop, &b);
	}
	source_remove(b.soon);
	plan_done(&b.plan);
	shelf_item_done(&b.item);
	revisions_close(&b.revisions);
	cells_close(&b.cells);
	session_close(&b.session);
	return r == EXIT_DONE ? b.status : r;
}
