/* SPDX-License-Identifier: Apache-2.0 */
/* On an input that begins with 'B', the next letter names a kind of trace.  If the trace exists,
 * the target overflows the heap; otherwise it leaves the trace.  'K' kills the process. Promise:
 * truth.  Inputs that are replayed one after the other in one cell get the same result as alone. */
#include "planted.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { LONG_AGO = 77, FEW = 32, SMALL_PIPE = 4096 };

static bool is_old(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_mtime == LONG_AGO;
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & 0777) == mode;
}

static bool has_met(char what)
{
	struct rlimit files = {0};
	char byte;

	switch (what) {
	case 'p': /* a process */
		return kill(-1, 0) == 0;
	case 't': /* a file */
		return access("/tmp/left", F_OK) == 0;
	case 's':
		return access("/dev/shm/left", F_OK) == 0;
	case 'l': /* a limit */
		return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur == FEW;
	case 'm': /* a mode */
		return has_mode("/tmp", 0555);
	case 'M':
		return has_mode("/dev/shm", 0555);
	case 'u': /* a time */
		return is_old("/tmp");
	case 'y':
		return is_old("/dev/shm");
	case 'n': /* of its streams: flags, size, mode, bytes */
		return fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK;
	case 'z':
		return fcntl(STDERR_FILENO, F_GETPIPE_SZ) == SMALL_PIPE;
	case 'o':
		return has_mode("/proc/self/fd/1", 0);
	case 'i':
		return read(STDIN_FILENO, &byte, 1) == 1;
	default:
		return false;
	}
}

static void leave_process(void)
{
	if (fork() != 0)
		return;
	setsid();
	for (;;)
		pause();
}

static void leave_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void leave_byte(void)
{
	int fd = open("/proc/self/fd/0", O_RDWR | O_NONBLOCK);

	(void)!write(fd, "x", 1);
}

static void leave(char what)
{
	struct timeval old[2] = {{LONG_AGO, 0}, {LONG_AGO, 0}};
	struct rlimit few = {FEW, FEW};

	if (what == 'p')
		leave_process();
	else if (what == 't' || what == 's')
		leave_file(what == 't' ? "/tmp/left" : "/dev/shm/left");
	else if (what == 'l')
		(void)prlimit(1, RLIMIT_NOFILE, &few, NULL);
	else if (what == 'm' || what == 'M')
		(void)chmod(what == 'm' ? "/tmp" : "/dev/shm", 0555);
	else if (what == 'u' || what == 'y')
		(void)utimes(what == 'u' ? "/tmp" : "/dev/shm", old);
	else if (what == 'n')
		(void)fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
	else if (what == 'z')
		(void)fcntl(STDERR_FILENO, F_SETPIPE_SZ, SMALL_PIPE);
	else if (what == 'o')
		(void)fchmod(STDOUT_FILENO, 0);
	else if (what == 'i')
		leave_byte();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool again; /* libFuzzer runs an input twice when it looks for a leak */
	volatile uint8_t *cell = malloc(1);

	if (cell && size > 1 && data[0] == 'B' && !again) {
		again = true;
		if (has_met((char)data[1]))
			cell[1] = 'x';
		else
			leave((char)data[1]);
	} else if (size > 0 && data[0] == 'K') {
		kill(getpid(), SIGKILL);
	}
	free((void *)cell);
	return 0;
}
