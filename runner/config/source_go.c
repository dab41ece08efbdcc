/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/source_go.h"

#include "base/memory.h"

#include <stdlib.h>

/* $1: the output directory.  The go command ignores it, because of the dot.  A package that does
 * not build fails the command, but not the packages behind it.  A program is renamed into its
 * place: its old file may be running. */
static const char script[] =
    "out=$1 failed=0\n"
    "mkdir -p \"$out\"\n"
    "find \"$out\" -mindepth 1 -maxdepth 1 -type d ! -name .cache -exec rm -rf {} +\n"
    "[ -n \"${HOME-}${GOCACHE-}\" ] || export GOCACHE=\"$out/.cache\"\n"
    "go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... >\"$out/.list\"\n"
    "for old in \"$out\"/*.test; do\n"
    "\t[ ! -e \"$old\" ] || mv \"$old\" \"$old.old\"\n"
    "done\n"
    "while read -r dir; do\n"
    "\tgrep -qs '^func Fuzz' \"$dir\"/*_test.go || continue\n"
    "\tname=${dir#\"$PWD\"} name=${name#/} name=${name:-${PWD##*/}}\n"
    "\tname=$(printf %s \"$name\" | tr / . | tr -c 'A-Za-z0-9_.-' _)\n"
    "\tfor file in \"$name.test\" \"$name\"; do\n"
    "\t\tif [ -f \"$out/$file\" ] || { [ -d \"$out/$file\" ] && [ \"$file\" != \"$name\" ]; }; "
    "then\n"
    "\t\t\techo \"error: $dir: another package has '$file', too: rename one of them\" >&2\n"
    "\t\t\tfailed=1\n"
    "\t\t\tcontinue 2\n"
    "\t\tfi\n"
    "\tdone\n"
    "\tgo test -c -fuzz=. -o \"$out/.new\" \"$dir\" || { failed=1; continue; }\n"
    "\t[ ! -d \"$dir/testdata\" ] || { mkdir \"$out/$name\"; cp -R \"$dir/testdata\" "
    "\"$out/$name/\"; }\n"
    "\tmv \"$out/.new\" \"$out/$name.test\"\n"
    "done <\"$out/.list\"\n"
    "rm -f \"$out\"/*.test.old \"$out/.list\"\n"
    "exit \"$failed\"\n";

void source_of_go(struct config_source *io)
{
	io->build_dir = io->path;
	io->path = xasprintf("%s/" CONFIG_BUILDS_DIR, io->build_dir);
	free(io->type);
	io->type = xstrdup("directory");
	io->build_shown = "go test -c -fuzz=. <package>";
	strv_push(&io->build, "sh");
	strv_push(&io->build, "-euc");
	strv_push(&io->build, script);
	strv_push(&io->build, "sh");
	strv_push(&io->build, io->path);
}
