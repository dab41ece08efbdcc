/* SPDX-License-Identifier: Apache-2.0 */
/* Fills every scratch place that it finds: /tmp, /dev/shm, /var/tmp, /run, its
 * working directory, /dev itself, and memory that is a file (memfd).
 * Promise: disk, and memory: what lies in a tmpfs is counted to the cell. */
#include "disk.h"
#include <sys/mman.h>

static int fill_memfd(void)
{
	static char block[1 << 20];
	int fd = memfd_create("planted", MFD_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno;
	while ((n = write(fd, block, sizeof(block))) > 0)
		disk_count((uint64_t)n);
	n = errno;
	(void)close(fd);
	return (int)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const files[] = {
	    "/tmp/planted", "/dev/shm/planted", "/var/tmp/planted",
	    "/run/planted", "/dev/planted",	"planted",
	};
	char name[64];
	static bool done;

	if (done || size == 0)
		return planted_work(data, size);
	done = true;
	disk_ignore_xfsz();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(name, sizeof(name), "fill %s", files[i]);
		planted_report(name, disk_fill(files[i]));
	}
	planted_report("fill memfd", fill_memfd());
	return 0;
}
