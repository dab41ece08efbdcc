/* SPDX-License-Identifier: Apache-2.0 */
/* `fuzzcell slurm`: rounds of shards as array jobs of Slurm. In the state directory:
 *
 *	slurm/<round>/plan.json		the plan
 *	slurm/<round>/shard.sh		the array job; shard-<number>.log: its output
 *	slurm/<round>/collect.sh	the job after it; collect.log
 *	slurm/<round>/job.json		the numbers of both jobs
 *	slurm/<round>/deltas/		what the shards delivered and no one collected yet
 *	slurm/stop			no further round is submitted
 */
#include "runner/command/rounds/slurm.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "base/tool.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/shell.h"
#include "runner/command/rounds/rounds.h"
#include "runner/rounds/past.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A shard needs some time after its run: for the last merge, and the last delta. */
#define AFTER_US (300 * USEC_PER_SEC)
/* Of fuzzcell itself, beside its cells. */
#define OWN_MEMORY (UINT64_C(256) << 20)

enum { OUTPUT_MAX = 16 << 20, TOOL_US = 120 * 1000000 };

/* --- Slurm's programs ------------------------------------------------------------------- */

static int keep_output(void *arg, struct slice block, struct err *e)
{
	buf_put(arg, block);
	return buf_check(arg, e);
}

/* The user's settings for Slurm, but none of a job that we may be in. */
static void slurm_environment(struct strv *ret)
{
	static const char *const names[] = {"SLURM_CONF", "SLURM_CLUSTERS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			strv_pushf(ret, "%s=%s", names[i], getenv(names[i]));
	for (char **v = environ; *v && ret->n < TOOL_ENV_MORE; v++)
		if (strncmp(*v, "SBATCH_", 7) == 0)
			strv_push(ret, *v);
}

int slurm_call(const char *const *argv, struct buf *out, struct err *e)
{
	_autostrv_ struct strv env = {0};
	_autoclose_ int dir = sys_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
	struct tool t = {.argv = argv,
			 .dir = dir,
			 .env = &env,
			 .time_us = TOOL_US,
			 .out = keep_output,
			 .arg = out,
			 .log_fd = -1};
	_autofree_ struct tool_end *end = xcalloc(1, sizeof(*end));
	int r;

	if (dir < 0)
		return err_sys(e, "open the working directory");
	slurm_environment(&env);
	r = tool_run(&t, end, e);
	if (r == -ENOENT)
		return err_set(e, ENOENT, "no program '%s': is Slurm installed here?", argv[0]);
	if (r < 0)
		return err_wrap(e, "%s", argv[0]);
	if (end->status != 0)
		return err_set(e, EIO, "%s failed: %.*s", argv[0], (int)end->errors_n, end->errors);
	return 0;
}

/* --- rounds in the state ------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

int slurm_rounds(int state_dirfd, uint64_t **ret, size_t *ret_n, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state_dirfd, "slurm");
	const struct dirent *ent;
	uint64_t *v = NULL;
	size_t n = 0;

	while (d && (ent = sys_readdir(d))) {
		struct slice in = slice_of(ent->d_name);
		uint64_t round;

		if (!scan_u64(&in, 10, ROUND_MAX, &round) || in.n > 0)
			continue;
		v = xreallocarray(v, n + 1, sizeof(*v));
		v[n++] = round;
	}
	if (errno && errno != ENOENT) {
		free(v);
		return err_sys(e, "list 'slurm'");
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), by_number);
	*ret = v;
	*ret_n = n;
	return 0;
}

int slurm_load(int state_dirfd, uint64_t round, struct slurm_round *ret, struct err *e)
{
	_autofree_ char *path = xasprintf("slurm/%llu/job.json", (unsigned long long)round);
	_autojson_ json_t *j = NULL;
	int r = json_load(state_dirfd, path, 65536, &j, e);

	if (r < 0)
		return r;
	*ret = (struct slurm_round){.round = round,
				    .shards = (unsigned)json_get_u64(j, "shards"),
				    .array = json_get_u64(j, "array"),
				    .collect = json_get_u64(j, "collect"),
				    .submitted = json_get_u64(j, "submitted")};
	snprintf(ret->plan, sizeof(ret->plan), "%s", json_get_text(j, "plan"));
	if (ret->array == 0 || ret->shards == 0 || ret->shards > SHARDS_MAX_COUNT)
		return err_set(e, EBADMSG, "'%s' is damaged", path);
	return 0;
}

/* --- submitting ------------------------------------------------------------------------------ */

struct submit {
	struct session session;
	struct plan_wish wish;
	const char *rounds;
	uint64_t interval_us;
	bool continuous, json;
	char *const *more; /* sbatch's options for both jobs */
	struct round_plan plan;
	char *dir; /* absolute: of the round */
	char *program, *targets;
	struct common_paths paths;
	struct slurm_round jobs;
};

#define AT(member) OPTION_AT(struct submit, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct submit, session.common),
    {"shards", "N", "tasks of the array job", AT(wish.shards)},
    {"time", "TIME", "wall time of each shard (default: run.total_time, else one hour)",
     OPTION_TIME, offsetof(struct submit, wish.time_us)},
    {"workers", "N", "cells at once in each shard, and its CPUs (default: run.workers)",
     AT(wish.workers)},
    {"delta-interval", "TIME", "each shard makes a delta so often (default: 5m)", OPTION_TIME,
     offsetof(struct submit, interval_us)},
    {"rounds", "N", "submit so many rounds, one after the other (default: 1)", AT(rounds)},
    {"continuous", NULL, "submit rounds until `fuzzcell slurm cancel`", AT(continuous)},
    {"json", NULL, "print JSON", AT(json)},
};

