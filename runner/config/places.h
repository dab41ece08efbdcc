/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_PLACES_H
#define RUNNER_CONFIG_PLACES_H

#include "base/err.h"
#include "base/scan.h"

/* The line of each value of a JSON text.  Jansson does not keep lines.
 *
 * The index is the text's tree without its content, in the order of the text.  Walk it in step
 * with the parsed value: a container's members follow it, and jansson keeps members in the order
 * of the text.  Names are never compared, so escapes in keys do not matter.
 *
 *	id = places_child(id of a container)	its first member or element
 *	id = places_next(p, id)			the next member or element
 *
 * The root is 0.  Pure. */

enum { PLACES_MAX = 65536, PLACES_MAX_DEPTH = 32 };

struct places {
	struct place {
		uint32_t line; /* from 1; a member of an object: the line of its key */
		uint32_t end;  /* id after the last value inside */
	} * v;
	size_t n, cap;
};

/* text must be one valid JSON value.  Any other text gives -EBADMSG or a useless index, but never
 * a read outside of text.  More than PLACES_MAX values or PLACES_MAX_DEPTH levels: -E2BIG,
 * "line N: why".  Free with places_done(). */
MUST_CHECK int places_scan(struct slice text, struct places *ret, struct err *e);
void places_done(struct places *p);

uint32_t places_line(const struct places *p, uint32_t id); /* 0: no such value */
uint32_t places_child(uint32_t id);
uint32_t places_next(const struct places *p, uint32_t id);

#endif
