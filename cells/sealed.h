/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_SEALED_H
#define CELLS_SEALED_H

#include "base/err.h"

#include <stddef.h>

/* Makes a sealed program in memory (memfd_create(2)), which cannot be changed even through a
 * descriptor.  It works where all file systems are mounted noexec.  close() *ret_fd, which is
 * close-on-exec.  -EACCES: the machine forbids such programs (vm.memfd_noexec). */
MUST_CHECK int sealed_program(const char *name, const void *bytes, size_t n, int *ret_fd,
			      struct err *e);

#endif