static uint64_t rounds_of(const struct submit *a)
{
	struct slice in = a->rounds ? slice_of(a->rounds) : SLICE("1");
	uint64_t n;

	return scan_u64(&in, 10, 1000000, &n) && in.n == 0 ? n : 0;
}

/* The next number that no round of the state, or of Slurm, has. */
static int next_round(const struct submit *a, uint64_t *ret, struct err *e)
{
	const struct state *s = a->session.state;
	_autofree_ uint64_t *v = NULL;
	size_t n = 0;
	int r = past_next_round(s, ret, e);

	if (r == 0)
		r = slurm_rounds(s->dirfd, &v, &n, e);
	if (r == 0 && n > 0 && v[n - 1] >= *ret)
		*ret = v[n - 1] + 1;
	return r;
}

static void add_option(struct buf *b, const char *option, const char *value)
{
	if (!value)
		return;
	buf_printf(b, " %s ", option);
	shell_quote(value, b);
}

static void add_paths(const struct submit *a, struct buf *b)
{
	add_option(b, "--config", a->paths.config);
	add_option(b, "--targets", a->targets);
}

static void add_interval(const struct submit *a, struct buf *b)
{
	if (a->interval_us > 0)
		buf_printf(b, " --delta-interval %llums",
			   (unsigned long long)(a->interval_us / USEC_PER_MSEC));
}

/* On a node: the shard's state is on its local disk, and stays there until all is delivered. */
static void shard_script(const struct submit *a, struct buf *b)
{
	buf_puts(b, "#!/bin/sh\n"
		    "local=${TMPDIR:-/tmp}/fuzzcell-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID\n"
		    "# Other users may write to its parent, and know its name.\n"
		    "mkdir -m 0700 \"$local\" 2>/dev/null || { [ -O \"$local\" ] && [ ! -L "
		    "\"$local\" ]; } || {\n"
		    "\techo \"fuzzcell: '$local' belongs to another user\" >&2\n"
		    "\texit 3\n"
		    "}\n");
	shell_quote(a->program, b);
	buf_puts(b, " run --plain --no-build --state-dir \"$local\"");
	add_option(b, "--base", a->session.state->path);
	buf_puts(b, " --plan ");
	shell_quote(a->dir, b);
	buf_puts(b, "/plan.json --deltas ");
	shell_quote(a->dir, b);
	buf_puts(b, "/deltas");
	add_paths(a, b);
	add_interval(a, b);
	buf_puts(b, " &\n"
		    "pid=$!\n"
		    "trap 'kill -TERM \"$pid\"' TERM INT\n"
		    "while :; do\n"
		    "\twait \"$pid\"\n"
		    "\tstatus=$?\n"
		    "\tkill -0 \"$pid\" 2>/dev/null || break\n"
		    "done\n"
		    "# What could not be delivered stays.\n"
		    "[ -n \"$(ls \"$local/deltas\" 2>&1)\" ] || rm -rf \"$local\"\n"
		    "exit \"$status\"\n");
}

