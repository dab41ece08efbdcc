/* SPDX-License-Identifier: Apache-2.0 */
/* Writes DISK_FILES (20) different artifacts of 1 MiB, and dies; in every cell anew.
 * Promise: disk.  The files that a run keeps of all its cells together are within the limit. */
#include "disk.h"
#include <sys/random.h>

static void leave_one(void)
{
	static char block[1 << 20];
	char name[80], where[256];
	uint64_t id[2] = {0};
	int fd;

	(void)getrandom(id, sizeof(id), 0);
	(void)snprintf(name, sizeof(name), "/work/artifacts/crash-%016llx%016llx%08x",
		       (unsigned long long)id[0], (unsigned long long)id[1], 0U);
	memcpy(block, id, sizeof(id));
	fd = open(planted_path(where, sizeof(where), name), O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, block, sizeof(block)) != sizeof(block))
		planted_report("write an artifact", errno);
	if (fd >= 0)
		(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return planted_work(data, size);
	for (uint64_t i = planted_env("DISK_FILES", 20); i > 0; i--)
		leave_one();
	abort();
}
