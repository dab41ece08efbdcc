/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/setup.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "images/init.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first user of cells: above all ranges that distributions and systemd assign, below 2^31. */
enum { UID_BASE = 0x7f000000, FILES_MAX = 1024 };

uid_t setup_uid(size_t index)
{
	return geteuid() == 0 ? (uid_t)(UID_BASE + index) : geteuid();
}

gid_t setup_gid(uid_t uid)
{
	return geteuid() == 0 ? (gid_t)uid : getegid();
}

static void mount_at(struct setup *s, const char *source, const char *target, bool writable,
		     bool exec)
{
	assert(s->n < sizeof(s->mounts) / sizeof(s->mounts[0]));
	s->mounts[s->n++] = (struct cell_mount){source, target, writable, exec};
}

void setup_mount(struct setup *s, const char *at, bool writable, const char *fmt, ...)
{
	_autofree_ char *path = NULL;
	va_list ap;

	va_start(ap, fmt);
	path = xvasprintf(fmt, ap);
	va_end(ap);
	strv_push(&s->paths, path);
	mount_at(s, s->paths.v[s->paths.n - 1], at, writable, false);
}

static const char *setup_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Mounts the binary alone, or its directory if the binary needs files beside it. */
static void mount_target(struct setup *s, const struct target *t)
{
	size_t n = t->dir ? strlen(t->dir) : 0;
	bool inside = n > 0 && strncmp(t->binary, t->dir, n) == 0 && t->binary[n] == '/';

	s->binary = xasprintf(SETUP_DIR_TARGET "/%s",
			      inside ? t->binary + n + 1 : setup_base_name(t->binary));
	if (t->dir)
		mount_at(s, t->dir, SETUP_DIR_TARGET, false, true);
	if (!inside)
		mount_at(s, t->binary, s->binary, false, true);
}

static void setup_append(struct strv *out, const struct strv *more)
{
	for (size_t i = 0; i < more->n; i++)
		strv_push(out, more->v[i]);
}

bool setup_flag_holds(const struct target_config *cfg, const char *flag)
{
	const struct {
		const char *name;
		bool set;
	} keys[] = {{"-max_len=", cfg->sets_max_len},
		    {"-seed=", cfg->sets_seed},
		    {"-runs=", cfg->sets_runs}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strncmp(flag, keys[i].name, strlen(keys[i].name)) == 0)
			return !keys[i].set;
	return true;
}

void setup_init(struct setup *s, const struct target *t, const struct target_config *cfg)
{
	char why[160];

	*s = (struct setup){.target = t, .cfg = cfg};
	mount_target(s, t);
	/* The target's side files come first, then the configuration: the last value wins.  A flag
	 * of the configuration may be for targets of another engine. */
	for (size_t i = 0; i < t->flags.n; i++)
		if (setup_flag_holds(cfg, t->flags.v[i]))
			strv_push(&s->flags, t->flags.v[i]);
	for (size_t i = 0; i < cfg->flags.n; i++)
		if (t->engine->flag_ok(slice_of(cfg->flags.v[i]), why))
			strv_push(&s->flags, cfg->flags.v[i]);
	setup_append(&s->env, &t->env);
	setup_append(&s->env, &cfg->env);
}

void setup_done(struct setup *s)
{
	strv_done(&s->paths);
	strv_done(&s->flags);
	strv_done(&s->env);
	engine_cmd_done(&s->cmd);
	free(s->binary);
	*s = (struct setup){0};
}

/* namer NULL: the configuration. */
static int setup_check_path(const struct rights *namer, const char *path, struct err *e)
{
	_autoclose_ int fd = -1;
	struct rights as;
	int r = namer ? rights_of_named(namer, path, &as, e) : rights_of_configured(path, &as, e);

	if (r < 0 || !as.other)
		return r;
	fd = rights_open(&as, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return fd < 0 && errno != ENOENT
		   ? err_sys(e, "'%s' with the rights of user %u", path, (unsigned)as.uid)
		   : 0;
}

static int setup_check_program(const struct target *t, struct err *e)
{
	struct rights anywhere = t->rights;

	anywhere.tree_ino = 0; /* a build may put a program outside of the work tree */
	return setup_check_path(&anywhere, t->binary, e);
}

/* A cell must not show files that the namer of the path, or the users who decide where it leads,
 * could not open.  The path may have become a link since it was found.  Missing files are
 * reported when they are mounted. */
static int check_rights(const struct target *t, const struct target_config *cfg, struct err *e)
{
	const char *const paths[] = {t->dir, t->dict};
	int r = setup_check_program(t, e);

	for (size_t i = 0; r == 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i])
			r = setup_check_path(&t->rights, paths[i], e);
	return r == 0 && cfg->dictionary && *cfg->dictionary
		   ? setup_check_path(NULL, cfg->dictionary, e)
		   : r;
}

