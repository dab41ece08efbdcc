/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_USER_H
#define RUNNER_TARGETS_BUILD_USER_H

#include "base/owner.h"

/* The user who builds a source: runs a build command in its build_dir, or Bazel in its
 * workspace.  In a directory of root's it is root.  The configuration must allow this by
 * "build_as_root", and no other user may be able to write on the way to it (-EPERM, with the
 * remedy).  Otherwise as owner_open(). */
MUST_CHECK int build_user_open(const char *dir, bool as_root, struct owner *ret, int *ret_fd,
			       struct err *e);

#endif
