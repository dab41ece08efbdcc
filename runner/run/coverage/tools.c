/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/coverage/tools.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAW_AT	SETUP_DIR_WORK "/raw"
#define OUT_AT	SETUP_DIR_WORK "/out"
#define MORE_AT "/targets" /* the programs beside the first one */

struct tools {
	struct tools_spec spec;
	struct exec *exec;
};

/* $1: llvm-profdata, $2: llvm-cov, $3: llvm-cxxfilt, $4 and $5: whether there are sources, and
 * pages wanted; then the programs.  Without a file of the sources, llvm-cov show goes on with the
 * others and fails at its end. */
static const char script[] =
    "set -eu\n"
    "merge=$1 cov=$2 filt=$3 sources=$4 pages=$5\n"
    "shift 5\n"
    "cd " OUT_AT "\n"
    "\"$merge\" merge -sparse -failure-mode=all -o profdata " RAW_AT "/*\n"
    "\"$cov\" export -summary-only -instr-profile=profdata \"$@\" >summary.json\n"
    "\"$cov\" export -format=lcov -instr-profile=profdata \"$@\" 2>/dev/null >lcov.raw\n"
    "if [ \"$filt\" ]; then \"$filt\" <lcov.raw >lcov.info; rm lcov.raw\n"
    "else mv lcov.raw lcov.info; fi\n"
    ": >listing\n"
    "[ \"$sources\" ] || exit 0\n"
    "show() { \"$cov\" show -instr-profile=profdata -show-instantiations=false \"$@\" || :; }\n"
    "show -format=text \"$@\" >listing 2>/dev/null\n"
    "[ \"$pages\" ] || exit 0\n"
    "show -format=html ${filt:+-Xdemangler=\"$filt\"} -output-dir=html \"$@\" \\\n"
    "  >/dev/null 2>&1\n";

/* --- the programs ----------------------------------------------------------------------- */

/* Mounts a program beside the first one, and adds its path in the cell.  Programs of one directory
 * share its mount. */
static int tools_add_build(struct setup *s, const struct target *const *builds, size_t at,
			   struct strv *argv, struct err *e)
{
	size_t first = 0;
	char where[32];
	char *path;
	int r = 0;

	while (first < at && !(builds[at]->dir && builds[first]->dir &&
			       strcmp(builds[at]->dir, builds[first]->dir) == 0))
		first++;
	if (first == 0)
		snprintf(where, sizeof(where), SETUP_DIR_TARGET);
	else
		snprintf(where, sizeof(where), MORE_AT "/%zu", first);
	r = setup_mount_target(s, builds[at], where, first < at, &path, e);
	if (r < 0)
		return r;
	strv_push(argv, "-object");
	strv_push(argv, path);
	free(path);
	return 0;
}

static int tools_command(struct tools *t, struct setup *s, struct err *e)
{
	const struct tools_spec *spec = &t->spec;
	struct strv *argv = &s->cmd.argv;
	int r = 0;

	strv_push(argv, "/bin/sh");
	strv_push(argv, "-c");
	strv_push(argv, script);
	strv_push(argv, "sh");
	strv_push(argv, spec->llvm->profdata);
	strv_push(argv, spec->llvm->cov);
	strv_push(argv, spec->llvm->filt ? spec->llvm->filt : "");
	strv_push(argv, spec->sources ? "yes" : "");
	strv_push(argv, spec->html ? "yes" : "");
	strv_push(argv, s->binary);
	for (size_t i = 1; r == 0 && i < spec->n_builds; i++)
		r = tools_add_build(s, spec->builds, i, argv, e);
	strv_push(&s->cmd.env, "LC_ALL=C");
	strv_push(&s->cmd.env, "PATH=/usr/bin:/bin");
	return r;
}

/* --- the result ------------------------------------------------------------------------------ */

/* The first line of the output that has the word, printable; "": none has it. */
static void tools_line_with(struct slice output, const char *word, char out[ESCAPE_MAX])
{
	char text[ESCAPE_MAX / 4];
	struct slice line;

	*out = '\0';
	while (scan_line(&output, &line)) {
		if (!memmem(line.p, line.n, word, strlen(word)))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)(line.n < 400 ? line.n : 400), line.p);
		(void)escape(text, out);
		return;
	}
}

static void tools_on_end(void *arg, const struct exec_end *end)
{
	struct tools *t = arg;
	bool well =
	    end->started && end->code == 0 && end->signo == 0 && !end->late && !end->stopped;
	char line[ESCAPE_MAX], why[ESCAPE_MAX + 100];

	tools_line_with(end->output, well ? "warning:" : "error:", line);
	if (!end->started)
		snprintf(why, sizeof(why), "%s", end->why);
	else if (end->stopped)
		snprintf(why, sizeof(why), "stopped");
	else if (end->late)
		snprintf(why, sizeof(why), "llvm-cov took too long");
	else if (end->failure == FAILURE_OOM_KILL)
		snprintf(why, sizeof(why),
			 "llvm-cov needs more memory: set \"symbolizer_memory\" of the target");
	else
		snprintf(why, sizeof(why), "%s (%s %d)",
			 *line ? line : "llvm-cov failed without a word",
			 end->signo ? "signal" : "status", end->signo ? end->signo : end->code);
	t->spec.done(t->spec.arg, well ? NULL : why, well ? line : "");
	free(t);
}

/* --- the cell -------------------------------------------------------------------- */

static int tools_give_out(const struct tools_spec *spec, struct err *e)
{
	uid_t uid = setup_uid(spec->index);
	_autoclose_ int fd = -1;
	int r = fs_open_dir(AT_FDCWD, spec->out, &fd, e);

	if (r == 0 && fchown(fd, uid, setup_gid(uid)) < 0)
		r = err_sys(e, "give '%s' to the cell's user", spec->out);
	return r;
}

static int tools_launch(struct tools *t, const struct exec_env *env, struct err *e)
{
	const struct tools_spec *spec = &t->spec;
	struct setup setup;
	int r = tools_give_out(spec, e);

	if (r < 0)
		return r;
	setup_init(&setup, spec->builds[0], spec->cfg);
	setup_mount(&setup, RAW_AT, false, "%s", spec->raw);
	setup_mount(&setup, OUT_AT, true, "%s", spec->out);
	if (spec->sources)
		setup_mount(&setup, spec->sources, false, "%s", spec->sources);
	r = tools_command(t, &setup, e);
	if (r == 0) {
		struct exec_spec x = {
		    .setup = &setup,
		    .index = spec->index,
		    .extra_memory = spec->cfg->symbolizer_memory,
		    .deadline_us = spec->deadline_us,
		    .done = tools_on_end,
		    .arg = t,
		};
		r = exec_start(env, &x, &t->exec, e);
	}
	setup_done(&setup);
	return r;
}

int tools_start(const struct exec_env *env, const struct tools_spec *spec, struct tools **ret,
		struct err *e)
{
	struct tools *t;
	int r;

	if (spec->n_builds > TOOLS_BUILDS_MAX)
		return err_set(e, E2BIG, "one report of more than %d programs", TOOLS_BUILDS_MAX);
	t = xcalloc(1, sizeof(*t));
	t->spec = *spec;
	r = tools_launch(t, env, e);
	if (r < 0) {
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tools_stop(struct tools *t)
{
	exec_stop(t->exec);
}
