/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces the disk limits: measures each cell (disk.h), ends cells that take too much, and holds
 * all cells when little space is left. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/task.h"
#include "base/units.h"
#include "runner/run/internal.h"
#include "runner/run/job/fuzzing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The period of reading the free space.  A disk can write some 200 MiB in that time. */
#define LOOK_US (100 * USEC_PER_MSEC)
/* A deep look takes no longer, except for the target in work.  Targets that it did not reach come
 * first in the next look. */
#define DEEP_US (5 * USEC_PER_SEC)
/* The pause after a look, in times of its duration: looking takes at most a fifth of one CPU. */
enum { REST_TIMES = 4 };
/* Space that a cell held becomes free a moment after its end. */
#define SETTLE_US (2 * USEC_PER_SEC)
/* A cell is to blame if it took an eighth of the reserve, or holds it in files without a name. */
enum { BLAME_SHARE = 8 };
enum { LOOK_QUICK, LOOK_DEEP };

/* The child's result for a job's cell. */
struct looked {
	uint32_t job, cell;
	struct disk_usage usage;
};

/* --- in the child -------------------------------------------------------------------- */

struct order {
	uint64_t walked, files;
	uint32_t job;
};

/* Jobs that the last walk did not reach come first, then those with few files. */
static int disk_limits_by_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->walked != y->walked)
		return x->walked < y->walked ? -1 : 1;
	return x->files < y->files ? -1 : x->files > y->files;
}

static bool disk_limits_has_cell(const struct job *j)
{
	return j->phase == PHASE_FUZZING && j->fuzzing && j->fuzzing->cell;
}

static void disk_limits_look_at(const struct run_look *l, const struct job *j,
				struct disk_usage *io)
{
	const struct fs_usage limit = {.bytes = j->cfg->disk, .files = WORKDIR_FILES_MAX};
	struct err gone;

	if (cell_nameless(j->fuzzing->cell, &io->nameless, &gone) < 0)
		io->nameless = (struct cell_nameless){0};
	if (l->deep && disk_walk(l->run->disk.work, j->target->name, &limit, io, &gone) < 0) {
		*io = j->disk.now;
		io->closed = true; /* also when a deep tree needs too many descriptors */
	}
}

static int disk_limits_look_at_all(void *arg, struct buf *out, struct err *e)
{
	const struct run_look *l = arg;
	const struct run *r = l->run;
	struct order *v = xcalloc(r->n, sizeof(*v));
	size_t n = 0;

	(void)e;
	for (size_t i = 0; i < r->n; i++)
		if (disk_limits_has_cell(&r->jobs[i]))
			v[n++] = (struct order){.walked = r->jobs[i].disk.walked,
						.files = disk_files(&r->jobs[i].disk.now),
						.job = (uint32_t)i};
	if (n > 0)
		qsort(v, n, sizeof(*v), disk_limits_by_order);
	for (size_t i = 0; i < n; i++) {
		const struct job *j = &r->jobs[v[i].job];
		struct looked got = {.job = v[i].job, .cell = j->cells, .usage = j->disk.now};

		if (i > 0 && clock_mono_us() - l->began_us > DEEP_US)
			break;
		disk_limits_look_at(l, j, &got.usage);
		buf_put(out, (struct slice){(const char *)&got, sizeof(got)});
	}
	free(v);
	return 0;
}

/* --- cells that took too much --------------------------------------------------------- */

static uint64_t disk_limits_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool disk_limits_is_unsure(const struct job *j)
{
	return j->disk.now.nameless.unsure || j->disk.now.closed;
}

/* Ends a cell.  A frozen cell is killed: it would take more space while it writes its input.  A
 * cell with mostly nameless files is killed, too: these files cannot be saved. */
static void disk_limits_end_cell(struct job *j, const char *why)
{
	char all[UNITS_MAX], nameless[UNITS_MAX], limit[UNITS_MAX], text[200];
	const struct disk_usage *u = &j->disk.now;

	(void)snprintf(text, sizeof(text),
		       "%s: %s in %llu files, %s of it without a name; limit %s", why,
		       units_size(disk_bytes(u), all), (unsigned long long)disk_files(u),
		       units_size(u->nameless.bytes, nameless), units_size(j->cfg->disk, limit));
	job_note(j, text);
	if (j->frozen || u->nameless.bytes > u->named.bytes)
		job_kill(j, REASON_DISK_LIMIT);
	else
		job_stop(j, REASON_DISK_LIMIT, true);
}

