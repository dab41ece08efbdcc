/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a raw deflate stream, 16 KiB at most. */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char out[16384];
	z_stream z;

	if (size > 1 << 20)
		return 0;
	memset(&z, 0, sizeof(z));
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return 0;
	z.next_in = data;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = sizeof(out);
	(void)inflate(&z, Z_SYNC_FLUSH);
	(void)inflateEnd(&z);
	return 0;
}
