/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/bazel/label.h"

#include "base/memory.h"
#include "runner/targets/bazel/graph.h"

#include <string.h>

/* "a/b/c": no component is empty, "." or "..". */
static bool bazel_label_is_path(struct slice s)
{
	struct slice part;

	while (scan_until(&s, '/', BAZEL_LABEL_MAX, &part)) {
		scan_lit(&s, SLICE("/"));
		if (slice_eq(part, SLICE(".")) || slice_eq(part, SLICE("..")))
			return false;
	}
	/* A leading slash means an empty component. */
	return s.n > 0 && *s.p != '/' && !slice_eq(s, SLICE(".")) && !slice_eq(s, SLICE(".."));
}

struct bazel_parts bazel_label_parts(const char *plain)
{
	const char *package = plain + 2;
	size_t n = strcspn(package, ":");

	return (struct bazel_parts){{package, n}, slice_of(package + n + 1)};
}

const char *bazel_label_plain(const char *label)
{
	struct bazel_parts p;

	if (!label || strlen(label) > BAZEL_LABEL_MAX)
		return NULL;
	for (int i = 0; i < 2 && label[0] == '@'; i++)
		label++;
	if (strncmp(label, "//", 2) != 0 || !strchr(label, ':'))
		return NULL;
	for (const char *c = label; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	p = bazel_label_parts(label);
	return (p.package.n == 0 || bazel_label_is_path(p.package)) && bazel_label_is_path(p.name)
		   ? label
		   : NULL;
}

char *bazel_label_path(const char *plain)
{
	struct bazel_parts p = bazel_label_parts(plain);

	return xasprintf("%.*s%s%.*s", (int)p.package.n, p.package.p, p.package.n ? "/" : "",
			 (int)p.name.n, p.name.p);
}

static struct slice stem_of(struct slice name)
{
	static const char *const ends[] = {"_bin", "_instrum", "_raw_"};
	const char *slash = memrchr(name.p, '/', name.n);

	if (slash) {
		name.n -= (size_t)(slash + 1 - name.p);
		name.p = slash + 1;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(ends[i]);

		if (name.n > n && memcmp(name.p + name.n - n, ends[i], n) == 0)
			return (struct slice){name.p, name.n - n};
	}
	return name;
}

void bazel_label_target(const char *plain, bool long_form, char ret[NAMES_TARGET_MAX + 1])
{
	struct bazel_parts p = bazel_label_parts(plain);
	struct slice stem = stem_of(p.name);
	size_t before = long_form && p.package.n ? p.package.n + 1 : 0;
	size_t n = before + stem.n;

	ret[0] = '\0';
	if (n > NAMES_TARGET_MAX)
		return;
	if (before) {
		memcpy(ret, p.package.p, p.package.n);
		ret[p.package.n] = '.';
	}
	memcpy(ret + before, stem.p, stem.n);
	ret[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (ret[i] == '/')
			ret[i] = '.';
		else if (!names_target_ok((struct slice){&ret[i], 1}) &&
			 (i == 0 || (ret[i] != '.' && ret[i] != '-')))
			ret[i] = '_';
	}
}
