/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/git.h"
#include "base/git_wait.h"
#include "base/sys.h"
#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* The grace period: after SIGTERM git removes its lock files.  Its children may ignore the signal.
 */
enum { GRACE_MS = 2000 };

/* Bytes that do not fit are discarded: the output may be hostile and of any length. */
static void add_some(struct buf *b, struct slice block)
{
	size_t room = b->max - b->n;

	if (block.n > room)
		block.n = room;
	if (block.n > 0)
		buf_put(b, block);
}

static int git_talk_drain(const struct tool_group *group, int fd, uint64_t until_us,
			  struct buf *said, struct err *e)
{
	char block[16384];
	uint64_t checked = 0;
	ssize_t n;

	for (;;) {
		int r = git_wait_input(group, fd, until_us, &checked, e);

		if (r < 0)
			return r;
		n = sys_read(fd, block, sizeof(block));
		if (n <= 0)
			return n < 0 ? err_sys(e, "read git's output") : 0;
		add_some(said, (struct slice){block, (size_t)n});
	}
}

/* Ends git and its children.  git leads their process group and is not reaped yet. */
static void git_talk_end_group(pid_t pid, int fd)
{
	uint64_t until = clock_mono_us() + GRACE_MS * USEC_PER_MSEC;
	struct buf nothing = BUF_INIT(0);
	struct err e;

	(void)kill(-pid, SIGTERM); /* allow: our child, not reaped */
	if (git_talk_drain(NULL, fd, until, &nothing, &e) < 0)
		(void)kill(-pid, SIGKILL); /* allow: our child, not reaped */
}

int git_talk(const struct git *g, const char *const *args, const char *const *env,
	     uint64_t limit_us, struct buf *said, struct err *e)
{
	uint64_t until = clock_mono_us() + limit_us;
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	char time[UNITS_MAX];
	pid_t pid = 0;
	struct err why;
	int p[2], r, ws, ended;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	r = git_start(g, args, env, -1, wr, wr, &pid, e);
	if (r < 0)
		return r;
	close_p(&wr);
	r = git_talk_drain(g->group, rd, until, said, e);
	if (r < 0)
		git_talk_end_group(pid, rd);
	ended = git_wait_end(g->group, pid, &ws, &why);
	if (r == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "git %s was not done after %s", args[0],
			       units_time(limit_us, time));
	if (r == 0 && ended < 0)
		*e = why;
	if (r < 0 || ended < 0)
		return err_wrap(e, "git %s", args[0]);
	return WIFEXITED(ws)
		   ? WEXITSTATUS(ws)
		   : err_set(e, EPROTO, "git %s: ended by signal %d", args[0], WTERMSIG(ws));
}
