/* SPDX-License-Identifier: Apache-2.0 */
/* The output and the files' names of a target of every engine but libFuzzer
 * (fuzz_libfuzzer_line.c): the state stays within its bounds for any output, and a name has one
 * kind. */
#include "base/lines.h"
#include "runner/engine/engine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	const struct engine_ops *engine;
	struct engine_state state;
};

/* Go counts bits: at most 8 for each counter. */
static uint64_t most_cov(const struct reading *r)
{
	return r->state.edges_most * (strcmp(r->engine->name, "go") == 0 ? 8 : 1) + 7;
}

static void check(const struct reading *r)
{
	const struct engine_state *s = &r->state;
	size_t n = strnlen(s->fault_text, sizeof(s->fault_text));

	if (n == sizeof(s->fault_text) || s->fault >= ENGINE_FAULT_COUNT ||
	    strnlen(s->input, sizeof(s->input)) == sizeof(s->input))
		abort();
	if (strnlen(s->artifact, sizeof(s->artifact)) == sizeof(s->artifact))
		abort();
	for (size_t i = 0; i < n; i++)
		if (s->fault_text[i] < ' ' || s->fault_text[i] > '~')
			abort();
	/* Numbers are those of the program, and each refusal has a reason. */
	if (s->cov > most_cov(r) || s->edges_total > s->edges_most || s->execs > s->execs_most ||
	    s->corpus_units > UINT64_C(1) << 53 || (s->refused > 0) != (s->refused_text[0] != '\0'))
		abort();
}

static void check_name(const struct engine_ops *engine, struct slice name)
{
	enum engine_artifact a = engine->artifact(name);

	if (a >= ENGINE_ARTIFACT_COUNT || a == ENGINE_ARTIFACT_PIDS || a == ENGINE_ARTIFACT_SYSCALL)
		abort();
	if (engine->input)
		(void)engine->input(name);
}

static void on_line(void *arg, struct slice line)
{
	struct reading *r = arg;
	/* A separate copy, so that ASan finds an access beyond either end. */
	char *exact = malloc(line.n ? line.n : 1);
	struct slice copy = {exact, line.n};
	char why[160];

	if (!exact)
		abort();
	if (line.n > 0)
		memcpy(exact, line.p, line.n);
	r->engine->line(copy, &r->state);
	check_name(r->engine, copy);
	(void)r->engine->flag_ok(copy, why);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int codes[] = {0, 1, 3, 76, 77};
	static struct lines l;
	struct reading r;

	for (size_t i = 1; (r.engine = engine_at(i)); i++) {
		r.state = (struct engine_state){.edges_most = 100000, .execs_most = 1000000};
		l.n = 0;
		l.skipping = false;
		lines_feed(&l, (struct slice){(const char *)data, size}, on_line, &r);
		lines_end(&l, on_line, &r);
		check(&r);
		for (size_t k = 0; k < sizeof(codes) / sizeof(codes[0]); k++)
			if (r.engine->classify(&r.state, codes[k], 0) >= ENGINE_END_COUNT)
				abort();
		/* Words alone are no failure. */
		if (r.engine->classify(&r.state, 0, 0) == ENGINE_FAULTED)
			abort();
	}
	return 0;
}
