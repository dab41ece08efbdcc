/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/adapter.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "==1==ERROR: AddressSanitizer: ...", "WARNING: ThreadSanitizer: ...", "SUMMARY: ...":
 * before ends behind "Sanitizer: ". */
static void on_sanitizer(struct slice before, struct slice text, struct engine_state *io)
{
	enum { TOOL_MAX = 40 };
	size_t n = SLICE("Sanitizer: ").n;
	struct slice tool = {before.p + before.n - n, n};
	bool leak;

	while (tool.p > before.p && is_letter(tool.p[-1]) && tool.n < TOOL_MAX) {
		tool.p--;
		tool.n++;
	}
	before.n -= tool.n;
	/* Only MSan and TSan print reports as warnings.  A warning of ASan is not a report. */
	if (slice_cut_end(&before, SLICE("WARNING: "))) {
		if (!slice_eq(tool, SLICE("MemorySanitizer: ")) &&
		    !slice_eq(tool, SLICE("ThreadSanitizer: ")))
			return;
	} else if (!slice_cut_end(&before, SLICE("ERROR: ")) &&
		   !slice_cut_end(&before, SLICE("SUMMARY: "))) {
		return;
	}
	leak = slice_eq(tool, SLICE("LeakSanitizer: ")) ||
	       (text.n > 7 && memmem(text.p, text.n, "byte(s) leaked", 14));
	engine_set_fault(io, leak ? ENGINE_FAULT_LEAK : ENGINE_FAULT_CRASH, tool, text);
}

/* A report may follow an incomplete line of the target. */
void sanitizer_line(struct slice line, struct engine_state *io)
{
	struct slice rest = line;

	if (slice_find(&rest, SLICE("Sanitizer: ")))
		on_sanitizer((struct slice){line.p, (size_t)(rest.p - line.p)}, rest, io);
	rest = line;
	if (slice_find(&rest, SLICE(": runtime error: ")))
		engine_set_fault(io, ENGINE_FAULT_CRASH, SLICE("UndefinedBehaviorSanitizer: "),
				 rest);
}
