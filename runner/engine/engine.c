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

const struct engine_ops *engine_find(const char *name)
{
	static const struct engine_ops *const engines[] = {&engine_libfuzzer};

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}
