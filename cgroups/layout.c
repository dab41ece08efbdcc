/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/layout.h"

#include <errno.h>
#include <stdio.h>

static const char *const names[] = {
    [CG_MEMORY] = "memory",
    [CG_CPU] = "cpu",
    [CG_PIDS] = "pids",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == CG_CONTROLLER_COUNT, "name every controller");

const char *cg_controller_name(enum cg_controller c)
{
	return names[c];
}

const char *cgroup_layout_name(enum cgroup_layout l)
{
	return l == CGROUP_UNIFIED ? "unified" : "hybrid";
}

/* Takes the next blank-separated field; an empty field means the end of the line. */
static struct slice layout_field(struct slice *line)
{
	struct slice f;

	scan_blanks(line);
	if (!scan_until(line, ' ', line->n, &f)) {
		f = *line;
		line->p += line->n;
		line->n = 0;
	}
	return f;
}

static bool is_octal(struct slice s)
{
	return s.n >= 4 && s.p[0] == '\\' && s.p[1] >= '0' && s.p[1] <= '3' && s.p[2] >= '0' &&
	       s.p[2] <= '7' && s.p[3] >= '0' && s.p[3] <= '7';
}

static char layout_octal(const char digits[3])
{
	unsigned v = 0;

	for (unsigned i = 0; i < 3; i++)
		v = v * 8 + (unsigned)(digits[i] - '0');
	return (char)v; /* \377 at most: a byte of a path */
}

/* mountinfo writes blank, tab, newline and backslash as \ooo.  False: the path is too long or not
 * absolute, so it is not one of ours. */
static bool layout_unescape(struct slice s, char out[CG_PATH_MAX])
{
	size_t n = 0;

	if (s.n == 0 || s.p[0] != '/')
		return false;
	while (s.n > 0 && n + 1 < CG_PATH_MAX) {
		size_t took = is_octal(s) ? 4 : 1;
		char c = s.p[0];

		if (took > 1)
			c = layout_octal(s.p + 1);
		if (c == '\0')
			return false;
		out[n++] = c;
		s.p += took;
		s.n -= took;
	}
	out[n] = '\0';
	return s.n == 0;
}

/* The controllers from enum cg_controller in a comma-separated list. */
static unsigned controllers_in(struct slice list)
{
	unsigned found = 0;

	while (list.n > 0) {
		struct slice one;

		if (!scan_until(&list, ',', list.n, &one)) {
			bool empty = list.p[0] == ',';

			one = (struct slice){list.p, empty ? 0 : list.n};
			list.p += one.n;
			list.n -= one.n;
		}
		for (unsigned c = 0; c < CG_CONTROLLER_COUNT; c++)
			if (slice_eq(one, slice_of(names[c])))
				found |= 1u << c;
		(void)scan_lit(&list, SLICE(",")); /* the last one has none */
	}
	return found;
}

/* "36 31 0:33 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory" */
static bool layout_parse_line(struct slice line, struct cg_hierarchy *out)
{
	struct slice root, mount, type, f;

	for (unsigned i = 0; i < 3; i++)
		(void)layout_field(&line);
	root = layout_field(&line);
	mount = layout_field(&line);
	do
		f = layout_field(&line);
	while (f.n > 0 && !slice_eq(f, SLICE("-")));
	type = layout_field(&line);
	(void)layout_field(&line); /* the source is any text */
	*out = (struct cg_hierarchy){.v2 = slice_eq(type, SLICE("cgroup2"))};
	if (!out->v2 && !slice_eq(type, SLICE("cgroup")))
		return false;
	if (!out->v2)
		out->controllers = controllers_in(layout_field(&line));
	return layout_unescape(root, out->root) && layout_unescape(mount, out->mount);
}

int cg_layout_parse(struct slice mountinfo, struct cg_layout *ret, struct err *e)
{
	struct cg_layout l = {.kind = CGROUP_UNIFIED, .n = 1};
	const unsigned all = (1u << CG_CONTROLLER_COUNT) - 1;
	unsigned on_v1 = 0;
	struct slice line;

	while (scan_line(&mountinfo, &line)) {
		struct cg_hierarchy h;

		if (!layout_parse_line(line, &h))
			continue;
		h.controllers &= ~on_v1;
		if (h.v2 && !l.h[0].v2)
			l.h[0] = h;
		/* Each v1 entry adds at least one controller, so there is room for all. */
		if (!h.v2 && h.controllers)
			l.h[l.n++] = h;
		on_v1 |= h.controllers;
	}
	if (!l.h[0].v2)
		return err_set(e, ENOTSUP,
			       "no cgroup v2 tree is mounted; mount one: mkdir -p "
			       "/sys/fs/cgroup/unified && mount -t cgroup2 cgroup2 "
			       "/sys/fs/cgroup/unified");
	l.h[0].controllers = all & ~on_v1;
	if (on_v1)
		l.kind = CGROUP_HYBRID;
	*ret = l;
	return 0;
}

/* "9:cpu,cpuacct:/a/b" or "0::/a/b": true for the line of h. */
static bool own_line(struct slice line, const struct cg_hierarchy *h, struct slice *ret_path)
{
	struct slice list = {line.p, 0};
	uint64_t id;

	if (!scan_u64(&line, 10, 1u << 30, &id) || !scan_lit(&line, SLICE(":")))
		return false;
	(void)scan_until(&line, ':', line.n, &list); /* v2: empty */
	if (!scan_lit(&line, SLICE(":")) || line.n == 0 || line.p[0] != '/')
		return false;
	*ret_path = line;
	if (h->v2)
		return id == 0 && list.n == 0;
	return (controllers_in(list) & h->controllers) != 0;
}

/* Whether path has a ".." component.  Such a path is outside of our cgroup namespace. */
static bool layout_climbs(struct slice path)
{
	for (size_t i = 0; i + 3 <= path.n; i++)
		if (memcmp(path.p + i, "/..", 3) == 0 && (i + 3 == path.n || path.p[i + 3] == '/'))
			return true;
	return false;
}

bool cg_layout_own(struct slice proc_cgroup, const struct cg_hierarchy *h, char ret[CG_PATH_MAX])
{
	struct slice line, path;

	while (scan_line(&proc_cgroup, &line)) {
		if (!own_line(line, h, &path))
			continue;
		if (strcmp(h->root, "/") != 0 && !scan_lit(&path, slice_of(h->root)))
			return false;
		if (path.n > 0 && path.p[0] != '/') /* root /ab is not above /abc */
			return false;
		if (slice_eq(path, SLICE("/")))
			path.n = 0;
		if (path.n >= CG_PATH_MAX || layout_climbs(path) || memchr(path.p, '\0', path.n))
			return false;
		memcpy(ret, path.p, path.n);
		ret[path.n] = '\0';
		return true;
	}
	return false;
}
