# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# lz4: its frame format, the side that unpacks.
sources='lib/lz4.c lib/lz4frame.c lib/lz4hc.c lib/xxhash.c'
flags="-I$src/lib -DXXH_NAMESPACE=LZ4_"
