/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes every second file of its working corpus and of its seeds and empties
 * the others, again and again: every 500 inputs.
 * Promise: results.  The persistent corpus and the in-tree corpus lose nothing,
 * whatever a target does to the copy that it got. */
#include "planted.h"
#include <dirent.h>
#include <fcntl.h>

static void eat_file(int dir, const char *name, bool delete, int *eaten, int *err)
{
	int fd;

	if (delete) {
		if (unlinkat(dir, name, 0) == 0)
			++*eaten;
		else
			*err = errno;
		return;
	}
	fd = openat(dir, name, O_WRONLY | O_TRUNC | O_NONBLOCK);
	if (fd < 0) {
		*err = errno;
		return;
	}
	++*eaten;
	(void)close(fd);
}

static void eat(const char *path, bool tell)
{
	char where[256];
	DIR *d = opendir(planted_path(where, sizeof(where), path));
	int eaten = 0, err = d ? ENOENT : errno;
	struct dirent *f;
	bool delete = false;

	while (d && (f = readdir(d))) {
		if (f->d_name[0] == '.')
			continue;
		eat_file(dirfd(d), f->d_name, delete, &eaten, &err);
		delete = !delete;
	}
	if (d)
		(void)closedir(d);
	(void)snprintf(where, sizeof(where), "eat %s", path);
	if (tell)
		planted_report(where, eaten ? 0 : err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t inputs;

	if (++inputs % 500 == 0) {
		bool first = inputs == 500;

		eat("/work/corpus", first);
		eat("/seeds/0", first);
		eat("/seeds/1", first);
		eat("/work/artifacts/default/queue", first);
		eat("/target", first && getenv("PLANTED_ROOT"));
	}
	return planted_work(data, size);
}
