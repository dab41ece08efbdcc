/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_INTERNAL_H
#define RUNNER_CORPUS_TRANSFER_INTERNAL_H

#include "runner/corpus/store.h"
#include "runner/corpus/transfer/verify.h"

#include <sys/stat.h>

/* Shared by verify.c (walks), verify_file.c (checks one file) and verify_repair.c (repairs). */

struct verifying {
	const struct verify *v;
	struct verify_sum *sum;
};

/* The location of a file or directory. */
struct verify_at {
	int dir;
	const char *name;
	const char *path; /* relative to the state directory */
};

enum verify_rule {
	RULE_INPUT = 0,	   /* <sha1> */
	RULE_ARTIFACT = 1, /* <kind>-<sha1> */
	RULE_READABLE = 2, /* flag: readable for all users */
};
/* twin: a directory with files that were checked already.  If it has the same file under the same
 * name, the file is not read again.  -1: none. */
MUST_CHECK int verify_file(struct verifying *w, struct verify_at at, unsigned rule, int twin,
			   struct err *e);

/* Report a finding, and repair it if repairing was requested. */
void verify_left(struct verifying *w, const char *path, const char *what, const char *why);
void verify_set_aside(struct verifying *w, struct verify_at at, const char *what);
void verify_rename(struct verifying *w, struct verify_at at, const char *hex, const char *what);
void verify_set_mode(struct verifying *w, struct verify_at at, const char *what);
void verify_mended(struct verifying *w, const char *path, const char *what);

#endif
