/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

_Noreturn void out_of_memory(void)
{
	static const char text[] = "fuzzcell: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EX_SOFTWARE);
	_exit(EX_SOFTWARE);
}

static void *memory_or_end(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

/* A size of 0 gets a byte, because malloc(0) may return NULL. */
void *xmalloc(size_t n)
{
	return memory_or_end(malloc(n ? n : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return memory_or_end(calloc(n ? n : 1, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return memory_or_end(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return memory_or_end(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return memory_or_end(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0)
		out_of_memory();
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}
