/* SPDX-License-Identifier: Apache-2.0 */
/* A target's output, from the stream to the verdict: the state stays within its bounds for any
 * output. */
#include "base/lines.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct engine_state *s)
{
	size_t n = strnlen(s->fault_text, sizeof(s->fault_text));

	if (n == sizeof(s->fault_text) || s->fault >= ENGINE_FAULT_COUNT)
		abort();
	for (size_t i = 0; i < n; i++)
		if (s->fault_text[i] < ' ' || s->fault_text[i] > '~')
			abort();
	if ((s->fault == ENGINE_FAULT_NONE) != (n == 0))
		abort();
	/* A path component from a target must be a plain name. */
	if (s->artifact[0] &&
	    engine_libfuzzer.artifact(slice_of(s->artifact)) == ENGINE_ARTIFACT_NONE)
		abort();
	if (s->input_printed.known &&
	    (!s->artifact[0] || s->input_printed.n > sizeof(s->input_printed.bytes)))
		abort();
	if (s->corpus_bytes > UINT64_C(1) << 53 || s->execs > UINT64_C(1) << 53 ||
	    s->seed_files > UINT64_C(1) << 53)
		abort();
	/* Coverage is at most that of the program, and each refusal has a reason. */
	if (s->cov > s->edges_most || s->edges_total > s->edges_most || s->execs > s->execs_most ||
	    (s->refused > 0) != (s->refused_text[0] != '\0'))
		abort();
}

static void on_line(void *arg, struct slice line)
{
	/* A separate copy, so that ASan finds an access beyond either end. */
	char *exact = malloc(line.n ? line.n : 1);

	if (!exact)
		abort();
	if (line.n > 0)
		memcpy(exact, line.p, line.n);
	engine_libfuzzer.line((struct slice){exact, line.n}, arg);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int codes[] = {0, 1, 3, 70, 71, 72, 76, 77};
	static struct lines l;
	struct engine_state s = {.edges_most = 100000, .execs_most = 1000000};

	l.n = 0;
	l.skipping = false;
	lines_feed(&l, (struct slice){(const char *)data, size}, on_line, &s);
	lines_end(&l, on_line, &s);
	check(&s);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (engine_libfuzzer.classify(&s, codes[i], 0) >= ENGINE_END_COUNT)
			abort();
	/* Words alone are no failure. */
	if (engine_libfuzzer.classify(&s, 0, 0) == ENGINE_FAULTED)
		abort();
	return 0;
}
