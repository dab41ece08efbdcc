/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/check/checked.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "runner/state/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MODE_OURS = 0750, FILE_MAX = 4096, NAME_ROOM = 300 };

static const char dir_name[] = "stats/checked";

void checked_done(struct checked *c)
{
	candidates_done(&c->ran);
	*c = (struct checked){0};
}

/* *ret NULL: missing, or damaged. */
static int checked_read(int state, const char *build, json_t **ret, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s.json", dir_name, build), *text = NULL;
	struct err damaged;
	size_t n;
	int r = fs_read(state, path, FILE_MAX, &text, &n, e);

	*ret = NULL;
	if (r == -ENOENT || r == -EFBIG)
		return 0;
	if (r == 0 && json_parse((struct slice){text, n}, ret, &damaged) < 0)
		*ret = NULL;
	return r;
}

static void checked_take(const json_t *j, struct checked *to)
{
	snprintf(to->build, sizeof(to->build), "%s", json_get_text(j, "build"));
	to->file = (struct file_id){
	    .size = json_get_u64(j, "size"),
	    .mtime_ns = (int64_t)json_get_u64(j, "mtime_ns"),
	    .ctime_ns = (int64_t)json_get_u64(j, "ctime_ns"),
	};
	to->left = json_get_u64(j, "left");
	to->behind_since = json_get_u64(j, "behind_since");
}

int checked_load(int state, const char *build, const char *program, struct checked *ret,
		 struct err *e)
{
	_autojson_ json_t *j = NULL;
	_autofree_ char *list = xasprintf("%s/%s.ran", dir_name, build);
	struct checked was = {0}, c = {0};
	struct progress_build known = {0};
	struct err damaged;
	int r = checked_read(state, build, &j, e);

	if (r < 0)
		return r;
	checked_take(j, &was);
	snprintf(known.id, sizeof(known.id), "%s", was.build);
	known.binary = was.file;
	r = progress_identify(&known, program, &c.file, c.build, e);
	if (r < 0)
		return r;
	if (strcmp(was.build, c.build) == 0) {
		c.left = was.left;
		c.behind_since = was.behind_since;
		if (candidates_load(state, list, &c.ran, &damaged) < 0)
			candidates_done(&c.ran);
		candidates_sort(&c.ran);
	}
	*ret = c;
	/* The other build's inputs must be gone before the file names this build. */
	return strcmp(was.build, c.build) == 0 ? 0 : checked_save(state, build, &c, e);
}

int checked_save(int state, const char *build, const struct checked *c, struct err *e)
{
	_autofree_ char *list = xasprintf("%s.ran", build), *name = xasprintf("%s.json", build);
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	_autojson_ json_t *j = json_pack(
	    "{s:s, s:I, s:I, s:I, s:I, s:I}", "build", c->build, "size", (json_int_t)c->file.size,
	    "mtime_ns", (json_int_t)c->file.mtime_ns, "ctime_ns", (json_int_t)c->file.ctime_ns,
	    "left", (json_int_t)c->left, "behind_since", (json_int_t)c->behind_since);
	int r = json_print(j, 0, &text, e);

	if (r == 0)
		r = fs_make_dir(state, dir_name, MODE_OURS, &dir, e);
	if (r == 0)
		r = candidates_save(dir, list, &c->ran, e);
	return r == 0 ? fs_replace(dir, name, slice_of(text), e) : r;
}
