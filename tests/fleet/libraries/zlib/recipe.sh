# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# zlib: deflate and gzip, the side that unpacks.
sources='adler32.c crc32.c inffast.c inflate.c inftrees.c zutil.c'
flags="-I$src -DZLIB_CONST"
