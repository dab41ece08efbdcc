/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/session.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/command/common/cells.h"
#include "runner/corpus/generation/generation.h"
#include "runner/corpus/recover.h"
#include "runner/crash/vault.h"
#include "runner/state/lock.h"
#include "runner/targets/build/record.h"

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

/* Without a warning, a target that a run leaves out would look like a fuzzed target. */
static void print_warnings(const struct target_list *l)
{
	for (size_t i = 0; i < l->n_notes; i++)
		if (l->notes[i].warning)
			warn("%s: %s", l->notes[i].path, l->notes[i].why);
}

static int open_state(struct session *s, enum state_use use);
static int open_if_there(struct session *s);

int session_builds(struct session *s)
{
	struct common *c = &s->common;
	const struct config_source *v = config_sources(c->config, &c->n_built);
	bool any = false, opened = !s->state;
	struct err e;
	int r = EXIT_DONE;

	for (size_t i = 0; !c->targets_dir && i < c->n_built; i++)
		any = any || build_wanted(&v[i]);
	if (!any)
		return EXIT_DONE;
	s->built = xcalloc(c->n_built, sizeof(*s->built));
	c->built = s->built;
	if (opened)
		r = open_if_there(s); /* before the first build the state may be missing */
	if (r == EXIT_DONE && s->state &&
	    build_record_load(s->state->dirfd, v, c->n_built, s->built, &e) < 0)
		r = fail(EXIT_MACHINE, "%s (fuzzcell build repairs it)", e.msg);
	for (size_t i = 0; r == EXIT_DONE && i < c->n_built; i++)
		if (!build_wanted(&v[i])) /* the result of an earlier build no longer counts */
			discover_built_done(&s->built[i]);
	if (opened) {
		state_close(s->state);
		s->state = NULL;
	}
	return r;
}

#define REMEMBERED "last_targets.json"
enum { REMEMBERED_MAX = 16 << 10 };

void session_remember(const struct session *s)
{
	_autofree_ char *path = NULL, *text = NULL;
	_autojson_ json_t *j = NULL;
	struct err e;

	if (!s->common.targets_dir)
		return;
	path = realpath(s->common.targets_dir, NULL); /* allow: a user's path, not a target's */
	j = path ? json_pack("{s:s}", "targets", path) : NULL; /* NULL: not UTF-8 */
	text = j ? json_dumps(j, 0) : NULL;
	if (text && fs_replace(s->state->dirfd, REMEMBERED, slice_of(text), &e) < 0)
		warn("%s", e.msg);
}

/* Works with and without an open state. */
static int read_remembered(struct session *s, json_t **ret)
{
	bool opened = !s->state;
	struct err e;
	int r = opened ? open_if_there(s) : EXIT_DONE;

	*ret = NULL;
	if (r != EXIT_DONE || !s->state)
		return r;
	r = json_load(s->state->dirfd, REMEMBERED, REMEMBERED_MAX, ret, &e);
	if (opened) {
		state_close(s->state);
		s->state = NULL;
	}
	return r == 0 || r == -ENOENT ? EXIT_DONE : fail(EXIT_MACHINE, "%s: give --targets", e.msg);
}

int session_recall(struct session *s)
{
	_autojson_ json_t *j = NULL;
	char line[ESCAPE_MAX];
	const char *path;
	size_t n;
	int r;

	(void)config_sources(s->common.config, &n);
	if (s->common.targets_dir || n > 0)
		return EXIT_DONE;
	r = read_remembered(s, &j);
	path = json_get_text(j, "targets");
	if (r != EXIT_DONE || *path != '/')
		return r;
	s->recalled = xstrdup(path);
	s->common.targets_dir = s->recalled;
	fprintf(stderr, "targets: %s, as in the last run\n", escape(path, line));
	return EXIT_DONE;
}

int session_find(struct session *s)
{
	struct common *c = &s->common;
	int r = session_builds(s);
	struct err e;

	if (r == EXIT_DONE)
		r = common_find_targets(c);
	if (r == EXIT_DONE && plan_make(c->config, &c->targets, c->filter, &s->plan, &e) < 0)
		r = fail(EXIT_USAGE, "%s", e.msg);
	return r;
}

