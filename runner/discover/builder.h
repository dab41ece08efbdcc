/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DISCOVER_BUILDER_H
#define RUNNER_DISCOVER_BUILDER_H

#include "base/owner.h"

/* As whom the programs of a source are made: a build command in its build_dir, Bazel in its
 * workspace.  Of a directory of root's that is root, which only "build_as_root" of the
 * configuration allows, and only where nobody else may write on the way to it (-EPERM, with
 * what to do).  Else as owner_open(). */
MUST_CHECK int builder_open(const char *dir, bool as_root, struct owner *ret, int *ret_fd,
			    struct err *e);

#endif
