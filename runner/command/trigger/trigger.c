/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/command.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/units.h"
#include "cgroups/cgroup.h"
#include "cgroups/stat.h"
#include "runner/command/build/builder.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/machine.h"
#include "runner/command/common/notify.h"
#include "runner/publish/http/token.h"
#include "runner/publish/notifier.h"
#include "runner/state/lock.h"
#include "runner/trigger/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The repositories of one trigger, as the command line names them. */
enum { TRIGGERS_MAX = 64 };

struct trigger_repo {
	struct common common;
	struct state *state;
	int lock_fd, log_fd;   /* valid while the lock is held: above 0 */
	struct drive_repo *to; /* parameters for drive_run(), filled by trigger_given() */
	int status;	       /* exit status of the last run */
	char commit[65];       /* commit of the run started last */
	bool runs;	       /* a run is active */
	bool is_notified;      /* the last run ended by itself and sent its notifications */
	struct notifier *notifier;
	struct builder *builder; /* in a child that runs git: enforces its limits */
	struct git_limits limits;
};

struct triggers {
	struct trigger_repo v[TRIGGERS_MAX]; /* begins as all zeroes */
	size_t n;
	const char *state_dir;
	uint64_t loop_us;
	bool forever, force, dry, json;
	json_t *repositories; /* for the JSON answer: the decision for each */
	struct loop *loop;
};

/* --- one repository ------------------------------------------------------- */

#define LOG_NAME "trigger.log"
enum { LOG_LARGE = 4 << 20 };

static const char *repo_name(const struct trigger_repo *r)
{
	return r->common.config_path ? r->common.config_path : "the configuration";
}

/* Reads the configuration and opens its state directory. Prints errors; returns an exit status.
 * several: the configuration must name the directory. */