int session_plan(struct session *s)
{
	struct common *c = &s->common;
	int r = session_find(s);

	if (r != EXIT_DONE)
		return r;
	if (s->plan.n == 0)
		return fail(EXIT_USAGE, "no target to fuzz%s%s (fuzzcell list --all says why)",
			    c->filter ? " matches " : "", c->filter ? c->filter : "");
	print_warnings(&c->targets);
	return EXIT_DONE;
}

static int opened_state(int r, const struct err *e)
{
	if (r == -EBUSY)
		return fail(EXIT_LOCKED, "%s", e->msg);
	if (r == -ENOENT)
		return fail(EXIT_USAGE, "%s", e->msg);
	return r < 0 ? fail(EXIT_MACHINE, "%s", e->msg) : EXIT_DONE;
}

static int open_state(struct session *s, enum state_use use)
{
	struct err e;

	return opened_state(state_open(common_state_dir(&s->common), use, &s->state, &e), &e);
}

static int open_if_there(struct session *s)
{
	struct err e;
	int r = state_open(common_state_dir(&s->common), STATE_READ, &s->state, &e);

	return r == -ENOENT ? EXIT_DONE : opened_state(r, &e);
}

int session_read_any(struct session *s)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");

	return s->common.state_dir || (env && *env) ? session_read(s) : open_if_there(s);
}

int session_read(struct session *s)
{
	return open_state(s, STATE_READ);
}

int session_make(struct session *s)
{
	return open_state(s, STATE_MAKE);
}

int session_lock(struct session *s)
{
	return open_state(s, STATE_LOCK);
}

int session_wait(struct session *s)
{
	bool held = false;
	pid_t pid = 0;
	struct err e;
	int r = open_state(s, STATE_MAKE);

	if (r == EXIT_DONE && lock_run_holder(s->state->dirfd, &held, &pid, &e) == 0 && held)
		fprintf(stderr, "waiting for process %d, which has the lock of %s\n", (int)pid,
			s->state->path);
	if (r != EXIT_DONE)
		return r;
	state_close(s->state);
	s->state = NULL;
	return open_state(s, STATE_WAIT);
}

/* A corpus that is no directory is refused: its target would not be fuzzed and its findings could
 * not be saved. */
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

static int session_recover(struct session *s)
{
	unsigned keep = config_run(s->common.config)->generations;
	struct generation_sum swapped = {0};
	struct recovered got = {0};
	char n[3][UNITS_OF_MAX];
	struct err e;

	if (generation_recover_all(s->state->dirfd, keep, &swapped, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (swapped.undone + swapped.finished)
		printf("recovered from a merge that was killed: %s restored, %llu replaced\n",
		       units_of(swapped.undone, "corpus", "corpora", n[0]),
		       (unsigned long long)swapped.finished);
	if (vault_sweep(s->state->dirfd, &e) < 0 || cells_sweep(s->state, &e) < 0 ||
	    recover_lost_runs(s->state, &got, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (got.runs)
		printf("recovered from %s killed: %s, %s\n",
		       units_of(got.runs, "run that was", "runs that were", n[0]),
		       units_of(got.artifacts, "artifact", "artifacts", n[1]),
		       units_of(got.inputs, "input", "inputs", n[2]));
	return EXIT_DONE;
}

int session_machine(struct session *s)
{
	int r = s->state ? EXIT_DONE : open_state(s, STATE_LOCK);

	if (r == EXIT_DONE && !s->machine.loop)
		r = machine_open(s->common.config, s->state, &s->machine);
	return r;
}

int session_open(struct session *s)
{
	int r = s->state ? EXIT_DONE : open_state(s, STATE_LOCK);

	if (r == EXIT_DONE)
		r = check_corpora(s);
	/* Processes of a killed run are killed before its files are saved. */
	if (r == EXIT_DONE)
		r = session_machine(s);
	if (r == EXIT_DONE)
		r = session_recover(s);
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
	for (size_t i = 0; s->built && i < s->common.n_built; i++)
		discover_built_done(&s->built[i]);
	free(s->built);
	s->built = NULL;
	free(s->recalled);
	s->recalled = NULL;
	common_done(&s->common);
}
