/* SPDX-License-Identifier: Apache-2.0 */
/* The duration of a start: from just before cell_start() to the first byte of the job's output. The
 * baseline is a manual `crun run` of the same bundle (root, mounts, namespaces, seccomp program,
 * limits), in which crun makes the control group.  A second baseline, `crun run` without a control
 * group, shows the cost of limits.  The three take turns, and each is first equally often.  The
 * first round only warms the caches.  Needs root and crun.
 *
 * usage: start [PAIRS [TARGET]]    default: 15 build/targets/healthy_fuzzer
 *
 * A signal ends the benchmark after the current run and cleans up.  After a SIGKILL the next start
 * cleans up. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cells/host.h"
#include "tests/bench/host.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define BENCH_DIR "/run/fuzzcell-bench"
/* The bare container's group, in each hierarchy; crun removes it. */
#define BARE_GROUP "/fuzzcell-bench"

enum { PAIRS = 15, PAIRS_MAX = 1000, JOBS = 2, RUN_S = 30, UID = 1700000 };
enum { CPU_MILLI = 1000, CPU_PERIOD_US = 100000, CPU_SHARES = 1024, PIDS = 64 };
#define MEMORY_BYTES (INT64_C(512) << 20)

enum kind { CELL, BARE, FREE, KIND_COUNT };
static const char *const kinds[] = {[CELL] = "cell", [BARE] = "bare", [FREE] = "free"};
static const char *const managers[] = {
    [BARE] = "--cgroup-manager=cgroupfs", [FREE] = "--cgroup-manager=disabled"};

struct bench {
	struct bench_host host;
	struct source *timer;
	struct cell_spec specs[JOBS];
	const char *shown[JOBS];
	uint64_t rounds, step; /* number of pairs + 1; number of finished runs of all kinds */
	uint64_t us[KIND_COUNT][PAIRS_MAX];
	/* The current run. */
	uint64_t begin_us, first_us;
	struct cell *cell;
	struct source *io, *child;
	int out;
	char said[200]; /* the beginning of its output */
	size_t n;
	/* The reason for an early end. */
	int signo;
	bool failed, late;
	struct err err;
};

static void next(struct bench *b);

static size_t job_of(const struct bench *b)
{
	return b->step / KIND_COUNT / b->rounds;
}

static uint64_t round_of(const struct bench *b)
{
	return b->step / KIND_COUNT % b->rounds;
}

/* Each round starts with another kind. */
static enum kind kind_of(const struct bench *b)
{
	return (enum kind)((b->step + round_of(b)) % KIND_COUNT);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median_ms(uint64_t *us, uint64_t n)
{
	qsort(us, n, sizeof(*us), by_value);
	return (double)(us[(n - 1) / 2] + us[n / 2]) / 2 / (double)USEC_PER_MSEC;
}

static void print_job(struct bench *b, size_t job)
{
	double ms[KIND_COUNT];

	for (unsigned k = 0; k < KIND_COUNT; k++)
		ms[k] = median_ms(b->us[k], b->rounds - 1);
	printf("   %s: cell %.1f ms, crun run %.1f ms, ratio %.2f (aim: within 1.2); "
	       "crun run without cgroups %.1f ms\n",
	       b->shown[job], ms[CELL], ms[BARE], ms[CELL] / ms[BARE], ms[FREE]);
	(void)fflush(stdout);
}

static void fail(struct bench *b) /* b->err has the reason */
{
	b->failed = true;
	loop_stop(b->host.loop);
}

static void heard(void *arg, struct slice bytes)
{
	struct bench *b = arg;
	size_t room = sizeof(b->said) - b->n;
	size_t n = bytes.n < room ? bytes.n : room;

	if (!b->first_us)
		b->first_us = clock_mono_us();
	memcpy(b->said + b->n, bytes.p, n);
	b->n += n;
}

/* Called at the end of a run; good: its job ended with status 0. */
static void done(struct bench *b, bool good, const char *why)
{
	size_t job = job_of(b);
	uint64_t round = round_of(b);
	enum kind kind = kind_of(b);

	if (!good || !b->first_us || b->late) {
		(void)err_set(&b->err, EPROTO, "%s, %s: %s%s; output: %.*s", b->shown[job],
			      kinds[kind], b->late ? "hangs; " : "", why, (int)b->n, b->said);
		fail(b);
		return;
	}
	if (round > 0)
		b->us[kind][round - 1] = b->first_us - b->begin_us;
	b->step++;
	if (job_of(b) != job)
		print_job(b, job);
	next(b);
}

/* In a cell --------------------------------------------------------------- */

static void on_cell_ended(void *arg, const struct cell_end *end)
{
	struct bench *b = arg;

	b->cell = NULL;
	done(b, end->how == CELL_EXITED && end->code == 0 && !end->why[0], end->why);
}

static int start_cell(struct bench *b, struct err *e)
{
	static const struct cell_ops ops = {.output = heard, .ended = on_cell_ended};
	struct cell_spec spec = b->specs[job_of(b)];

	spec.id = kinds[CELL];
	b->begin_us = clock_mono_us();
	return cell_start(b->host.cells, &spec, &ops, b, &b->cell, e);
}

/* With crun alone --------------------------------------------------------- */

static void bundle_name(size_t job, enum kind kind, char out[32])
{
	(void)snprintf(out, 32, "%s-%zu", kinds[kind], job);
}

/* Runs between fork and exec.  crun 1.8.1 refuses a hybrid machine (cells/crun.c), so a user would
 * have to hide the v2 tree, too. */
static int hide_v2(void *arg)
{
	(void)arg;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0)
		return 0;
	return errno == EINVAL || errno == ENOENT ? 0 : -1; /* not mounted: nothing to hide */
}

