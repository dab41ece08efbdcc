/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/coverage/edges.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/pcs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ADDRESSES_AT SETUP_DIR_WORK "/addresses"
/* Reading the debug information of a large binary takes seconds. */
#define NAMES_US (UINT64_C(300) * USEC_PER_SEC)

enum { MODE_FILE = 0644, ADDRESS_MAX = 24 };

struct edges {
	const struct merge_env *env;
	struct edges_spec spec;
	size_t n; /* of the table */
	struct buf answers;
	struct exec *exec;
	struct merge *merge;
	struct lines lines;
	struct engine_state seen; /* of the measurement */
	bool stopped;
};

static void edges_free(struct edges *d)
{
	buf_done(&d->answers);
	free(d);
}

static void edges_finish(struct edges *d, const char *why, const struct lcov *reached)
{
	d->spec.done(d->spec.arg, d->stopped ? "stopped" : why, reached);
	edges_free(d);
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
	    functions_lcov(buf_slice(&d->answers), d->n, &all.edges, &reached, &e) < 0)
		edges_finish(d, e.msg, NULL);
	else
		edges_finish(d, NULL, &reached);
}

static void edges_on_measured(void *arg, const struct merge_result *r)
{
	struct edges *d = arg;

	d->merge = NULL;
	if (r->verdict != MERGE_MEASURED)
		edges_finish(d, *r->why ? r->why : merge_verdict_name(r->verdict), NULL);
	else if (d->seen.edges_total != d->n)
		edges_finish(d, "other modules than the program are instrumented", NULL);
	else
		edges_take(d);
}

static void edges_on_line(void *arg, struct slice line)
{
	struct edges *d = arg;

	d->spec.target->engine->line(line, &d->seen);
}

static void edges_on_output(void *arg, struct slice bytes)
{
	struct edges *d = arg;

	lines_feed(&d->lines, bytes, edges_on_line, d);
}

static void edges_measure(struct edges *d)
{
	struct merge_spec m = {
	    .target = d->spec.target,
	    .cfg = d->spec.cfg,
	    .index = d->spec.index,
	    .workers = d->spec.workers,
	    .budget_us = d->spec.budget_us,
	    .what = MERGE_MEASURE,
	    .reach = d->spec.work,
	    .output = edges_on_output,
	    .done = edges_on_measured,
	    .arg = d,
	};
	struct err e;

	if (merge_start(d->env, &m, &d->merge, &e) < 0)
		edges_finish(d, e.msg, NULL);
}

/* --- the places ----------------------------------------------------------------------- */

static void edges_take_places(struct edges *d)
{
	const struct bits none = {0};
	_autolcov_ struct lcov named = {0};
	struct err e;

	if (functions_lcov(buf_slice(&d->answers), d->n, &none, &named, &e) < 0)
		edges_finish(d, e.msg, NULL);
	else if (named.n == 0)
		edges_finish(d, "the program has no debug information", NULL);
	else if (d->spec.wants(d->spec.arg, &named))
		edges_measure(d);
	else
		edges_finish(d, NULL, &named);
}

static void edges_on_answer(void *arg, struct slice bytes)
{
	struct edges *d = arg;

	buf_put(&d->answers, bytes);
}

static void edges_on_named(void *arg, const struct exec_end *end)
{
	struct edges *d = arg;

	d->exec = NULL;
	if (!end->started)
		edges_finish(d, end->why, NULL);
	else if (end->code || end->signo || end->late || end->stopped)
		edges_finish(d, "the symbolizer failed", NULL);
	else
		edges_take_places(d);
}

static void edges_command(const struct edges *d, struct setup *s)
{
	struct strv *argv = &s->cmd.argv;

	strv_push(argv, "/bin/sh");
	strv_push(argv, "-c");
	strv_push(argv, "exec \"$1\" -a -f -i -C -e \"$2\" <" ADDRESSES_AT);
	strv_push(argv, "sh");
	strv_push(argv, d->spec.symbolizer);
	strv_push(argv, s->binary);
	strv_push(&s->cmd.env, "LC_ALL=C");
}

static int edges_name(struct edges *d, struct err *e)
{
	struct setup setup;
	struct exec_spec x = {
	    .setup = &setup,
	    .index = d->spec.index,
	    .extra_memory = d->spec.cfg->symbolizer_memory,
	    .deadline_us = NAMES_US,
	    .output = edges_on_answer,
	    .done = edges_on_named,
	    .arg = d,
	};
	int r;

	setup_init(&setup, d->spec.target, d->spec.cfg);
	setup_mount(&setup, ADDRESSES_AT, false, "%s/addresses", d->spec.work);
	edges_command(d, &setup);
	r = exec_start(&d->env->exec, &x, &d->exec, e);
	setup_done(&setup);
	return r;
}

static int edges_write(struct edges *d, const struct pcs *p, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(FUNCTIONS_EDGES_MAX * (size_t)ADDRESS_MAX);
	_autoclose_ int work = -1, fd = -1;
	int r = fs_open_dir(AT_FDCWD, d->spec.work, &work, e);

	for (size_t i = 0; i < p->n; i++)
		buf_printf(&text, "0x%llx\n", (unsigned long long)p->v[i].address);
	d->n = p->n;
	if (r == 0)
		r = buf_check(&text, e);
	if (r == 0)
		r = fs_open_file(work, "addresses", O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &fd,
				 e);
	if (r == 0 && sys_write_all(fd, text.p, text.n) < 0)
		r = err_sys(e, "write '%s/addresses'", d->spec.work);
	return r;
}

static int edges_list(struct edges *d, struct err *e)
{
	_autoclose_ int fd = -1;
	struct elf_file m;
	struct pcs p = {0};
	bool read;
	int r = fs_open_file(AT_FDCWD, d->spec.target->binary, O_RDONLY, 0, &fd, e);

	if (r < 0)
		return r;
	if (elf_open(fd, &m) != ELF_READ)
		return err_set(e, EINVAL, "it is no program of this machine");
	read = pcs_read(&m, FUNCTIONS_EDGES_MAX, &p);
	elf_done(&m);
	if (!read)
		return err_set(e, EINVAL, "the program has no table of its edges");
	r = edges_write(d, &p, e);
	free(p.v);
	return r;
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
	*d = (struct edges){.env = env, .spec = *spec, .answers = BUF_INIT(FUNCTIONS_TEXT_MAX)};
	r = edges_list(d, e);
	if (r == 0)
		r = edges_name(d, e);
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
