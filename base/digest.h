/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/err.h"
#include "base/scan.h"

/* SHA-1 names content: corpus files and artifacts have the names that libFuzzer gives them.
 * SHA-1 does not protect against deliberately made collisions. */
enum { DIGEST_SHA1_HEX = 41 }; /* 40 lower-case digits and a NUL */

void digest_sha1_hex(struct slice data, char out[DIGEST_SHA1_HEX]);

/* Hashes the whole file from its start and keeps fd's offset.  -EFBIG: the file is larger than max.
 * When the file changes meanwhile, the digest is that of the bytes read. */
MUST_CHECK int digest_sha1_file(int fd, size_t max, char out[DIGEST_SHA1_HEX], struct err *e);

#endif
