# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# libxml2: XML with DTDs, HTML, XPath; without network, threads and encodings of the libc.
sources='HTMLparser.c HTMLtree.c SAX2.c buf.c chvalid.c dict.c encoding.c entities.c error.c
	globals.c hash.c list.c parser.c parserInternals.c pattern.c threads.c tree.c uri.c
	valid.c xlink.c xmlIO.c xmlmemory.c xmlregexp.c xmlsave.c xmlstring.c xmlunicode.c xpath.c'
flags="-I$obj -I$src/include -DHAVE_CONFIG_H"

prepare() {
	mkdir "$obj/libxml"
	sed -e 's/@LIBXML_VERSION_NUMBER@/20914/' -e 's/@VERSION@/2.9.14/' \
		-e 's/@WITH_\(TREE\|OUTPUT\|PUSH\|SAX1\|VALID\|HTML\|PATTERN\|XPATH\)@/1/' \
		-e 's/@WITH_\(ISO8859X\|REGEXPS\)@/1/' -e 's/@WITH_[A-Z_0-9]*@/0/' \
		-e 's/@[A-Z_]*@//' "$src/include/libxml/xmlversion.h.in" >"$obj/libxml/xmlversion.h"
	for have in CTYPE_H ERRNO_H FCNTL_H FLOAT_H GETTIMEOFDAY INTTYPES_H LIMITS_H MATH_H RAND \
		RAND_R SIGNAL_H SNPRINTF STAT STDARG_H STDINT_H STDLIB_H STRING_H SYS_STAT_H \
		SYS_TIME_H SYS_TYPES_H TIME TIME_H UNISTD_H VA_COPY VSNPRINTF; do
		echo "#define HAVE_$have 1"
	done >"$obj/config.h"
}
