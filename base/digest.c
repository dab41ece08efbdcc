/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "base/sys.h"

#include <errno.h>
#include <sha1.h>
#include <stdint.h>

static void digest_finish(SHA1_CTX *c, char out[DIGEST_SHA1_HEX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA1_DIGEST_LENGTH];

	_Static_assert(2 * SHA1_DIGEST_LENGTH + 1 == DIGEST_SHA1_HEX, "size of a SHA-1");
	SHA1Final(sum, c);
	for (size_t i = 0; i < sizeof(sum); i++) {
		out[2 * i] = digits[sum[i] >> 4];
		out[2 * i + 1] = digits[sum[i] & 15];
	}
	out[2 * sizeof(sum)] = '\0';
}

void digest_sha1_hex(struct slice data, char out[DIGEST_SHA1_HEX])
{
	SHA1_CTX c;

	SHA1Init(&c);
	if (data.n > 0)
		SHA1Update(&c, (const uint8_t *)data.p, data.n);
	digest_finish(&c, out);
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
	digest_finish(&c, out);
	return 0;
}
