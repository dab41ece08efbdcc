/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_COUNTERS_H
#define RUNNER_TARGETS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* How many edges the instrumentation of an ELF file can count: the number of entries in the
 * sections where compilers keep counters.  These are __sancov_cntrs, __sancov_pcs,
 * __sancov_guards and __sancov_bools (clang and rustc), and .go.fuzzcntrs (Go).  An honest
 * engine never reports more for a process than its files have.
 *
 * The file is hostile: see runner/targets/elf.h. */
enum counters_known {
	COUNTERS_NONE,	  /* the file has no such section, or is no ELF file */
	COUNTERS_FOUND,	  /* *ret edges */
	COUNTERS_UNKNOWN, /* the section headers are missing, damaged or beyond our bounds */
};
/* fd: a regular file, open for reading.  The call blocks while it reads. */
enum counters_known counters_in(int fd, uint64_t *ret);

#endif
