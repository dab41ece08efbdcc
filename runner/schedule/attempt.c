/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/attempt.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"

#include <stdio.h>
#include <string.h>

/* Above every range that distributions and systemd hand out, below 2^31. */
enum { UID_BASE = 0x7f000000, FILES_MAX = 1024 };

/* Our own deadline comes first; this is the belt for the case that we die. */
#define BELT_US (60 * USEC_PER_SEC)

#define DIR_TARGET    "/target"
#define DIR_CORPUS    "/work/corpus"
#define DIR_ARTIFACTS "/work/artifacts"
#define DIR_SEEDS     "/seeds/0"
#define FILE_DICT     "/seeds/dictionary"

struct plan {
	struct cell_mount mounts[8];
	size_t n;
	struct strv paths; /* what the mounts point to */
	struct engine_cmd cmd;
	char *binary;
};

static void plan_done(struct plan *p)
{
	strv_done(&p->paths);
	engine_cmd_done(&p->cmd);
	free(p->binary);
}

uid_t attempt_uid(const struct job *j)
{
	return (uid_t)(UID_BASE + j->index);
}

static void mount_at(struct plan *p, const char *source, const char *target, bool writable,
		     bool exec)
{
	p->mounts[p->n++] = (struct cell_mount){source, target, writable, exec};
}

static int mount_work(struct plan *p, const struct job *j, const char *sub, const char *at,
		      bool writable, struct err *e)
{
	int r = strv_addf(&p->paths, e, "%s/%s/%s", j->env->dirs->work_path, j->target->name, sub);

	if (r == 0)
		mount_at(p, p->paths.v[p->paths.n - 1], at, writable, false);
	return r;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The binary alone, or its directory when what it needs stands beside it. */
static int mount_target(struct plan *p, const struct target *t, struct err *e)
{
	size_t n = t->dir ? strlen(t->dir) : 0;
	bool inside = n > 0 && strncmp(t->binary, t->dir, n) == 0 && t->binary[n] == '/';

	p->binary =
	    sys_asprintf(DIR_TARGET "/%s", inside ? t->binary + n + 1 : base_name(t->binary));
	if (!p->binary)
		return err_sys(e, "allocate a path");
	if (t->dir)
		mount_at(p, t->dir, DIR_TARGET, false, true);
	if (!inside)
		mount_at(p, t->binary, p->binary, false, true);
	return 0;
}

static const char *dictionary(const struct job *j)
{
	if (!j->cfg.dictionary)
		return j->target->dict;
	return *j->cfg.dictionary ? j->cfg.dictionary : NULL;
}

/* From the target's side files first, then the configuration: the last wins. */
static int join(struct strv *out, const struct strv *a, const struct strv *b, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n; i++)
		r = strv_add(out, a->v[i], e);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = strv_add(out, b->v[i], e);
	return r;
}

static uint64_t max_time_s(const struct job *j, uint64_t now_us)
{
	uint64_t left = j->deadline_at > now_us ? j->deadline_at - now_us : 0;

	return (left + 2 * j->cfg.grace_us + BELT_US) / USEC_PER_SEC;
}

static int engine_command(struct plan *p, const struct job *j, uint64_t now_us, struct err *e)
{
	static const char *const seed_dirs[] = {DIR_SEEDS, NULL};
	struct strv flags = {0}, env = {0};
	int r = join(&flags, &j->target->flags, &j->cfg.flags, e);

	if (r == 0)
		r = join(&env, &j->target->env, &j->cfg.env, e);
	if (r == 0) {
		struct engine_fuzz f = {
		    .binary = p->binary,
		    .corpus_dir = DIR_CORPUS,
		    .seed_dirs = seed_dirs,
		    .artifact_dir = DIR_ARTIFACTS,
		    .dict = dictionary(j) ? FILE_DICT : NULL,
		    .max_time_s = max_time_s(j, now_us),
		    .input_timeout_s = (j->cfg.input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
		    .rss_limit_mib = j->cfg.rss_limit >> 20,
		    .max_len = j->cfg.max_len,
		    .seed = j->cfg.seed,
		    .runs = j->cfg.runs,
		    .flags = (const char *const *)flags.v,
		    .env = (const char *const *)env.v,
		};
		r = j->target->engine->fuzz(&f, &p->cmd, e);
	}
	strv_done(&flags);
	strv_done(&env);
	return r;
}

static int make_plan(struct plan *p, const struct job *j, uint64_t now_us, struct err *e)
{
	int r = mount_target(p, j->target, e);

	if (r == 0)
		r = mount_work(p, j, "corpus", DIR_CORPUS, true, e);
	if (r == 0)
		r = mount_work(p, j, "artifacts", DIR_ARTIFACTS, true, e);
	if (r == 0)
		r = mount_work(p, j, "seeds", DIR_SEEDS, false, e);
	if (r == 0 && dictionary(j))
		mount_at(p, dictionary(j), FILE_DICT, false, false);
	if (r == 0)
		r = engine_command(p, j, now_us, e);
	return r;
}

static int start_cell(const struct job *j, const struct plan *p, const struct cell_ops *ops,
		      void *arg, struct cell **ret, struct err *e)
{
	char id[64];
	struct cell_spec spec = {
	    .id = id,
	    .argv = (const char *const *)p->cmd.argv.v,
	    .env = (const char *const *)p->cmd.env.v,
	    .cwd = DIR_TARGET, /* as in OSS-Fuzz: data files beside the binary are found */
	    .rootfs = j->env->rootfs,
	    .mounts = p->mounts,
	    .n_mounts = p->n,
	    .tmp_bytes = j->cfg.scratch,
	    .file_bytes = j->cfg.disk,
	    .files_max = FILES_MAX,
	    .uid = attempt_uid(j),
	    .gid = attempt_uid(j),
	    .limits = {.memory_max = j->cfg.memory,
		       .memory_high = j->cfg.memory_high,
		       .cpu_milli = j->cfg.cpu_milli,
		       .cpu_weight = j->cfg.cpu_weight,
		       .pids_max = j->cfg.pids},
	};

	snprintf(id, sizeof(id), "%s-%zu-%u", j->env->dirs->id, j->index, j->restarts);
	return cell_start(j->env->host, &spec, ops, arg, ret, e);
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
	struct plan p = {0};
	int r;

	if (!a)
		return err_sys(e, "allocate a cell's state");
	a->launched_us = clock_mono_us();
	r = make_plan(&p, j, a->launched_us, e);
	if (r == 0) {
		note_command(j, &p.cmd);
		r = start_cell(j, &p, ops, j, &a->cell, e);
	}
	plan_done(&p);
	if (r < 0) {
		free(a);
		return r;
	}
	*ret = a;
	return 0;
}
