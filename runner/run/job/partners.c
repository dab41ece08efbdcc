/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that a job borrows from the target's other builds that fuzz: which builds, how many of the
 * inputs may fail, and until when a main build has read them. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/pick.h"
#include "runner/run/job/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a turn, inputs of other builds may fail so often, and for this part of the turn's time. */
enum { FAILURES_MOST = 16, TURN_PART = 4, PATH_ROOM = 320 };

const char *job_lender(const struct job *j, size_t i)
{
	const struct target *t = j->target;

	if (t->of)
		return i == 0 ? t->of : NULL;
	for (size_t k = 0; k < t->n_variants; k++)
		if (t->variants[k].role == ROLE_FUZZ && i-- == 0)
			return t->variants[k].name;
	return NULL;
}

void job_partners_begin(struct job *j)
{
	j->borrowed_failed = 0;
	j->puts_off = false;
	j->prepared_us = clock_real_us();
}

void job_borrowed_failed(struct job *j)
{
	uint64_t took = clock_mono_us() - j->began_us;

	j->borrowed_failed++;
	j->puts_off |= j->borrowed_failed >= FAILURES_MOST && took > j->turn_us / TURN_PART;
}

void job_has_read_partners(struct job *j)
{
	j->partners_read_us = j->prepared_us;
}

void job_partners_recall(struct job *j, uint64_t read_us)
{
	j->partners_read_us = read_us;
}

static int partners_leave_out(const struct job *j, const char *build, int seeds, int corpus,
			      struct err *e)
{
	_autoclose_ int theirs = -1;
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "corpus/%s", build);
	if (faccessat(j->env->state->dirfd, path, F_OK, 0) < 0)
		return 0;
	if (fs_open_dir(j->env->state->dirfd, path, &theirs, e) < 0)
		return err_code(e);
	return pick_leave_out(seeds, theirs, corpus, e);
}

int job_partners_put_off(const struct job *j, int corpus, struct err *e)
{
	_autoclose_ int seeds = -1;
	char path[PATH_ROOM];
	int r;

	if (!j->puts_off)
		return 0;
	snprintf(path, sizeof(path), "%s/seeds", j->target->name);
	r = fs_open_dir(j->env->dirs->work, path, &seeds, e);
	for (size_t i = 0; r == 0 && job_lender(j, i); i++)
		r = partners_leave_out(j, job_lender(j, i), seeds, corpus, e);
	return r;
}

static uint64_t partners_saved_us(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * USEC_PER_SEC + (uint64_t)st->st_mtim.tv_nsec / 1000;
}

uint64_t job_inputs_since(const struct job *j, uint64_t real_us)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int corpus = -1;
	const struct dirent *ent;
	uint64_t n = 0;
	struct stat st;
	struct err e;

	if (state_open_corpus(j->env->state, j->target->name, &corpus, &e) < 0 ||
	    !(d = sys_opendirat(corpus, ".")))
		return 0; /* preparing it reports the error */
	while ((ent = sys_readdir(d)))
		n += ent->d_name[0] != '.' &&
		     fstatat(corpus, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		     partners_saved_us(&st) >= real_us;
	return n;
}
