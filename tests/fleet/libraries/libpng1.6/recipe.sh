# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# libpng: the side that reads, with zlib of its own source package.
fetch zlib
sources="png.c pngerror.c pngget.c pngmem.c pngpread.c pngread.c pngrio.c pngrtran.c pngrutil.c
	pngset.c pngtrans.c
	$work/src/zlib/adler32.c $work/src/zlib/crc32.c $work/src/zlib/inffast.c
	$work/src/zlib/inflate.c $work/src/zlib/inftrees.c $work/src/zlib/zutil.c"
flags="-I$obj -I$src -I$work/src/zlib -DPNG_INTEL_SSE_OPT=0 -DPNG_ARM_NEON_OPT=0"

# As it comes, without the side that writes.
prepare() {
	grep -v -e WRITE -e SAVE_INT "$src/scripts/pnglibconf.h.prebuilt" >"$obj/pnglibconf.h"
}
