/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the targets that an earlier build made and a failed build command did not make. */
#include "runner/targets/build/build.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "runner/targets/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_of_directory(const struct config_source *s)
{
	return s->build.n > 0 && strcmp(s->type, "directory") == 0;
}

static bool build_missing_has(const struct strv *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->v[i], name) == 0)
			return true;
	return false;
}

void build_known(const struct config_source *s, const struct discover_built *was, struct strv *ret)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	const struct discover_source d = {.type = s->type, .path = s->path};
	struct err ignored;

	if (!is_of_directory(s))
		return;
	if (discover_add(&d, &l, &ignored) < 0)
		target_list_done(&l); /* no directory yet, or not a valid source: no targets */
	for (size_t i = 0; i < l.n; i++)
		strv_push(ret, l.v[i].name);
	for (size_t i = 0; i < was->labels.n && ret->n < DISCOVER_MAX_TARGETS; i++)
		if (!build_missing_has(ret, was->labels.v[i]))
			strv_push(ret, was->labels.v[i]);
}

/* Whether a program of this target is in the directory. */
static bool build_missing_is_there(int dirfd, const char *name)
{
	/* The suffixes that names_program() removes. */
	static const char *const endings[] = {"", ".exe", ".par"};
	char file[NAMES_TARGET_MAX + 8];
	struct stat st;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", name, endings[i]);
		if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

void build_missing(const struct config_source *s, const struct strv *known, struct build_result *io)
{
	_autoclose_ int dir = -1;

	if (io->ok || !is_of_directory(s))
		return;
	dir = sys_openat(AT_FDCWD, s->path, O_PATH | O_DIRECTORY, 0);
	for (size_t i = 0; i < known->n; i++) {
		if (!names_target_ok(slice_of(known->v[i])) ||
		    (dir >= 0 && build_missing_is_there(dir, known->v[i])))
			continue;
		strv_push(&io->failed.labels, known->v[i]);
		strv_push(&io->failed.whys, "the build failed and did not make it");
	}
}