static int trigger_open(struct trigger_repo *r, bool several)
{
	const char *path;
	struct err e;

	if (common_load_config(&r->common) != EXIT_DONE)
		return EXIT_USAGE;
	if (!config_trigger(r->common.config)->repository)
		return fail(EXIT_USAGE,
			    "%s names no repository: set trigger.repository (docs/triggers.md)",
			    repo_name(r));
	if (several && !config_state_dir(r->common.config))
		return fail(EXIT_USAGE,
			    "%s has no \"state_dir\": several repositories need one each",
			    repo_name(r));
	path = several ? config_state_dir(r->common.config) : common_state_dir(&r->common);
	if (state_open(path, STATE_MAKE, &r->state, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	return EXIT_DONE;
}

/* Opens the log. A large log is renamed to .old, so that the logs do not grow without bound. */
static void trigger_open_log(struct trigger_repo *r)
{
	struct stat st;
	struct err e;
	int dir = r->state->dirfd;

	if (fstatat(dir, LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > LOG_LARGE)
		(void)!sys_renameat(dir, LOG_NAME, LOG_NAME ".old");
	if (fs_open_file(dir, LOG_NAME, O_WRONLY | O_CREAT | O_APPEND, 0640, &r->log_fd, &e) < 0)
		warn("no log of the trigger: %s", e.msg);
}

/* Also opens the log, trigger.log. */
static int trigger_take_lock(struct trigger_repo *r)
{
	struct err e;
	int rc = lock_trigger(r->state->dirfd, r->state->path, &r->lock_fd, &e);

	if (rc == -EBUSY)
		return fail(EXIT_LOCKED, "%s", e.msg);
	if (rc < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	trigger_open_log(r);
	return EXIT_DONE;
}

/* --- git ------------------------------------------------------------------------------------ */

static int open_limits(void *arg, const char *top, const char *objects,
		       const struct tool_group **ret, struct err *e)
{
	struct trigger_repo *r = arg;
	int rc = 0;

	if (!r->builder)
		rc = builder_start(r->common.config, r->state->instance, true, &r->builder, e);
	return rc == 0 ? builder_git(r->builder, top, objects, ret, e) : rc;
}

static void close_limits(void *arg)
{
	struct trigger_repo *r = arg;

	builder_close(r->builder);
	r->builder = NULL;
}

static void trigger_given(struct trigger_repo *r)
{
	r->limits = (struct git_limits){.arg = r, .open = open_limits, .close = close_limits};
	*r->to = (struct drive_repo){
	    .config = config_trigger(r->common.config),
	    .workers = config_run(r->common.config)->workers,
	    .state_path = r->state->path,
	    .state_fd = r->state->dirfd,
	    .limits = &r->limits,
	};
}

static void trigger_close(struct trigger_repo *r)
{
	if (r->log_fd > 0)
		close(r->log_fd);
	if (r->lock_fd > 0)
		close(r->lock_fd);
	state_close(r->state);
	common_done(&r->common);
}

/* --- CPU time ------------------------------------------------------------------------------ */

/* Our own group in the v2 tree: "0::/path" (cgroups(7)). */
static void own_group(char *ret, size_t size)
{
	_autofree_ char *text = NULL;
	struct slice rest, line;
	struct err e;
	size_t n;

	*ret = '\0';
	if (fs_read(AT_FDCWD, "/proc/self/cgroup", 65536, &text, &n, &e) < 0)
		return;
	rest = (struct slice){text, n};
	while (scan_line(&rest, &line))
		if (scan_lit(&line, SLICE("0::")) && line.n > 1 && line.n < size)
			(void)snprintf(ret, size, "%.*s", (int)line.n, line.p);
}

static bool read_usage(const char *mount, const char *base, const char *instance, uint64_t *ret)
{
	_autofree_ char *path = xasprintf("%s%s/fuzzcell/%s/cpu.stat", mount, base, instance);
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	return fs_read(AT_FDCWD, path, 65536, &text, &n, &e) == 0 &&
	       cg_stat_keyed((struct slice){text, n}, SLICE("usage_usec"), ret);
}

/* Returns the CPU time of the cells of a state directory; 0 if unknown. A run's groups are below
 * the configured group, below our own group (we are in a leaf of it), or below the root. */
static uint64_t trigger_cpu_us(const struct config *c, const char *instance)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	const char *configured = config_cgroup(c);
	char own[1024], *slash;
	uint64_t us = 0;

	own_group(own, sizeof(own));
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (read_usage(mounts[i], configured ? configured : own, instance, &us) ||
		    read_usage(mounts[i], "", instance, &us))
			return us;
		slash = strrchr(own, '/');
		if (!configured && slash) {
			*slash = '\0';
			if (read_usage(mounts[i], own, instance, &us))
				return us;
			*slash = '/';
		}
	}
	return 0;
}

/* --- notifications between runs ------------------------------------------- */

/* A run notifies of what it finds.  The trigger sends what waits in the outbox between two runs,
 * and notifies of runs that died. */

#define SEND_US (60 * USEC_PER_SEC)

static struct notify notify_of(const struct trigger_repo *r)
{
	struct notify t = common_notify(&r->common, r->state);

	t.send_us = SEND_US;
	return t;
}

static int notify_open(struct triggers *t, struct trigger_repo *r, struct err *e)
{
	const struct notify n = notify_of(r);
	int rc = notifier_new(t->loop, &n, NULL, &r->notifier, e);

	if (rc == 0)
		notifier_hold(r->notifier, r->runs);
	return rc;
}

/* Sends the entries of the outboxes while no run of the repository is active, until
 * trigger_notify_end(). */
static int trigger_notify_begin(struct triggers *t, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = notify_open(t, &t->v[i], e);
	return r;
}

/* The configuration was replaced. */
static void trigger_notify_again(struct triggers *t, struct trigger_repo *r)
{
	struct err e;

	notifier_free(r->notifier);
	r->notifier = NULL;
	if (notify_open(t, r, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
}

/* A signal killed the run. */
static void trigger_notify_died(const struct trigger_repo *r, const char *why)
{
	_autobuf_ struct buf result = BUF_INIT(16 << 20);
	_autofree_ char *run =
	    xasprintf("died-%llu", (unsigned long long)(clock_real_us() / USEC_PER_SEC));
	_autofree_ char *text = xasprintf("a run died: %s; the next tick tries again", why);
	struct publish_note n = {
	    .kind = PUBLISH_RUN_FAILED, .run = run, .commit = r->commit, .text = text};
	struct notify t = notify_of(r);
	struct err e;

	if (!notify_is_wanted(t.config))
		return;
	t.notes = &n;
	t.n_notes = 1;
	t.send_us = 0; /* the notifier sends it */
	if (notify_round(&t, &result, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
	notifier_wake(r->notifier);
}

static void trigger_notify_end(struct triggers *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct trigger_repo *r = &t->v[i];
		struct notify n = notify_of(r);
		bool last = r->notifier && !t->forever && !r->is_notified;

		notifier_free(r->notifier);
		r->notifier = NULL;
		if (last)
			common_notify_last(&n, NULL);
	}
}

/* --- options -------------------------------------------------------------- */

/* Interval of the checks without --loop. */
#define TICK  (UINT64_C(1800) * USEC_PER_SEC)
#define RETRY (15 * USEC_PER_SEC)

#define AT(member) OPTION_AT(struct triggers, member)
static const struct option_spec specs[] = {
    {"config", "FILE", "configuration (may be repeated: one per repository)", OPTION_TAKE},
    {"state-dir", "DIR", "state directory (default: $FUZZCELL_STATE_DIR or ~/.fuzzcell)",
     AT(state_dir)},
    {"loop", "TIME", "keep running, and check at this interval (\"30m\")", OPTION_TAKE},
    {"force", NULL, "start a run now, even if none is due", AT(force)},
    {"dry-run", NULL, "print what would be done, and why", AT(dry)},
    {"json", NULL, "with --dry-run: print JSON", AT(json)},
};

static bool add_config(struct triggers *t, const char *path)
{
	if (t->n == TRIGGERS_MAX) {
		(void)fail(EXIT_USAGE, "trigger: more than %d configurations", TRIGGERS_MAX);
		return false;
	}
	t->v[t->n++].common.config_path = path;
	return true;
}

static bool trigger_take(void *arg, const char *name, const char *value)
{
	struct triggers *t = arg;

	if (strcmp(name, "config") == 0)
		return add_config(t, value);
	t->forever = units_parse_time(slice_of(value), &t->loop_us) && t->loop_us >= USEC_PER_SEC;
	if (!t->forever)
		(void)fail(EXIT_USAGE, "trigger: --loop: '%s' is not a time of at least 1s", value);
	return t->forever;
}

/* --- callbacks of drive_run() --------------------------------------------------------------- */

static void trigger_report(void *arg, size_t i, bool bad, const char *text)
{
	const struct triggers *t = arg;
	const char *name = t->v[i].to->config->repository;
	char shown[ESCAPE_MAX];

	log_fd = t->v[i].log_fd > 0 ? t->v[i].log_fd : -1;
	LOG(bad ? LOG_WARN : LOG_INFO, "trigger", f_str("text", text), f_str("repository", name));
	log_fd = -1;
	if (log_console != LOG_CONSOLE_OFF)
		return;
	if (t->n == 1)
		printf("%s%s\n", bad ? "warning: " : "", escape(text, shown));
	else
		printf("%s%s: %s\n", bad ? "warning: " : "", name, escape(text, shown));
}

static void decided(void *arg, size_t i, enum due_what what, const char *commit, const char *why)
{
	static const char *const words[] = {[DUE_NOTHING] = "nothing",
					    [DUE_WAIT] = "wait",
					    [DUE_START] = "start",
					    [DUE_STOP] = "stop"};
	const struct triggers *t = arg;

	(void)json_array_append_new(t->repositories,
				    json_pack("{s:o, s:s, s:o, s:o}", "repository",
					      answer_text(t->v[i].to->config->repository),
					      "decision", words[what], "commit",
					      *commit ? answer_text(commit) : json_null(), "why",
					      answer_text(why)));
}

/* The descriptors that a run inherits besides 0 to 2. */
struct handed {
	int workers, token; /* token: -1: there is none */
};

/* Runs in the child. */
static int keep_open(void *arg)
{
	const struct handed *h = arg;

	if (h->token >= 0 && fcntl(h->token, F_SETFD, 0) < 0)
		return -1;
	return fcntl(h->workers, F_SETFD, 0);
}

/* Adds an option. The number has its own buffer because argv[] borrows the strings. */
static size_t fd_option(const char **argv, size_t n, const char *option, int fd, char number[16])
{
	(void)snprintf(number, 16, "%d", fd);
	argv[n] = option;
	argv[n + 1] = number;
	return n + 2;
}

static int trigger_spawn(struct handed *h, const char *const *argv, pid_t *ret_pid, struct err *e)
{
	struct proc_spec spec = PROC_SPEC_INIT;

	spec.argv = argv;
	spec.stdout_fd = STDOUT_FILENO;
	spec.prepare = keep_open;
	spec.prepare_arg = h;
	return proc_spawn(&spec, ret_pid, e);
}

/* Passes the token through a pipe: it is no longer in our environment. */
static int open_token(const struct trigger_repo *r, int *ret_fd, struct err *e)
{
	const char *name = config_github(r->common.config)->token_env;

	*ret_fd = -1;
	return name ? token_env_pipe(name, ret_fd, e) : 0;
}

static int trigger_start(void *arg, size_t i, const char *commit, uint32_t workers, int workers_fd,
			 pid_t *ret_pid, struct err *e)
{
	struct triggers *t = arg;
	struct trigger_repo *r = &t->v[i];
	const char *argv[20] = {"/proc/self/exe", "run", "--plain", "--commit", commit};
	char number[16], fds[2][16];
	struct handed h = {.workers = workers_fd};
	size_t n = 5;
	int rc = open_token(r, &h.token, e);

	if (rc < 0)
		return rc;
	if (r->common.config_path) {
		argv[n++] = "--config";
		argv[n++] = r->common.config_path;
	}
	if (r->common.config_path || t->state_dir) {
		argv[n++] = "--state-dir";
		argv[n++] = r->state->path;
	}
	if (workers) {
		(void)snprintf(number, sizeof(number), "%u", workers);
		argv[n++] = "--workers";
		argv[n++] = number;
	}
	n = fd_option(argv, n, "--workers-from", h.workers, fds[0]);
	if (h.token >= 0)
		(void)fd_option(argv, n, "--token-from", h.token, fds[1]);
	rc = trigger_spawn(&h, argv, ret_pid, e);
	if (h.token >= 0)
		close(h.token);
	if (rc == 0) {
		r->runs = true;
		notifier_hold(r->notifier, true);
	}
	(void)snprintf(r->commit, sizeof(r->commit), "%s", commit);
	return rc;
}

static const char *cause_of(int code)
{
	switch (code) {
	case EXIT_DONE:
		return "all went well";
	case EXIT_CRASHES:
		return "there were failures";
	case EXIT_USAGE:
		return "the configuration is wrong";
	case EXIT_MACHINE:
		return "this machine cannot keep a promise";
	case EXIT_LOCKED:
		return "another run holds the lock";
	case EXIT_NOT_FUZZED:
		return "a target was not really fuzzed, or was given up";
	case EXIT_BUILD:
		return "nothing could be built";
	default:
		return "it failed";
	}
}

static enum watch_end trigger_ended(void *arg, size_t i, int status, char why[RECORD_WHY])
{
	struct triggers *t = arg;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERNAL;

	t->v[i].status = code;
	t->v[i].runs = false;
	if (WIFSIGNALED(status)) {
		(void)snprintf(why, RECORD_WHY, "signal %d ended it", WTERMSIG(status));
		trigger_notify_died(&t->v[i], why);
		notifier_hold(t->v[i].notifier, false);
		return END_FAILED;
	}
	notifier_hold(t->v[i].notifier, false);
	(void)snprintf(why, RECORD_WHY, "status %d, %s", code, cause_of(code));
	t->v[i].is_notified = code != EXIT_LOCKED && code != EXIT_MACHINE && code != EXIT_USAGE;
	if (code == EXIT_DONE || code == EXIT_CRASHES || code == EXIT_NOT_FUZZED)
		return END_WELL;
	return code == EXIT_LOCKED ? END_REFUSED : END_FAILED;
}

static uint64_t own_cpu(void *arg)
{
	const struct triggers *t = arg;
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += trigger_cpu_us(t->v[i].common.config, t->v[i].state->instance);
	return sum;
}

static bool reload_one(struct triggers *t, struct trigger_repo *r)
{
	struct common fresh = {.config_path = r->common.config_path,
			       .state_dir = r->common.state_dir};
	struct config *old;

	if (common_load_config(&fresh) != EXIT_DONE)
		return false;
	if (!config_trigger(fresh.config)->repository) {
		(void)fail(EXIT_USAGE, "%s names no trigger.repository any more",
			   r->common.config_path ? r->common.config_path : "config.json");
		config_free(fresh.config);
		return false;
	}
	old = r->common.config;
	r->common.config = fresh.config;
	trigger_given(r);
	trigger_notify_again(t, r);
	config_free(old);
	return true;
}

/* If a new configuration is wrong, the old one stays in use. */
static void trigger_reload(void *arg)
{
	struct triggers *t = arg;
	size_t wrong = 0;

	for (size_t i = 0; i < t->n; i++)
		wrong += !reload_one(t, &t->v[i]);
	if (wrong == 0)
		printf("configurations read again\n");
	else
		warn("%zu of %zu configuration(s) not read again: the old ones stay in use", wrong,
		     t->n);
}

/* --- beginning ----------------------------------------------------------------------------- */

static int trigger_open_all(struct triggers *t)
{
	int r = EXIT_DONE;

	if (t->n == 0)
		t->n = 1; /* the state directory's configuration */
	if (t->n > 1 && t->state_dir)
		return fail(EXIT_USAGE, "trigger: --state-dir is for one configuration: several "
					"have a \"state_dir\" each");
	for (size_t i = 0; r == EXIT_DONE && i < t->n; i++) {
		t->v[i].common.state_dir = t->state_dir;
		r = trigger_open(&t->v[i], t->n > 1);
		for (size_t j = 0; r == EXIT_DONE && j < i; j++)
			if (strcmp(t->v[i].state->path, t->v[j].state->path) == 0)
				r = fail(EXIT_USAGE,
					 "two configurations have the state directory '%s'",
					 t->v[i].state->path);
		if (r == EXIT_DONE && !t->dry)
			r = trigger_take_lock(&t->v[i]);
	}
	return r;
}

static int trigger_status_of(const struct triggers *t, const struct drive_result *res)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].status > worst)
			worst = t->v[i].status;
	if (!t->forever && res->unsaved)
		return EXIT_INTERNAL; /* the error was printed */
	if (worst != EXIT_DONE || t->forever)
		return worst;
	if (res->blocked)
		return EXIT_USAGE;
	if (res->locked)
		return fail(EXIT_LOCKED, "another run holds the lock");
	return res->unreached ? EXIT_MACHINE : EXIT_DONE;
}

static int drive(struct triggers *t)
{
	struct drive_repo repos[TRIGGERS_MAX];
	struct drive_opts o = {
	    .tick_us = t->forever ? t->loop_us : TICK,
	    .retry_us = RETRY,
	    .cpus = machine_cpus(),
	    .forever = t->forever,
	    .force = t->force,
	    .dry = t->dry,
	    .arg = t,
	    .start = trigger_start,
	    .ended = trigger_ended,
	    .own_cpu_us = own_cpu,
	    .report = trigger_report,
	    .decided = decided,
	    .reload = trigger_reload,
	};
	struct drive_result res = {0};
	struct err e;
	int r;

	for (size_t i = 0; i < t->n; i++)
		t->v[i].to = &repos[i];
	for (size_t i = 0; i < t->n; i++)
		trigger_given(&t->v[i]);
	if (loop_new(&o.loop, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	t->loop = o.loop;
	r = t->dry ? 0 : trigger_notify_begin(t, &e);
	if (r == 0)
		r = drive_run(&o, repos, t->n, &res, &e);
	trigger_notify_end(t);
	loop_free(o.loop);
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : trigger_status_of(t, &res);
}

int command_trigger(int argc, char **argv)
{
	_autofree_ struct triggers *t = xcalloc(1, sizeof(*t));
	struct err e;
	json_t *j = NULL;
	int at = options_parse(argc, argv, "trigger [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), trigger_take, t);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "trigger: unexpected '%s'", argv[at]);
	if (t->json && !t->dry)
		return fail(EXIT_USAGE, "trigger: --json goes with --dry-run");
	begun = answer_begin(t->json);
	t->repositories = json_array();
	r = trigger_open_all(t);
	if (r == EXIT_DONE && cgroup_leave(&e) < 0)
		r = fail(EXIT_MACHINE, "%s", e.msg);
	if (r == EXIT_DONE)
		r = drive(t);
	for (size_t i = 0; i < t->n; i++)
		trigger_close(&t->v[i]);
	if (json_array_size(t->repositories) > 0)
		j = json_pack("{s:O}", "repositories", t->repositories);
	json_decref(t->repositories);
	return answer_end(begun, j, r);
}
