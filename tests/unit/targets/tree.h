/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_TREE_H
#define TESTS_TARGETS_TREE_H

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/targets/discover.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A real temporary directory with real programs for one test. */
struct tree {
	char path[64];
	int fd;
};

#define MARK "LLVMFuzzerTestOneInput"

static inline void tree_make(struct tree *t)
{
	strcpy(t->path, "/tmp/fuzzcell-discover-XXXXXX"); /* allow: a constant that fits */
	assert_non_null(mkdtemp(t->path));
	assert_int_equal(chmod(t->path, 0755), 0);
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->fd >= 0);
}

static inline void tree_done(struct tree *t)
{
	struct err e;

	close(t->fd);
	assert_int_equal(fs_remove_tree(AT_FDCWD, t->path, &e), 0);
}

static inline void tree_bytes(struct tree *t, const char *name, struct slice data, mode_t mode)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data.p, data.n), (ssize_t)data.n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static inline void tree_file(struct tree *t, const char *name, const char *text)
{
	tree_bytes(t, name, slice_of(text), 0644);
}

/* /bin/true with pad bytes and tail at its end, which still runs. */
static inline void tree_padded(struct tree *t, const char *name, size_t pad, const char *tail)
{
	size_t n, len = strlen(tail);
	struct err e;
	char *p;

	assert_int_equal(fs_read(AT_FDCWD, "/bin/true", 1 << 24, &p, &n, &e), 0);
	p = realloc(p, n + pad + len);
	assert_non_null(p);
	memset(p + n, 'x', pad);
	memcpy(p + n + pad, tail, len);
	tree_bytes(t, name, (struct slice){p, n + pad + len}, 0755);
	free(p);
}

static inline void tree_program(struct tree *t, const char *name, const char *tail)
{
	tree_padded(t, name, 0, tail);
}

static inline int tree_add(struct tree *t, const char *type, const char *name,
			   struct target_list *io, struct err *e)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s%s", t->path, name[0] ? "/" : "", name);
	return discover_add(&(struct discover_source){.type = type, .path = path}, io, e);
}

static inline const struct target *find_target(const struct target_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* The target must exist. */
static inline struct target get_target(const struct target_list *l, const char *name)
{
	const struct target *t = find_target(l, name);

	if (!t)
		fail_msg("no target '%s'", name);
	return t ? *t : (struct target){0};
}

static inline const struct discover_note *find_note(const struct target_list *l, const char *end,
						    const char *text)
{
	for (size_t i = 0; i < l->n_notes; i++) {
		const char *path = l->notes[i].path;

		if (strlen(path) >= strlen(end) &&
		    strcmp(path + strlen(path) - strlen(end), end) == 0 &&
		    strstr(l->notes[i].why, text))
			return &l->notes[i];
	}
	return NULL;
}

/* Finds a note on a path with this ending, with this text in it. */
static inline void expect_note(const struct target_list *l, const char *end, bool warning,
			       const char *text)
{
	const struct discover_note *n = find_note(l, end, text);

	if (!n) {
		for (size_t i = 0; i < l->n_notes && i < 20; i++)
			print_message("note %s: %s\n", l->notes[i].path, l->notes[i].why);
		fail_msg("no note on '%s' with '%s'", end, text);
		return;
	}
	assert_int_equal(n->warning, warning);
}

static inline size_t count_warnings(const struct target_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_notes; i++)
		n += l->notes[i].warning;
	return n;
}

#endif
