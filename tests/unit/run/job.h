/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_JOB_H
#define TESTS_RUN_JOB_H

/* A job with simulated cells, triage and merges, on the test's own clock.  The job's real child
 * processes are waited for.  Include unit.h first. */
#include "base/clock.h"
#include "base/task.h"
#include "runner/corpus/workdir.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/modules.h"
#include "runner/run/job/setup.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <sys/wait.h>

#define S UINT64_C(1000000)

static struct {
	uint64_t now;
	struct scratch dir;
	struct state state;
	struct run_dirs dirs;
	struct loop *loop;
	struct job_env env;
	struct target target;
	char binary[64];
	struct fleet_target fleet;
	struct target_config cfg;
	struct job job;
	unsigned failures, suspects;	 /* found by the next collection */
	char stats[400], stats_path[80]; /* the engine's file; once, and where it was read */
	int launch_fails;		 /* errno of the next launch, once */
	const char *task_fails;		 /* error of the next child, once */
	unsigned immortal; /* kills that its cell survives; the next kill ends the loop */
	struct cgroup_counters counters; /* of its cell, now */
	pid_t pid;			 /* of its process; 0: unknown yet */
	enum modules_look look;		 /* the result of reading its maps, and */
	uint64_t edges;			 /* the edges of its programs and libraries */
	uint64_t keeper_us;		 /* when the keeper kills its cell */
	/* What happened. */
	unsigned cells, triages, merges, requeued, dropped, forges, ended, killed, looks, parked;
	/* Called at the end of a parked cell. */
	void (*left_seat)(void *arg);
	struct triage_spec triage; /* the last one; */
	struct merge_spec merge;   /* and the last one of these */
	struct check_spec check;
	unsigned checks, check_stops;
	struct coverage_spec coverage;
	uint64_t real; /* clock_real_us(); 0: a few seconds */
	unsigned coverages, coverage_stops;
	char coverage_work[300]; /* coverage.work */
	uint64_t check_left;	 /* CPU time of the target's other builds */
} w;

/* --- the simulation --------------------------------------------------------- */

uint64_t clock_mono_us(void)
{
	return w.now;
}

uint64_t clock_real_us(void)
{
	return w.real ? w.real : 7 * S;
}

/* 'k' and the result, or 'f' and the error. */
static inline void in_the_child(task_fn *fn, void *arg, int to)
{
	struct buf out = BUF_INIT(TASK_RESULT_MAX);
	struct err e;
	struct slice text;
	int r = fn(arg, &out, &e);

	text = r < 0 ? slice_of(e.msg) : buf_slice(&out);
	if (write(to, r < 0 ? "f" : "k", 1) != 1 || write(to, text.p, text.n) != (ssize_t)text.n)
		_exit(1);
	_exit(0);
}

int task_start(struct loop *l, task_fn *fn, void *fn_arg, task_done_fn *done, void *done_arg,
	       struct task **ret, struct err *e)
{
	char result[16384];
	size_t n = 0;
	ssize_t got;
	int fds[2], status;
	pid_t pid;

	(void)l;
	(void)e;
	*ret = NULL;
	if (w.task_fails) {
		const char *failed = w.task_fails;

		w.task_fails = NULL;
		done(done_arg, SLICE(""), failed);
		return 0;
	}
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		in_the_child(fn, fn_arg, fds[1]);
	close(fds[1]);
	while ((got = read(fds[0], result + n, sizeof(result) - 1 - n)) > 0)
		n += (size_t)got;
	close(fds[0]);
	result[n] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	done(done_arg, (struct slice){result + 1, n - 1}, *result == 'f' ? result + 1 : NULL);
	return 0;
}

/* No child of task_start() is left. */
void task_finish(struct task *t, uint64_t until_us)
{
	(void)until_us;
	assert_null(t);
}

