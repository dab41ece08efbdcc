/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { KEPT_MAX = 1 + 2 * CG_HIERARCHIES_MAX };

/* The descriptors that the keeper works with, in ascending order. */
static unsigned kept_fds(const struct cgroup_tree *t, int fd, int kept[KEPT_MAX])
{
	unsigned n = 0;

	kept[n++] = fd;
	for (unsigned i = 0; i < t->n; i++) {
		kept[n++] = t->at[i].base_fd;
		kept[n++] = t->at[i].fd;
	}
	for (unsigned i = 1; i < n; i++)
		for (unsigned k = i; k > 0 && kept[k] < kept[k - 1]; k--) {
			int swap = kept[k];

			kept[k] = kept[k - 1];
			kept[k - 1] = swap;
		}
	return n;
}

static void close_others(const struct cgroup_tree *t, int fd)
{
	int kept[KEPT_MAX];
	unsigned n = kept_fds(t, fd, kept);
	unsigned from = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((unsigned)kept[i] > from)
			(void)close_range(from, (unsigned)kept[i] - 1, 0);
		from = (unsigned)kept[i] + 1;
	}
	(void)close_range(from, ~0U, 0);
}

static void __attribute__((noreturn)) keep(struct cgroup_tree *t, int fd)
{
	unsigned killed;
	struct err e;
	char told;

	if (sys_read(fd, &told, 1) != 0)
		_exit(0);
	/* End of file: whoever could remove the groups died.  Our copy of the
	 * directory's lock keeps its successor waiting until we are done. */
	if (cg_sweep_all(t, &killed, &e) == 0)
		cg_sweep_ours(t);
	_exit(0);
}

int cg_keeper_start(struct cgroup_tree *t, struct err *e)
{
	sigset_t all, old;
	int fds[2];
	pid_t pid;

	/* A socket, not a pipe: telling a keeper that somebody killed is no SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(e, "make the keeper's socket");
	/* Blocked before it exists: no signal to our group can end it early. */
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) < 0)
		return err_sys(e, "block signals");
	pid = fork();
	if (pid == 0) {
		(void)setsid(); /* fails for a group leader, which a new child is not */
		(void)prctl(PR_SET_NAME, "fuzzcell-keeper");
		close_others(t, fds[0]);
		keep(t, fds[0]);
	}
	if (pid < 0)
		(void)err_sys(e, "start the keeper");
	(void)sigprocmask(SIG_SETMASK, &old, NULL); /* it was valid a moment ago */
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return -e->code;
	}
	t->keeper = pid;
	t->keeper_fd = fds[1];
	return 0;
}

void cg_keeper_stop(struct cgroup_tree *t)
{
	if (t->keeper == 0)
		return;
	(void)send(t->keeper_fd, "q", 1, MSG_NOSIGNAL); /* one that died is reaped all the same */
	close(t->keeper_fd);
	while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	t->keeper = 0;
	t->keeper_fd = -1;
}
