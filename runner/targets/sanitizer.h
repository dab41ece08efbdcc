/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_SANITIZER_H
#define RUNNER_TARGETS_SANITIZER_H

#include "runner/targets/discover.h"

/* Whether a build can report the failures of a sanitizer.  A build without AddressSanitizer passes
 * an input that failed in AddressSanitizer.  That pass does not show that the bug is fixed.
 *
 * kind: "asan", "msan", "tsan" or "lsan" (crash_kind_name()).  Each of these has a
 * runtime with a symbol that a program with this runtime contains or imports, also after strip(1).
 * UBSan has no such symbol: every program with libFuzzer contains UBSan's runtime.
 *
 * Returns the name of the sanitizer if the target's program certainly lacks it.  NULL: the
 * program has it, or nothing is known: another kind, a script, or an ELF file without names,
 * with damaged headers, or with more than 64 MiB of names.  The file is hostile: see
 * runner/targets/elf.h.  Blocks while it reads. */
const char *sanitizer_missing(const struct target *t, const char *kind);

#endif
