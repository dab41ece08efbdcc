/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_RECORD_H
#define RUNNER_TARGETS_BUILD_RECORD_H

#include "runner/targets/build/build.h"

/* The failures of each source's last build, in the state directory's build.json.  They prevent that
 * a later command fuzzes an old program that the last `fuzzcell build` could not build.
 *   {"sources": [{"type": "bazel", "path": "/src", "fresh_us": 0,
 *                 "failed": {"//a:b": "why", ...}}, ...]}
 * The keys of "failed" are Bazel's labels, or for a build command, names of targets
 * (build_known()).  A source without an entry was built completely, or never. */
#define BUILD_RECORD "build.json"
enum { BUILD_RECORD_MAX = 64 << 20, BUILD_RECORD_SOURCES = 1000 };

/* Saves the result for this source; other sources stay.  0: it is on disk. */
MUST_CHECK int build_record_save(int state_dirfd, const struct config_source *s,
				 const struct build_result *r, struct err *e);
/* Fills ret[n] with the recorded failures of n sources, in their order; discover_built_done() each.
 * No file: no failures.  -EBADMSG: the file is damaged. */
MUST_CHECK int build_record_load(int state_dirfd, const struct config_source *s, size_t n,
				 struct discover_built *ret, struct err *e);

#endif
