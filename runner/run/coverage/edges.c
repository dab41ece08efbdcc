/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/coverage/edges.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/lines.h"
#include "base/memory.h"
#include "runner/targets/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EDGES_MAX = 4 << 20 }; /* of a program: a table of 64 MiB */

struct edges {
	const struct merge_env *env;
	struct edges_spec spec;
	uint64_t deadline_us;
	size_t n; /* edges of the program */
	struct linetable *table;
	struct exec *exec;
	struct merge *merge;
	struct lines lines;	  /* of the table, then of the measurement */
	struct engine_state seen; /* of the measurement */
	bool stopped;
};

static void edges_free(struct edges *d)
{
	linetable_free(d->table);
	free(d);
}

static void edges_finish(struct edges *d, const char *why, const struct lcov *reached)
{
	d->spec.done(d->spec.arg, d->stopped ? "stopped" : why, reached);
	edges_free(d);
}

/* Not measured, but its files are known. */
static void edges_finish_unmeasured(struct edges *d, const char *why)
{
	const struct bits none = {0};
	_autolcov_ struct lcov named = {0};
	struct err ignored;

	if (linetable_lcov(d->table, &none, &named, &ignored) < 0)
		edges_finish(d, why, NULL);
	else
		edges_finish(d, why, &named);
}

static uint64_t edges_left(const struct edges *d)
{
	uint64_t now = clock_mono_us();

	return now < d->deadline_us ? d->deadline_us - now : 0;
}

/* --- the measurement ------------------------------------------------------------------ */

static void edges_take(struct edges *d)
{
	_autolcov_ struct lcov reached = {0};
	_autoreach_ struct reach all = {0};
	_autoclose_ int work = -1;
	struct err e;

	if (fs_open_dir(AT_FDCWD, d->spec.work, &work, &e) < 0 ||
	    merge_reach_load(work, &all, &e) < 0 ||
	    linetable_lcov(d->table, &all.edges, &reached, &e) < 0)
		edges_finish(d, e.msg, NULL);
	else
		edges_finish(d, NULL, &reached);
}

static void edges_on_measured(void *arg, const struct merge_result *r)
{
	struct edges *d = arg;

	d->merge = NULL;
	if (r->verdict != MERGE_MEASURED)
		edges_finish_unmeasured(d, *r->why ? r->why : merge_verdict_name(r->verdict));
	else if (r->bad > 0)
		edges_finish_unmeasured(d, "inputs of its corpus fail");
	else if (d->seen.edges_total != d->n)
		edges_finish_unmeasured(d, "other modules than the program are instrumented");
	else
		edges_take(d);
}

static void edges_on_engine_line(void *arg, struct slice line)
{
	struct edges *d = arg;

	d->spec.target->engine->line(line, &d->seen);
}

static void edges_on_output(void *arg, struct slice bytes)
{
	struct edges *d = arg;

	lines_feed(&d->lines, bytes, edges_on_engine_line, d);
}

static void edges_measure(struct edges *d)
{
	struct merge_spec m = {
	    .target = d->spec.target,
	    .cfg = d->spec.cfg,
	    .index = d->spec.index,
	    .workers = d->spec.workers,
	    .budget_us = edges_left(d),
	    .what = MERGE_MEASURE,
	    .reach = d->spec.work,
	    .output = edges_on_output,
	    .done = edges_on_measured,
	    .arg = d,
	};
	struct err e;

	d->lines = (struct lines){0};
	if (merge_start(d->env, &m, &d->merge, &e) < 0)
		edges_finish(d, e.msg, NULL);
}

/* --- the line table ------------------------------------------------------------------- */

static void edges_take_table(struct edges *d)
{
	const struct lcov none = {0};
	struct err e;

	if (linetable_check(d->table, &e) < 0)
		edges_finish(d, e.msg, NULL);
	else if (!linetable_has_files(d->table))
		edges_finish(d, NULL, &none);
	else
		edges_measure(d);
}

static void edges_on_table_line(void *arg, struct slice line)
{
	const struct edges *d = arg;

	linetable_take(d->table, line);
}

static void edges_on_table(void *arg, struct slice bytes)
{
	struct edges *d = arg;

	lines_feed(&d->lines, bytes, edges_on_table_line, d);
}

static void edges_on_listed(void *arg, const struct exec_end *end)
{
	struct edges *d = arg;

	d->exec = NULL;
	lines_end(&d->lines, edges_on_table_line, d);
	if (!end->started)
		edges_finish(d, end->why, NULL);
	else if (end->late)
		edges_finish(d, "there was no time to read its line table", NULL);
	else if (end->code || end->signo || end->stopped)
		edges_finish(d, "llvm-dwarfdump failed", NULL);
	else
		edges_take_table(d);
}

static int edges_list(struct edges *d, struct err *e)
{
	struct setup setup;
	struct exec_spec x = {
	    .setup = &setup,
	    .index = d->spec.index,
	    .extra_memory = d->spec.cfg->symbolizer_memory,
	    .deadline_us = edges_left(d),
	    .output = edges_on_table,
	    .done = edges_on_listed,
	    .arg = d,
	};
	int r;

	setup_init(&setup, d->spec.target, d->spec.cfg);
	strv_push(&setup.cmd.argv, d->spec.dwarfdump);
	strv_push(&setup.cmd.argv, "--debug-line");
	strv_push(&setup.cmd.argv, setup.binary);
	strv_push(&setup.cmd.env, "LC_ALL=C");
	r = exec_start(&d->env->exec, &x, &d->exec, e);
	setup_done(&setup);
	return r;
}

/* --- the program ---------------------------------------------------------------------- */

static int edges_read(struct edges *d, struct err *e)
{
	_autoclose_ int fd = -1;
	struct elf_file m;
	struct pcs p = {0};
	struct symbols s = {0};
	const char *lacks = NULL;
	int r = fs_open_file(AT_FDCWD, d->spec.target->binary, O_RDONLY, 0, &fd, e);

	if (r < 0)
		return r;
	if (elf_open(fd, &m) != ELF_READ)
		return err_set(e, EINVAL, "it is no program of this machine");
	if (libraries_own(&m, d->spec.target))
		lacks = "libraries of its own";
	else if (!pcs_read(&m, EDGES_MAX, &p))
		lacks = "no table of edges";
	else if (!symbols_read(&m, &s))
		lacks = "no symbols";
	else
		d->table = linetable_new(&p, &s, d->spec.wants, d->spec.arg);
	d->n = p.n;
	elf_done(&m);
	symbols_done(&s);
	free(p.v);
	return lacks ? err_set(e, ENODATA, "the program has %s", lacks) : 0;
}

/* --- from outside ---------------------------------------------------------------- */

int edges_start(const struct merge_env *env, const struct edges_spec *spec, struct edges **ret,
		struct err *e)
{
	struct edges *d;
	int r;

	if (!spec->target->engine->measure)
		return err_set(e, EINVAL, "its engine does not measure inputs");
	d = xcalloc(1, sizeof(*d));
	*d = (struct edges){
	    .env = env, .spec = *spec, .deadline_us = clock_mono_us() + spec->budget_us};
	r = edges_read(d, e);
	if (r == 0)
		r = edges_list(d, e);
	if (r < 0) {
		edges_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void edges_stop(struct edges *d)
{
	d->stopped = true;
	if (d->exec)
		exec_stop(d->exec);
	if (d->merge)
		merge_stop(d->merge);
}
