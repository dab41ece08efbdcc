/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_INTERNAL_H
#define RUNNER_CORPUS_TRANSFER_INTERNAL_H

#include "runner/corpus/store.h"
#include "runner/corpus/transfer/verify.h"

#include <sys/stat.h>

/* verify.c walks, verify_file.c looks at one file, verify_repair.c repairs. */

struct verifying {
	const struct verify *v;
	struct verify_sum *sum;
};

/* One file or directory, where it is. */
struct verify_at {
	int dir;
	const char *name;
	const char *path; /* from the state directory */
};

enum verify_rule {
	RULE_INPUT = 0,	   /* <sha1> */
	RULE_ARTIFACT = 1, /* <kind>-<sha1> */
	RULE_READABLE = 2, /* also: for everybody */
};
/* twin: a directory whose files were looked into already; the same file under the same
 * name there is not read again.  -1: none. */
MUST_CHECK int verify_file(struct verifying *w, struct verify_at at, unsigned rule, int twin,
			   struct err *e);

/* Tell what is wrong; what can be done is done when it is asked for. */
void verify_left(struct verifying *w, const char *path, const char *what, const char *why);
void verify_set_aside(struct verifying *w, struct verify_at at, const char *what);
void verify_rename(struct verifying *w, struct verify_at at, const char *hex, const char *what);
void verify_set_mode(struct verifying *w, struct verify_at at, const char *what);
void verify_mended(struct verifying *w, const char *path, const char *what);

#endif