int workdir_prepare(const struct workdir_prepare *p, struct workdir_seeds *ret, char note[200],
		    struct err *e)
{
	(void)e;
	assert_string_equal(p->target, "t");
	*ret = (struct workdir_seeds){0};
	*note = '\0';
	close(p->corpus);
	return 0;
}

/* The next statistics of an engine that writes them to a file. */
size_t workdir_read(int work, const char *path, struct file_id *io, size_t cap, char *text)
{
	size_t n = strlen(w.stats);

	(void)work;
	(void)io;
	assert_true(n <= cap);
	memcpy(text, w.stats, n);
	if (n > 0)
		snprintf(w.stats_path, sizeof(w.stats_path), "%s", path);
	*w.stats = '\0';
	return n;
}

int workdir_collect(const struct workdir_collect *c, struct workdir_found *ret, struct buf *names,
		    struct err *e)
{
	(void)e;
	assert_string_equal(c->target, "t");
	*ret = (struct workdir_found){.inputs = 1, .failures = w.failures, .suspects = w.suspects};
	close(c->corpus);
	buf_puts(names, "crash-1\n");
	return 0;
}

uid_t fuzzing_uid(const struct job *j)
{
	(void)j;
	return 1;
}

bool setup_flag_holds(const struct target_config *cfg, const char *flag)
{
	(void)cfg;
	(void)flag;
	return true;
}

gid_t setup_gid(uid_t uid)
{
	return uid;
}

int fuzzing_launch(struct job *j, const struct cell_ops *ops, struct fuzzing **ret, struct err *e)
{
	struct fuzzing *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	if (w.launch_fails) {
		int code = w.launch_fails;

		free(a);
		w.launch_fails = 0;
		return err_set(e, code, "make a pipe: %s", strerror(code));
	}
	assert_ptr_equal(ops, &job_cell_ops);
	assert_null(j->fuzzing);
	a->launched_us = w.now;
	a->may_take_us = j->cfg->input_timeout_us;
	a->cell = (void *)&w; /* its content is never read */
	w.cells++;
	a->lost.own = CRASH_OWN_NONE;
	*ret = a;
	return 0;
}

void fuzzing_free(const struct job *j, struct fuzzing *a)
{
	(void)j;
	if (a) {
		kept_output_done(&a->kept);
		crash_report_done(&a->report);
	}
	free(a);
}

void fuzzing_share(const struct fuzzing *a, struct cgroup_counters *io)
{
	io->usage_us -= a->from.usage_us;
	io->oom_kills -= a->from.oom_kills;
}

int fuzzing_read(const struct fuzzing *a, struct cgroup_counters *ret, struct err *e)
{
	int r = cell_read(a->cell, ret, e);

	fuzzing_share(a, ret);
	return r;
}

struct seat *seat_new(void)
{
	return (void *)&w; /* its content is never read */
}

void seat_park(struct seat *s)
{
	assert_non_null(s);
	w.parked++;
}

void seat_close(struct seat *s, void (*closed)(void *arg), void *arg)
{
	assert_non_null(s);
	assert_ptr_equal(arg, &w.job);
	w.left_seat = closed;
}

int cell_signal(struct cell *c, int signo, struct err *e)
{
	(void)c;
	(void)signo;
	(void)e;
	return 0;
}

int cell_kill(struct cell *c, struct err *e)
{
	(void)c;
	if (++w.killed <= w.immortal)
		return err_set(e, EMFILE, "no descriptor for it");
	loop_stop(w.loop);
	return 0;
}

pid_t cell_pid(const struct cell *c)
{
	(void)c;
	return w.pid;
}

enum modules_look modules_edges(pid_t pid, uint64_t *ret)
{
	assert_int_equal(pid, w.pid);
	w.looks++;
	*ret = w.edges;
	return w.look;
}

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	w.keeper_us = until_us;
	return cell_signal(c, 0, e);
}

bool cell_watchdog_works(const struct cell *c)
{
	(void)c;
	return false;
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	(void)alone;
	(void)alone_us;
	return cell_signal(c, 0, e);
}

