/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/run.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/build/build.h"
#include "runner/command/command.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/notify.h"
#include "runner/command/common/session.h"
#include "runner/command/crash/crash.h"
#include "runner/command/run/after.h"
#include "runner/command/run/record.h"
#include "runner/command/run/shard.h"
#include "runner/publish/http/token.h"
#include "runner/publish/notifier.h"
#include "runner/run/job/reason.h"
#include "runner/run/triage/triage.h"
#include "runner/status/color.h"
#include "runner/status/summary.h"
#include "runner/status/table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Time limit for sending while the run is active. */
#define SEND_LIVE_US (60 * USEC_PER_SEC)

struct run_args {
	struct session session;
	const char *workers, *workers_from, *token_from, *total, *each, *commit, *seed;
	int control; /* descriptor of --workers-from, or -1 */
	bool dry_run, fail_on_crash, plain, build, no_build, continuous, json;
	json_t *answer;
	bool broken; /* a build failed, so some targets may not be fuzzed */
	bool ended;  /* by itself, with all results saved */
	struct run_shard shard;
};

#define AT(member) OPTION_AT(struct run_args, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct run_args, session.common),
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"workers-from", "FD", "also change it by \"workers N\" lines on this descriptor",
     AT(workers_from)},
    {"token-from", "FD", "read GitHub's token from this descriptor", AT(token_from)},
    {"max-total-time", "TIME", "end the run after this long (\"30s\", \"2h\")", AT(total)},
    {"continuous", NULL, "run until stopped, and fuzz new builds when they appear", AT(continuous)},
    {"max-fuzzer-time", "TIME", "end each target after this long", AT(each)},
    {"commit", "SHA", "the commit that is fuzzed, for the histories", AT(commit)},
    {"seed", "N", "the seed of the engines' random numbers", AT(seed)},
    {"shard", "I/N", "fuzz this share of --plan (default: from the batch engine)", AT(shard.shard)},
    {"plan", "FILE", "the plan of a round (fuzzcell plan --json)", AT(shard.plan_path)},
    {"base", "STATE", "the state that the shard begins with; it only reads it", AT(shard.base)},
    {"deltas", "DIR", "deliver the shard's deltas there (default: deltas/ of its state)",
     AT(shard.deltas)},
    {"delta-interval", "TIME", "make a delta so often (default: 5m)", OPTION_TIME,
     offsetof(struct run_args, shard.interval_us)},
    {"no-build", NULL, "fuzz the present binaries without building first", AT(no_build)},
    {"build", NULL, "build first (the default, except with --dry-run)", AT(build)},
    {"dry-run", NULL, "everything but building and executing targets", AT(dry_run)},
    {"fail-on-crash", NULL, "exit with 1 for new crashes and given-up targets", AT(fail_on_crash)},
    {"plain", NULL, "plain lines instead of the live table", AT(plain)},
    {"json", NULL, "print the summary, or what would be fuzzed, as JSON", AT(json)},
    COLOR_OPTION,
};

