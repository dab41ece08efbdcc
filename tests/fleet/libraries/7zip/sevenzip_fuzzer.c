/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a .7z archive and unpacks its first file.  What an archive begins with is a
 * signature of six bytes and a header with a CRC32, then another CRC32 of the rest. */
#include <7z.h>
#include <7zCrc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	ILookInStream vt;
	const uint8_t *data;
	size_t size, at;
};

static struct input *input_of(ILookInStreamPtr stream)
{
	return (struct input *)(uintptr_t)stream;
}

static SRes on_look(ILookInStreamPtr stream, const void **to, size_t *size)
{
	struct input *in = input_of(stream);

	if (*size > in->size - in->at)
		*size = in->size - in->at;
	*to = in->data + in->at;
	return SZ_OK;
}

static SRes on_skip(ILookInStreamPtr stream, size_t offset)
{
	struct input *in = input_of(stream);

	if (offset > in->size - in->at)
		return SZ_ERROR_INPUT_EOF;
	in->at += offset;
	return SZ_OK;
}

static SRes on_read(ILookInStreamPtr stream, void *to, size_t *size)
{
	struct input *in = input_of(stream);
	const void *from;

	(void)on_look(stream, &from, size);
	memcpy(to, from, *size);
	in->at += *size;
	return SZ_OK;
}

static SRes on_seek(ILookInStreamPtr stream, Int64 *to, ESzSeek origin)
{
	struct input *in = input_of(stream);
	Int64 from = origin == SZ_SEEK_SET ? 0 : (Int64)(origin == SZ_SEEK_END ? in->size : in->at);

	if (*to < -from || *to > (Int64)in->size - from)
		return SZ_ERROR_INPUT_EOF;
	in->at = (size_t)(from + *to);
	*to = (Int64)in->at;
	return SZ_OK;
}

/* At most a mebibyte at once: the dictionary's size is the archive's to choose. */
static void *on_alloc(ISzAllocPtr allocator, size_t size)
{
	(void)allocator;
	return size > 0 && size <= 1 << 20 ? malloc(size) : NULL;
}

static void on_free(ISzAllocPtr allocator, void *memory)
{
	(void)allocator;
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ISzAlloc allocator = {on_alloc, on_free};
	struct input in = {{on_look, on_skip, on_read, on_seek}, data, size, 0};
	size_t out_size = 0, offset = 0, length = 0;
	UInt32 block = UINT32_MAX;
	Byte *out = NULL;
	CSzArEx archive;

	CrcGenerateTable();
	SzArEx_Init(&archive);
	if (SzArEx_Open(&archive, &in.vt, &allocator, &allocator) == SZ_OK && archive.NumFiles > 0)
		(void)SzArEx_Extract(&archive, &in.vt, 0, &block, &out, &out_size, &offset, &length,
				     &allocator, &allocator);
	on_free(&allocator, out);
	SzArEx_Free(&archive, &allocator);
	return 0;
}
