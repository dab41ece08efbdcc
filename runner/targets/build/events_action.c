/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first error in the output of failed actions. */
#include "base/memory.h"
#include "runner/targets/build/internal.h"

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { ACTIONS_MAX = 1000, PRINTED_MAX = 256 << 10, URI_MAX = 4096, LINE_MAX_KEPT = 200 };

struct action {
	char *label, *output; /* together they identify the action */
	char *line;
};

void actions_done(struct actions *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].label);
		free(a->v[i].output);
		free(a->v[i].line);
	}
	free(a->v);
}

const char *actions_line(const struct actions *a, const char *label, const char *output)
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
static bool build_events_action_path_of(const char *uri, char out[URI_MAX])
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
static char *build_events_action_choose(struct slice text)
{
	char plain[LINES_MAX], *first = NULL;
	struct slice line;

	while (scan_line(&text, &line)) {
		bool error;

		line = lines_without_colours(line, plain, sizeof(plain));
		scan_blanks(&line);
		error = build_says(line, "error:") || build_says(line, "undefined reference");
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
static char *build_events_action_read_line(const struct actions *a, const json_t *file)
{
	_autofree_ char *text = xmalloc(PRINTED_MAX);
	_autoclose_ int fd = -1;
	char path[URI_MAX];
	struct stat st;
	ssize_t n;

	if (!a->rights ||
	    !build_events_action_path_of(json_string_value(json_object_get(file, "uri")), path))
		return NULL;
	fd = rights_open_named(a->rights, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	n = sys_pread(fd, text, PRINTED_MAX, 0);
	return n > 0 ? build_events_action_choose((struct slice){text, (size_t)n}) : NULL;
}

void actions_take(struct actions *a, const json_t *event)
{
	const json_t *id = json_object_get(json_object_get(event, "id"), "actionCompleted");
	const json_t *action = json_object_get(event, "action");
	const char *label = json_string_value(json_object_get(id, "label"));
	const char *output = json_string_value(json_object_get(id, "primaryOutput"));
	char *line;

	if (!label || !output || !action || json_is_true(json_object_get(action, "success")) ||
	    a->n >= ACTIONS_MAX)
		return;
	line = build_events_action_read_line(a, json_object_get(action, "stderr"));
	if (!line)
		line = build_events_action_read_line(a, json_object_get(action, "stdout"));
	if (!line)
		return;
	a->v = xreallocarray(a->v, a->n + 1, sizeof(*a->v));
	a->v[a->n++] =
	    (struct action){.label = xstrdup(label), .output = xstrdup(output), .line = line};
}
