/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/session.h"

#include "runner/command/cells.h"
#include "runner/command/escape.h"
#include "runner/corpus/generation.h"
#include "runner/corpus/recover.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int session_load(struct session *s)
{
	return common_load_config(&s->common);
}

int session_set(struct session *s, const char *key, const char *value, const char *option)
{
	struct err e;

	if (!value || config_override(s->common.config, key, value, &e) == 0)
		return EXIT_DONE;
	return fail(EXIT_USAGE, "%s: %s", option, e.msg);
}

/* A target that a run silently leaves out would look like one that is fuzzed. */
static void say_warnings(const struct target_list *l)
{
	char path[ESCAPE_MAX], why[ESCAPE_MAX];

	for (size_t i = 0; i < l->n_notes; i++)
		if (l->notes[i].warning)
			printf("warning: %s: %s\n", escape(l->notes[i].path, path),
			       escape(l->notes[i].why, why));
}

int session_plan(struct session *s)
{
	struct common *c = &s->common;
	int r = common_find_targets(c);
	struct err e;

	if (r != EXIT_DONE)
		return r;
	if (plan_make(c->config, &c->targets, c->filter, &s->plan, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (s->plan.n == 0)
		return fail(EXIT_USAGE, "no target to fuzz%s%s (fuzzcell list --all says why)",
			    c->filter ? " matches " : "", c->filter ? c->filter : "");
	say_warnings(&c->targets);
	return EXIT_DONE;
}

static int open_state(struct session *s, bool lock)
{
	const char *path = s->common.state_dir;
	struct err e;
	int r;

	if (!path && !getenv("FUZZCELL_STATE_DIR"))
		path = config_state_dir(s->common.config);
	r = state_open(path, lock, &s->state, &e);
	if (r == -EBUSY)
		return fail(EXIT_LOCKED, "%s", e.msg);
	return r < 0 ? fail(EXIT_MACHINE, "%s", e.msg) : EXIT_DONE;
}

int session_read(struct session *s)
{
	return open_state(s, false);
}

int session_lock(struct session *s)
{
	return open_state(s, true);
}

/* Nothing would be fuzzed, and what is found could not be saved. */
static int check_corpora(const struct session *s)
{
	char path[300];
	struct stat st;

	for (size_t i = 0; i < s->plan.n; i++) {
		snprintf(path, sizeof(path), "corpus/%.250s", s->plan.v[i].target->name);
		if (fstatat(s->state->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			return fail(EXIT_USAGE,
				    "%s/%s is %s: a corpus is a directory of its own (to have it "
				    "elsewhere: --state-dir, or a bind mount)",
				    s->state->path, path,
				    S_ISLNK(st.st_mode) ? "a symlink" : "no directory");
	}
	return EXIT_DONE;
}

static int recover(struct session *s)
{
	unsigned keep = config_run(s->common.config)->generations;
	struct generation_sum swapped = {0};
	struct recovered got = {0};
	struct err e;

	if (generation_recover_all(s->state->dirfd, keep, &swapped, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (swapped.undone + swapped.finished)
		printf("recovered from a merge that was killed: %llu old corpora are back, %llu "
		       "new ones in place\n",
		       (unsigned long long)swapped.undone, (unsigned long long)swapped.finished);
	if (vault_sweep(s->state->dirfd, &e) < 0 || cells_sweep(s->state, &e) < 0 ||
	    recover_lost_runs(s->state, &got, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (got.runs)
		printf("recovered from %llu run(s) that were killed: %llu artifacts, %llu inputs\n",
		       (unsigned long long)got.runs, (unsigned long long)got.artifacts,
		       (unsigned long long)got.inputs);
	return EXIT_DONE;
}

int session_open(struct session *s)
{
	int r = open_state(s, true);

	if (r == EXIT_DONE)
		r = check_corpora(s);
	/* First what a killed predecessor left running, then what it left lying. */
	if (r == EXIT_DONE)
		r = machine_open(s->common.config, s->state, &s->machine);
	if (r == EXIT_DONE)
		r = recover(s);
	if (r == EXIT_DONE)
		r = machine_check(s->common.config, s->state, &s->machine, &s->plan);
	return r;
}

void session_close(struct session *s)
{
	machine_close(&s->machine);
	plan_done(&s->plan);
	state_close(s->state);
	s->state = NULL;
	common_done(&s->common);
}
