/* SPDX-License-Identifier: Apache-2.0 */
/* A job's curves. */
#include "runner/run/job/internal.h"

static struct series_of job_series_of(const struct job *j)
{
	return (struct series_of){.target = j->target->name,
				  .run = j->env->dirs->id,
				  .started_real_us = j->env->started_real_us};
}

void job_sample(struct job *j, uint64_t now_us, uint64_t rss, bool end)
{
	struct series_of of = job_series_of(j);
	struct series_point p = {
	    .t_us = now_us > j->env->began_us ? now_us - j->env->began_us : 0,
	    .execs = j->execs_before + job_execs(j),
	    .cov = j->cov,
	    .ft = j->ft,
	    .corpus_units = j->said.corpus_units,
	    .corpus_bytes = j->said.corpus_bytes,
	    .rss = rss,
	    .cpu_us = j->before.usage_us + j->now.usage_us,
	};

	series_take(&j->series, j->env->dirs->logs, &of, &p, end);
}

void job_end_series(struct job *j)
{
	struct series_of of = job_series_of(j);

	series_flush(&j->series, j->env->dirs->logs, &of);
}
