# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# cmark: CommonMark to HTML and others.
sources='src/blocks.c src/buffer.c src/cmark.c src/cmark_ctype.c src/commonmark.c
	src/houdini_href_e.c src/houdini_html_e.c src/houdini_html_u.c src/html.c src/inlines.c
	src/iterator.c src/latex.c src/man.c src/node.c src/references.c src/render.c
	src/scanners.c src/utf8.c src/xml.c'
flags="-I$obj -I$src/src"

prepare() {
	sed 's/^#cmakedefine \(HAVE_[A-Z_]*\)/#define \1 1/' "$src/src/config.h.in" >"$obj/config.h"
	sed 's/@PROJECT_VERSION_[A-Z]*@/0/g' "$src/src/cmark_version.h.in" >"$obj/cmark_version.h"
	echo '#define CMARK_EXPORT' >"$obj/cmark_export.h"
}
