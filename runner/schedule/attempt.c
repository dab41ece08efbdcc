/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/attempt.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"
#include "runner/schedule/setup.h"

#include <stdio.h>
#include <string.h>

/* Our own deadline comes first; this is the belt for the case that we die. */
#define BELT_US (60 * USEC_PER_SEC)

uid_t attempt_uid(const struct job *j)
{
	return setup_uid(j->index);
}

static int mount_work(struct setup *s, const struct job *j, const char *sub, const char *at,
		      bool writable, struct err *e)
{
	return setup_mount(s, at, writable, e, "%s/%s/%s", j->env->dirs->work_path, j->target->name,
			   sub);
}

static const char *dictionary(const struct job *j)
{
	if (!j->cfg.dictionary)
		return j->target->dict;
	return *j->cfg.dictionary ? j->cfg.dictionary : NULL;
}

static uint64_t max_time_s(const struct job *j, uint64_t now_us)
{
	uint64_t left = j->deadline_at > now_us ? j->deadline_at - now_us : 0;

	return (left + 2 * j->cfg.grace_us + BELT_US) / USEC_PER_SEC;
}

static int engine_command(struct setup *s, const struct job *j, uint64_t now_us, struct err *e)
{
	static const char *const seed_dirs[] = {SETUP_DIR_SEEDS, NULL};
	struct engine_fuzz f = {
	    .binary = s->binary,
	    .corpus_dir = SETUP_DIR_CORPUS,
	    .seed_dirs = seed_dirs,
	    .artifact_dir = SETUP_DIR_ARTIFACTS,
	    .dict = dictionary(j) ? SETUP_FILE_DICT : NULL,
	    .max_time_s = max_time_s(j, now_us),
	    .input_timeout_s = (j->cfg.input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = j->cfg.rss_limit >> 20,
	    .max_len = j->cfg.max_len,
	    .seed = j->cfg.seed,
	    .runs = j->cfg.runs,
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return j->target->engine->fuzz(&f, &s->cmd, e);
}

static int make_setup(struct setup *s, const struct job *j, uint64_t now_us, struct err *e)
{
	int r = setup_init(s, j->target, &j->cfg, e);

	if (r == 0)
		r = mount_work(s, j, "corpus", SETUP_DIR_CORPUS, true, e);
	if (r == 0)
		r = mount_work(s, j, "artifacts", SETUP_DIR_ARTIFACTS, true, e);
	if (r == 0)
		r = mount_work(s, j, "seeds", SETUP_DIR_SEEDS, false, e);
	if (r == 0 && dictionary(j))
		r = setup_mount(s, SETUP_FILE_DICT, false, e, "%s", dictionary(j));
	if (r == 0)
		r = engine_command(s, j, now_us, e);
	return r;
}

static int start_cell(const struct job *j, const struct setup *s, const struct cell_ops *ops,
		      void *arg, struct cell **ret, struct err *e)
{
	char id[64];
	struct setup_cell c = {.host = j->env->host, .rootfs = j->env->rootfs, .id = id};

	snprintf(id, sizeof(id), "%s-%zu-%u", j->env->dirs->id, j->index, j->restarts);
	return setup_start(s, &c, attempt_uid(j), ops, arg, ret, e);
}

/* What a person needs to do the same by hand. */
static void note_command(struct job *j, const struct engine_cmd *cmd)
{
	struct buf b = BUF_INIT(16384);
	struct err e;
	int r = 0;

	for (size_t i = 0; r == 0 && i < cmd->env.n; i++)
		r = buf_addf(&b, &e, "%s ", cmd->env.v[i]);
	for (size_t i = 0; r == 0 && i < cmd->argv.n; i++)
		r = buf_addf(&b, &e, "%s%s", cmd->argv.v[i], i + 1 < cmd->argv.n ? " " : "");
	joblog_note(&j->log, "command: %s", buf_str(&b));
	buf_done(&b);
}

int attempt_launch(struct job *j, const struct cell_ops *ops, struct attempt **ret, struct err *e)
{
	struct attempt *a = sys_calloc(1, sizeof(*a));
	struct setup s = {0};
	int r;

	if (!a)
		return err_sys(e, "allocate a cell's state");
	a->launched_us = clock_mono_us();
	r = make_setup(&s, j, a->launched_us, e);
	if (r == 0) {
		note_command(j, &s.cmd);
		r = start_cell(j, &s, ops, j, &a->cell, e);
	}
	setup_done(&s);
	if (r < 0) {
		free(a);
		return r;
	}
	*ret = a;
	return 0;
}
