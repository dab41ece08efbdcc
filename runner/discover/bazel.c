/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/discover/bazel.h"

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/sys.h"
#include "runner/discover/bazel_graph.h"
#include "runner/discover/bazel_label.h"
#include "runner/discover/build_user.h"
#include "runner/discover/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* bazel's exit statuses (https://bazel.build/run/scripts#exit-codes). */
enum { BAZEL_OK = 0, BAZEL_PARTIAL = 3 };

static void strv_done_p(struct strv *v)
{
	strv_done(v);
}

/* --- a workspace -------------------------------------------------------------------- */

static bool is_workspace(int fd)
{
	static const char *const names[] = {"WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel",
					    "REPO.bazel"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (faccessat(fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static int copy_flags(const struct strv *from, struct strv *to, struct err *e)
{
	int r = 0;

	if (!from || from->n == 0)
		return strv_add(to, DISCOVER_BAZEL_FLAGS, e);
	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = strv_add(to, from->v[i], e);
	return r;
}

int bazel_open(const struct discover_source *s, struct bazel *ret, struct err *e)
{
	struct bazel b = {.fd = -1,
			  .program = s->bazel ? s->bazel : "bazel",
			  .query = s->query && *s->query ? s->query : DISCOVER_BAZEL_QUERY,
			  .startup = s->startup,
			  .group = s->group};
	int r = build_user_open(s->path, s->as_root, &b.owner, &b.fd, e);

	if (r == 0 && !is_workspace(b.fd))
		r = err_set(e, EINVAL,
			    "is no Bazel workspace: it has neither MODULE.bazel nor "
			    "WORKSPACE");
	if (r == 0)
		r = source_fd_path(b.fd, &b.dir, e);
	if (r == 0)
		r = copy_flags(s->flags, &b.flags, e);
	/* A startup option marks the group's server: Bazel's client ends a server with other
	 * startup options, and starts a new one. */
	if (b.group)
		snprintf(b.mark, sizeof(b.mark), "--host_jvm_args=-Dfuzzcell=%s", b.group->id);
	if (r < 0)
		bazel_done(&b);
	else
		*ret = b;
	return r;
}

void bazel_done(struct bazel *b)
{
	free(b->dir);
	owner_done(&b->owner);
	strv_done(&b->flags);
	close_p(&b->fd);
	*b = (struct bazel)BAZEL_INIT;
}

/* --- a call -------------------------------------------------------------------------- */

static int add_args(const struct bazel *b, const struct bazel_call *c, struct strv *argv,
		    struct err *e)
{
	static const char *const plain[] = {"--color=no", "--curses=no", "--noshow_progress"};
	int r = strv_add(argv, b->program, e);

	for (size_t i = 0; r == 0 && b->startup && i < b->startup->n; i++)
		r = strv_add(argv, b->startup->v[i], e);
	if (r == 0 && *b->mark)
		r = strv_add(argv, b->mark, e);
	if (r == 0)
		r = strv_add(argv, c->command, e);
	for (size_t i = 0; r == 0 && i < sizeof(plain) / sizeof(plain[0]); i++)
		r = strv_add(argv, plain[i], e);
	for (size_t i = 0; r == 0 && i < c->args->n; i++)
		r = strv_add(argv, c->args->v[i], e);
	return r;
}

/* Of what it said last, the first line that begins with "ERROR: ", else "FATAL: ", else the
 * last one. */
static void read_said(const struct tool_end *end, char said[BAZEL_SAID_MAX])
{
	char shown[NAMES_PRINTABLE_MAX];
	struct slice all = {end->said, end->said_n}, line, best = {0};
	bool told = false;

	while (!told && scan_line(&all, &line)) {
		told = scan_lit(&line, SLICE("ERROR: ")) || scan_lit(&line, SLICE("FATAL: "));
		if (told || line.n > 0)
			best = line;
	}
	snprintf(said, BAZEL_SAID_MAX, "%.*s", BAZEL_SAID_MAX - 1,
		 best.n ? names_printable(best, shown) : "");
}

int bazel_call(const struct bazel *b, const struct bazel_call *c, int *ret_code,
	       char said[BAZEL_SAID_MAX], struct err *e)
{
	CLEANUP(strv_done_p) struct strv argv = {0};
	struct tool_end end;
	struct tool t = {.dir = b->fd,
			 .owner = &b->owner,
			 .group = b->group,
			 .stays = true,
			 .time_us = c->time_us ? c->time_us : BAZEL_ASK_US,
			 .out = c->out,
			 .arg = c->arg,
			 .log_fd = c->log_fd,
			 .log_max = c->log_max};
	int r = add_args(b, c, &argv, e);

	*said = '\0';
	if (r < 0)
		return r;
	t.argv = (const char *const *)argv.v;
	r = tool_run(&t, &end, e);
	if (r < 0)
		return err_wrap(e, "%s", c->command);
	read_said(&end, said);
	if (!WIFEXITED(end.status))
		return err_set(e, EPROTO, "%s %s: ended by signal %d", b->program, c->command,
			       WTERMSIG(end.status));
	*ret_code = WEXITSTATUS(end.status);
	return 0;
}

/* --- which targets ------------------------------------------------------------------- */

struct labels {
	struct strv *to;
	struct lines lines;
	struct err err;
	bool failed;
};

static void on_line(void *arg, struct slice line)
{
	struct labels *l = arg;
	_autofree_ char *text = NULL;
	const char *plain;

	if (l->failed || line.n == 0)
		return;
	text = sys_strndup(line.p, line.n);
	plain = text ? bazel_label_plain(text) : NULL;
	if (!text)
		err_sys(&l->err, "allocate a label");
	else if (!plain || strpbrk(plain, "\"'\\"))
		err_set(&l->err, EBADMSG, "Bazel's query finds what can be no fuzz target: %.100s",
			text);
	else if (l->to->n >= DISCOVER_MAX_TARGETS)
		err_set(&l->err, E2BIG, "more than %d targets", DISCOVER_MAX_TARGETS);
	else if (strv_add(l->to, plain, &l->err) == 0)
		return;
	l->failed = true;
}

static int take_labels(void *arg, struct slice block, struct err *e)
{
	struct labels *l = arg;

	lines_feed(&l->lines, block, on_line, l);
	if (!l->failed)
		return 0;
	*e = l->err;
	return -e->code;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct strv *v)
{
	size_t n = 0;

	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), compare);
	for (size_t i = 0; i < v->n; i++) {
		if (n > 0 && strcmp(v->v[n - 1], v->v[i]) == 0)
			free(v->v[i]);
		else
			v->v[n++] = v->v[i];
	}
	if (v->v)
		v->v[n] = NULL;
	v->n = n;
}

int bazel_labels(const struct bazel *b, struct strv *ret, char partial[BAZEL_SAID_MAX],
		 struct err *e)
{
	static const char *const args[] = {"--output=label", "--keep_going", "--"};
	CLEANUP(strv_done_p) struct strv argv = {0};
	_autofree_ struct labels *l = sys_calloc(1, sizeof(*l));
	struct bazel_call c = {
	    .command = "query", .args = &argv, .out = take_labels, .arg = l, .log_fd = -1};
	int r = 0, code = 0;

	if (!l)
		return err_sys(e, "allocate for Bazel's answer");
	l->to = ret;
	for (size_t i = 0; r == 0 && i < sizeof(args) / sizeof(args[0]); i++)
		r = strv_add(&argv, args[i], e);
	if (r == 0)
		r = strv_add(&argv, b->query, e);
	if (r == 0)
		r = bazel_call(b, &c, &code, partial, e);
	if (r < 0)
		return r;
	lines_end(&l->lines, on_line, l);
	if (l->failed) {
		*e = l->err;
		return -e->code;
	}
	if (code != BAZEL_OK && code != BAZEL_PARTIAL)
		return err_set(e, EPROTO, "%s query: %s", b->program,
			       *partial ? partial : "it does not say why it failed");
	if (code == BAZEL_OK)
		*partial = '\0';
	sort_unique(ret);
	return 0;
}