static void disk_limits_end_those_over(struct run *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct job *j = &r->jobs[i];

		if (!disk_limits_has_cell(j))
			continue;
		if (job_over_disk(j))
			disk_limits_end_cell(j, "it wrote more than it may");
		else if (disk_limits_is_unsure(j) && j->disk.unexplained >= j->cfg->disk)
			disk_limits_end_cell(
			    j,
			    "the disk lost more than the cell's limit, and the cell hides files");
	}
}

/* Any cell that can hide files may hold the space that the file system lost. */
static void disk_limits_note_unexplained(struct run *r, const struct run_look *l, uint64_t before)
{
	uint64_t lost = disk_limits_grown(before, l->room.bytes), known = 0;

	for (size_t i = 0; i < r->n; i++)
		if (disk_limits_has_cell(&r->jobs[i]))
			known += disk_limits_grown(disk_bytes(&r->jobs[i].disk.now),
						   disk_bytes(&r->jobs[i].disk.before));
	for (size_t i = 0; i < r->n; i++) {
		struct job *j = &r->jobs[i];
		uint64_t now = disk_limits_is_unsure(j)
				   ? j->disk.unexplained + disk_limits_grown(lost, known)
				   : 0;

		job_disk_unexplained(j, now);
	}
}

/* The cell's part in the missing space, as a share of the reserve. */
static double disk_limits_blame_of(const struct run *r, const struct job *j)
{
	const struct disk_usage *now = &j->disk.now, *before = &j->disk.before;
	const struct fs_room *reserve = &r->disk.reserve;
	uint64_t bytes =
	    now->nameless.bytes + disk_limits_grown(now->named.bytes, before->named.bytes);
	uint64_t files =
	    now->nameless.files + disk_limits_grown(now->named.files, before->named.files);
	double of_bytes = reserve->bytes ? (double)bytes / (double)reserve->bytes : 0;
	double of_files = reserve->files ? (double)files / (double)reserve->files : 0;

	if (r->disk.now.bytes >= reserve->bytes + reserve->bytes / BLAME_SHARE)
		of_bytes = 0; /* enough bytes are left */
	if (r->disk.now.files >= reserve->files + reserve->files / BLAME_SHARE)
		of_files = 0;
	return disk_limits_is_unsure(j) ? 1 + of_bytes + of_files
	       : of_bytes > of_files	? of_bytes
					: of_files;
}

/* The disk is nearly full: ends the cell that took most.  False: no cell did. */
static bool disk_limits_blame_one(struct run *r)
{
	struct job *worst = NULL;
	double most = 1.0 / BLAME_SHARE;

	for (size_t i = 0; i < r->n; i++) {
		struct job *j = &r->jobs[i];
		double share = disk_limits_has_cell(j) ? disk_limits_blame_of(r, j) : 0;

		if (share >= most) {
			worst = j;
			most = share;
		}
	}
	if (worst)
		disk_limits_end_cell(worst, "the disk is nearly full, and this cell took most");
	return worst != NULL;
}

/* --- holding ------------------------------------------------------------------------- */

/* Whether a cell is being ended for the space that it took: its space comes back. */
static bool disk_limits_any_leaves(const struct run *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct job *j = &r->jobs[i];

		if (j->pending == REASON_DISK_LIMIT && j->phase != PHASE_DONE &&
		    !phase_waits(j->phase))
			return true;
	}
	return false;
}

static void disk_limits_report(struct run *r, const char *text)
{
	r->o.event(r->o.arg, run_look(r), SIZE_MAX, text);
}

static void disk_limits_freeze(struct run *r, uint64_t now)
{
	if (!r->frozen_us) {
		r->frozen_us = now;
		r->dispatch.frozen = true;
		disk_limits_report(r, "the disk is nearly full: all cells are frozen");
	}
	for (size_t i = 0; i < r->n; i++)
		job_freeze(&r->jobs[i], true);
}

static void disk_limits_thaw(struct run *r)
{
	if (!r->frozen_us)
		return;
	r->frozen_us = 0;
	r->dispatch.frozen = false;
	for (size_t i = 0; i < r->n; i++)
		job_freeze(&r->jobs[i], false);
}

/* Other programs fill the disk.  A run with an end could save nothing, so it ends; a run without
 * one waits. */
static void disk_limits_wait_for_room(struct run *r)
{
	r->foreign = true;
	disk_limits_thaw(r);
	if (!run_goes_on(r))
		run_each_job(r, run_end_politely, REASON_DISK_LIMIT);
	if (dispatch_disk(&r->dispatch, run_goes_on(r)) && run_goes_on(r))
		disk_limits_report(r, "the disk is nearly full: all targets wait for space");
}

