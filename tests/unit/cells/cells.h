/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CELLS_CELLS_H
#define TESTS_CELLS_CELLS_H

/* Real cells for the tests.  They need crun and control groups, as root or delegated to a user.
 * Without these a test is skipped, or fails if FUZZCELL_MUST_RUN is set. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/loop.h"
#include "cells/cell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CELL_UID = 1700000, OUTPUT_KEPT = 65536, NAMES_KEPT = 16 };

struct world {
	struct loop *loop;
	struct cgroup_tree *tree;
	struct cell_host *host;
	char dir[64];	  /* ours, searchable for every user */
	char runtime[80]; /* the host's */
	unsigned fds;	  /* before */
	unsigned running;
	bool late;
};

/* The results of one cell. */
struct seen {
	struct world *w;
	struct cell *cell;
	char out[OUTPUT_KEPT + 1];
	size_t n;	/* bytes kept in out */
	uint64_t total; /* bytes of output */
	char refused[NAMES_KEPT][64];
	unsigned n_refused;
	unsigned ended; /* calls */
	struct cell_end end;
	/* Called when out holds the text, once. */
	const char *when;
	void (*then)(struct seen *s);
	void (*memory)(struct seen *s, bool halted); /* NULL: ignored */
	void (*exited)(struct seen *s, const struct cell_end *end, bool left);
	uint64_t first_us; /* when the first byte came */
};

static inline uint64_t slow(void)
{
	const char *s = getenv("FUZZCELL_TEST_SLOW");
	long n = s ? strtol(s, NULL, 10) : 1;

	return n > 0 ? (uint64_t)n : 1;
}

static inline void seen_output(void *arg, struct slice bytes)
{
	struct seen *s = arg;
	size_t room = OUTPUT_KEPT - s->n;
	size_t n = bytes.n < room ? bytes.n : room;

	if (!s->first_us)
		s->first_us = clock_mono_us();
	assert_int_equal(s->ended, 0);
	memcpy(s->out + s->n, bytes.p, n);
	s->n += n;
	s->out[s->n] = '\0';
	s->total += bytes.n;
	if (s->when && strstr(s->out, s->when)) {
		s->when = NULL;
		s->then(s);
	}
}

static inline void seen_refused(void *arg, const char *name)
{
	struct seen *s = arg;

	if (s->n_refused < NAMES_KEPT)
		(void)snprintf(s->refused[s->n_refused], sizeof(s->refused[0]), "%s", name);
	s->n_refused++;
}

static inline void seen_memory(void *arg, bool halted)
{
	struct seen *s = arg;

	if (s->memory)
		s->memory(s, halted);
}

static inline void seen_exited(void *arg, const struct cell_end *end, bool left)
{
	struct seen *s = arg;

	s->exited(s, end, left);
}

static inline void seen_ended(void *arg, const struct cell_end *end)
{
	struct seen *s = arg;

	s->ended++;
	s->end = *end;
	s->cell = NULL;
	if (--s->w->running == 0)
		loop_stop(s->w->loop);
}

static inline void seen_late(void *arg)
{
	struct world *w = arg;

	w->late = true;
	loop_stop(w->loop);
}

/* The user outside of the cells: CELL_UID, or without root our own. */
static inline uid_t cell_user(void)
{
	return geteuid() == 0 ? CELL_UID : geteuid();
}

static inline gid_t cell_group(void)
{
	return geteuid() == 0 ? CELL_UID : getegid();
}

/* Small limits, with space for crun itself. */
static inline struct cell_spec cell_spec_for(const char *id, const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};

	return (struct cell_spec){
	    .id = id,
	    .argv = argv,
	    .env = env,
	    .cwd = "/tmp",
	    .tmp_bytes = 4 << 20,
	    .file_bytes = 64 << 20,
	    .files_max = 64,
	    .uid = cell_user(),
	    .gid = cell_group(),
	    .limits = {.memory_max = 64 << 20, .pids_max = 64},
	};
}

static inline void start(struct world *w, struct seen *s, const struct cell_spec *spec)
{
	static const struct cell_ops ops = {.output = seen_output,
					    .refused = seen_refused,
					    .memory = seen_memory,
					    .exited = seen_exited,
					    .ended = seen_ended};
	struct err e = {0};

	s->w = w;
	if (cell_start(w->host, spec, &ops, s, &s->cell, &e) < 0)
		fail_msg("%s", e.msg);
	w->running++;
}

/* Runs until every started cell has ended.  Only once per world: a stopped loop stays stopped. */
static inline void run(struct world *w)
{
	struct source *deadline = NULL;
	struct err e;

	assert_int_equal(loop_add_timer(w->loop, clock_mono_us() + 60 * slow() * USEC_PER_SEC,
					seen_late, w, &deadline, &e),
			 0);
	assert_int_equal(loop_run(w->loop, &e), 0);
	source_remove(deadline);
	assert_false(w->late);
	assert_int_equal(w->running, 0);
}

