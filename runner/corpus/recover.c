/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/recover.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lost {
	struct state *s;
	const char *run;
	int work, crashes, quarantine, triage;
	json_t *targets;
	struct recovered *sum;
};

static int recover_target(struct lost *l, const char *target, struct err *e)
{
	_autobuf_ struct buf names = BUF_INIT(1 << 20);
	_autoclose_ int corpus = -1;
	struct workdir_found found = {0};
	struct workdir_collect c = {
	    .work = l->work,
	    .target = target,
	    .crashes = l->crashes,
	    .quarantine = l->quarantine,
	    .triage = l->triage,
	    .engine = workdir_engine(l->work, target),
	    .lost = true,
	};
	int r = state_open_corpus(l->s, target, &corpus, e);

	c.corpus = corpus;
	if (r == 0)
		r = workdir_collect(&c, &found, &names, e);
	if (r == -ENOENT)
		return 0; /* the run was killed during the layout: the directory is empty */
	if (r < 0)
		return r;
	l->sum->targets++;
	l->sum->inputs += found.inputs;
	l->sum->artifacts += found.failures;
	if (json_array_append_new(l->targets,
				  json_pack("{s:s, s:s, s:I, s:I}", "name", target, "reason",
					    "lost", "new_inputs", (json_int_t)found.inputs,
					    "failures", (json_int_t)found.failures)) < 0)
		return err_set(e, EBADMSG, "build JSON"); /* its name is not UTF-8 */
	return 0;
}

static int recover_each_name(int at, int (*fn)(struct lost *l, const char *name, struct err *e),
			     struct lost *l, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open the working directory");
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.')
			r = fn(l, ent->d_name, e);
	/* Files that were not listed would be removed with the run's directory. */
	return r == 0 && errno ? err_sys(e, "list the working directory") : r;
}

static int recover_note_lost(struct lost *l, struct err *e)
{
	_autojson_ json_t *line = json_pack(
	    "{s:i, s:s, s:s, s:I, s:O}", "v", 1, "run", l->run, "status", "lost", "recovered_at",
	    (json_int_t)(clock_real_us() / USEC_PER_SEC), "targets", l->targets);

	if (!line)
		return err_set(e, EBADMSG, "build JSON");
	return state_append_history(l->s, NULL, "run_history.jsonl", line, e);
}

/* Removes all copies: saving the other files may need the room. */
static int remove_seeds(struct lost *l, const char *target, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(l->work, target, &dir, e);

	return r == 0 ? fs_remove_tree(dir, "seeds", e) : r;
}

static int recover_open_dirs(struct lost *l, int work, struct err *e)
{
	char path[320];
	int r;

	snprintf(path, sizeof(path), "logs/%s/crashes", l->run);
	r = fs_open_dir(work, l->run, &l->work, e);
	if (r == 0)
		r = recover_each_name(l->work, remove_seeds, l, e);
	if (r == 0)
		r = fs_make_dir(l->s->dirfd, path, 0750, &l->crashes, e);
	if (r == 0)
		r = fs_open_dir(l->s->dirfd, "quarantine", &l->quarantine, e);
	if (r == 0)
		r = fs_open_dir(l->s->dirfd, "triage", &l->triage, e);
	return r;
}

static int recover_run(struct lost *at, const char *run, struct err *e)
{
	_autojson_ json_t *targets = json_array();
	struct lost l = {.s = at->s,
			 .run = run,
			 .work = -1,
			 .crashes = -1,
			 .quarantine = -1,
			 .triage = -1,
			 .targets = targets,
			 .sum = at->sum};
	int r = recover_open_dirs(&l, at->work, e);

	if (r == 0)
		r = recover_each_name(l.work, recover_target, &l, e);
	if (r == 0)
		r = recover_note_lost(&l, e);
	if (r == 0)
		r = fs_remove_tree(at->work, run, e);
	if (r == 0)
		at->sum->runs++;
	close(l.work);
	close(l.crashes);
	close(l.quarantine);
	close(l.triage);
	return r < 0 ? err_wrap(e, "recover the lost run '%s'", run) : 0;
}

int recover_lost_runs(struct state *s, struct recovered *ret, struct err *e)
{
	_autoclose_ int work = -1;
	struct recovered sum = {0};
	struct lost at = {.s = s, .sum = &sum};
	int r = fs_open_dir(s->dirfd, "work", &work, e);

	at.work = work;
	if (r == 0)
		r = recover_each_name(work, recover_run, &at, e);
	if (r < 0)
		return r;
	*ret = sum;
	return 0;
}
