/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_SEEK_H
#define RUNNER_CORPUS_SEEK_H

#include "base/owner.h"
#include "base/scan.h"

#include <limits.h>
#include <stdbool.h>

/* Finds a file below dir, a few levels deep, that has exactly this content.  If there are several,
 * any of them.  Files are opened with these rights (NULL: ours); links are not followed.
 * Unreadable files are skipped, and so is everything after WORKDIR_FILES_MAX entries.  An empty
 * content is never found.  Blocks. */
bool seek_content(const struct rights *as, const char *dir, struct slice content,
		  char ret[PATH_MAX]);

#endif