static void disk_limits_go_on(struct run *r)
{
	bool frozen = r->frozen_us != 0, waited;

	r->foreign = false;
	disk_limits_thaw(r);
	waited = dispatch_disk(&r->dispatch, false);
	if (frozen || (waited && run_goes_on(r)))
		disk_limits_report(r, "there is space on the disk again");
	if (frozen)
		dispatch_next(&r->dispatch);
}

/* --- looking -------------------------------------------------------------------------- */

static void disk_limits_judge(struct run *r, const struct run_look *l)
{
	uint64_t now = clock_mono_us();

	disk_limits_end_those_over(r);
	if (!l->frozen || !r->frozen_us || !r->disk.low || disk_limits_any_leaves(r))
		return;
	if (disk_limits_blame_one(r))
		r->frozen_us = now; /* its space becomes free only now */
	else if (now - r->frozen_us >= SETTLE_US)
		disk_limits_wait_for_room(r);
}

static void disk_limits_take(struct run *r, const struct run_look *l, const struct looked *got)
{
	struct job *j = got->job < r->n ? &r->jobs[got->job] : NULL;

	if (!j || !disk_limits_has_cell(j) || j->cells != got->cell)
		return; /* the cell has ended meanwhile */
	if (l->deep)
		job_disk_walked(j, &got->usage, l->frozen, r->walks);
	else
		job_disk_nameless(j, &got->usage.nameless);
}

static void disk_limits_on_looked(void *arg, struct slice result, const char *failed)
{
	struct run_look *l = arg;
	struct run *r = l->run;
	uint64_t now = clock_mono_us(), before = r->disk_before;
	struct looked got;

	l->task = NULL;
	l->not_before_us = now + REST_TIMES * (now - l->began_us);
	if (failed)
		return; /* the next look comes */
	for (; result.n >= sizeof(got); result.p += sizeof(got), result.n -= sizeof(got)) {
		memcpy(&got, result.p, sizeof(got));
		disk_limits_take(r, l, &got);
	}
	if (l->deep) {
		disk_limits_note_unexplained(r, l, before);
		r->disk_before = l->room.bytes;
	}
	disk_limits_judge(r, l);
}

static void start_look(struct run *r, unsigned which, uint64_t now)
{
	struct run_look *l = &r->looks[which];
	struct err e;

	if (l->task)
		return;
	*l = (struct run_look){
	    .run = r,
	    .deep = which == LOOK_DEEP,
	    .frozen = r->frozen_us != 0 && now > r->frozen_us,
	    .began_us = now,
	    .room = r->disk.now,
	};
	r->walks += l->deep;
	if (task_start(r->o.loop, disk_limits_look_at_all, l, disk_limits_on_looked, l, &l->task,
		       &e) < 0)
		l->not_before_us = now + USEC_PER_SEC;
	else if (l->deep)
		disk_walks(&r->disk, now);
}

static void on_low(struct run *r, uint64_t now)
{
	if (r->foreign) {
		disk_limits_wait_for_room(r);
		return;
	}
	disk_limits_freeze(r, now);
	if (!disk_limits_any_leaves(r))
		start_look(r, LOOK_DEEP, now); /* a look under way began before the freeze */
}

static void disk_limits_on_timer(void *arg)
{
	struct run *r = arg;
	uint64_t now = clock_mono_us();
	enum disk_state d = disk_look(&r->disk, now);
	struct err e;

	if (d == DISK_LOW)
		on_low(r, now);
	else
		disk_limits_go_on(r);
	for (unsigned i = 0; d == DISK_WALK && i < 2; i++)
		if (now >= r->looks[i].not_before_us)
			start_look(r, i, now);
	if (loop_set_timer(r->disk_timer, now + LOOK_US, &e) < 0)
		run_each_job(r, job_kill, REASON_LOST);
}

int run_disk_begin(struct run *r, struct err *e)
{
	r->disk_before = r->disk.now.bytes;
	return loop_add_timer(r->o.loop, r->began_us + LOOK_US, disk_limits_on_timer, r,
			      &r->disk_timer, e);
}

void run_disk_end(struct run *r)
{
	source_remove(r->disk_timer);
	r->disk_timer = NULL;
	for (unsigned i = 0; i < 2; i++)
		if (r->looks[i].task)
			task_finish(r->looks[i].task, 0);
}
