/* SPDX-License-Identifier: Apache-2.0 */
/* A merge's result in words and as a line of history.  Pure. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/run/merge/merge.h"

#include <errno.h>

static const char *const verdicts[] = {
    [MERGE_REPLACED] = "replaced", [MERGE_UNCHANGED] = "unchanged", [MERGE_CLEANED] = "cleaned",
    [MERGE_MEASURED] = "measured", [MERGE_KEPT] = "kept",	    [MERGE_NOTHING] = "nothing",
    [MERGE_LATE] = "late",	   [MERGE_STOPPED] = "stopped",	    [MERGE_FAILED] = "failed",
};
_Static_assert(sizeof(verdicts) / sizeof(verdicts[0]) == MERGE_VERDICT_COUNT, "name every verdict");

const char *merge_verdict_name(enum merge_verdict v)
{
	return v < MERGE_VERDICT_COUNT ? verdicts[v] : "unknown";
}

static json_t *size_json(const struct merge_size *s)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "files", (json_int_t)s->files, "bytes",
			 (json_int_t)s->bytes, "edges", (json_int_t)s->edges, "features",
			 (json_int_t)s->features);
}

/* The cover has no edges and features of its own: it reaches the same as the corpus. */
static json_t *cover_json(const struct merge_size *s)
{
	return s->files ? json_pack("{s:I, s:I}", "files", (json_int_t)s->files, "bytes",
				    (json_int_t)s->bytes)
			: json_null();
}

int merge_history_line(const struct merge_line *l, const struct merge_result *r, json_t **ret,
		       struct err *e)
{
	_autojson_ json_t *j =
	    json_pack("{s:i, s:s?, s:s, s:I, s:s?, s:s, s:s}", "v", 1, "run", l->run, "target",
		      l->target, "time", (json_int_t)(l->real_us / USEC_PER_SEC), "commit",
		      l->commit, "verdict", merge_verdict_name(r->verdict), "why", r->why);
	_autojson_ json_t *after = size_json(&r->after);
	_autojson_ json_t *more = json_pack(
	    "{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "cover", cover_json(&r->cover),
	    "before", size_json(&r->before), "new_inputs", (json_int_t)r->new_inputs, "candidates",
	    (json_int_t)r->candidates, "bad", (json_int_t)r->bad, "restored",
	    (json_int_t)r->restored, "reused", (json_int_t)r->reused, "cells", (json_int_t)r->cells,
	    "seconds", (double)r->wall_us / (double)USEC_PER_SEC);

	if (!j) /* the reason may have a path, which may have any bytes */
		return err_set(e, EINVAL, "build JSON");
	(void)json_object_update(j, after);
	(void)json_object_update(j, more);
	*ret = json_incref(j);
	return 0;
}
