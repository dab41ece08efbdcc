/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_RECORD_H
#define RUNNER_TARGETS_BUILD_RECORD_H

#include "runner/targets/build/build.h"

/* What the last build of each source did not make, in the state directory's build.json: so
 * that what `fuzzcell build` could not build is not fuzzed by a later command from what an
 * earlier build left.
 *   {"sources": [{"type": "bazel", "path": "/src", "fresh_us": 0,
 *                 "failed": {"//a:b": "why", ...}}, ...]}
 * "failed" has Bazel's labels; of a build command, names of targets (build_known()).
 * A source that is not in it was built whole, or never. */
#define BUILD_RECORD "build.json"
enum { BUILD_RECORD_MAX = 64 << 20, BUILD_RECORD_SOURCES = 1000 };

/* Puts down the result for this source; others stay as they are.  0: it is on disk. */
MUST_CHECK int build_record_save(int state_dirfd, const struct config_source *s,
				 const struct build_result *r, struct err *e);
/* Fills *ret (of n sources, in their order; discover_built_done() each) with what is known;
 * a file that is not there says nothing of any.  -EBADMSG: it is damaged. */
MUST_CHECK int build_record_load(int state_dirfd, const struct config_source *s, size_t n,
				 struct discover_built *ret, struct err *e);

#endif