int cell_freeze(struct cell *c, bool frozen, struct err *e)
{
	(void)frozen;
	return cell_signal(c, 0, e);
}

int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e)
{
	*ret = w.counters;
	return cell_signal(c, 0, e);
}

int triage_start(const struct triage_env *env, const struct triage_spec *spec, struct triage **ret,
		 struct err *e)
{
	static int some;

	(void)e;
	assert_ptr_equal(env, &w.env.triage_env);
	w.triage = *spec;
	w.triages++;
	*ret = (struct triage *)(void *)&some;
	return 0;
}

void triage_stop(struct triage *t)
{
	assert_non_null(t);
}

int merge_start(const struct merge_env *env, const struct merge_spec *spec, struct merge **ret,
		struct err *e)
{
	static int some;

	(void)e;
	assert_ptr_equal(env, &w.env.merge_env);
	w.merge = *spec;
	w.merges++;
	*ret = (struct merge *)(void *)&some;
	return 0;
}

void merge_stop(struct merge *m)
{
	assert_non_null(m);
}

bool check_is_wanted(const struct target *t, const struct target_config *cfgs)
{
	(void)cfgs;
	return t->n_variants > 0;
}

int check_start(const struct triage_env *env, const struct check_spec *spec, struct check **ret,
		struct err *e)
{
	static int some;

	(void)e;
	assert_ptr_equal(env, &w.env.triage_env);
	w.check = *spec;
	w.checks++;
	*ret = (struct check *)(void *)&some;
	return 0;
}

void check_stop(struct check *c)
{
	assert_non_null(c);
	w.check_stops++;
}

int coverage_start(const struct coverage_env *env, const struct coverage_spec *spec,
		   struct coverage **ret, struct err *e)
{
	static int some;

	(void)e;
	assert_ptr_equal(env, &w.env.coverage_env);
	w.coverage = *spec;
	snprintf(w.coverage_work, sizeof(w.coverage_work), "%s", spec->work);
	w.coverages++;
	*ret = (struct coverage *)(void *)&some;
	return 0;
}

void coverage_stop(struct coverage *c)
{
	assert_non_null(c);
	w.coverage_stops++;
}

/* --- the run ---------------------------------------------------------------- */

static inline uint64_t check_left(void *arg)
{
	(void)arg;
	return w.check_left;
}

static inline uint64_t check_begin(void *arg, uint64_t most_us)
{
	uint64_t left = check_left(arg);

	return left < most_us ? left : most_us;
}

static inline void check_ended(void *arg, uint64_t budget_us, uint64_t used_us)
{
	(void)arg;
	assert_true(used_us <= budget_us);
	w.check_left -= used_us;
}

static inline void on_news(void *arg, struct job *j, enum job_news n)
{
	(void)arg;
	(void)j;
	w.requeued += n == JOB_REQUEUED;
	w.dropped += n == JOB_DROPPED;
	w.forges += n == JOB_FORGES;
	w.ended += n == JOB_ENDED;
}

static inline unsigned borrow_none(void *arg, const struct job *j, unsigned want)
{
	(void)arg;
	(void)j;
	(void)want;
	return 0;
}

static inline void give_back_none(void *arg, const struct job *j, unsigned lent)
{
	(void)arg;
	(void)j;
	assert_int_equal(lent, 0);
}

static inline void gave_none(void *arg, const struct job *j, uint64_t inputs)
{
	(void)arg;
	(void)j;
	(void)inputs;
}

/* A different size each time. */
static inline void build(const char *text)
{
	scratch_write(w.dir.fd, "binary", text);
}

static inline int open_dir(const char *name)
{
	struct err e;
	int fd;

	assert_int_equal(fs_mkdirs(w.dir.fd, name, 0755, &e), 0);
	assert_int_equal(fs_open_dir(w.dir.fd, name, &fd, &e), 0);
	return fd;
}

