/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_SEEK_H
#define RUNNER_CORPUS_SEEK_H

#include "base/owner.h"
#include "base/scan.h"

#include <limits.h>
#include <stdbool.h>

/* The path of a file below dir, a few levels deep, that has exactly this content; of several, any.
 * It is opened with these rights (NULL: ours); links are not followed, what cannot be read is
 * passed over, and so is all that comes after WORKDIR_FILES_MAX entries.  An empty content is no
 * input's.  Blocks. */
bool seek_content(const struct rights *as, const char *dir, struct slice content,
		  char ret[PATH_MAX]);

#endif
