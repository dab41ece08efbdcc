/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer without a corpus: replay of given inputs, the inner step of a merge, and the inner step
 * of -minimize_crash. */
#include "runner/engine/libfuzzer.h"

static int add_limits(uint64_t timeout_s, uint64_t rss_mib, struct strv *v, struct err *e)
{
	int r = strv_addf(v, e, "-timeout=%u", libfuzzer_int(timeout_s));

	if (r == 0)
		r = strv_addf(v, e, "-rss_limit_mb=%u", libfuzzer_int(rss_mib));
	return r;
}

int libfuzzer_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r = strv_add(&c.argv, job->binary, e);

	if (r == 0)
		r = add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv, e);
	if (r == 0)
		r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	for (size_t i = 0; r == 0 && job->inputs && job->inputs[i]; i++)
		r = strv_add(&c.argv, job->inputs[i], e);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

int libfuzzer_measure(const struct engine_measure *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = true};
	struct engine_cmd c = {0};
	int r = strv_add(&c.argv, job->binary, e);

	if (r == 0)
		r = strv_addf(&c.argv, e, "-artifact_prefix=%s/", job->artifact_dir);
	if (r == 0)
		r = strv_addf(&c.argv, e, "-merge_control_file=%s", job->control);
	if (r == 0)
		r = strv_addf(&c.argv, e, "-merge_inner=%d", job->only_new ? 1 : 2);
	if (r == 0)
		r = strv_addf(&c.argv, e, "-max_len=%u", libfuzzer_int(job->max_len));
	if (r == 0)
		r = add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv, e);
	if (r == 0)
		r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

/* libFuzzer's own outer loop accepts any crash.  Our outer loop compares the crashes. */
int libfuzzer_shorten(const struct engine_shorten *job, struct engine_cmd *ret, struct err *e)
{
	struct libfuzzer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r = strv_add(&c.argv, job->binary, e);

	if (r == 0)
		r = strv_add(&c.argv, "-minimize_crash_internal_step=1", e);
	if (r == 0)
		r = strv_addf(&c.argv, e, "-exact_artifact_path=%s", job->output);
	if (r == 0)
		r = strv_addf(&c.argv, e, "-runs=%u", libfuzzer_int(job->runs));
	if (r == 0)
		r = strv_addf(&c.argv, e, "-max_total_time=%u", libfuzzer_int(job->max_time_s));
	if (r == 0)
		r = add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv, e);
	if (r == 0)
		r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	if (r == 0)
		r = strv_add(&c.argv, job->input, e);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}
