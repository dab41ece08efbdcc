/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_VARIANTS_H
#define RUNNER_TARGETS_VARIANTS_H

#include "runner/targets/discover.h"

/* Several builds of one target: variants.  A target has one main build, which is fuzzed, and other
 * builds, which share its corpus: with other sanitizers, or with source coverage.  Builds belong
 * together by the target's name.
 *
 * A source with a `variant` has other builds.  Without configuration, the layout of OSS-Fuzz's
 * builds is recognised: directories with the names of variants_known(), side by side. */

/* A name that OSS-Fuzz gives to builds. */
struct variants_known {
	const char *name; /* "address": its name of the sanitizer; "afl": of the engine */
	/* The sanitizer as sanitizer_missing() knows it; NULL: it cannot be seen in a program. */
	const char *kind;
	enum target_role role; /* beside a main build */
	/* The memory that a program needs with it, in thousandths of its memory with
	 * AddressSanitizer. */
	uint32_t memory_milli;
};
/* In the order in which one becomes the main build; NULL after the last. */
const struct variants_known *variants_known_at(size_t i);
/* NULL: not one of these names. */
const struct variants_known *variants_known(const char *name);

/* The directory of the main builds in a directory of builds by name ("out/address" in "out"), in a
 * new string; NULL: it has none. */
char *variants_main_dir(const char *path);
bool variants_is_dir(const char *path);

/* Moves each other build in *io to its main build.  A build without a main build leaves the list,
 * with a warning: it is not fuzzed. */
void variants_join(struct target_list *io);

/* The build with this name: of a target, or "<target>@<variant>".  NULL: there is none. */
const struct target *variants_find(const struct target_list *l, const char *name);

/* The target's build of this variant; NULL: it has none. */
const struct target *variants_of(const struct target *t, const char *variant);

/* Why this build is not what its variant's name says: "it has no MemorySanitizer", in out; "" if it
 * is, or nothing is known.  Blocks while it reads the program. */
enum { VARIANTS_WHY_MAX = 96 };
const char *variants_wrong(const struct target *build, char out[VARIANTS_WHY_MAX]);

#endif
