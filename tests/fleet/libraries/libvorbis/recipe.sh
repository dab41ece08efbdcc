# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# Vorbis in Ogg: the side that decodes, with libogg of its own source package.
fetch libogg
ogg=$work/src/libogg
sources="$ogg/src/bitwise.c $ogg/src/framing.c lib/analysis.c lib/bitrate.c lib/block.c
	lib/codebook.c lib/envelope.c lib/floor0.c lib/floor1.c lib/info.c lib/lookup.c lib/lpc.c
	lib/lsp.c lib/mapping0.c lib/mdct.c lib/psy.c lib/registry.c lib/res0.c
	lib/sharedbook.c lib/smallft.c lib/synthesis.c lib/vorbisfile.c lib/window.c"
flags="-I$obj -I$src/include -I$src/lib -I$ogg/include"

prepare() {
	mkdir "$obj/ogg"
	: >"$obj/config.h"
	sed -e 's/@INCLUDE_[A-Z_]*@/1/' -e 's/@SIZE\([0-9]*\)@/int\1_t/' \
		-e 's/@USIZE\([0-9]*\)@/uint\1_t/' "$ogg/include/ogg/config_types.h.in" \
		>"$obj/ogg/config_types.h"
}
