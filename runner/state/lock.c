/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/lock.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOCK_RUN     "lock"
#define LOCK_TRIGGER "trigger.lock"

/* program: "run" or "trigger", for the message; NULL: waits. */
static int lock_take(int state_fd, const char *state_path, const char *name, const char *program,
		     int *ret_fd, struct err *e)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_autoclose_ int fd = -1;
	char text[32];
	int n, r = fs_open_file(state_fd, name, O_RDWR | O_CREAT, 0640, &fd, e);

	if (r < 0)
		return err_wrap(e, "state directory '%s'", state_path);
	if (fcntl(fd, program ? F_SETLK : F_SETLKW, &whole) < 0) {
		if (!program || (errno != EACCES && errno != EAGAIN))
			return err_sys(e, "lock '%s/%s'", state_path, name);
		(void)fcntl(fd, F_GETLK, &whole); /* l_pid is the holder, or 0 if it just ended */
		return err_set(e, EBUSY, "another %s holds '%s/%s' (process %d)", program,
			       state_path, name, whole.l_type == F_UNLCK ? 0 : (int)whole.l_pid);
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (sys_ftruncate(fd, 0) < 0 || sys_write_all(fd, text, (size_t)n) < 0)
		return err_sys(e, "write '%s/%s'", state_path, name);
	*ret_fd = take_fd(&fd);
	return 0;
}

int lock_run(int state_fd, const char *state_path, int *ret_fd, struct err *e)
{
	return lock_take(state_fd, state_path, LOCK_RUN, "run", ret_fd, e);
}

int lock_run_wait(int state_fd, const char *state_path, int *ret_fd, struct err *e)
{
	return lock_take(state_fd, state_path, LOCK_RUN, NULL, ret_fd, e);
}

int lock_trigger(int state_fd, const char *state_path, int *ret_fd, struct err *e)
{
	return lock_take(state_fd, state_path, LOCK_TRIGGER, "trigger", ret_fd, e);
}

int lock_run_holder(int state_fd, bool *ret_held, pid_t *ret_pid, struct err *e)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_autoclose_ int fd = -1;
	int r = fs_open_file(state_fd, LOCK_RUN, O_RDONLY, 0, &fd, e);

	*ret_held = false;
	*ret_pid = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : err_wrap(e, "the run's lock");
	if (fcntl(fd, F_GETLK, &whole) < 0)
		return err_sys(e, "find the process that holds the run's lock");
	*ret_held = whole.l_type != F_UNLCK;
	*ret_pid = *ret_held ? whole.l_pid : 0;
	return 0;
}
