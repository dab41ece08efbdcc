/* SPDX-License-Identifier: Apache-2.0 */
/* A tracefile and a listing of llvm-cov with any content, and what stands in the way in them.  A
 * line "%%" separates the two. */
#include "base/cleanup.h"
#include "runner/coverage/blockers.h"
#include "tests/fuzz/must.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy, so that ASan finds an access beyond either end. */
static char *copy_of(struct slice s)
{
	char *p = malloc(s.n > 0 ? s.n : 1);

	MUST(p);
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return p;
}

static void check_name(const char *name)
{
	struct slice call = blockers_call_name(name);

	MUST(strlen(name) <= LCOV_NAME_MAX && !strchr(name, '\n'));
	MUST(call.n < BLOCKERS_NAME_MAX);
	MUST(call.n == 0 || (call.p >= name && call.p + call.n <= name + strlen(name)));
}

static void check_file(const struct lcov_file *f)
{
	for (size_t i = 0; i + 1 < f->n_lines; i++)
		MUST(f->lines[i].line < f->lines[i + 1].line);
	for (size_t i = 0; i < f->n_functions; i++) {
		const struct lcov_function *fn = &f->functions[i];
		const struct lcov_function *at = lcov_function_at(f, fn->line);
		uint32_t end = lcov_function_end(f, fn);

		MUST(i == 0 || fn[-1].line <= fn->line);
		MUST(at && at->line == fn->line && end >= fn->line);
		check_name(fn->name);
	}
	MUST(f->n_functions == 0 || f->functions[0].line == 0 ||
	     !lcov_function_at(f, f->functions[0].line - 1));
}

static bool is_within(struct slice s, struct slice all)
{
	return s.p >= all.p && s.p + s.n <= all.p + all.n && !memchr(s.p, '\n', s.n);
}

static void check_listing(const struct listing *l, struct slice text)
{
	for (size_t i = 0; i < l->n; i++) {
		MUST(l->v[i].n > 0 && l->v[i].path.n > 0);
		MUST(i == 0 || l->v[i - 1].path.n != l->v[i].path.n ||
		     memcmp(l->v[i - 1].path.p, l->v[i].path.p, l->v[i].path.n) <= 0);
		for (size_t k = 0; k < l->v[i].n; k++)
			MUST(is_within(l->v[i].lines[k], text));
	}
}

/* Each unreached line counts at most once. */
static void check_blocker(const struct blocker *b, uint64_t lines, uint64_t functions)
{
	MUST(b->function->line <= b->line && b->evaluated > 0);
	MUST(b->lines > 0 && b->lines <= lines && b->functions <= functions);
}

static void check_blockers(struct lcov *l, const struct listing *text)
{
	uint64_t lines = 0, functions = 0;
	struct blocker *v;
	size_t n;

	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < l->v[i].n_lines; k++)
			lines += l->v[i].lines[k].count == 0;
		for (size_t k = 0; k < l->v[i].n_functions; k++)
			functions += l->v[i].functions[k].count == 0;
	}
	blockers_find(l, text, &v, &n);
	MUST(n <= BLOCKERS_MAX);
	for (size_t i = 0; i < n; i++) {
		check_blocker(&v[i], lines, text->n ? functions : 0);
		MUST(i == 0 || v[i - 1].lines >= v[i].lines);
	}
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char separator[] = "\n%%\n";
	const char *text = (const char *)data, *at = memmem(text, size, separator, 4);
	struct slice trace = {text, at ? (size_t)(at + 1 - text) : size};
	struct slice rest = {at ? at + 4 : text, at ? size - trace.n - 3 : 0};
	_autofree_ char *trace_copy = copy_of(trace), *listing_copy = copy_of(rest);
	_autolcov_ struct lcov l = {0};
	_autolisting_ struct listing listing = {0}, none = {0};
	struct err e;
	int r;

	trace.p = trace_copy;
	rest.p = listing_copy;
	r = lcov_parse(trace, &l, &e);
	MUST(r == 0 || r == -EBADMSG);
	listing_parse(rest, l.n == 1 ? l.v[0].path : NULL, &listing);
	check_listing(&listing, rest);
	for (size_t i = 0; i < l.n; i++)
		check_file(&l.v[i]);
	check_blockers(&l, &listing);
	check_blockers(&l, &none);
	return 0;
}
