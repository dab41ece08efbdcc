/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a bzip2 stream, 16 KiB at most. */
#include <bzlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void bz_internal_error(int code);

/* What the library calls, without stdio, when it has found a mistake of its own. */
void bz_internal_error(int code)
{
	(void)code;
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char in[1 << 16], out[16384];
	bz_stream bz;

	if (size > sizeof(in))
		return 0;
	memset(&bz, 0, sizeof(bz));
	if (BZ2_bzDecompressInit(&bz, 0, 1) != BZ_OK)
		return 0;
	memcpy(in, data, size); /* it takes a char *, not a const one */
	bz.next_in = in;
	bz.avail_in = (unsigned)size;
	bz.next_out = out;
	bz.avail_out = sizeof(out);
	(void)BZ2_bzDecompress(&bz);
	(void)BZ2_bzDecompressEnd(&bz);
	return 0;
}
