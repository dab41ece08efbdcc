/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the symbolizer, and symbolizes kept reports.  Fuzzing cells have no symbolizer, so their
 * reports have offsets and no names, and a signature of offsets differs in every build.  A failure
 * that never comes back gets its names afterwards: from the same binary, in a cell. */
#include "runner/crash/symbolize.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/scan.h"
#include "runner/run/triage/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the symbolizer -------------------------------------------------------- */

/* version 0: the name without a version. */
static char *symbolizer_at(const char *rootfs, int version)
{
	char number[16] = "";
	char *path;

	if (version)
		snprintf(number, sizeof(number), "-%d", version);
	path = xasprintf("%s/usr/bin/llvm-symbolizer%s", rootfs ? rootfs : "", number);
	if (access(path, X_OK) < 0) {
		free(path);
		return NULL;
	}
	return path;
}

/* The version from a link like Debian's "../lib/llvm-14/bin/llvm-symbolizer".  UINT64_MAX: it is no
 * link, as in distributions that have only the newest version.  0: the link names no version. */
static uint64_t symbolizer_linked_version(const char *path)
{
	static const char *const before[] = {"/llvm-", "llvm-symbolizer-"};
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	uint64_t version;

	if (n < 0)
		return UINT64_MAX;
	to[n] = '\0';
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		const char *at = strstr(to, before[i]);
		struct slice text = slice_of(at ? at + strlen(before[i]) : "");

		if (scan_u64(&text, 10, UINT64_MAX, &version))
			return version;
	}
	return 0;
}

char *symbolizer_find(const char *rootfs)
{
	enum { NEWEST = 40, OLDEST = 11 };
	char *plain = symbolizer_at(rootfs, 0), *path = NULL;
	int v = NEWEST + 1;

	while (!path && --v >= OLDEST)
		path = symbolizer_at(rootfs, v);
	if (plain && (!path || symbolizer_linked_version(plain) > (uint64_t)v)) {
		free(path);
		path = plain;
	} else {
		free(plain);
	}
	if (!path)
		path = xasprintf("%s/usr/bin/addr2line", rootfs ? rootfs : "");
	if (access(path, X_OK) < 0) {
		free(path);
		return NULL;
	}
	if (rootfs) /* the path in a cell has no rootfs */
		memmove(path, path + strlen(rootfs), strlen(path) - strlen(rootfs) + 1);
	return path;
}

/* --- names for a kept report ----------------------------------------------- */

/* Reading the debug information of a large binary takes seconds. */
#define NAMES_US (120 * USEC_PER_SEC)

struct naming {
	struct triage *t;
	struct exec *exec;
	struct symbolize ask;
	char *module; /* the binary's path in a cell */
};

static bool symbolize_is_same_binary(const struct triage *t)
{
	const struct file_id *was = &t->f.kept.binary;
	struct file_id is;

	return file_id_look(t->spec.target->binary, &is) && file_id_same(&is, was);
}

bool triage_wants_names(const struct triage *t)
{
	return t->f.as_found && t->f.report.found && t->f.report.unsymbolized &&
	       t->env->replay.symbolizer && symbolize_is_same_binary(t);
}

static void symbolize_free(struct naming *n)
{
	free(n->module);
	free(n);
}

/* --- the answer ---------------------------------------------------------------- */

static int symbolize_new_report(const struct naming *n, struct slice answers, struct buf *text,
				struct crash_report *ret, struct err *e)
{
	const struct triage *t = n->t;
	char build[FILE_ID_TEXT];
	struct crash_options o = {.target = t->spec.target->name,
				  .build = file_id_text(&t->f.kept.binary, build)};
	int r = symbolize_apply(&n->ask, t->f.kept.text, answers, text, e);

	if (r == 0)
		crash_parse(buf_slice(text), &o, ret);
	return r;
}

/* Takes the report with names.  Without a useful answer the offsets stay. */
static void symbolize_take_names(const struct naming *n, struct slice answers)
{
	_autobuf_ struct buf text = BUF_INIT(SYMBOLIZE_TEXT_MAX);
	struct finding *f = &n->t->f;
	struct crash_report r = {0};
	struct err e;

	if (symbolize_new_report(n, answers, &text, &r, &e) < 0 || !r.found || r.unsymbolized ||
	    !symbolize_is_same_binary(n->t)) {
		crash_report_done(&r);
		return;
	}
	crash_report_done(&f->report);
	f->report = r;
	finding_keep_output(f, buf_slice(&text));
}

static void symbolize_on_done(void *arg, const struct exec_end *end)
{
	struct naming *n = arg;
	struct triage *t = n->t;
	bool stopped = end->stopped;

	triage_return_memory(t);
	t->naming = NULL;
	if (end->started && !stopped)
		symbolize_take_names(n, end->output);
	symbolize_free(n);
	if (stopped)
		triage_next(t); /* the finding stays in the queue */
	else
		triage_note(t);
}

/* --- asking ------------------------------------------------------------------- */

/* The options mean the same to llvm-symbolizer and to addr2line. */
static void symbolize_command(const struct naming *n, struct setup *s)
{
	static const char *const options[] = {"-a", "-f", "-i", "-C", "-e"};
	struct strv *argv = &s->cmd.argv;

	strv_push(argv, n->t->env->replay.symbolizer);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		strv_push(argv, options[i]);
	strv_push(argv, n->module);
	for (size_t i = 0; i < n->ask.n; i++)
		strv_pushf(argv, "0x%llx", (unsigned long long)n->ask.offset[i]);
	strv_push(&s->cmd.env, "LC_ALL=C");
}

static int symbolize_launch(struct naming *n, struct setup *s, struct err *e)
{
	const struct triage *t = n->t;
	struct exec_spec x = {
	    .setup = s,
	    .index = t->spec.index,
	    .extra_memory = t->spec.cfg->symbolizer_memory,
	    .deadline_us = NAMES_US,
	    .done = symbolize_on_done,
	    .arg = n,
	};

	symbolize_command(n, s);
	return exec_start(&t->env->replay.exec, &x, &n->exec, e);
}

static int symbolize_ask(struct naming *n, struct err *e)
{
	struct triage *t = n->t;
	struct setup s;
	int r;

	setup_init(&s, t->spec.target, t->spec.cfg);
	n->module = xstrdup(s.binary);
	symbolize_offsets(t->f.kept.text, n->module, &n->ask);
	r = n->ask.n > 0 ? symbolize_launch(n, &s, e)
			 : err_set(e, ENOENT, "no frame of the report is in the binary");
	setup_done(&s);
	return r;
}

void triage_symbolize(struct triage *t)
{
	struct naming *n = xcalloc(1, sizeof(*n));
	struct err e;

	n->t = t;
	t->sum.replays++;
	if (symbolize_ask(n, &e) == 0) {
		t->naming = n;
		return;
	}
	symbolize_free(n);
	triage_return_memory(t);
	triage_note(t); /* with its offsets */
}

void triage_symbolize_stop(struct triage *t)
{
	if (t->naming)
		exec_stop(t->naming->exec);
}
