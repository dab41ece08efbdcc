# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# expat: a streaming XML parser.
sources='expat/lib/xmlparse.c expat/lib/xmlrole.c expat/lib/xmltok.c'
flags="-I$obj -I$src/expat/lib"

prepare() {
	cat >"$obj/expat_config.h" <<-END
		#define BYTEORDER 1234
		#define HAVE_GETRANDOM 1
		#define XML_CONTEXT_BYTES 1024
		#define XML_DEV_URANDOM 1
		#define XML_DTD 1
		#define XML_GE 1
		#define XML_NS 1
	END
}
