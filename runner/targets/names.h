/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_NAMES_H
#define RUNNER_TARGETS_NAMES_H

#include "base/scan.h"

/* The meaning of file names in an OSS-Fuzz style output directory (ClusterFuzz,
 * bot/fuzzers/utils.py, and the OSS-Fuzz documentation).  Pure. */

enum { NAMES_TARGET_MAX = 128 };

/* [A-Za-z0-9@_.-]+, at most NAMES_TARGET_MAX bytes, not starting with a dot or a dash. */
bool names_target_ok(struct slice name);

/* The target's name for a program with this file name: the name without .exe or .par.
 * False with the reason: another extension (a name with '@' has none), or bytes that are not
 * allowed in a target's name. */
bool names_program(struct slice file, struct slice *ret_target, const char **ret_why);

/* The beginning of the targets' names for a program that has several tests, "<program>.<test>": the
 * name without .test.  False with the reason, as above. */
bool names_program_of_tests(struct slice file, struct slice *ret_stem, const char **ret_why);

/* Why a file of this name is known not to be a target ("the symbolizer"), or NULL. */
const char *names_known_other(struct slice file);

/* Whether the name follows a convention for fuzz targets: *_fuzzer, *_fuzztest, *_fuzz_test. */
bool names_looks_like_target(struct slice file);

enum names_side { SIDE_NONE, SIDE_ARCHIVE, SIDE_DICT, SIDE_OPTIONS, SIDE_META };

/* The kind of a side file, with its target's name in *ret_target. */
enum names_side names_side_of(struct slice file, struct slice *ret_target);
const char *names_side_noun(enum names_side s); /* "seed archive", "dictionary", ... */

/* The archive extensions in the order of preference; NULL after the last. */
const char *names_archive_suffix(size_t i); /* "_seed_corpus.zip", ... */
#define NAMES_SEED_DIR_SUFFIX "_seed_corpus"

/* The name that a user may have meant by word, out of n names.  Allows a few wrong letters, or that
 * one contains the other.  NULL: no name is similar. */
const char *names_near(struct slice word, const char *const *names, size_t n);

#endif
