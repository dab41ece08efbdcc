/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strv.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdlib.h>

static void strv_adopt(struct strv *s, char *text)
{
	s->v = xreallocarray(s->v, s->n + 2, sizeof(*s->v));
	s->v[s->n++] = text;
	s->v[s->n] = NULL;
}

void strv_push(struct strv *s, const char *text)
{
	strv_adopt(s, xstrdup(text));
}

void strv_pushf(struct strv *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strv_adopt(s, xvasprintf(fmt, ap));
	va_end(ap);
}

void strv_done(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){0};
}