static inline void run_cell(struct world *w, struct seen *s, const struct cell_spec *spec)
{
	start(w, s, spec);
	run(w);
	assert_int_equal(s->ended, 1);
}

/* Other processes may mount file systems meanwhile. */
static inline unsigned mounts_below(const char *dir)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	unsigned n = 0;

	assert_non_null(f);
	while (getline(&line, &size, f) > 0)
		n += strstr(line, dir) != NULL;
	free(line);
	fclose(f);
	return n;
}

static inline unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline void cannot_run(const struct err *e)
{
	if (getenv("FUZZCELL_MUST_RUN"))
		fail_msg("cells cannot run here: %s", e->msg);
	print_message("# skipped: %s\n", e->msg);
	skip();
}

/* The open world, and the process that opened it. */
static char world_dir[64];
static struct cgroup_tree *world_tree;
static pid_t world_pid;

static inline void world_instance(char out[32])
{
	(void)snprintf(out, 32, "unit-images-%d",
		       (int)getpid()); /* two test processes may run at a time */
}

/* Removes the remains of a failed test: opening its tree kills and removes its groups. */
static inline void world_sweep(void)
{
	char instance[32];
	struct cgroup_tree_opts o = {.instance = instance};
	struct cgroup_tree *tree = NULL;
	struct err e;

	if (!*world_dir || world_pid != getpid())
		return;
	world_instance(instance);
	cgroup_tree_close(world_tree); /* releases its lock */
	if (cgroup_tree_open(&o, &tree, &e) < 0)
		print_message("# %s\n", e.msg);
	cgroup_tree_close(tree);
	if (fs_remove_tree(AT_FDCWD, world_dir, &e) < 0)
		print_message("# %s\n", e.msg);
	world_dir[0] = '\0';
	world_tree = NULL;
}

/* A mistake of the caller fails the test; a missing feature of this machine skips it. */
static inline void world_open(struct world *w, const struct cell_host_opts *more)
{
	char instance[32];
	struct cgroup_tree_opts tree = {.instance = instance};
	struct cell_host_opts o = *more;
	struct err e;

	world_sweep();
	if (!world_pid)
		assert_int_equal(atexit(world_sweep), 0);
	world_pid = getpid();
	world_instance(instance);
	*w = (struct world){.fds = open_fds()};
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/fuzzcell-images-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	memcpy(world_dir, w->dir, sizeof(world_dir));
	assert_int_equal(chmod(w->dir, 0711), 0);
	(void)snprintf(w->runtime, sizeof(w->runtime), "%s/run", w->dir);
	assert_int_equal(loop_new(&w->loop, &e), 0);
	if (cgroup_tree_open(&tree, &w->tree, &e) < 0)
		cannot_run(&e);
	world_tree = w->tree;
	o.loop = w->loop;
	o.tree = w->tree;
	o.runtime_dir = w->runtime;
	if (cell_host_new(&o, &w->host, &e) < 0)
		cannot_run(&e);
}

/* No directory, descriptor, mount or child may be left, dead or alive. */
static inline void world_close(struct world *w)
{
	cell_host_free(w->host);
	cgroup_tree_close(w->tree);
	world_tree = NULL;
	loop_free(w->loop);
	assert_int_not_equal(access(w->runtime, F_OK), 0);
	assert_int_equal(rmdir(w->dir), 0);
	assert_int_equal(open_fds(), w->fds);
	assert_int_equal(mounts_below(w->dir), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	world_dir[0] = '\0';
}

/* Runs /bin/sh -c script in a new world, to its end. */
static inline void run_sh(struct seen *s, const char *script)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;

	memset(s, 0, sizeof(*s));
	world_open(&w, &o);
	run_cell(&w, s, &spec);
	world_close(&w);
}

static struct seen seen;

static inline void make_dir(const struct world *w, const char *name, uid_t owner, char out[96])
{
	(void)snprintf(out, 96, "%s/%s", w->dir, name);
	assert_int_equal(mkdir(out, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(out, owner, owner), 0);
}

static inline void make_file(const char *dir, const char *name, const char *text)
{
	char path[160];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static inline void remove_file(const char *dir, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static inline void run_until(const char *script, const char *when, void (*then)(struct seen *s))
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_spec spec = cell_spec_for("one", argv);
	struct cell_host_opts o = {0};
	struct world w;

	memset(&seen, 0, sizeof(seen));
	seen.when = when;
	seen.then = then;
	world_open(&w, &o);
	run_cell(&w, &seen, &spec);
	world_close(&w);
}

#endif
