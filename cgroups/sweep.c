/* SPDX-License-Identifier: Apache-2.0 */
/* Kills and counts all processes below a group. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cgroups/internal.h"
#include "cgroups/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

struct visit {
	int (*fn)(int parent, const char *name, void *arg, struct err *e);
	void *arg;
};

static int sweep_walk(int dirfd, unsigned depth, const struct visit *v, struct err *e);

static int sweep_walk_one(int dirfd, const char *name, unsigned depth, const struct visit *v,
			  struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0; /* removed meanwhile */
	if (fd < 0)
		return err_sys(e, "open group '%s'", name);
	if (depth == 0)
		return err_set(e, ELOOP, "groups are nested too deep at '%s'", name);
	r = sweep_walk(fd, depth - 1, v, e);
	return r < 0 ? r : v->fn(dirfd, name, v->arg, e);
}

/* Visits every group below dirfd, deepest first. */
static int sweep_walk(int dirfd, unsigned depth, const struct visit *v, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dirfd, ".");
	struct dirent *de;
	int r = 0;

	if (!d)
		return err_sys(e, "list a control group");
	while (r == 0 && (de = readdir(d)))
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			r = sweep_walk_one(dirfd, de->d_name, depth, v, e);
	return r;
}

int cg_each_id(int dirfd, const char *file, void (*fn)(uint64_t id, void *arg), void *arg,
	       struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, file, O_RDONLY | O_NOFOLLOW, 0);
	char buf[CG_TEXT_MAX];
	size_t kept = 0;
	ssize_t got;

	if (fd < 0)
		return err_sys(e, "open '%s'", file);
	while ((got = sys_read(fd, buf + kept, sizeof(buf) - kept)) > 0) {
		struct slice text = {buf, kept + (size_t)got};
		uint64_t id;

		/* A number without a newline is not complete: the next read continues it. */
		while (memchr(text.p, '\n', text.n) && scan_u64(&text, 10, 1u << 30, &id) &&
		       scan_lit(&text, SLICE("\n")))
			fn(id, arg);
		kept = text.n < 32 ? text.n : 0;
		memmove(buf, text.p, kept);
	}
	/* A threaded group has no list of processes; they are in its parent's list. */
	return got < 0 && errno != EOPNOTSUPP ? err_sys(e, "read '%s'", file) : 0;
}

static void count_one(uint64_t pid, void *arg)
{
	unsigned *n = arg;

	(void)pid;
	++*n;
}

/* Only called for processes that cg_each_id() has just listed in a frozen group.  No process in it
 * ends, so the number still belongs to the same process. */
static void kill_one(uint64_t pid, void *arg)
{
	_autoclose_ int fd = -1;
	struct err e;

	(void)arg;
	if (proc_open((pid_t)pid, &fd, &e) < 0 || proc_kill(fd, SIGKILL, &e) < 0)
		return; /* the process has ended */
}

struct each {
	void (*fn)(uint64_t pid, void *arg);
	void *arg;
};

static int each_in(int parent, const char *name, void *arg, struct err *e)
{
	_autoclose_ int fd = sys_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	const struct each *each = arg;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open group '%s'", name);
	return cg_each_id(fd, "cgroup.procs", each->fn, each->arg, e);
}

int cg_sweep_each(int dirfd, void (*fn)(uint64_t pid, void *arg), void *arg, struct err *e)
{
	struct each each = {.fn = fn, .arg = arg};
	const struct visit v = {.fn = each_in, .arg = &each};
	int r = cg_each_id(dirfd, "cgroup.procs", fn, arg, e);

	return r < 0 ? r : sweep_walk(dirfd, CG_DEPTH_MAX, &v, e);
}

static int sweep_read_event(int fd, const char *key, bool *ret, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t v;

	if (cg_file_again(fd, buf, sizeof(buf), &text, e) < 0)
		return err_wrap(e, "'cgroup.events'");
	if (!cg_stat_keyed(text, slice_of(key), &v))
		return err_set(e, EBADMSG, "'cgroup.events' has no '%s'", key);
	*ret = v != 0;
	return 0;
}

/* Waits until cgroup.events has key == want. */
static int sweep_wait_for(int dirfd, const char *key, bool want, int ms, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, "cgroup.events", O_RDONLY | O_NOFOLLOW, 0);
	uint64_t until = clock_mono_us() + (uint64_t)ms * USEC_PER_MSEC;
	bool now = !want;
	int r;

	if (fd < 0)
		return err_sys(e, "open 'cgroup.events'");
	while ((r = sweep_read_event(fd, key, &now, e)) == 0 && now != want) {
		struct pollfd p = {.fd = fd, .events = POLLPRI};
		uint64_t at = clock_mono_us();

		if (at >= until)
			return err_set(e, ETIMEDOUT, "the group's '%s' is not %d after %d ms", key,
				       want, ms);
		/* allow: at start, at the end, and in the keeper: no loop is running */
		(void)poll(&p, 1, (int)((until - at) / USEC_PER_MSEC) + 1);
	}
	return r;
}

