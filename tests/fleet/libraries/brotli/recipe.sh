# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# brotli: the side that unpacks.
sources='c/common/*.c c/dec/*.c'
flags="-I$src/c/include"