/* How the collect job submits the next round; nothing if it is the last. */
static void next_script(const struct submit *a, struct buf *b)
{
	uint64_t left = rounds_of(a) - 1;

	if (left == 0 && !a->continuous)
		return;
	buf_puts(b, "[ -e ");
	shell_quote(a->session.state->path, b);
	buf_puts(b, "/slurm/stop ] || ");
	shell_quote(a->program, b);
	buf_puts(b, " slurm submit");
	add_option(b, "--state-dir", a->session.state->path);
	add_paths(a, b);
	add_option(b, "--filter", a->session.common.filter);
	buf_printf(b, " --shards %u --workers %u --time %llus", a->plan.shards, a->plan.workers,
		   (unsigned long long)(a->plan.time_us / USEC_PER_SEC));
	add_interval(a, b);
	if (a->continuous)
		buf_puts(b, " --continuous");
	else
		buf_printf(b, " --rounds %llu", (unsigned long long)left);
	if (*a->more)
		buf_puts(b, " --");
	for (char *const *v = a->more; *v; v++) {
		buf_puts(b, " ");
		shell_quote(*v, b);
	}
	buf_puts(b, "\n");
}

/* Also deltas of earlier rounds, which nothing else would collect after their collector failed. */
static void collect_script(const struct submit *a, struct buf *b)
{
	buf_puts(b, "#!/bin/sh\n");
	shell_quote(a->program, b);
	buf_puts(b, " collect --remove");
	add_option(b, "--state-dir", a->session.state->path);
	buf_puts(b, " --plan ");
	shell_quote(a->dir, b);
	buf_puts(b, "/plan.json");
	add_paths(a, b);
	buf_puts(b, " ");
	shell_quote(a->session.state->path, b);
	buf_puts(b, "/slurm/*/deltas\nstatus=$?\n");
	next_script(a, b);
	buf_puts(b, "exit \"$status\"\n");
}

static int write_script(int dir, const char *name, const struct submit *a,
			void (*script)(const struct submit *, struct buf *), struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	int r;

	script(a, &b);
	r = buf_check(&b, e);
	return r < 0 ? r : fs_replace(dir, name, buf_slice(&b), e);
}

static int write_round(struct submit *a, struct err *e)
{
	_autofree_ char *path = xasprintf("slurm/%llu", (unsigned long long)a->plan.round);
	_autojson_ json_t *plan = round_plan_json(&a->plan);
	_autofree_ char *text = NULL, *deltas = xasprintf("%s/deltas", path);
	_autoclose_ int dir = -1;
	int state = a->session.state->dirfd;
	int r = fs_mkdirs(state, deltas, 0750, e);

	a->dir = xasprintf("%s/%s", a->session.state->path, path);
	if (r == 0)
		r = fs_open_dir(state, path, &dir, e);
	if (r == 0)
		r = json_print(plan, 1, &text, e);
	if (r == 0)
		r = fs_replace(dir, "plan.json", slice_of(text), e);
	if (r == 0)
		r = write_script(dir, "shard.sh", a, shard_script, e);
	return r == 0 ? write_script(dir, "collect.sh", a, collect_script, e) : r;
}

/* The largest share: all tasks of an array get the same. */
static uint64_t megabytes(const struct round_plan *p)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < p->shards; i++)
		most = p->v[i].memory > most ? p->v[i].memory : most;
	return (most + most / 10 + OWN_MEMORY) >> 20;
}

static int sbatch(struct submit *a, const struct strv *options, const char *script,
		  uint64_t *ret_job, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	_autofree_ const char **argv = NULL;
	_autofree_ char *path = xasprintf("%s/%s", a->dir, script);
	size_t n = 0, more = 0;
	struct slice in;
	int r;

	while (a->more[more])
		more++;
	argv = xcalloc(options->n + more + 5, sizeof(*argv));
	argv[n++] = "sbatch";
	argv[n++] = "--parsable";
	for (size_t i = 0; i < options->n; i++)
		argv[n++] = options->v[i];
	for (size_t i = 0; i < more; i++)
		argv[n++] = a->more[i];
	argv[n++] = path;
	r = slurm_call(argv, &out, e);
	if (r < 0)
		return r;
	in = buf_slice(&out);
	if (!scan_u64(&in, 10, UINT32_MAX, ret_job))
		return err_set(e, EBADMSG, "sbatch printed no job's number: %.100s", buf_str(&out));
	return 0;
}

