# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# libyaml: a YAML 1.1 parser and emitter.
sources='src/api.c src/dumper.c src/emitter.c src/loader.c src/parser.c src/reader.c
	src/scanner.c src/writer.c'
flags="-I$obj -I$src/include -DHAVE_CONFIG_H"

prepare() {
	cat >"$obj/config.h" <<-END
		#define YAML_VERSION_MAJOR 0
		#define YAML_VERSION_MINOR 2
		#define YAML_VERSION_PATCH 5
		#define YAML_VERSION_STRING "0.2.5"
	END
}
