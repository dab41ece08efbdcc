/* SPDX-License-Identifier: Apache-2.0 */
/* Bazel's build event protocol. */
#include "runner/targets/build/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/fuzz-events-XXXXXX";

static void check(bool ok)
{
	if (!ok)
		abort();
}

static int file(void)
{
	int fd = mkstemp(path);

	check(fd >= 0 && unlink(path) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char a[] = "//p:a", b[] = "//p:b";
	static char *const labels[] = {a, b, NULL};
	struct strv both = {(char **)(uintptr_t)labels, 2};
	const struct events_beside beside = {NULL, "first"};
	struct build_result r = {.ok = true};
	static int fd = -1;
	struct err e = {0};
	bool any = false;

	if (fd < 0)
		fd = file();
	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	check(events_read(fd, &both, &beside, &r, &any, &e) == 0);
	check(any || size == 0 || data[0] == '\n');
	check(r.built.n + r.failed.labels.n == 2 && r.failed.labels.n == r.failed.whys.n);
	for (size_t i = 0; i < r.failed.whys.n; i++)
		for (const char *c = r.failed.whys.v[i]; *c; c++)
			check(*c >= ' ' && *c < 0x7f);
	build_result_done(&r);
	return 0;
}
