/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/afl/afl.h"
#include "runner/engine/centipede/centipede.h"
#include "runner/engine/fuzztest/fuzztest.h"
#include "runner/engine/go/go.h"
#include "runner/engine/honggfuzz/honggfuzz.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <stdlib.h>

void engine_cmd_done(struct engine_cmd *c)
{
	strv_done(&c->argv);
	strv_done(&c->env);
	strv_done(&c->nest);
	free(c->input_at);
	*c = (struct engine_cmd){0};
}

const char *engine_fault_name(enum engine_fault f)
{
	static const char *const names[ENGINE_FAULT_COUNT] = {
	    [ENGINE_FAULT_NONE] = "none",	[ENGINE_FAULT_CRASH] = "crash",
	    [ENGINE_FAULT_TIMEOUT] = "timeout", [ENGINE_FAULT_OOM] = "oom",
	    [ENGINE_FAULT_LEAK] = "leak",	[ENGINE_FAULT_ENGINE] = "engine",
	};

	return (unsigned)f < ENGINE_FAULT_COUNT ? names[f] : "?";
}

const char *engine_artifact_name(enum engine_artifact a)
{
	switch (a) {
	case ENGINE_ARTIFACT_CRASH:
		return "crash";
	case ENGINE_ARTIFACT_TIMEOUT:
		return "timeout";
	case ENGINE_ARTIFACT_OOM:
		return "oom";
	case ENGINE_ARTIFACT_LEAK:
		return "leak";
	case ENGINE_ARTIFACT_SLOW:
		return "slow-unit";
	case ENGINE_ARTIFACT_PIDS:
		return "pids";
	case ENGINE_ARTIFACT_SYSCALL:
		return "syscall";
	case ENGINE_ARTIFACT_NONE:
	case ENGINE_ARTIFACT_COUNT:
		break;
	}
	return NULL;
}

enum engine_artifact engine_saved(struct slice name)
{
	enum { SHA1_HEX = 40 };

	for (enum engine_artifact a = 1; a < ENGINE_ARTIFACT_COUNT; a++) {
		const char *kind = engine_artifact_name(a);
		struct slice rest = name;

		if (kind && scan_lit(&rest, slice_of(kind)) && scan_lit(&rest, SLICE("-")))
			return rest.n == SHA1_HEX && slice_is_hex(rest) ? a : ENGINE_ARTIFACT_NONE;
	}
	return ENGINE_ARTIFACT_NONE;
}

static const struct engine_ops *const engines[] = {
    &engine_libfuzzer, &engine_afl,	 &engine_honggfuzz,	     &engine_go,
    &engine_centipede, &engine_fuzztest, &engine_fuzztest_libfuzzer,
};
enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

const struct engine_ops *engine_at(size_t i)
{
	return i < ENGINES ? engines[i] : NULL;
}

const struct engine_ops *engine_find(const char *name)
{
	for (size_t i = 0; i < ENGINES; i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

bool engine_any_flag_ok(struct slice flag, char why[160])
{
	char other[160];

	if (engines[0]->flag_ok(flag, why))
		return true;
	for (size_t i = 1; i < ENGINES; i++)
		if (engines[i]->flag_ok(flag, other))
			return true;
	return false;
}