static int spawn_crun(const struct bench *b, const char *const *argv, int out, pid_t *ret,
		      struct err *e)
{
	struct proc_spec spec = PROC_SPEC_INIT;

	spec.argv = argv;
	spec.env = b->specs[0].env;
	spec.stdout_fd = out;
	spec.stderr_fd = out;
	if (cgroup_tree_layout(b->host.tree) == CGROUP_HYBRID)
		spec.prepare = hide_v2;
	return proc_spawn(&spec, ret, e);
}

/* Ends the container of a failed or hanging run; crun run itself then ends. */
static void delete_bare(const struct bench *b, enum kind kind)
{
	char name[32];
	const char *argv[] = {
	    "crun", "--root", BENCH_DIR "/crun", managers[kind], "delete", "--force", name, NULL};
	struct err e;
	pid_t pid;

	bundle_name(job_of(b), kind, name);
	if (spawn_crun(b, argv, -1, &pid, &e) == 0)
		(void)waitpid(pid, NULL, 0);
}

static void drop_bare(struct bench *b)
{
	source_remove(take_ptr(&b->io));
	source_remove(take_ptr(&b->child));
	if (b->out >= 0)
		close(take_fd(&b->out));
}

static void on_bare_output(void *arg, uint32_t events)
{
	struct bench *b = arg;
	char buf[4096];
	ssize_t n = sys_read(b->out, buf, sizeof(buf));

	(void)events;
	if (n > 0)
		heard(b, (struct slice){buf, (size_t)n});
	else
		source_remove(take_ptr(&b->io));
}

static void on_bare_exit(void *arg, pid_t pid, int status)
{
	struct bench *b = arg;
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	(void)pid;
	drop_bare(b);
	if (!good)
		delete_bare(b, kind_of(b));
	done(b, good, good ? "" : "crun run failed");
}

static int start_bare(struct bench *b, enum kind kind, struct err *e)
{
	char name[32], dir[96];
	const char *argv[] = {
	    "crun", "--root", BENCH_DIR "/crun", managers[kind], "run", "--bundle", dir,
	    name,   NULL};
	_autoclose_ int wr = -1;
	int p[2], r;
	pid_t pid;

	bundle_name(job_of(b), kind, name);
	(void)snprintf(dir, sizeof(dir), BENCH_DIR "/host/cells/%s", name);
	b->begin_us = clock_mono_us();
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	b->out = p[0];
	wr = p[1];
	r = loop_add_io(b->host.loop, b->out, EPOLLIN, on_bare_output, b, &b->io, e);
	if (r == 0)
		r = spawn_crun(b, argv, wr, &pid, e);
	if (r < 0)
		return r;
	r = loop_add_child(b->host.loop, pid, on_bare_exit, b, &b->child, e);
	if (r < 0) /* crun ends by itself, and cleans up */
		(void)waitpid(pid, NULL, 0);
	return r;
}

/* The sequence of runs ----------------------------------------------------- */

static void next(struct bench *b)
{
	enum kind kind = kind_of(b);
	int r;

	if (b->signo || b->step == JOBS * KIND_COUNT * b->rounds) {
		loop_stop(b->host.loop);
		return;
	}
	b->first_us = 0;
	b->n = 0;
	r = loop_set_timer(b->timer, clock_mono_us() + RUN_S * USEC_PER_SEC, &b->err);
	if (r == 0)
		r = kind == CELL ? start_cell(b, &b->err) : start_bare(b, kind, &b->err);
	if (r < 0)
		fail(b);
}

static void on_late(void *arg)
{
	struct bench *b = arg;
	struct err e;

	b->late = true;
	if (kind_of(b) != CELL)
		delete_bare(b, kind_of(b));
	else if (!b->cell || cell_kill(b->cell, &e) < 0)
		fail(b); /* closing the tree removes the group */
}

static void on_signal(void *arg, int signo)
{
	struct bench *b = arg;

	b->signo = signo;
}

/* Setup and cleanup -------------------------------------------------------- */

