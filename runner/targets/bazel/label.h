/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_LABEL_H
#define RUNNER_TARGETS_BAZEL_LABEL_H

#include "runner/targets/names.h"

/* Labels of Bazel: "//a/b:c/d" is c/d in package a/b.  Pure. */

/* The label as "//pkg:name", without a prefix for the main repository ("@//", "@@//").  The result
 * points into label.  NULL: a label of another repository, without a name, or not a path below the
 * workspace (empty, "." or ".." components, control characters, too long). */
const char *bazel_label_plain(const char *label);

/* The parts of a plain label. */
struct bazel_parts {
	struct slice package, name;
};
struct bazel_parts bazel_label_parts(const char *plain);

/* The path from the workspace, "a/b/c/d", in a new string. */
char *bazel_label_path(const char *plain);

/* The name of a target with this label: the last component of the label's name.
 * - The suffix that macros add to a fuzzer's program is removed: "_bin", or "_instrum" and "_raw_"
 *   of rules_fuzzing.
 * - Characters that are not allowed in a target's name become "_".
 * - long_form: the package comes first, with dots instead of slashes: "a.b.c".
 * Empty if the name is too long. */
void bazel_label_target(const char *plain, bool long_form, char ret[NAMES_TARGET_MAX + 1]);

#endif
