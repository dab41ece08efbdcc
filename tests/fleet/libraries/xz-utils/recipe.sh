# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# liblzma: the side that unpacks .xz, with CRC32, CRC64 and SHA-256.
l=src/liblzma
sources="$l/check/check.c $l/check/crc32_fast.c $l/check/crc32_table.c $l/check/crc64_fast.c
	$l/check/crc64_table.c $l/check/sha256.c $l/common/block_decoder.c
	$l/common/block_header_decoder.c $l/common/block_util.c $l/common/common.c
	$l/common/filter_common.c $l/common/filter_decoder.c
	$l/common/filter_flags_decoder.c $l/common/index_hash.c $l/common/stream_decoder.c
	$l/common/stream_flags_common.c $l/common/stream_flags_decoder.c
	$l/common/vli_decoder.c $l/common/vli_size.c $l/delta/delta_common.c
	$l/delta/delta_decoder.c $l/lz/lz_decoder.c $l/lzma/lzma_decoder.c
	$l/lzma/lzma2_decoder.c $l/simple/arm.c $l/simple/arm64.c
	$l/simple/armthumb.c $l/simple/ia64.c $l/simple/powerpc.c $l/simple/simple_coder.c
	$l/simple/simple_decoder.c $l/simple/sparc.c $l/simple/x86.c"
flags="-I$obj -I$src/src/common -I$src/$l/api"
for d in common check lz rangecoder lzma delta simple; do
	flags="$flags -I$src/$l/$d"
done
flags="$flags -DHAVE_CONFIG_H -DTUKLIB_SYMBOL_PREFIX=lzma_"

prepare() {
	for have in CHECK_CRC32 CHECK_CRC64 CHECK_SHA256 DECODERS DECODER_ARM DECODER_ARM64 \
		DECODER_ARMTHUMB DECODER_DELTA DECODER_IA64 DECODER_LZMA1 DECODER_LZMA2 \
		DECODER_POWERPC DECODER_SPARC DECODER_X86 INTTYPES_H LIMITS_H STDBOOL_H STDINT_H \
		STRING_H VISIBILITY _BOOL; do
		echo "#define HAVE_$have 1"
	done >"$obj/config.h"
	cat >>"$obj/config.h" <<-END
		#define NDEBUG 1
		#define SIZEOF_SIZE_T 8
	END
}
