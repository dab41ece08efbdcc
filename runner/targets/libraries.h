/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_LIBRARIES_H
#define RUNNER_TARGETS_LIBRARIES_H

#include "runner/targets/discover.h"
#include "runner/targets/elf.h"

/* Whether the program may load shared libraries of its own project: it says where to look for them
 * (DT_RPATH, DT_RUNPATH; elf(5)), or libraries are beside it.  A guess, for which a "yes" is safe.
 */
bool libraries_own(const struct elf_file *m, const struct target *t);

#endif
