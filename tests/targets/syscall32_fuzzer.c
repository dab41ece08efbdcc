/* SPDX-License-Identifier: Apache-2.0 */
/* Calls getpid(2) by the 32-bit entry (int 0x80), and with the x32 bit set, on an input that begins
 * with 'S'.  This bypasses a filter that checks only the number.  Each call is in a child, because
 * the answer may be a signal. Promise: system calls.  Neither call returns a process number, and no
 * single thread is killed, which would leave a hanging process. */
#include "planted.h"
#include <sys/syscall.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#define X32_BIT 0x40000000L

static long call_int80(void)
{
	long r = 20; /* getpid in the 32-bit table */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static long call_x32(void)
{
	long r = syscall(X32_BIT | SYS_getpid);

	return r < 0 ? -errno : r;
}
#else
static long call_int80(void)
{
	return -ENOSYS;
}

static long call_x32(void)
{
	return -ENOSYS;
}
#endif

static void try_call(const char *what, long (*call)(void))
{
	pid_t child = fork();
	int status = 0;
	long r;

	if (child == 0) {
		struct sigaction standard = {.sa_handler = SIG_DFL};

		(void)sigaction(SIGSEGV, &standard, NULL); /* allow: no engine's report */
		r = call();
		_exit(r > 0 ? 0 : (int)-r);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		planted_report(what, errno);
	else
		planted_report(what,
			       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool told;

	if (told || !planted_magic(data, size, 'S'))
		return planted_work(data, size);
	told = true;
	try_call("int 0x80", call_int80);
	try_call("x32 call", call_x32);
	return 0;
}
