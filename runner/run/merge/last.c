/* SPDX-License-Identifier: Apache-2.0 */
/* stats/merged/<target>.json: facts from the last merge of a target. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/sys.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MODE_OURS = 0750, LAST_MAX = 4096, PATH_ROOM = 320 };

void merge_last_load(const struct merge *m, struct merge_last *ret)
{
	_autojson_ json_t *j = NULL;
	char path[PATH_ROOM];
	const char *build;
	struct err e;

	*ret = (struct merge_last){0};
	snprintf(path, sizeof(path), "stats/merged/%s.json", m->spec.target->name);
	if (json_load(m->env.state->dirfd, path, LAST_MAX, &j, &e) < 0)
		return; /* no file, or a damaged file: as before the first merge */
	build = json_string_value(json_object_get(j, "build"));
	snprintf(ret->build, sizeof(ret->build), "%s", build ? build : "");
	ret->unsteady = json_is_true(json_object_get(j, "unsteady"));
	ret->slow = json_is_true(json_object_get(j, "slow"));
	ret->edges = json_get_u64(j, "edges");
	ret->features = json_get_u64(j, "features");
}

int merge_last_save(const struct merge *m, const struct merge_last *last, struct err *e)
{
	_autojson_ json_t *j =
	    json_pack("{s:i, s:s, s:b, s:b, s:I, s:I}", "v", 1, "build", last->build, "unsteady",
		      last->unsteady, "slow", last->slow, "edges", (json_int_t)last->edges,
		      "features", (json_int_t)last->features);
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	char name[PATH_ROOM];
	int r = j ? json_print(j, 0, &text, e) : err_set(e, EINVAL, "build JSON");

	if (r == 0)
		r = fs_mkdirs(m->env.state->dirfd, "stats/merged", MODE_OURS, e);
	if (r == 0)
		r = fs_open_dir(m->env.state->dirfd, "stats/merged", &dir, e);
	snprintf(name, sizeof(name), "%s.json", m->spec.target->name);
	return r == 0 ? fs_replace(dir, name, slice_of(text), e) : r;
}
