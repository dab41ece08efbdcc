/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_DISK_H
#define TESTS_TARGETS_DISK_H

/* Files that fill a disk, for the disk fillers.  All of them together write at
 * most DISK_BYTES from the environment, 2 GiB by default. */

#include "planted.h"
#include <fcntl.h>

/* Counts what was written; ends the process at the cap. */
static inline void disk_count(uint64_t bytes)
{
	static uint64_t written;

	written += bytes;
	if (written >= planted_env("DISK_BYTES", 2 * PLANTED_GIB))
		planted_cap("disk");
}

/* Makes exceeding the file-size limit an error (EFBIG).  The engine would end its run at the
 * signal. */
static inline void disk_ignore_xfsz(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	(void)sigaction(SIGXFSZ, &ignore, NULL); /* allow: what this target is for */
}

/* Writes one file until the kernel refuses, and returns the errno.  Never returns 0: without a
 * limit the cap ends the process. */
static inline int disk_fill(const char *path)
{
	static char block[1 << 20];
	char where[256];
	int fd, err;
	ssize_t n;

	memset(block, 0xa5, sizeof(block)); /* no holes, nothing to compress to zero */
	fd = open(planted_path(where, sizeof(where), path), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0)
		return errno;
	while ((n = write(fd, block, sizeof(block))) > 0)
		disk_count((uint64_t)n);
	err = n < 0 ? errno : EIO;
	(void)close(fd);
	return err;
}

#endif
