/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/crun.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cells/sealed.h"
#include "images/init.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CRUN_LOG_MAX = 65536, CRUN_VERSION_MAX = 4096, CRUN_PROGRAM_MAX = 64 << 20 };

/* crun 1.8.1 checks exactly this path (cgroup.c, libcrun_get_cgroup_mode).  It refuses to start
 * when a v2 tree with controllers is there beside v1, with any --cgroup-manager. */
static const char hybrid_v2[] = "/sys/fs/cgroup/unified";

/* crun does not inherit our environment: NOTIFY_SOCKET, LISTEN_FDS and its own variables would
 * change its behaviour. */
#define SEARCH_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* crun first mounts its own program on a file that it makes in this directory, by default /tmp
 * (crun 1.8.1, libcrun/cloned_binary.c).  A killed crun leaves the file. */
#define SCRATCH_VARIABLE "_LIBCONTAINER_STATEDIR"

static int crun_enter(int mounts)
{
	return mounts < 0 ? 0 : setns(mounts, CLONE_NEWNS);
}

/* Moves two descriptors to their places.  Each of them may have the other one's number now. */
static int crun_pass(int init, int socket)
{
	int i = fcntl(init, F_DUPFD_CLOEXEC, INIT_PROGRAM + 1);
	int w = fcntl(socket, F_DUPFD_CLOEXEC, INIT_PROGRAM + 1);

	return i < 0 || w < 0 || dup2(w, INIT_SOCKET) < 0 || dup2(i, INIT_PROGRAM) < 0 ? -1 : 0;
}

/* Between fork and exec: system calls only. */
static int crun_prepare(void *arg)
{
	const struct crun_job *job = arg;

	if (cgroup_enter(job->group) < 0)
		return -1;
	/* Inherited by everything that crun starts. */
	if (job->fixed_addresses && personality(ADDR_NO_RANDOMIZE) < 0)
		return -1;
	return crun_pass(job->init, job->socket) < 0 ? -1 : crun_enter(job->mounts);
}

static int leave_mounts(enum cgroup_layout layout)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -1;
	if (layout != CGROUP_HYBRID)
		return 0;
	/* EINVAL: not mounted there, so crun does not see it either */
	return umount2(hybrid_v2, MNT_DETACH) < 0 && errno != EINVAL && errno != ENOENT ? -1 : 0;
}

/* Runs in a child: makes the namespace, reports that, and holds it until it is killed.  It must not
 * outlive its parent, because it has inherited the lock of the parent's groups (cgroups/place.c).
 */
static void __attribute__((noreturn))
hold_mounts(enum cgroup_layout layout, int ready, pid_t parent)
{
	int why = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	/* The parent opens our namespace through /proc.  If it lacks some of root's privileges, it
	 * can do this only while we are dumpable; it may be non-dumpable itself. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (leave_mounts(layout) < 0)
		why = errno;
	if (write(ready, &why, sizeof(why)) != sizeof(why))
		_exit(1);
	for (;;)
		(void)pause();
}

static int take_mounts(pid_t holder, int ready, int *ret_fd, struct err *e)
{
	char path[64];
	int why = EIO;

	if (sys_read(ready, &why, sizeof(why)) != sizeof(why) || why) {
		errno = why ? why : EIO;
		return err_sys(e, "make a mount namespace for crun");
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)holder);
	*ret_fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	return *ret_fd < 0 ? err_sys(e, "open '%s'", path) : 0;
}

int crun_open_mounts(enum cgroup_layout layout, int *ret_fd, struct err *e)
{
	pid_t pid, parent = getpid();
	int p[2], r;

	*ret_fd = -1;
	if (geteuid() != 0)
		return 0;
	if (sys_pipe(p) < 0)
		return err_sys(e, "make a pipe");
	pid = fork();
	if (pid == 0)
		hold_mounts(layout, p[1], parent);
	close(p[1]);
	r = pid < 0 ? err_set(e, EAGAIN, "fork") : take_mounts(pid, p[0], ret_fd, e);
	close(p[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL); /* allow: just forked, not reaped */
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return r;
}

/* Searches PATH like execvp(3). */
static int open_program(const char *name)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return sys_openat(AT_FDCWD, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	while (at && *at) {
		size_t n = strcspn(at, ":");
		_autofree_ char *path = xasprintf("%.*s/%s", (int)n, at, name);
		_autoclose_ int fd =
		    sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
		struct stat st;

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
			return take_fd(&fd);
		at += n + (at[n] == ':');
	}
	return -1;
}

int crun_open_copy(const char *program)
{
	_autoclose_ int fd = geteuid() == 0 ? open_program(program) : -1;
	_autofree_ char *bytes = NULL;
	_autoclose_ int copy = -1;
	struct err ignored;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < SELFMAG ||
	    st.st_size > CRUN_PROGRAM_MAX)
		return -1;
	bytes = xmalloc((size_t)st.st_size);
	if (sys_pread(fd, bytes, (size_t)st.st_size, 0) != st.st_size ||
	    memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    sealed_program("crun", bytes, (size_t)st.st_size, &copy, &ignored) < 0)
		return -1;
	/* crun_pass() uses the lower numbers for other descriptors. */
	return fcntl(copy, F_DUPFD_CLOEXEC, INIT_PROGRAM + 1);
}

/* Not /dev/null: crun 1.8.1 gives descriptors 0 to 2 to the cell's user (container.c,
 * maybe_chown_std_streams).  Then the cell would own the machine's /dev/null and could deny it to
 * other processes (chmod).  So standard input is a pipe at end of file. */
