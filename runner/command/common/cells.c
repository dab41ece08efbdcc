/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/cells.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/run/triage/triage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

/* The dot hides the directory from the search for killed runs in work/. */
#define DIR_NAME "work/.cells"

enum { MODE_DIR = 0755 };

int cells_sweep(const struct state *s, struct err *e)
{
	return fs_remove_tree(s->dirfd, DIR_NAME, e);
}

static int cells_make_dir(struct cells *c, struct err *e)
{
	int state = c->session->state->dirfd;
	int r = cells_sweep(c->session->state, e);

	if (r < 0)
		return r;
	if (sys_mkdirat(state, DIR_NAME, MODE_DIR) < 0)
		return err_sys(e, "make directory '" DIR_NAME "'");
	c->path = xasprintf("%s/" DIR_NAME, c->session->state->path);
	return fs_open_dir(state, DIR_NAME, &c->dirfd, e);
}

void cells_fit(const struct cells *c, struct target_config *io)
{
	const struct machine *m = &c->session->machine;
	uint64_t left = m->memory > io->memory ? m->memory - io->memory : 0;

	if (io->symbolizer_memory > left)
		io->symbolizer_memory = left;
}

/* The number of cells is such that all of the largest size fit into memory. */
static int fit_workers(struct cells *c)
{
	const struct machine *m = &c->session->machine;
	struct plan *p = &c->session->plan;
	unsigned wanted = config_run(c->session->common.config)->workers;
	uint64_t largest = 1;
	int r = machine_workers(wanted, &c->workers);

	if (r != EXIT_DONE)
		return r;
	for (size_t i = 0; i < p->n; i++) {
		struct target_config *t = &p->v[i].cfg;

		cells_fit(c, t);
		if (t->memory + t->symbolizer_memory > largest)
			largest = t->memory + t->symbolizer_memory;
	}
	if (c->workers > m->memory / largest)
		c->workers = (unsigned)(m->memory / largest);
	if (c->workers == 0)
		c->workers = 1;
	return EXIT_DONE;
}

int cells_open(struct cells *c, struct session *s, const char *name)
{
	const struct config *cfg = s->common.config;
	struct err e;

	*c = (struct cells){.session = s, .dirfd = -1};
	if (cells_make_dir(c, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	c->symbolizer = symbolizer_find(config_rootfs(cfg));
	c->replay = (struct replay_env){
	    .exec = {.loop = s->machine.loop,
		     .host = s->machine.host,
		     .rootfs = config_rootfs(cfg),
		     .run = name},
	    .symbolizer = config_symbolizer(cfg) ? config_symbolizer(cfg) : c->symbolizer,
	};
	if (!c->replay.symbolizer)
		warn("no llvm-symbolizer here: crashes have addresses, not names");
	return fit_workers(c);
}

int cells_copy(struct cells *c, const char *from, char out[PATH_MAX])
{
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	struct err e;

	if (store_file(AT_FDCWD, from, c->dirfd, NULL, &sum, hex, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (!*hex)
		return fail(EXIT_USAGE, "'%s' cannot be an input: not a regular file, or too large",
			    from);
	snprintf(out, PATH_MAX, "%s/%s", c->path, hex);
	return EXIT_DONE;
}

static void cells_on_signal(void *arg, int signo)
{
	struct cells *c = arg;

	(void)signo;
	if (!c->stopped)
		c->stop(c->arg);
	c->stopped = true;
}

int cells_run(struct cells *c, void (*stop)(void *arg), void *arg)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct loop *l = c->replay.exec.loop;
	struct err e;
	int r = 0;

	c->stop = stop;
	c->arg = arg;
	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		r = loop_add_signal(l, ends[i], cells_on_signal, c, &c->signals[i], &e);
	if (r == 0)
		r = loop_run(l, &e);
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : EXIT_DONE;
}

bool cells_stopped(const struct cells *c)
{
	return c->stopped;
}

void cells_close(struct cells *c)
{
	struct err e;

	for (size_t i = 0; i < sizeof(c->signals) / sizeof(c->signals[0]); i++)
		source_remove(c->signals[i]);
	if (c->path) {
		close(c->dirfd);
		(void)!fs_remove_tree(c->session->state->dirfd, DIR_NAME,
				      &e); /* retried next time */
	}
	free(c->path);
	free(c->symbolizer);
	*c = (struct cells){0};
}
