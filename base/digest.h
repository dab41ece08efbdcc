/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/err.h"
#include "base/scan.h"

/* SHA-1 names content: the corpus and the artifacts are named as libFuzzer names
 * them.  It is no protection against someone who makes two inputs of one name. */
enum { DIGEST_SHA1_HEX = 41 }; /* 40 lower-case digits and a NUL */

void digest_sha1_hex(struct slice data, char out[DIGEST_SHA1_HEX]);

/* All bytes of fd from its start, whatever its offset, which stays; -EFBIG above
 * max.  A file that changes meanwhile gets the digest of what was read. */
MUST_CHECK int digest_sha1_file(int fd, size_t max, char out[DIGEST_SHA1_HEX], struct err *e);

#endif
