/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes: any values, not NUL-terminated. */
struct slice {
	const char *p;
	size_t n;
};

#define SLICE(lit) ((struct slice){(lit), sizeof(lit) - 1})

static inline struct slice slice_of(const char *s)
{
	return (struct slice){s, strlen(s)};
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Each scanner advances *in past the bytes that it took and returns true.  Otherwise it returns
 * false and leaves *in and *out unchanged. */
bool scan_lit(struct slice *in, struct slice lit);
bool scan_until(struct slice *in, char stop, size_t max, struct slice *out);
bool scan_u64(struct slice *in, unsigned base, uint64_t max, uint64_t *out);
bool scan_line(struct slice *in, struct slice *out); /* without its newline */
void scan_blanks(struct slice *in);

#endif
