/* SPDX-License-Identifier: Apache-2.0 */
/* An OSS-Fuzz style output directory.  It may be hostile.  Links must not lead out of it, because a
 * cell shows no more.  Types are checked before a file is opened, and no open file can block us. */
#include "runner/targets/directory.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void scan_done(struct scan *s)
{
	free(s->real);
	close_p(&s->fd);
	strv_done(&s->names);
	free(s->sides);
}

struct place scan_place(const struct scan *s, const char *name)
{
	return (struct place){.dir = s->path, .name = name};
}

static void add_side(struct scan *s, const char *name, struct slice target, enum names_side kind)
{
	s->sides[s->n_sides++] = (struct side){.name = name, .target = target, .kind = kind};
}

static int directory_add_target(struct scan *s, const char *name, const struct binary *b,
				struct err *e)
{
	struct target t = {.engine = b->engine, .size = b->size};
	struct slice target;
	const char *why;

	if (!names_program(slice_of(name), &target, &why)) {
		list_note(s->out, scan_place(s, name), true, "has a fuzzing entry point, but %s",
			  why);
		return 0;
	}
	if (!b->executable) {
		list_note(s->out, scan_place(s, name), true,
			  "has a fuzzing entry point, but no permission to execute: chmod +x");
		return 0;
	}
	t.name = xstrndup(target.p, target.n);
	t.dir = xstrdup(s->real);
	t.binary = xasprintf("%s/%s", s->real, name);
	return list_add_target(s->out, &t, e);
}

static int directory_judge(struct scan *s, const char *name, const struct binary *b, struct err *e)
{
	struct place at = scan_place(s, name);

	if (b->changed)
		list_note(s->out, at, true, "changed while it was read: is a build running?");
	else if (!b->elf && !b->script)
		list_note(s->out, at, false, "neither an ELF program nor a script");
	else if (b->too_large)
		list_note(s->out, at, true, "a program of more than %llu GiB: not searched",
			  (unsigned long long)(DISCOVER_MAX_BINARY >> 30));
	else if (b->engine)
		return directory_add_target(s, name, b, e);
	else if (names_looks_like_target(slice_of(name)))
		list_note(s->out, at, true, "named like a target, but has no fuzzing entry point");
	else
		list_note(s->out, at, false, "no fuzzing entry point");
	return 0;
}

static void take_directory(struct scan *s, const char *name)
{
	size_t n = strlen(name), suffix = strlen(NAMES_SEED_DIR_SUFFIX);

	if (n > suffix && strcmp(name + n - suffix, NAMES_SEED_DIR_SUFFIX) == 0)
		add_side(s, name, (struct slice){name, n - suffix}, SIDE_NONE);
	else
		list_note(s->out, scan_place(s, name), false,
			  "a directory: targets are looked for at the top only");
}

static int take_program(struct scan *s, const char *name, int fd, struct err *e)
{
	struct binary b;
	int r = binary_probe(fd, &s->searched, &b, e);

	if (r == -EIO || r == -EACCES) {
		list_note(s->out, scan_place(s, name), true, "%s", e->msg);
		return 0;
	}
	return r < 0 ? err_wrap(e, "%s", name) : directory_judge(s, name, &b, e);
}

static int take_other(struct scan *s, const char *name, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	int r = look(s, name, &f, e);

	if (r < 0)
		return r;
	if (f.fd >= 0 && !f.is_dir)
		return take_program(s, name, f.fd, e);
	if (f.fd >= 0)
		take_directory(s, name);
	else if (f.why[0])
		list_note(s->out, scan_place(s, name), f.warning, "%s", f.why);
	return 0;
}

static int take_name(struct scan *s, const char *name, struct err *e)
{
	const char *other = names_known_other(slice_of(name));
	struct slice target;
	enum names_side kind = names_side_of(slice_of(name), &target);

	if (!other && kind == SIDE_NONE)
		return take_other(s, name, e);
	if (!other && kind == SIDE_META)
		other = "metadata for another platform: not used";
	if (other)
		list_note(s->out, scan_place(s, name), false, "%s", other);
	else
		add_side(s, name, target, kind);
	return 0;
}

static int directory_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int directory_read_names(struct scan *s, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->fd, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open directory");
	for (errno = 0; (ent = readdir(d)); errno = 0) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		if (s->names.n == DISCOVER_MAX_ENTRIES)
			return err_set(e, E2BIG, "more than %d files: not a directory of targets",
				       DISCOVER_MAX_ENTRIES);
		strv_push(&s->names, ent->d_name);
	}
	if (errno)
		return err_sys(e, "read directory");
	if (s->names.n > 0)
		qsort(s->names.v, s->names.n, sizeof(*s->names.v), directory_compare);
	return 0;
}

int discover_directory(const struct discover_source *from, struct target_list *out, struct err *e)
{
	CLEANUP(scan_done) struct scan s = {.path = from->path, .fd = -1, .out = out};
	int r;

	s.fd = sys_openat(AT_FDCWD, s.path, O_RDONLY | O_DIRECTORY, 0);
	if (s.fd < 0)
		return err_sys(e, "open directory");
	r = source_fd_path(s.fd, &s.real, e);
	if (r == 0 && strcmp(s.real, "/") == 0)
		r = err_set(e, EINVAL,
			    "a cell would see the whole machine: name a directory of its own");
	if (r == 0)
		r = directory_read_names(&s, e);
	if (r < 0)
		return r;
	s.sides = xcalloc(s.names.n + 1, sizeof(*s.sides));
	for (size_t i = 0; r == 0 && i < s.names.n; i++)
		r = take_name(&s, s.names.v[i], e);
	if (r == 0)
		r = sides_attach(&s, e);
	if (r == 0)
		sides_note_orphans(&s);
	return r;
}
