/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an .xz stream, 16 KiB at most.  Its header, each block's header and its index
 * have a CRC32 that is checked. */
#include <lzma.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[16384];
	lzma_stream lzma = LZMA_STREAM_INIT;

	if (lzma_stream_decoder(&lzma, 1 << 20, LZMA_CONCATENATED) != LZMA_OK)
		return 0;
	lzma.next_in = data;
	lzma.avail_in = size;
	lzma.next_out = out;
	lzma.avail_out = sizeof(out);
	(void)lzma_code(&lzma, LZMA_FINISH);
	lzma_end(&lzma);
	return 0;
}
