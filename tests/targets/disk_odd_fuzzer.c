/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves odd things in its output directories, under the names of artifacts and
 * of corpus inputs: a FIFO (opening it blocks), a socket, symbolic links to
 * /etc/passwd, to /dev/zero and to itself, a directory, a sparse file of 1 TiB,
 * a file without permissions, hard links, names with newline, escape sequence,
 * quotes, leading dash and 255 bytes.
 * Promise: results and files.  fuzzcell takes plain files only, follows nothing,
 * blocks on nothing, reads no more than its cap, and loses no true artifact. */
#include "disk.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void odd_links(const char *dir)
{
	(void)!symlink("/etc/passwd", "crash-1111111111111111111111111111111111111111");
	(void)!symlink("/dev/zero", "oom-2222222222222222222222222222222222222222");
	(void)!symlink("3333", "3333");
	(void)!symlink("../../../../etc", "slow-unit-up");
	(void)!link("plain", "timeout-4444444444444444444444444444444444444444");
	(void)!symlink(dir, "loop");
}

static void odd_nodes(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "leak-socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		(void)bind(fd, (struct sockaddr *)&a, sizeof(a));
		(void)close(fd);
	}
	(void)mkfifo("crash-fifo", 0600);
	(void)mkfifo("5555555555555555555555555555555555555555", 0600);
	(void)mkdir("crash-directory", 0000);
}

static void odd_file(const char *name, mode_t mode, off_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	if (fd < 0)
		return;
	if (write(fd, "planted", 7) == 7 && size > 0)
		(void)!ftruncate(fd, size);
	(void)close(fd);
}

static void odd_dir(const char *dir)
{
	char where[256], longest[256];

	if (chdir(planted_path(where, sizeof(where), dir)) < 0) {
		planted_report(dir, errno);
		return;
	}
	memset(longest, 'n', sizeof(longest) - 1);
	longest[255] = '\0';
	odd_file("plain", 0600, 0);
	odd_file("crash-sparse", 0600, (off_t)1 << 40);
	odd_file("crash-forbidden", 0000, 0);
	odd_file("crash-new\nline", 0600, 0);
	odd_file("crash-\x1b[31mred\x1b[0m", 0600, 0);
	odd_file("crash-'\"`$(id)", 0600, 0);
	odd_file("crash-\xff\xfe", 0600, 0);
	odd_file("-rf", 0600, 0);
	odd_file(longest, 0600, 0);
	odd_links(where);
	odd_nodes();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool done;
	int home;

	if (done || size == 0)
		return planted_work(data, size);
	done = true;
	home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	disk_ignore_xfsz();
	odd_dir("/work/artifacts");
	odd_dir("/work/corpus");
	dprintf(STDERR_FILENO, "planted: odd files are there\n");
	if (home >= 0)
		(void)!fchdir(home);
	return 0;
}
