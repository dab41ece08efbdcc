/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/command/trigger/trigger.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "cgroups/stat.h"
#include "runner/command/build/builder.h"
#include "runner/state/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_NAME "trigger.log"
enum { LOG_LARGE = 4 << 20 };

static const char *trigger_repo_name_of(const struct trigger_repo *r)
{
	return r->common.config_path ? r->common.config_path : "the configuration";
}

int trigger_open(struct trigger_repo *r, bool several)
{
	const char *path;
	struct err e;

	if (common_load_config(&r->common) != EXIT_DONE)
		return EXIT_USAGE;
	if (!config_trigger(r->common.config)->repository)
		return fail(EXIT_USAGE,
			    "%s names no repository: set trigger.repository (docs/triggers.md)",
			    trigger_repo_name_of(r));
	if (several && !config_state_dir(r->common.config))
		return fail(EXIT_USAGE,
			    "%s has no \"state_dir\": several repositories need one each",
			    trigger_repo_name_of(r));
	path = several ? config_state_dir(r->common.config) : common_state_dir(&r->common);
	if (state_open(path, STATE_MAKE, &r->state, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	return EXIT_DONE;
}

/* Opens the log. A large log is renamed to .old, so that the logs do not grow without bound. */
static void trigger_repo_open_log(struct trigger_repo *r)
{
	struct stat st;
	struct err e;
	int dir = r->state->dirfd;

	if (fstatat(dir, LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > LOG_LARGE)
		(void)!sys_renameat(dir, LOG_NAME, LOG_NAME ".old");
	if (fs_open_file(dir, LOG_NAME, O_WRONLY | O_CREAT | O_APPEND, 0640, &r->log_fd, &e) < 0)
		warn("no log of the trigger: %s", e.msg);
}

int trigger_take_lock(struct trigger_repo *r)
{
	struct err e;
	int rc = lock_trigger(r->state->dirfd, r->state->path, &r->lock_fd, &e);

	if (rc == -EBUSY)
		return fail(EXIT_LOCKED, "%s", e.msg);
	if (rc < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	trigger_repo_open_log(r);
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

void trigger_given(struct trigger_repo *r)
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

void trigger_close(struct trigger_repo *r)
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
static void trigger_repo_own_group(char *ret, size_t size)
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

/* A run's groups are below the configured group, below our own group (we are in a leaf of it), or
 * below the root. */
uint64_t trigger_cpu_us(const struct config *c, const char *instance)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	const char *configured = config_cgroup(c);
	char own[1024], *slash;
	uint64_t us = 0;

	trigger_repo_own_group(own, sizeof(own));
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
