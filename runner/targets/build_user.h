/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_USER_H
#define RUNNER_TARGETS_BUILD_USER_H

#include "base/owner.h"

/* Opens dir and finds the user for a build: a build command in build_dir, or Bazel in its
 * workspace.  In a directory owned by root, this user is root.  Then as_root ("build_as_root") must
 * be set, and no other user may have write access on the path (-EPERM, with the remedy).
 * Otherwise like owner_open(). */
MUST_CHECK int build_user_open(const char *dir, bool as_root, struct owner *ret, int *ret_fd,
			       struct err *e);

#endif
