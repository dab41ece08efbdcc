/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `bazel query --output=xml`, as one piece and in small pieces.  Then the results for
 * the first few rules, in an empty workspace. */
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/targets/bazel/files.h"
#include "runner/targets/bazel/label.h"
#include "runner/targets/source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static int read_in(struct slice text, size_t piece, struct bazel_graph *g)
{
	struct bazel_reader *reader = bazel_reader_new(g);
	struct err e = {0};
	int r = 0;

	while (r == 0 && text.n > 0) {
		size_t n = text.n < piece ? text.n : piece;

		r = bazel_reader_feed(reader, (struct slice){text.p, n}, &e);
		text.p += n;
		text.n -= n;
	}
	if (r == 0)
		r = bazel_reader_end(reader, &e);
	bazel_reader_free(reader);
	if (r < 0)
		check(e.code > 0 && e.msg[0]);
	return r;
}

static void check_label(const char *label)
{
	char name[NAMES_TARGET_MAX + 1];
	char *path;

	check(bazel_label_plain(label) == label);
	path = bazel_label_path(label);
	check(path && path[0] != '/' && strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 &&
	      !strstr(path, "/../"));
	free(path);
	for (int i = 0; i < 2; i++) {
		bazel_label_target(label, i, name);
		check(!*name || names_target_ok(slice_of(name)));
	}
}

static void use(const struct bazel_graph *g, const struct bazel_rule *rule, uint64_t *io_steps)
{
	char dir[] = "/nonexistent", name[] = "x";
	const struct bazel b = {.dir = dir};
	struct target t = {.engine = &engine_libfuzzer, .name = name};
	struct target_list notes = {0};
	struct err e = {0};

	if (bazel_files(&b, g, rule->label, &t, &notes, io_steps, &e) < 0)
		check(e.code > 0 && e.msg[0]);
	check(t.seed_dirs.n == 0 && !t.dict);
	t.name = NULL;
	target_done(&t);
	target_list_done(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};
	struct bazel_graph g = {0}, pieces = {0};
	uint64_t steps = BAZEL_STEPS_MAX - 10000;
	int r = read_in(text, SIZE_MAX, &g);

	check(read_in(text, 5, &pieces) == r);
	check(r < 0 || (g.n == pieces.n && g.files.n == pieces.files.n));
	for (size_t i = 0; i < g.n; i++) {
		check_label(g.rules[i].label);
		for (size_t k = 0; k < g.rules[i].data.n; k++)
			check_label(g.rules[i].data.v[k]);
		for (size_t k = 0; k < g.rules[i].members.n; k++)
			check_label(g.rules[i].members.v[k]);
	}
	for (size_t i = 0; i < g.files.n; i++)
		check_label(g.files.v[i]);
	for (size_t i = 0; r == 0 && i < g.n && i < 4; i++)
		use(&g, &g.rules[i], &steps);
	bazel_graph_done(&g);
	bazel_graph_done(&pieces);
	return 0;
}
