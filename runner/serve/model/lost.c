/* SPDX-License-Identifier: Apache-2.0 */
/* Runs without a summary.  The run lives but does not answer, it did not complete, or the
 * summary is damaged.  The data comes from the history of runs and the curves of its targets. */
#include "base/cleanup.h"
#include "runner/serve/model/model.h"
#include "runner/state/series.h"
#include "runner/status/survey/survey.h"

#include <errno.h>
#include <string.h>

/* The row of a run that is not in the history (yet).  A damaged summary shows only that the run
 * ended. */
static json_t *model_lost_row_of(const struct serve_site *s, const char *run, bool damaged)
{
	const char *status = damaged			       ? NULL
			     : survey_run_lives(s->state, run) ? "running"
							       : "unfinished";

	return json_pack("{s:s, s:s*}", "run", run, "status", status);
}

static int lost_row(struct serve_site *s, const char *run, bool damaged, json_t **ret,
		    struct err *e)
{
	_autojson_ json_t *lines = NULL, *line = NULL;
	uint64_t bad;
	int r = site_runs(s, MODEL_RUNS, &lines, &bad, e);

	for (size_t i = 0; r == 0 && !line && i < json_array_size(lines); i++)
		if (strcmp(get_text(json_array_get(lines, i), "run"), run) == 0)
			line = json_incref(json_array_get(lines, i));
	/* A lost run gets its line in the history from the next run. */
	if (!line)
		line = model_lost_row_of(s, run, damaged);
	if (r < 0)
		return r;
	*ret = row_run(s, line);
	return 0;
}

int run_without_summary(struct serve_site *s, const char *run, bool damaged, json_t **ret_row,
			json_t **ret_targets, struct err *e)
{
	_autojson_ json_t *row = NULL;
	int r;

	if (!site_run_kept(s, run))
		return err_set(e, ENOENT, "no such run");
	r = lost_row(s, run, damaged, &row, e);
	if (r == 0)
		r = series_left(s->state, run, MODEL_RUN_TARGETS, ret_targets, e);
	if (r == 0)
		*ret_row = json_incref(row);
	return r;
}
