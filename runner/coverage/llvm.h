/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_LLVM_H
#define RUNNER_COVERAGE_LLVM_H

#include "runner/targets/discover.h"

/* The programs of LLVM that make a coverage report.  They must be of the LLVM that built the
 * program: newer ones may refuse its profile. */
struct llvm {
	unsigned version;	     /* major; 0: the tools have no version in their names */
	char *profdata, *cov, *filt; /* paths in a cell; filt (llvm-cxxfilt) NULL: not installed */
};
void llvm_done(struct llvm *l);

/* The major version of the clang that compiled the program, the newest if there were several; 0:
 * not known.  Blocks while it reads the program. */
unsigned llvm_version_of(const struct target *build);

/* Finds the tools of this version, or else the next newer ones.  rootfs: of the cells; NULL: the
 * host's.  -ENOENT: they are missing or older; the message says what to install. */
MUST_CHECK int llvm_find(const char *rootfs, unsigned version, struct llvm *ret, struct err *e);

#endif