/* Slurm reads "%a" and others in the whole path (sbatch(1), filename pattern). */
static void push_output(const struct submit *a, const char *name, struct strv *o)
{
	_autobuf_ struct buf b = BUF_INIT(16384);

	for (const char *p = a->dir; *p; p++)
		buf_printf(&b, *p == '%' ? "%%%%" : "%c", *p);
	strv_pushf(o, "--output=%s/%s", buf_str(&b), name);
}

static int submit_array(struct submit *a, struct err *e)
{
	_autostrv_ struct strv o = {0};
	const struct round_plan *p = &a->plan;
	unsigned long long minutes = (p->time_us + AFTER_US) / (60 * USEC_PER_SEC) + 1;

	strv_pushf(&o, "--job-name=fuzzcell-r%llu", (unsigned long long)p->round);
	strv_pushf(&o, "--array=1-%u", p->shards);
	strv_pushf(&o, "--cpus-per-task=%u", p->workers);
	strv_pushf(&o, "--mem=%lluM", (unsigned long long)megabytes(p));
	strv_pushf(&o, "--time=%llu", minutes);
	strv_push(&o, "--requeue");
	strv_push(&o, "--open-mode=append");
	strv_push(&o, "--signal=B:TERM@90"); /* to deliver the last delta */
	push_output(a, "shard-%a.log", &o);
	return sbatch(a, &o, "shard.sh", &a->jobs.array, e);
}

static int submit_collect(struct submit *a, struct err *e)
{
	_autostrv_ struct strv o = {0};
	const struct round_plan *p = &a->plan;

	strv_pushf(&o, "--job-name=fuzzcell-collect-r%llu", (unsigned long long)p->round);
	strv_pushf(&o, "--dependency=afterany:%llu", (unsigned long long)a->jobs.array);
	strv_pushf(&o, "--cpus-per-task=%u", p->workers);
	strv_pushf(&o, "--mem=%lluM", (unsigned long long)megabytes(p));
	strv_push(&o, "--requeue");
	strv_push(&o, "--open-mode=append");
	push_output(a, "collect.log", &o);
	return sbatch(a, &o, "collect.sh", &a->jobs.collect, e);
}

static json_t *jobs_json(const struct submit *a)
{
	return json_pack("{s:i, s:I, s:s, s:I, s:I, s:I, s:I}", "v", 1, "round",
			 (json_int_t)a->plan.round, "plan", a->plan.id, "shards",
			 (json_int_t)a->plan.shards, "array", (json_int_t)a->jobs.array, "collect",
			 (json_int_t)a->jobs.collect, "submitted",
			 (json_int_t)(clock_real_us() / USEC_PER_SEC));
}

static int note_jobs(struct submit *a, struct err *e)
{
	_autofree_ char *path = xasprintf("slurm/%llu", (unsigned long long)a->plan.round);
	_autojson_ json_t *j = jobs_json(a);
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	int r = json_print(j, 0, &text, e);

	if (r == 0)
		r = fs_open_dir(a->session.state->dirfd, path, &dir, e);
	return r == 0 ? fs_replace(dir, "job.json", slice_of(text), e) : r;
}

/* An array without a collector would be of no use. */
static void take_back(const struct submit *a)
{
	_autofree_ char *path = xasprintf("slurm/%llu", (unsigned long long)a->plan.round);
	_autobuf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	struct err none;
	char job[32];

	snprintf(job, sizeof(job), "%llu", (unsigned long long)a->jobs.array);
	if (a->jobs.array > 0)
		(void)!slurm_call((const char *const[]){"scancel", job, NULL}, &out, &none);
	(void)!fs_remove_tree(a->session.state->dirfd, path, &none);
}

