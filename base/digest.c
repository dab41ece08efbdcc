/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "base/sys.h"

#include <errno.h>
#include <sha1.h>
#include <stdint.h>

void digest_sha1_hex(struct slice data, char out[DIGEST_SHA1_HEX])
{
	_Static_assert(SHA1_DIGEST_STRING_LENGTH == DIGEST_SHA1_HEX, "size of a SHA-1");
	SHA1Data((const uint8_t *)(data.n > 0 ? data.p : ""), data.n, out);
}

int digest_sha1_file(int fd, size_t max, char out[DIGEST_SHA1_HEX], struct err *e)
{
	uint8_t block[65536];
	size_t total = 0;
	SHA1_CTX c;

	SHA1Init(&c);
	for (;;) {
		ssize_t n = sys_pread(fd, block, sizeof(block), (off_t)total);

		if (n < 0)
			return err_sys(e, "read for a digest");
		if (n == 0)
			break;
		if ((size_t)n > max - total)
			return err_set(e, EFBIG, "more than %zu bytes", max);
		total += (size_t)n;
		SHA1Update(&c, block, (size_t)n);
	}
	SHA1End(&c, out);
	return 0;
}
