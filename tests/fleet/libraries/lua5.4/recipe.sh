# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# Lua: the compiler; nothing is run.
sources='src/lapi.c src/lauxlib.c src/lcode.c src/lctype.c src/ldebug.c src/ldo.c src/ldump.c
	src/lfunc.c src/lgc.c src/llex.c src/lmem.c src/lobject.c src/lopcodes.c src/lparser.c
	src/lstate.c src/lstring.c src/ltable.c src/ltm.c src/lundump.c src/lvm.c src/lzio.c'
flags="-I$obj -I$src/src"

# Where modules would be, in the header that the package adds.
prepare() {
	echo '#define DEB_HOST_MULTIARCH "none"' >"$obj/lua5.4-deb-multiarch.h"
}
