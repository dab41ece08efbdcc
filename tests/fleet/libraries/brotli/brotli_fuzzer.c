/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a brotli stream, 64 KiB at most; the first byte says in pieces of what size. */
#include <brotli/decode.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[4096];
	BrotliDecoderState *state;
	const uint8_t *in = data + 1;
	size_t left = size - 1, piece;

	if (size < 1 || size > 1 << 16)
		return 0;
	state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	if (!state)
		return 0;
	piece = data[0] < 64 ? (size_t)data[0] + 1 : left;
	for (int i = 0; i < 16; i++) {
		uint8_t *to = out;
		size_t now = piece < left ? piece : left, from = now, room = sizeof(out);
		BrotliDecoderResult r =
		    BrotliDecoderDecompressStream(state, &from, &in, &room, &to, NULL);

		left -= now - from;
		if (r == BROTLI_DECODER_RESULT_SUCCESS || r == BROTLI_DECODER_RESULT_ERROR ||
		    (r == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT && left == 0))
			break;
	}
	BrotliDecoderDestroyInstance(state);
	return 0;
}
