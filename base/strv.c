/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strv.h"

#include "base/sys.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int strv_adopt(struct strv *s, char *text, struct err *e)
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
	return strv_adopt(s, copy, e);
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
	return strv_adopt(s, text, e);
}

void strv_done(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){0};
}
