/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_GRAPH_H
#define RUNNER_TARGETS_BAZEL_GRAPH_H

#include "base/err.h"
#include "base/scan.h"
#include "base/strv.h"

/* The rules and files in the output of `bazel query --output=xml`
 * (https://bazel.build/query/language#output-xml), as far as needed for corpora and dictionaries.
 * expat parses it in blocks.  BUILD files are hostile: a document type, too many labels and invalid
 * labels are refused. */
enum {
	BAZEL_LABEL_MAX = 4096,
	BAZEL_LABELS_MAX = 2000000, /* of files, and in lists */
	BAZEL_RULES_MAX = 200000,
};
#define BAZEL_XML_MAX (UINT64_C(1) << 30) /* bytes */

struct bazel_rule {
	char *label, *class;	    /* "//a:b", "cc_binary" */
	char *where;		    /* "/src/a/BUILD:3:10": the call of its macro */
	char *function, *generator; /* the macro, its name = "..."; NULL: no macro */
	struct strv data;	    /* data, corpus, dictionary, dicts */
	struct strv members;	    /* of a group of files */
	struct strv args;
};

struct bazel_graph {
	struct bazel_rule *rules; /* sorted by label after bazel_reader_end() */
	size_t n;
	struct strv files; /* labels of source files, sorted */
};
void bazel_graph_done(struct bazel_graph *g);

/* NULL: no such rule. */
const struct bazel_rule *bazel_graph_find(const struct bazel_graph *g, const char *label);
bool bazel_graph_is_file(const struct bazel_graph *g, const char *label);

struct bazel_reader;
struct bazel_reader *bazel_reader_new(struct bazel_graph *to);
MUST_CHECK int bazel_reader_feed(struct bazel_reader *r, struct slice block, struct err *e);
/* Call it after the whole document.  Sorts the graph. */
MUST_CHECK int bazel_reader_end(struct bazel_reader *r, struct err *e);
void bazel_reader_free(struct bazel_reader *r); /* NULL is fine */

#endif
