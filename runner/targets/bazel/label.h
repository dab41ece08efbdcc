/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_LABEL_H
#define RUNNER_TARGETS_BAZEL_LABEL_H

#include "runner/targets/names.h"

/* Labels of Bazel's: "//a/b:c/d" is c/d in package a/b.  Pure. */

/* The label as "//pkg:name", whatever names the main repository before it ("@//",
 * "@@//"); within label.  NULL: of another repository, without a name, or one that is no
 * path below the workspace (empty, "." or ".." components, control characters, too long). */
const char *bazel_label_plain(const char *label);

/* The parts of a plain label. */
struct bazel_parts {
	struct slice package, name;
};
struct bazel_parts bazel_label_parts(const char *plain);

/* The path from the workspace, "a/b/c/d", in a new string; NULL with errno. */
char *bazel_label_path(const char *plain);

/* What a target of this label is called: the last component of its name, without the
 * "_bin" that macros give to the program of a fuzzer (also "_instrum" and "_raw_", those of
 * rules_fuzzing); what a target's name may not have becomes "_".  long_form: with the
 * package before it, its slashes being dots: "a.b.c".  Empty when it is too long. */
void bazel_label_target(const char *plain, bool long_form, char ret[NAMES_TARGET_MAX + 1]);

#endif
