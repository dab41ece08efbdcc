# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# FreeType: all of its font formats and the anti-aliasing rasterizer.
sources='src/base/ftbase.c src/base/ftbitmap.c src/base/ftglyph.c src/base/ftinit.c
	src/base/ftmm.c src/base/ftsystem.c src/base/ftdebug.c src/bdf/bdf.c src/cff/cff.c
	src/cid/type1cid.c src/gzip/ftgzip.c src/lzw/ftlzw.c src/pcf/pcf.c src/pfr/pfr.c
	src/psaux/psaux.c src/pshinter/pshinter.c src/psnames/psnames.c src/raster/raster.c
	src/sfnt/sfnt.c src/smooth/smooth.c src/truetype/truetype.c src/type1/type1.c
	src/type42/type42.c src/winfonts/winfnt.c'
flags="-I$obj -I$src/include -DFT2_BUILD_LIBRARY -DFT_CONFIG_MODULES_H=<modules.h>"

# Its own list of modules, without the auto-hinter and the distance fields.
prepare() {
	grep -v -e autofit -e sdf -e svg "$src/include/freetype/config/ftmodule.h" >"$obj/modules.h"
}
