/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the first face of a font, and renders its first glyphs in two sizes. */
#include <ft2build.h>
#include <stdint.h>
#include FT_FREETYPE_H

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(FT_Face face, FT_UInt height)
{
	if (FT_Set_Pixel_Sizes(face, 0, height) != 0 &&
	    (face->num_fixed_sizes < 1 || FT_Select_Size(face, 0) != 0))
		return;
	for (FT_UInt glyph = 0; glyph < 6 && (FT_Long)glyph < face->num_glyphs; glyph++)
		if (FT_Load_Glyph(face, glyph, FT_LOAD_DEFAULT) == 0)
			(void)FT_Render_Glyph(face->glyph, FT_RENDER_MODE_NORMAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FT_Library library;
	FT_Face face;

	if (size > 1 << 16 || (!library && FT_Init_FreeType(&library) != 0))
		return 0;
	if (FT_New_Memory_Face(library, data, (FT_Long)size, 0, &face) != 0)
		return 0;
	render(face, 12);
	render(face, 40);
	(void)FT_Get_Char_Index(face, 'a');
	(void)FT_Done_Face(face);
	return 0;
}
