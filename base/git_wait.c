/* SPDX-License-Identifier: Apache-2.0 */
#include "base/git_wait.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { TICK_MS = 100 };

/* On error it kills all processes of the group.  The caller reaps them. */
static int git_wait_check(const struct tool_group *group, uint64_t *io_checked, struct err *e)
{
	uint64_t now = clock_mono_us();
	struct err ignored;

	if (!group || now - *io_checked < TICK_MS * USEC_PER_MSEC)
		return 0;
	*io_checked = now;
	if (group->check(group->arg, e) == 0)
		return 0;
	(void)!group->kill(group->arg, &ignored); /* group->end() kills again */
	return err_code(e);
}

static int next_ms(const struct tool_group *group, uint64_t until_us)
{
	uint64_t now = clock_mono_us(), ms = now < until_us ? (until_us - now) / 1000 + 1 : 0;

	if (group && ms > TICK_MS)
		return TICK_MS;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int git_wait_input(const struct tool_group *group, int fd, uint64_t until_us, uint64_t *io_checked,
		   struct err *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int r = git_wait_check(group, io_checked, e);

		if (r < 0)
			return r;
		r = poll(&p, 1, next_ms(group, until_us)); /* allow: its callers may wait */
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return err_sys(e, "wait for git");
		if (clock_mono_us() >= until_us)
			return err_set(e, ETIMEDOUT, "out of time");
	}
}

/* git may have ended because of a limit, or may have exceeded one since the last check. */
static int check_end(const struct tool_group *group, struct err *e)
{
	struct err ignored;
	int r = group->check(group->arg, e);

	if (r < 0)
		(void)!group->end(group->arg, &ignored); /* the owner of the group ends it, too */
	return r;
}

int git_wait_end(const struct tool_group *group, pid_t pid, int *ret_ws, struct err *e)
{
	_autoclose_ int fd = -1;
	uint64_t checked = 0;
	struct err why;
	int ended, r = group ? proc_open(pid, &fd, e) : 0;

	if (r == 0 && group)
		r = git_wait_input(group, fd, UINT64_MAX, &checked, e);
	if (r < 0)
		(void)kill(-pid, SIGKILL); /* allow: our child, not reaped */
	while (waitpid(pid, ret_ws, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for git");
	if (!group)
		return 0;
	ended = check_end(group, &why);
	if (r == 0 && ended < 0)
		*e = why;
	return r < 0 ? r : ended;
}
