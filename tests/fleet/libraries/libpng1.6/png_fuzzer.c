/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a PNG of 256 x 256 pixels at most as 8-bit RGBA.  The CRC of every chunk is
 * checked: without a seed, each chunk that is reached has to be hit upon. */
#include <png.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static void on_read(png_structp png, png_bytep to, size_t n)
{
	struct input *in = png_get_io_ptr(png);

	if (n > in->left)
		png_error(png, "end of input");
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

static void on_error(png_structp png, png_const_charp text)
{
	(void)text;
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void read_image(png_structp png, png_infop info)
{
	static png_byte row[256 * 8];

	if (setjmp(png_jmpbuf(png)))
		return;
	png_set_user_limits(png, 256, 256);
	png_set_chunk_malloc_max(png, 1 << 16);
	png_read_info(png, info);
	png_set_expand(png);
	png_set_scale_16(png);
	png_set_gray_to_rgb(png);
	png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
	for (int pass = png_set_interlace_handling(png); pass > 0; pass--) {
		if (pass == 1)
			png_read_update_info(png, info);
		for (png_uint_32 y = 0; y < png_get_image_height(png, info); y++)
			png_read_row(png, row, NULL);
	}
	png_read_end(png, info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (info) {
		png_set_read_fn(png, &in, on_read);
		read_image(png, info);
	}
	png_destroy_read_struct(&png, &info, NULL);
	return 0;
}
