/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_SEALED_H
#define CELLS_SEALED_H

#include "base/err.h"

#include <stddef.h>

/* A program in memory (memfd_create(2)) that cannot be changed any more, not even with a
 * descriptor of it.  It needs no place from which programs can be executed.  close() *ret_fd, which
 * is close-on-exec.  -EACCES: the machine forbids it (vm.memfd_noexec). */
MUST_CHECK int sealed_program(const char *name, const void *bytes, size_t n, int *ret_fd,
			      struct err *e);

#endif
