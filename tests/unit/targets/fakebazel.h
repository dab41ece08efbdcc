/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_FAKEBAZEL_H
#define TESTS_TARGETS_FAKEBAZEL_H

/* A workspace, and a program in place of Bazel that prints files of the test: out.label and out.xml
 * (query), out.cquery, out.info, and out.build (the build events).  Its status is in code.COMMAND,
 * its stderr in stderr.COMMAND.  It writes its calls to `calls`.  tests/e2e/build.bats tests the
 * real Bazel. */
#include "tests/unit/targets/tree.h"

#include <stdlib.h>

struct fake {
	struct tree tree;
	char program[100], ws[100];
	struct discover_source source;
};

static const char fake_script[] =
    "#!/bin/sh\n"
    "here=${0%/*}\n"
    "command=\n"
    "for a; do case $a in\n"
    "--startup*) ;;\n"
    "--build_event_json_file=*) events=${a#*=} ;;\n"
    "--output=label | --output=xml) answer=${a#*=} ;;\n"
    "*) [ \"$command\" ] || command=$a ;;\n"
    "esac; done\n"
    "echo \"$PWD: $*\" >>$here/calls\n"
    "[ ! -e $here/sleep.$command ] || sleep 100\n"
    "case $command in\n"
    "query) cat $here/out.$answer ;;\n"
    "build) [ ! -e $here/out.build ] || cat $here/out.build >$events ;;\n"
    "*) cat $here/out.$command ;;\n"
    "esac\n"
    "[ ! -e $here/stderr.$command ] || cat $here/stderr.$command >&2\n"
    "exit $(cat $here/code.$command 2>/dev/null || echo 0)\n";

static inline void fake_make(struct fake *f)
{
	tree_make(&f->tree);
	tree_bytes(&f->tree, "bazel", slice_of(fake_script), 0755);
	assert_int_equal(mkdirat(f->tree.fd, "ws", 0755), 0);
	assert_int_equal(mkdirat(f->tree.fd, "ws/p", 0755), 0);
	assert_int_equal(mkdirat(f->tree.fd, "out", 0755), 0);
	tree_file(&f->tree, "ws/WORKSPACE", "");
	tree_file(&f->tree, "out.xml", "<query/>");
	snprintf(f->program, sizeof(f->program), "%s/bazel", f->tree.path);
	snprintf(f->ws, sizeof(f->ws), "%s/ws", f->tree.path);
	f->source = (struct discover_source){
	    .type = "bazel", .path = f->ws, .bazel = f->program, .as_root = true};
}

/* Sets the answers to every command: these labels, with their programs below out/. */
static inline void fake_targets(struct fake *f, const char *const *labels)
{
	char all[4000] = "", paths[4000] = "", root[200];

	for (; *labels; labels++) {
		size_t n = strlen(all), m = strlen(paths);

		snprintf(all + n, sizeof(all) - n, "%s\n", *labels);
		snprintf(paths + m, sizeof(paths) - m, "%s\tout/%s\n", *labels,
			 strchr(*labels, ':') + 1);
	}
	snprintf(root, sizeof(root), "%s\n", f->tree.path);
	tree_file(&f->tree, "out.label", all);
	tree_file(&f->tree, "out.cquery", paths);
	tree_file(&f->tree, "out.info", root);
}

static inline void fake_done(struct fake *f)
{
	tree_done(&f->tree);
}

#endif
