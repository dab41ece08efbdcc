# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# jansson: a JSON library in C.
sources='src/dump.c src/error.c src/hashtable.c src/hashtable_seed.c src/load.c src/memory.c
	src/pack_unpack.c src/strbuffer.c src/strconv.c src/utf.c src/value.c src/version.c'
flags="-I$obj -I$src/src -DHAVE_CONFIG_H"

prepare() {
	sed -e 's/@json_inline@/inline/' -e 's/@json_[a-z_]*@/1/' \
		"$src/src/jansson_config.h.in" >"$obj/jansson_config.h"
	for have in ENDIAN_H FCNTL_H SCHED_H UNISTD_H SYS_PARAM_H SYS_STAT_H SYS_TIME_H SYS_TYPES_H \
		STDINT_H CLOSE GETPID GETTIMEOFDAY OPEN READ SCHED_YIELD ATOMIC_BUILTINS LOCALE_H \
		SETLOCALE STRTOLL INT32_T UINT32_T UINT16_T UINT8_T SSIZE_T; do
		echo "#define HAVE_$have 1"
	done >"$obj/jansson_private_config.h"
	cat >>"$obj/jansson_private_config.h" <<-END
		#define USE_URANDOM 1
		#define INITIAL_HASHTABLE_ORDER 3
	END
	cp "$obj/jansson_private_config.h" "$obj/config.h"
}