int cg_sweep_wait_empty(int dirfd, int ms, struct err *e)
{
	return sweep_wait_for(dirfd, "populated", false, ms, e);
}

int cg_sweep_kill_each(int dirfd, struct err *e)
{
	if (cg_file_write(dirfd, "cgroup.freeze", "1", e) < 0)
		return err_code(e);
	/* A thread that waits at the memory mark is never frozen, so the wait may time out.  The
	 * frozen threads cannot fork. */
	(void)!sweep_wait_for(dirfd, "frozen", true, 1000, e);
	if (cg_sweep_each(dirfd, kill_one, NULL, e) < 0)
		return err_code(e);
	return cg_file_write(dirfd, "cgroup.freeze", "0", e);
}

/* Whether the first thread has ended while other threads live. */
static bool is_headless(uint64_t pid)
{
	_autoclose_ int fd = -1;
	CLEANUP(closedir_p) DIR *d = NULL;
	char path[64], text[256];
	const char *state;
	unsigned threads = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	n = fd >= 0 ? sys_read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	state = strrchr(text, ')'); /* the text before ')' is the name, which may hold anything */
	if (!state || strncmp(state, ") Z", 3) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%llu/task", (unsigned long long)pid);
	d = sys_opendirat(AT_FDCWD, path);
	while (d && threads < 2 && sys_readdir(d))
		threads++;
	return threads > 1;
}

struct search {
	uint64_t pid;
	bool found;
};

static void find_one(uint64_t pid, void *arg)
{
	struct search *s = arg;

	s->found = s->found || pid == s->pid;
}

/* The kernel may have reused the number.  So the process is looked up again once a pidfd holds the
 * number. */
static void kill_headless(uint64_t pid, void *arg)
{
	const int *dirfd = arg;
	struct search s = {.pid = pid};
	_autoclose_ int fd = -1;
	struct err e;

	if (is_headless(pid) && proc_open((pid_t)pid, &fd, &e) == 0 &&
	    cg_sweep_each(*dirfd, find_one, &s, &e) == 0 && s.found)
		(void)!proc_kill(fd, SIGKILL, &e); /* a process that is gone needs no kill */
}

int cg_sweep_kill_all(int dirfd, struct err *e)
{
	int r = cg_file_write(dirfd, "cgroup.kill", "1", e);

	if (r == -ENOENT)
		return cg_sweep_kill_each(dirfd, e);
	return r == 0 ? cg_sweep_each(dirfd, kill_headless, &dirfd, e) : r;
}

/* Kills and counts the processes in the v2 group dirfd and below. */
static int sweep_kill(int dirfd, unsigned *ret_killed, struct err *e)
{
	unsigned n = 0;

	if (cg_sweep_each(dirfd, count_one, &n, e) < 0 || cg_sweep_kill_all(dirfd, e) < 0)
		return err_code(e);
	*ret_killed = n;
	return 0;
}

static int remove_one(int parent, const char *name, void *arg, struct err *e)
{
	(void)arg;
	if (sys_unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "remove group '%s'", name);
	return 0;
}

int cg_sweep_all(struct cgroup_tree *t, unsigned *ret_killed, struct err *e)
{
	const struct visit v = {.fn = remove_one};
	int r = sweep_kill(t->at[0].fd, ret_killed, e);

	if (r == 0)
		r = cg_sweep_wait_empty(t->at[0].fd, CG_EMPTY_MS, e);
	for (unsigned i = 0; r == 0 && i < t->n; i++)
		r = sweep_walk(t->at[i].fd, CG_DEPTH_MAX, &v, e);
	return r < 0 ? err_wrap(e, "clean '%s'", t->shown) : 0;
}

void cg_sweep_ours(struct cgroup_tree *t)
{
	/* v2 last: its directory has the lock.  Groups that are not empty are in use and stay. */
	for (unsigned i = t->n; i-- > 0;) {
		const struct cg_place *p = &t->at[i];

		if (p->fd < 0)
			continue;
		(void)sys_unlinkat(p->base_fd, p->path + p->base_n + 1, AT_REMOVEDIR);
		(void)sys_unlinkat(p->base_fd, CG_SHARED, AT_REMOVEDIR);
	}
}
