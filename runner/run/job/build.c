/* SPDX-License-Identifier: Apache-2.0 */
/* The build of a job's target: whether its binary has changed, and the progress of earlier runs
 * with the same build. */
#include "base/memory.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void job_build_adopt(struct job *j, const struct progress *p)
{
	fleet_recall(j->fleet, &p->curve, &p->health, &p->strategies, p->edges_total);
	if (*p->forged) {
		job_claims_recall(j, p->forged);
		fleet_forged(j->fleet);
	}
}

/* The progress of the build.  As long as the build is not identified, it is the stored progress. */
static struct progress job_build_known(const struct job *j)
{
	struct progress p = {.build = j->build};

	if (j->kept)
		return *j->kept;
	if (j->fleet->known) {
		p.curve = j->fleet->curve;
		p.health = j->fleet->health;
		p.edges_total = j->fleet->edges_total;
		p.strategies = j->fleet->strategies;
		p.strategies.owed = strategies_owed(&j->fleet->strategies);
	}
	p.partners_read_us = j->partners_read_us;
	snprintf(p.forged, sizeof(p.forged), "%s", j->claims.forged ? j->claims.text : "");
	return p;
}

void job_load_progress(struct job *j)
{
	struct file_id now;
	struct progress p;
	char warning[200];

	job_look_at_binary(j);
	j->at_start = j->binary.file;
	progress_load(j->env->state->dirfd, j->target->name, &p, warning);
	if (*warning)
		job_set_note(j, "%s", warning);
	j->build = p.build;
	job_partners_recall(j, p.partners_read_us);
	if (!*p.build.id)
		return;
	if (!j->cfg->plateau.forget && file_id_look(j->target->binary, &now) &&
	    file_id_same(&now, &p.build.binary)) {
		job_build_adopt(j, &p);
		return;
	}
	j->kept = xmalloc(sizeof(*j->kept));
	*j->kept = p;
}

void job_take_build(struct job *j, const struct file_id *file, const char *id)
{
	struct progress p = job_build_known(j);
	bool other = progress_take(&p, file, id);

	j->build = p.build;
	if (other || j->cells == 0)
		j->rebuilt = !file_id_same(file, &j->at_start);
	if (other) {
		fleet_rebuilt(j->fleet);
		j->unproven = true;
		job_claims_other_build(j);
		job_cell_other_build(j);
		j->launched = false; /* its open crashes are checked before its first cell */
		j->runs_from = j->execs_before;
	} else if (j->kept && !j->fleet->known && !j->cfg->plateau.forget && p.curve.build_us > 0) {
		job_build_adopt(j, &p); /* the same program was built again */
	}
	free(j->kept);
	j->kept = NULL;
}

void job_build_launched(struct job *j)
{
	j->launched = true;
	j->unproven = false;
}

void job_build_check_again(struct job *j)
{
	j->launched = false;
}

int job_save_progress(const struct job *j, struct err *e)
{
	struct progress p = job_build_known(j);

	if (!j->fleet->known || !*p.build.id)
		return 0;
	return progress_save(j->env->state->dirfd, j->target->name, &p, e);
}

static struct job_binary job_build_look(const struct job *j)
{
	struct job_binary b = {0};

	if (file_id_look(j->target->binary, &b.file) &&
	    faccessat(AT_FDCWD, j->target->binary, R_OK | X_OK, AT_EACCESS) < 0)
		b.error = errno;
	return b;
}

uint64_t job_runs_left(const struct job *j)
{
	uint64_t had = j->execs_before - j->runs_from;

	if (j->cfg->runs == 0)
		return 0;
	return j->cfg->runs > had ? j->cfg->runs - had : 1;
}

void job_look_at_binary(struct job *j)
{
	j->binary = job_build_look(j);
}

bool job_other_binary(const struct job *j)
{
	const struct job_binary *was = &j->binary, now = job_build_look(j);

	return now.file.size > 0 &&
	       (!file_id_same(&now.file, &was->file) || now.error != was->error);
}

bool job_is_rebuilt(const struct job *j)
{
	return j->rebuilt || job_other_binary(j);
}

void job_count_health(struct job *j, enum failure what)
{
	enum fleet_end end = FLEET_CRASHED;

	if (what == FAILURE_NONE)
		end = FLEET_WELL;
	else if (!j->fuzzing->engine.running)
		end = FLEET_NOT_STARTED;
	else if (what == FAILURE_TIMEOUT || what == FAILURE_OOM || what == FAILURE_OOM_KILL)
		end = FLEET_LIMITED;
	fleet_ended(j->fleet, end);
}

bool job_coverage_dropped(const struct job *j)
{
	const struct fleet_target *t = j->fleet;

	/* A partner's curve has edges of the main build. */
	return !t->main && t->known && t->spent_us > PROGRESS_JUDGED_US &&
	       t->curve.build_us > PROGRESS_JUDGED_US &&
	       progress_dropped(&j->build, t->curve.cov, t->edges_total);
}

void job_watch_coverage(struct job *j)
{
	bool dropped = job_coverage_dropped(j), news = dropped && !j->dropped;
	char text[200];

	j->dropped = dropped;
	if (!news)
		return;
	snprintf(text, sizeof(text),
		 "coverage dropped: %llu of %llu edges, the build before reached %llu of %llu",
		 (unsigned long long)j->fleet->curve.cov, (unsigned long long)j->fleet->edges_total,
		 (unsigned long long)j->build.before_cov,
		 (unsigned long long)j->build.before_total);
	job_log(j, text);
	j->env->news(j->env->arg, j, JOB_DROPPED);
}
