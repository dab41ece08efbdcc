/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the corpus and the artifact directory with small files, as fast as it can, from the
 * first input on.  Cap: DISK_FILES (default 400000) files in each.  With DISK_STOP=1 it then
 * continues fuzzing.
 * Promise: disk.  The cell ends as `disk-limit` before the files do harm; inodes count, too.
 * The true artifacts are not lost among them. */
#include "disk.h"

static int fill_with_files(const char *dir, uint64_t max)
{
	static const char text[] = "planted\n";
	char path[256], where[320];

	for (uint64_t i = 0; i < max; i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/planted-%llu", dir, (unsigned long long)i);
		fd = open(planted_path(where, sizeof(where), path), O_WRONLY | O_CREAT, 0600);
		if (fd < 0)
			return errno;
		if (write(fd, text, sizeof(text) - 1) < 0) {
			int err = errno;

			(void)close(fd);
			return err;
		}
		(void)close(fd);
	}
	if (planted_env("DISK_STOP", 0))
		return 0;
	planted_cap("disk files");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t max = planted_env("DISK_FILES", 400000);
	static bool done;

	if (!done && size > 0) {
		done = true;
		planted_report("files in corpus", fill_with_files("/work/corpus", max));
		planted_report("files in artifacts", fill_with_files("/work/artifacts", max));
	}
	return planted_work(data, size);
}