static inline int setup(void **state)
{
	char warning[300];
	struct err e;

	(void)state;
	w.now = 1000 * S;
	w.cfg = (struct target_config){.max_crashes = 100,
				       .disk = UINT64_C(1) << 31,
				       .grace_us = S,
				       .input_timeout_us = S,
				       .triage_us = 600 * S,
				       .minimize_us = 60 * S,
				       .merge_us = 60 * S};
	w.dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&w.dir);
	w.state = (struct state){.path = w.dir.path, .dirfd = w.dir.fd, .lock_fd = -1};
	w.dirs = (struct run_dirs){.id = "20240501-103000", .work_path = w.dir.path};
	w.dirs.logs = open_dir("logs");
	w.dirs.crashes = w.dirs.work = -1;
	snprintf(w.binary, sizeof(w.binary), "%s/binary", w.dir.path);
	w.target = (struct target){.binary = w.binary, .engine = &engine_libfuzzer};
	w.target.name = strdup("t");
	assert_non_null(w.target.name);
	assert_int_equal(loop_new(&w.loop, &e), 0);
	w.env = (struct job_env){.loop = w.loop,
				 .state = &w.state,
				 .dirs = &w.dirs,
				 .quarantine = -1,
				 .triage = open_dir("triage"),
				 .log_limit = 1 << 20,
				 .borrow = borrow_none,
				 .give_back = give_back_none,
				 .check_left = check_left,
				 .check_begin = check_begin,
				 .check_ended = check_ended,
				 .gave = gave_none,
				 .news = on_news};
	assert_int_equal(books_open(w.loop, &w.state, NULL, &w.env.triage_env.books, warning, &e),
			 0);
	build("one");
	job_init(&w.job, &w.env, &w.target, &w.cfg, NULL, 0, &w.fleet);
	job_load_progress(&w.job);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	job_done(&w.job);
	books_close(w.env.triage_env.books);
	loop_free(w.loop);
	close(w.dirs.logs);
	close(w.env.triage);
	free(w.target.name);
	target_config_done(&w.cfg);
	scratch_remove(&w.dir);
	memset(&w, 0, sizeof(w));
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* --- its phases ------------------------------------------------------------- */

static inline void triaged(struct triage_sum sum, unsigned took_s)
{
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
	w.now += took_s * S;
	w.triage.done(w.triage.arg, &sum);
}

static inline void merged(void)
{
	struct merge_result r = {.verdict = MERGE_REPLACED};

	assert_int_equal(w.job.phase, PHASE_MERGING);
	w.merge.done(w.merge.arg, &r);
}

static inline void checked(struct check_sum sum)
{
	assert_int_equal(w.job.phase, PHASE_CHECKING);
	w.check.done(w.check.arg, &sum);
}

/* The job's cell fuzzes, and exits with this status after a minute. */
static inline void cell_ends(int code)
{
	struct cell_end end = {.how = CELL_EXITED, .code = code};

	assert_non_null(w.job.fuzzing);
	w.now += 60 * S;
	w.job.fuzzing->engine.running = w.job.fuzzed = true;
	job_cell_ops.ended(&w.job, &end);
}

/* The cell fails with a status, and triage takes its artifact. */
static inline void cell_fails(void)
{
	cell_ends(77);
	triaged((struct triage_sum){.artifacts = 1}, 1);
}

/* The cell's deadline passed while this process was suspended for a minute. */
static inline void keeper_kills_cell(void)
{
	struct cell_end end = {.how = CELL_SIGNALED, .code = SIGKILL, .overdue = true};

	w.now += 60 * S;
	job_cell_ops.ended(&w.job, &end);
}

/* The job is paused, and waits in the queue. */
static inline void pause_it(void)
{
	job_pause(&w.job, false);
	assert_int_equal(w.job.phase, PHASE_STOPPING);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
}

/* The first turn, from its start. */
static inline void first_turn(void)
{
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
}

#endif
