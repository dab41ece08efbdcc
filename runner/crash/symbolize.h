/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_SYMBOLIZE_H
#define RUNNER_CRASH_SYMBOLIZE_H

#include "base/buf.h"

#include <stdint.h>

/* Names for a report that was printed without a symbolizer.  Its frames say where they
 * are in a module, "(/bin/t+0x5ce92)"; a symbolizer that is asked for these offsets of
 * the same binary answers with names, and the text is written anew as if it had had them
 * from the beginning, inlined calls included.  Pure: text in, text out, time linear in
 * it.  Both texts are hostile: what is not understood stays as it is. */

enum {
	SYMBOLIZE_OFFSETS = 128,	/* of one report that are asked for, the first ones */
	SYMBOLIZE_TEXT_MAX = 512 << 10, /* bytes of the new text */
};

struct symbolize {
	const char *module; /* the binary's path, as the report has it; borrowed */
	uint64_t offset[SYMBOLIZE_OFFSETS];
	size_t n;
};

/* What to ask for: the different offsets of frames without a name in the module (its
 * path or, as TSan has it, the last part of it). */
void symbolize_offsets(struct slice report, const char *module, struct symbolize *ret);

/* answers: what `llvm-symbolizer -a -f -i -C` or `addr2line -a -f -i -C` printed for the
 * offsets in their order.  -EFBIG: the new text is too long. */
MUST_CHECK int symbolize_apply(const struct symbolize *s, struct slice report, struct slice answers,
			       struct buf *ret, struct err *e);

#endif
