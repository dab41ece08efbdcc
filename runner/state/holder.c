/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/holder.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/scan.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int trigger_lock(int state_fd, const char *state_path, int *ret_fd, struct err *e)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_autoclose_ int fd = -1;
	char text[32];
	int n, r = fs_open_file(state_fd, "trigger.lock", O_RDWR | O_CREAT, 0640, &fd, e);

	if (r < 0)
		return err_wrap(e, "the trigger's lock");
	if (fcntl(fd, F_SETLK, &whole) < 0) {
		if (errno != EACCES && errno != EAGAIN)
			return err_sys(e, "lock '%s/trigger.lock'", state_path);
		(void)fcntl(fd, F_GETLK, &whole); /* l_pid is the holder, or 0 if it just ended */
		return err_set(e, EBUSY, "another trigger holds '%s/trigger.lock' (process %d)",
			       state_path, whole.l_type == F_UNLCK ? 0 : (int)whole.l_pid);
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (sys_ftruncate(fd, 0) < 0 || sys_write_all(fd, text, (size_t)n) < 0)
		return err_sys(e, "write '%s/trigger.lock'", state_path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int holder_of_run(int state_fd, bool *ret_held, pid_t *ret_pid, struct err *e)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_autoclose_ int fd = -1;
	int r = fs_open_file(state_fd, "lock", O_RDONLY, 0, &fd, e);

	*ret_held = false;
	*ret_pid = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : err_wrap(e, "the run's lock");
	if (fcntl(fd, F_GETLK, &whole) < 0)
		return err_sys(e, "ask for the run's lock");
	*ret_held = whole.l_type != F_UNLCK;
	*ret_pid = *ret_held ? whole.l_pid : 0;
	return 0;
}

/* "PID (NAME) STATE ..." and numbers.  A name may hold any characters, so the last parenthesis
 * counts. */
static bool parse_stat(struct slice s, char *ret_state, uint64_t *ret_start)
{
	enum { BEFORE = 18 }; /* fields between the state and starttime, the 22nd */
	const char *end = memrchr(s.p, ')', s.n);
	struct slice skip;

	if (!end)
		return false;
	s = (struct slice){end + 1, s.n - (size_t)(end + 1 - s.p)};
	scan_blanks(&s);
	if (s.n == 0)
		return false;
	*ret_state = *s.p;
	s.p++;
	s.n--;
	for (unsigned i = 0; i < BEFORE; i++) {
		scan_blanks(&s);
		if (!scan_until(&s, ' ', 32, &skip))
			return false;
	}
	scan_blanks(&s);
	return scan_u64(&s, 10, INT64_MAX, ret_start);
}

int process_start(pid_t pid, uint64_t *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	char path[40], state;
	size_t n;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = pid > 0 ? fs_read(AT_FDCWD, path, 4096, &text, &n, e) : err_set(e, ESRCH, "no process");
	if (r < 0)
		return r == -ENOENT || r == -ESRCH
			   ? err_set(e, ESRCH, "process %d is gone", (int)pid)
			   : r;
	if (!parse_stat((struct slice){text, n}, &state, ret))
		return err_set(e, EPROTO, "'%s' is not as expected", path);
	return state == 'Z' || state == 'X' ? err_set(e, ESRCH, "process %d is dead", (int)pid) : 0;
}

int process_open(pid_t pid, uint64_t start, int *ret_pidfd, struct err *e)
{
	_autoclose_ int fd = -1;
	uint64_t began;
	int r = pid > 0 ? proc_open(pid, &fd, e) : err_set(e, ESRCH, "no process");

	/* Checked after opening the handle: before that, the number could be given to another
	 * process. */
	if (r == 0)
		r = process_start(pid, &began, e);
	if (r == 0 && began != start)
		r = err_set(e, ESRCH, "process %d was replaced by another one", (int)pid);
	if (r == 0)
		*ret_pidfd = take_fd(&fd);
	return r;
}
