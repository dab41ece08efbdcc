/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/engine.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <stdarg.h>

static int adopt(struct strv *s, char *text, struct err *e)
{
	char **v = sys_realloc(s->v, (s->n + 2) * sizeof(*v));

	if (!v) {
		err_sys(e, "grow a list of strings");
		free(text);
		return -e->code;
	}
	s->v = v;
	s->v[s->n++] = text;
	s->v[s->n] = NULL;
	return 0;
}

int strv_add(struct strv *s, const char *text, struct err *e)
{
	char *copy = sys_strdup(text);

	if (!copy)
		return err_sys(e, "copy a string");
	return adopt(s, copy, e);
}

int strv_addf(struct strv *s, struct err *e, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_set(e, ENOMEM, "format a string");
	return adopt(s, text, e);
}

void strv_done(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){0};
}

void engine_cmd_done(struct engine_cmd *c)
{
	strv_done(&c->argv);
	strv_done(&c->env);
}

const char *engine_fault_name(enum engine_fault f)
{
	static const char *const names[ENGINE_FAULT_] = {
	    [ENGINE_FAULT_NONE] = "none",	[ENGINE_FAULT_CRASH] = "crash",
	    [ENGINE_FAULT_TIMEOUT] = "timeout", [ENGINE_FAULT_OOM] = "oom",
	    [ENGINE_FAULT_LEAK] = "leak",	[ENGINE_FAULT_ENGINE] = "engine",
	};

	return (unsigned)f < ENGINE_FAULT_ ? names[f] : "?";
}

const char *engine_artifact_name(enum engine_artifact a)
{
	switch (a) {
	case ENGINE_ARTIFACT_CRASH:
		return "crash";
	case ENGINE_ARTIFACT_TIMEOUT:
		return "timeout";
	case ENGINE_ARTIFACT_OOM:
		return "oom";
	case ENGINE_ARTIFACT_LEAK:
		return "leak";
	case ENGINE_ARTIFACT_SLOW:
		return "slow-unit";
	case ENGINE_ARTIFACT_PIDS:
		return "pids";
	case ENGINE_ARTIFACT_SYSCALL:
		return "syscall";
	case ENGINE_ARTIFACT_NONE:
		break;
	}
	return NULL;
}

static bool is_hex(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr("0123456789abcdef", s.p[i]))
			return false;
	return true;
}

enum engine_artifact engine_saved(const struct engine_ops *engine, struct slice name)
{
	static const enum engine_artifact ours[] = {ENGINE_ARTIFACT_PIDS, ENGINE_ARTIFACT_SYSCALL};
	enum { SHA1_HEX = 40 };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		const char *kind = engine_artifact_name(ours[i]);
		struct slice rest = name;

		if (kind && scan_lit(&rest, slice_of(kind)) && scan_lit(&rest, SLICE("-")))
			return rest.n == SHA1_HEX && is_hex(rest) ? ours[i] : ENGINE_ARTIFACT_NONE;
	}
	return engine->artifact(name);
}

const struct engine_ops *engine_find(const char *name)
{
	static const struct engine_ops *const engines[] = {&engine_libfuzzer};

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}
