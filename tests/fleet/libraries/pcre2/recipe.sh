# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# PCRE2: regular expressions over bytes and UTF-8, without the JIT.
sources="$obj/pcre2_chartables.c src/pcre2_auto_possess.c src/pcre2_compile.c
	src/pcre2_config.c src/pcre2_context.c src/pcre2_convert.c src/pcre2_dfa_match.c
	src/pcre2_error.c src/pcre2_extuni.c src/pcre2_find_bracket.c src/pcre2_jit_compile.c
	src/pcre2_maketables.c src/pcre2_match.c src/pcre2_match_data.c src/pcre2_newline.c
	src/pcre2_ord2utf.c src/pcre2_pattern_info.c src/pcre2_script_run.c
	src/pcre2_serialize.c src/pcre2_string_utils.c src/pcre2_study.c
	src/pcre2_substitute.c src/pcre2_substring.c src/pcre2_tables.c src/pcre2_ucd.c
	src/pcre2_valid_utf.c src/pcre2_xclass.c"
flags="-I$obj -I$src/src -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC
	-DSUPPORT_UNICODE -DSUPPORT_PCRE2_8"

prepare() {
	cp "$src/src/config.h.generic" "$obj/config.h"
	cp "$src/src/pcre2.h.generic" "$obj/pcre2.h"
	cp "$src/src/pcre2_chartables.c.dist" "$obj/pcre2_chartables.c"
}
