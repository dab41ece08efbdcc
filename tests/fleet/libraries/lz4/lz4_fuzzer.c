/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an LZ4 frame, checksums and all, 64 KiB at most. */
#include <lz4frame.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char out[4096];
	LZ4F_dctx *context;
	size_t at = 0;

	if (size > 1 << 20 || LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return 0;
	for (int i = 0; i < 16; i++) {
		size_t to = sizeof(out), from = size - at;
		size_t wanted = LZ4F_decompress(context, out, &to, data + at, &from, NULL);

		at += from;
		if (LZ4F_isError(wanted) || (to == 0 && from == 0))
			break;
	}
	(void)LZ4F_freeDecompressionContext(context);
	return 0;
}
