/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DISCOVER_COUNTERS_H
#define RUNNER_DISCOVER_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* How many edges the instrumentation of an ELF file can count: the entries of the sections in
 * which compilers keep the counters (clang's and rustc's __sancov_cntrs, __sancov_pcs,
 * __sancov_guards and __sancov_bools; Go's .go.fuzzcntrs).  No engine that tells the truth reports
 * more for a process than its files have.
 *
 * The file is hostile: a target's build wrote it, and it may change while it is read.  So it is
 * never mapped (a file that is cut under a mapping is a SIGBUS), a few tables of it are read,
 * of bounded size, and every number of it is checked against its size.  For three
 * tables of fixed layout this is less to trust than a library. */
enum { COUNTERS_SECTIONS_MAX = 4096, COUNTERS_NAMES_MAX = 1 << 20 };

enum counters_known {
	COUNTERS_NONE,	  /* it has no such section, or is no ELF file */
	COUNTERS_FOUND,	  /* *ret edges */
	COUNTERS_UNKNOWN, /* its section headers are missing, damaged or beyond our bounds */
};
/* fd: a regular file, open for reading.  Blocks for as long as these reads take. */
enum counters_known counters_in(int fd, uint64_t *ret);

#endif
