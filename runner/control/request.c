/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/request.h"

#include "base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

socklen_t control_address(int state_dirfd, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
		       state_dirfd);
	return (socklen_t)sizeof(*ret);
}

/* The commands and the keys that they accept. */
static const struct {
	const char *name;
	bool only_reads, target, workers, now;
} commands[] = {
    [CONTROL_STATUS] = {"status", .only_reads = true},
    [CONTROL_TARGET] = {"target", .only_reads = true, .target = true},
    [CONTROL_STOP] = {"stop", .target = true, .now = true},
    [CONTROL_START] = {"start", .target = true},
    [CONTROL_SKIP] = {"skip", .target = true},
    [CONTROL_WORKERS] = {"workers", .workers = true},
    [CONTROL_END] = {"end", .now = true},
};
_Static_assert(sizeof(commands) / sizeof(commands[0]) == CONTROL_CMD_COUNT, "name every command");

bool control_only_reads(enum control_cmd c)
{
	return c < CONTROL_CMD_COUNT && commands[c].only_reads;
}

const char *control_cmd_name(enum control_cmd c)
{
	return c < CONTROL_CMD_COUNT ? commands[c].name : "unknown";
}

static int take_cmd(const json_t *o, struct control_request *q, struct err *e)
{
	const char *name = json_string_value(json_object_get(o, "cmd"));
	unsigned c = 0;

	if (!name)
		return err_set(e, EINVAL, "\"cmd\" is missing");
	while (c < CONTROL_CMD_COUNT && strcmp(commands[c].name, name) != 0)
		c++;
	if (c == CONTROL_CMD_COUNT)
		return err_set(e, EINVAL,
			       "unknown command (status, target, stop, start, skip, "
			       "workers, end)");
	q->cmd = (enum control_cmd)c;
	return 0;
}

static int request_take_target(const json_t *v, struct control_request *q, struct err *e)
{
	const char *name = json_string_value(v);

	if (!name || strlen(name) > CONTROL_TARGET_MAX || !fs_name_ok(slice_of(name)))
		return err_set(e, EINVAL, "\"target\" is not a valid target name");
	(void)snprintf(q->target, sizeof(q->target), "%s", name);
	return 0;
}

static int request_take_workers(const json_t *v, struct control_request *q, struct err *e)
{
	json_int_t n = json_integer_value(v); /* 0: not an integer */

	if (n < 1 || n > CONTROL_CELLS_MAX)
		return err_set(e, EINVAL, "\"workers\" must be 1 to %d", CONTROL_CELLS_MAX);
	q->workers = (unsigned)n;
	return 0;
}

static int take_now(const json_t *v, struct control_request *q, struct err *e)
{
	if (!json_is_boolean(v))
		return err_set(e, EINVAL, "\"now\" must be true or false");
	q->now = json_is_true(v);
	return 0;
}

static int take_key(const char *key, const json_t *v, struct control_request *q, struct err *e)
{
	if (strcmp(key, "cmd") == 0)
		return 0;
	if (strcmp(key, "target") == 0 && commands[q->cmd].target)
		return request_take_target(v, q, e);
	if (strcmp(key, "workers") == 0 && commands[q->cmd].workers)
		return request_take_workers(v, q, e);
	if (strcmp(key, "now") == 0 && commands[q->cmd].now)
		return take_now(v, q, e);
	return err_set(e, EINVAL, "unknown key in a '%s' request", commands[q->cmd].name);
}

static int request_take_all(json_t *o, struct control_request *q, struct err *e)
{
	const char *key;
	json_t *v;
	int r = take_cmd(o, q, e);

	if (r < 0)
		return r;
	json_object_foreach(o, key, v)
	{
		r = take_key(key, v, q, e);
		if (r < 0)
			return r;
	}
	if (commands[q->cmd].target && !*q->target)
		return err_set(e, EINVAL, "\"target\" is missing");
	if (commands[q->cmd].workers && !q->workers)
		return err_set(e, EINVAL, "\"workers\" is missing");
	return 0;
}

int control_request_parse(struct slice line, struct control_request *ret, struct err *e)
{
	_autojson_ json_t *o = NULL;
	struct control_request q = {.cmd = CONTROL_CMD_COUNT};
	int r;

	if (line.n >= CONTROL_LINE_MAX)
		return err_set(e, EMSGSIZE, "a request has at most %d bytes", CONTROL_LINE_MAX);
	r = json_parse(line, &o, e);
	if (r < 0)
		return err_wrap(e, "parse the request");
	if (!json_is_object(o))
		return err_set(e, EINVAL, "a request must be a JSON object");
	r = request_take_all(o, &q, e);
	if (r == 0)
		*ret = q;
	return r;
}

int control_request_json(const struct control_request *q, json_t **ret, struct err *e)
{
	_autojson_ json_t *o = json_pack("{s:s}", "cmd", control_cmd_name(q->cmd));

	/* A user's text may not be UTF-8. */
	if (*q->target && json_object_set_new(o, "target", json_string(q->target)) < 0)
		return err_set(e, EINVAL, "build JSON");
	if (q->workers)
		json_object_set_new(o, "workers", json_integer(q->workers));
	if (q->now)
		json_object_set_new(o, "now", json_true());
	*ret = json_incref(o);
	return 0;
}