/* Adds the limits that cgroup_new() sets for a cell; removes our listener and our process 1. */
static int make_bare(json_t *config, enum kind kind, struct err *e)
{
	json_t *args = json_object_get(json_object_get(config, "process"), "args");
	int r = json_array_remove(args, 0);

	if (r == 0)
		r = json_object_del(json_object_get(config, "annotations"),
				    "run.oci.seccomp.receiver");

	if (r == 0 && kind == BARE)
		r = json_object_update_new(
		    json_object_get(config, "linux"),
		    json_pack("{s:s, s:{s:{s:I, s:I}, s:{s:i, s:i, s:i}, s:{s:i}}}", "cgroupsPath",
			      BARE_GROUP, "resources", "memory", "limit", (json_int_t)MEMORY_BYTES,
			      "swap", (json_int_t)MEMORY_BYTES, "cpu", "quota",
			      CPU_MILLI * (CPU_PERIOD_US / 1000), "period", CPU_PERIOD_US, "shares",
			      CPU_SHARES, "pids", "limit", PIDS));
	return r < 0 ? err_set(e, EINVAL, "cannot change the cell's description") : 0;
}

/* Uses the functions that make a cell's bundle, so that both kinds start the same. */
static int make_bundle(struct bench *b, size_t job, enum kind kind, struct err *e)
{
	struct cell_spec spec = b->specs[job];
	_autojson_ json_t *config = NULL;
	_autofree_ char *text = NULL;
	_autoclose_ int fd = -1;
	char name[32];
	int r;

	bundle_name(job, kind, name);
	spec.id = name;
	r = cell_host_bundle(b->host.cells, &spec, &fd, e);
	if (r == 0)
		r = json_load(fd, "config.json", 1 << 20, &config, e);
	if (r == 0)
		r = make_bare(config, kind, e);
	if (r == 0)
		r = json_print(config, 0, &text, e);
	return r < 0 ? r : fs_replace(fd, "config.json", slice_of(text), e);
}

static int set_up(struct bench *b, struct err *e)
{
	int r = bench_host_make(&b->host, BENCH_DIR, "bench-start", on_signal, b, e);

	if (r == 0) /* the state of a killed predecessor */
		r = fs_remove_tree(b->host.dir_fd, "crun", e);
	if (r == 0)
		r = loop_add_timer(b->host.loop, UINT64_MAX, on_late, b, &b->timer, e);
	for (size_t i = 0; r == 0 && i < 2 * JOBS; i++)
		r = make_bundle(b, i / 2, i % 2 ? FREE : BARE, e);
	return r;
}

static int tear_down(struct bench *b, struct err *e)
{
	drop_bare(b);
	source_remove(b->timer);
	return bench_host_clear(&b->host, e);
}

static int run(struct bench *b)
{
	struct err e;
	int r = set_up(b, &b->err);

	if (r == 0) {
		next(b);
		r = loop_run(b->host.loop, &b->err);
	}
	b->failed |= r < 0;
	if (b->failed)
		(void)fprintf(stderr, "start: %s\n", b->err.msg);
	r = tear_down(b, &e);
	if (r < 0)
		(void)fprintf(stderr, "start: %s\n", e.msg);
	return b->signo ? 128 + b->signo : b->failed || r < 0;
}

/* The same cell as in a run, but without the corpus. */
static struct cell_spec spec_for(const char *const *argv)
{
	static const char *const env[] = {"PATH=/bin", "ASAN_OPTIONS=detect_leaks=0", NULL};

	return (struct cell_spec){
	    .argv = argv,
	    .env = env,
	    .cwd = "/tmp",
	    .tmp_bytes = 64 << 20,
	    .file_bytes = 64 << 20,
	    .files_max = 1024,
	    .uid = UID,
	    .gid = UID,
	    .limits = {.memory_max = (uint64_t)MEMORY_BYTES,
		       .cpu_milli = CPU_MILLI,
		       .cpu_weight = 100,
		       .pids_max = PIDS},
	};
}

int main(int argc, char **argv)
{
	static const char *const echo[] = {"/bin/echo", "up", NULL};
	static const char *const fuzzer[] = {"/target/fuzzer", "-runs=1", NULL};
	_autofree_ char *target =
	    realpath(argc > 2 ? argv[2] : "build/targets/healthy_fuzzer", NULL);
	struct cell_mount mount = {.source = target, .target = fuzzer[0], .exec = true};
	struct slice text = slice_of(argc > 1 ? argv[1] : "");
	static struct bench b = {.out = -1};
	uint64_t pairs = PAIRS;

	if (argc > 3 || (argc > 1 && (!scan_u64(&text, 10, PAIRS_MAX, &pairs) || text.n > 0)) ||
	    pairs == 0 || !target) {
		(void)fprintf(stderr, "usage: start [PAIRS [TARGET]]\n");
		return 2;
	}
	b.rounds = pairs + 1;
	b.specs[0] = spec_for(echo);
	b.shown[0] = echo[0];
	b.specs[1] = spec_for(fuzzer);
	b.specs[1].mounts = &mount;
	b.specs[1].n_mounts = 1;
	b.shown[1] = strrchr(target, '/') + 1;
	return run(&b);
}