int crun_open_input(int *ret_fd, struct err *e)
{
	int p[2];

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	close(p[1]);
	*ret_fd = p[0];
	return 0;
}

int crun_start(const struct crun_job *job, pid_t *ret, struct err *e)
{
	_autofree_ char *pid_file = xasprintf("%s/pid", job->bundle_dir);
	_autofree_ char *log = xasprintf("%s/log", job->bundle_dir);
	_autofree_ char *scratch = xasprintf(SCRATCH_VARIABLE "=%s", job->bundle_dir);
	const char *environment[] = {SEARCH_PATH, scratch, NULL};
	const char *argv[] = {job->program,
			      "--root",
			      job->state_dir,
			      "--cgroup-manager=disabled",
			      "--log",
			      log,
			      "run",
			      "--detach",
			      "--pid-file",
			      pid_file,
			      "--preserve-fds=2",
			      "--bundle",
			      job->bundle_dir,
			      job->id,
			      NULL};
	struct crun_job copy = *job;
	struct proc_spec spec = PROC_SPEC_INIT;
	_autoclose_ int input = -1;
	int r = crun_open_input(&input, e);

	if (r < 0)
		return r;
	spec.argv = argv;
	spec.program_fd = job->copy;
	spec.env = environment;
	spec.stdin_fd = input;
	spec.stdout_fd = job->output_fd;
	spec.stderr_fd = job->output_fd;
	spec.prepare = crun_prepare;
	spec.prepare_arg = &copy;
	return proc_spawn(&spec, ret, e);
}

int crun_read_pid(int bundle_fd, pid_t *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	struct slice s;
	uint64_t pid;
	size_t n;
	int r = fs_read(bundle_fd, "pid", 32, &text, &n, e);

	if (r < 0)
		return r;
	s = (struct slice){text, n};
	if (!scan_u64(&s, 10, INT32_MAX, &pid) || pid < 2)
		return err_set(e, EBADMSG, "crun's pid file does not contain a process number");
	*ret = (pid_t)pid;
	return 0;
}

static void status_text(int status, char *out, size_t n)
{
	if (WIFSIGNALED(status))
		(void)snprintf(out, n, "crun was ended by signal %d", WTERMSIG(status));
	else
		(void)snprintf(out, n, "crun ended with status %d and no message",
			       WEXITSTATUS(status));
}

void crun_why(int bundle_fd, int status, char *out, size_t n)
{
	_autofree_ char *text = NULL;
	struct slice rest, line;
	struct err e;
	size_t got, used = 0;

	out[0] = '\0';
	if (fs_read(bundle_fd, "log", CRUN_LOG_MAX, &text, &got, &e) == 0) {
		rest = (struct slice){text, got};
		while (used < n && scan_line(&rest, &line))
			if (line.n)
				used += (size_t)snprintf(out + used, n - used, "%s%.*s",
							 used ? "; " : "", (int)line.n, line.p);
	}
	if (used == 0)
		status_text(status, out, n);
}

static int enter_mounts(void *arg)
{
	return crun_enter(*(int *)arg);
}

/* Returns all output of the program, and its status. */
static int crun_capture(const char *program, int mounts, char out[CRUN_VERSION_MAX],
			int *ret_status, struct err *e)
{
	static const char *const environment[] = {SEARCH_PATH, NULL};
	const char *argv[] = {program, "--version", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	size_t n = 0;
	ssize_t got;
	int p[2], r;
	pid_t pid;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	spec.argv = argv;
	spec.env = environment;
	spec.stdout_fd = wr;
	spec.prepare = enter_mounts;
	spec.prepare_arg = &mounts;
	r = proc_spawn(&spec, &pid, e);
	if (r < 0)
		return r;
	close_p(&wr);
	while ((got = sys_read(rd, out + n, CRUN_VERSION_MAX - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	close_p(&rd);
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for '%s'", program);
	return 0;
}

static bool scan_version(struct slice *in, uint64_t v[3])
{
	v[2] = 0;
	if (!scan_u64(in, 10, 1000, &v[0]) || !scan_lit(in, SLICE(".")) ||
	    !scan_u64(in, 10, 1000, &v[1]))
		return false;
	return !scan_lit(in, SLICE(".")) || scan_u64(in, 10, 1000, &v[2]);
}

static bool crun_at_least(const uint64_t v[3], const uint64_t want[3])
{
	for (int i = 0; i < 3; i++)
		if (v[i] != want[i])
			return v[i] > want[i];
	return true;
}

int crun_check(const char *program, int mounts, struct err *e)
{
	char text[CRUN_VERSION_MAX];
	struct slice output, oldest = SLICE(CRUN_MIN_VERSION);
	uint64_t have[3], want[3];
	int status, r = crun_capture(program, mounts, text, &status, e);

	if (r == -ENOENT)
		return err_wrap(e, "cells need crun (Debian: apt-get install crun)");
	if (r < 0)
		return r;
	output = slice_of(text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
	    !scan_lit(&output, SLICE("crun version ")) || !scan_version(&output, have) ||
	    !scan_version(&oldest, want))
		return err_set(e, EPROTONOSUPPORT,
			       "'%s --version' does not print a version of crun", program);
	if (!crun_at_least(have, want))
		return err_set(e, EPROTONOSUPPORT, "'%s' is older than crun " CRUN_MIN_VERSION,
			       program);
	return 0;
}