/* Parses a descriptor, and sets FD_CLOEXEC so that cells do not inherit it. */
static int find_fd(const char *option, const char *value, int *ret)
{
	struct slice in = value ? slice_of(value) : SLICE("");
	uint64_t fd;

	*ret = -1;
	if (!value)
		return EXIT_DONE;
	if (!scan_u64(&in, 10, INT_MAX, &fd) || in.n > 0 || fd < 3 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return fail(EXIT_USAGE, "%s: '%s' is not an open file descriptor", option, value);
	*ret = (int)fd;
	return EXIT_DONE;
}

static int run_read_token(const struct run_args *a)
{
	struct err e;
	int fd, r = find_fd("--token-from", a->token_from, &fd);

	if (fd < 0)
		return r;
	token_protect_process();
	if (token_env_read(fd, &e) < 0)
		r = fail(EXIT_USAGE, "--token-from: %s", e.msg);
	close(fd);
	return r;
}

static int run_load(struct run_args *a)
{
	struct session *s = &a->session;
	char time[32], workers[32];
	int r = run_read_token(a);

	if (r == EXIT_DONE)
		r = run_shard_read(&a->shard, s);
	if (r == EXIT_DONE)
		r = session_load(s);
	if (r == EXIT_DONE && *run_shard_time(&a->shard, time))
		r = session_set(s, "run.total_time", time, "--plan");
	if (r == EXIT_DONE && *run_shard_workers(&a->shard, workers))
		r = session_set(s, "run.workers", workers, "--plan");
	if (r == EXIT_DONE)
		r = session_set(s, "run.workers", a->workers, "--workers");
	if (r == EXIT_DONE)
		r = session_set(s, "run.total_time", a->continuous && !a->total ? "none" : a->total,
				"--max-total-time");
	if (r == EXIT_DONE)
		r = session_set(s, "defaults.max_time", a->each, "--max-fuzzer-time");
	if (r == EXIT_DONE)
		r = session_set(s, "defaults.seed", a->seed, "--seed");
	if (r == EXIT_DONE)
		r = find_fd("--workers-from", a->workers_from, &a->control);
	return r;
}

static size_t runnable(const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->v[i].target->unbuilt == NULL;
	return n;
}

static int not_built(const struct run_args *a)
{
	if (a->shard.number == 0)
		run_not_built(&a->session.common, a->session.state, a->commit);
	return fail(EXIT_BUILD, "nothing was built, nothing is fuzzed");
}

/* A shard also leaves out what is not in its share. */
static int add_other_builds(struct run_args *a)
{
	struct session *s = &a->session;
	struct err e;

	if (plan_add_builds(s->common.config, 1u << ROLE_FUZZ, NULL, NULL, &s->plan, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	return run_shard_select(&a->shard);
}

/* Builds and finds the targets. Takes the lock first: two builds would overwrite each other. Opens
 * the machine first: processes that a build leaves running (Bazel's server) must not block the
 * control groups. */
static int build_and_plan(struct run_args *a)
{
	struct session *s = &a->session;
	bool build = builds_wanted(s) && !a->no_build && (a->build || !a->dry_run);
	struct builds b = {0};
	size_t n_sources;
	int r = build ? session_machine(s) : EXIT_DONE;

	if (build && r == EXIT_DONE)
		r = builds_all(s, &b);
	if (r != EXIT_DONE)
		return r;
	a->broken = b.failed > 0;
	(void)config_sources(s->common.config, &n_sources);
	if (a->broken && b.nothing == n_sources)
		return not_built(a);
	r = session_plan(s);
	if (r == EXIT_DONE)
		r = add_other_builds(a);
	if (a->broken && (r == EXIT_USAGE || (r == EXIT_DONE && runnable(&s->plan) == 0)))
		return not_built(a);
	/* Also if nothing is built first. */
	a->broken |= s->common.targets.partial || a->shard.missing;
	return r;
}

static json_t *plan_json(const struct plan *p)
{
	json_t *all = json_array();

	for (size_t i = 0; i < p->n; i++) {
		const struct target *t = p->v[i].target;
		const struct target_config *c = &p->v[i].cfg;

		(void)json_array_append_new(
		    all, json_pack("{s:o, s:I, s:f, s:I, s:f, s:o}", "name", answer_text(t->name),
				   "memory_bytes", (json_int_t)c->memory, "cpus",
				   (double)c->cpu_milli / 1000, "pids", (json_int_t)c->pids,
				   "max_seconds", (double)c->max_time_us / USEC_PER_SEC, "unbuilt",
				   t->unbuilt ? answer_text(t->unbuilt) : json_null()));
	}
	return json_pack("{s:o, s:I}", "targets", all, "disabled", (json_int_t)p->disabled);
}

static void print_plan(const struct plan *p)
{
	char mem[UNITS_MAX], time[UNITS_MAX], why[CRASH_LINE];
	size_t unbuilt = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct target *t = p->v[i].target;

		if (t->unbuilt) {
			printf("%4zu  %-32s cannot be fuzzed: %s\n", i + 1, t->name,
			       crash_line(t->unbuilt, why));
			unbuilt++;
			continue;
		}
		printf("%4zu  %-32s memory %s, cpus %u.%03u, pids %u, at most %s\n", i + 1,
		       p->v[i].target->name, units_size(p->v[i].cfg.memory, mem),
		       p->v[i].cfg.cpu_milli / 1000, p->v[i].cfg.cpu_milli % 1000, p->v[i].cfg.pids,
		       units_time(p->v[i].cfg.max_time_us, time));
	}
	printf(
	    "dry run: %zu targets would be fuzzed in this order, %zu are disabled, %zu cannot be "
	    "fuzzed\n",
	    p->n - unbuilt, p->disabled, unbuilt);
}

/* The observers of a run. */
struct live {
	struct table table;
	struct record_days days;
	struct run_shard *shard;
};

static bool is_bad(const struct target_row *r, const char *what)
{
	return strcmp(what, "failed") == 0 || strcmp(what, "COVERAGE DROPPED") == 0 ||
	       (strcmp(what, "ended") == 0 && (r->unfuzzed || r->given_up));
}

static void run_on_event(void *arg, const struct run_view *v, size_t row, const char *what)
{
	struct live *l = arg;
	const struct target_row *r = row < v->n_rows ? &v->rows[row] : NULL;

	if (r)
		LOG(is_bad(r, what) ? LOG_WARN : LOG_INFO, "job", f_str("what", what),
		    f_str("target", r->name), f_str("run", v->id), f_str("reason", r->reason),
		    f_str("note", r->note));
	else
		LOG(LOG_INFO, "run", f_str("what", what), f_str("run", v->id));
	/* A console log replaces plain event lines; a table on a terminal is still drawn. */
	if (log_console == LOG_CONSOLE_OFF || l->table.terminal)
		table_event(&l->table, v, row, what);
}

static void run_on_second(void *arg, const struct run_view *v)
{
	struct live *l = arg;

	table_second(&l->table, v);
	record_second(&l->days, v);
	run_shard_second(l->shard);
}

/* Makes the JSON answer: the content of summary.json. */
static int run_answer(const struct run_view *v, json_t **ret, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(256 << 20);
	int r = summary_print(v, &text, e);

	return r < 0 ? r : json_parse(buf_slice(&text), ret, e);
}

static int run_conclude(struct run_args *a, struct state *s, const struct run_dirs *d,
			const struct run_view *v)
{
	_autobuf_ struct buf text = BUF_INIT(16 << 20);
	enum reason_counts worst = REASON_FUZZED;
	unsigned columns = 0, lines;
	struct summary_sums sums = summary_sums(v);
	struct err e;

	if (isatty(STDOUT_FILENO))
		table_screen(STDOUT_FILENO, &columns, &lines);
	if (summary_text(v, columns, color_wanted(STDOUT_FILENO), &text, &e) == 0) {
		fflush(stdout);
		(void)!sys_write_all(STDOUT_FILENO, buf_str(&text), text.n); /* it may be closed */
	}
	printf("logs and artifacts: %s/logs/%s\n", s->path, d->id);
	fflush(stdout);
	if (a->json && run_answer(v, &a->answer, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	if (record_run(s, d, v, &e) < 0)
		return fail(EXIT_INTERNAL, "the run's records could not be written: %s", e.msg);
	if (*v->shortage)
		return fail(
		    EXIT_MACHINE,
		    "no cell could be started: %s: free what is short (open files, processes, "
		    "memory, space in /run, control groups), or raise its limit",
		    v->shortage);
	if (a->broken)
		printf("a build failed: its missing targets were not fuzzed\n");
	if (summary_unfuzzed(v) > 0 || a->broken)
		worst = REASON_UNFUZZED;
	else if (summary_given_up(v) > 0)
		worst = REASON_GIVEN_UP;
	return (int)reason_status(worst, sums.crashes_new + sums.regressed + sums.untriaged > 0,
				  a->fail_on_crash);
}

/* Opens the ledger. Problems of its file are printed as a warning. */
static int open_books(struct run_args *a, const char *run, struct books **ret)
{
	char warning[300];
	struct err e;

	if (books_open(a->session.machine.loop, a->session.state, run, ret, warning, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (*warning)
		warn("%s", warning);
	return EXIT_DONE;
}

/* Tries again to save what is only in memory, after all other work. */
static int save_books(struct books *b, struct state *s)
{
	struct err e;

	books_finish(b);
	if (ledger_save(books_ledger(b), s->dirfd, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	return EXIT_DONE;
}

/* Records the commit as fuzzed, unless the run was interrupted or its results could not all be
 * saved. */
static int note_done(const struct run_args *a, bool interrupted, int status)
{
	struct err e;

	if (interrupted || status == EXIT_INTERNAL || status == EXIT_MACHINE)
		return status;
	if (state_run_done(a->session.state, a->commit, &e) < 0)
		return fail(EXIT_INTERNAL, "the commit could not be noted as fuzzed: %s", e.msg);
	return status;
}

/* A round of notifications noted an issue or a user's decision in the ledger. */
static void save_learned(void *arg)
{
	books_save(arg, NULL, NULL);
}

static int run_live(struct run_args *a, struct run_opts *o, struct run **ret, struct err *e)
{
	struct session *s = &a->session;
	struct notify t = common_notify(&s->common, s->state);
	struct live live = {.days = {.loop = o->loop, .state = s->state}, .shard = &a->shard};
	struct notifier *notifier = NULL;
	int r = 0;

	t.targets = &s->common.targets;
	t.send_us = SEND_LIVE_US;
	if (a->shard.number == 0) /* what shards find is sent when it is collected */
		r = notifier_new(
		    o->loop, &t,
		    &(struct notifier_ledger){books_ledger(o->books), save_learned, o->books},
		    &notifier, e);
	if (r < 0)
		return r;
	o->arg = &live;
	table_open(&live.table, STDOUT_FILENO, a->plain);
	r = run_all(o, &s->plan, ret, e);
	table_close(&live.table);
	record_days_done(&live.days);
	notifier_free(notifier);
	return r;
}

/* The exit status reports the new crashes of all builds, so a later run treats them as known.  The
 * rows are in the plan's order. */
static void note_counted(struct ledger *l, const struct run_view *v, const struct plan *p)
{
	for (size_t i = 0; i < v->n_rows && i < p->n; i++) {
		const struct target *t = p->v[i].target;

		if (!v->rows[i].done)
			continue;
		ledger_counted(l, t->name);
		for (size_t k = 0; k < t->n_variants; k++)
			if (t->variants[k].role != ROLE_FUZZ) /* it has a row of its own */
				ledger_counted(l, t->variants[k].name);
	}
}

static bool counts_crashes(int status)
{
	return status == EXIT_DONE || status == EXIT_CRASHES || status == EXIT_NOT_FUZZED;
}

/* Saves the results before sending notifications. The caller saves again for the data that
 * notifying adds. */
static int close_run(struct run_args *a, const struct run_opts *o, struct run *run, int status)
{
	struct session *s = &a->session;
	struct run_over over = {
	    .common = &s->common,
	    .state = s->state,
	    .targets = &s->common.targets,
	    .ledger = books_ledger(o->books),
	    .run = o->dirs->id,
	    .commit = a->commit,
	    .view = run_result(run),
	};

	if (counts_crashes(status))
		note_counted(books_ledger(o->books), over.view, &s->plan);
	if (save_books(o->books, s->state) != EXIT_DONE)
		status = EXIT_INTERNAL;
	over.status = status;
	over.silent = a->shard.number > 0;
	run_after(&over);
	return status;
}

static int run_and_notify(struct run_args *a, struct run_opts *o, bool *ret_keep)
{
	struct state *s = a->session.state;
	struct run *run = NULL;
	bool interrupted;
	struct err e;
	int r = open_books(a, o->dirs->id, &o->books);

	*ret_keep = false;
	if (r != EXIT_DONE)
		return r;
	r = run_live(a, o, &run, &e);
	*ret_keep = r < 0 || run_uncollected(run);
	interrupted = r < 0 || run_result(run)->interrupted;
	r = r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : run_conclude(a, s, o->dirs, run_result(run));
	if (run)
		r = close_run(a, o, run, *ret_keep ? EXIT_INTERNAL : r);
	run_free(run);
	if (save_books(o->books, s) != EXIT_DONE)
		r = EXIT_INTERNAL;
	books_close(o->books);
	a->ended = !interrupted && !*ret_keep;
	if (run_shard_end(&a->shard) != EXIT_DONE)
		r = EXIT_INTERNAL;
	return note_done(a, interrupted || *ret_keep, r);
}

static int run_fuzz(struct run_args *a)
{
	const struct config *c = a->session.common.config;
	const struct run_config *rc = config_run(c);
	const struct machine *m = &a->session.machine;
	struct state *s = a->session.state;
	struct run_dirs dirs = {.logs = -1, .crashes = -1, .work = -1};
	_autofree_ char *symbolizer = symbolizer_find(config_rootfs(c));
	struct run_opts o = {
	    .loop = m->loop,
	    .host = m->host,
	    .state = s,
	    .dirs = &dirs,
	    .rootfs = config_rootfs(c),
	    .cfg = rc,
	    .continuous = a->continuous,
	    .build_failed = a->broken,
	    .pressure = "/proc/pressure",
	    .total_us = rc->total_time_us,
	    .log_limit = rc->log_limit,
	    .disk_reserve = rc->disk_reserve,
	    .generations = rc->generations,
	    .machine_memory = m->memory / 1000 * rc->overcommit_milli,
	    .layout = cgroup_layout_name(cgroup_tree_layout(m->tree)),
	    .commit = a->commit,
	    .sources = config_source_dir(c) ? config_source_dir(c) : config_trigger(c)->repository,
	    .symbolizer = config_symbolizer(c) ? config_symbolizer(c) : symbolizer,
	    .control = a->control,
	    .listen = true,
	    .event = run_on_event,
	    .second = run_on_second,
	};
	uint64_t limit;
	struct err e;
	bool keep;
	int r = machine_workers(rc->workers, &o.workers);

	if (r != EXIT_DONE)
		return r;
	o.places = machine_places(&limit);
	if (state_run_begin(s, clock_real_us(), &dirs, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (!o.symbolizer)
		warn("no llvm-symbolizer here: crashes have addresses, not names");
	if (fs_open_file(dirs.logs, "runner.log", O_WRONLY | O_CREAT | O_APPEND, 0640, &log_fd,
			 &e) < 0)
		warn("no log of the run: %s", e.msg);
	r = run_and_notify(a, &o, &keep);
	if (keep)
		r = fail(
		    EXIT_INTERNAL,
		    "not everything could be saved: it stays in %s/work/%s, and the next start "
		    "saves it when there is room",
		    s->path, dirs.id);
	if (log_fd >= 0)
		close(log_fd);
	log_fd = -1;
	state_run_end(s, &dirs, keep);
	return r;
}

int command_run(int argc, char **argv)
{
	struct run_args a = {0};
	int at = options_parse(argc, argv, "run [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	struct common paths;
	bool bisects;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "run: unexpected '%s'", argv[at]);
	paths = (struct common){.config_path = a.session.common.config_path,
				.state_dir = a.session.common.state_dir};
	if (a.continuous && a.each)
		return fail(EXIT_USAGE,
			    "--max-fuzzer-time: with --continuous, no target ends by time; "
			    "plateau.cap limits a target's CPU time per day");
	if (a.continuous && a.shard.plan_path)
		return fail(EXIT_USAGE, "run: --continuous: a shard of --plan ends with its round");
	begun = answer_begin(a.json);
	r = run_load(&a);
	if (r == EXIT_DONE)
		r = build_and_plan(&a);
	if (r == EXIT_DONE)
		r = session_open(&a.session);
	if (r == EXIT_DONE && a.dry_run) {
		print_plan(&a.session.plan);
		a.answer = plan_json(&a.session.plan);
	} else if (r == EXIT_DONE) {
		session_remember(&a.session);
		r = run_shard_begin(&a.shard);
		if (r == EXIT_DONE)
			r = run_fuzz(&a);
	}
	bisects = a.ended && a.shard.number == 0 && r != EXIT_INTERNAL && r != EXIT_MACHINE &&
		  config_bisect(a.session.common.config)->daily_us > 0 &&
		  config_trigger(a.session.common.config)->repository;
	session_close(&a.session);
	run_shard_done(&a.shard);
	/* The run's own status counts; what could not be searched is printed. */
	if (bisects)
		(void)crash_bisect_pending(&paths, 0);
	return answer_end(begun, a.answer, r);
}
