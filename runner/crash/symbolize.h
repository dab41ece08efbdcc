/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_SYMBOLIZE_H
#define RUNNER_CRASH_SYMBOLIZE_H

#include "base/buf.h"

#include <stdint.h>

/* Adds names to a report that was printed without a symbolizer.  The report's frames are places in
 * a module, "(/bin/t+0x5ce92)".  A symbolizer finds the names for these offsets in the same binary.
 * The text is then rewritten as if it had been symbolized from the beginning, inlined calls
 * included.
 *
 * Pure: text in, text out, linear time.  Both texts are hostile; what cannot be parsed stays
 * unchanged. */

enum {
	SYMBOLIZE_OFFSETS = 128,	/* the first ones of a report; others stay without a name */
	SYMBOLIZE_TEXT_MAX = 512 << 10, /* bytes of the new text */
};

struct symbolize {
	const char *module; /* the binary's path, as the report has it; borrowed */
	uint64_t offset[SYMBOLIZE_OFFSETS];
	size_t n;
};

/* Finds the different offsets of frames without a name in the module.  TSan prints only the last
 * part of the module's path; that matches as well. */
void symbolize_offsets(struct slice report, const char *module, struct symbolize *ret);

/* answers: what `llvm-symbolizer -a -f -i -C` or `addr2line -a -f -i -C` printed for the
 * offsets in their order.  -EFBIG: the new text is too long. */
MUST_CHECK int symbolize_apply(const struct symbolize *s, struct slice report, struct slice answers,
			       struct buf *ret, struct err *e);

#endif
