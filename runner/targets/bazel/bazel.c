/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/bazel/bazel.h"

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/bazel/graph.h"
#include "runner/targets/bazel/label.h"
#include "runner/targets/build_user.h"
#include "runner/targets/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Bazel's exit statuses (https://bazel.build/run/scripts#exit-codes). */
enum { BAZEL_OK = 0, BAZEL_PARTIAL = 3 };

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

static void push_all(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; from && i < from->n; i++)
		strv_push(to, from->v[i]);
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
			    "is not a Bazel workspace: it has neither MODULE.bazel nor "
			    "WORKSPACE");
	if (r == 0)
		r = source_fd_path(b.fd, &b.dir, e);
	push_all(&b.flags, s->flags);
	if (b.flags.n == 0)
		strv_push(&b.flags, DISCOVER_BAZEL_FLAGS);
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

static void bazel_add_args(const struct bazel *b, const struct bazel_call *c, struct strv *argv)
{
	strv_push(argv, b->program);
	push_all(argv, b->startup);
	if (*b->mark)
		strv_push(argv, b->mark);
	strv_push(argv, c->command);
	strv_push(argv, "--color=no");
	strv_push(argv, "--curses=no");
	strv_push(argv, "--noshow_progress");
	push_all(argv, c->args);
}

/* The state of a call. */
struct call {
	const struct bazel_call *c;
	struct bazel_error error, printed; /* its errors; its output */
	struct err err;			   /* the sink's */
	bool failed;
	size_t after; /* bytes of output since failed was set */
};

/* The exit status decides first.  The output of a failed Bazel is not an answer, but may contain
 * the reason: the distribution's script prints a missing version to it.  So we continue to read for
 * a while after the sink refuses the output. */
static int bazel_on_output(void *arg, struct slice block, struct err *e)
{
	enum { AFTER_MAX = 1 << 20 };
	struct call *k = arg;

	bazel_error_feed(&k->printed, block);
	if (!k->failed && k->c->out(k->c->arg, block, &k->err) < 0)
		k->failed = true;
	else if (k->failed)
		k->after += block.n;
	if (k->after <= AFTER_MAX)
		return 0;
	*e = k->err;
	return err_code(e);
}

static void bazel_on_errors(void *arg, struct slice block)
{
	bazel_error_feed(&((struct call *)arg)->error, block);
}