static int submit_jobs(struct submit *a, struct err *e)
{
	int r = write_round(a, e);

	if (r == 0)
		r = submit_array(a, e);
	if (r == 0)
		r = submit_collect(a, e);
	if (r == 0)
		r = note_jobs(a, e);
	if (r < 0)
		take_back(a);
	return r;
}

/* Absolute paths for the scripts. */
static int find_paths(struct submit *a)
{
	char program[4096];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n <= 0)
		return fail(EXIT_MACHINE, "slurm submit: /proc/self/exe: %s", strerror(errno));
	program[n] = '\0';
	a->program = xstrdup(program);
	if (a->session.common.targets_dir) {
		/* allow: a user's path, not a target's */
		a->targets = realpath(a->session.common.targets_dir, NULL);
		if (!a->targets)
			return fail(EXIT_USAGE, "slurm submit: --targets %s: %s",
				    a->session.common.targets_dir, strerror(errno));
	}
	common_paths_find(&a->session.common, a->session.state->path, &a->paths);
	return EXIT_DONE;
}

static int submit_round(struct submit *a)
{
	struct session *s = &a->session;
	struct err e;
	int r = plan_targets(s);

	if (r != EXIT_DONE)
		return r;
	state_close(s->state);
	s->state = NULL;
	r = session_make(s);
	if (r == EXIT_DONE)
		r = find_paths(a);
	if (r == EXIT_DONE && next_round(a, &a->wish.round, &e) < 0)
		r = fail(EXIT_MACHINE, "slurm submit: %s", e.msg);
	if (r == EXIT_DONE)
		r = plan_divide(s, &a->wish, &a->plan);
	if (r != EXIT_DONE)
		return r;
	if (sys_unlinkat(s->state->dirfd, "slurm/stop", 0) < 0 && errno != ENOENT)
		return fail(EXIT_MACHINE, "slurm submit: remove 'slurm/stop': %s", strerror(errno));
	if (submit_jobs(a, &e) < 0)
		return fail(EXIT_MACHINE, "slurm submit: %s", e.msg);
	plan_print(&a->plan, s->plan.n);
	printf("submitted: array job %llu, then job %llu collects (fuzzcell slurm status)\n",
	       (unsigned long long)a->jobs.array, (unsigned long long)a->jobs.collect);
	return EXIT_DONE;
}

int slurm_submit(int argc, char **argv)
{
	struct submit a = {.wish.command = "slurm submit"};
	int at =
	    options_parse(argc, argv, "slurm submit --shards N [OPTION]... [-- SBATCH_OPTION...]",
			  specs, sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r = EXIT_DONE;

	if (at < 0)
		return -1 - at;
	a.more = argv + at;
	for (char *const *v = a.more; *v; v++)
		if (**v != '-')
			return fail(EXIT_USAGE,
				    "slurm submit: '%s': behind \"--\" are options of sbatch, like "
				    "--partition=NAME",
				    *v);
	if (rounds_of(&a) == 0)
		return fail(EXIT_USAGE, "slurm submit: --rounds: '%s' is not a number of rounds",
			    a.rounds);
	if (a.rounds && a.continuous)
		return fail(EXIT_USAGE, "slurm submit: either --rounds or --continuous");
	begun = answer_begin(a.json);
	r = submit_round(&a);
	if (r == EXIT_DONE)
		j = jobs_json(&a);
	round_plan_done(&a.plan);
	common_paths_done(&a.paths);
	free(a.dir);
	free(a.program);
	free(a.targets);
	session_close(&a.session);
	return answer_end(begun, j, r);
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct command subcommands[] = {
    {"submit", "--shards N [OPTION]...", "submit a round of shards, and a job that collects",
     slurm_submit},
    {"status", "[OPTION]...", "show the rounds, their shards, and what they found", slurm_status},
    {"cancel", "[OPTION]...", "end the running rounds, and submit no further one", slurm_cancel},
};
enum { SUBCOMMANDS = sizeof(subcommands) / sizeof(subcommands[0]) };

static int slurm_help(void)
{
	printf("usage: fuzzcell slurm SUBCOMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		printf("  %-8s %-24s %s\n", subcommands[i].name, subcommands[i].args,
		       subcommands[i].help);
	return EXIT_DONE;
}

int command_slurm(int argc, char **argv)
{
	return command_pick(argc, argv, subcommands, SUBCOMMANDS, slurm_help);
}
