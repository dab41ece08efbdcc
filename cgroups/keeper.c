/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a small process that kills groups at their deadline, and all of ours when we die. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"
#include "cgroups/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { KEPT_MAX = 1 + 2 * CG_HIERARCHIES_MAX };

#define KILL_RETRY_US (1 * USEC_PER_SEC)

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

static void keeper_close_others(const struct cgroup_tree *t, int fd)
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

/* A message to the keeper: the deadline of a group.  An empty name makes the keeper exit without a
 * change to any group. */
struct keeper_message {
	uint64_t until_us; /* clock_mono_us(); 0: no deadline */
	uint32_t slot;
	uint32_t number; /* cg_slot.deadline */
	char name[CG_NAME_MAX + 1];
};

struct keeping {
	struct cgroup_tree *t;
	int fd;
	struct keeper_message *v; /* by slot */
	size_t n;		  /* slots that were ever in a message */
};

static bool is_populated(int dir)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	struct err e;
	uint64_t v;

	/* A group that cannot be read counts as populated. */
	return cg_file_read(dir, "cgroup.events", buf, &text, &e) < 0 ||
	       !cg_stat_keyed(text, SLICE("populated"), &v) || v != 0;
}

/* Kills an overdue group repeatedly until it is removed: a process may just have been forked. */
static void kill_late(struct keeping *k, struct keeper_message *w)
{
	struct cg_slot *shared = &k->t->shared[w->slot];
	_autoclose_ int dir = -1;
	struct err e;

	if (atomic_load(&shared->deadline) != w->number) { /* a newer one is in force */
		w->until_us = 0;
		return;
	}
	dir = sys_openat(k->t->at[0].fd, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	w->until_us = clock_mono_us() + KILL_RETRY_US;
	if (dir < 0 && errno == ENOENT)
		w->until_us = 0;
	if (dir < 0 || !is_populated(dir))
		return;
	/* Set before the end of the group can be seen. */
	atomic_store(&shared->overdue, true);
	if (cg_file_write(dir, "cgroup.kill", "1", &e) == -ENOENT)
		(void)!cg_sweep_kill_each(dir, &e); /* repeated in a second */
}

/* Kills all overdue groups.  Returns the milliseconds until the next deadline; -1: none. */
static int kill_all_late(struct keeping *k)
{
	uint64_t now = clock_mono_us(), next = UINT64_MAX;

	for (size_t i = 0; i < k->n; i++) {
		struct keeper_message *w = &k->v[i];

		if (w->until_us && w->until_us <= now)
			kill_late(k, w);
		if (w->until_us && w->until_us < next)
			next = w->until_us;
	}
	if (next == UINT64_MAX)
		return -1;
	next = next > now ? (next - now) / USEC_PER_MSEC + 1 : 0;
	return next < INT_MAX ? (int)next : INT_MAX;
}

/* Reads one message.  False: the keeper must exit, because its parent died or requests it. */
static bool keeper_receive(struct keeping *k, bool *ret_orphan)
{
	struct keeper_message w;
	ssize_t n = recv(k->fd, &w, sizeof(w), 0);

	*ret_orphan = n == 0;
	if (n < 0 && errno == EINTR)
		return true;
	if (n != sizeof(w) || !*w.name || w.slot >= CG_SLOTS)
		return false;
	k->v[w.slot] = w;
	if (w.slot >= k->n)
		k->n = w.slot + 1;
	return true;
}

static void __attribute__((noreturn)) keep(struct keeping *k)
{
	struct pollfd p = {.fd = k->fd, .events = POLLIN};
	bool orphan = false, more = true;
	unsigned killed;
	struct err e;

	while (more) {
		int ms = kill_all_late(k);

		/* Reads all messages first: the last one for a group counts. */
		while (more && poll(&p, 1, ms) > 0) { /* allow: the keeper has no loop */
			more = keeper_receive(k, &orphan);
			ms = 0;
		}
	}
	if (!orphan)
		_exit(0);
	/* End of file: our parent has died.  Our copy of the directory's lock makes its successor
	 * wait until we are done. */
	if (cg_sweep_all(k->t, &killed, &e) == 0)
		cg_sweep_ours(k->t);
	_exit(0);
}

/* The keeper reports through shared memory, so that it never waits for us while we are stopped. */
static int keeper_share(struct cgroup_tree *t, struct err *e)
{
	void *p = mmap(NULL, CG_SLOTS * sizeof(*t->shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "share memory with the keeper");
	t->shared = p;
	return 0;
}

static int keeper_start(struct cgroup_tree *t, struct keeping *k, struct err *e)
{
	sigset_t all, old;
	int fds[2];
	pid_t pid;

	/* A socket, not a pipe: a send to a killed keeper then causes no SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(e, "make the keeper's socket");
	k->fd = fds[0];
	/* Signals are blocked before the fork, so that no signal to our group ends the keeper. */
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) < 0)
		return err_sys(e, "block signals");
	pid = fork();
	if (pid == 0) {
		/* Its own session: ^Z stops our process group, but not the keeper. */
		(void)setsid(); /* fails for a group leader, which a new child is not */
		(void)prctl(PR_SET_NAME, "fuzzcell-keeper");
		keeper_close_others(t, fds[0]);
		keep(k);
	}
	if (pid < 0)
		(void)err_sys(e, "start the keeper");
	(void)sigprocmask(SIG_SETMASK, &old, NULL); /* it was valid a moment ago */
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return err_code(e);
	}
	t->keeper = pid;
	t->keeper_fd = fds[1];
	return 0;
}

