/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_SYMBOLIZER_H
#define RUNNER_RUN_TRIAGE_SYMBOLIZER_H

/* The path of the newest llvm-symbolizer (otherwise addr2line) in a cell with this root: an old
 * symbolizer leaves names of newer compilers mangled.  free() it; NULL: there is none.  rootfs
 * NULL: the host's root. */
char *symbolizer_find(const char *rootfs);

#endif
