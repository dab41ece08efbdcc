/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/images/filtered.h"

#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/stat.h>

/* The list ---------------------------------------------------------------- */

struct line {
	const char *call, *reason;
	bool conditional;
};

#define ALLOW(call, why)				{#call, why, false},
#define ANSWER(call, error, why)			{#call, why, false},
#define WHEN_EQ(call, arg, value, why)			{#call, why, true},
#define WHEN_MASK(call, arg, mask, value, why)		{#call, why, true},
#define WHEN_BOTH(call, arg, value, arg2, value2, why)	{#call, why, true},
#define ANSWER_EQ(call, arg, value, error, why)		{#call, why, true},
#define ANSWER_NOT(call, arg, value, error, why)	{#call, why, true},
#define ANSWER_MASK(call, arg, mask, value, error, why) {#call, why, true},
static const struct line lines[] = {
#include "images/syscalls.inc"
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void every_line_has_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < LINES; i++)
		if (strlen(lines[i].reason) < 4)
			fail_msg("%s: no reason", lines[i].call);
}

static void no_call_is_listed_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < LINES; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(lines[i].call, lines[k].call) == 0 &&
			    !(lines[i].conditional && lines[k].conditional))
				fail_msg("%s: twice", lines[i].call);
}

/* A misspelt name would be skipped as a call of another architecture. */
static void every_call_has_a_number_somewhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < LINES; i++)
		if (seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, lines[i].call) < 0)
			fail_msg("%s: no such call", lines[i].call);
}

static void calls_have_names(void **state)
{
	char name[SECCOMP_NAME_MAX];

	(void)state;
	seccomp_name(SYS_socket, name);
	assert_string_equal(name, "socket");
	seccomp_name(9999, name);
	assert_string_equal(name, "number 9999");
}

/* The filter, loaded ------------------------------------------------------- */

static long c_getpid(void)
{
	return syscall(SYS_getpid);
}

static long c_socket_inet(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long c_socket_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long c_socketpair(void)
{
	int p[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, p);
}

static long c_connect(void)
{
	return connect(-1, NULL, 0);
}

static long c_send(void)
{
	return sendto(-1, NULL, 0, 0, NULL, 0);
}

static long c_send_to(void)
{
	const struct sockaddr a = {.sa_family = AF_UNIX};

	return sendto(-1, NULL, 0, 0, &a, sizeof(a));
}

static long c_bind(void)
{
	return bind(-1, NULL, 0);
}

static long c_fork(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static long c_clone_new(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0);
}

static long c_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long c_unshare(void)
{
	return unshare(CLONE_NEWNET);
}

static long c_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long c_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long c_keyctl(void)
{
	return syscall(SYS_keyctl, 0, -3, 0);
}

static long c_perf(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

static long c_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, 0);
}

static long c_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long c_mount(void)
{
	return syscall(SYS_mount, NULL, "/", NULL, 0, NULL);
}

static long c_open_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 0);
}

static long c_handle(void)
{
	return syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0);
}

static long c_chroot(void)
{
	return syscall(SYS_chroot, "/");
}

static long c_vm_writev(void)
{
	return syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0);
}

static long c_query_personality(void)
{
	return personality(0xffffffff);
}

static long c_no_randomize(void)
{
	return personality(ADDR_NO_RANDOMIZE);
}

static long c_read_implies_exec(void)
{
	return personality(READ_IMPLIES_EXEC);
}

static long c_isatty(void)
{
	return isatty(0) || errno != EPERM ? 0 : -1;
}

static long c_tiocsti(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static long c_mkfifo(void)
{
	return syscall(SYS_mknodat, -1, "x", S_IFIFO | 0600, 0);
}

static long c_mkdev(void)
{
	return syscall(SYS_mknodat, -1, "x", S_IFCHR | 0600, 0x103);
}

static long c_unknown(void)
{
	return syscall(9999);
}

static long c_map(void)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : munmap(p, 4096);
}