int cg_keeper_start(struct cgroup_tree *t, struct err *e)
{
	/* Before the fork, so that the keeper never needs memory. */
	_autofree_ struct keeper_message *v = xcalloc(CG_SLOTS, sizeof(*v));
	struct keeping k = {.t = t, .v = v};
	int r = keeper_share(t, e);

	return r < 0 ? r : keeper_start(t, &k, e);
}

static int keeper_send(const struct cgroup_tree *t, const struct keeper_message *w, struct err *e)
{
	/* The send does not block: a stopped keeper must not stop us. */
	if (send(t->keeper_fd, w, sizeof(*w), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(e, "send a message to the keeper");
	return 0;
}

static int take_slot(struct cgroup *cg, struct err *e)
{
	struct cgroup_tree *t = cg->tree;

	if (cg->slot >= 0)
		return 0;
	for (unsigned i = 0; i < CG_SLOTS; i++) {
		unsigned char bit = (unsigned char)(1u << i % 8);

		if (t->slots[i / 8] & bit)
			continue;
		t->slots[i / 8] |= bit;
		atomic_store(&t->shared[i].overdue, false);
		cg->slot = (int)i;
		return 0;
	}
	return err_set(e, ENOSPC, "the keeper has no room for more than %d groups", CG_SLOTS);
}

int cgroup_deadline(struct cgroup *cg, uint64_t until_us, struct err *e)
{
	struct keeper_message w = {.until_us = until_us};
	int r;

	if (cg->tree->keeper == 0)
		return 0;
	r = take_slot(cg, e);
	if (r < 0)
		return r;
	w.slot = (uint32_t)cg->slot;
	/* Before the send, which may fail: the old deadline is not in force from here on. */
	w.number = atomic_fetch_add(&cg->tree->shared[cg->slot].deadline, 1) + 1;
	memcpy(w.name, cg->name, sizeof(w.name));
	return keeper_send(cg->tree, &w, e);
}

bool cgroup_overdue(const struct cgroup *cg)
{
	return cg->slot >= 0 && atomic_load(&cg->tree->shared[cg->slot].overdue);
}

void cg_keeper_forget(struct cgroup *cg)
{
	struct err ignored; /* its group is gone: the keeper finds no process to kill */
	unsigned slot = (unsigned)cg->slot;

	if (cg->slot < 0)
		return;
	(void)!cgroup_deadline(cg, 0, &ignored);
	cg->tree->slots[slot / 8] &= (unsigned char)~(1u << slot % 8);
	cg->slot = -1;
}

void cg_keeper_stop(struct cgroup_tree *t)
{
	static const struct keeper_message end = {0};
	struct err ignored;

	if (t->shared)
		(void)munmap(t->shared, CG_SLOTS * sizeof(*t->shared));
	t->shared = NULL;
	if (t->keeper == 0)
		return;
	if (keeper_send(t, &end, &ignored) < 0 && ignored.code == EAGAIN)
		(void)kill(t->keeper, SIGKILL); /* allow: not reaped; another process stopped it */
	close(t->keeper_fd);
	while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	t->keeper = 0;
	t->keeper_fd = -1;
}
