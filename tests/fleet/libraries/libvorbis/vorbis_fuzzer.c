/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes Vorbis in Ogg, 16 KiB of samples at most.  Every page of Ogg has a CRC32. */
#include <stdint.h>
#include <string.h>
#include <vorbis/vorbisfile.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size, at;
};

static size_t on_read(void *to, size_t each, size_t n, void *user)
{
	struct input *in = user;
	size_t bytes = each * n;

	if (bytes > in->size - in->at)
		bytes = in->size - in->at;
	memcpy(to, in->data + in->at, bytes);
	in->at += bytes;
	return each ? bytes / each : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ov_callbacks callbacks = {on_read, NULL, NULL, NULL};
	static char samples[2048];
	struct input in = {data, size, 0};
	OggVorbis_File file;
	int section;

	if (size > 1 << 16 || ov_open_callbacks(&in, &file, NULL, 0, callbacks) != 0)
		return 0;
	for (int i = 0; i < 8; i++)
		if (ov_read(&file, samples, sizeof(samples), 0, 2, 1, &section) <= 0)
			break;
	(void)ov_clear(&file);
	return 0;
}