/* The first line of .bazelversion, the version that a launcher needs; "": none. */
static void wanted_version(const struct bazel *b, char out[32])
{
	_autoclose_ int fd = sys_openat(
	    b->fd, ".bazelversion", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz./-_*";
	struct stat st;
	ssize_t n;

	*out = '\0';
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	n = sys_pread(fd, out, 31, 0);
	out[n > 0 ? n : 0] = '\0';
	out[strspn(out, allowed)] = '\0';
}

/* Finds the reason of a failure.  Messages of a launcher do not begin with "ERROR: ", and may not
 * name the version. */
static void bazel_find_error(const struct bazel *b, struct call *k, char error[BAZEL_ERROR_MAX])
{
	char text[BAZEL_ERROR_MAX], version[32];

	if (bazel_error_end(&k->error, error))
		return;
	if (bazel_error_end(&k->printed, text)) {
		memcpy(error, text, sizeof(text));
		return;
	}
	wanted_version(b, version);
	if (*version && *error && !strstr(error, version)) {
		memcpy(text, error, sizeof(text));
		snprintf(error, BAZEL_ERROR_MAX, "%.300s (.bazelversion asks for Bazel %s)", text,
			 version);
	}
}

static int run_call(const struct bazel *b, struct call *k, const struct strv *argv,
		    struct tool_end *end, struct err *e)
{
	const struct bazel_call *c = k->c;
	const struct tool t = {.argv = (const char *const *)argv->v,
			       .dir = b->fd,
			       .owner = &b->owner,
			       .group = b->group,
			       .stays = true,
			       .time_us = c->time_us ? c->time_us : BAZEL_ASK_US,
			       .out = c->out ? bazel_on_output : NULL,
			       .errors = bazel_on_errors,
			       .arg = k,
			       .log_fd = c->log_fd,
			       .log_max = c->log_max};
	int r = tool_run(&t, end, e);

	return r < 0 ? err_wrap(e, "%s", c->command) : 0;
}

int bazel_call(const struct bazel *b, const struct bazel_call *c, int *ret_code,
	       char error[BAZEL_ERROR_MAX], struct err *e)
{
	_autostrv_ struct strv argv = {0};
	_autofree_ struct call *k = xcalloc(1, sizeof(*k));
	struct tool_end end;
	int r;

	*error = '\0';
	bazel_add_args(b, c, &argv);
	k->c = c;
	r = run_call(b, k, &argv, &end, e);
	if (r < 0)
		return r;
	if (!WIFEXITED(end.status))
		return err_set(e, EPROTO, "%s %s: ended by signal %d", b->program, c->command,
			       WTERMSIG(end.status));
	*ret_code = WEXITSTATUS(end.status);
	if (k->failed && (*ret_code == BAZEL_OK || *ret_code == BAZEL_PARTIAL)) {
		*e = k->err;
		return err_wrap(e, "%s", c->command);
	}
	bazel_find_error(b, k, error);
	return 0;
}

/* --- labels of targets --------------------------------------------------------------- */

struct labels {
	struct strv *to;
	struct lines lines;
	struct err err;
	bool failed;
};

static void bazel_on_line(void *arg, struct slice line)
{
	struct labels *l = arg;
	_autofree_ char *text = NULL;
	const char *plain;
	int r = 0;

	if (l->failed || line.n == 0)
		return;
	text = xstrndup(line.p, line.n);
	plain = bazel_label_plain(text);
	if (!plain || strpbrk(plain, "\"'\\"))
		r = err_set(&l->err, EBADMSG,
			    "Bazel's query finds '%.100s', which cannot be a fuzz target", text);
	else if (l->to->n >= DISCOVER_MAX_TARGETS)
		r = err_set(&l->err, E2BIG, "more than %d targets", DISCOVER_MAX_TARGETS);
	else
		strv_push(l->to, plain);
	l->failed = r < 0;
}

static int take_labels(void *arg, struct slice block, struct err *e)
{
	struct labels *l = arg;

	lines_feed(&l->lines, block, bazel_on_line, l);
	if (!l->failed)
		return 0;
	*e = l->err;
	return err_code(e);
}

static int bazel_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct strv *v)
{
	size_t n = 0;

	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), bazel_compare);
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

int bazel_labels(const struct bazel *b, struct strv *ret, char partial[BAZEL_ERROR_MAX],
		 struct err *e)
{
	_autostrv_ struct strv argv = {0};
	_autofree_ struct labels *l = xcalloc(1, sizeof(*l));
	struct bazel_call c = {
	    .command = "query", .args = &argv, .out = take_labels, .arg = l, .log_fd = -1};
	int r, code = 0;

	l->to = ret;
	strv_push(&argv, "--output=label");
	strv_push(&argv, "--keep_going");
	strv_push(&argv, "--");
	strv_push(&argv, b->query);
	r = bazel_call(b, &c, &code, partial, e);
	if (r < 0)
		return r;
	if (code != BAZEL_OK && code != BAZEL_PARTIAL)
		return err_set(e, EPROTO, "%s query: %s", b->program,
			       *partial ? partial : "it failed without an error message");
	lines_end(&l->lines, bazel_on_line, l);
	if (l->failed) {
		*e = l->err;
		return err_code(e);
	}
	if (code == BAZEL_OK)
		*partial = '\0';
	else if (!*partial)
		snprintf(partial, BAZEL_ERROR_MAX,
			 "a package could not be loaded; %s query does not name it", b->program);
	sort_unique(ret);
	return 0;
}
