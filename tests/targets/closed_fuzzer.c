/* SPDX-License-Identifier: Apache-2.0 */
/* Removes all permissions from its output directories and from directories in them, then fails.
 * Promise: results.  Its files are collected, and its next cell starts.  Also without root, the
 * working directory is removed and the next run starts. */
#include "planted.h"
#include <sys/stat.h>

static void close_dir(const char *path, mode_t mode)
{
	char where[256];

	if (chmod(planted_path(where, sizeof(where), path), mode) < 0)
		planted_report(path, errno);
}

static void make_dir(const char *path)
{
	char where[256];

	if (mkdir(planted_path(where, sizeof(where), path), 0700) < 0)
		planted_report(path, errno);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'C'))
		return planted_work(data, size);
	make_dir("/work/corpus/a");
	make_dir("/work/corpus/a/b");
	make_dir("/work/corpus/a/b/c");
	close_dir("/work/corpus/a/b", 0);
	close_dir("/work/corpus/a", 0500);
	close_dir("/work/corpus", 0);
	close_dir("/work/artifacts", 0);
	abort();
}
