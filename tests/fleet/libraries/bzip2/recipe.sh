# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# bzip2: the side that unpacks; blocks have a CRC.
sources='blocksort.c bzlib.c compress.c crctable.c decompress.c huffman.c randtable.c'
flags="-I$src -DBZ_NO_STDIO"