#if defined(__x86_64__)
static long c_int80(void)
{
	long r = 20; /* getpid in the 32-bit table */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

static long c_x32(void)
{
	return syscall(0x40000000L | SYS_getpid);
}
#endif

static const struct attempt attempts[] = {
    {"getpid", c_getpid, 0, NULL},
    {"mmap", c_map, 0, NULL},
    {"fork", c_fork, 0, NULL},
    {"isatty", c_isatty, 0, NULL},
    {"socketpair", c_socketpair, 0, NULL},
    {"socket unix", c_socket_unix, 0, NULL},
    {"connect", c_connect, ECONNREFUSED, NULL},
    {"sendto", c_send, EBADF, NULL},
    {"sendto an address", c_send_to, ECONNREFUSED, NULL},
    {"ask personality", c_query_personality, 0, NULL},
    {"no randomization", c_no_randomize, 0, NULL},
    {"ptrace", c_ptrace, 0, NULL},
    {"mkfifo", c_mkfifo, EBADF, NULL},
    {"clone3", c_clone3, ENOSYS, NULL},
    {"socket inet", c_socket_inet, EPERM, "socket"},
    {"bind", c_bind, EPERM, "bind"},
    {"clone new user", c_clone_new, EPERM, "clone"},
    {"unshare", c_unshare, EPERM, "unshare"},
    {"bpf", c_bpf, EPERM, "bpf"},
    {"keyctl", c_keyctl, EPERM, "keyctl"},
    {"perf", c_perf, EPERM, "perf_event_open"},
    {"userfaultfd", c_userfaultfd, EPERM, "userfaultfd"},
    {"io_uring", c_io_uring, EPERM, "io_uring_setup"},
    {"mount", c_mount, EPERM, "mount"},
    {"open_tree", c_open_tree, EPERM, "open_tree"},
    {"handle", c_handle, EPERM, "open_by_handle_at"},
    {"chroot", c_chroot, EPERM, "chroot"},
    {"vm_writev", c_vm_writev, EPERM, "process_vm_writev"},
    {"read implies exec", c_read_implies_exec, EPERM, "personality"},
    {"tiocsti", c_tiocsti, EPERM, "ioctl"},
    {"device", c_mkdev, EPERM, "mknodat"},
    {"unknown", c_unknown, ENOSYS, "number 9999"},
#if defined(__x86_64__)
    {"x32", c_x32, ANY, "number 1073741863"},
#endif
};

static void calls_are_let_through_or_refused(void **state)
{
	(void)state;
	try_all(attempts, sizeof(attempts) / sizeof(attempts[0]));
}

#if defined(__x86_64__)
static void a_foreign_table_is_refused(void **state)
{
	static const struct attempt int80 = {"int 0x80", c_int80, EPERM, "getpid (foreign)"};

	(void)state;
	if (kernel_has(&int80))
		try_all(&int80, 1);
	else /* some kernels fault on the 32-bit entry: a cell cannot call it either */
		print_message("# int 0x80 faults on this kernel\n");
}
#endif

static void nothing_waits_is_no_error_to_block_on(void **state)
{
	struct err e;
	struct seccomp_call call = {.name = "untouched"};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(seccomp_take(p[0], &call, &e), -EAGAIN);
	assert_string_equal(call.name, "untouched");
	close(p[0]);
	close(p[1]);
}

/* The calls above are of the list; these run a shell, as a merge does. */
static void __attribute__((noreturn)) filtered_shell(const uint8_t *program, size_t n)
{
	if (load(program, n, 0) < 0)
		_exit(98);
	execl("/bin/sh", "sh", "-c", "x=$(ls / | grep usr); test \"$x\" = usr", (char *)NULL);
	_exit(97);
}

static long c_shmget(void)
{
	return syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600);
}

static long c_shmat(void)
{
	return syscall(SYS_shmat, -1, NULL, 0);
}

static long c_shm_remove(void)
{
	return syscall(SYS_shmctl, -1, IPC_RMID, NULL);
}

static long c_shm_lock(void)
{
	return syscall(SYS_shmctl, -1, SHM_LOCK, NULL);
}

static long c_semget(void)
{
	return syscall(SYS_semget, IPC_PRIVATE, 1, 0600);
}

/* No segment is made here, where it would stay. */
static void other_calls_are_for_cells_that_ask(void **state)
{
	static const struct attempt with[] = {{"shmat", c_shmat, EINVAL, NULL},
					      {"shmctl IPC_RMID", c_shm_remove, EINVAL, NULL},
					      {"shmctl SHM_LOCK", c_shm_lock, EPERM, "shmctl"},
					      {"semget", c_semget, EPERM, "semget"},
					      {"bpf", c_bpf, EPERM, "bpf"},
					      {"ptrace", c_ptrace, 0, NULL}};
	static const struct attempt without[] = {{"shmget", c_shmget, EPERM, "shmget"},
						 {"shmat", c_shmat, EPERM, "shmat"},
						 {"shmctl", c_shm_remove, EPERM, "shmctl"}};

	(void)state;
	try_all_as(CELL_ENGINE_SEPARATE, with, sizeof(with) / sizeof(with[0]));
	try_all_as(CELL_ENGINE, without, sizeof(without) / sizeof(without[0]));
}

/* Without a listener any refused call fails with ENOSYS, and so does the script. */
static void a_shell_runs(void **state)
{
	_autofree_ uint8_t *program = NULL;
	int status;
	struct err e;
	size_t n;
	pid_t pid;

	(void)state;
	assert_int_equal(seccomp_compile(CELL_ENGINE, &program, &n, &e), 0);
	pid = fork();
	if (pid == 0)
		filtered_shell(program, n);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_line_has_a_reason),
    cmocka_unit_test(no_call_is_listed_twice),
    cmocka_unit_test(every_call_has_a_number_somewhere),
    cmocka_unit_test(calls_have_names),
    cmocka_unit_test(calls_are_let_through_or_refused),
#if defined(__x86_64__)
    cmocka_unit_test(a_foreign_table_is_refused),
#endif
    cmocka_unit_test(nothing_waits_is_no_error_to_block_on),
    cmocka_unit_test(other_calls_are_for_cells_that_ask),
    cmocka_unit_test(a_shell_runs),
};

UNIT_MAIN(tests)
