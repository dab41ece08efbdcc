/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/crash/mark.h"

#include <string.h>

/* "    #3 0x55d0 in name file:1:2", "#3 name ..." */
static bool same_frame(const struct crash_frame *f, unsigned number, uint64_t pc, struct slice rest)
{
	if (f->number != number)
		return false;
	if (f->pc && pc)
		return f->pc == pc;
	return f->has_function && rest.n > 0 &&
	       memmem(rest.p, rest.n, f->function, strlen(f->function));
}

bool crash_mark_line(struct crash_mark *m, struct slice line)
{
	uint64_t number, pc = 0;

	scan_blanks(&line);
	if (!scan_lit(&line, SLICE("#")) || !scan_u64(&line, 10, UINT32_MAX, &number))
		return false;
	scan_blanks(&line);
	if (scan_lit(&line, SLICE("0x")) && !scan_u64(&line, 16, UINT64_MAX, &pc))
		return false;
	for (size_t i = m->next; i < m->r->n_frames; i++)
		if (same_frame(&m->r->frames[i], (unsigned)number, pc, line)) {
			m->next = i + 1;
			return true;
		}
	return false;
}
