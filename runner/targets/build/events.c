/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Bazel's build events: which targets failed, and why. */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/bazel/label.h"
#include "runner/targets/build/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* --- failed actions ------------------------------------------------------------ */

/* Finds the first error in the output of failed actions. */

enum { ACTIONS_MAX = 1000, PRINTED_MAX = 256 << 10, URI_MAX = 4096, LINE_MAX_KEPT = 200 };

struct action {
	char *label, *output; /* together they identify the action */
	char *line;
};

/* The failed actions, each with one line of its output. */
struct actions {
	const struct rights *rights;
	struct action *v;
	size_t n;
};

static void actions_done(struct actions *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].label);
		free(a->v[i].output);
		free(a->v[i].line);
	}
	free(a->v);
}

/* NULL: not known. */
static const char *actions_line(const struct actions *a, const char *label, const char *output)
{
	for (size_t i = 0; output && i < a->n; i++)
		if (strcmp(a->v[i].label, label) == 0 && strcmp(a->v[i].output, output) == 0)
			return a->v[i].line;
	return NULL;
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "file:///a%20b" -> "/a b".  Other URIs, such as those of a remote cache, are not read. */
static bool actions_path_of(const char *uri, char out[URI_MAX])
{
	struct slice in = slice_of(uri ? uri : "");
	size_t n = 0;

	if (!scan_lit(&in, SLICE("file://")) || in.n == 0 || *in.p != '/' || in.n >= URI_MAX)
		return false;
	for (size_t i = 0; i < in.n; i++) {
		int high = i + 2 < in.n && in.p[i] == '%' ? hex_of(in.p[i + 1]) : -1;
		int low = high >= 0 ? hex_of(in.p[i + 2]) : -1;

		out[n++] = in.p[i];
		if (low >= 0)
			out[n - 1] = (char)(high << 4 | low);
		if (!out[n - 1])
			return false;
		i += low >= 0 ? 2 : 0;
	}
	out[n] = '\0';
	return true;
}

/* The first error line of a compiler or a linker, else the first line. */
static char *actions_choose(struct slice text)
{
	char plain[LINES_MAX], *first = NULL;
	struct slice line;

	while (scan_line(&text, &line)) {
		bool error;

		line = lines_without_colours(line, plain, sizeof(plain));
		scan_blanks(&line);
		error =
		    build_has_word(line, "error:") || build_has_word(line, "undefined reference");
		if (line.n > LINE_MAX_KEPT)
			line.n = LINE_MAX_KEPT;
		if (error || (!first && line.n > 0)) {
			free(first);
			first = xstrndup(line.p, line.n);
		}
		if (error)
			break;
	}
	return first;
}

/* Opens the file with the rights of the workspace's owner, because the event may name any file. */
static char *actions_read_line(const struct actions *a, const json_t *file)
{
	_autofree_ char *text = xmalloc(PRINTED_MAX);
	_autoclose_ int fd = -1;
	char path[URI_MAX];
	struct stat st;
	ssize_t n;

	if (!a->rights || !actions_path_of(json_string_value(json_object_get(file, "uri")), path))
		return NULL;
	fd = rights_open_named(a->rights, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	n = sys_pread(fd, text, PRINTED_MAX, 0);
	return n > 0 ? actions_choose((struct slice){text, (size_t)n}) : NULL;
}

static void actions_take(struct actions *a, const json_t *event)
{
	const json_t *id = json_object_get(json_object_get(event, "id"), "actionCompleted");
	const json_t *action = json_object_get(event, "action");
	const char *label = json_string_value(json_object_get(id, "label"));
	const char *output = json_string_value(json_object_get(id, "primaryOutput"));
	char *line;

	if (!label || !output || !action || json_is_true(json_object_get(action, "success")) ||
	    a->n >= ACTIONS_MAX)
		return;
	line = actions_read_line(a, json_object_get(action, "stderr"));
	if (!line)
		line = actions_read_line(a, json_object_get(action, "stdout"));
	if (!line)
		return;
	a->v = xreallocarray(a->v, a->n + 1, sizeof(*a->v));
	a->v[a->n++] =
	    (struct action){.label = xstrdup(label), .output = xstrdup(output), .line = line};
}

/* --- the events ---------------------------------------------------------------- */

enum { WHY_MAX = 480 };

/* The result of a target: unknown, built, or failed with a reason. */
struct fate {
	bool known, built;
	char *why;
};

struct reading {
	const struct strv *labels;
	struct fate *fates; /* in the order of labels */
	struct actions actions;
	const char *first_error; /* of Bazel; "": none */
	bool any;
};

static void events_reading_done(struct reading *r)
{
	for (size_t i = 0; r->fates && i < r->labels->n; i++)
		free(r->fates[i].why);
	free(r->fates);
	actions_done(&r->actions);
}

static int to_label(const void *key, const void *label)
{
	return strcmp(key, *(char *const *)label);
}

static struct fate *fate_of(const struct reading *r, const json_t *label)
{
	const char *plain = bazel_label_plain(json_string_value(label));
	char **at;

	if (!plain || r->labels->n == 0)
		return NULL;
	at = bsearch(plain, r->labels->v, r->labels->n, sizeof(*r->labels->v), to_label);
	return at ? &r->fates[at - r->labels->v] : NULL;
}

/* The target's first failed action, which may belong to a library. */
static const json_t *failed_action(const json_t *event)
{
	const json_t *children = json_object_get(event, "children"), *action;
	size_t i;
	json_t *child;

	json_array_foreach(children, i, child)
	{
		action = json_object_get(child, "actionCompleted");
		if (json_string_value(json_object_get(action, "label")))
			return action;
	}
	return NULL;
}

static char *why_aborted(const struct reading *r, const json_t *aborted)
{
	const char *reason = json_string_value(json_object_get(aborted, "reason"));
	const char *more = json_get_text(aborted, "description");

	reason = reason ? reason : "aborted";
	if (!*more && *r->first_error)
		return xasprintf("%.60s, Bazel's first error: %s", reason, r->first_error);
	return xasprintf("%.60s%s%.200s", reason, *more ? ": " : "", more);
}

static char *events_why_not(const struct reading *r, const json_t *event)
{
	const json_t *aborted = json_object_get(event, "aborted");
	const json_t *action = failed_action(event);
	const char *part = json_string_value(json_object_get(action, "label")), *line;

	if (aborted)
		return why_aborted(r, aborted);
	if (!part)
		return xstrdup("it failed");
	line = actions_line(&r->actions, part,
			    json_string_value(json_object_get(action, "primaryOutput")));
	return xasprintf("an action of %.100s failed%s%s", part, line ? ": " : "",
			 line ? line : "");
}

/* Events of aspects do not count for the target.  With several configurations, each must
 * succeed. */
static void take_event(struct reading *r, const json_t *event)
{
	const json_t *id = json_object_get(json_object_get(event, "id"), "targetCompleted");
	const json_t *completed = json_object_get(event, "completed");
	struct fate *fate = fate_of(r, json_object_get(id, "label"));
	bool ok = json_is_true(json_object_get(completed, "success"));

	r->any = true;
	if (json_object_get(event, "action")) {
		actions_take(&r->actions, event);
		return;
	}
	if (!fate || json_object_get(id, "aspect"))
		return;
	fate->built = ok && (!fate->known || fate->built);
	fate->known = true;
	if (!ok && !fate->why)
		fate->why = events_why_not(r, event);
}

static void take_line(struct reading *r, struct slice line)
{
	static const char target[] = "\"targetCompleted\"", action[] = "\"actionCompleted\"";
	_autojson_ json_t *event = NULL;
	struct err ignored;

	r->any = r->any || line.n > 0;
	/* Parse only relevant events; most are not. */
	if ((!memmem(line.p, line.n, target, sizeof(target) - 1) &&
	     !memmem(line.p, line.n, action, sizeof(action) - 1)) ||
	    json_parse(line, &event, &ignored) < 0)
		return;
	take_event(r, event);
}

/* Takes the complete lines of buf[0..*io_n).  Sets *io_n to the length of the incomplete rest. */
static void take_lines(struct reading *r, char *buf, size_t *io_n)
{
	struct slice all = {buf, *io_n};

	while (all.n > 0) {
		const char *end = memchr(all.p, '\n', all.n);

		if (!end)
			break;
		take_line(r, (struct slice){all.p, (size_t)(end - all.p)});
		all.n -= (size_t)(end + 1 - all.p);
		all.p = end + 1;
	}
	memmove(buf, all.p, all.n);
	*io_n = all.n;
}

static int events_read_all(struct reading *r, int fd, struct err *e)
{
	_autofree_ char *buf = xmalloc((size_t)2 * EVENTS_LINE_MAX);
	bool cut = false; /* inside a line that is too long */
	uint64_t at = 0;
	size_t n = 0;
	ssize_t got = 0;

	while (at < EVENTS_MAX && (got = sys_pread(fd, buf + n, EVENTS_LINE_MAX, (off_t)at)) > 0) {
		at += (uint64_t)got;
		n += (size_t)got;
		if (cut) { /* drop the rest of the long line */
			char *end = memchr(buf, '\n', n);
			size_t skip = end ? (size_t)(end + 1 - buf) : n;

			memmove(buf, buf + skip, n - skip);
			n -= skip;
			cut = !end;
		}
		take_lines(r, buf, &n);
		if (n > EVENTS_LINE_MAX) {
			cut = true;
			n = 0;
		}
	}
	if (got < 0)
		return err_sys(e, "read build events");
	if (!cut)
		take_line(r, (struct slice){buf, n});
	return 0;
}

static void events_report(const struct reading *r, struct build_result *ret)
{
	for (size_t i = 0; i < r->labels->n; i++) {
		const struct fate *f = &r->fates[i];
		char shown[ESCAPE_ASCII_MAX];

		if (f->built) {
			strv_push(&ret->built, r->labels->v[i]);
			continue;
		}
		strv_push(&ret->failed.labels, r->labels->v[i]);
		strv_pushf(&ret->failed.whys, "%.*s", WHY_MAX,
			   escape_ascii(slice_of(f->why ? f->why : "not reached"), shown));
	}
}

int events_read(int fd, const struct strv *labels, const struct events_beside *beside,
		struct build_result *ret, bool *ret_any, struct err *e)
{
	CLEANUP(events_reading_done)
	struct reading r = {.labels = labels,
			    .actions = {.rights = beside->rights},
			    .first_error = beside->first_error,
			    .fates = xcalloc(labels->n + 1, sizeof(*r.fates))};
	int rc = events_read_all(&r, fd, e);

	if (rc == 0)
		events_report(&r, ret);
	*ret_any = r.any;
	return rc;
}
