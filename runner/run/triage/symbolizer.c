/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/triage/symbolizer.h"

#include "base/memory.h"
#include "base/scan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* version 0: the name without a version. */
static char *symbolizer_at(const char *rootfs, int version)
{
	char number[16] = "";
	char *path;

	if (version)
		snprintf(number, sizeof(number), "-%d", version);
	path = xasprintf("%s/usr/bin/llvm-symbolizer%s", rootfs ? rootfs : "", number);
	if (access(path, X_OK) < 0) {
		free(path);
		return NULL;
	}
	return path;
}

/* The version from a link like Debian's "../lib/llvm-14/bin/llvm-symbolizer".  UINT64_MAX: it is no
 * link, as in distributions that have only the newest version.  0: the link names no version. */
static uint64_t linked_version(const char *path)
{
	static const char *const before[] = {"/llvm-", "llvm-symbolizer-"};
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	uint64_t version;

	if (n < 0)
		return UINT64_MAX;
	to[n] = '\0';
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		const char *at = strstr(to, before[i]);
		struct slice text = slice_of(at ? at + strlen(before[i]) : "");

		if (scan_u64(&text, 10, UINT64_MAX, &version))
			return version;
	}
	return 0;
}

char *symbolizer_find(const char *rootfs)
{
	enum { NEWEST = 40, OLDEST = 11 };
	char *plain = symbolizer_at(rootfs, 0), *path = NULL;
	int v = NEWEST + 1;

	while (!path && --v >= OLDEST)
		path = symbolizer_at(rootfs, v);
	if (plain && (!path || linked_version(plain) > (uint64_t)v)) {
		free(path);
		path = plain;
	} else {
		free(plain);
	}
	if (!path)
		path = xasprintf("%s/usr/bin/addr2line", rootfs ? rootfs : "");
	if (access(path, X_OK) < 0) {
		free(path);
		return NULL;
	}
	if (rootfs) /* the path in a cell has no rootfs */
		memmove(path, path + strlen(rootfs), strlen(path) - strlen(rootfs) + 1);
	return path;
}