int setup_mount_target(struct setup *s, const struct target *t, const char *at, bool known,
		       char **ret_path, struct err *e)
{
	size_t n = t->dir ? strlen(t->dir) : 0;
	bool inside = n > 0 && strncmp(t->binary, t->dir, n) == 0 && t->binary[n] == '/';
	int r = setup_check_program(t, e);

	if (r == 0 && inside)
		r = setup_check_path(&t->rights, t->dir, e);
	if (r < 0)
		return r;
	*ret_path = xasprintf("%s/%s", at, inside ? t->binary + n + 1 : setup_base_name(t->binary));
	/* The mount points to its place until setup_done(). */
	strv_push(&s->paths, inside ? at : *ret_path);
	at = s->paths.v[s->paths.n - 1];
	if (!inside || !known)
		setup_mount(s, at, false, "%s", inside ? t->dir : t->binary);
	return 0;
}

/* The inputs of a replay that runs each of them in a process of its own. */
static void setup_add_each(const struct engine_cmd *c, struct strv *to)
{
	size_t n = c->argv.n - c->n_inputs;

	strv_push(to, INIT_EACH);
	strv_push(to, c->input_at ? c->input_at : "-");
	setup_append(to, &(struct strv){.v = c->argv.v, .n = n});
	strv_push(to, "--");
	setup_append(to, &(struct strv){.v = c->argv.v + n, .n = c->n_inputs});
}

/* Adds what process 1 does to the command. */
static void setup_wrap(struct setup *s)
{
	struct engine_cmd *c = &s->cmd;
	struct strv argv = {0};

	if (c->nest.n > 0) {
		strv_push(&argv, INIT_NEST);
		setup_append(&argv, &c->nest);
		strv_push(&argv, "--");
	}
	if (c->n_inputs > 0)
		setup_add_each(c, &argv);
	else
		setup_append(&argv, &c->argv);
	strv_done(&c->argv);
	c->argv = argv;
}

int setup_fuzz(struct setup *s, const struct engine_fuzz *job, struct err *e)
{
	struct engine_fuzz with = *job;
	int r;

	with.test = s->target->test;
	with.sanitized = s->target->sanitized;
	r = s->target->engine->fuzz(&with, &s->cmd, e);
	if (r == 0)
		setup_wrap(s);
	return r;
}

int setup_shorten(struct setup *s, const struct engine_shorten *job, struct err *e)
{
	struct engine_shorten with = *job;
	int r;

	with.test = s->target->test;
	with.sanitized = s->target->sanitized;
	r = s->target->engine->shorten(&with, &s->cmd, e);
	if (r == 0)
		setup_wrap(s);
	return r;
}

int setup_replay(struct setup *s, const struct engine_replay *job, struct err *e)
{
	struct engine_replay with = *job;
	int r;

	with.test = s->target->test;
	with.sanitized = s->target->sanitized;
	r = s->target->engine->replay(&with, &s->cmd, e);
	if (r == 0)
		setup_wrap(s);
	return r;
}

/* A safeguard for the case that neither fuzzcell nor the keeper runs: a limit of CPU time.  A cell
 * gets the CPU time that its CPUs have until its deadline, and this slack. */
#define CPU_SLACK_US (30 * USEC_PER_SEC)
/* A longer time means that there is no deadline. */
#define CPU_KNOWN_US (UINT64_C(366) * 24 * 3600 * USEC_PER_SEC)

static uint64_t cpu_seconds(const struct target_config *cfg, uint64_t wall_us)
{
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t milli = cfg->cpu_milli ? cfg->cpu_milli : 1000 * (uint64_t)(all > 0 ? all : 1);

	if (wall_us > CPU_KNOWN_US)
		return 0;
	return (wall_us + CPU_SLACK_US) / USEC_PER_SEC * milli / 1000 + 1;
}

int setup_start(const struct setup *s, const struct setup_cell *c, uid_t uid,
		const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e)
{
	const struct target_config *cfg = s->cfg;
	/* No mark: at the limit the kernel kills the target, and the engine saves the input. */
	uint64_t least = s->target->engine->file_bytes;
	bool has_mark = cfg->memory_high && !s->target->engine->goes_on;
	struct cell_spec spec = {
	    .id = c->id,
	    .argv = (const char *const *)s->cmd.argv.v,
	    .env = (const char *const *)s->cmd.env.v,
	    .cwd = SETUP_DIR_TARGET, /* as in OSS-Fuzz: data files beside the binary are found */
	    .rootfs = c->rootfs,
	    .mounts = s->mounts,
	    .n_mounts = s->n,
	    .tmp_bytes = cfg->scratch,
	    .file_bytes = cfg->disk > least ? cfg->disk : least,
	    .files_max = FILES_MAX,
	    .cpu_s = cpu_seconds(cfg, c->wall_us),
	    .uid = uid,
	    .gid = setup_gid(uid),
	    .stays = c->stays,
	    .fixed_addresses = c->fixed_addresses,
	    .separate = s->target->engine->separate,
	    .one_cpu = s->target->engine->takes_turns && cfg->cpu_milli && cfg->cpu_milli <= 1000,
	    .limits = {.memory_max = cfg->memory + c->extra_memory,
		       .memory_high = has_mark ? cfg->memory_high + c->extra_memory : 0,
		       .kills_one = s->target->engine->goes_on,
		       .cpu_milli = cfg->cpu_milli,
		       .cpu_weight = cfg->cpu_weight,
		       .pids_max = cfg->pids},
	};
	int r = check_rights(s->target, cfg, e);

	return r < 0 ? r : cell_start(c->host, &spec, ops, arg, ret, e);
}
