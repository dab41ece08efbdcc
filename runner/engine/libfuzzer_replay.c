/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer without a corpus: replay of given inputs, the inner step of a merge, and the inner step
 * of -minimize_crash. */
#include "runner/engine/libfuzzer.h"

int libfuzzer_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	for (size_t i = 0; job->inputs && job->inputs[i]; i++)
		strv_push(&c.argv, job->inputs[i]);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

int libfuzzer_measure(const struct engine_measure *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = true};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	strv_pushf(&c.argv, "-artifact_prefix=%s/", job->artifact_dir);
	strv_pushf(&c.argv, "-merge_control_file=%s", job->control);
	strv_pushf(&c.argv, "-merge_inner=%d", job->only_new ? 1 : 2);
	strv_pushf(&c.argv, "-max_len=%u", libfuzzer_int(job->max_len));
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

/* libFuzzer's own outer loop accepts any crash.  Our outer loop compares the crashes. */
int libfuzzer_shorten(const struct engine_shorten *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	strv_push(&c.argv, "-minimize_crash_internal_step=1");
	strv_pushf(&c.argv, "-exact_artifact_path=%s", job->output);
	strv_pushf(&c.argv, "-runs=%u", libfuzzer_int(job->runs));
	strv_pushf(&c.argv, "-max_total_time=%u", libfuzzer_int(job->max_time_s));
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	strv_push(&c.argv, job->input);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}
