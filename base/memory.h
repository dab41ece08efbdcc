/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

/* Memory that is there.  When there is none, the process writes "fuzzcell: out of memory" and ends
 * with status 70 (EX_SOFTWARE of <sysexits.h>).  Nothing is lost by this, because nothing is lost
 * by SIGKILL at any moment.  No function here returns NULL; free() what they return. */
#define RETURNS_MEMORY __attribute__((returns_nonnull, warn_unused_result))

void *xmalloc(size_t n) RETURNS_MEMORY;
void *xcalloc(size_t n, size_t size) RETURNS_MEMORY; /* zeroed */
/* p with room for n members of that size; p may be NULL. */
void *xreallocarray(void *p, size_t n, size_t size) RETURNS_MEMORY;
char *xstrdup(const char *s) RETURNS_MEMORY;
char *xstrndup(const char *s, size_t n) RETURNS_MEMORY; /* at most n bytes of s */
char *xasprintf(const char *fmt, ...) RETURNS_MEMORY __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) RETURNS_MEMORY __attribute__((format(printf, 1, 0)));

/* Ends the process, as described above.  For allocations that a library makes. */
_Noreturn void out_of_memory(void);

#endif
