/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_SYMBOLIZER_H
#define RUNNER_RUN_TRIAGE_SYMBOLIZER_H

/* The newest llvm-symbolizer (else addr2line) that a cell with this root has, since an old one
 * leaves names of newer compilers mangled.  free() it; NULL: there is none.  rootfs NULL: the
 * host's. */
char *symbolizer_find(const char *rootfs);

#endif
