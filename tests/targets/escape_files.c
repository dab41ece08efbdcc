/* SPDX-License-Identifier: Apache-2.0 */
/* Part of escape_fuzzer: files and directories that a cell must not see or
 * change. */
#include "escape.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Reading one byte is a success; an empty file that masks another file is not. */
static int read_file(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = read(fd, &byte, 1);
	return n > 0 ? 0 : n < 0 ? errno : ENODATA;
}

/* Listing one name is a success. */
static int list_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *f;

	if (!d)
		return errno;
	while ((f = readdir(d)))
		if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
			return 0;
	return ENODATA;
}

/* Opens only: nothing is written. */
static int open_to_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int create_in(const char *dir)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/planted-escape", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	(void)unlink(path);
	return 0;
}

static int change_mode(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	return chmod(path, st.st_mode & 07777) < 0 ? errno : 0; /* to its old mode */
}

/* Only where PLANTED_PID names a process outside. */
static int read_of_pid(const char *file)
{
	const char *pid = getenv("PLANTED_PID");
	char path[PATH_MAX];

	if (!pid)
		return ESRCH;
	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	return read_file(path);
}

/* Leaked descriptors: all above 2 except that of the open directory. */
static int inherited(const char *arg)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *f;

	(void)arg;
	if (!d)
		return errno;
	while ((f = readdir(d))) {
		int fd = f->d_name[0] == '.' ? -1 : (int)strtol(f->d_name, NULL, 10);
		char name[64] = "", to[200] = "";

		if (fd <= 2 || fd == dirfd(d))
			continue;
		(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		(void)!readlink(name, to, sizeof(to) - 1);
		dprintf(STDERR_FILENO, "planted: descriptor %d is %s\n", fd, to);
		return 0;
	}
	return EBADF;
}

const struct attempt escape_files[] = {
    {"inherited descriptor", inherited, NULL},
    {"read", read_file, "/etc/shadow"},
    {"read", read_file, "/etc/gshadow"},
    {"read", read_file, "/etc/ssh/sshd_config"},
    {"read", read_file, "/proc/kcore"},
    {"read", read_file, "/proc/kmsg"},
    {"read", read_file, "/proc/keys"},
    {"read", read_file, "/proc/timer_list"},
    {"read", read_file, "/proc/1/root/etc/shadow"},
    {"read", read_file, "/proc/1/root/../../etc/shadow"},
    {"read", read_file, "/dev/mem"},
    {"read", read_file, "/dev/port"},
    {"read", read_file, "/dev/vda"},
    {"read", read_file, "/dev/sda"},
    {"read", read_file, "/dev/kmsg"},
    {"read of PLANTED_PID", read_of_pid, "environ"},
    {"read of PLANTED_PID", read_of_pid, "root/etc/shadow"},
    {"list", list_dir, "/root"},
    {"list", list_dir, "/home"},
    {"list", list_dir, "/etc/ssh"},
    {"list", list_dir, "/var/lib"},
    {"list", list_dir, "/proc/1/root/root"},
    {"list", list_dir, "/proc/scsi"},
    {"list", list_dir, "/sys/firmware"},
    {"create in", create_in, "/"},
    {"create in", create_in, "/usr"},
    {"create in", create_in, "/usr/lib"},
    {"create in", create_in, "/etc"},
    {"create in", create_in, "/dev"},
    {"create in", create_in, "/target"},
    {"create in", create_in, "/seeds"},
    {"create in", create_in, "/seeds/0"},
    {"create in", create_in, "/seeds/1"},
    {"create in", create_in, "/work"},
    {"create in", create_in, "/sys/fs/cgroup"},
    {"open to write", open_to_write, "/proc/self/exe"},
    {"open to write", open_to_write, "/target/escape_fuzzer"},
    {"open to write", open_to_write, "/etc/passwd"},
    {"open to write", open_to_write, "/usr/bin/env"},
    {"open to write", open_to_write, "/proc/self/oom_score_adj"},
    {"open to write", open_to_write, "/proc/self/oom_adj"},
    {"open to write", open_to_write, "/proc/self/clear_refs"},
    {"open to write", open_to_write, "/proc/self/autogroup"},
    {"open to write", open_to_write, "/proc/self/timerslack_ns"},
    {"open to write", open_to_write, "/proc/self/loginuid"},
    {"open to write", open_to_write, "/proc/sysrq-trigger"},
    {"open to write", open_to_write, "/proc/sys/kernel/core_pattern"},
    {"open to write", open_to_write, "/proc/sys/vm/drop_caches"},
    {"open to write", open_to_write, "/sys/fs/cgroup/cgroup.procs"},
    {"open to write", open_to_write, "/sys/fs/cgroup/memory.max"},
    {"open to write", open_to_write, "/sys/kernel/uevent_helper"},
    {"open to write", open_to_write, "/dev/kvm"},
    {"open to write", open_to_write, "/dev/fuse"},
    {"open to write", open_to_write, "/dev/net/tun"},
    {"change mode of", change_mode, "/target/escape_fuzzer"},
    {"change mode of", change_mode, "/seeds/0"},
    {"change mode of", change_mode, "/usr/bin/env"},
    {"change mode of", change_mode, "/dev/null"},
    {"change mode of", change_mode, "/dev/zero"},
    {NULL, NULL, NULL},
};
